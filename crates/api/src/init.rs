//! `forge init`: finds the project's checks, tries them once, and writes `forge.toml`.
//!
//! The trial is made in a private checkout of HEAD, under keepers, as a run would do it. What is
//! red is written down as red: no agent will be blamed for it.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use forge_core::{
    event::Colour,
    view::{short_commit, span},
};
use forge_driver::{
    Error,
    clock::now,
    executor::StepState,
    local_executor::{LocalExecutor, own_program},
    missing_variables::{find_missing, missing_text},
    outcome::{CommandEnd, command_end, tail_of},
    path_list::short_list,
    person::person,
    setup::{
        environment::{command_environment, shell, spec},
        launch::run_to_end,
    },
    signals::Signals,
};
use forge_keeper::{AttemptFolder, StepLimits};
use forge_project::{
    commit_files::CommitTree,
    detect::{self, DetectedCommand, DetectedProject},
    error::Kind,
    personal_dirs::state_dir,
    settings::{AgentChoice, FILE, PassedVariables, Settings},
    test_output::excerpt,
};
use forge_workspace::{
    CachesAfter, CheckoutLocation, FileAccess, FilesPolicy, OpenCheckout, OpenedCheckout,
    Operation, OperationResult, RecordBaseline, RestoreFiles, RestoredFiles, perform,
};

use crate::forge::Forge;

/// The most lines of red output that are shown.
const OUTPUT_LINES_MAX: usize = 20;
/// The most bytes of red output that are shown.
const OUTPUT_BYTES_MAX: usize = 4 * 1024;

/// One command that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    pub command: String,
    pub purpose: Purpose,
    pub colour: Colour,
    pub took_ms: u64,
    /// The output, if it failed.
    pub output: String,
    /// Variables of the environment with which it succeeds.
    pub missing: Vec<String>,
}

impl Tried {
    /// Formats result and duration: `passed (12s)`.
    pub fn to_text(&self) -> String {
        let result = match self.colour {
            Colour::Green => "passed",
            Colour::Red => "failed",
        };
        format!("{result} ({})", span(self.took_ms))
    }
}

/// Files that a trial left in the tree.
struct Traces {
    /// Files that the set-up made, changed or removed, and that git does not ignore.
    by_setup: Vec<String>,
    /// Files in git that the checks changed.
    by_checks: Vec<String>,
}

/// The purpose of a detected command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It makes a new checkout ready.
    SetUp,
    /// It is a check.
    Check,
}

impl Forge {
    /// Returns what kind of project HEAD is, if no settings are there yet.
    pub fn project(&self) -> Result<(String, DetectedProject), Error> {
        self.refuse_agents()?;
        let repository = &self.home.repository;
        let Some(top) = &repository.top else {
            let what = "a bare repository has no checkout to write forge.toml in";
            return Err(Error::usage(what, "go into a checkout of it"));
        };
        if top.join(FILE).exists() {
            return Err(Error::usage(
                format!("{FILE} already exists; it was not changed"),
                "forge config list; or remove it and run forge init again",
            ));
        }
        let Some(head) = repository.head() else {
            let what = "this repository has no commit yet, so no check can be tried";
            return Err(Error::usage(what, "git add . && git commit -m \"first\""));
        };
        let project = detect::detect(&CommitTree::open(repository, &head)?);
        Ok((head, project))
    }

    /// Tries what was found, once, on a private checkout of the commit. What is odd about it is added
    /// to the notes of the project.
    pub fn try_out(
        &self,
        head: &str,
        project: &mut DetectedProject,
        tell: &mut dyn FnMut(&Tried),
    ) -> Result<Vec<Tried>, Error> {
        let mut tried = Vec::new();
        if project.verify.is_empty() {
            return Ok(tried);
        }
        let dir = state_dir()?.join(format!("init-{}-{}", std::process::id(), now()));
        let mut signals = Signals::listen()?;
        let done = self.try_in(&dir, head, project, &mut signals, &mut |one| {
            tell(&one);
            tried.push(one);
        });
        // It was only for this; what cannot be removed is no reason to fail.
        let _ = fs::remove_dir_all(&dir);
        let Traces { by_setup, by_checks: touched } = done?;
        for one in tried.iter().filter(|one| !one.missing.is_empty()) {
            project.notes.push(format!(
                "{}, which the project's commands do not get: add it to verify.pass in {FILE}",
                missing_text(&one.command, &one.missing)
            ));
        }
        if !by_setup.is_empty() {
            project.notes.push(format!(
                "setup leaves files that git does not ignore ({}); runs do not count them as \
                 changes, but commit or ignore them",
                short_list(&by_setup)
            ));
        }
        if !touched.is_empty() {
            project.notes.push(format!(
                "the checks change files that are in git ({}), so their result proves nothing: \
                 commit these files as the checks make them",
                short_list(&touched)
            ));
        }
        Ok(tried)
    }

