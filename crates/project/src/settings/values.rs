//! The values that settings have: texts with rules, each a type of its own, and what `forge config` shows.
//!
//! A type's doc comment is what `forge config explain` says that a value may be, and its `extend` is what the
//! published schema says. Not here: which key has which type (`types.rs`), and how a value is read (`check.rs`).
//!
//! Invariant: paths lead nowhere outside the checkout, branches are names that git accepts, and no text hides
//! anything from the person who approves it.

#![expect(
    clippy::doc_markdown,
    clippy::doc_link_with_quotes,
    reason = "doc comments are shown to people as they are"
)]

use std::{
    fmt,
    ops::Deref,
    path::{Component, Path},
};

use forge_core::{id::is_plain_name, money::Money};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most bytes of one text.
pub(super) const TEXT_BYTES_MAX: usize = 16 * 1024;
/// The most bytes of the name of a model or of a variable.
const NAME_BYTES_MAX: usize = 200;
/// What stands for the run's id in the name of its branch.
pub(super) const RUN_MARK: &str = "{run}";
/// The rule for agent names, as a sentence.
pub(super) const AGENT_NAME_MAY_BE: &str = "the name of an agent has at most 40 small letters, digits, `-` and `_`, and begins with a letter or digit";
/// The same, for editors.
pub(super) const AGENT_NAME_PATTERN: &str = "^[a-z0-9][a-z0-9_-]{0,39}$";

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

/// Defines a text with a rule. The rule returns why a text is refused: as the end of a sentence that begins with
/// the key, as "which …" or "and …" about the quoted text, or empty if the text is merely not what it may be.
macro_rules! text_type {
    ($(#[doc = $doc:literal])* $name:ident { $($schema:tt)* } $rule:expr) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "String", into = "String")]
        #[schemars(extend($($schema)*))]
        pub struct $name(String);

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                let rule: fn(&str) -> Result<(), String> = $rule;
                rule(&text).map(|()| Self(text))
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        }

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }
    };
}

text_type! {
    /// A name such as "feature".
    PlainName { "pattern" = "^[A-Za-z0-9_-]+$", "maxLength" = NAME_BYTES_MAX } |text| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        holds(!text.is_empty() && text.len() <= NAME_BYTES_MAX && text.chars().all(is_plain), "")
    }
}
text_type! {
    /// "scripted", "claude", or the name of an agent that is set up.
    AgentName { "pattern" = AGENT_NAME_PATTERN, "examples" = ["scripted", "claude"] } |text| {
        holds(is_agent_name(text), &format!("and {AGENT_NAME_MAY_BE}"))
    }
}
text_type! {
    /// The name of a model such as "claude-sonnet-4-5".
    ModelName { "pattern" = "^[!-,.-~][!-~]*$", "maxLength" = NAME_BYTES_MAX } |text| {
        holds(text.len() <= NAME_BYTES_MAX, "which is longer than 200 bytes")?;
        // An option of the program that gets the name must not hide in it.
        let is_plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic());
        holds(is_plain && !text.starts_with('-'), "which is no name of a model")
    }
}
text_type! {
    /// The path of a file.
    FilePath { "minLength" = 1, "maxLength" = TEXT_BYTES_MAX } visible
}
text_type! {
    /// The name of a branch such as "forge/{run}".
    BranchTemplate { "minLength" = 1, "maxLength" = TEXT_BYTES_MAX } branch
}
text_type! {
    /// An address such as "https://example.org/hook".
    Webhook { "pattern" = "^https?://[!-~]+$", "maxLength" = TEXT_BYTES_MAX, "writeOnly" = true } |text| {
        // The refused address may hold a secret, so it is not quoted.
        let may_be = "it may be an address such as \"https://example.org/hook\"";
        web_address(text).map_err(|why| format!("{why}; {may_be}"))
    }
}
text_type! {
    /// Commands such as ["cargo test"].
    ShellCommand { "minLength" = 1, "maxLength" = TEXT_BYTES_MAX } visible
}
text_type! {
    /// Paths inside the checkout such as ["target"].
    RelPath { "minLength" = 1, "maxLength" = TEXT_BYTES_MAX } inside_checkout
}
text_type! {
    /// Paths inside the checkout such as ["tests/fixtures/**"].
    PathPattern { "minLength" = 1, "maxLength" = TEXT_BYTES_MAX } inside_checkout
}
text_type! {
    /// Names of variables such as ["HTTPS_PROXY"].
    VariableName { "pattern" = "^[A-Za-z_][A-Za-z0-9_]*$", "maxLength" = NAME_BYTES_MAX } |text| {
        visible(text)?;
        let is_plain = text.len() <= NAME_BYTES_MAX
            && !text.starts_with(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        holds(is_plain, "which is no name of a variable")
    }
}

/// An amount of dollars such as "2.50".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("pattern" = r"^[0-9]+(\.[0-9]+)?$"))]
pub struct Dollars(#[schemars(with = "String")] pub Money);

impl TryFrom<String> for Dollars {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        Money::parse(&text).map(Self).ok_or("")
    }
}

impl Serialize for Dollars {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let micros = self.0.0;
        serializer.collect_str(&format_args!("{}.{:06}", micros / 1_000_000, micros % 1_000_000))
    }
}

