//! Which crate may use which, and what the core may use of others.

use std::{
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{TokenStream, TokenTree};

use super::source::Crate;

/// Which crate may use which.
const ALLOWED: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("keeper", &[]),
    ("agents", &["core", "keeper"]),
    ("workspace", &[]),
    ("store", &["core"]),
    ("project", &["core", "agents", "keeper", "workspace"]),
    ("hosts", &[]),
    ("driver", &["core", "keeper", "agents", "workspace", "store", "project"]),
    ("api", &["core", "keeper", "agents", "workspace", "store", "project", "hosts", "driver"]),
    ("app", &["core", "api"]),
    ("scripted-model", &[]),
    ("benchmark", &["core", "keeper", "agents", "store"]),
    ("fuzz", &["core", "keeper", "agents", "store", "project"]),
];

/// Crates that may use only some modules of another: the user, the used one, and the modules.
const ONLY: &[(&str, &str, &[&str])] = &[("agents", "forge_core", &["result", "routing"])];

/// Crates that the tests of any crate but the core may use.
const FOR_TESTS: &[&str] = &["fuzz", "scripted-model", "store"];

/// Packages that the core may use.
const CORE_MAY_USE: &[&str] = &["schemars", "serde", "thiserror", "toml"];

/// What the tests of the core may use besides.
const CORE_TESTS_MAY_USE: &[&str] = &["serde_json", "insta"];

/// What is wrong with the manifests of all crates.
pub(super) fn manifests(root: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    let entries = fs::read_dir(root.join("crates")).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    if folders.is_empty() {
        problems.push("there are no crates".to_owned());
    }
    for folder in folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        if !ALLOWED.iter().any(|(known, _)| *known == name) {
            problems.push(format!("{name}: say in `tidy` which crates it may use"));
        }
        let path = folder.join("Cargo.toml");
        match fs::read_to_string(&path) {
            Ok(text) => problems.extend(wrong_arrows(&name, &text)),
            Err(error) => problems.push(format!("{}: {error}", path.display())),
        }
    }
    problems
}

/// Arrows of one crate that point the wrong way.
fn wrong_arrows(name: &str, manifest: &str) -> Vec<String> {
    let Ok(manifest) = manifest.parse::<toml::Table>() else {
        return vec![format!("{name}: its manifest cannot be read")];
    };
    let allowed = ALLOWED.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, may)| *may);
    let mut wrong = Vec::new();
    for (kind, used) in used(&manifest) {
        let by_core = match kind {
            Kind::Code => CORE_MAY_USE.contains(&used.as_str()),
            Kind::Tests => CORE_TESTS_MAY_USE.contains(&used.as_str()),
        };
        let for_tests = |other: &str| matches!(kind, Kind::Tests) && FOR_TESTS.contains(&other);
        match used.strip_prefix("forge-") {
            Some(other) if name != "core" && for_tests(other) => {}
            Some(other) if !allowed.contains(&other) => wrong.push(format!("{name} -> {other}")),
            None if name == "core" && !by_core => {
                wrong.push(format!("core -> {used} (the law takes nothing that does IO)"));
            }
            Some(_) | None => {}
        }
    }
    wrong
}

/// The part of a crate that needs a dependency.
#[derive(Clone, Copy)]
enum Kind {
    /// The crate itself, or the program that builds it.
    Code,
    /// Its tests and examples.
    Tests,
}

/// All that a manifest uses, for any platform, by the true name of the package.
fn used(manifest: &toml::Table) -> Vec<(Kind, String)> {
    let platforms = manifest.get("target").and_then(toml::Value::as_table);
    let platforms = platforms.into_iter().flat_map(toml::Table::values);
    let tables = [manifest].into_iter().chain(platforms.filter_map(toml::Value::as_table));
    let mut used = Vec::new();
    for table in tables {
        for (key, kind) in [
            ("dependencies", Kind::Code),
            ("build-dependencies", Kind::Code),
            ("dev-dependencies", Kind::Tests),
        ] {
            let names = table.get(key).and_then(toml::Value::as_table);
            for (name, how) in names.into_iter().flatten() {
                let package = how.get("package").and_then(toml::Value::as_str);
                used.push((kind, package.unwrap_or(name).to_owned()));
            }
        }
    }
    used
}

/// Paths into another crate past the modules of it that a crate may use.
pub(super) fn past_the_allowed_module(all: &Crate) -> Vec<String> {
    let mut wrong = Vec::new();
    for (user, used, modules) in ONLY.iter().filter(|(user, ..)| *user == all.name) {
        for file in all.production() {
            let tokens = file.text.parse::<TokenStream>().unwrap_or_default();
            let shown = file.path.display();
            let names = first_names(tokens, used).into_iter();
            let names = names.filter(|name| !modules.contains(&name.as_str()));
            wrong.extend(names.map(|name| {
                let modules = modules.join(", ");
                format!("{user}: {shown} uses {used}::{name}; only {modules} is for it")
            }));
        }
    }
    wrong
}

