//! .NET: `dotnet test` for each solution, or for each test project where there is no solution.

use super::project_folder::{Findings, ProjectFolder};
use crate::path_names::{base_name, quoted};

/// The most solutions or projects that are run one by one.
const PROJECTS_MAX: usize = 8;
const SIGNS: &[super::project_folder::CommandWords] = &[&["dotnet", "test"]];

pub(super) fn detect(place: &ProjectFolder) -> Findings {
    let mut findings = Findings::default();
    let solutions: Vec<&str> = place.file_names().filter(|name| is_solution(name)).collect();
    let projects: Vec<&str> = if solutions.is_empty() {
        place
            .own_paths()
            .filter(|path| is_project(path) && path.matches('/').count() <= 2)
            .collect()
    } else {
        solutions.clone()
    };
    let mut count = 0;
    for path in projects {
        if solutions.is_empty() && !place.file_contains(path, "Microsoft.NET.Test.Sdk") {
            continue;
        }
        count += 1;
        if count > PROJECTS_MAX {
            findings.add_note(format!("only {PROJECTS_MAX} projects are run; not {path}"));
            continue;
        }
        let name = quoted(path);
        let what = if solutions.is_empty() { "test project" } else { "solution" };
        let why = format!("{} is a {what}", base_name(path));
        findings.add_check(&format!("dotnet test {name}"), &why, path, SIGNS);
        findings.add_setup(&format!("dotnet restore {name}"), &why, path);
        findings.setup_inputs.push(path.to_owned());
    }
    if count > 0 {
        findings
            .add_setup_inputs(place, &["global.json", "nuget.config", "Directory.Packages.props"]);
    }
    findings
}

/// Tells whether the top takes care of a folder: it has a solution, or found the test projects.
pub(super) fn covers(top: &ProjectFolder, folder: &str) -> bool {
    let inside = format!("{folder}/");
    let has_solution = |path: &&str| path.strip_prefix(&inside).is_some_and(is_solution);
    top.file_names().any(is_solution) || !top.paths.iter().any(has_solution)
}

/// Tells whether a file makes its folder a .NET project.
pub(super) fn is_manifest(name: &str) -> bool {
    is_solution(name) || is_project(name)
}

fn is_solution(path: &str) -> bool {
    matches!(path.rsplit_once('.'), Some((_, "sln" | "slnx")))
}

fn is_project(path: &str) -> bool {
    matches!(path.rsplit_once('.'), Some((_, "csproj" | "fsproj" | "vbproj")))
}
