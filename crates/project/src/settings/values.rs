//! The values that settings have: texts with rules, each a type of its own, and what `forge config` shows.
//!
//! A type's doc comment is what `forge config explain` says that a value may be, and its `extend` is what the
//! published schema says. Not here: which key has which type (`types.rs`), and how a value is read (`read_value.rs`).
//!
//! Invariant: paths lead nowhere outside the checkout, branches are names that git accepts, and no text hides
//! anything from the person who approves it.

#![expect(
    clippy::doc_markdown,
    clippy::doc_link_with_quotes,
    reason = "doc comments are shown to people as they are"
)]

use std::{
    borrow::Borrow,
    fmt,
    ops::Deref,
    path::{Component, Path},
};

use forge_agents::prices::ModelPrice;
use forge_core::{
    flow::DEFAULT_PIPELINE,
    id::is_plain_name,
    money::Money,
    slug::{branch_words, split_run_id},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most bytes of one text.
pub(super) const TEXT_BYTES_MAX: usize = 16 * 1024;
/// The word for a run without a budget.
const NO_BUDGET: &str = "none";
/// The most bytes of the name of a model or of a variable.
const NAME_BYTES_MAX: usize = 200;
/// More looks of a review than this are no bound at all.
const ITERATIONS_MAX: u32 = 20;
/// The most bytes of the folder of pages.
const PAGES_FOLDER_BYTES_MAX: usize = 200;
/// What stands for the run's id in the name of its branch.
pub(super) const RUN_MARK: &str = "{run}";
/// Stands for the first words of its request in the name of a branch.
const WORDS_MARK: &str = "{words}";
/// Stands for the last letters of a run's id in the name of a branch.
pub(super) const ID_MARK: &str = "{id}";
/// The most characters of a wrong text that are shown.
const SHOWN_CHARS_MAX: usize = 80;
/// The rule for agent names, for editors.
pub(super) const AGENT_NAME_PATTERN: &str = "^[a-z0-9][a-z0-9_-]{0,39}$";
/// The rule for names of roles: whatever a flow may call one.
pub(super) const ROLE_NAME_PATTERN: &str = "^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$";

/// A value that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// Defines a text with a rule, which says what is wrong with a text that it refuses.
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

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

text_type! {
    /// A name such as "feature".
    PlainName { "pattern" = "^[A-Za-z0-9_-]+$", "maxLength" = NAME_BYTES_MAX } |text| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let is_right = !text.is_empty() && text.len() <= NAME_BYTES_MAX && text.chars().all(is_plain);
        holds(is_right, text, "is not a valid name")
    }
}
text_type! {
    /// "scripted", "claude", or the name of an agent that is set up.
    AgentName { "pattern" = AGENT_NAME_PATTERN, "examples" = ["scripted", "claude"] } |text| {
        let is_right = is_plain_name(text) && !text.contains(|c: char| c.is_ascii_uppercase());
        let rule = "is not a valid agent name: at most 40 lower-case letters, digits, `-` and \
                    `_`, starting with a letter or digit";
        holds(is_right, text, rule)
    }
}
text_type! {
    /// The name of a role.
    RoleName { "pattern" = ROLE_NAME_PATTERN } |text| {
        let rule = "is not a valid role name: at most 40 letters, digits, `-` and `_`, starting \
                    with a letter or digit";
        holds(is_plain_name(text), text, rule)
    }
}
text_type! {
    /// The name of a pipeline.
    PipelineName { "pattern" = ROLE_NAME_PATTERN } |text| {
        let rule = "is not a valid pipeline name: at most 40 letters, digits, `-` and `_`, starting \
                    with a letter or digit, and not `default`";
        holds(is_plain_name(text) && text != DEFAULT_PIPELINE, text, rule)
    }
}
text_type! {
    /// The name of a model such as "claude-sonnet-4-5".
    ModelName { "pattern" = "^[!-,.-~][!-~]*$", "maxLength" = NAME_BYTES_MAX } |text| {
        // An option of the program that gets the name must not hide in it.
        let is_plain = !text.starts_with('-') && text.chars().all(|c| c.is_ascii_graphic());
        let is_right = is_plain && (1..=NAME_BYTES_MAX).contains(&text.len());
        holds(is_right, text, "is not a valid model name")
    }
}
text_type! {
    /// A path.
    FilePath { "minLength" = 1, "maxLength" = TEXT_BYTES_MAX } visible
}
text_type! {
    /// The name of a branch such as "forge/{words}-{id}".
    BranchTemplate { "minLength" = 1, "maxLength" = TEXT_BYTES_MAX } branch
}
text_type! {
    /// A URL such as "https://example.org/hook".
    Webhook { "pattern" = "^https?://[!-~]+$", "maxLength" = TEXT_BYTES_MAX, "writeOnly" = true } web_address
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
    /// A folder inside the checkout such as docs/work.
    PagesFolder { "minLength" = 1, "maxLength" = PAGES_FOLDER_BYTES_MAX } |text| {
        inside_checkout(text)?;
        let is_plain = |name: &str| !matches!(name, "" | "." | ".forge");
        let is_right = text.len() <= PAGES_FOLDER_BYTES_MAX && text.split('/').all(is_plain);
        holds(is_right, text, "is not a folder such as docs/work")
    }
}
text_type! {
    /// Names of variables such as ["HTTPS_PROXY"].
    VariableName { "pattern" = "^[A-Za-z_][A-Za-z0-9_]*$", "maxLength" = NAME_BYTES_MAX } |text| {
        let is_plain = !text.starts_with(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let is_right = is_plain && (1..=NAME_BYTES_MAX).contains(&text.len());
        holds(is_right, text, "is not a valid variable name")
    }
}

text_type! {
    /// Variables such as ["CLAUDE_CONFIG_DIR=~/.claude-work", "ANTHROPIC_API_KEY=$WORK_KEY"]: a folder, or the name of a variable
    /// that holds a key.
    AccountVariable { "pattern" = r"^[A-Za-z_][A-Za-z0-9_]*=(~?/.+|\$[A-Za-z_][A-Za-z0-9_]*)$", "maxLength" = TEXT_BYTES_MAX } |text| {
        AccountValue::parse(text).map(|_| ())
    }
}

text_type! {
    /// A host such as "git.example.com", with its port if that is not the usual one.
    HostName { "pattern" = r"^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$", "maxLength" = TEXT_BYTES_MAX } |text| {
        holds(is_host(text), text, "is not a host such as git.example.com")
    }
}
text_type! {
    /// An address such as "https://jira.example.com".
    SiteAddress { "pattern" = "^https?://[!-~]+$", "maxLength" = TEXT_BYTES_MAX } |text| {
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let (host, path) = rest.map(|rest| rest.split_once('/').unwrap_or((rest, ""))).unwrap_or_default();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._~-".contains(c);
        let is_near = ["127.0.0.1", "localhost"].contains(&host.split(':').next().unwrap_or(host));
        let is_right = is_host(host) && path.chars().all(is_plain)
            && (text.starts_with("https://") || is_near) && text.len() <= TEXT_BYTES_MAX;
        holds(is_right, text, "is not an address such as https://jira.example.com")
    }
}

text_type! {
    /// A label of pull requests such as "automated", without commas.
    LabelName { "pattern" = "^[^,]+$", "maxLength" = NAME_BYTES_MAX } |text| {
        visible(text)?;
        let is_right = text.len() <= NAME_BYTES_MAX && !text.contains([',', '\n', '\t']);
        holds(is_right, text, "is not a label without commas")
    }
}
text_type! {
    /// A reviewer such as "ada", or "organization/team".
    ReviewerName { "pattern" = "^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)?$", "maxLength" = NAME_BYTES_MAX } |text| {
        let is_part = |part: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
            !part.is_empty() && part.chars().all(is_plain)
        };
        let (owner, team) = text.split_once('/').unwrap_or((text, "team"));
        let is_right = is_part(owner) && is_part(team) && text.len() <= NAME_BYTES_MAX;
        holds(is_right, text, "is not the name of a user or a team")
    }
}
text_type! {
    /// A remote such as "fork".
    RemoteName { "pattern" = "^[A-Za-z0-9_.][A-Za-z0-9_./-]*$", "maxLength" = NAME_BYTES_MAX } |text| {
        // An option of git must not hide in it.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
        let is_right = (1..=NAME_BYTES_MAX).contains(&text.len()) && text.chars().all(is_plain);
        holds(is_right && !text.starts_with(['-', '/']), text, "is not the name of a remote")
    }
}

