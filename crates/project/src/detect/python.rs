//! Python: pytest, unittest, tox or nox, and the tool that installs what they need.
//!
//! pytest is chosen by any sign of it; tox and nox only where there is no sign of pytest, because
//! they build their own surroundings each time. Dependencies without a manager go into `.venv`.

use toml::{Table, Value};

use super::project_folder::{CommandWords, Findings, ProjectFolder};
use crate::path_names::{base_name, quoted};

/// The most test files that are read to find their runner.
const TEST_FILES_MAX: usize = 40;

/// The most folders that unittest is sent into one by one.
const DISCOVERIES_MAX: usize = 8;

/// Files with requirements that tests may need.
const REQUIREMENTS: &[&str] = &[
    "requirements.txt",
    "requirements-dev.txt",
    "requirements_dev.txt",
    "dev-requirements.txt",
    "requirements-test.txt",
    "requirements_test.txt",
    "requirements-tests.txt",
    "test-requirements.txt",
    "requirements/dev.txt",
    "requirements/test.txt",
    "requirements/tests.txt",
];

/// Extras and groups that tests may need.
const GROUPS: &[&str] = &["dev", "test", "tests", "testing"];

/// The tool that makes the environment of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EnvironmentTool {
    Uv,
    Poetry,
    Pdm,
    Pipenv,
    /// pip, in a folder `.venv`.
    Pip,
    /// No tool: there is nothing to install.
    System,
}

/// The files of a Python project that decide about its tests.
struct Python<'p, 'a> {
    place: &'p ProjectFolder<'a>,
    pyproject: Table,
    /// Files whose names are those of tests.
    tests: Vec<&'a str>,
    requirements: Vec<&'static str>,
}

pub(super) fn detect(place: &ProjectFolder) -> Findings {
    let mut findings = Findings::default();
    let signs = ["pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "pytest.ini", "noxfile.py"];
    let manifest = place.first_existing(&signs);
    let tests: Vec<&str> = place.own_paths().filter(|path| is_test(path)).collect();
    if manifest.is_none() && tests.is_empty() {
        return findings;
    }
    let pyproject = match place.read("pyproject.toml").map(|text| text.parse::<Table>()) {
        Some(Ok(table)) => table,
        Some(Err(_)) => {
            findings.add_note("pyproject.toml cannot be read as TOML");
            Table::new()
        }
        None => Table::new(),
    };
    let requirements: Vec<&'static str> =
        REQUIREMENTS.iter().copied().filter(|path| place.exists(path)).collect();
    let python = Python { place, pyproject, tests, requirements };
    if let Some((file, why)) = python.pytest() {
        let manager = python.manager(Needs::Pytest);
        python.set_up(manager, Needs::Pytest, &file, &mut findings);
        let command = manager.runs("pytest");
        findings.add_check(&command, &why, &file, &[&["pytest"], &["py.test"], &["tox"], &["nox"]]);
        for (other, program) in [("tox.ini", "tox"), ("noxfile.py", "nox")] {
            if place.exists(other) {
                findings.add_note(format!(
                    "{other} is there too; `{command}` was chosen over `{program}`"
                ));
            }
        }
    } else if place.exists("tox.ini") {
        findings.add_check("tox", "there is a tox.ini", "tox.ini", &[&["tox"]]);
        findings.cache.push(".tox".to_owned());
    } else if place.exists("noxfile.py") {
        findings.add_check("nox", "there is a noxfile.py", "noxfile.py", &[&["nox"]]);
        findings.cache.push(".nox".to_owned());
    } else if let Some(first) = python.unittest() {
        let manager = python.manager(Needs::Nothing);
        python.set_up(manager, Needs::Nothing, first, &mut findings);
        let signs: &[CommandWords] = &[&["unittest"]];
        let discoveries = discoveries(place, &python.tests);
        if discoveries.len() > DISCOVERIES_MAX {
            findings
                .add_note(format!("tests are in {} folders, not all are run", discoveries.len()));
        }
        for (options, file) in discoveries.into_iter().take(DISCOVERIES_MAX) {
            let command = manager.runs(&format!("unittest discover{options}"));
            findings.add_check(&command, &format!("{file} uses unittest"), file, signs);
        }
    } else if let Some(manifest) = manifest {
        findings.add_note(format!("{manifest} is there, but no tests were found"));
    }
    findings
}

/// The runner that tests need beside the project's own dependencies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Pytest,
    Nothing,
}

