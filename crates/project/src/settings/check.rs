//! Reads one value and checks it: from TOML, or from plain words.
//!
//! Types, words and bounds are held against what the schema says; what it cannot say is checked by the types of the
//! tree, which read the value alone. Not here: which layer the value is from (`layers.rs`).
//!
//! Invariant: a [`Value`] that was checked can be read into the tree, alone and together with others.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    keys::{SettingKey, ValueForm, tree},
    schema::LIST_MAX,
    values::Value,
};

/// The most characters of a wrong value that are shown.
const SHOWN_CHARS_MAX: usize = 60;

/// A value as it is written, before it is checked.
enum Raw {
    Text(String),
    Number(Option<u64>, String),
    /// Texts, each with the byte at which it begins.
    List(Vec<(usize, String)>),
    /// Something that no key accepts, in words.
    Other(String),
}

/// The reason why a value is refused, with its byte, if it has one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    pub(super) at: Option<usize>,
    pub(super) what: String,
}

/// Reads a value of a settings file.
pub(super) fn from_toml(key: &SettingKey, value: &Spanned<DeValue<'_>>) -> Result<Value, Flaw> {
    let start = value.span().start;
    let raw = match value.get_ref() {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Integer(number) => {
            let read = u64::from_str_radix(number.as_str(), number.radix()).ok();
            Raw::Number(read, cut(&number.to_string()))
        }
        DeValue::Array(entries) => {
            let mut texts = Vec::new();
            for entry in entries {
                let at = entry.span().start;
                let DeValue::String(text) = entry.get_ref() else {
                    let (path, entry) = (key.path(), words_for(entry.get_ref()));
                    let what = format!("{path} has {entry}; it may be {}", key.row().may_be);
                    return Err(Flaw { at: Some(at), what });
                };
                texts.push((at, text.to_string()));
            }
            Raw::List(texts)
        }
        DeValue::Boolean(truth) if key.row().form == ValueForm::Switch => {
            Raw::Text(if *truth { "on" } else { "off" }.to_owned())
        }
        other @ (DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Table(_)) => Raw::Other(words_for(other)),
    };
    check(key, raw).map_err(|flaw| Flaw { at: flaw.at.or(Some(start)), what: flaw.what })
}

/// Reads plain words: a variable's, a flag's, or those of `forge config set`. A list is written
/// as in TOML; a text that does not begin with `[` is a list of one.
pub(super) fn from_words(key: &SettingKey, words: &str) -> Result<Value, Flaw> {
    let raw = match key.row().form {
        ValueForm::Count { .. } => {
            Raw::Number(words.trim().parse().ok(), format!("`{}`", cut(words)))
        }
        ValueForm::List { .. } if words.trim_start().starts_with('[') => {
            let line = format!("list = {words}");
            let table = DeTable::parse(&line).ok();
            let list = table.as_ref().and_then(|table| table.get_ref().get("list"));
            let is_all = table.as_ref().is_some_and(|table| table.get_ref().len() == 1);
            match list.filter(|_| is_all) {
                Some(list) => return from_toml(key, list).map_err(nowhere),
                None => Raw::Other(format!("`{}`", cut(words))),
            }
        }
        // A program and its arguments are not split as a shell would do it.
        ValueForm::List { least: 1.. } if words.trim().contains(char::is_whitespace) => {
            Raw::Text(words.to_owned())
        }
        ValueForm::List { .. } => Raw::List(vec![(0, words.to_owned())]),
        ValueForm::Switch if words == "true" => Raw::Text("on".to_owned()),
        ValueForm::Switch if words == "false" => Raw::Text("off".to_owned()),
        ValueForm::Word(_) | ValueForm::Switch | ValueForm::Text => Raw::Text(words.to_owned()),
    };
    check(key, raw).map_err(nowhere)
}

fn nowhere(flaw: Flaw) -> Flaw {
    Flaw { at: None, ..flaw }
}