/// Says whether a text is a host, with or without a port.
fn is_host(text: &str) -> bool {
    let (name, port) = text.split_once(':').unwrap_or((text, "443"));
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    let is_edge = |c: char| c == '.' || c == '-';
    !name.is_empty()
        && name.chars().all(is_name)
        && !name.starts_with(is_edge)
        && !name.ends_with(is_edge)
        && port.parse::<u16>().is_ok_and(|port| port > 0)
        && text.len() <= TEXT_BYTES_MAX
}

/// What a variable of an account is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountValue {
    /// A path from the root.
    Path(String),
    /// A path from the user's home folder.
    InHome(String),
    /// The value of the variable with this name.
    Variable(String),
}

impl AccountValue {
    /// Reads a variable and its value.
    fn parse(text: &str) -> Result<(&str, Self), String> {
        visible(text)?;
        let rule = "is not a variable with a folder or the name of another variable, such as \
                    NAME=~/folder or NAME=$OTHER";
        let wrong = || format!("{} {rule}", quoted(text.split('=').next().unwrap_or(text)));
        let (name, value) = text.split_once('=').ok_or_else(wrong)?;
        VariableName::try_from(name.to_owned())?;
        let value = if let Some(variable) = value.strip_prefix('$') {
            Self::Variable(VariableName::try_from(variable.to_owned())?.into())
        } else if let Some(path) = value.strip_prefix("~/") {
            Self::InHome(path.to_owned())
        } else if value.starts_with('/') {
            Self::Path(value.to_owned())
        } else {
            return Err(wrong());
        };
        Ok((name, value))
    }
}