impl Python<'_, '_> {
    /// Returns the file that shows the use of pytest, and the reason.
    fn pytest(&self) -> Option<(String, String)> {
        let place = self.place;
        if let Some(file) = place.first_existing(&["pytest.ini", ".pytest.ini"]) {
            return Some((file.to_owned(), format!("there is a {file}")));
        }
        if self.pyproject.get("tool").and_then(|tool| tool.get("pytest")).is_some() {
            return Some(("pyproject.toml".into(), "pyproject.toml sets up pytest".into()));
        }
        for (file, section) in [("setup.cfg", "[tool:pytest]"), ("tox.ini", "[pytest]")] {
            if place.read(file).is_some_and(|text| text.lines().any(|line| line.trim() == section))
            {
                return Some((file.to_owned(), format!("{file} has a section {section}")));
            }
        }
        if let Some(file) = place.own_paths().find(|path| base_name(path) == "conftest.py") {
            return Some((file.to_owned(), format!("there is a {file}")));
        }
        self.tests.first()?;
        for path in self.tests.iter().take(TEST_FILES_MAX) {
            let text = place.read(path).unwrap_or_default();
            if text.lines().any(|line| is_import(line, "pytest")) {
                return Some(((*path).to_owned(), format!("{path} imports pytest")));
            }
        }
        let named = self.requirements.iter().copied().chain(["pyproject.toml", "Pipfile"]);
        if let Some(file) = named.into_iter().find(|file| place.file_contains(file, "pytest")) {
            return Some((file.to_owned(), format!("{file} names pytest")));
        }
        let has_functions = |path: &&str| {
            let text = place.read(path).unwrap_or_default();
            text.lines()
                .any(|line| line.starts_with("def test_") || line.starts_with("async def test_"))
        };
        let bare = self.tests.iter().copied().take(TEST_FILES_MAX).find(has_functions)?;
        Some((bare.to_owned(), format!("{bare} has test functions without a class")))
    }

    /// Returns the first test file that uses unittest.
    fn unittest(&self) -> Option<&str> {
        self.tests.iter().copied().take(TEST_FILES_MAX).find(|path| {
            let text = self.place.read(path).unwrap_or_default();
            text.lines().any(|line| is_import(line, "unittest"))
        })
    }

    fn manager(&self, needs: Needs) -> EnvironmentTool {
        let tool =
            |name: &str| self.pyproject.get("tool").and_then(|tool| tool.get(name)).is_some();
        let exists = |path: &str| self.place.exists(path);
        if exists("uv.lock") {
            EnvironmentTool::Uv
        } else if exists("poetry.lock") {
            EnvironmentTool::Poetry
        } else if exists("pdm.lock") {
            EnvironmentTool::Pdm
        } else if exists("Pipfile") {
            EnvironmentTool::Pipenv
        } else if tool("uv") {
            EnvironmentTool::Uv
        } else if tool("poetry") {
            EnvironmentTool::Poetry
        } else if tool("pdm") {
            EnvironmentTool::Pdm
        } else if !self.requirements.is_empty() || self.must_be_installed(needs) {
            EnvironmentTool::Pip
        } else {
            EnvironmentTool::System
        }
    }

    /// Tells whether the project itself has to be installed before its tests can run.
    fn must_be_installed(&self, needs: Needs) -> bool {
        if self.place.exists("setup.py") {
            return true;
        }
        let Some(project) = self.pyproject.get("project") else {
            return self.pyproject.contains_key("build-system");
        };
        let names = project.get("dependencies").and_then(Value::as_array);
        let has_source_folder = self.place.own_paths().any(|path| path.starts_with("src/"));
        needs == Needs::Pytest || has_source_folder || names.is_some_and(|names| !names.is_empty())
    }

    fn set_up(&self, manager: EnvironmentTool, needs: Needs, file: &str, findings: &mut Findings) {
        let (command, named, cache) = match manager {
            EnvironmentTool::Uv => ("uv sync".to_owned(), &["uv.lock", "pyproject.toml"], ".venv"),
            EnvironmentTool::Poetry => {
                ("poetry install".to_owned(), &["poetry.lock", "pyproject.toml"], "")
            }
            EnvironmentTool::Pdm => {
                ("pdm install".to_owned(), &["pdm.lock", "pyproject.toml"], ".venv")
            }
            EnvironmentTool::Pipenv => {
                ("pipenv install --dev".to_owned(), &["Pipfile.lock", "Pipfile"], "")
            }
            EnvironmentTool::Pip => (self.pip(needs), &["pyproject.toml", "setup.py"], ".venv"),
            EnvironmentTool::System => {
                if needs == Needs::Pytest {
                    findings.add_note("pytest is not a dependency; it must be installed already");
                }
                return;
            }
        };
        let first = self.requirements.first().copied().filter(|_| manager == EnvironmentTool::Pip);
        let file = first.or(self.place.first_existing(named)).unwrap_or(file);
        findings.add_setup(&command, &format!("there is a {file}"), file);
        findings.add_setup_inputs(self.place, named);
        findings.add_setup_inputs(self.place, &["setup.cfg"]);
        findings.setup_inputs.extend(self.requirements.iter().map(|path| (*path).to_owned()));
        findings.cache.extend((!cache.is_empty()).then(|| cache.to_owned()));
    }

