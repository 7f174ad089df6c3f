//! `forge __outside ORDER ANSWER`: pushes the branch of a run that is under way, opens its pull request, or comments at its
//! issue. A driver starts it below a keeper (`driver/src/deliver/outside.rs`).
//!
//! Not here: whether and when. What is done is the same as by `forge pr`.
//!
//! Invariant: an agent that starts it is refused; so is whoever is not a driver.

use std::{
    ffi::OsString,
    fs,
    io::{self, Write as _},
    path::Path,
    process::{Command, ExitCode, Stdio},
};

use forge_core::view::sanitize;
use forge_driver::{
    Error,
    plan::step::{OutsideAnswer, OutsideEffect, OutsideOrder},
};
use forge_keeper::caller::check_driver_step;
use forge_store::{atomic_file::replace_on, disk::RealDisk};

use crate::{forge::Forge, host_pull_request::OfferChange};

/// The most characters of what git says that are kept.
const GIT_CHARS_MAX: usize = 2_000;

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
        let bytes = serde_json::to_vec(&answered)?;
        replace_on(&RealDisk, Path::new(answer), &bytes)
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
    let done = |reference: String| OutsideAnswer::Done { reference, notes: Vec::new() };
    match &order.what {
        OutsideEffect::Push { commit } => forge.push_commit(id, commit).map(done),
        OutsideEffect::PullRequest => {
            let draft = forge.draft_under_way(id)?;
            let place = forge.pull_request_place(&draft)?;
            let offered = forge.offer_for_driver(&draft, &place)?;
            let mut notes: Vec<String> =
                offered.flaws.iter().map(|flaw| sanitize(&flaw.what())).collect();
            let address = offered.pull_request.address;
            if offered.change == OfferChange::LeftAsItIs {
                notes.push(format!("{address} is not of this run: its text stays as it is"));
            }
            Ok(OutsideAnswer::Done { reference: sanitize(&address), notes })
        }
        OutsideEffect::Comment => {
            let posted = forge.comment_for_driver(id)?;
            Ok(done(sanitize(&posted.address.unwrap_or_else(|| "posted".to_owned()))))
        }
    }
}

impl Forge {
    /// Makes a commit the branch of a run at the remote, if that only adds to what is there.
    fn push_commit(&self, id: &str, commit: &str) -> Result<String, Error> {
        let draft = self.draft_under_way(id)?;
        let (remote, branch) = (&draft.push_remote, &draft.branch);
        let refspec = format!("{commit}:refs/heads/{branch}");
        let mut git = Command::new("git");
        git.args(["push", "--porcelain", remote, &refspec]).stdin(Stdio::null());
        let failed = |why: &str| {
            let why: String = sanitize(why.trim()).chars().take(GIT_CHARS_MAX).collect();
            let what = format!("{branch} was not pushed to {remote}: {why}");
            Error::surroundings(what, format!("try it with: git push {remote} {refspec}"))
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

/// Returns why git did not push, as one line: what the remote says, and what becomes of the branch.
fn refusal(out: &str, err: &str) -> String {
    let by_remote = err.lines().filter_map(|line| line.strip_prefix("remote:"));
    let by_git = out.lines().filter_map(|line| line.strip_prefix('!')?.rsplit('\t').next());
    let mut said: Vec<&str> =
        by_remote.chain(by_git).map(str::trim).filter(|line| !line.is_empty()).collect();
    if said.is_empty() {
        said = err.lines().map(str::trim).filter(|line| !line.is_empty()).take(1).collect();
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
        let err = "fatal: could not read Username for 'https://h': terminal prompts disabled\n";
        assert_eq!(refusal("", err), err.trim());
    }
}