impl AccountVariable {
    /// Returns its name and what it is set to.
    pub fn parts(&self) -> (&str, AccountValue) {
        AccountValue::parse(self).expect("a variable was checked when it was read")
    }
}

text_type! {
    /// A day such as "2027-03-01".
    Day { "pattern" = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$" } |text| {
        holds(end_of_day_ms(text).is_some(), text, "is not a day such as 2027-03-01")
    }
}

impl Day {
    /// Returns when it is over, in milliseconds since 1970, UTC.
    pub fn end_ms(&self) -> u64 {
        end_of_day_ms(self).expect("a day was checked when it was read")
    }
}

/// Returns when a day is over, in milliseconds since 1970, UTC. No day before 1970 can be told.
fn end_of_day_ms(text: &str) -> Option<u64> {
    let mut parts = text.split('-');
    let mut part = |digits: usize| -> Option<u64> {
        let part = parts.next().filter(|part| part.len() == digits)?;
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok()).flatten()
    };
    let (year, month, day) = (part(4)?, part(2)?, part(2)?);
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let february = if is_leap(year) { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let in_month = *months.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
    if parts.next().is_some() || year < 1970 || !(1..=in_month).contains(&day) {
        return None;
    }
    let years: u64 = (1970..year).map(|year| 365 + u64::from(is_leap(year))).sum();
    let before: u64 = months.iter().take(usize::try_from(month).ok()? - 1).sum();
    Some((years + before + day) * 86_400_000)
}

text_type! {
    /// Prices such as ["gpt-5 input=1.25 output=10 cache_read=0.125"], in dollars for a million tokens of the models whose names begin
    /// like this.
    PriceLine { "pattern" = "^[!-~]+( (input|output|cache_read|cache_write)=[0-9]+([.][0-9]+)?)+$", "maxLength" = NAME_BYTES_MAX } |text| {
        PriceLine::parse(text).map(|_| ())
    }
}

impl PriceLine {
    /// Reads the beginning of the names, and the prices of a million tokens: what is read from a cache costs like any input, and so does
    /// what is written to one, where nothing is said.
    fn parse(text: &str) -> Result<ModelPrice, String> {
        let wrong = |what: &str| format!("{} {what}", quoted(text));
        let mut words = text.split_ascii_whitespace();
        let prefix =
            words.next().ok_or_else(|| wrong("does not begin with the name of a model"))?;
        ModelName::try_from(prefix.to_owned())?;
        let [mut input, mut output, mut cache_read, mut cache_write] = [None; 4];
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let price = Money::parse(value);
            let price = price.ok_or_else(|| wrong(&format!("has no amount after `{key}`")))?;
            let part = match key {
                "input" => &mut input,
                "output" => &mut output,
                "cache_read" => &mut cache_read,
                "cache_write" => &mut cache_write,
                _ => {
                    let rule = format!(
                        "has the unknown key `{key}`; possible: input, output, cache_read, cache_write"
                    );
                    return Err(wrong(&rule));
                }
            };
            *part = Some(price.0);
        }
        let (Some(input), Some(output)) = (input, output) else {
            return Err(wrong("needs input and output"));
        };
        Ok(ModelPrice {
            prefix: prefix.to_owned(),
            input,
            output,
            cache_read: cache_read.unwrap_or(input),
            cache_write: cache_write.unwrap_or(input),
            source: "settings".to_owned(),
        })
    }

    /// Returns the price.
    pub fn price(&self) -> ModelPrice {
        Self::parse(self).expect("a price was checked when it was read")
    }
}

