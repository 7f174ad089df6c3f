//! Which variables of the person's environment a command of the project needs and does not get.
//!
//! Not here: which variables commands get (`setup/environment.rs`).
//!
//! Invariant: nothing that an agent made is run with more of the person's variables than the list has.

use std::path::Path;

use forge_core::{event::Outcome, hex::hex, verdict::BlockerClass};
use forge_keeper::StepLimits;
use forge_project::settings::PassedVariables;
use sha2::{Digest as _, Sha256};

use crate::{
    Error,
    outcome::{CommandEnd, command_end},
    plan::{Pending, Plan},
    run_id::short_id,
    setup::environment::variables_left_out,
};

/// The most times that a command is run to find what it needs. One variable among a thousand takes eleven.
const TRIALS_MAX: usize = 16;

/// Finds what a command needs that fails with the variables it gets. `succeeds` runs it with more of them: with
/// everything, or with the list and some that it leaves out. Nothing, if the rest of the environment does not help.
pub fn find_missing<E>(
    pass: &PassedVariables,
    mut succeeds: impl FnMut(&PassedVariables) -> Result<bool, E>,
) -> Result<Vec<String>, E> {
    let PassedVariables::Listed(listed) = pass else { return Ok(Vec::new()) };
    let left_out = variables_left_out(pass);
    if left_out.is_empty() || !succeeds(&PassedVariables::Everything)? {
        return Ok(Vec::new());
    }
    // Who succeeds now as it is failed for another reason, which is over.
    if succeeds(pass)? {
        return Ok(Vec::new());
    }
    narrow(&left_out, TRIALS_MAX - 2, |needed, some| {
        succeeds(&PassedVariables::Listed([listed, needed, some].concat()))
    })
}

/// Finds a small part of these names that is enough, if all of them are. Where the trials do not suffice, it has
/// more than is needed.
fn narrow<E>(
    names: &[String],
    mut trials: usize,
    mut are_enough: impl FnMut(&[String], &[String]) -> Result<bool, E>,
) -> Result<Vec<String>, E> {
    let (mut needed, mut rest) = (Vec::new(), names);
    while !rest.is_empty() {
        // It fails with the first `low` of the rest, and succeeds with the first `high`.
        let (mut low, mut high) = (0, rest.len());
        while high - low > 1 && trials > 0 {
            trials -= 1;
            let middle = low.midpoint(high);
            if are_enough(&needed, &rest[..middle])? {
                high = middle;
            } else {
                low = middle;
            }
        }
        if trials == 0 {
            needed.extend_from_slice(&rest[..high]);
            break;
        }
        needed.push(rest[high - 1].clone());
        rest = &rest[..high - 1];
        trials -= 1;
        if are_enough(&needed, &[])? {
            break;
        }
    }
    needed.sort();
    Ok(needed)
}

/// Says what a command needs that fails before any agent has worked.
pub fn missing_text(command: &str, missing: &[String]) -> String {
    format!("`{command}` needs ${} of your environment", missing.join(", $"))
}

/// Returns the value of `verify.pass` with which they are passed.
pub fn pass_value(pass: &PassedVariables, missing: &[String]) -> String {
    let listed = match pass {
        PassedVariables::Everything => &[][..],
        PassedVariables::Listed(listed) => listed,
    };
    let names: Vec<String> =
        listed.iter().chain(missing).map(|name| format!("\"{name}\"")).collect();
    format!("[{}]", names.join(", "))
}

impl Plan<'_> {
    /// Returns true if a commit has the code that the run started from.
    pub fn is_at_the_base(&self, commit: &str) -> Result<bool, Error> {
        let base = self.run.definition().start.base.as_deref();
        let base = base.expect("a run with checkouts has a base");
        let code = self.context.code;
        Ok(commit == base || code.code_tree(commit)? == code.code_tree(base)?)
    }

    /// Ends the call if a command, which failed in a checkout at the base, only lacks variables.
    pub fn name_missing(
        &self,
        name: &str,
        line: &str,
        dir: &Path,
        limits: StepLimits,
    ) -> Result<(), Pending> {
        let pass = &self.context.frozen.verify.pass;
        // What was tried in another environment says nothing about this one.
        let mark = hex(&Sha256::digest(variables_left_out(pass).join("=").as_bytes())[..4]);
        let mut number = 0;
        let missing = find_missing(pass, |pass| {
            number += 1;
            let name = format!("{name}-{mark}-trial-{number}");
            let (folder, ending) = self.shell_with(pass, &name, line, dir, limits)?;
            match command_end(self.context.executor, &folder, &ending) {
                CommandEnd::Success => Ok(true),
                CommandEnd::Failure { .. } | CommandEnd::Fault { .. } => Ok(false),
                CommandEnd::Interrupted => Err(self.interrupted()),
            }
        })?;
        if missing.is_empty() {
            return Ok(());
        }
        let (what, value) = (missing_text(line, &missing), pass_value(pass, &missing));
        let id = short_id(self.context.id);
        let what = format!(
            "{what}\nnext: forge resume {id} --set 'verify.pass={value}'\n\
             for later runs: forge config set verify.pass '{value}'"
        );
        Err(self.ends(Outcome::Blocked { class: BlockerClass::ExternalDependency, what }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_for_a_moment_needs_no_variable() {
        let pass = PassedVariables::Listed(Vec::new());
        let mut tried = Vec::new();
        let missing = find_missing(&pass, |with: &PassedVariables| {
            tried.push(with.clone());
            Ok::<bool, ()>(true)
        });
        assert_eq!(missing, Ok(Vec::new()));
        assert_eq!(tried, [PassedVariables::Everything, pass], "it was tried once more as it is");
    }

    fn narrowed(n: usize, trials: usize, needed: &[usize]) -> (Vec<String>, usize) {
        let names: Vec<String> = (0..n).map(|number| format!("V{number:04}")).collect();
        let mut n_trials = 0;
        let found = narrow(&names, trials, |some, more| {
            n_trials += 1;
            let has = |number: &usize| some.iter().chain(more).any(|name| *name == names[*number]);
            Ok::<bool, ()>(needed.iter().all(has))
        });
        (found.unwrap(), n_trials)
    }

    #[test]
    fn the_variables_that_a_command_needs_are_found_with_few_trials() {
        for needed in [0, 1, 499, 999] {
            let (found, n_trials) = narrowed(1000, TRIALS_MAX - 1, &[needed]);
            assert_eq!(found, [format!("V{needed:04}")]);
            assert!(n_trials <= 11, "{n_trials}");
        }
        assert_eq!(narrowed(20, TRIALS_MAX - 1, &[3, 17]).0, ["V0003", "V0017"]);
        assert_eq!(narrowed(1, TRIALS_MAX - 1, &[0]).0, ["V0000"]);
    }

    #[test]
    fn with_too_few_trials_more_than_is_needed_is_named_and_never_less() {
        let (found, n_trials) = narrowed(64, TRIALS_MAX - 1, &[10, 20, 30, 40]);
        assert_eq!(n_trials, TRIALS_MAX - 1);
        for needed in ["V0010", "V0020", "V0030", "V0040"] {
            assert!(found.iter().any(|name| name == needed), "{found:?}");
        }
        assert!(found.len() < 64, "{found:?}");
    }
}
