//! Looks whether what a finding points at is there: its line, and its quotation. An agent may be wrong about both, and
//! work that goes back for a line which is not there costs a whole round.
//!
//! Not here: whether a finding is right. A command that is its proof is not run again, and a quotation from nowhere is
//! not searched for; both are marked as claims.

use std::path::PathBuf;

use forge_core::{
    Report,
    event::Ruling,
    verdict::{Doubt, Finding, Proof, Verdict},
};

use forge_keeper::ArtifactFlaw;
use forge_workspace::GitError;

use crate::{
    Error,
    checkouts::{judged_commit, span},
    context::RunContext,
    plan::Plan,
};

/// Larger files are not looked into.
const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// What stands in a text where a secret was.
const REDACTED: &str = "[redacted]";

/// Notes for each finding of a report what is not known of its evidence.
pub fn look_at_evidence(plan: &Plan<'_>, report: &mut Report) -> Result<(), Error> {
    let (findings, made): (&mut [Finding], _) = match report {
        Report::Judged { ruling: Ruling::Verdict(verdict), .. } => match verdict {
            Verdict::Pass { findings }
            | Verdict::Revise { findings }
            | Verdict::Block { findings, .. } => (findings, None),
        },
        Report::Worked { receipt, .. } => (&mut receipt.found, receipt.commit.clone()),
        Report::Judged { .. }
        | Report::Noticed { .. }
        | Report::Intends { .. }
        | Report::PathsTaken { .. }
        | Report::PathsFree { .. }
        | Report::NeedsMet { .. }
        | Report::NeedsUnmet { .. }
        | Report::Assigned { .. }
        | Report::Signs { .. }
        | Report::Did { .. } => return Ok(()),
    };
    if findings.is_empty() {
        return Ok(());
    }
    let readable = ReadableTexts::new(plan, made)?;
    for finding in findings {
        readable.check(finding)?;
    }
    Ok(())
}

/// What an agent could read: the code as it stands, and as it was before, and its inbox.
struct ReadableTexts<'a> {
    context: &'a RunContext<'a>,
    commits: Vec<String>,
    inbox: PathBuf,
}

impl<'a> ReadableTexts<'a> {
    fn new(plan: &Plan<'a>, made: Option<String>) -> Result<Self, Error> {
        let Plan { context, run, call, .. } = *plan;
        let mut commits: Vec<String> = made.into_iter().collect();
        if run.definition().start.base.is_some() {
            commits.push(judged_commit(run, call.unit()));
            commits.push(span(context.code, run, call.unit())?.from);
            commits.dedup();
        }
        Ok(Self { context, commits, inbox: plan.boxes().inbox() })
    }

    /// Notes what is not known of the evidence of a finding. Where a quotation is right and its line is not, the line of the
    /// quotation counts.
    fn check(&self, finding: &mut Finding) -> Result<(), Error> {
        if let (Some(path), Some(line), Some(Proof::Quote { quote })) =
            (&finding.path, finding.line, &finding.proof)
            && let Some(texts) = self.texts(path)?
        {
            finding.line = line_of(&texts, quote, line);
        }
        finding.doubt = self.doubt(finding)?;
        Ok(())
    }

    fn doubt(&self, finding: &Finding) -> Result<Option<Doubt>, Error> {
        let not_there = |why: String| Ok(Some(Doubt::NotThere(why)));
        let is_claimed = match &finding.proof {
            Some(Proof::Command { .. }) => true,
            Some(Proof::Quote { .. }) => finding.path.is_none(),
            None => false,
        };
        let claimed = is_claimed.then_some(Doubt::Claimed);
        let quote = match &finding.proof {
            Some(Proof::Quote { quote }) if !quote.contains(REDACTED) => Some(quote),
            Some(Proof::Quote { .. } | Proof::Command { .. }) | None => None,
        };
        let Some(path) = &finding.path else { return Ok(claimed) };
        if finding.line.is_none() && quote.is_none() {
            return Ok(claimed);
        }
        let Some(texts) = self.texts(path)? else { return Ok(claimed) };
        if texts.is_empty() {
            return not_there(format!("no text file `{path}`"));
        }
        if let Some(line) = finding.line {
            let lines = texts.iter().map(|text| text.lines().count()).max().unwrap_or_default();
            if line == 0 || line as usize > lines {
                return not_there(format!("`{path}` has {lines} lines"));
            }
        }
        match quote {
            Some(quote) if !texts.iter().any(|text| is_quoted_from(text, quote)) => {
                not_there(format!("the quotation is not in `{path}`"))
            }
            Some(_) | None => Ok(claimed),
        }
    }

