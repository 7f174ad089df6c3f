//! What judges say: verdicts and findings, as data. Prose is never searched for a verdict.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// The most characters of a claimed command in a line.
const COMMAND_CHARS_MAX: usize = 80;

/// Why a check that fails may be nobody's fault, as a finding says it.
pub const RED_AT_THE_BASE: &str = "It also failed on the commit the run started from.";

/// The verdict of a gate on an attempt. An unreadable one is a fault instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Good. Minor findings are notes for those who come after.
    Pass {
        /// Findings that are only noted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        findings: Vec<Finding>,
    },
    /// Not yet: these findings go to the next attempt.
    Revise {
        /// Findings that must be fixed.
        findings: Vec<Finding>,
    },
    /// No attempt can repair this: a person decides.
    Block {
        reason: String,
        /// Findings that it rests on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        findings: Vec<Finding>,
    },
}

/// A verdict without its findings, ordered by how bad it is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Says {
    /// Good.
    Pass,
    /// Good, and something was noted.
    PassWithNotes,
    /// Not yet.
    Revise,
    /// No attempt can repair it.
    Block,
}

/// The kind of work that is judged, which decides the words of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Something to read.
    Document,
    /// Something that becomes part of the result.
    Code,
}

/// A verdict, as people call it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum VerdictWord {
    /// A document is good.
    Approve,
    /// A document is good, and something was noted.
    ApproveWithNotes,
    /// A document has to change.
    Revise,
    /// Code is good.
    Pass,
    /// Code is good, and something was noted.
    PassWithNotes,
    /// Code has to change.
    Fail,
    /// No attempt can repair it.
    Block,
}

// Without doc comments, and in this order: both are in the published schema of results. `Ord` is by weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Critical,
    Major,
    Minor,
}

/// One thing a judge found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// `F1`, `F2`, … in its unit. Given by Forge; empty in a report.
    #[serde(default)]
    pub id: String,
    pub severity: Severity,
    /// Where, relative to the repository or the name of an artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub what: String,
    /// Why it matters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// The earlier finding that this one is again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// What Forge cannot say of its evidence. Nothing where Forge saw it, or found it itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Doubt>,
}

/// What is not known of the evidence of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The command and what it printed are told by whoever found it, and Forge did not run it; or it quotes something
    /// and does not say what.
    Claimed,
    /// Forge looked for the line or the quotation, and it is not there.
    NotThere(String),
}

/// The proof of a finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Proof {
    /// A command that anybody can run, and what it printed.
    Command { command: String, output: String },
    /// The words at fault.
    Quote { quote: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProof {
    command: Option<String>,
    output: Option<String>,
    quote: Option<String>,
}

impl<'de> Deserialize<'de> for Proof {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        match RawProof::deserialize(input)? {
            RawProof { command: Some(command), output, quote: None } => {
                Ok(Self::Command { command, output: output.unwrap_or_default() })
            }
            RawProof { command: None, output: None, quote: Some(quote) } => {
                Ok(Self::Quote { quote })
            }
            RawProof { .. } => Err(serde::de::Error::custom(
                "a proof is either `command` and `output`, or `quote`",
            )),
        }
    }
}

/// The reason why an agent cannot continue: reported by it, or observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockerClass {
    /// The task is too large for one context.
    ContextOverflow,
    /// It needs more than the task allows.
    ScopeExceeded,
    /// The model will not do it.
    ModelRefusal,
    /// A tool does not work.
    ToolingFailure,
    /// Something outside is missing.
    ExternalDependency,
    /// The provider does not let the agent in: not logged in, no permission, an unknown model.
    NoAccess,
    /// Something else.
    Unknown,
}

// Without doc comments: they would be in the published schema of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    Low,
    Medium,
    High,
}

/// The summary of an attempt for a checkpoint, in the agent's own words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    /// How it was approached.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub approach: String,
    /// The important changes, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key_changes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// The change in one line, as a pull request is called.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
}

impl Says {
    /// Returns the word for a verdict on this kind of subject.
    pub const fn to_word(self, subject: Subject) -> VerdictWord {
        match (self, subject) {
            (Self::Pass, Subject::Document) => VerdictWord::Approve,
            (Self::PassWithNotes, Subject::Document) => VerdictWord::ApproveWithNotes,
            (Self::Revise, Subject::Document) => VerdictWord::Revise,
            (Self::Pass, Subject::Code) => VerdictWord::Pass,
            (Self::PassWithNotes, Subject::Code) => VerdictWord::PassWithNotes,
            (Self::Revise, Subject::Code) => VerdictWord::Fail,
            (Self::Block, Subject::Document | Subject::Code) => VerdictWord::Block,
        }
    }
}

impl VerdictWord {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "APPROVE",
            Self::ApproveWithNotes => "APPROVE_WITH_NOTES",
            Self::Revise => "REVISE",
            Self::Pass => "PASS",
            Self::PassWithNotes => "PASS_WITH_NOTES",
            Self::Fail => "FAIL",
            Self::Block => "BLOCK",
        }
    }
}

impl Ord for Severity {
    fn cmp(&self, other: &Self) -> Ordering {
        (*other as u8).cmp(&(*self as u8))
    }
}

impl PartialOrd for Severity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Severity {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Minor => "minor",
            Self::Major => "major",
            Self::Critical => "critical",
        }
    }
}

impl Finding {
    /// Returns true if it can be acted on: it says where, or shows what, and that is there. Others are only noted.
    pub fn is_grounded(&self) -> bool {
        let is_missing = matches!(self.doubt, Some(Doubt::NotThere(_)));
        (self.path.is_some() || self.proof.is_some()) && !is_missing
    }

    /// Returns true for a check that failed before the run, too.
    pub fn is_red_at_base(&self) -> bool {
        self.why == RED_AT_THE_BASE
    }

    /// Returns true if the finding blocks a pass.
    pub fn is_serious(&self) -> bool {
        self.severity >= Severity::Major
    }

    /// Formats the place and the problem as one line.
    pub fn to_short_line(&self) -> String {
        let what = &self.what;
        match (&self.path, self.line) {
            (Some(path), Some(line)) => format!("{path}:{line}: {what}"),
            (Some(path), None) => format!("{path}: {what}"),
            (None, _) => what.clone(),
        }
    }

    /// Formats the place, the problem and what is not known of its evidence as one line.
    pub fn to_line(&self) -> String {
        let doubt = match (&self.doubt, &self.proof) {
            (Some(Doubt::NotThere(why)), _) => format!(" (noted only: {why})"),
            (Some(Doubt::Claimed), Some(Proof::Command { command, .. })) => {
                let command: String = command.chars().take(COMMAND_CHARS_MAX).collect();
                format!(" (claimed, not run by Forge: `{}`)", command.replace('\n', " "))
            }
            (Some(Doubt::Claimed), Some(Proof::Quote { .. })) => {
                " (claimed: it does not say where it is quoted from)".to_owned()
            }
            (Some(Doubt::Claimed), None) | (None, _) => String::new(),
        };
        format!("{}{doubt}", self.to_short_line())
    }
}

impl Verdict {
    /// Returns the findings, whatever the verdict.
    pub fn findings(&self) -> &[Finding] {
        match self {
            Self::Pass { findings } | Self::Revise { findings } | Self::Block { findings, .. } => {
                findings
            }
        }
    }
}