text_type! {
    /// Phases such as ["implement", "review-code max_iterations=2", "commit"].
    PipelinePhase { "minLength" = 1, "maxLength" = NAME_BYTES_MAX } |text| PhaseParts::parse(text).map(|_| ())
}

/// The parts of a phase of a pipeline.
#[derive(Default)]
struct PhaseParts<'t> {
    phase: &'t str,
    role: Option<&'t str>,
    model: Option<&'t str>,
    on_revision: Option<&'t str>,
    iterations_max: Option<u32>,
}

impl<'t> PhaseParts<'t> {
    fn parse(text: &'t str) -> Result<Self, String> {
        let wrong = |what: &str| format!("\"{}\" {what}", cut(text));
        let mut words = text.split_ascii_whitespace();
        let phase = words.next().filter(|phase| is_plain_name(phase));
        let phase = phase.ok_or_else(|| wrong("does not begin with the name of a phase"))?;
        let mut parts = Self { phase, ..Self::default() };
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let name = || {
                let found = Some(value).filter(|value| is_plain_name(value));
                found.ok_or_else(|| wrong(&format!("has a wrong name after `{key}`"))).map(Some)
            };
            match key {
                "role" => parts.role = name()?,
                "on_revision" => parts.on_revision = name()?,
                "model" => {
                    ModelName::try_from(value.to_owned())?;
                    if value.contains(['"', '\\']) {
                        return Err(wrong("has a model name with a quote"));
                    }
                    parts.model = Some(value);
                }
                "max_iterations" => {
                    let n = value.parse().ok().filter(|n| (1..=ITERATIONS_MAX).contains(n));
                    let rule = format!("needs max_iterations between 1 and {ITERATIONS_MAX}");
                    parts.iterations_max = Some(n.ok_or_else(|| wrong(&rule))?);
                }
                _ => {
                    let rule = format!(
                        "has the unknown key `{key}`; possible: role, model, max_iterations, on_revision"
                    );
                    return Err(wrong(&rule));
                }
            }
        }
        Ok(parts)
    }
}

impl PipelinePhase {
    fn parts(&self) -> PhaseParts<'_> {
        PhaseParts::parse(self).expect("a phase was checked when it was read")
    }

    /// Returns its name.
    pub fn phase(&self) -> &str {
        self.parts().phase
    }

    /// Returns the role that plays it, if not the usual one.
    pub fn role(&self) -> Option<&str> {
        self.parts().role
    }

    /// Returns the model for it.
    pub fn model(&self) -> Option<&str> {
        self.parts().model
    }

    /// Returns the phase that it sends back to, if not the nearest one above.
    pub fn on_revision(&self) -> Option<&str> {
        self.parts().on_revision
    }

    /// Returns how often it looks at most.
    pub fn iterations_max(&self) -> Option<u32> {
        self.parts().iterations_max
    }
}

/// A whole number from 1 to `MOST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "u32", into = "u32")]
#[schemars(inline, extend("minimum" = 1, "maximum" = MOST))]
pub struct Count<const MOST: u32>(u32);

impl<const MOST: u32> TryFrom<u32> for Count<MOST> {
    type Error = String;

    fn try_from(count: u32) -> Result<Self, String> {
        if (1..=MOST).contains(&count) {
            Ok(Self(count))
        } else {
            Err(format!("invalid value: {count}"))
        }
    }
}

impl<const MOST: u32> From<Count<MOST>> for u32 {
    fn from(count: Count<MOST>) -> Self {
        count.0
    }
}

impl<const MOST: u32> From<Count<MOST>> for u64 {
    fn from(count: Count<MOST>) -> Self {
        count.0.into()
    }
}

/// An amount of dollars such as "2.50", or "none".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("pattern" = r"^([0-9]+(\.[0-9]+)?|none)$"))]
pub struct RunBudget(#[schemars(with = "String")] pub Option<Money>);

impl TryFrom<String> for RunBudget {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            NO_BUDGET => Ok(Self(None)),
            _ => Dollars::try_from(text).map(|dollars| Self(Some(dollars.0))),
        }
    }
}