    /// All texts that go by this name, unless one is too large to look into.
    fn texts(&self, path: &str) -> Result<Option<Vec<String>>, Error> {
        let mut texts = Vec::new();
        for commit in &self.commits {
            let found = match self.context.code.file_at(commit, path, FILE_BYTES_MAX) {
                Err(GitError::TooLarge { .. }) => return Ok(None),
                found => found?,
            };
            texts.extend(found.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
        }
        match self.context.executor.collect(&self.inbox, path, FILE_BYTES_MAX) {
            Ok(bytes) => texts.push(String::from_utf8_lossy(&bytes).into_owned()),
            Err(ArtifactFlaw::TooLarge { .. }) => return Ok(None),
            Err(
                ArtifactFlaw::Missing { .. }
                | ArtifactFlaw::NotAFile { .. }
                | ArtifactFlaw::BadName { .. }
                | ArtifactFlaw::Unreadable { .. },
            ) => {}
        }
        Ok(Some(texts))
    }
}

/// Returns the line of a quotation that is said to be in this line; that one where it cannot be found.
fn line_of(texts: &[String], quote: &str, said: u32) -> Option<u32> {
    let begin = quote.lines().find(|line| !line.trim().is_empty())?;
    let has_it = |line: &str| is_quoted_from(line, begin);
    let lines = |text: &String| -> Vec<u32> {
        (1..).zip(text.lines()).filter(|(_, line)| has_it(line)).map(|(number, _)| number).collect()
    };
    let found: Vec<u32> = texts.iter().flat_map(lines).collect();
    let nearest = found.into_iter().min_by_key(|number| number.abs_diff(said));
    Some(nearest.unwrap_or(said))
}

/// Whether a text has these words, whatever the space between them. What is left out of a quotation is left out between its parts.
fn is_quoted_from(text: &str, quote: &str) -> bool {
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    let text = bare(text);
    let parts = quote.split("...").flat_map(|part| part.split('…'));
    // A line of a diff or of a quotation has a mark before it.
    let unmarked = |part: &str| {
        let lines = part.lines().map(|line| line.trim_start().trim_start_matches(['+', '-', '>']));
        bare(&lines.collect::<Vec<&str>>().join("\n"))
    };
    parts.into_iter().all(|part| text.contains(&bare(part)) || text.contains(&unmarked(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotation_tells_its_line_better_than_the_reviewer() {
        let text = "one\ntwo words\nthree\ntwo words\n".to_owned();
        for (said, is) in [(90, 4), (1, 2), (2, 2), (4, 4)] {
            assert_eq!(
                line_of(std::slice::from_ref(&text), "+two  words\nthree", said),
                Some(is),
                "{said}"
            );
        }
        assert_eq!(line_of(&[text], "five", 9), Some(9), "what is not there keeps its line");
    }

    #[test]
    fn a_quotation_is_found_whatever_its_spaces_marks_and_gaps() {
        let text = "fn one() {\n    two(3);\n    // four\n}\n";
        for quote in
            ["fn one() { two(3);", "+    two(3);\n+    // four", "fn one() … // four", "> two(3);"]
        {
            assert!(is_quoted_from(text, quote), "{quote}");
        }
        for quote in ["two(4);", "fn one() … five"] {
            assert!(!is_quoted_from(text, quote), "{quote}");
        }
    }
}
