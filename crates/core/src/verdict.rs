//! What judges say: verdicts and findings, as data. Prose is never searched for a verdict.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// The most characters of a claimed command in a line.
const COMMAND_CHARS_MAX: usize = 80;

/// Why a check that fails may be nobody's fault, as a finding says it.
pub const RED_AT_THE_BASE: &str = "It also failed on the commit the run started from.";

/// The verdict of a gate on an attempt. An unreadable verdict is a fault instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The attempt passed. Minor findings become notes.
    Pass {
        /// Findings that are only noted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        findings: Vec<Finding>,
    },
    /// The attempt must be revised: these findings go to the next attempt.
    Revise {
        /// Findings that must be fixed.
        findings: Vec<Finding>,
    },
    /// Another attempt would not help: a person decides.
    Block {
        reason: String,
        /// Findings that are the reason.
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
    /// Accepted.
    Pass,
    /// Accepted with notes.
    PassWithNotes,
    /// Changes requested.
    Revise,
    /// Another attempt would not help.
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

/// A verdict as it is displayed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum VerdictWord {
    /// A document is approved.
    Approve,
    /// A document is approved with notes.
    ApproveWithNotes,
    /// A document needs changes.
    Revise,
    /// Code is approved.
    Pass,
    /// Code is approved with notes.
    PassWithNotes,
    /// Code needs changes.
    Fail,
    /// Another attempt would not help.
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

/// One problem that a check or review found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// `F1`, `F2`, … within the unit. Set by Forge; empty in an agent's result.
    #[serde(default)]
    pub id: String,
    pub severity: Severity,
    /// The file, relative to the repository, or the name of an artifact.
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
    /// The earlier finding that this one repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// Why the evidence is not confirmed; `null` if Forge confirmed it or found the problem itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Doubt>,
}

/// Why the evidence of a finding is not confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// Forge did not run the command, so the reviewer's output is not confirmed; or the quotation does not name its
    /// file.
    Claimed,
    /// Forge searched for the line or the quotation and did not find it.
    NotThere(String),
}

/// The proof of a finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Proof {
    /// A command and its output.
    Command { command: String, output: String },
    /// A quotation of the text with the problem.
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
    /// The work needs more than the task allows.
    ScopeExceeded,
    /// The model refuses.
    ModelRefusal,
    /// A tool does not work.
    ToolingFailure,
    /// Something outside is missing.
    ExternalDependency,
    /// The provider refuses the agent: not logged in, no permission, or an unknown model.
    NoAccess,
    /// Another reason.
    Unknown,
}

impl BlockerClass {
    /// Returns true if another model, or another agent, may be able to do what this one cannot.
    pub const fn is_of_model(self) -> bool {
        match self {
            Self::ContextOverflow | Self::ModelRefusal => true,
            Self::ScopeExceeded
            | Self::ToolingFailure
            | Self::ExternalDependency
            | Self::NoAccess
            | Self::Unknown => false,
        }
    }
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
    /// The approach.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub approach: String,
    /// The important changes, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key_changes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// The change in one line, for the title of a pull request.
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
            // It says itself where it is.
            (Some(path), None) if what.trim_start_matches('`').starts_with(path.as_str()) => {
                what.clone()
            }
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

/// The recorded verdict of a phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PhaseVerdict {
    /// It passed, or a person approved it.
    Approved,
    /// Changes were requested.
    Revision,
    /// It has no verdict: work that was accepted.
    #[serde(rename = "n/a")]
    NotApplicable,
    /// Nothing was recorded.
    Unknown,
}

impl PhaseVerdict {
    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Revision => "revision",
            Self::NotApplicable => "n/a",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the verdict that a gate can ask for, in any case. Unknown is none.
    pub fn parse(word: &str) -> Option<Self> {
        let known = [Self::Approved, Self::Revision, Self::NotApplicable];
        known.into_iter().find(|verdict| verdict.as_str().eq_ignore_ascii_case(word))
    }
}