/// The names that follow `used::` directly, also in a group.
fn first_names(tokens: TokenStream, used: &str) -> Vec<String> {
    let mut names = Vec::new();
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in all.iter().enumerate() {
        match token {
            TokenTree::Group(group) => names.extend(first_names(group.stream(), used)),
            TokenTree::Ident(name) if name == used => match all.get(at + 3) {
                Some(TokenTree::Group(group)) => names.extend(names_of_group(group.stream())),
                Some(next) => names.push(next.to_string()),
                None => {}
            },
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    names
}

/// The first name of each member of `{a::b, c::{d, e}}`.
fn names_of_group(tokens: TokenStream) -> Vec<String> {
    let mut is_first = true;
    let mut names = Vec::new();
    for token in tokens {
        if matches!(&token, TokenTree::Punct(mark) if mark.as_char() == ',') {
            is_first = true;
        } else if is_first {
            names.push(token.to_string());
            is_first = false;
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{repository::root, tidy::source};

    #[test]
    fn arrows_point_the_right_way_and_a_wrong_one_is_seen() {
        let wrong =
            "[dependencies]\nserde = \"1\"\nforge-driver = { path = \"x\" }\nrusqlite = \"1\"";
        assert_eq!(
            wrong_arrows("core", wrong),
            ["core -> driver", "core -> rusqlite (the law takes nothing that does IO)"]
        );
        assert_eq!(wrong_arrows("app", "[dependencies]\nforge-agents = \"1\""), ["app -> agents"]);
        assert_eq!(wrong_arrows("driver", "[dependencies]\nforge-core = \"1\""), [] as [&str; 0]);
    }

    #[test]
    fn only_tests_may_use_the_scripted_model() {
        let used_in = |table: &str| format!("[{table}]\nforge-scripted-model = \"1\"");
        assert_eq!(wrong_arrows("app", &used_in("dev-dependencies")), [] as [&str; 0]);
        for table in ["dependencies", "build-dependencies"] {
            assert_eq!(wrong_arrows("app", &used_in(table)), ["app -> scripted-model"]);
        }
        assert_eq!(
            wrong_arrows("core", &used_in("dev-dependencies")),
            ["core -> scripted-model"],
            "the law has no models"
        );
    }

    #[test]
    fn no_table_of_a_manifest_is_overlooked() {
        let io = |name: &str| format!("core -> {name} (the law takes nothing that does IO)");
        for table in ["build-dependencies", "target.'cfg(unix)'.dependencies", "dev-dependencies"] {
            let planted = format!("[{table}]\ntempfile = \"3\"\nforge-app = \"1\"");
            let mut wrong = wrong_arrows("core", &planted);
            wrong.sort();
            assert_eq!(wrong, ["core -> app".to_owned(), io("tempfile")], "{table}");
        }
        let tests = "[dev-dependencies]\nserde_json = \"1\"\ninsta = \"1\"\nserde = \"1\"";
        assert_eq!(wrong_arrows("core", tests), [io("serde")]);
        assert_eq!(wrong_arrows("core", "[dependencies]\nserde_json = \"1\""), [io("serde_json")]);
        let renamed = "[dependencies]\nserde = { package = \"rusqlite\", version = \"1\" }";
        assert_eq!(wrong_arrows("core", renamed), [io("rusqlite")]);
    }

    #[test]
    fn the_manifests_of_this_repository_are_in_order() {
        assert_eq!(manifests(&root()), [] as [&str; 0]);
        assert_eq!(manifests(Path::new("/nowhere")), ["there are no crates"]);
    }

    #[test]
    fn a_crate_that_may_use_one_module_of_another_uses_no_other() {
        let crate_of = |name: &str, text: &str| Crate {
            name: name.to_owned(),
            folder: PathBuf::new(),
            files: source::parse(vec![("lib.rs".into(), text.to_owned())]).unwrap(),
        };
        let fine = "use forge_core::result::Finding; fn f() { forge_core::result::parse() }";
        assert_eq!(past_the_allowed_module(&crate_of("agents", fine)), [] as [&str; 0]);
        let wrong = "use forge_core::{result::{A, B}, run::Run}; fn f() { forge_core::decide() }";
        let said = |name: &str| {
            format!("agents: lib.rs uses forge_core::{name}; only result, routing is for it")
        };
        assert_eq!(
            past_the_allowed_module(&crate_of("agents", wrong)),
            ["run", "decide"].map(said)
        );
        assert_eq!(past_the_allowed_module(&crate_of("driver", wrong)), [] as [&str; 0]);
    }
}
