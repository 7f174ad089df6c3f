//! `forge __outside ORDER ANSWER`: pushes the branch of a run that is under way, opens its pull request, or comments at its
//! issue. A driver starts it below a keeper (`driver/src/deliver/outside.rs`).
//!
//! Not here: whether and when. What is done is the same as by `forge pr`.
//!
//! Invariant: only what the journal of the run says to be intended is done, whoever starts it.
//! Invariant: nothing is pushed by force, and the first push of a run makes a new branch.

use std::{
    ffi::OsString,
    fs,
    io::{self, Write as _},
    path::Path,
    process::{Command, ExitCode, Stdio},
};

use forge_core::{run::EffectMark, view::sanitize};
use forge_driver::{
    Error,
    plan::step::{OutsideAnswer, OutsideEffect, OutsideOrder, PushOnto},
};
use forge_hosts::{HostError, PullRequestState};
use forge_keeper::caller::check_driver_step;
use forge_store::{
    atomic_file::replace_on,
    disk::{Disk as _, RealDisk, SyncPoint},
};

use crate::{forge::Forge, host_pull_request::OfferChange};

/// The most characters of what git says that are kept.
const GIT_CHARS_MAX: usize = 2_000;
/// The last lines of what git says that are kept where it does not say why.
const GIT_LINES_MAX: usize = 3;

/// The program.
pub(crate) fn main(args: &[OsString]) -> ExitCode {
    let perform = || -> io::Result<()> {
        check_driver_step().map_err(io::Error::other)?;
        let [order, answer] = args else {
            return Err(io::Error::other("it wants an order and a place for the answer"));
        };
        let order: OutsideOrder = serde_json::from_slice(&fs::read(order)?)?;
        let answered = perform(&order).unwrap_or_else(|error| {
            let help = error.next.map(|next| format!("; {next}")).unwrap_or_default();
            OutsideAnswer::Refused { what: format!("{}{help}", error.what) }
        });
        let (answer, bytes) = (Path::new(answer), serde_json::to_vec(&answered)?);
        replace_on(&RealDisk, answer, &bytes)?;
        RealDisk.sync(answer, SyncPoint::OperationResult)
    };
    match perform() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _nobody_listens = writeln!(io::stderr(), "{error}");
            ExitCode::from(70)
        }
    }
}

fn perform(order: &OutsideOrder) -> Result<OutsideAnswer, Error> {
    let forge = Forge::open(Path::new("."))?;
    let id = &order.run;
    forge.refuse_unintended(order)?;
    let done = |reference: String| OutsideAnswer::Done { reference, notes: Vec::new() };
    match &order.what {
        OutsideEffect::Push { commit, onto } => {
            if let (PushOnto::OwnWhileOpen, Some(over)) = (onto, forge.over(id)?) {
                let note = format!("{over}: the last commit of the run was not pushed");
                return Ok(OutsideAnswer::Done { reference: over, notes: vec![note] });
            }
            forge.push_commit(id, commit, *onto).map(done)
        }
        OutsideEffect::PullRequest => {
            if let Some(over) = forge.over(id)? {
                let note = format!("{over}: its text was not updated");
                return Ok(OutsideAnswer::Done { reference: over, notes: vec![note] });
            }
            let draft = forge.draft_under_way(id)?;
            let place = forge.pull_request_place(&draft)?;
            let offered = forge.offer_for_driver(&draft, &place)?;
            let mut notes: Vec<String> = offered.flaws.iter().map(HostError::what).collect();
            let address = offered.pull_request.address;
            match offered.change {
                OfferChange::Opened | OfferChange::Updated => {}
                OfferChange::LeftAsEdited => {
                    notes.push(format!("{address} was edited, and its text stays as it is"));
                }
                OfferChange::LeftAsItIs => {
                    let what =
                        format!("{address} is open for the same branches, and is not of this run");
                    return Err(Error::usage(what, "close it, then forge retry"));
                }
            }
            Ok(OutsideAnswer::Done { reference: address, notes })
        }
        OutsideEffect::Comment => {
            let posted = forge.comment_for_driver(id)?;
            Ok(done(posted.address.unwrap_or_else(|| "posted".to_owned())))
        }
    }
}

impl Forge {
    /// Fails unless the journal says that exactly this is about to happen.
    fn refuse_unintended(&self, order: &OutsideOrder) -> Result<(), Error> {
        let is_of_mark = match &order.what {
            OutsideEffect::Push { commit, .. } => order.mark.ends_with(&format!("@{commit} push")),
            OutsideEffect::PullRequest => order.mark.ends_with(" pull-request"),
            OutsideEffect::Comment => order.mark.ends_with(" comment"),
        };
        let state = self.fold(&order.run)?.0.mark(&order.mark);
        if is_of_mark && state == Some(EffectMark::Intended) {
            return Ok(());
        }
        let what = "the run does not intend to do this now";
        Err(Error::usage(what, format!("forge status {}", order.run)))
    }