fn check(key: &SettingKey, raw: Raw) -> Result<Value, Flaw> {
    let (path, row) = (key.path(), key.row());
    let flaw = |what: String| Flaw { at: None, what };
    let wrong = |shown: &str| flaw(format!("{path} is {shown}; it may be {}", row.may_be));
    match (&row.form, raw) {
        (ValueForm::Word(words), Raw::Text(text)) if words.contains(&text) => Ok(Value::Text(text)),
        (ValueForm::Switch, Raw::Text(text)) if text == "on" || text == "off" => {
            Ok(Value::Text(text))
        }
        (ValueForm::Count { least, most }, Raw::Number(Some(count), _))
            if (least..=most).contains(&&count) =>
        {
            Ok(Value::Count(count))
        }
        (ValueForm::Text, Raw::Text(text)) => {
            let value = Value::Text(text.clone());
            match refusal(key, &value) {
                None => Ok(value),
                Some(why) if why.is_empty() => Err(wrong(&quoted(&text))),
                Some(why) if is_about_text(&why) => {
                    Err(flaw(format!("{path} is {}, {why}", quoted(&text))))
                }
                Some(why) => Err(flaw(format!("{path} {why}"))),
            }
        }
        (ValueForm::List { least: 1.. }, Raw::List(texts)) if texts.is_empty() => {
            Err(wrong("empty"))
        }
        (ValueForm::List { .. }, Raw::List(texts)) => list(key, &texts),
        (_, Raw::Text(text)) => Err(wrong(&quoted(&text))),
        (_, Raw::Number(_, shown) | Raw::Other(shown)) => Err(wrong(&shown)),
        (_, Raw::List(_)) => Err(wrong("a list")),
    }
}

fn list(key: &SettingKey, texts: &[(usize, String)]) -> Result<Value, Flaw> {
    let path = key.path();
    if texts.len() > LIST_MAX {
        let what = format!("{path} has {} entries, and may have {LIST_MAX}", texts.len());
        return Err(Flaw { at: None, what });
    }
    let begin = |n: usize| Value::List(texts[..n].iter().map(|(_, text)| text.clone()).collect());
    if refusal(key, &begin(texts.len())).is_none() {
        return Ok(begin(texts.len()));
    }
    // The last entry of the shortest beginning that is refused is the one that is wrong.
    let mut refused = (1..=texts.len()).filter_map(|n| Some((n, refusal(key, &begin(n))?)));
    let (n, why) = refused.next().expect("the whole list is refused");
    let (at, text) = &texts[n - 1];
    let what = if is_about_text(&why) {
        format!("{path} has {}, {why}", quoted(text))
    } else {
        format!("{path} has an entry that {why}")
    };
    Err(Flaw { at: Some(*at), what })
}

/// Returns why the type of a key refuses a value.
fn refusal(key: &SettingKey, value: &Value) -> Option<String> {
    tree([(key, value)].into_iter()).err()
}

fn is_about_text(why: &str) -> bool {
    why.starts_with("which ") || why.starts_with("and ")
}

