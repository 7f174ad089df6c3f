//! The trackers that Forge knows. To add one: a file, a name in [`crate::kind`], and a line here.

use serde_json::Value;

use crate::{
    document::within_range, gitea::Gitea, github::GitHub, gitlab::GitLab, issue::Issue, jira::Jira,
    kind::Kind, linear::Linear, tracker::Tracker,
};

/// Every tracker, in the order in which a saved issue is tried and an unknown host is asked.
pub(crate) const ALL: &[&dyn Tracker] = &[&Jira, &Gitea, &GitHub, &GitLab, &Linear];

/// Returns the tracker of a name.
pub(crate) fn tracker(kind: Kind) -> &'static dyn Tracker {
    let found = ALL.iter().find(|tracker| tracker.kind() == kind);
    *found.expect("every name of a tracker is of one in the registry")
}

impl Issue {
    /// Reads an issue that was saved as JSON: of GitHub or Jira, as their interfaces give it. The name of the field
    /// with story points is a setting.
    pub fn parse(value: &Value, points_field: &str) -> Result<Self, String> {
        let found = ALL.iter().find_map(|tracker| tracker.parse(value, points_field));
        found.unwrap_or_else(|| {
            Err("it is neither a GitHub issue (`number`, `title`, `body`) nor a Jira issue (`key`, \
                 `fields`)"
                .to_owned())
        })
    }

    /// Reads the text of a saved issue, in which numbers too large to be one say nothing.
    pub fn parse_text(text: &str, points_field: &str) -> Result<Self, String> {
        let value = serde_json::from_str(&within_range(text))
            .map_err(|error| format!("it is not JSON: {error}"))?;
        Self::parse(&value, points_field)
    }
}
