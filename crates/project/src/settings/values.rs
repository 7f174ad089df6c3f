//! What a value of the settings may be, and how it is read: from TOML, or from plain words.
//!
//! Not here: which key has which kind (`key.rs`), and who said it (`sheet.rs`).
//!
//! Invariant: a [`Value`] of a key was checked against the key's [`Kind`]. Paths lead nowhere
//! outside the checkout, branches are names that git takes, lists and texts have an end. Whether
//! there is an agent of a name is not known here: that takes all layers.

use std::{
    fmt,
    path::{Component, Path},
};

use forge_agents::registry;
use forge_core::money::Money;
use schemars::JsonSchema;
use serde::Serialize;
use toml::{Spanned, de::DeValue};

use super::{
    keys::{Key, SWITCH},
    named_tables::{TableKind, is_agent_name},
};

/// The most entries of a list.
pub(super) const LIST_MAX: usize = 256;
/// The most bytes of one text.
pub(super) const TEXT_BYTES_MAX: usize = 16 * 1024;
/// The most bytes of the name of a model or of a variable.
pub(super) const NAME_BYTES_MAX: usize = 200;
/// The most characters of a wrong value that are shown.
const SHOWN_CHARS_MAX: usize = 60;
/// What stands for the run's id in the name of its branch.
pub(super) const RUN_MARK: &str = "{run}";

/// A value that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Value {
    /// A text, a word, an amount, a path or a branch.
    Text(String),
    /// A whole number.
    Count(u64),
    /// Command lines, words of one command, paths or names.
    List(Vec<String>),
}

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One of these words.
    Word(&'static [&'static str]),
    /// Dollars.
    Amount,
    /// A whole number, at least 1.
    Count { most: u64 },
    /// The path of a file, anywhere.
    File,
    /// The name of a branch, with [`RUN_MARK`] for the run.
    Branch,
    /// Command lines for a shell.
    Commands,
    /// Paths inside the checkout.
    Paths,
    /// Paths inside the checkout, with `*` and `**`.
    Patterns,
    /// A name of letters, digits, `-` and `_`.
    Name,
    /// The name of an agent.
    Agent,
    /// A program and its arguments.
    Program,
    /// The name of a model.
    Model,
    /// Names of variables of the environment.
    Variables,
    /// An address on the web. It may hold a secret, and is never shown as it is.
    Url,
}

/// A value as it was said, before anybody looked whether it can be.
enum Raw {
    Text(String),
    Number(Option<u64>, String),
    /// Texts, each with the byte at which it begins.
    List(Vec<(usize, String)>),
    /// Something that no key takes, in words.
    Other(String),
}

/// Why a value cannot be, and the byte at which it is wrong, if it has one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    pub(super) at: Option<usize>,
    pub(super) what: String,
}

impl Kind {
    /// What it may be, in words.
    pub(super) fn may_be(self) -> String {
        match self {
            Self::Word(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                words.join(" or ")
            }
            Self::Amount => "an amount of dollars such as \"2.50\"".to_owned(),
            Self::Count { most } => format!("a whole number between 1 and {most}"),
            Self::File => "the path of a file".to_owned(),
            Self::Branch => "the name of a branch such as \"forge/{run}\"".to_owned(),
            Self::Commands => "a list of commands such as [\"cargo test\"]".to_owned(),
            Self::Paths => "a list of paths inside the checkout such as [\"target\"]".to_owned(),
            Self::Patterns => {
                "a list of paths inside the checkout such as [\"tests/fixtures/**\"]".to_owned()
            }
            Self::Name => "a name such as \"feature\"".to_owned(),
            Self::Agent => {
                let known = registry::ready_to_use().map(|kind| format!("{:?}", kind.name()));
                let known: Vec<String> = known.collect();
                format!("{}, or the name of an agent that is set up", known.join(", "))
            }
            Self::Program => {
                "a list of a program and its arguments such as [\"./agent.sh\", \"--fast\"]"
                    .to_owned()
            }
            Self::Model => "the name of a model such as \"claude-sonnet-4-5\"".to_owned(),
            Self::Variables => "a list of names of variables such as [\"HTTPS_PROXY\"]".to_owned(),
            Self::Url => "an address such as \"https://example.org/hook\"".to_owned(),
        }
    }
}