fn words_for(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => quoted(text),
        DeValue::Integer(number) => cut(&number.to_string()),
        DeValue::Float(number) => cut(&number.to_string()),
        DeValue::Boolean(truth) => truth.to_string(),
        DeValue::Datetime(moment) => moment.to_string(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", cut(text))
}

fn cut(text: &str) -> String {
    if text.chars().nth(SHOWN_CHARS_MAX).is_none() {
        return text.to_owned();
    }
    text.chars().take(SHOWN_CHARS_MAX - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{
        super::values::{RUN_MARK, TEXT_BYTES_MAX, shown_url},
        *,
    };

    fn read(path: &str, words: &str) -> Result<Value, Flaw> {
        from_words(&SettingKey::find(path).unwrap(), words)
    }

    fn why(path: &str, words: &str) -> String {
        read(path, words).unwrap_err().what
    }

    #[test]
    fn paths_stay_in_the_checkout_and_out_of_git() {
        for (path, expected) in [
            ("/etc/passwd", "is not relative"),
            ("../x", "leads out"),
            ("a/../../x", "leads out"),
            (".git/hooks", "is git's own"),
            ("a/.GIT", "is git's own"),
            (".", "is the whole checkout"),
            ("./", "is the whole checkout"),
            ("", "is empty"),
            ("a\0b", "control character"),
            ("a\u{202e}b", "control character"),
        ] {
            let why = why("workspace.copy", path);
            assert!(why.contains(expected) && why.contains("workspace.copy"), "{path}: {why}");
        }
        for path in ["target", ".env.test", "a/b c", "./x", "..x", ".github", ".gitignore"] {
            assert_eq!(read("workspace.copy", path), Ok(Value::List(vec![path.to_owned()])));
        }
    }

    #[test]
    fn a_branch_is_taken_if_and_only_if_git_takes_it() {
        let folder = tempfile::tempdir().unwrap();
        let names = [
            "forge/{run}",
            "x",
            "a/b-{run}",
            "ünï/{run}",
            "a.b",
            "{run}.lock",
            "a..b",
            "-x",
            "a b",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.",
            "a~",
            "a^",
            "a:b",
            "a?",
            "a*",
            "a[",
            "a\\b",
            "HEAD",
            "a.lock/b",
            "a@b",
            "",
            "a\tb",
            "a\u{7f}b",
            "lock",
            "a-HEAD",
        ];
        for name in names {
            let git = Command::new("git")
                .current_dir(folder.path())
                .args(["check-ref-format", "--branch", &name.replace(RUN_MARK, "20260101-r-aaaa")])
                .output()
                .unwrap();
            let result = read("land.branch", name);
            assert_eq!(result.is_ok(), git.status.success(), "{name:?}: {result:?}");
        }
        // Git would take the first for HEAD, and the others are surely mistakes.
        for name in ["@", "a@{run}x{", "{date}", "{run", &"x".repeat(201)] {
            assert!(why("land.branch", name).contains("land.branch"));
        }
    }

    #[test]
    fn an_address_has_a_scheme_and_a_host_and_is_shown_without_the_rest() {
        for (url, shown) in [
            ("https://example.org", "https://example.org"),
            ("http://127.0.0.1:8080/hook", "http://127.0.0.1:8080/…"),
            ("https://me:secret@example.org/T0/B0?x=1#y", "https://example.org/…"),
            ("https://example.org?token=x", "https://example.org/…"),
        ] {
            assert!(read("notify.webhook", url).is_ok(), "{url}");
            assert_eq!(shown_url(url), shown);
        }
        for (url, expected) in [
            ("ftp://example.org/T0SECRET", "neither https:// nor http://"),
            ("https://", "names no host"),
            ("https:///T0SECRET", "names no host"),
            ("https://:80/T0SECRET", "names no host"),
            ("https://a b/T0SECRET", "no address has"),
        ] {
            let why = why("notify.webhook", url);
            assert!(why.contains(expected) && !why.contains("SECRET"), "{url}: {why}");
        }
    }

    #[test]
    fn a_switch_is_a_word_or_a_truth() {
        for (words, on) in [("on", "on"), ("off", "off"), ("true", "on"), ("false", "off")] {
            assert_eq!(read("notify.bell", words), Ok(Value::Text(on.to_owned())));
        }
        assert!(why("notify.bell", "yes").contains("may be \"on\" or \"off\""));
    }

    #[test]
    fn plain_words_become_lists_and_lists_are_written_as_in_toml() {
        let list =
            |texts: &[&str]| Ok(Value::List(texts.iter().map(|text| (*text).to_owned()).collect()));
        let read = |words| read("verify.commands", words);
        assert_eq!(read("cargo test"), list(&["cargo test"]));
        assert_eq!(read("[]"), list(&[]));
        assert_eq!(read("[\"a\", 'b \"c\"']"), list(&["a", "b \"c\""]));
        assert!(why("verify.commands", "[ -f x ] && y").contains("a list of commands"));
        assert!(why("verify.commands", "[]\nagent = \"x\"").contains("a list of commands"));
        assert!(why("verify.commands", "[1]").contains("verify.commands has 1"));
        assert!(why("verify.commands", " ").contains("is empty"));
    }

    #[test]
    fn lists_and_texts_have_an_end() {
        let entries = |n: usize| format!("[{}]", vec!["\"x\""; n].join(","));
        assert!(read("workspace.setup", &entries(LIST_MAX)).is_ok());
        assert!(
            why("workspace.setup", &entries(LIST_MAX + 1))
                .contains("257 entries, and may have 256")
        );
        assert!(read("workspace.setup", &"x".repeat(TEXT_BYTES_MAX)).is_ok());
        let why = why("workspace.setup", &"x".repeat(TEXT_BYTES_MAX + 1));
        assert!(why.contains("longer than 16384 bytes"), "{why}");
    }

    #[test]
    fn a_wrong_value_is_shown_with_what_it_may_be_and_never_at_length() {
        for (key, words, expected) in [
            (
                "limits.at_once",
                "0",
                "limits.at_once is `0`; it may be a whole number between 1 and 256",
            ),
            ("limits.at_once", "many", "limits.at_once is `many`"),
            ("limits.budget", "much", "limits.budget is \"much\"; it may be an amount"),
            ("workspace.claims", "wait", "may be \"warn\" or \"defer\" or \"block\""),
            ("verify.final", "Cached", "may be \"pristine\" or \"cached\""),
            ("agent", "Claude", "agent is \"Claude\", and the name of an agent has at most 40"),
            ("agent", "", "agent is \"\", and the name of an agent"),
            ("agents.scripted.scenario", "", "agents.scripted.scenario is empty"),
        ] {
            let why = why(key, words);
            assert!(why.contains(expected), "{why}");
        }
        assert!(why("limits.budget", &"9".repeat(100_000)).len() < 200);
    }
}
