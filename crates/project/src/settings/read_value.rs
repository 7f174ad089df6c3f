//! Reads one value: from TOML, or from plain words.
//!
//! Whether a value is right is for its type in the tree to say, which reads it alone. Not here: which layer the value
//! is from (`layers.rs`).
//!
//! Invariant: a [`Value`] that was read can be read into the tree, alone and together with others.

use serde::Deserialize as _;
use toml::de::ValueDeserializer;

use super::{
    keys::{SettingKey, ValueForm, hint},
    schema::LIST_MAX,
    types::SettingValues,
    values::{Value, cut},
};

/// The reason why a value is refused, with its byte in the text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    pub(super) at: usize,
    pub(super) what: String,
}

/// Reads a value as TOML writes it.
pub(super) fn from_toml(key: &SettingKey, text: &str) -> Result<Value, Flaw> {
    let text = match (key.row.meaning().form, text) {
        (ValueForm::Switch, "true") => "\"on\"",
        (ValueForm::Switch, "false") => "\"off\"",
        (_, text) => text,
    };
    check(&key.path, text)?;
    let value = ValueDeserializer::parse(text).and_then(Value::deserialize);
    match value.expect("what the tree accepts is a value") {
        Value::List(list) if list.len() > LIST_MAX => {
            let what = format!("{} has {} entries, and may have {LIST_MAX}", key.path, list.len());
            Err(Flaw { at: 0, what })
        }
        value @ (Value::Text(_) | Value::Count(_) | Value::List(_)) => Ok(value),
    }
}

/// Reads plain words: a variable's, a flag's, or those of `forge config set`. A list is written
/// as in TOML; a text that does not begin with `[` is a list of one.
pub(super) fn from_words(key: &SettingKey, words: &str) -> Result<Value, Flaw> {
    let plain = words.trim();
    let is_list = plain.starts_with('[');
    let text = Value::Text(words.to_owned()).to_string();
    let text = match key.row.meaning().form {
        ValueForm::Count if plain.parse::<u64>().is_ok() => plain.to_owned(),
        ValueForm::Switch if ["true", "false"].contains(&words) => words.to_owned(),
        ValueForm::List | ValueForm::Program if is_list => match ValueDeserializer::parse(plain) {
            Ok(_) => plain.to_owned(),
            Err(_) => text,
        },
        ValueForm::List => format!("[{text}]"),
        // A program and its arguments are not split as a shell would do it.
        ValueForm::Program if !plain.contains(char::is_whitespace) => format!("[{text}]"),
        ValueForm::Count | ValueForm::Switch | ValueForm::Program | ValueForm::Text => text,
    };
    from_toml(key, &text)
}

/// Asks the tree whether it accepts a value or an empty table at a path, which may be no key at all.
pub(super) fn check(path: &str, text: &str) -> Result<(), Flaw> {
    let before = format!("{path} = ");
    let Err(error) = toml::from_str::<SettingValues>(&format!("{before}{text}")) else {
        return Ok(());
    };
    let at = error.span().map_or(0, |span| span.start.saturating_sub(before.len()));
    let message = error.message().trim();
    // What serde says repeats the whole text, and expects something in the words of Rust.
    let (why, expects) = message.split_once(", expected").unwrap_or((message, ""));
    let what = match (SettingKey::find(path), Some(expects).filter(|rest| !rest.is_empty())) {
        (Some(key), expects) => {
            let begins = ["invalid type", "invalid value", "unknown variant"];
            let is_wrong_as_a_whole =
                begins.iter().any(|begin| why.starts_with(begin)) && !text.starts_with(['[', '{']);
            let why = match (is_wrong_as_a_whole, expects) {
                (true, _) => format!("{} is not a valid value", cut(text)),
                (false, Some(_)) => cut(why),
                (false, None) => why.to_owned(),
            };
            format!("{path}: {why}; expected {}", key.row.meaning().may_be)
        }
        (None, Some(_)) => format!("unknown key `{}`{}", cut(path), hint(path)),
        (None, None) => message.to_owned(),
    };
    Err(Flaw { at, what })
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
        assert!(why("notify.bell", "yes").contains("expected \"on\" or \"off\""));
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
        assert!(
            why("verify.commands", "[1]").contains("verify.commands: invalid type: integer `1`")
        );
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
                "limits.at_once: 0 is not a valid value; expected a whole number between 1 and 1024",
            ),
            ("limits.at_once", "many", "limits.at_once: \"many\" is not a valid value"),
            (
                "limits.budget",
                "much",
                "limits.budget: \"much\" is not an amount; expected an amount",
            ),
            ("workspace.claims", "wait", "expected \"warn\" or \"defer\" or \"block\""),
            ("verify.final", "Cached", "expected \"pristine\" or \"cached\""),
            ("agent", "Claude", "agent: \"Claude\" is not a valid agent name: at most 40"),
            ("agent", "", "agent: \"\" is not a valid agent name"),
            ("agents.scripted.scenario", "", "agents.scripted.scenario: \"\" is empty"),
        ] {
            let why = why(key, words);
            assert!(why.contains(expected), "{why}");
        }
        assert!(why("limits.budget", &"9".repeat(100_000)).len() < 200);
    }
}
