//! Detection of a project's kind, its checks, and the set-up of a fresh checkout.
//!
//! Each ecosystem has its own small file and searches one [`ProjectFolder`]: the top, or a folder one
//! level below it. Not here: running anything, git, the disk. The input is a listing and the texts of
//! files.
//!
//! Invariant: any content gives an answer; nothing panics, and no file is read past a limit.
//! Invariant: `DetectedCommand::file` is a file of the listing, and every name in a command is quoted.
//! Invariant: what was seen and left out is in the notes, never silent.

use std::collections::{BTreeMap, BTreeSet};

mod cargo;
mod deno;
mod dotnet;
mod go;
mod java;
mod just;
mod linters;
mod make;
mod mix;
mod node;
mod project_folder;
mod python;
mod recipe_text;
mod ruby;
mod shell;

use project_folder::{DetectedCheck, Findings, ProjectFolder, below, is_ignored, push_new};
pub use project_folder::{DetectedCommand, ProjectFiles};

use crate::path_names::is_plain;

/// The most folders that are searched as separate projects.
const FOLDERS_MAX: usize = 8;
/// The most notes, so that a strange repository fills no screen.
const NOTES_MAX: usize = 40;

/// The checks and the set-up that the files of a project suggest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DetectedProject {
    /// The checks, in the order in which they are run.
    pub verify: Vec<DetectedCommand>,
    /// Linters and type checks that the project configures and that no check runs. They are offered, never run.
    pub offers: Vec<DetectedCommand>,
    /// Commands that make a fresh checkout ready.
    pub setup: Vec<DetectedCommand>,
    /// Files after whose change the setup is done again.
    pub setup_inputs: Vec<String>,
    /// Folders that may be kept from one checkout to the next.
    pub cache: Vec<String>,
    /// Sentences about files that were left out or look odd.
    pub notes: Vec<String>,
}

/// Detects projects at the top and one level below it.
pub fn detect(files: &dyn ProjectFiles) -> DetectedProject {
    let mut paths = files.list();
    let listed = paths.len();
    paths.retain(|path| is_plain(path));
    paths.sort_unstable();
    paths.dedup();
    let mut project = DetectedProject::default();
    if paths.len() < listed {
        let left_out = listed - paths.len();
        project.notes.push(format!("{left_out} files have names that no command can use"));
    }
    let top = ProjectFolder::new(files, "", &paths);
    let mut places = vec![(detect_in(&top, ECOSYSTEMS.iter()), "")];
    if places.iter().all(|(findings, _)| findings.checks.is_empty()) {
        places.push((shell::each_script(&top), ""));
    }
    let folders = folders(&top, &mut project.notes);
    for (folder, _) in &folders {
        let place = ProjectFolder::new(files, folder, &paths);
        let own = ECOSYSTEMS.iter().filter(|ecosystem| !(ecosystem.covers)(&top, folder));
        let own = own.filter(|ecosystem| ecosystem.name != shell::NAME);
        places.push((detect_in(&place, own), folder));
    }
    let checks = drop_wrapped_checks(&mut places);
    for (mut findings, folder) in places {
        project.offers.extend(findings.offers.into_iter().map(|found| found.below(folder)));
        project.setup.extend(findings.setup.into_iter().map(|found| found.below(folder)));
        for path in findings.setup_inputs {
            push_new(&mut project.setup_inputs, below(folder, &path));
        }
        for path in findings.cache {
            if !is_ignored(files, folder, &path) {
                findings
                    .notes
                    .push(format!("`{path}` will be created, and no .gitignore names it"));
            }
            push_new(&mut project.cache, below(folder, &path));
        }
        let place = if folder.is_empty() { String::new() } else { format!("{folder}/: ") };
        project.notes.extend(findings.notes.into_iter().map(|note| format!("{place}{note}")));
    }
    project.verify = checks;
    if project.notes.len() > NOTES_MAX {
        let more = project.notes.len() - NOTES_MAX;
        project.notes.truncate(NOTES_MAX);
        project.notes.push(format!("{more} more notes were left out"));
    }
    project
}

/// A family of projects that Forge knows.
struct Ecosystem {
    name: &'static str,
    detect: fn(&ProjectFolder) -> Findings,
    /// Tells whether the top already takes care of this folder.
    covers: fn(&ProjectFolder, &str) -> bool,
}

/// All ecosystems. Those that wrap others come first, because they win over later ones.
const ECOSYSTEMS: &[Ecosystem] = &[
    Ecosystem { name: "just", detect: just::detect, covers: never },
    Ecosystem { name: "make", detect: make::detect, covers: never },
    Ecosystem { name: shell::NAME, detect: shell::detect, covers: never },
    Ecosystem { name: "cargo", detect: cargo::detect, covers: cargo::covers },
    Ecosystem { name: "node", detect: node::detect, covers: node::covers },
    Ecosystem { name: "deno", detect: deno::detect, covers: deno::covers },
    Ecosystem { name: "python", detect: python::detect, covers: never },
    Ecosystem { name: "go", detect: go::detect, covers: never },
    Ecosystem { name: "java", detect: java::detect, covers: java::covers },
    Ecosystem { name: "dotnet", detect: dotnet::detect, covers: dotnet::covers },
    Ecosystem { name: "ruby", detect: ruby::detect, covers: never },
    Ecosystem { name: "mix", detect: mix::detect, covers: never },
];