/// Reads a value of a settings file.
pub(super) fn from_toml(key: Key, value: &Spanned<DeValue<'_>>) -> Result<Value, Flaw> {
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
                    let (name, entry) = (key.name(), words_for(entry.get_ref()));
                    let what = format!("{name} has {entry}; it may be {}", key.kind().may_be());
                    return Err(Flaw { at: Some(at), what });
                };
                texts.push((at, text.to_string()));
            }
            Raw::List(texts)
        }
        DeValue::Boolean(truth) if key.kind() == Kind::Word(SWITCH) => {
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
pub(super) fn from_words(key: Key, words: &str) -> Result<Value, Flaw> {
    let raw = match key.kind() {
        Kind::Count { .. } => Raw::Number(words.trim().parse().ok(), format!("`{}`", cut(words))),
        Kind::Commands | Kind::Paths | Kind::Patterns | Kind::Program | Kind::Variables
            if words.trim_start().starts_with('[') =>
        {
            let line = format!("list = {words}");
            let table = toml::de::DeTable::parse(&line).ok();
            let list = table.as_ref().and_then(|table| table.get_ref().get("list"));
            let is_all = table.as_ref().is_some_and(|table| table.get_ref().len() == 1);
            let read = list.filter(|_| is_all).map(|list| from_toml(key, list));
            let wrong = || Raw::Other(format!("`{}`", cut(words)));
            return match read {
                Some(Ok(list)) => Ok(list),
                Some(Err(flaw)) => Err(Flaw { at: None, what: flaw.what }),
                None => check(key, wrong()),
            };
        }
        // A program and its arguments are not taken apart as a shell would do it.
        Kind::Program if words.trim().contains(char::is_whitespace) => Raw::Text(words.to_owned()),
        Kind::Commands | Kind::Paths | Kind::Patterns | Kind::Program | Kind::Variables => {
            Raw::List(vec![(0, words.to_owned())])
        }
        Kind::Word(SWITCH) if words == "true" => Raw::Text("on".to_owned()),
        Kind::Word(SWITCH) if words == "false" => Raw::Text("off".to_owned()),
        Kind::Word(_)
        | Kind::Amount
        | Kind::File
        | Kind::Branch
        | Kind::Name
        | Kind::Agent
        | Kind::Model
        | Kind::Url => Raw::Text(words.to_owned()),
    };
    check(key, raw).map_err(|flaw| Flaw { at: None, what: flaw.what })
}

fn check(key: Key, raw: Raw) -> Result<Value, Flaw> {
    let (name, kind) = (key.name(), key.kind());
    let flaw = |what: String| Flaw { at: None, what };
    let wrong = |shown: &str| flaw(format!("{name} is {shown}; it may be {}", kind.may_be()));
    match (kind, raw) {
        (Kind::Word(words), Raw::Text(text)) => {
            if words.contains(&text.as_str()) {
                return Ok(Value::Text(text));
            }
            Err(wrong(&quoted(&text)))
        }
        (Kind::Name, Raw::Text(text)) => {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if !text.is_empty() && text.len() <= NAME_BYTES_MAX && text.chars().all(is_plain) {
                return Ok(Value::Text(text));
            }
            Err(wrong(&quoted(&text)))
        }
        (Kind::Agent, Raw::Text(text)) => {
            if is_agent_name(&text) {
                return Ok(Value::Text(text));
            }
            let may_be = TableKind::Agents.name_may_be();
            Err(flaw(format!("{name} is {}, and {may_be}", quoted(&text))))
        }
        (Kind::Model, Raw::Text(text)) => match flaw_of_model(&text) {
            None => Ok(Value::Text(text)),
            Some(why) => Err(flaw(format!("{name} is {}, which {why}", quoted(&text)))),
        },
        (Kind::Amount, Raw::Text(text)) => match Money::parse(&text) {
            Some(_) => Ok(Value::Text(text)),
            None => Err(wrong(&quoted(&text))),
        },
        (Kind::Count { most }, Raw::Number(Some(count), _)) if (1..=most).contains(&count) => {
            Ok(Value::Count(count))
        }
        (Kind::File, Raw::Text(text)) => match flaw_of_text(&text) {
            None => Ok(Value::Text(text)),
            Some(why) => Err(flaw(format!("{name} {why}"))),
        },
        (Kind::Branch, Raw::Text(text)) => match flaw_of_branch(&text) {
            None => Ok(Value::Text(text)),
            Some(why) => Err(flaw(format!("{name} is {}, which {why}", quoted(&text)))),
        },
        // What is wrong may hold a secret all the same.
        (Kind::Url, Raw::Text(text)) => match flaw_of_url(&text) {
            None => Ok(Value::Text(text)),
            Some(why) => Err(flaw(format!("{name} {why}; it may be {}", kind.may_be()))),
        },
        (Kind::Program, Raw::List(texts)) if texts.is_empty() => Err(wrong("empty")),
        (
            Kind::Commands | Kind::Paths | Kind::Patterns | Kind::Program | Kind::Variables,
            Raw::List(texts),
        ) => list(key, texts),
        (_, Raw::Text(text)) => Err(wrong(&quoted(&text))),
        (_, Raw::Number(_, shown) | Raw::Other(shown)) => Err(wrong(&shown)),
        (_, Raw::List(_)) => Err(wrong("a list")),
    }
}

fn list(key: Key, texts: Vec<(usize, String)>) -> Result<Value, Flaw> {
    let name = key.name();
    if texts.len() > LIST_MAX {
        let what = format!("{name} has {} entries, and may have {LIST_MAX}", texts.len());
        return Err(Flaw { at: None, what });
    }
    let mut list = Vec::new();
    for (at, text) in texts {
        let why = flaw_of_text(&text).map(|why| format!("{name} has an entry that {why}"));
        let why = why.or_else(|| {
            let why = match key.kind() {
                Kind::Paths | Kind::Patterns => flaw_of_path(&text),
                Kind::Program if list.is_empty() => flaw_of_program(&text),
                Kind::Variables => flaw_of_variable(&text),
                Kind::Word(_)
                | Kind::Amount
                | Kind::Count { .. }
                | Kind::File
                | Kind::Branch
                | Kind::Commands
                | Kind::Name
                | Kind::Agent
                | Kind::Program
                | Kind::Model
                | Kind::Url => None,
            };
            why.map(|why| format!("{name} has {}, which {why}", quoted(&text)))
        });
        match why {
            Some(what) => return Err(Flaw { at: Some(at), what }),
            None => list.push(text),
        }
    }
    Ok(Value::List(list))
}

/// Why a text cannot be used by anybody.
fn flaw_of_text(text: &str) -> Option<String> {
    if text.trim().is_empty() {
        return Some("is empty".to_owned());
    }
    if text.len() > TEXT_BYTES_MAX {
        return Some(format!("is longer than {TEXT_BYTES_MAX} bytes"));
    }
    // What is approved by a person must be what the person sees.
    let hides = |c: char| (c.is_control() && c != '\n' && c != '\t') || is_bidirectional(c);
    text.contains(hides).then(|| "has a control character in it".to_owned())
}

fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Why a path leads somewhere that is none of ours.
fn flaw_of_path(text: &str) -> Option<&'static str> {
    let mut n_names = 0_usize;
    for part in Path::new(text).components() {
        match part {
            Component::Normal(name) if name.eq_ignore_ascii_case(".git") => {
                return Some("is git's own");
            }
            Component::Normal(_) => n_names += 1,
            Component::CurDir => {}
            Component::ParentDir => return Some("leads out of the checkout"),
            Component::RootDir | Component::Prefix(_) => {
                return Some("is not relative to the checkout");
            }
        }
    }
    (n_names == 0).then_some("is the whole checkout")
}

