//! How much effort a request is likely to take, where nobody said so: by the story points of its
//! issue, then by its words. It is a proposal that a person confirms, and says its reason.
//!
//! The rule over words, in this order. Large: a word of [`LARGE`], a list of [`DEMANDS_LARGE`] or more
//! demands, or more than [`CHARS_LARGE`] characters. Small: a word of [`SMALL`], at most one demand
//! in a list, and at most [`CHARS_SMALL`] characters. If both or neither hold, it says nothing.
//! Words count whole, so that "showcase" is no "show".
//!
//! Invariant: the same text and points always give the same answer.

/// Words that say that much is to change.
const LARGE: [&str; 12] = [
    "architecture",
    "migrate",
    "migration",
    "overhaul",
    "port",
    "redesign",
    "rearchitect",
    "refactor",
    "replace",
    "restructure",
    "rewrite",
    "subsystem",
];
/// Words that say that little is to change.
const SMALL: [&str; 12] = [
    "bump",
    "caption",
    "comment",
    "label",
    "misspelled",
    "rename",
    "reword",
    "spelling",
    "tooltip",
    "tweak",
    "typo",
    "wording",
];
/// So many demands in a list are a large piece of work.
const DEMANDS_LARGE: usize = 7;
/// So long a text describes a large piece of work.
const CHARS_LARGE: usize = 4_000;
/// A longer text describes no small piece of work.
const CHARS_SMALL: usize = 240;
/// Story points up to this are small.
const POINTS_SMALL: f64 = 4.0;
/// Story points up to this are of middle size.
const POINTS_MIDDLE: f64 = 12.0;

/// A detected effort, and the rule that found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Detected {
    pub(super) value: String,
    pub(super) why: String,
}

/// Returns what points and words say about a flow with these efforts. Rules whose answer the flow does not
/// know do not count.
pub(super) fn detect(
    text: &str,
    points: Option<(f64, &str)>,
    values: &[String],
    default: &str,
) -> Detected {
    let known = |found: &Detected| values.contains(&found.value);
    let by_points = points.map(|(points, field)| Detected {
        value: effort_for_points(points).to_owned(),
        why: format!("{points} story points in {field}"),
    });
    by_points.filter(known).unwrap_or_else(|| {
        let middle = |why: String| Detected { value: default.to_owned(), why };
        let found = match signs(text) {
            (Some(why), None) => Detected { value: "S".to_owned(), why },
            (None, Some(why)) => Detected { value: "L".to_owned(), why },
            (Some(small), Some(large)) => middle(format!("{small}, but {large}")),
            (None, None) => middle("no sign of S or L".to_owned()),
        };
        if known(&found) { found } else { middle("the default".to_owned()) }
    })
}

fn effort_for_points(points: f64) -> &'static str {
    if points <= POINTS_SMALL {
        "S"
    } else if points <= POINTS_MIDDLE {
        "M"
    } else {
        "L"
    }
}

/// Returns what speaks for small and what for large work.
fn signs(text: &str) -> (Option<String>, Option<String>) {
    let lower = text.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let said = |known: &[&'static str]| known.iter().copied().find(|word| words.contains(word));
    let n_demands = text.lines().filter(|line| is_demand(line)).count();
    let n_chars = text.chars().count();
    let large = if let Some(word) = said(&LARGE) {
        Some(format!("it says \"{word}\""))
    } else if n_demands >= DEMANDS_LARGE {
        Some(format!("it lists {n_demands} demands"))
    } else if n_chars > CHARS_LARGE {
        Some(format!("it has more than {CHARS_LARGE} characters"))
    } else {
        None
    };
    let is_short = n_chars <= CHARS_SMALL && n_demands <= 1;
    let small = said(&SMALL).filter(|_| is_short);
    (small.map(|word| format!("it is short and says \"{word}\"")), large)
}

/// Returns a line of a list.
fn is_demand(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let is_numbered = digits > 0 && [". ", ") "].iter().any(|end| line[digits..].starts_with(end));
    ["- ", "* ", "+ ", "• "].iter().any(|mark| line.starts_with(mark)) || is_numbered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(text: &str, points: Option<f64>) -> (String, String) {
        let values = ["S", "M", "L"].map(str::to_owned);
        let found = detect(text, points.map(|points| (points, "f")), &values, "M");
        (found.value, found.why)
    }

    #[test]
    fn points_come_before_words_and_their_borders_are_exact() {
        for (points, effort) in
            [(0.5, "S"), (4.0, "S"), (4.1, "M"), (5.0, "M"), (12.0, "M"), (12.5, "L"), (40.0, "L")]
        {
            assert_eq!(detected("fix a typo", Some(points)).0, effort, "{points}");
        }
        assert_eq!(detected("x", Some(3.0)).1, "3 story points in f");
    }

    #[test]
    fn words_say_small_or_large_and_both_say_nothing() {
        let long = "word ".repeat(1_000);
        let list = "Do:\n- a\n- b\n* c\n1. d\n2) e\n- f\n- g\n";
        for (text, effort, why) in [
            ("Fix a typo in the help", "S", "it is short and says \"typo\""),
            ("Rewrite the parser", "L", "it says \"rewrite\""),
            (
                "Rename it and rewrite the parser",
                "M",
                "it is short and says \"rename\", but it says \"rewrite\"",
            ),
            ("Show the sum", "M", "no sign of S or L"),
            ("A showcase of portable labels", "M", "no sign of S or L"),
            (list, "L", "it lists 7 demands"),
            (&long, "L", "it has more than 4000 characters"),
        ] {
            assert_eq!(detected(text, None), (effort.to_owned(), why.to_owned()), "{text:.60}");
        }
        let long = format!("fix the typo {}", "and look around ".repeat(20));
        assert_eq!(detected(&long, None).0, "M", "what is long is not small");
    }

    #[test]
    fn an_effort_that_the_flow_does_not_know_is_not_proposed() {
        let values = ["low", "high"].map(str::to_owned);
        let found = detect("fix a typo", Some((3.0, "f")), &values, "low");
        assert_eq!(found.value, "low");
    }
}