/// Files that make a folder a separate project.
const MANIFESTS: &[&str] = &[
    "Cargo.toml",
    "package.json",
    "deno.json",
    "deno.jsonc",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "tox.ini",
    "noxfile.py",
    "pytest.ini",
    "requirements.txt",
    "Pipfile",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "GNUmakefile",
    "makefile",
    "Makefile",
    "justfile",
    "Justfile",
    ".justfile",
    "Gemfile",
    "Rakefile",
    "mix.exs",
];

/// Folders of examples, foreign code or data, which are never searched.
const NO_PROJECTS: &[&str] = &[
    "bench",
    "benches",
    "build",
    "dist",
    "doc",
    "docs",
    "e2e",
    "example",
    "examples",
    "external",
    "extern",
    "fixtures",
    "fuzz",
    "node_modules",
    "out",
    "sample",
    "samples",
    "spec",
    "target",
    "template",
    "templates",
    "test",
    "testdata",
    "tests",
    "third-party",
    "third_party",
    "vendor",
];

fn never(_top: &ProjectFolder, _folder: &str) -> bool {
    false
}

/// Collects what the ecosystems find in one folder.
fn detect_in<'a>(
    place: &ProjectFolder,
    ecosystems: impl Iterator<Item = &'a Ecosystem>,
) -> Findings {
    let mut all = Findings::default();
    for ecosystem in ecosystems {
        let findings = (ecosystem.detect)(place);
        all.checks.extend(findings.checks);
        all.setup.extend(findings.setup);
        all.setup_inputs.extend(findings.setup_inputs);
        all.cache.extend(findings.cache);
        all.notes.extend(findings.notes);
    }
    all.offers = linters::configured(place, &all.checks);
    all
}

/// Returns the folders one level down that have a manifest, each with its first one.
fn folders(top: &ProjectFolder, notes: &mut Vec<String>) -> Vec<(String, String)> {
    let mut found: BTreeMap<&str, &str> = BTreeMap::new();
    for path in &top.paths {
        let Some((folder, rest)) = path.split_once('/') else { continue };
        if MANIFESTS.contains(&rest) || (!rest.contains('/') && dotnet::is_manifest(rest)) {
            found.entry(folder).or_insert(rest);
        }
    }
    let is_hidden = |folder: &str| folder.starts_with('.');
    let mut folders = Vec::new();
    let mut too_many = Vec::new();
    for (folder, manifest) in found {
        if is_hidden(folder) || NO_PROJECTS.contains(&folder.to_ascii_lowercase().as_str()) {
            notes.push(format!("{folder}/ has a {manifest}, and was not searched"));
        } else if folders.len() == FOLDERS_MAX {
            too_many.push(folder);
        } else {
            folders.push((folder.to_owned(), manifest.to_owned()));
        }
    }
    if !too_many.is_empty() {
        let names = too_many.join("/, ");
        notes.push(format!("only {FOLDERS_MAX} folders are searched; not {names}/"));
    }
    folders
}

/// Returns all checks without those that another check runs anyway.
fn drop_wrapped_checks(places: &mut [(Findings, &str)]) -> Vec<DetectedCommand> {
    let mut all: Vec<(usize, DetectedCheck, String)> = Vec::new();
    for (index, (findings, folder)) in places.iter_mut().enumerate() {
        let checks = std::mem::take(&mut findings.checks);
        all.extend(checks.into_iter().map(|check| (index, check, (*folder).to_owned())));
    }
    let mut gone = BTreeSet::new();
    for at in (0..all.len()).rev() {
        let (index, check, folder) = &all[at];
        let by = all.iter().enumerate().find(|(other, (_, wrapper, around))| {
            *other != at
                && !gone.contains(other)
                && (around == folder || around.is_empty())
                && recipe_text::runs(&wrapper.does, &check.signs, seen_from(around, folder))
        });
        if let Some((_, (_, wrapper, around))) = by {
            let wrapper = wrapper.found.clone().below(around).command;
            let note = format!("`{}` was left out: `{wrapper}` runs it", check.found.command);
            places[*index].0.notes.push(note);
            gone.insert(at);
        }
    }
    let kept = all.into_iter().enumerate().filter(|(at, _)| !gone.contains(at));
    kept.map(|(_, (_, check, folder))| check.found.below(&folder)).collect()
}

/// Returns the folder in which a command has to be started to mean the same.
fn seen_from<'a>(around: &str, folder: &'a str) -> &'a str {
    if around == folder { "" } else { folder }
}

#[cfg(test)]
pub(crate) mod tests;
