//! What the compiler does not check: arrows between crates and modules, names, comments, sizes, and that the core cannot even name the
//! outside world. Each guard has a test in which it says no.
//!
//! What was already wrong when a guard came is counted in `xtask/tidy-baseline.toml`. These numbers may only become smaller.

mod arrows;
mod comments;
mod files;
mod modules;
mod size;
mod source;
mod types;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use source::Crate;

use crate::{
    command::say,
    repository::{root, rust_files},
};

/// Past this, one must climb too far to understand a file.
const FLOORS_MAX: usize = 8;
/// What was wrong before, relative to the repository.
const BASELINE: &str = "xtask/tidy-baseline.toml";

/// How much is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Show {
    /// Only what fails.
    Problems,
    /// Also what the baseline still allows.
    Everything,
}

/// Looks at everything.
pub(crate) fn run(show: Show) -> ExitCode {
    let (crates, mut problems) = crates(&root());
    problems.extend(arrows::manifests(&root()));
    problems.extend(crates.iter().flat_map(arrows::past_the_allowed_module));
    for path in sources(&root()) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let shown = path.strip_prefix(root()).unwrap_or(&path).to_owned();
        problems.extend(files::untidy(&shown, &text));
    }
    let baseline = fs::read_to_string(root().join(BASELINE)).unwrap_or_default();
    let baseline = baseline.parse::<toml::Table>().unwrap_or_default();
    for debt in debts(&crates) {
        let allowed = baseline.get(debt.name).and_then(toml::Value::as_integer);
        let (worse, lines) = debt.against(allowed.unwrap_or_default(), show);
        for line in &lines {
            say(line);
        }
        problems.extend(worse);
    }
    for problem in &problems {
        say(problem);
    }
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Says how many lines each crate has.
pub(crate) fn sizes() -> ExitCode {
    let (crates, problems) = crates(&root());
    for problem in &problems {
        say(problem);
    }
    say(&size::table(&crates));
    ExitCode::SUCCESS
}

/// Something that was wrong in many places when its guard came.
struct Debt {
    /// Its name in the baseline.
    name: &'static str,
    amount: usize,
    places: Vec<String>,
}

impl Debt {
    /// The problem if there is more of it than allowed, and what else is to be said.
    fn against(&self, allowed: i64, show: Show) -> (Option<String>, Vec<String>) {
        let amount = i64::try_from(self.amount).unwrap_or(i64::MAX);
        let is_worse = amount > allowed;
        let mut lines = Vec::new();
        if is_worse || show == Show::Everything {
            lines.extend(self.places.iter().cloned());
        }
        if amount < allowed {
            lines.push(format!("{}: {amount} now; {BASELINE} still says {allowed}", self.name));
        }
        let worse = format!("{}: {amount}, and {BASELINE} allows {allowed}", self.name);
        (is_worse.then_some(worse), lines)
    }
}

/// All debts of the workspace.
fn debts(crates: &[Crate]) -> Vec<Debt> {
    let (mut in_circles, mut circles) = (0, Vec::new());
    let (mut too_high, mut towers) = (0, Vec::new());
    let mut empty = Vec::new();
    for all in crates {
        let uses = modules::Uses::of_crate(all);
        for circle in uses.circles() {
            in_circles += circle.len();
            circles.push(format!("{}: a circle of {}", all.name, circle.join(", ")));
        }
        let chain = uses.longest_chain();
        let floors = chain.len();
        if floors > FLOORS_MAX {
            too_high += floors - FLOORS_MAX;
            towers.push(format!(
                "{}: {floors} floors, at most {FLOORS_MAX}: {}",
                all.name,
                chain.join(" > ")
            ));
        }
        for file in &all.files {
            let place = format!("{}: src/{}", all.name, file.path.display());
            let comments = comments::empty(file).into_iter();
            empty.extend(comments.map(|(line, text)| format!("{place}:{line}: `{text}`")));
        }
    }
    let repeated = types::repeated(crates);
    vec![
        Debt { name: "modules_in_circles", amount: in_circles, places: circles },
        Debt { name: "floors_too_many", amount: too_high, places: towers },
        Debt { name: "repeated_types", amount: repeated.len(), places: repeated },
        Debt { name: "empty_comments", amount: empty.len(), places: empty },
    ]
}

/// All crates that can be read, and what is wrong with the others.
fn crates(root: &Path) -> (Vec<Crate>, Vec<String>) {
    let entries = fs::read_dir(root.join("crates")).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.retain(|folder| folder.join("Cargo.toml").exists());
    folders.sort();
    folders.push(root.join("xtask"));
    let (mut crates, mut problems) = (Vec::new(), Vec::new());
    for folder in folders {
        match Crate::read(&folder) {
            Ok(found) => crates.push(found),
            Err(problem) => problems.push(problem),
        }
    }
    (crates, problems)
}

/// All Rust files of ours.
fn sources(root: &Path) -> Vec<PathBuf> {
    let mut found = rust_files(&root.join("crates"));
    found.extend(rust_files(&root.join("xtask")));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_baseline_allows_is_refused_and_less_is_told() {
        let debt = Debt { name: "x", amount: 2, places: vec!["a".to_owned(), "b".to_owned()] };
        let (worse, lines) = debt.against(1, Show::Problems);
        assert_eq!(worse.unwrap(), format!("x: 2, and {BASELINE} allows 1"));
        assert_eq!(lines, ["a", "b"]);
        assert_eq!(debt.against(2, Show::Problems), (None, Vec::new()));
        assert_eq!(debt.against(2, Show::Everything).1, ["a", "b"]);
        let (worse, lines) = debt.against(3, Show::Problems);
        assert!(worse.is_none());
        assert_eq!(lines, [format!("x: 2 now; {BASELINE} still says 3")]);
    }
}
