//! JavaScript: npm, pnpm, yarn and bun, with the scripts of `package.json`.
//!
//! A script that only says that there is none, that mends files, or that waits for changes is no
//! check. Members of a workspace belong to the top.

use serde_json::Value;

use super::place::{Part, Place, Sign};
use crate::path_names::{base_name, quoted};

const MANIFEST: &str = "package.json";
/// The most members of a workspace whose scripts are looked at.
const MEMBERS_MAX: usize = 100;
/// The most test files that are read to find out who runs them.
const TEST_FILES_MAX: usize = 20;

/// Lock files, the best known sign of the program that made them.
const LOCKS: &[(&str, Manager)] = &[
    ("pnpm-lock.yaml", Manager::Pnpm),
    ("yarn.lock", Manager::Yarn),
    ("bun.lock", Manager::Bun),
    ("bun.lockb", Manager::Bun),
    ("package-lock.json", Manager::Npm),
    ("npm-shrinkwrap.json", Manager::Npm),
];

/// What the scripts for one purpose are called, best first, and how others call them.
const SCRIPTS: &[(&[&str], &[Sign])] = &[
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
const RUNNERS: &[(&str, Sign)] = &[
    ("jest", &["jest"]),
    ("vitest", &["vitest"]),
    ("mocha", &["mocha"]),
    ("ava", &["ava"]),
    ("node --test", &["node", "--test"]),
];

/// The program that installs and runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manager {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}

pub(super) fn detect(place: &Place) -> Part {
    let mut part = Part::default();
    if !place.exists(MANIFEST) {
        return part;
    }
    let Some(package) = read(place, MANIFEST) else {
        part.note("package.json cannot be read as JSON");
        return part;
    };
    let (manager, lock) = manager(place, &package, &mut part);
    set_up(place, &package, manager, lock, &mut part);
    let members = members(place, &package);
    for (names, signs) in SCRIPTS {
        let own = names.iter().find_map(|name| Some((*name, script(&package, name)?)));
        if let Some((name, text)) = own {
            add(&package, manager, (name, text, signs), &mut part);
        } else if let Some((name, member)) = in_members(place, &members, names) {
            let why = format!("{member} has a script `{name}`, and the top has none");
            part.check(&manager.in_all(place, name), &why, MANIFEST, signs);
        }
    }
    if part.checks.is_empty() && members.is_empty() {
        without_scripts(place, manager, &mut part);
    }
    part
}

/// Folders that are members of the workspace at the top.
pub(super) fn covers(top: &Place, folder: &str) -> bool {
    let package = read(top, MANIFEST).unwrap_or_default();
    let manifest = format!("{folder}/{MANIFEST}");
    members(top, &package).contains(&manifest.as_str())
}

/// Adds a script as a check, if it is one.
fn add(
    package: &Value,
    manager: Manager,
    (name, text, signs): (&str, &str, &[Sign]),
    part: &mut Part,
) {
    if text.contains("no test specified") {
        return;
    }
    let mends = ["--fix", "--write"].iter().any(|option| has_word(text, option));
    if mends {
        part.note(format!("the script `{name}` changes files, so it is no check"));
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
            part.wrapping(&manager.run("test:ci"), why, MANIFEST, &signs, once.to_owned());
        } else {
            part.note(format!("the script `{name}` waits for changes, so it was left out"));
        }
        return;
    }
    let quiet = if has_word(text, "react-scripts") { "CI=true " } else { "" };
    let why = format!("package.json has a script `{name}`");
    let command = format!("{quiet}{}", manager.run(name));
    part.wrapping(&command, &why, MANIFEST, &signs, text.to_owned());
}

/// A package without a script may still have tests for a runner that needs none.
fn without_scripts(place: &Place, manager: Manager, part: &mut Part) {
    let tests = place.own().filter(|path| {
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
        (is("bun:test") || manager == Manager::Bun).then_some((path, "bun test", "bun:test"))
    });
    if let Some((path, command, module)) = found {
        part.check(command, &format!("{path} uses {module}"), path, &[&["node", "--test"]]);
    } else {
        part.note("package.json has no script `test`");
    }
}

