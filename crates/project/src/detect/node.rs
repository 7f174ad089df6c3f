//! JavaScript: npm, pnpm, yarn and bun, with the scripts of `package.json`.
//!
//! A script that only says that there is none, that fixes files, or that waits for changes is not
//! a check. Members of a workspace belong to the top.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde_json::Value;

use super::project_folder::{CommandWords, Findings, ProjectFolder};
use crate::path_names::{base_name, quoted};

const MANIFEST: &str = "package.json";
/// The most members of a workspace whose scripts are looked at.
const MEMBERS_MAX: usize = 100;
/// The most test files that are read to find their runner.
const TEST_FILES_MAX: usize = 20;

/// Lock files, the best known sign of the program that made them.
const LOCKS: &[(&str, PackageTool)] = &[
    ("pnpm-lock.yaml", PackageTool::Pnpm),
    ("yarn.lock", PackageTool::Yarn),
    ("bun.lock", PackageTool::Bun),
    ("bun.lockb", PackageTool::Bun),
    ("package-lock.json", PackageTool::Npm),
    ("npm-shrinkwrap.json", PackageTool::Npm),
];

/// Names of the scripts for one purpose, best first, and how others call them.
const SCRIPTS: &[(&[&str], &[CommandWords])] = &[
    (
        &["test"],
        &[&["npm", "test"], &["npm", "t"], &["pnpm", "test"], &["yarn", "test"], &["bun", "test"]],
    ),
    (&["lint"], &[&["npm", "lint"], &["pnpm", "lint"], &["yarn", "lint"], &["bun", "lint"]]),
    (
        &["typecheck", "type-check", "check-types"],
        &[&["npm", "typecheck"], &["pnpm", "typecheck"], &["yarn", "typecheck"]],
    ),
];

/// Test programs that others may start without the script.
const RUNNERS: &[(&str, CommandWords)] = &[
    ("jest", &["jest"]),
    ("vitest", &["vitest"]),
    ("mocha", &["mocha"]),
    ("ava", &["ava"]),
    ("node --test", &["node", "--test"]),
];

/// The program that installs and runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PackageTool {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}

pub(super) fn detect(place: &ProjectFolder) -> Findings {
    let mut findings = Findings::default();
    if !place.exists(MANIFEST) {
        return findings;
    }
    let Some(package) = read(place, MANIFEST) else {
        findings.add_note("package.json cannot be read as JSON");
        return findings;
    };
    let (manager, lock) = manager(place, &package, &mut findings);
    set_up(place, &package, manager, lock, &mut findings);
    let members = members(place, &package);
    for (names, signs) in SCRIPTS {
        let own = names.iter().find_map(|name| Some((*name, script(&package, name)?)));
        if let Some((name, text)) = own {
            add(&package, manager, (name, text, signs), &mut findings);
        } else if let Some((name, member)) = in_members(place, &members, names) {
            let why = format!("{member} has a script `{name}`, and the top has none");
            findings.add_check(&manager.in_all(place, name), &why, MANIFEST, signs);
        }
    }
    if findings.checks.is_empty() && members.is_empty() {
        without_scripts(place, manager, &mut findings);
    }
    findings
}

/// Tells whether a folder is a member of the workspace at the top.
pub(super) fn covers(top: &ProjectFolder, folder: &str) -> bool {
    let package = read(top, MANIFEST).unwrap_or_default();
    let manifest = format!("{folder}/{MANIFEST}");
    members(top, &package).contains(&manifest.as_str())
}

/// Adds a script as a check, if it is one.
fn add(
    package: &Value,
    manager: PackageTool,
    (name, text, signs): (&str, &str, &[CommandWords]),
    findings: &mut Findings,
) {
    if text.contains("no test specified") {
        return;
    }
    let fixes = ["--fix", "--write"].iter().any(|option| has_word(text, option));
    if fixes {
        findings.add_note(format!("the script `{name}` changes files, so it is not a check"));
        return;
    }
    let mut signs = signs.to_vec();
    if name == "test" {
        signs.extend(
            RUNNERS.iter().filter(|(words, _)| text.contains(words)).map(|(_, sign)| *sign),
        );
    }
    if waits(text) {
        if let Some(once) = script(package, "test:ci").filter(|_| name == "test") {
            let why = "package.json has a script `test:ci`, and `test` waits for changes";
            findings.add_wrapping_check(
                &manager.run("test:ci"),
                why,
                MANIFEST,
                &signs,
                once.to_owned(),
            );
        } else {
            findings.add_note(format!("the script `{name}` waits for changes, so it was left out"));
        }
        return;
    }
    let quiet = if has_word(text, "react-scripts") { "CI=true " } else { "" };
    let why = format!("package.json has a script `{name}`");
    let command = format!("{quiet}{}", manager.run(name));
    findings.add_wrapping_check(&command, &why, MANIFEST, &signs, text.to_owned());
}

