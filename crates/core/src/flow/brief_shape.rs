//! What of its brief a stage or a review leaves out: blocks that Forge adds, and most of the role's text.
//!
//! Not here: what the blocks say, which is the driver's. What a call cannot do without (the request, its task, findings, what it
//! must leave) is no block, so no flow can take it away.

use std::collections::BTreeSet;

use serde::Deserialize;

/// A block of a brief that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BriefBlock {
    /// The project's documents about its architecture, with their first sentences.
    Architecture,
    /// What the phases before this one say that they did.
    Summaries,
    /// The records of work around the task: its sprint, what it waits for, and the files that it may change.
    Index,
    /// The skills of the role.
    Skills,
}

impl BriefBlock {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Architecture, Self::Summaries, Self::Index, Self::Skills];

    /// Returns the word in a flow.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Architecture => "architecture",
            Self::Summaries => "summaries",
            Self::Index => "index",
            Self::Skills => "skills",
        }
    }
}

/// How much of the role's text is in the brief itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RoleText {
    /// All of it.
    #[default]
    Full,
    /// Its first paragraph. All of it is a file in the inbox.
    Short,
}

impl RoleText {
    /// All of them, with their words in a flow.
    const ALL: [(&'static str, Self); 2] = [("full", Self::Full), ("short", Self::Short)];
}

/// What is in a brief, beside what every brief has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BriefShape {
    /// Blocks that are left out.
    pub without: BTreeSet<BriefBlock>,
    pub role: RoleText,
}

impl BriefShape {
    /// Returns the shape for who left no result: nothing but the work itself.
    pub fn simplified() -> Self {
        Self { without: BriefBlock::ALL.into_iter().collect(), role: RoleText::Full }
    }

    /// Returns true if the brief has this block.
    pub fn has(&self, block: BriefBlock) -> bool {
        !self.without.contains(&block)
    }
}

/// The key `brief` of a stage or a review.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBriefShape {
    #[serde(default)]
    without: Vec<String>,
    role: Option<String>,
}

impl RawBriefShape {
    pub(super) fn parse(self) -> Result<BriefShape, String> {
        let block = |word: &String| {
            let found = BriefBlock::ALL.into_iter().find(|block| block.as_str() == word);
            found.ok_or_else(|| {
                let known = BriefBlock::ALL.map(BriefBlock::as_str).join(", ");
                format!("has a brief without `{word}`; possible: {known}")
            })
        };
        let without = self.without.iter().map(block).collect::<Result<_, _>>()?;
        let role = match &self.role {
            None => RoleText::Full,
            Some(word) => {
                let found = RoleText::ALL.into_iter().find(|(known, _)| known == word);
                let (_, role) = found.ok_or_else(|| {
                    let known = RoleText::ALL.map(|(known, _)| known).join(", ");
                    format!("has a brief with role = \"{word}\"; possible: {known}")
                })?;
                role
            }
        };
        Ok(BriefShape { without, role })
    }
}
