//! Which role prompts have changed since fresh agents last tried them.
//!
//! A trial is done by hand: an agent that knows nothing of the others gets a brief and does the work. `xtask/prompt-trials.toml` keeps
//! for each role the prompt that was tried, the day and the model. This task only tells; it never fails the gate.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use crate::{command::say, repository::root};

/// Where trials are recorded, relative to the repository.
const TRIALS: &str = "xtask/prompt-trials.toml";

/// How the prompt of a role stands to its last trial.
#[derive(Debug, PartialEq, Eq)]
enum Standing {
    /// It was tried as it is, on this day.
    Tried(String),
    /// Another one was tried, on this day.
    Changed(String),
    Untried,
}

/// Says how all prompts stand.
pub(crate) fn tell() -> ExitCode {
    let trials = trials(&root());
    for (name, path) in prompts(&root()) {
        match standing(&trials, &name, &hash(&path).unwrap_or_default()) {
            Standing::Tried(day) => say(&format!("tried on {day}    {name}")),
            Standing::Changed(day) => say(&format!("CHANGED since {day}  {name}")),
            Standing::Untried => say(&format!("never tried          {name}")),
        }
    }
    ExitCode::SUCCESS
}

/// Records that a role was tried today by an agent with this model.
pub(crate) fn record(role: &str, model: &str) -> ExitCode {
    let found = prompts(&root()).into_iter().find(|(name, _)| name == role);
    let Some((name, path)) = found else {
        say(&format!("there is no role `{role}`; `cargo xtask readers` lists them"));
        return ExitCode::from(2);
    };
    let recorded = hash(&path).and_then(|prompt| {
        let day = Command::new("date").args(["-u", "+%F"]).output()?;
        let day = String::from_utf8_lossy(&day.stdout).trim().to_owned();
        let mut trials = trials(&root());
        let values = [("prompt", prompt.as_str()), ("day", &day), ("model", model)];
        let values = values.map(|(key, value)| (key.to_owned(), value.to_owned().into()));
        trials.insert(name, toml::Value::Table(values.into_iter().collect()));
        fs::write(root().join(TRIALS), written(&trials))
    });
    match recorded {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("{TRIALS}: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// All prompts that we ship, by `FLOW/ROLE`.
fn prompts(root: &Path) -> Vec<(String, PathBuf)> {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let mut prompts = Vec::new();
    for flow in entries(&root.join("flows")) {
        for role in entries(&flow.path().join("roles")) {
            let path = role.path();
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            prompts.push((format!("{}/{stem}", flow.file_name().display()), path));
        }
    }
    prompts.sort();
    prompts
}

fn trials(root: &Path) -> toml::Table {
    fs::read_to_string(root.join(TRIALS)).unwrap_or_default().parse().unwrap_or_default()
}

fn written(trials: &toml::Table) -> String {
    let head = "# Role prompts as they were last tried by fresh agents: `cargo xtask readers`.\n";
    let row = |(name, trial): (&String, &toml::Value)| {
        let text = |key: &str| trial.get(key).and_then(toml::Value::as_str).unwrap_or_default();
        let (day, model, prompt) = (text("day"), text("model"), text("prompt"));
        format!("{name:?} = {{ day = {day:?}, model = {model:?}, prompt = {prompt:?} }}\n")
    };
    head.to_owned() + &trials.iter().map(row).collect::<String>()
}

fn standing(trials: &toml::Table, name: &str, prompt: &str) -> Standing {
    let Some(trial) = trials.get(name) else { return Standing::Untried };
    let text = |key: &str| trial.get(key).and_then(toml::Value::as_str).unwrap_or_default();
    let day = text("day").to_owned();
    if text("prompt") == prompt { Standing::Tried(day) } else { Standing::Changed(day) }
}

/// Git's name for the content of a file.
fn hash(path: &Path) -> io::Result<String> {
    let output = Command::new("git").args(["hash-object", "--no-filters"]).arg(path).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_that_changed_after_its_trial_is_named() {
        let trials: toml::Table =
            "'f/a' = { prompt = '1', day = '2026-01-02', model = 'm' }".parse().unwrap();
        let day = || "2026-01-02".to_owned();
        assert_eq!(standing(&trials, "f/a", "1"), Standing::Tried(day()));
        assert_eq!(standing(&trials, "f/a", "2"), Standing::Changed(day()));
        assert_eq!(standing(&trials, "f/b", "1"), Standing::Untried);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let trials = trials(&root());
        assert_eq!(written(&trials).parse::<toml::Table>().unwrap(), trials);
        let names: Vec<String> = prompts(&root()).into_iter().map(|(name, _)| name).collect();
        assert!(trials.keys().all(|name| names.contains(name)), "a role is gone");
    }
}