/// Why a program cannot be started under this name.
fn flaw_of_program(text: &str) -> Option<&'static str> {
    if text.starts_with('~') {
        return Some("nobody expands here; write the whole path");
    }
    if text.starts_with('-') {
        return Some("is an option, and not a program");
    }
    Path::new(text).file_name().is_none().then_some("is a folder")
}

/// Why a model cannot be called so. An option of the program that is told it must not hide in it.
fn flaw_of_model(text: &str) -> Option<&'static str> {
    if text.len() > NAME_BYTES_MAX {
        return Some("is longer than 200 bytes");
    }
    let is_plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic());
    (!is_plain || text.starts_with('-')).then_some("is no name of a model")
}

/// Why nobody can be told at this address.
fn flaw_of_url(text: &str) -> Option<&'static str> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let Some(rest) = rest else { return Some("begins with neither https:// nor http://") };
    if text.len() > TEXT_BYTES_MAX || !text.chars().all(|c| c.is_ascii_graphic()) {
        return Some("has something in it that no address has");
    }
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    (host.is_empty() || host.starts_with(':')).then_some("names no host")
}

/// An address without what may be secret in it: the scheme and the host.
pub fn shown_url(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let bare = host.rsplit('@').next().unwrap_or_default();
    let more = if bare.len() == rest.len() { "" } else { "/…" };
    format!("{scheme}://{bare}{more}")
}