    /// Returns what became of the pull request of a run that is no longer open.
    fn over(&self, id: &str) -> Result<Option<String>, Error> {
        let Some((_, found)) = self.remembered_at_host(id)? else { return Ok(None) };
        Ok(match found.state {
            PullRequestState::Open { .. } => None,
            PullRequestState::Merged { .. } => Some(format!("{} is merged", found.address)),
            PullRequestState::Closed => Some(format!("{} was closed", found.address)),
        })
    }

    /// Makes a commit the branch of a run at the remote, if that only adds to what is there.
    fn push_commit(&self, id: &str, commit: &str, onto: PushOnto) -> Result<String, Error> {
        let draft = self.draft_under_way(id)?;
        let (remote, branch) = (&draft.push_remote, &draft.branch);
        let refspec = format!("{commit}:refs/heads/{branch}");
        let mut git = Command::new("git");
        git.args(["push", "--porcelain"]).stdin(Stdio::null());
        match onto {
            // Nothing but a new branch is made; where it is there with this commit, nothing is.
            PushOnto::Nothing => {
                git.arg(format!("--force-with-lease=refs/heads/{branch}:"));
            }
            PushOnto::Own | PushOnto::OwnWhileOpen => {}
        }
        git.args(["--", remote.as_str(), &refspec]);
        let failed = |why: &str| {
            let why: String = sanitize(why.trim()).chars().take(GIT_CHARS_MAX).collect();
            let what = format!("{branch} was not pushed to {remote}: {}", without_users(&why));
            let moved = ["non-fast-forward", "fetch first", "stale info"];
            let next = if moved.iter().any(|word| why.contains(word)) {
                format!(
                    "other commits are there: look at them with git fetch {remote} {branch}; if they are \
                     not needed, git push {remote} :{branch}, then forge retry"
                )
            } else {
                format!("try it with git push {remote} {refspec}")
            };
            Error::surroundings(what, next)
        };
        let output = git.output().map_err(|error| failed(&error.to_string()))?;
        if output.status.success() {
            return Ok(format!("{remote}/{branch}"));
        }
        let (out, err) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        Err(failed(&refusal(&out, &err)))
    }
}

/// Returns a text without the users, passwords and tokens of its addresses.
fn without_users(text: &str) -> String {
    let mut pieces = text.split("://");
    let mut shown = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|c: char| c == '/' || c.is_whitespace()).unwrap_or(piece.len());
        let (host, rest) = piece.split_at(end);
        let host = host.rsplit('@').next().unwrap_or_default();
        shown.push_str("://");
        shown.push_str(host);
        shown.push_str(rest);
    }
    shown
}

/// Returns why git did not push, as one line: what the remote says, and what becomes of the branch.
fn refusal(out: &str, err: &str) -> String {
    let by_remote = err.lines().filter_map(|line| line.strip_prefix("remote:"));
    let by_git = out.lines().filter_map(|line| line.strip_prefix('!')?.rsplit('\t').next());
    let mut said: Vec<&str> =
        by_remote.chain(by_git).map(str::trim).filter(|line| !line.is_empty()).collect();
    if said.is_empty() {
        let lines: Vec<&str> = err.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let is_why = |line: &&&str| line.starts_with("fatal:");
        said = match lines.iter().find(is_why) {
            Some(why) => vec![why],
            None => lines[lines.len().saturating_sub(GIT_LINES_MAX)..].to_vec(),
        };
    }
    said.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_push_that_fails_is_told_in_one_line() {
        let out =
            "To /b.git\n!\tab:refs/heads/x\t[remote rejected] (pre-receive hook declined)\nDone\n";
        let err = "remote: no forge here        \nremote: \nerror: failed to push some refs\n";
        assert_eq!(
            refusal(out, err),
            "no forge here; [remote rejected] (pre-receive hook declined)"
        );
        let err = "a banner\nfatal: could not read Username for 'https://h': no terminal\nmore\n";
        assert_eq!(refusal("", err), "fatal: could not read Username for 'https://h': no terminal");
        assert_eq!(refusal("", "a banner\n\none\ntwo\nthree\n"), "one; two; three");
    }

    #[test]
    fn no_token_in_an_address_is_told() {
        for (said, told) in [
            (
                "could not read Password for 'https://ghp_abc@h:8443': x",
                "could not read Password for 'https://h:8443': x",
            ),
            ("To https://me:p@ss@h/o/r.git and ssh://git@h", "To https://h/o/r.git and ssh://h"),
            ("me@h", "me@h"),
        ] {
            assert_eq!(without_users(said), told);
        }
    }
}