impl Serialize for RunBudget {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(amount) => Dollars(amount).serialize(serializer),
            None => serializer.serialize_str(NO_BUDGET),
        }
    }
}

/// An amount of dollars such as "2.50".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("pattern" = r"^[0-9]+(\.[0-9]+)?$"))]
pub struct Dollars(#[schemars(with = "String")] pub Money);

impl TryFrom<String> for Dollars {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match Money::parse(&text) {
            Some(Money(0)) => Err("0 leaves nothing to spend".to_owned()),
            Some(amount) => Ok(Self(amount)),
            None => Err(format!("{} is not an amount", quoted(&text))),
        }
    }
}

impl Serialize for Dollars {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.to_decimal())
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
        let program = words.first().ok_or_else(|| "it is empty".to_owned())?;
        holds(!program.starts_with('~'), program, "is not expanded here: use an absolute path")?;
        holds(!program.starts_with('-'), program, "is an option, not a program")?;
        holds(Path::new(&**program).file_name().is_some(), program, "is a folder")?;
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

fn holds(is_right: bool, text: &str, why: &str) -> Result<(), String> {
    if is_right { Ok(()) } else { Err(format!("{} {why}", quoted(text))) }
}

fn quoted(text: &str) -> String {
    format!("{:?}", cut(text))
}

/// Cuts a wrong text, which may be of any length, so that it can be shown.
pub(super) fn cut(text: &str) -> String {
    if text.chars().nth(SHOWN_CHARS_MAX).is_none() {
        return text.to_owned();
    }
    text.chars().take(SHOWN_CHARS_MAX - 1).chain(['…']).collect()
}

/// Refuses texts in which a person does not see what is there.
fn visible(text: &str) -> Result<(), String> {
    holds(!text.trim().is_empty(), text, "is empty")?;
    holds(text.len() <= TEXT_BYTES_MAX, text, &format!("is longer than {TEXT_BYTES_MAX} bytes"))?;
    let hides = |c: char| (c.is_control() && c != '\n' && c != '\t') || is_bidirectional(c);
    holds(!text.contains(hides), text, "has a control character in it")
}

fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn inside_checkout(text: &str) -> Result<(), String> {
    visible(text)?;
    let names = || Path::new(text).components().filter(|part| *part != Component::CurDir);
    let is_git = |part: Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
    holds(!names().any(|part| part == Component::ParentDir), text, "leads out of the checkout")?;
    holds(!text.starts_with('/'), text, "is not relative to the checkout")?;
    holds(!names().any(is_git), text, "is git's own")?;
    holds(names().next().is_some(), text, "is the whole checkout")
}

/// Refuses what is no address, without a word of it: it may hold a secret.
fn web_address(text: &str) -> Result<(), String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let rest = rest.ok_or("it begins with neither https:// nor http://")?;
    if text.len() > TEXT_BYTES_MAX || !text.chars().all(|c| c.is_ascii_graphic()) {
        return Err("it has characters that no address has".to_owned());
    }
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    if host.is_empty() || host.starts_with(':') {
        Err("it names no host".to_owned())
    } else {
        Ok(())
    }
}

/// Returns the name of a branch with the id of a run, its words and its letters in their places.
pub(super) fn fill_branch(template: &str, run: &str) -> String {
    let (words, letters) = split_run_id(run);
    let template = template.replace(RUN_MARK, run).replace(ID_MARK, letters);
    template.replace(WORDS_MARK, &branch_words(words))
}

/// Refuses what git refuses as a branch, with a run's id in it.
fn branch(text: &str) -> Result<(), String> {
    let name = fill_branch(text, "20260101-run-aaaa");
    let why = "has something in braces that is not {run}, {words} or {id}";
    holds(!name.contains(['{', '}']), text, why)?;
    let is_wrong_letter = |c: char| {
        c.is_control() || c.is_whitespace() || is_bidirectional(c) || "~^:?*[\\".contains(c)
    };
    let is_lock = |part: &str| part.rsplit_once('.').is_some_and(|(_, end)| end == "lock");
    let is_wrong_part = |part: &str| part.is_empty() || part.starts_with('.') || is_lock(part);
    let is_wrong = name.len() > NAME_BYTES_MAX
        || name.contains(is_wrong_letter)
        || name.split('/').any(is_wrong_part)
        || name.starts_with('-')
        || name.ends_with('.')
        || name.contains("..")
        || name == "@"
        || name == "HEAD";
    holds(!is_wrong, text, "is not a valid branch name")
}