/// Adds the check of a package without scripts whose tests are for a runner that needs none.
fn without_scripts(place: &ProjectFolder, manager: PackageTool, findings: &mut Findings) {
    let tests = place.own_paths().filter(|path| {
        let name = base_name(path);
        [".test.", ".spec."].iter().any(|mark| name.contains(mark)) || path.starts_with("test/")
    });
    let mut tests = tests.filter(|path| path.ends_with("js") || path.ends_with("ts"));
    let found = tests.by_ref().take(TEST_FILES_MAX).find_map(|path| {
        let text = place.read(path)?;
        let is = |name: &str| {
            text.contains(&format!("\"{name}\"")) || text.contains(&format!("'{name}'"))
        };
        if is("node:test") {
            let is_plain = !path.ends_with("ts");
            return is_plain.then_some((path, "node --test", "node:test"));
        }
        (is("bun:test") || manager == PackageTool::Bun).then_some((path, "bun test", "bun:test"))
    });
    if let Some((path, command, module)) = found {
        findings.add_check(command, &format!("{path} uses {module}"), path, &[&["node", "--test"]]);
    } else {
        findings.add_note("package.json has no script `test`");
    }
}

fn set_up(
    place: &ProjectFolder,
    package: &Value,
    manager: PackageTool,
    lock: Option<&str>,
    findings: &mut Findings,
) {
    let kinds = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];
    let has = |kind: &&str| {
        package.get(kind).and_then(Value::as_object).is_some_and(|names| !names.is_empty())
    };
    let has_members = package.get("workspaces").is_some() || place.exists("pnpm-workspace.yaml");
    if !kinds.iter().any(has) && !has_members {
        return;
    }
    let (command, why, file) = if let Some(lock) = lock {
        (manager.install_locked(place, package), format!("there is a {lock}"), lock)
    } else {
        let why = "package.json names dependencies, and nothing locks them".to_owned();
        (format!("{} install", manager.as_str()), why, MANIFEST)
    };
    findings.add_setup(&command, &why, file);
    findings.add_setup_inputs(place, &[MANIFEST, "pnpm-workspace.yaml", ".npmrc", ".yarnrc.yml"]);
    findings.setup_inputs.extend(lock.map(str::to_owned));
    findings.cache.push("node_modules".to_owned());
}

/// Returns the package tool: the field `packageManager` wins over lock files.
fn manager(
    place: &ProjectFolder,
    package: &Value,
    findings: &mut Findings,
) -> (PackageTool, Option<&'static str>) {
    let there: Vec<&(&'static str, PackageTool)> =
        LOCKS.iter().filter(|(lock, _)| place.exists(lock)).collect();
    let field = package.get("packageManager").and_then(Value::as_str).unwrap_or_default();
    let named = match field.split('@').next().unwrap_or_default() {
        "npm" => Some(PackageTool::Npm),
        "pnpm" => Some(PackageTool::Pnpm),
        "yarn" => Some(PackageTool::Yarn),
        "bun" => Some(PackageTool::Bun),
        _ => None,
    };
    let manager = named.or(there.first().map(|(_, manager)| *manager)).unwrap_or(PackageTool::Npm);
    let lock = there.iter().find(|(_, of)| *of == manager).map(|(lock, _)| *lock);
    for (other, _) in there.iter().filter(|(_, of)| *of != manager) {
        findings.add_note(format!("{other} is there too; {} was chosen", manager.as_str()));
    }
    (manager, lock)
}

impl PackageTool {
    fn as_str(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pnpm => "pnpm",
            Self::Yarn => "yarn",
            Self::Bun => "bun",
        }
    }

    /// Returns the command that runs a script of this package.
    fn run(self, name: &str) -> String {
        match (self, name) {
            (Self::Npm | Self::Pnpm, "test") => format!("{} test", self.as_str()),
            (Self::Npm | Self::Pnpm | Self::Yarn | Self::Bun, _) => {
                format!("{} run {name}", self.as_str())
            }
        }
    }

    /// Returns the command that runs a script in all members of the workspace that have it.
    fn in_all(self, place: &ProjectFolder, name: &str) -> String {
        match self {
            Self::Npm => format!("npm run {name} --workspaces --if-present"),
            Self::Pnpm => format!("pnpm -r --if-present run {name}"),
            Self::Yarn if place.exists(".yarnrc.yml") => {
                format!("yarn workspaces foreach --all run {name}")
            }
            Self::Yarn => format!("yarn workspaces run {name}"),
            Self::Bun => format!("bun run --filter '*' {name}"),
        }
    }

    fn install_locked(self, place: &ProjectFolder, package: &Value) -> String {
        let field = package.get("packageManager").and_then(Value::as_str).unwrap_or_default();
        let is_old = !place.exists(".yarnrc.yml") && !is_new_yarn(field);
        match self {
            Self::Npm => "npm ci".to_owned(),
            Self::Pnpm => "pnpm install --frozen-lockfile".to_owned(),
            Self::Yarn if is_old => "yarn install --frozen-lockfile".to_owned(),
            Self::Yarn => "yarn install --immutable".to_owned(),
            Self::Bun => "bun install --frozen-lockfile".to_owned(),
        }
    }
}