    fn try_in(
        &self,
        dir: &Path,
        head: &str,
        project: &DetectedProject,
        signals: &mut Signals,
        tell: &mut dyn FnMut(Tried),
    ) -> Result<Traces, Error> {
        let repository = &self.home.repository;
        let checkout = CheckoutLocation {
            common_dir: repository.common_dir.clone(),
            top: repository.top.clone(),
            dir: dir.join("checkout"),
        };
        let order = Operation::Open(OpenCheckout {
            location: checkout.clone(),
            at: head.to_owned(),
            files: FilesPolicy::Pristine,
            worker: None,
            merge: None,
            access: FileAccess::Write,
            branch: "forge/init".to_owned(),
            base: None,
            copy: Vec::new(),
            cache: project.cache.clone(),
            setup_inputs: project.setup_inputs.clone(),
        });
        let OperationResult::Opened(OpenedCheckout { tree, .. }) = perform(&order)? else {
            unreachable!("the worker opens what it is asked to open")
        };
        let pass = self.settings_at(Some(head))?.freeze(AgentChoice::Nobody).verify.pass;
        let setup = project.setup.iter().map(|found| (found, Purpose::SetUp));
        let checks = project.verify.iter().map(|found| (found, Purpose::Check));
        let mut by_setup = Vec::new();
        let n_setup = project.setup.len();
        for (number, (found, purpose)) in (1..).zip(setup.chain(checks)) {
            let folder = dir.join(format!("{number:04}"));
            check(signals)?;
            let mut one = try_one(&folder, &found.command, purpose, &tree, &pass, signals)?;
            if one.colour == Colour::Red {
                let mut trials = 0..;
                one.missing = find_missing(&pass, |pass| {
                    check(signals)?;
                    let folder = dir.join(format!("{number:04}-{}", trials.next().unwrap_or(0)));
                    let again = try_one(&folder, &found.command, purpose, &tree, pass, signals)?;
                    Ok::<bool, Error>(again.colour == Colour::Green)
                })?;
            }
            check(signals)?;
            let is_over = purpose == Purpose::SetUp && one.colour == Colour::Red;
            tell(one);
            if number == n_setup {
                let location = checkout.clone();
                let order = Operation::Baseline(RecordBaseline { location, save: None });
                let OperationResult::Baseline(recorded) = perform(&order)? else {
                    unreachable!("the worker records what it is asked to record")
                };
                by_setup = recorded.paths;
            }
            if is_over {
                break;
            }
        }
        let order = Operation::Restore(RestoreFiles {
            location: checkout,
            at: head.to_owned(),
            access: FileAccess::Write,
            caches: CachesAfter::Sealed,
        });
        let OperationResult::Restored(RestoredFiles { discarded }) = perform(&order)? else {
            unreachable!("the worker puts back what it is asked to put back")
        };
        let tracked = repository.files_at(head, "")?;
        check(signals)?;
        let by_checks = discarded.into_iter().filter(|path| tracked.contains(path)).collect();
        Ok(Traces { by_setup, by_checks })
    }

    /// Writes `forge.toml` into the checkout, and allows what it runs. The only file that is written.
    pub fn write_settings(&self, text: &str, project: &DetectedProject) -> Result<PathBuf, Error> {
        self.refuse_agents()?;
        let top = self.home.repository.top.as_ref().expect("a project has a checkout");
        let path = top.join(FILE);
        let made = fs::OpenOptions::new().write(true).create_new(true).open(&path);
        let written = made.and_then(|mut file| {
            use std::io::Write as _;
            file.write_all(text.as_bytes())
        });
        written.map_err(|error| Error::file(&path, &error))?;
        let found = project.setup.iter().chain(&project.verify);
        let commands: Vec<String> = found.map(|found| found.command.clone()).collect();
        if !commands.is_empty() {
            self.trust()?.approve(&commands, &person())?;
        }
        Ok(path)
    }
}

fn check(signals: &mut Signals) -> Result<(), Error> {
    if signals.want_an_end() { Err(interrupted()) } else { Ok(()) }
}

fn interrupted() -> Error {
    let what = "interrupted; nothing was written".to_owned();
    Error { kind: Kind::Interrupted, what, next: Some("forge init".to_owned()) }
}

/// Tries one command under a keeper.
fn try_one(
    folder: &Path,
    command: &str,
    purpose: Purpose,
    tree: &Path,
    pass: &PassedVariables,
    signals: &mut Signals,
) -> Result<Tried, Error> {
    let frozen = Settings::default().freeze(AgentChoice::Nobody);
    let limits = StepLimits {
        wall_ms: frozen.verify.timeout_ms,
        silence_ms: 0,
        output_bytes: frozen.verify.output_bytes,
    };
    let argv = shell(command.to_owned());
    let spec = spec(format!("init: {command}"), argv, tree.to_owned(), limits);
    let error = |error: std::io::Error| Error::file(folder, &error);
    let made = AttemptFolder::create(folder, &spec).map_err(error)?;
    let executor = LocalExecutor::default();
    let state = run_to_end(own_program()?, &made, &command_environment(pass), signals)?;
    let StepState::Ended(ending) = state else {
        check(signals)?;
        let what = format!("`{command}` was tried, but its result is unknown");
        return Err(Error::surroundings(what, "forge init"));
    };
    let (colour, output) = match command_end(&executor, &made, &ending) {
        CommandEnd::Success => (Colour::Green, String::new()),
        CommandEnd::Interrupted => return Err(interrupted()),
        CommandEnd::Failure { .. } => {
            let output = tail_of(&executor, &made.transcript(), 1024 * 1024).map_err(error)?;
            (Colour::Red, excerpt(&output, OUTPUT_LINES_MAX, OUTPUT_BYTES_MAX))
        }
        CommandEnd::Fault { what, .. } => (Colour::Red, what),
    };
    let took_ms = ending.ended_at_ms.saturating_sub(ending.started_at_ms);
    let missing = Vec::new();
    Ok(Tried { command: command.to_owned(), purpose, colour, took_ms, output, missing })
}