/// Why a variable cannot be called so.
fn flaw_of_variable(text: &str) -> Option<&'static str> {
    let is_plain = text.len() <= NAME_BYTES_MAX
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (!is_plain).then_some("is no name of a variable")
}

/// Why git would not take a branch of this name, with a run's id in it.
fn flaw_of_branch(text: &str) -> Option<String> {
    let name = text.replace(RUN_MARK, "20260101-run-aaaa");
    if name.contains(['{', '}']) {
        return Some("has something in braces that is not {run}".to_owned());
    }
    if name.len() > 200 {
        return Some("is longer than 200 bytes".to_owned());
    }
    if let Some(wrong) = name.chars().find(|c| {
        c.is_control() || c.is_whitespace() || is_bidirectional(*c) || "~^:?*[\\".contains(*c)
    }) {
        return Some(format!("has {wrong:?} in it, which git does not take"));
    }
    let is_wrong_part = |part: &str| {
        let ends = part.rsplit_once('.').is_some_and(|(_, end)| end == "lock");
        part.is_empty() || part.starts_with('.') || ends
    };
    let is_wrong = name.split('/').any(is_wrong_part)
        || name.starts_with('-')
        || name.ends_with('.')
        || name.contains("..")
        || name == "@"
        || name == "HEAD";
    is_wrong.then(|| "is no name that git takes for a branch".to_owned())
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

/// As a person would write it in the settings: what JSON escapes, TOML reads.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |text: &String| serde_json::to_string(text).expect("a text can be written");
        match self {
            Self::Text(one) => f.write_str(&text(one)),
            Self::Count(count) => write!(f, "{count}"),
            Self::List(texts) => {
                write!(f, "[{}]", texts.iter().map(text).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn why(key: Key, words: &str) -> String {
        from_words(key, words).unwrap_err().what
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
            let why = why(Key::Copy, path);
            assert!(why.contains(expected) && why.contains("workspace.copy"), "{path}: {why}");
        }
        for path in ["target", ".env.test", "a/b c", "./x", "..x", ".github", ".gitignore"] {
            assert_eq!(from_words(Key::Copy, path), Ok(Value::List(vec![path.to_owned()])));
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
            let ours = from_words(Key::Branch, name);
            assert_eq!(ours.is_ok(), git.status.success(), "{name:?}: {ours:?}");
        }
        // Git would take the first for HEAD, and the others are surely mistakes.
        for name in ["@", "a@{run}x{", "{date}", "{run", &"x".repeat(201)] {
            assert!(why(Key::Branch, name).contains("land.branch"));
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
            assert!(from_words(Key::NotifyWebhook, url).is_ok(), "{url}");
            assert_eq!(shown_url(url), shown);
        }
        for (url, expected) in [
            ("ftp://example.org/T0SECRET", "neither https:// nor http://"),
            ("https://", "names no host"),
            ("https:///T0SECRET", "names no host"),
            ("https://:80/T0SECRET", "names no host"),
            ("https://a b/T0SECRET", "no address has"),
        ] {
            let why = why(Key::NotifyWebhook, url);
            assert!(why.contains(expected) && !why.contains("SECRET"), "{url}: {why}");
        }
    }

    #[test]
    fn a_switch_is_a_word_or_a_truth() {
        for (words, on) in [("on", "on"), ("off", "off"), ("true", "on"), ("false", "off")] {
            assert_eq!(from_words(Key::NotifyBell, words), Ok(Value::Text(on.to_owned())));
        }
        assert!(why(Key::NotifyBell, "yes").contains("may be \"on\" or \"off\""));
    }

    #[test]
    fn plain_words_become_lists_and_lists_are_written_as_in_toml() {
        let list =
            |texts: &[&str]| Ok(Value::List(texts.iter().map(|text| (*text).to_owned()).collect()));
        let read = |words| from_words(Key::VerifyCommands, words);
        assert_eq!(read("cargo test"), list(&["cargo test"]));
        assert_eq!(read("[]"), list(&[]));
        assert_eq!(read("[\"a\", 'b \"c\"']"), list(&["a", "b \"c\""]));
        assert!(why(Key::VerifyCommands, "[ -f x ] && y").contains("a list of commands"));
        assert!(why(Key::VerifyCommands, "[]\nagent = \"x\"").contains("a list of commands"));
        assert!(why(Key::VerifyCommands, "[1]").contains("verify.commands has 1"));
        assert!(why(Key::VerifyCommands, " ").contains("is empty"));
    }

    #[test]
    fn lists_and_texts_have_an_end() {
        let entries = |n: usize| format!("[{}]", vec!["\"x\""; n].join(","));
        assert!(from_words(Key::Setup, &entries(LIST_MAX)).is_ok());
        assert!(why(Key::Setup, &entries(LIST_MAX + 1)).contains("257 entries, and may have 256"));
        assert!(from_words(Key::Setup, &"x".repeat(TEXT_BYTES_MAX)).is_ok());
        let why = why(Key::Setup, &"x".repeat(TEXT_BYTES_MAX + 1));
        assert!(why.contains("longer than 16384 bytes"), "{why}");
    }

    #[test]
    fn a_wrong_value_is_shown_with_what_it_may_be_and_never_at_length() {
        for (key, words, expected) in [
            (Key::AtOnce, "0", "limits.at_once is `0`; it may be a whole number between 1 and 256"),
            (Key::AtOnce, "many", "limits.at_once is `many`"),
            (Key::Budget, "much", "limits.budget is \"much\"; it may be an amount"),
            (Key::Claims, "wait", "may be \"warn\" or \"defer\" or \"block\""),
            (Key::VerifyFinal, "Cached", "may be \"pristine\" or \"cached\""),
            (Key::Agent, "Claude", "agent is \"Claude\", and the name of an agent has at most 40"),
            (Key::Agent, "", "agent is \"\", and the name of an agent"),
            (Key::Scenario, "", "agents.scripted.scenario is empty"),
        ] {
            let why = why(key, words);
            assert!(why.contains(expected), "{why}");
        }
        assert!(why(Key::Budget, &"9".repeat(100_000)).len() < 200);
    }
}