    /// Returns the command that makes a `.venv` with all that is named anywhere.
    fn pip(&self, needs: Needs) -> String {
        let mut what: Vec<String> =
            self.requirements.iter().map(|path| format!("-r {path}")).collect();
        if self.must_be_installed(needs) {
            let project = self.pyproject.get("project");
            let extras = known_groups(project.and_then(|it| it.get("optional-dependencies")));
            let all =
                if extras.is_empty() { ".".into() } else { format!(".[{}]", extras.join(",")) };
            what.push(format!("-e {}", quoted(&all)));
        }
        let groups = known_groups(self.pyproject.get("dependency-groups"));
        // The pip that comes with Python is often older than `--group`, which is of 2025.
        let newer =
            if groups.is_empty() { "" } else { " && .venv/bin/python -m pip install -q -U pip" };
        what.extend(groups.into_iter().map(|group| format!("--group {group}")));
        let others = ["pyproject.toml", "setup.py", "setup.cfg"];
        let mut files = self.requirements.iter().copied().chain(others);
        if needs == Needs::Pytest && !files.any(|file| self.names_pytest(file)) {
            what.push("pytest".to_owned());
        }
        let what = what.join(" ");
        format!("python3 -m venv .venv{newer} && .venv/bin/python -m pip install -q {what}")
    }

    /// Tells whether a file names pytest as something to install, not only as something set up.
    fn names_pytest(&self, file: &str) -> bool {
        let text = self.place.read(file).unwrap_or_default();
        text.lines()
            .any(|line| line.contains("pytest") && !line.trim_start().starts_with(['[', '#']))
    }
}

fn known_groups(table: Option<&Value>) -> Vec<&'static str> {
    let known = GROUPS.iter().copied();
    known.filter(|name| table.and_then(|table| table.get(name)).is_some()).collect()
}

impl EnvironmentTool {
    /// Returns the command that runs a module in this environment.
    fn runs(self, module: &str) -> String {
        let before = match self {
            Self::Uv => "uv run python -m",
            Self::Poetry => "poetry run python -m",
            Self::Pdm => "pdm run python -m",
            Self::Pipenv => "pipenv run python -m",
            Self::Pip => ".venv/bin/python -m",
            Self::System => "python3 -m",
        };
        format!("{before} {module}")
    }
}

fn is_test(path: &str) -> bool {
    let Some((stem, "py")) = base_name(path).rsplit_once('.') else { return false };
    stem.starts_with("test_") || stem.ends_with("_test") || stem == "tests" || stem == "test"
}

fn is_import(line: &str, module: &str) -> bool {
    let mut words = line.trim_start().split([' ', ',', '.']).filter(|word| !word.is_empty());
    match words.next() {
        Some("import") => words.any(|word| word == module),
        Some("from") => words.next() == Some(module),
        Some(_) | None => false,
    }
}

/// Returns the options with which `unittest discover` finds these tests, each with one of them.
///
/// Without options it only searches packages, and tests that it does not find count as passed.
fn discoveries<'t>(place: &ProjectFolder, tests: &[&'t str]) -> Vec<(String, &'t str)> {
    let mut found: Vec<(String, &'t str)> = Vec::new();
    for path in tests {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
        let is_package =
            |depth: &usize| place.exists(&format!("{}/__init__.py", parts[..*depth].join("/")));
        let start = (1..=parts.len()).rev().find(|depth| !is_package(depth)).unwrap_or(0);
        let folder = (start > 0).then(|| format!(" -s {}", quoted(&parts[..start].join("/"))));
        let pattern = if name.starts_with("test") { "" } else { " -p '*_test.py'" };
        let options = format!("{}{pattern}", folder.unwrap_or_default());
        if !found.iter().any(|(known, _)| *known == options) {
            found.push((options, path));
        }
    }
    found
}