/// Returns the settings of a project, with what is to be known about each of them.
pub fn settings_text(head: &str, project: &DetectedProject, tried: &[Tried]) -> String {
    let mut text = String::from(
        "# Settings of Forge for this project. A run reads them from the commit it starts \
         from.\n# `forge config list` shows every setting, `forge config explain KEY` where it is \
         set.\n\n[verify]\n# The project's checks. Forge runs them itself, on the exact commit, \
         in a checkout that no\n# agent uses; nothing is merged unless they pass.\n",
    );
    if !project.offers.is_empty() {
        text.push_str("# Also set up here, and not run unless you add it to the commands:\n");
        for DetectedCommand { command, why, .. } in &project.offers {
            let _ = writeln!(text, "#   {},  # {}", quoted(command), one_line(why));
        }
    }
    if project.verify.is_empty() {
        text.push_str(
            "# None were found. Without checks, results stay unverified, and every run asks you \
             once.\n# commands = [\"make test\"]\n",
        );
    } else {
        let lines = project.verify.iter().map(|found| (found.command.as_str(), found.why.as_str()));
        list(&mut text, "commands", lines);
    }
    let mut missing: Vec<String> = tried.iter().flat_map(|one| one.missing.clone()).collect();
    missing.sort();
    missing.dedup();
    if !missing.is_empty() {
        text.push_str("# More variables of your environment that the project's commands get:\n# ");
        inline(&mut text, "pass", &missing);
    }
    text.push_str("# timeout_minutes = 30\n");
    let workspace = !project.setup.is_empty() || !project.cache.is_empty();
    text.push_str(if workspace { "\n[workspace]\n" } else { "\n# [workspace]\n" });
    if project.setup.is_empty() {
        text.push_str("# Commands that make a new checkout ready:\n# setup = [\"npm ci\"]\n");
    } else {
        text.push_str("# Prepares a new checkout; runs again when one of setup_inputs changes.\n");
        let lines = project.setup.iter().map(|found| (found.command.as_str(), found.why.as_str()));
        list(&mut text, "setup", lines);
        inline(&mut text, "setup_inputs", &project.setup_inputs);
    }
    if !project.cache.is_empty() {
        text.push_str("# Folders that a checkout keeps when it is brought to another commit.\n");
        inline(&mut text, "cache", &project.cache);
    }
    text.push_str("# Files outside git that a checkout needs:\n# copy = [\".env.test\"]\n");
    trial(&mut text, head, tried);
    for note in &project.notes {
        let _ = writeln!(text, "# Note: {}", one_line(note));
    }
    text
}

fn trial(text: &mut String, head: &str, tried: &[Tried]) {
    let today = jiff::Zoned::now().strftime("%Y-%m-%d").to_string();
    if tried.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n# Tried on {today} at {}:", short_commit(head));
    for one in tried {
        let _ = writeln!(text, "#   {}: {}", one_line(&one.command), one.to_text());
    }
}

fn list<'a>(text: &mut String, key: &str, lines: impl Iterator<Item = (&'a str, &'a str)>) {
    let _ = writeln!(text, "{key} = [");
    for (value, why) in lines {
        let _ = writeln!(text, "  {},  # {}", quoted(value), one_line(why));
    }
    text.push_str("]\n");
}

fn inline(text: &mut String, key: &str, values: &[String]) {
    let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
    let _ = writeln!(text, "{key} = [{}]", values.join(", "));
}

fn quoted(value: &str) -> String {
    toml_edit::Value::from(value).to_string()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_offered_is_in_the_settings_as_a_comment_only() {
        let found = |command: &str| DetectedCommand {
            command: command.to_owned(),
            why: "there is a tox.ini".to_owned(),
            file: "tox.ini".to_owned(),
        };
        let project = DetectedProject {
            verify: vec![found("python -m pytest")],
            offers: vec![found("python -m mypy .")],
            ..DetectedProject::default()
        };
        let text = settings_text("0123456789", &project, &[]);
        assert!(text.contains("#   \"python -m mypy .\",  # there is a tox.ini\n"), "{text}");
        let table: toml_edit::DocumentMut = text.parse().unwrap();
        let commands = table["verify"]["commands"].as_array().unwrap();
        assert_eq!(commands.len(), 1, "{text}");
    }
}