/// A list of a program and its arguments such as ["./agent.sh", "--fast"].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<ShellCommand>", into = "Vec<String>")]
#[schemars(extend("minItems" = 1))]
pub struct ProgramLine(Vec<String>);

impl TryFrom<Vec<ShellCommand>> for ProgramLine {
    type Error = String;

    fn try_from(words: Vec<ShellCommand>) -> Result<Self, String> {
        let program = words.first().ok_or_else(String::new)?;
        holds(!program.starts_with('~'), "which nobody expands here; write the whole path")?;
        holds(!program.starts_with('-'), "which is an option, and not a program")?;
        holds(Path::new(&**program).file_name().is_some(), "which is a folder")?;
        Ok(Self(words.into_iter().map(String::from).collect()))
    }
}

impl From<ProgramLine> for Vec<String> {
    fn from(line: ProgramLine) -> Self {
        line.0
    }
}

impl Deref for ProgramLine {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.0
    }
}

/// Returns true for a valid agent name.
pub(super) fn is_agent_name(text: &str) -> bool {
    is_plain_name(text) && !text.contains(|c: char| c.is_ascii_uppercase())
}

/// Copies texts out of their types.
pub(super) fn to_strings<T: Deref<Target = str>>(texts: &[T]) -> Vec<String> {
    texts.iter().map(|text| (**text).to_owned()).collect()
}

/// Cuts what may be secret out of an address: the scheme and the host remain.
pub fn shown_url(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let bare = host.rsplit('@').next().unwrap_or_default();
    let more = if bare.len() == rest.len() { "" } else { "/…" };
    format!("{scheme}://{bare}{more}")
}

fn holds(is_right: bool, why: &str) -> Result<(), String> {
    if is_right { Ok(()) } else { Err(why.to_owned()) }
}

/// Refuses texts in which a person does not see what is there.
fn visible(text: &str) -> Result<(), String> {
    holds(!text.trim().is_empty(), "is empty")?;
    holds(text.len() <= TEXT_BYTES_MAX, &format!("is longer than {TEXT_BYTES_MAX} bytes"))?;
    let hides = |c: char| (c.is_control() && c != '\n' && c != '\t') || is_bidirectional(c);
    holds(!text.contains(hides), "has a control character in it")
}

fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn inside_checkout(text: &str) -> Result<(), String> {
    visible(text)?;
    let mut n_names = 0_usize;
    for part in Path::new(text).components() {
        match part {
            Component::Normal(name) => {
                holds(!name.eq_ignore_ascii_case(".git"), "which is git's own")?;
                n_names += 1;
            }
            Component::CurDir => {}
            Component::ParentDir => return Err("which leads out of the checkout".to_owned()),
            Component::RootDir | Component::Prefix(_) => {
                return Err("which is not relative to the checkout".to_owned());
            }
        }
    }
    holds(n_names > 0, "which is the whole checkout")
}

fn web_address(text: &str) -> Result<(), &'static str> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let rest = rest.ok_or("begins with neither https:// nor http://")?;
    if text.len() > TEXT_BYTES_MAX || !text.chars().all(|c| c.is_ascii_graphic()) {
        return Err("has something in it that no address has");
    }
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    if host.is_empty() || host.starts_with(':') { Err("names no host") } else { Ok(()) }
}

/// Refuses what git refuses as a branch, with a run's id in it.
fn branch(text: &str) -> Result<(), String> {
    let name = text.replace(RUN_MARK, "20260101-run-aaaa");
    holds(!name.contains(['{', '}']), "which has something in braces that is not {run}")?;
    holds(name.len() <= 200, "which is longer than 200 bytes")?;
    if let Some(wrong) = name.chars().find(|c| {
        c.is_control() || c.is_whitespace() || is_bidirectional(*c) || "~^:?*[\\".contains(*c)
    }) {
        return Err(format!("which has {wrong:?} in it, which git does not take"));
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
    holds(!is_wrong, "which is no name that git takes for a branch")
}
