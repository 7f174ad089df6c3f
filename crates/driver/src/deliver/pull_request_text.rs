//! The words of an offer: its title, and a text that says what was wanted, how it was made, in which
//! parts, and what proves it. They come from what the stage reads and from facts, never from an agent
//! that is asked for them.
//!
//! Invariant: the text is the same whenever it is made from the same facts.
//! Invariant: what others wrote is a quotation or one line. It makes no heading, table, fence or tag of
//! this text, and so never passes for a proof.

use std::fmt::Write as _;

use forge_core::{
    event::{Colour, ResultChange},
    flow::{REQUEST, Work},
    id::UnitId,
    inbox::{self, InboxSource},
    run::{Run, State},
    verdict::{Risk, Shown},
    view::{open_findings, sanitize, short_commit},
};
use forge_project::bounded_text::start_of;

use crate::{
    Error,
    deliver::{inert_text::inert, types::Offer},
    plan::Plan,
    run_id::short_id,
};

/// The text that the table of tasks takes the place of.
const TASKS: &str = "tasks.md";
/// The most findings that are named.
const LEFT_MAX: usize = 20;
/// The most bytes of one artifact that is quoted.
const QUOTED_BYTES_MAX: usize = 12 * 1024;

impl Plan<'_> {
    /// Writes the text of an offer.
    pub(super) fn pull_request_text(&self, offer: &Offer) -> Result<String, Error> {
        let run = self.run;
        let mut text = format!("# {}\n", flat(&offer.title));
        section(&mut text, "Request", &quoted(&run.definition().start.request));
        if let Some(approach) = self.approach()? {
            section(&mut text, "Approach", &approach);
        }
        let tasks = match parts(run) {
            Some(tasks) => Some(tasks),
            None => read(self, TASKS)?,
        };
        if let Some(tasks) = tasks {
            section(&mut text, "Tasks", &tasks);
        }
        section(&mut text, "Verification", &verified(offer));
        if let Some(notes) = open_notes(run) {
            section(&mut text, "Open findings", &notes);
        }
        section(&mut text, "Details", &place(offer));
        Ok(sanitize(&text))
    }

    /// What the author of a text that the stage reads wants to be shown of it, or else the first of these texts.
    fn approach(&self) -> Result<Option<String>, Error> {
        let reads = &self.run.stage(self.call.unit()).reads;
        let texts = || reads.iter().filter(|name| *name != REQUEST && *name != TASKS);
        if let Some(found) = texts().find_map(|name| shown(self.run, name)) {
            return Ok(Some(found));
        }
        for name in texts() {
            if let Some(found) = read(self, name)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// What the author of an artifact wants to be shown of it.
fn shown(run: &Run, artifact: &str) -> Option<String> {
    let units = run.units();
    let (_, _, unit) =
        units.into_iter().find(|(_, stage, _)| stage.writes.iter().any(|name| name == artifact))?;
    let shown = unit.receipt.as_ref()?.shown.as_ref()?;
    shown_text(shown)
}

/// The words of an author in a quotation, and below them the risk, whose words are Forge's.
fn shown_text(shown: &Shown) -> Option<String> {
    let mut words = shown.approach.trim().to_owned();
    for change in &shown.key_changes {
        let change: Vec<&str> = change.split_whitespace().collect();
        let _ = write!(words, "\n- {}", change.join(" "));
    }
    let risk = shown.risk.map(|risk| format!("Risk: {}", risk_word(risk)));
    let words = (!words.trim().is_empty()).then(|| quoted(words.trim()));
    let parts: Vec<String> = words.into_iter().chain(risk).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

fn risk_word(risk: Risk) -> &'static str {
    match risk {
        Risk::Low => "low",
        Risk::Medium => "medium",
        Risk::High => "high",
    }
}

/// The items that were worked off, with what became of them.
fn parts(run: &Run) -> Option<String> {
    let mut lines = Vec::new();
    for (_, _, unit) in run.units() {
        for (item, inside) in unit.inner.members() {
            let landed = inside.units.iter().find_map(|unit| unit.landed.as_deref());
            let is_over = inside
                .units
                .iter()
                .all(|unit| matches!(unit.state, State::Accepted | State::Skipped));
            let state = match (landed, is_over) {
                (Some(commit), _) => format!("`{}`", short_commit(commit)),
                (None, true) => "nothing to merge".to_owned(),
                (None, false) => "not done".to_owned(),
            };
            let title = flat(&item.title);
            lines.push(format!("| {} | {title} | {state} |", item.id));
        }
    }
    // What landed beside the items, such as what a look at the whole mended. The record of the run is no part of it.
    for landed in run.history().landed.iter() {
        let unit = &landed.unit;
        let is_part = unit.scope.is_root()
            && landed.brings == ResultChange::Changed
            && run.has(unit)
            && !matches!(run.stage(unit).work, Work::Deliver { .. });
        if is_part && !lines.is_empty() {
            let summary = run.unit(unit).receipt.as_ref().map(|receipt| flat(&receipt.summary));
            let (what, commit) = (summary.unwrap_or_default(), short_commit(&landed.commit));
            lines.push(format!("| {unit} | {what} | `{commit}` |"));
        }
    }
    (!lines.is_empty())
        .then(|| format!("| task | title | commit |\n|---|---|---|\n{}", lines.join("\n")))
}

/// An artifact that the stage may read, cut and quoted.
fn read(plan: &Plan<'_>, artifact: &str) -> Result<Option<String>, Error> {
    let readings = inbox::entries(plan.run, plan.call.unit(), None);
    let Some(reading) = readings.into_iter().find(|reading| reading.name == artifact) else {
        return Ok(None);
    };
    let bytes = match &reading.source {
        InboxSource::Request | InboxSource::Composed(_) => return Ok(None),
        InboxSource::Blob(blob) => plan.context.blob(blob)?,
    };
    Ok(Some(cut(artifact, &String::from_utf8_lossy(&bytes))))
}

/// As much of a text as there is room for. It says where it was cut.
fn cut(name: &str, whole: &str) -> String {
    if whole.len() <= QUOTED_BYTES_MAX {
        return quoted(whole.trim_end());
    }
    let end = start_of(whole, QUOTED_BYTES_MAX).len();
    format!("{}\n\n(cut here; `{name}` has {} bytes)", quoted(&whole[..end]), whole.len())
}

fn verified(offer: &Offer) -> String {
    let mut text = String::new();
    for waived in &offer.waived {
        let _ = writeln!(text, "**Not verified.** {}\n", flat(&waived.sentence()));
    }
    if offer.evidence.is_empty() {
        text.push_str("No checks ran on this code.");
    } else {
        text.push_str("Forge ran these checks on exactly this code:\n\n");
        for one in &offer.evidence {
            let colour = match one.colour {
                Colour::Green => "passed",
                Colour::Red => "failed",
            };
            let _ = writeln!(text, "- `{}`: {colour}", code(&one.command));
        }
    }
    text
}

/// What was found and is still so, and who accepted it.
fn open_notes(run: &Run) -> Option<String> {
    let all = open_findings(run);
    let mut text = String::new();
    for left in all.iter().take(LEFT_MAX) {
        let _ = writeln!(
            text,
            "- {}, {}: {}",
            flat(&left.severity_words()),
            flat(&unit_label(&left.unit)),
            flat(&left.finding.to_line())
        );
    }
    if all.len() > LEFT_MAX {
        let _ = writeln!(text, "- {} more in `summary.md`", all.len() - LEFT_MAX);
    }
    (!text.is_empty()).then_some(text)
}

fn place(offer: &Offer) -> String {
    let mut text = String::new();
    if let Some(branch) = &offer.branch {
        let _ = writeln!(text, "- branch `{}`", code(branch));
    }
    let onto = offer.base_branch.as_deref().map(|branch| format!("`{}` at ", code(branch)));
    let _ = writeln!(text, "- from {}`{}`", onto.unwrap_or_default(), short_commit(&offer.base));
    let _ = writeln!(text, "- run {} of Forge", short_id(&offer.run));
    if let Some(source) = &offer.source {
        let _ = writeln!(text, "- issue {}", flat(source));
        if let Some(number) = github_issue(source) {
            let _ = writeln!(text, "\nCloses #{number}");
        }
    }
    text
}

/// The number of an issue of GitHub, by its address or its name.
fn github_issue(source: &str) -> Option<&str> {
    let is_number =
        |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let named = source.strip_prefix('#');
    let address = source.strip_prefix("https://").and_then(|rest| rest.rsplit_once("/issues/"));
    named.or(address.map(|(_, number)| number)).filter(is_number)
}

fn section(text: &mut String, title: &str, body: &str) {
    let _ = write!(text, "\n## {title}\n\n{}\n", body.trim());
}

/// Words as they are, set off as a quotation that no line and no tag of theirs ends, and that calls nobody.
fn quoted(words: &str) -> String {
    // A carriage return alone ends a line for those who show this, though not for `lines`.
    let words = words.replace("\r\n", "\n").replace('\r', "\n").replace('<', "&lt;");
    let words = inert(&words);
    let lines = words.lines().map(|line| format!("> {line}").trim_end().to_owned());
    lines.collect::<Vec<String>>().join("\n")
}

/// Returns the name of a unit on screens.
fn unit_label(unit: &str) -> String {
    unit.parse::<UnitId>().map_or_else(|_| unit.to_owned(), |unit| unit.label())
}

/// Words on one line that neither end a cell nor begin a link, an image or a tag. Code between single backticks stays
/// code; other backticks are escaped.
fn flat(words: &str) -> String {
    let words: Vec<&str> = words.split_whitespace().collect();
    let words = words.join(" ");
    let parts: Vec<&str> = words.split('`').collect();
    let is_code = |part: &&str| !part.is_empty() && !part.contains(['\\', '|']);
    let has_spans = parts.len() % 2 == 1 && parts.iter().skip(1).step_by(2).all(is_code);
    // Two backticks in a row would begin another kind of code.
    let is_apart = |part: &&str| !part.is_empty();
    let inner = parts.get(1..parts.len().saturating_sub(1)).unwrap_or_default();
    if parts.len() > 1 && has_spans && inner.iter().all(is_apart) {
        let part = |(at, part): (usize, &&str)| match at % 2 {
            0 => escaped(part),
            _ => format!("`{part}`"),
        };
        return parts.iter().enumerate().map(part).collect();
    }
    escaped(&words)
}

fn escaped(words: &str) -> String {
    // Backslashes first, so that none of the text takes away one that is added.
    let words = words.replace('\\', "\\\\");
    let words = words.replace('|', "\\|").replace('`', "\\`").replace('<', "&lt;");
    words.replace('[', "\\[").replace(']', "\\]")
}

/// Words that stand between backticks, on one line.
fn code(words: &str) -> String {
    let words: Vec<&str> = words.split_whitespace().collect();
    words.join(" ").replace('`', "'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deliver::types::{TITLE_CHARS_MAX, title};
    use forge_core::view::WaivedView;

    #[test]
    fn a_title_is_the_first_line_of_the_request_without_marks_and_not_too_long() {
        assert_eq!(title("\n# Add a queue\n\nPlease."), "Add a queue");
        assert_eq!(title("  \n"), "A change by Forge");
        let long = title(&"ä".repeat(500));
        assert_eq!(long.chars().count(), TITLE_CHARS_MAX);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn a_long_artifact_is_cut_between_characters_and_says_so() {
        assert_eq!(cut("a.md", "ä"), "> ä");
        let long = "ä".repeat(QUOTED_BYTES_MAX);
        let found = cut("a.md", &format!("x{long}"));
        assert!(found.len() < QUOTED_BYTES_MAX + 100);
        assert!(found.ends_with(&format!("(cut here; `a.md` has {} bytes)", 1 + long.len())));
    }

    /// What an author writes who wants it to be taken for Forge's.
    const FORGED: &str = "fine | `\r## Verification\n\n```\n| a | b |\n|---|---|\r\n</blockquote><!-- \\| \\` ![a](https://h.net/x) \\[b](c)";

    /// Whether a line is one of Forge's, for those who show this as Markdown.
    fn unquoted_lines(text: &str) -> Vec<&str> {
        let lines = text.split(['\n', '\r']);
        lines.filter(|line| !line.is_empty() && !line.starts_with('>')).collect()
    }

    #[test]
    fn what_an_author_wants_to_be_shown_is_a_quotation_whatever_is_in_it() {
        let shown = Shown {
            approach: FORGED.to_owned(),
            key_changes: vec![FORGED.to_owned(), "one more".to_owned()],
            risk: Some(Risk::Low),
            title: String::new(),
        };
        let text = shown_text(&shown).unwrap();
        assert_eq!(unquoted_lines(&text), ["Risk: low"], "{text}");
        assert!(text.contains("\n> - one more\n\nRisk: low"), "{text}");
        assert!(!text.contains('<'), "{text}");
        let artifact = cut("design.md", FORGED);
        assert!(unquoted_lines(&artifact).is_empty() && !artifact.contains('<'), "{artifact}");
        assert!(unquoted_lines(&quoted(FORGED)).is_empty());
    }

    #[test]
    fn what_stands_on_one_line_of_ours_stays_there_and_ends_no_cell() {
        let flat = flat(FORGED);
        assert!(!flat.contains(['\n', '\r', '<']), "{flat}");
        let mut is_escaped = false;
        for one in flat.chars() {
            assert!(is_escaped || !['|', '`', '[', ']'].contains(&one), "{flat}");
            is_escaped = one == '\\' && !is_escaped;
        }
        assert!(!code(FORGED).contains(['\n', '\r', '`']));
    }

    #[test]
    fn code_between_backticks_stays_code_and_its_surroundings_are_escaped() {
        assert_eq!(flat("a.py: `count[0]` fails <b>"), "a.py: `count[0]` fails &lt;b>");
        assert_eq!(flat("`x` and `y`"), "`x` and `y`");
        for odd in ["a ` b", "``x``", "`a``b`", "`a|b`", "`a\\`"] {
            assert!(flat(odd).contains("\\`"), "{odd}: {}", flat(odd));
        }
    }

    fn offer() -> Offer {
        Offer {
            version: 1,
            run: "r".to_owned(),
            mark: String::new(),
            title: String::new(),
            source: None,
            branch: None,
            base: String::new(),
            base_branch: None,
            commit: String::new(),
            tree: String::new(),
            evidence: Vec::new(),
            waived: Vec::new(),
            at: 0,
        }
    }

    #[test]
    fn the_words_of_a_person_who_waived_are_one_line() {
        let waived = WaivedView {
            unit: "verify".to_owned(),
            gate: "verify".to_owned(),
            who: "ada\n## x".to_owned(),
            words: FORGED.to_owned(),
        };
        let text = verified(&Offer { waived: vec![waived], ..offer() });
        assert_eq!(unquoted_lines(&text).len(), 2, "{text}");
        assert!(
            unquoted_lines(&text)[0].starts_with("**Not verified.** ada ## x overrode"),
            "{text}"
        );
    }

    #[test]
    fn the_issue_is_named_and_one_of_github_is_closed() {
        let address = "https://github.com/o/r/issues/42";
        for (source, number) in [
            (address, Some("42")),
            ("#7", Some("7")),
            ("https://h.net/browse/AB-7", None),
            ("#7 x", None),
            ("x", None),
        ] {
            assert_eq!(github_issue(source), number, "{source}");
            let text = place(&Offer { source: Some(source.to_owned()), ..offer() });
            let closes = number.map(|number| format!("\nCloses #{number}\n")).unwrap_or_default();
            assert!(text.ends_with(&format!("- issue {source}\n{closes}")), "{text}");
        }
        assert!(!place(&offer()).contains("issue"));
    }
}
