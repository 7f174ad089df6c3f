//! The trackers of issues that Forge can read, by name.
//!
//! What a tracker is like is in its own file; the list of them is in [`crate::registry`].

/// A tracker of issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    GitHub,
    GitLab,
    /// Gitea, and Forgejo, which has the same interface.
    Gitea,
    Jira,
    Linear,
}

impl Kind {
    /// Every tracker.
    pub const ALL: &[Self] = &[Self::GitHub, Self::GitLab, Self::Gitea, Self::Jira, Self::Linear];

    /// Returns the word for it in settings and flows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GitHub => "github",
            Self::GitLab => "gitlab",
            Self::Gitea => "gitea",
            Self::Jira => "jira",
            Self::Linear => "linear",
        }
    }

    /// Returns its name as people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GitHub => "GitHub",
            Self::GitLab => "GitLab",
            Self::Gitea => "Gitea",
            Self::Jira => "Jira",
            Self::Linear => "Linear",
        }
    }

    /// Reads the word of a setting. Forgejo is a Gitea here.
    pub fn parse(word: &str) -> Option<Self> {
        let is_meant = |kind: &&Self| kind.as_str() == word;
        if word == "forgejo" { Some(Self::Gitea) } else { Self::ALL.iter().find(is_meant).copied() }
    }
}

/// A tracker whose issues have a key as `PROJ-123`, which does not say whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyTracker {
    Jira,
    Linear,
}
