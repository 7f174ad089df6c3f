//! What there is to see of the work of a unit: code, or texts with the versions that they replaced.
//!
//! Only names and hashes: what a difference looks like is made where the contents are.
//!
//! Invariant: whatever is not `Nothing` can be shown by `forge show RUN --diff UNIT`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{event::Blob, id::UnitId, inbox::artifact_name, run::Run};

/// The kind of change that a person can inspect before they answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Change")]
pub enum ChangeKind {
    /// Nothing changed yet.
    #[default]
    Nothing,
    /// A change of the project's files.
    Code,
    /// New texts.
    NewTexts,
    /// Texts that replaced earlier versions.
    ChangedTexts,
    /// Texts that were written again, and are what they were.
    UnchangedTexts,
}

/// A text that a unit wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextVersion {
    pub name: String,
    /// The version before.
    pub before: Option<Blob>,
    /// The current version.
    pub now: Blob,
}

impl ChangeKind {
    /// Chooses the kind of change that a unit has.
    pub fn from_run(run: &Run, id: &UnitId) -> Self {
        let unit = run.unit(id);
        let base = run.definition().start.base.as_ref();
        let differs = run.code(&id.scope).is_some_and(|code| Some(&code.commit) != base);
        let has_code = base.is_some() && (unit.landed.is_some() || differs);
        // In the flow's own table the code is that of all rows: a row that only wrote has none of it.
        let only_wrote = id.scope.is_root() && unit.changed.is_empty() && unit.landed.is_none();
        let texts = versions(run, id);
        if texts.is_empty() || (has_code && !only_wrote) {
            return if has_code { Self::Code } else { Self::Nothing };
        }
        if texts.iter().all(|text| text.before.as_ref() == Some(&text.now)) {
            Self::UnchangedTexts
        } else if texts.iter().any(|text| text.before.is_some()) {
            Self::ChangedTexts
        } else {
            Self::NewTexts
        }
    }

    /// Returns true if there is no change to show.
    pub const fn is_nothing(&self) -> bool {
        match self {
            Self::Nothing => true,
            Self::Code | Self::NewTexts | Self::ChangedTexts | Self::UnchangedTexts => false,
        }
    }
}

/// Returns the texts that the worker of a unit left, without those of who judged it.
pub fn versions(run: &Run, id: &UnitId) -> Vec<TextVersion> {
    let unit = run.unit(id);
    let version = |name: &String| {
        let name = artifact_name(run, name, &id.scope);
        let now = unit.artifacts.get(&name)?.clone();
        Some(TextVersion { before: unit.replaced.get(&name).cloned(), name, now })
    };
    run.stage(id).writes.iter().filter_map(version).collect()
}
