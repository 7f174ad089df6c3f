//! What is wrong with a scenario, where, and which key was probably meant.

use strsim::levenshtein;
use thiserror::Error;

/// An error in a scenario, with its place.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("line {line}, column {column}: {what}{}", did_you_mean(nearest.as_deref()))]
pub struct ScenarioFlaw {
    /// From 1.
    pub line: usize,
    /// From 1.
    pub column: usize,
    pub what: String,
    /// The right key that is spelled most like the wrong one.
    pub nearest: Option<String>,
}

impl ScenarioFlaw {
    pub(super) fn from_toml(text: &str, error: &toml::de::Error) -> Self {
        let start = error.span().map_or(0, |span| span.start).min(text.len());
        let before = text.get(..start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let message = error.message().trim();
        let (what, nearest) = match unknown_key(message) {
            Some((wrong, right)) => (format!("unknown key `{wrong}`"), nearest(wrong, &right)),
            None => (message.replace('\n', " "), None),
        };
        Self { line, column, what, nearest }
    }
}

/// Returns a flaw of the play at `index` as a whole: the place is where it begins.
pub(super) fn flaw_of_play(text: &str, index: usize, what: &str) -> ScenarioFlaw {
    let mut headers =
        text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("[[play]]"));
    let line = headers.nth(index).map_or(1, |(line, _)| line + 1);
    let what = format!("play {} {what}", index + 1);
    ScenarioFlaw { line, column: 1, what, nearest: None }
}

/// Takes the keys out of serde's "unknown field `a`, expected one of `b`, `c`", and of the same
/// sentence about variants.
fn unknown_key(message: &str) -> Option<(&str, Vec<&str>)> {
    let rest = message
        .strip_prefix("unknown field `")
        .or_else(|| message.strip_prefix("unknown variant `"))?;
    let (wrong, rest) = rest.split_once('`')?;
    let right = rest.split('`').skip(1).step_by(2).collect();
    Some((wrong, right))
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default()
}

fn nearest(wrong: &str, right: &[&str]) -> Option<String> {
    let scored = right.iter().map(|key| (levenshtein(wrong, key), *key));
    let (distance, key) = scored.min()?;
    (distance <= wrong.chars().count() / 2 + 1).then(|| key.to_owned())
}

#[cfg(test)]
mod tests {
    use crate::scripted::Scenario;

    #[test]
    fn every_mistake_names_its_place_and_the_nearest_key() {
        let cases = [
            (
                "scenario = 1\n[[play]]\nrole = \"a\"\nsilense = true\n",
                "line 4, column 1: unknown key `silense`; did you mean `silence`?",
            ),
            (
                "scenario = 1\n[[plays]]\n",
                "line 2, column 3: unknown key `plays`; did you mean `play`?",
            ),
            ("scenario = 2\n", "line 1, column 12: `scenario` is 2, and must be 1"),
            ("[[play]]\n", "line 1, column 1: missing field `scenario`"),
            (
                "scenario = 1\n[[play]]\nexit = \"x\"\n",
                "line 3, column 8: invalid type: string \"x\", expected u8",
            ),
            (
                "scenario = 1\n[[play]]\ncrash = \"kil\"\n",
                "line 3, column 9: unknown key `kil`; did you mean `kill`?",
            ),
            (
                "scenario = 1\n[[play]]\nresult = { status = \"done\", verdit = \"pass\" }\n",
                "line 3, column 29: unknown key `verdit`; did you mean `verdict`?",
            ),
            (
                "scenario = 1\n[[play]]\nusage = { cost = \"a lot\" }\n",
                "line 3, column 18: `a lot` is not an amount of dollars with at most six decimals, such as \"0.0125\"",
            ),
            (
                "scenario = 1\n[[play]]\n[[play]]\nno_result = true\nresult_text = \"\"\n",
                "line 3, column 1: play 2 has more than one of `result`, `result_text` and `no_result`",
            ),
        ];
        for (text, sentence) in cases {
            assert_eq!(Scenario::parse(text).unwrap_err().to_string(), sentence);
        }
        let flaw = Scenario::parse("scenario = 1\n[[play]]\nfiles = { \"../a\" = \"\" }\n");
        let flaw = flaw.unwrap_err();
        assert_eq!(flaw.line, 3);
        assert!(flaw.what.starts_with("`../a` is not a plain relative path"), "{flaw}");
        let flaw = Scenario::parse("scenario = 1\n[[play]\n").unwrap_err();
        assert_eq!(flaw.line, 2, "{flaw}");
    }
}