fn is_new_yarn(field: &str) -> bool {
    let version = field.strip_prefix("yarn@").unwrap_or_default();
    version.split('.').next().and_then(|major| major.parse::<u32>().ok()).is_some_and(|n| n >= 2)
}

/// Returns the manifests of the members of a workspace.
fn members<'a>(place: &ProjectFolder<'a>, package: &Value) -> Vec<&'a str> {
    let mut patterns: Vec<String> = Vec::new();
    let listed = package.get("workspaces");
    let listed = listed.and_then(|value| value.get("packages").or(Some(value)));
    let names = listed.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    patterns.extend(names.map(str::to_owned));
    let yaml = place.read("pnpm-workspace.yaml").unwrap_or_default();
    let after = yaml.lines().skip_while(|line| line.trim_end() != "packages:").skip(1);
    let items = after.map_while(|line| {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Some("");
        }
        line.strip_prefix('-').map(|item| item.trim().trim_matches(['"', '\'']))
    });
    patterns.extend(items.filter(|item| !item.is_empty()).map(str::to_owned));
    if patterns.is_empty() {
        return Vec::new();
    }
    let (not, yes): (Vec<&str>, Vec<&str>) =
        patterns.iter().map(String::as_str).partition(|one| one.starts_with('!'));
    let (not, yes) = (folder_globs(&not), folder_globs(&yes));
    let is_member = |folder: &str| yes.is_match(folder) && !not.is_match(folder);
    let manifests =
        place.own_paths().filter_map(|path| Some((path, path.strip_suffix("/package.json")?)));
    let members = manifests.filter(|(_, folder)| is_member(folder));
    members.map(|(path, _)| path).take(MEMBERS_MAX).collect()
}

/// Compiles patterns such as `packages/*` or `!apps/**`. One that is not valid matches nothing.
fn folder_globs(patterns: &[&str]) -> GlobSet {
    let mut globs = GlobSetBuilder::new();
    for pattern in patterns {
        let pattern =
            pattern.trim_start_matches('!').trim_start_matches("./").trim_end_matches('/');
        if let Ok(glob) = GlobBuilder::new(pattern).literal_separator(true).build() {
            globs.add(glob);
        }
    }
    globs.build().unwrap_or_default()
}

/// Returns the first member that has one of these scripts.
fn in_members<'n>(
    place: &ProjectFolder,
    members: &[&str],
    names: &[&'n str],
) -> Option<(&'n str, String)> {
    members.iter().find_map(|path| {
        let package = read(place, path)?;
        let name = names.iter().find(|name| {
            script(&package, name).is_some_and(|text| !text.contains("no test specified"))
        })?;
        Some((*name, quoted(path)))
    })
}

fn script<'v>(package: &'v Value, name: &str) -> Option<&'v str> {
    package.get("scripts")?.get(name)?.as_str().filter(|text| !text.trim().is_empty())
}

fn read(place: &ProjectFolder, path: &str) -> Option<Value> {
    let text = place.read(path)?;
    serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()
}

fn has_word(text: &str, word: &str) -> bool {
    text.split_whitespace().any(|one| one == word)
}

/// Tells whether a script does not end by itself.
fn waits(text: &str) -> bool {
    ["--watch", "--watchAll", "-w"].iter().any(|option| has_word(text, option))
        || text.trim() == "vitest watch"
        || has_word(text, "nodemon")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspace_patterns_match_folders() {
        for (pattern, folder, expected) in [
            ("packages/*", "packages/a", true),
            ("packages/*", "packages/a/b", false),
            ("packages/*", "packages", false),
            ("packages/**", "packages/a/b", true),
            ("./web/", "web", true),
            ("pkg-*", "pkg-a", true),
            ("pkg-*", "other", false),
            ("a*a", "a", false),
            ("*", "web", true),
        ] {
            assert_eq!(folder_globs(&[pattern]).is_match(folder), expected, "{pattern} {folder}");
        }
    }
}
