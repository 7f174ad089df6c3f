//! An offer: what a run hands over, as it is kept and published.

use forge_core::{
    Time,
    event::Evidence,
    view::{WaivedView, shorten},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most characters of a title.
pub(super) const TITLE_CHARS_MAX: usize = 72;

/// The content of `delivery.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Offer {
    /// The version of this format.
    pub version: u32,
    /// The run.
    pub run: String,
    /// The key that makes repeated deliveries one delivery: the unit and the commit.
    pub mark: String,
    /// One line.
    pub title: String,
    /// The issue that the request comes from: its address or its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The branch that the commit is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit that the run started from.
    pub base: String,
    /// The user's branch that pointed to this commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_branch: Option<String>,
    /// The commit that is delivered.
    pub commit: String,
    /// Its code tree.
    pub tree: String,
    /// The commands that Forge ran on exactly this tree, with their results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// The checks that a person overrode. If the list is empty, every check passed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waived: Vec<WaivedView>,
    /// The time, in milliseconds since 1970.
    pub at: Time,
}

/// One line that says what was wanted.
pub(super) fn title(request: &str) -> String {
    let line = request.lines().map(|line| line.trim_start_matches('#').trim());
    let line = line.into_iter().find(|line| !line.is_empty()).unwrap_or("A change by Forge");
    shorten(line, TITLE_CHARS_MAX)
}
