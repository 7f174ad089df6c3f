//! Holds every text, path and count of a result against its limit.
//!
//! Invariant: every string that an agent can write is looked at here, but for the summary, which is cut.

use crate::item::Item;
use crate::verdict::Proof;

use super::contract::{AgentResult, ReportedFinding, ResultKey, Status};
use super::error::{ResultError, shorten};
use super::limits::{ENTRIES_MAX, FINDINGS_MAX, TEXT_CHARACTERS_MAX};

impl AgentResult {
    /// Checks every limit, and that work which is done has these keys; `has_key` says which keys the file
    /// has. What is partial or blocked is taken with what there is.
    pub fn validate(
        &self,
        required: &[ResultKey],
        has_key: impl Fn(&str) -> bool,
    ) -> Result<(), ResultError> {
        match self.status {
            Status::Done => {
                if let Some(missing) = required.iter().find(|key| !has_key(key.as_str())) {
                    return Err(ResultError::MissingKey { key: missing.as_str() });
                }
            }
            Status::Blocked if self.blocker.is_none() => return Err(ResultError::NoBlocker),
            Status::Blocked | Status::Partial => {}
        }
        check(self)
    }
}

fn check(result: &AgentResult) -> Result<(), ResultError> {
    let count = result.findings.len();
    if count > FINDINGS_MAX {
        return Err(ResultError::TooManyFindings { count });
    }
    for (index, finding) in result.findings.iter().enumerate() {
        check_finding(&format!("findings[{index}]"), finding)?;
    }
    entries("lists", result.lists.len())?;
    for (name, items) in &result.lists {
        let place = format!("lists.{}", shorten(name));
        text(&place, name)?;
        entries(&place, items.len())?;
        for (index, item) in items.iter().enumerate() {
            check_item(&format!("{place}[{index}]"), item)?;
        }
    }
    entries("must", result.must.len())?;
    for (index, must) in result.must.iter().enumerate() {
        text(&format!("must[{index}].id"), &must.id)?;
        text(&format!("must[{index}].proof"), &must.proof)?;
    }
    if let Some(shown) = &result.shown {
        text("shown.approach", &shown.approach)?;
        text("shown.title", &shown.title)?;
        texts("shown.key_changes", &shown.key_changes)?;
    }
    if let Some(blocker) = &result.blocker {
        text("blocker.what", &blocker.what)?;
    }
    if let Some(commit) = &result.commit {
        text("commit", commit)?;
    }
    texts("settled", &result.settled)?;
    texts("decisions", &result.decisions)?;
    texts("follow_ups", &result.follow_ups)?;
    texts("memory", &result.memory)
}

fn check_finding(place: &str, finding: &ReportedFinding) -> Result<(), ResultError> {
    text(&format!("{place}.what"), &finding.what)?;
    text(&format!("{place}.why"), finding.why.as_deref().unwrap_or_default())?;
    text(&format!("{place}.was"), finding.was.as_deref().unwrap_or_default())?;
    match &finding.proof {
        Some(Proof::Command { command, output }) => {
            text(&format!("{place}.proof.command"), command)?;
            text(&format!("{place}.proof.output"), output)?;
        }
        Some(Proof::Quote { quote }) => text(&format!("{place}.proof.quote"), quote)?,
        None => {}
    }
    let Some(path) = &finding.path else { return Ok(()) };
    text(&format!("{place}.path"), path)?;
    if !is_plain_path(path) {
        return Err(ResultError::BadPath { place: format!("{place}.path"), path: shorten(path) });
    }
    Ok(())
}

fn check_item(place: &str, item: &Item) -> Result<(), ResultError> {
    text(&format!("{place}.id"), &item.id)?;
    text(&format!("{place}.title"), &item.title)?;
    texts(&format!("{place}.after"), &item.after)?;
    texts(&format!("{place}.writes"), &item.writes)?;
    texts(&format!("{place}.must"), &item.must)?;
    entries(&format!("{place}.tags"), item.tags.len())?;
    for (name, value) in &item.tags {
        text(&format!("{place}.tags"), name)?;
        text(&format!("{place}.tags.{}", shorten(name)), value)?;
    }
    Ok(())
}

fn entries(place: &str, count: usize) -> Result<(), ResultError> {
    if count <= ENTRIES_MAX {
        return Ok(());
    }
    Err(ResultError::TooManyEntries { place: place.to_owned(), count })
}

fn texts(place: &str, all: &[String]) -> Result<(), ResultError> {
    entries(place, all.len())?;
    all.iter().enumerate().try_for_each(|(index, one)| text(&format!("{place}[{index}]"), one))
}

fn text(place: &str, text: &str) -> Result<(), ResultError> {
    let characters = text.chars().count();
    if characters <= TEXT_CHARACTERS_MAX {
        return Ok(());
    }
    let (place, max) = (place.to_owned(), TEXT_CHARACTERS_MAX);
    Err(ResultError::TextTooLong { place, characters, max })
}

/// Returns true if a relative path only leads down.
fn is_plain_path(path: &str) -> bool {
    !path.contains('\0') && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}