fn set_up(place: &Place, package: &Value, manager: Manager, lock: Option<&str>, part: &mut Part) {
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
        (format!("{} install", manager.word()), why, MANIFEST)
    };
    part.set_up(&command, &why, file);
    part.inputs(place, &[MANIFEST, "pnpm-workspace.yaml", ".npmrc", ".yarnrc.yml"]);
    part.setup_inputs.extend(lock.map(str::to_owned));
    part.cache.push("node_modules".to_owned());
}

/// Who installs: the field `packageManager` wins over lock files.
fn manager(place: &Place, package: &Value, part: &mut Part) -> (Manager, Option<&'static str>) {
    let there: Vec<&(&'static str, Manager)> =
        LOCKS.iter().filter(|(lock, _)| place.exists(lock)).collect();
    let field = package.get("packageManager").and_then(Value::as_str).unwrap_or_default();
    let named = match field.split('@').next().unwrap_or_default() {
        "npm" => Some(Manager::Npm),
        "pnpm" => Some(Manager::Pnpm),
        "yarn" => Some(Manager::Yarn),
        "bun" => Some(Manager::Bun),
        _ => None,
    };
    let manager = named.or(there.first().map(|(_, manager)| *manager)).unwrap_or(Manager::Npm);
    let lock = there.iter().find(|(_, of)| *of == manager).map(|(lock, _)| *lock);
    for (other, _) in there.iter().filter(|(_, of)| *of != manager) {
        part.note(format!("{other} is there too; {} was chosen", manager.word()));
    }
    (manager, lock)
}

impl Manager {
    fn word(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pnpm => "pnpm",
            Self::Yarn => "yarn",
            Self::Bun => "bun",
        }
    }

    /// Runs a script of this package.
    fn run(self, name: &str) -> String {
        match (self, name) {
            (Self::Npm | Self::Pnpm, "test") => format!("{} test", self.word()),
            (Self::Npm | Self::Pnpm | Self::Yarn | Self::Bun, _) => {
                format!("{} run {name}", self.word())
            }
        }
    }

    /// Runs a script in all members of the workspace that have it.
    fn in_all(self, place: &Place, name: &str) -> String {
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

    fn install_locked(self, place: &Place, package: &Value) -> String {
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

/// The manifests of the members of a workspace.
fn members<'a>(place: &Place<'a>, package: &Value) -> Vec<&'a str> {
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
    let is_member = |folder: &str| {
        let is = |pattern: &String| is_match(pattern.trim_start_matches(['!']), folder);
        let (not, yes): (Vec<_>, Vec<_>) = patterns.iter().partition(|one| one.starts_with('!'));
        yes.into_iter().any(is) && !not.into_iter().any(is)
    };
    let manifests =
        place.own().filter_map(|path| Some((path, path.strip_suffix("/package.json")?)));
    let members = manifests.filter(|(_, folder)| is_member(folder));
    members.map(|(path, _)| path).take(MEMBERS_MAX).collect()
}

/// Whether a folder fits a pattern such as `packages/*` or `apps/**`.
fn is_match(pattern: &str, folder: &str) -> bool {
    let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
    if let Some(before) = pattern.strip_suffix("/**") {
        return folder.strip_prefix(before).is_some_and(|rest| rest.starts_with('/'));
    }
    let mut parts = pattern.split('/');
    let mut folders = folder.split('/');
    loop {
        match (parts.next(), folders.next()) {
            (None, None) => return true,
            (Some("*" | "**"), Some(_)) => {}
            (Some(part), Some(folder)) => {
                let (start, end) = part.split_once('*').unwrap_or((part, ""));
                let is_same = if part.contains('*') {
                    folder.len() >= start.len() + end.len()
                        && folder.starts_with(start)
                        && folder.ends_with(end)
                } else {
                    part == folder
                };
                if !is_same {
                    return false;
                }
            }
            (None, Some(_)) | (Some(_), None) => return false,
        }
    }
}

/// The first member that has one of these scripts.
fn in_members<'n>(place: &Place, members: &[&str], names: &[&'n str]) -> Option<(&'n str, String)> {
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

fn read(place: &Place, path: &str) -> Option<Value> {
    let text = place.read(path)?;
    serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()
}

fn has_word(text: &str, word: &str) -> bool {
    text.split_whitespace().any(|one| one == word)
}

/// Whether a script does not end by itself.
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
            assert_eq!(is_match(pattern, folder), expected, "{pattern} {folder}");
        }
    }
}
