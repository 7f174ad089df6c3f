//! A request as the user interface read it, and the command line that repeats it.
//!
//! Not here: whether it can be (`validate_text.rs`), and what follows from it (`choices.rs`).

use std::{collections::BTreeMap, path::PathBuf};

use forge_core::{
    event::{Approvals, Detail, RunSubject},
    item::Item,
    money::Money,
};

use crate::start::{flow_outline::EFFORT, prompts::BranchChoice};

/// The flow of small changes, `--quick`.
pub const QUICK_FLOW: &str = "quick";

/// A request for a run, as a person gave it.
#[derive(Clone, Debug)]
pub struct Request {
    /// In their words. Empty if it is an issue that says it.
    pub text: String,
    /// The file of an issue that says it.
    pub issue: Option<PathBuf>,
    /// The record of work that it is about, and the tasks of that.
    pub about: Option<Box<AboutRecord>>,
    /// The folder of an older run that it is taken from.
    pub older: Option<PathBuf>,
    /// Which flow, if not the one that is set.
    pub flow: Option<String>,
    /// Choices, by parameter.
    pub params: BTreeMap<String, String>,
    /// How much effort, if they said so.
    pub effort: Option<String>,
    /// Whether human gates marked `auto` may pass by themselves.
    pub approvals: Approvals,
    /// The most that the run may cost.
    pub budget: Option<Money>,
    /// The scenario of the scripted agent.
    pub scenario: Option<PathBuf>,
    /// Who plays the roles about which the settings say nothing else.
    pub agent: Option<String>,
    /// The model of all agents of this run.
    pub model: Option<String>,
    /// The tier of all calls of this run.
    pub tier: Option<String>,
    /// Where the result goes, if they said so.
    pub branch: Option<BranchChoice>,
    pub on_missing: OnMissing,
    /// Whether they want to be asked about the request first.
    pub discussion: Discussion,
    pub pull_request: PullRequest,
    /// How much the summary tells.
    pub detail: Detail,
    /// What was typed after `forge`, to say it again with more.
    pub typed: Vec<String>,
}

/// A record of work as the subject of a run.
#[derive(Clone, Debug)]
pub struct AboutRecord {
    pub subject: RunSubject,
    /// Tasks that are known already, by the name of their list.
    pub lists: BTreeMap<String, Vec<Item>>,
    /// What a person should know about tasks that are not in them.
    pub notes: Vec<String>,
}

/// The treatment of a choice that the person did not make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnMissing {
    #[default]
    Ask,
    /// The detected value is used.
    UseDetected,
}

/// A dialog about the request before the run begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discussion {
    #[default]
    No,
    First,
}

/// The person's wish about a pull request for the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PullRequest {
    /// As the flow and the settings say.
    #[default]
    AsSet,
    /// Not even its text is written.
    Never,
    /// The run opens it.
    AtEnd,
}

impl Request {
    /// Builds a request with this text and default choices.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            issue: None,
            about: None,
            older: None,
            flow: None,
            params: BTreeMap::new(),
            effort: None,
            approvals: Approvals::ByPeople,
            budget: None,
            scenario: None,
            agent: None,
            model: None,
            tier: None,
            branch: None,
            on_missing: OnMissing::Ask,
            discussion: Discussion::No,
            pull_request: PullRequest::AsSet,
            detail: Detail::Plain,
            typed: Vec::new(),
        }
    }

    /// Returns the command that says the same with these flags, and without those.
    pub(super) fn said_again(&self, with: &[(&str, &str)], without: &[&str]) -> String {
        // Flags that every command takes may be in front of it.
        let at = self.typed.iter().position(|word| word == "run").unwrap_or_default();
        let (global, typed) = self.typed.split_at(at);
        let (first, rest) = match typed.split_first() {
            Some((first, rest)) => (first.as_str(), rest.to_vec()),
            None => ("run", vec![self.text.clone()]),
        };
        let gone: Vec<&str> =
            without.iter().copied().chain(with.iter().map(|(flag, _)| *flag)).collect();
        let mut words = vec!["forge".to_owned()];
        words.extend(global.iter().map(|word| quoted(word)));
        words.push(first.to_owned());
        words.extend(with.iter().flat_map(|(flag, value)| [(*flag).to_owned(), quoted(value)]));
        let mut rest = rest.iter();
        let mut is_flags = true;
        while let Some(word) = rest.next() {
            is_flags &= word != "--";
            let flag = word.split_once('=').map_or(word.as_str(), |(flag, _)| flag);
            if is_flags && flag == PARAM {
                let given = match word.split_once('=') {
                    Some((_, given)) => Some(given),
                    None => rest.clone().next().map(String::as_str),
                };
                // Its effort and `--effort` contradict each other.
                if given.is_some_and(is_effort) && gone.contains(&"--effort") {
                    if !word.contains('=') {
                        rest.next();
                    }
                    continue;
                }
            }
            if is_flags && gone.contains(&flag) {
                // Its value is the next word, but for those that have none.
                if !word.contains('=') && ![AUTO, YES, PR, NO_PR, DRY_RUN].contains(&flag) {
                    rest.next();
                }
                continue;
            }
            words.push(quoted(word));
        }
        words.join(" ")
    }
}

/// The flag for automatic approvals.
pub(super) const AUTO: &str = "--auto";
/// The flag that only says what would run.
pub(super) const DRY_RUN: &str = "--dry-run";
/// The flag by which the run opens its pull request.
pub(super) const PR: &str = "--pr";
/// The flag that offers no pull request.
pub(super) const NO_PR: &str = "--no-pr";
/// The flag for any parameter.
const PARAM: &str = "--param";
/// The flag that takes what was detected.
pub(super) const YES: &str = "--yes";

/// Returns true if a parameter, as it is given, is the effort.
fn is_effort(given: &str) -> bool {
    given.split_once('=').is_some_and(|(name, _)| name == EFFORT)
}

/// Returns a word as a shell reads it back.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(words: &[&str]) -> Request {
        let typed = words.iter().map(|word| (*word).to_owned()).collect();
        Request { typed, ..Request::new("x") }
    }

    #[test]
    fn a_command_is_said_again_with_more_and_with_less() {
        let request = typed(&["run", "--auto", "it's a wish", "--effort=L", "--budget", "2"]);
        assert_eq!(
            request.said_again(&[("--effort", "M")], &[]),
            r"forge run --effort M --auto 'it'\''s a wish' --budget 2"
        );
        assert_eq!(
            request.said_again(&[], &["--auto"]),
            r"forge run 'it'\''s a wish' --effort=L --budget 2"
        );
        let request = typed(&["run", "--branch", "new", "--", "--auto is odd", "--auto"]);
        assert_eq!(
            request.said_again(&[("--branch", "current")], &["--auto"]),
            "forge run --branch current -- '--auto is odd' --auto"
        );
    }

    #[test]
    fn an_effort_is_never_proposed_twice_whichever_flag_gave_it() {
        let request =
            typed(&["run", "--param", "effort=L", "--param=effort=S", "--param", "a=b", "x"]);
        assert_eq!(
            request.said_again(&[("--effort", "M")], &["--auto"]),
            "forge run --effort M --param a=b x"
        );
        assert_eq!(
            request.said_again(&[], &[]),
            "forge run --param effort=L --param=effort=S --param a=b x"
        );
        let request = typed(&["run", "--", "--param", "effort=L"]);
        assert_eq!(
            request.said_again(&[("--effort", "M")], &[]),
            "forge run --effort M -- --param effort=L"
        );
    }
}
