//! Tests of detection: small repositories as tables of files.

use std::collections::BTreeMap;

use super::{project_folder::FILE_BYTES_MAX, *};
use crate::path_names::quoted;

/// Chance that is the same each time.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let high = usize::try_from(self.0 >> 33).unwrap();
        high.checked_rem(most).unwrap_or(0)
    }
}

/// A repository in memory.
struct Tree(BTreeMap<String, String>);

impl ProjectFiles for Tree {
    fn exists(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }
    fn read(&self, path: &str) -> Option<String> {
        self.0.get(path).cloned()
    }
    fn list(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }
}

fn tree(files: &[(&str, &str)]) -> Tree {
    Tree(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
}

fn found(files: &[(&str, &str)]) -> DetectedProject {
    let tree = tree(files);
    let project = detect(&tree);
    hold(&project, &tree);
    project
}

/// Asserts the properties of every detected project.
fn hold(project: &DetectedProject, tree: &Tree) {
    for found in project.verify.iter().chain(&project.setup).chain(&project.offers) {
        assert!(tree.exists(&found.file), "{found:?}");
        assert!(!found.why.is_empty() && !found.why.contains('\n'), "{found:?}");
        assert!(!found.command.contains('\n'), "{found:?}");
    }
    for path in &project.setup_inputs {
        assert!(tree.exists(path), "{path}");
    }
}

fn commands(found: &[DetectedCommand]) -> Vec<&str> {
    found.iter().map(|found| found.command.as_str()).collect()
}

const PACKAGE: &str = "[package]\nname = \"a\"\n";
const SOME_JS: &str = r#"{"scripts":{"test":"jest"},"devDependencies":{"jest":"1"}}"#;

/// Files, then the checks, then the setup.
type Row =
    (&'static [(&'static str, &'static str)], &'static [&'static str], &'static [&'static str]);

fn check(rows: &[Row]) {
    for (files, verify, setup) in rows {
        let project = found(files);
        assert_eq!(commands(&project.verify), *verify, "{files:?} {:?}", project.notes);
        assert_eq!(commands(&project.setup), *setup, "{files:?}");
    }
}

#[test]
fn linters_that_are_configured_are_offered_and_are_no_checks() {
    const PACKAGE: (&str, &str) =
        ("package.json", r#"{"scripts": {"test": "jest", "lint": "eslint ."}}"#);
    const TOX: &str = "[pytest]\n[testenv:types]\ncommands = mypy src\n[flake8]\n";
    for (files, offers) in [
        (
            &[("Cargo.toml", "[package]\nname = \"a\""), ("rustfmt.toml", "")][..],
            &["cargo fmt --all --check"][..],
        ),
        (&[("go.mod", "module a"), (".golangci.yml", "")], &["golangci-lint run"]),
        (
            &[("setup.py", ""), ("tox.ini", TOX)],
            &[".venv/bin/python -m mypy .", ".venv/bin/python -m flake8"],
        ),
        (
            &[PACKAGE, ("eslint.config.js", ""), ("tsconfig.json", "{}")],
            &["npx --no-install tsc --noEmit"],
        ),
        (
            &[("web/package.json", "{}"), ("web/.eslintrc", "")],
            &["cd web && npx --no-install eslint ."],
        ),
        (&[("Makefile", "test:\n\tmypy src\n"), ("mypy.ini", "")], &[]),
        (&[("README.md", "")], &[]),
    ] {
        let project = found(files);
        assert_eq!(commands(&project.offers), offers);
        let is_check =
            |offer: &DetectedCommand| commands(&project.verify).contains(&offer.command.as_str());
        assert!(!project.offers.iter().any(is_check), "{project:?}");
    }
}

#[test]
fn rust_is_found() {
    check(&[
        (&[("Cargo.toml", PACKAGE), ("Cargo.lock", "")], &["cargo test"], &[]),
        (&[("Cargo.toml", PACKAGE)], &["cargo test"], &["cargo fetch"]),
        (
            &[
                ("Cargo.toml", "[workspace]\nmembers=[\"a\"]\nexclude=[\"b\"]"),
                ("Cargo.lock", "[[package]]\nsource = \"registry\"\n"),
                ("a/Cargo.toml", PACKAGE),
                ("b/Cargo.toml", PACKAGE),
                ("b/Cargo.lock", ""),
                ("c/Cargo.toml", "[workspace]\n[package]"),
                ("c/Cargo.lock", ""),
            ],
            &["cargo test --workspace", "cd b && cargo test", "cd c && cargo test --workspace"],
            &["cargo fetch --locked"],
        ),
        (&[("Cargo.toml", "[")], &[], &[]),
    ]);
    let files = &[("Cargo.toml", PACKAGE), (".cargo/config.toml", "[build]\ntarget-dir = \"out\"")];
    assert_eq!(found(files).cache, ["out"]);
}

#[test]
fn node_is_found_by_lock_file_and_field() {
    check(&[
        (&[("package.json", SOME_JS)], &["npm test"], &["npm install"]),
        (&[("package.json", SOME_JS), ("package-lock.json", "")], &["npm test"], &["npm ci"]),
        (
            &[("package.json", SOME_JS), ("pnpm-lock.yaml", "")],
            &["pnpm test"],
            &["pnpm install --frozen-lockfile"],
        ),
        (
            &[("package.json", SOME_JS), ("yarn.lock", "")],
            &["yarn run test"],
            &["yarn install --frozen-lockfile"],
        ),
        (
            &[("package.json", SOME_JS), ("yarn.lock", ""), (".yarnrc.yml", "")],
            &["yarn run test"],
            &["yarn install --immutable"],
        ),
        (
            &[("package.json", SOME_JS), ("bun.lock", "")],
            &["bun run test"],
            &["bun install --frozen-lockfile"],
        ),
        (
            &[
                (
                    "package.json",
                    r#"{"packageManager":"yarn@4.1.0","scripts":{"test":"x"},"dependencies":{"a":"1"}}"#,
                ),
                ("package-lock.json", ""),
                ("yarn.lock", ""),
            ],
            &["yarn run test"],
            &["yarn install --immutable"],
        ),
        (&[("package.json", r#"{"scripts":{"test":"node --test"}}"#)], &["npm test"], &[]),
        (
            &[(
                "package.json",
                r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#,
            )],
            &[],
            &[],
        ),
        (
            &[("package.json", r#"{"scripts":{"test":"a","lint":"b","type-check":"c"}}"#)],
            &["npm test", "npm run lint", "npm run type-check"],
            &[],
        ),
        (
            &[("package.json", r#"{"scripts":{"test":"npm run lint && jest","lint":"eslint"}}"#)],
            &["npm test"],
            &[],
        ),
        (&[("package.json", r#"{"scripts":{"lint":"eslint --fix ."}}"#)], &[], &[]),
        (
            &[("package.json", r#"{"scripts":{"test":"jest --watch","test:ci":"jest"}}"#)],
            &["npm run test:ci"],
            &[],
        ),
        (
            &[("package.json", r#"{"scripts":{"test":"react-scripts test"}}"#)],
            &["CI=true npm test"],
            &[],
        ),
        (
            &[("package.json", "{}"), ("a.test.mjs", "import t from 'node:test'")],
            &["node --test"],
            &[],
        ),
        (&[("package.json", "\u{feff}{\"scripts\":{\"test\":\"x\"}}")], &["npm test"], &[]),
        (&[("package.json", "{\"scripts\": 3}")], &[], &[]),
        (&[("package.json", "[1")], &[], &[]),
    ]);
    let project = found(&[("package.json", SOME_JS), ("package-lock.json", "")]);
    assert_eq!(project.setup_inputs, ["package.json", "package-lock.json"]);
    assert_eq!(project.cache, ["node_modules"]);
    assert_eq!(project.notes, ["`node_modules` will be created, and no .gitignore names it"]);
}

#[test]
fn members_of_a_node_workspace_belong_to_the_top() {
    const TOP: &str = r#"{"workspaces":["packages/*","web"]}"#;
    check(&[
        (
            &[
                ("package.json", TOP),
                ("packages/a/package.json", SOME_JS),
                ("web/package.json", SOME_JS),
            ],
            &["npm run test --workspaces --if-present"],
            &["npm install"],
        ),
        (
            &[
                ("package.json", r#"{"scripts":{"test":"turbo test"}}"#),
                (
                    "pnpm-workspace.yaml",
                    "packages:\n  # all\n  - 'web'\n  - \"!web/x\"\nother: 1\n",
                ),
                ("pnpm-lock.yaml", ""),
                ("web/package.json", SOME_JS),
                ("alone/package.json", SOME_JS),
            ],
            &["pnpm test", "cd alone && npm test"],
            &["pnpm install --frozen-lockfile", "cd alone && npm install"],
        ),
    ]);
}

#[test]
fn python_is_found() {
    check(&[
        (&[("pytest.ini", ""), ("tests/test_a.py", "")], &["python3 -m pytest"], &[]),
        (
            &[
                ("pyproject.toml", "[tool.pytest.ini_options]\n[project]\nname='a'"),
                ("uv.lock", ""),
            ],
            &["uv run python -m pytest"],
            &["uv sync"],
        ),
        (
            &[
                ("pyproject.toml", "[tool.poetry]\nname='a'"),
                ("poetry.lock", ""),
                ("conftest.py", ""),
            ],
            &["poetry run python -m pytest"],
            &["poetry install"],
        ),
        (
            &[("requirements.txt", "flask\n"), ("test_a.py", "import pytest\n")],
            &[".venv/bin/python -m pytest"],
            &[
                "python3 -m venv .venv && .venv/bin/python -m pip install -q -r requirements.txt pytest",
            ],
        ),
        (
            &[
                (
                    "pyproject.toml",
                    "[project]\nname='a'\n[project.optional-dependencies]\ntest=['pytest']",
                ),
                ("tests/test_a.py", "def test_a(): pass"),
            ],
            &[".venv/bin/python -m pytest"],
            &["python3 -m venv .venv && .venv/bin/python -m pip install -q -e '.[test]'"],
        ),
        (&[("tox.ini", "[tox]\n"), ("a.py", "")], &["tox"], &[]),
        (&[("tox.ini", "[tox]\n[pytest]\n")], &["python3 -m pytest"], &[]),
        (&[("setup.cfg", "[tool:pytest]\n")], &["python3 -m pytest"], &[]),
        (&[("noxfile.py", "import nox")], &["nox"], &[]),
        (&[("test_a.py", "import unittest\n")], &["python3 -m unittest discover"], &[]),
        (
            &[("tests/__init__.py", ""), ("tests/test_a.py", "from unittest import TestCase\n")],
            &["python3 -m unittest discover"],
            &[],
        ),
        (
            &[("tests/test_a.py", "import os, unittest\n")],
            &["python3 -m unittest discover -s tests"],
            &[],
        ),
        (
            &[("my tests/a_test.py", "import unittest\n")],
            &["python3 -m unittest discover -s 'my tests' -p '*_test.py'"],
            &[],
        ),
        (&[("test_a.py", "def test_a():\n  pass")], &["python3 -m pytest"], &[]),
        (&[("pyproject.toml", "[tool.black]\n")], &[], &[]),
        (&[("pyproject.toml", "= broken"), ("pytest.ini", "")], &["python3 -m pytest"], &[]),
        (&[("main.py", "")], &[], &[]),
    ]);
    let project = found(&[("tox.ini", "[pytest]")]);
    assert!(project.notes.iter().any(|note| note.contains("chosen over `tox`")), "{project:?}");
}

#[test]
fn other_languages_are_found() {
    check(&[
        (&[("go.mod", ""), ("a_test.go", "")], &["go vet ./...", "go test ./..."], &[]),
        (&[("go.mod", ""), ("go.sum", "")], &["go vet ./..."], &["go mod download"]),
        (&[("go.mod", ""), ("go.sum", ""), ("vendor/modules.txt", "")], &["go vet ./..."], &[]),
        (&[("pom.xml", "")], &["mvn -B test"], &[]),
        (
            &[("pom.xml", "<module>core</module>"), ("mvnw", ""), ("core/pom.xml", "")],
            &["./mvnw -B test"],
            &[],
        ),
        (
            &[
                ("settings.gradle.kts", "include(\":app\")"),
                ("gradlew", ""),
                ("app/build.gradle", ""),
            ],
            &["./gradlew test"],
            &[],
        ),
        (
            &[("My App.sln", ""), ("src/A.csproj", "Microsoft.NET.Test.Sdk")],
            &["dotnet test 'My App.sln'"],
            &["dotnet restore 'My App.sln'"],
        ),
        (
            &[("tests/T/T.csproj", "Microsoft.NET.Test.Sdk"), ("src/A/A.csproj", "")],
            &["dotnet test tests/T/T.csproj"],
            &["dotnet restore tests/T/T.csproj"],
        ),
        (
            &[("Gemfile", "gem 'rspec'"), ("spec/a_spec.rb", "")],
            &["bundle exec rspec"],
            &["bundle install"],
        ),
        (&[("Rakefile", "Rake::TestTask.new")], &["rake test"], &[]),
        (&[("Rakefile", "# task :test\ntask :testing")], &[], &[]),
        (
            &[("Gemfile", ""), ("bin/rails", ""), ("test/a_test.rb", ""), ("Rakefile", "")],
            &["bin/rails test"],
            &["bundle install"],
        ),
        (
            &[("mix.exs", "defp deps, do: [{:a, \"1\"}]"), ("test/a_test.exs", "")],
            &["mix test"],
            &["mix deps.get"],
        ),
        (
            &[("deno.jsonc", "{ // x\n\"tasks\": {\"test\": \"deno test -A\",},}")],
            &["deno task test"],
            &[],
        ),
        (&[("deno.json", "{}"), ("a_test.ts", "")], &["deno test"], &[]),
        (&[("README.md", "")], &[], &[]),
        (&[], &[], &[]),
    ]);
}

#[test]
fn plain_scripts_are_found() {
    check(&[
        (&[("test.sh", "#!/bin/bash\n")], &["bash test.sh"], &[]),
        (&[("tests/run.sh", "")], &["sh tests/run.sh"], &[]),
        (&[("run-tests.sh", "#!/usr/bin/env python3\n")], &["./run-tests.sh"], &[]),
        (&[("tests/a.bats", "")], &["bats tests"], &[]),
        (&[("test/x/a.bats", "")], &["bats -r test"], &[]),
        (&[("tests/a.sh", ""), ("Cargo.toml", PACKAGE), ("Cargo.lock", "")], &["cargo test"], &[]),
        (
            &[("tests/a.sh", "#!/bin/bash"), ("tests/lib.sh", "")],
            &["r=0; for t in tests/*.sh; do case \"$t\" in tests/lib.sh) continue;; esac; \
               echo \"== $t\"; bash \"$t\" || r=1; done; [ $r = 0 ]"],
            &[],
        ),
        (&[("tests/lib.sh", "")], &[], &[]),
    ]);
}

#[test]
fn what_wraps_a_test_command_wins_over_it() {
    const CARGO: (&str, &str) = ("Cargo.toml", PACKAGE);
    const LOCK: (&str, &str) = ("Cargo.lock", "");
    check(&[
        (&[CARGO, LOCK, ("Makefile", "test:\n\tcargo test\n")], &["make test"], &[]),
        (&[CARGO, LOCK, ("Makefile", "test:\n\t$(CARGO) +nightly test\n")], &["make test"], &[]),
        (
            &[CARGO, LOCK, ("Makefile", "C=cargo\ntest: unit\nunit:\n\t@$C test\n\t@$(C) test")],
            &["make test"],
            &[],
        ),
        (&[CARGO, LOCK, ("Makefile", "test:\n\t./other\n")], &["make test", "cargo test"], &[]),
        (&[CARGO, LOCK, ("Makefile", "build:\n\tcargo build\n")], &["cargo test"], &[]),
        (
            &[CARGO, LOCK, ("Makefile", "check: lint test\nlint:\n\tx\ntest:\n\tcargo test\n")],
            &["make check"],
            &[],
        ),
        (
            &[CARGO, LOCK, ("Makefile", "check:\n\tcargo clippy\ntest:\n\tcargo test\n")],
            &["make check", "make test"],
            &[],
        ),
        (
            &[
                CARGO,
                LOCK,
                ("justfile", "test:\n  make test\n"),
                ("Makefile", "test:\n\tcargo test\n"),
            ],
            &["just test"],
            &[],
        ),
        (&[CARGO, LOCK, ("justfile", "test a:\n  cargo test\n")], &["cargo test"], &[]),
        (
            &[
                CARGO,
                LOCK,
                ("Makefile", "test:\n\t./scripts/t.sh\n"),
                ("scripts/t.sh", "cargo test"),
            ],
            &["make test"],
            &[],
        ),
        (
            &[CARGO, LOCK, ("Makefile", "include a.mk\n"), ("a.mk", "test:\n\tcargo test\n")],
            &["make test"],
            &[],
        ),
        (&[CARGO, LOCK, ("test.sh", "set -e\ncargo test\n")], &["sh test.sh"], &[]),
        (
            &[CARGO, LOCK, ("Makefile", "test:\n\tcargo test\n"), ("test/x", "")],
            &["cargo test"],
            &[],
        ),
        (
            &[CARGO, LOCK, ("Makefile", ".PHONY: test\ntest:\n\tcargo test\n"), ("test/x", "")],
            &["make test"],
            &[],
        ),
        (&[("Makefile", "a: b\nb: a test\ntest: a\n")], &["make test"], &[]),
        (
            &[
                ("Makefile", "test:\n\tcd web && npm test\n"),
                ("web/package.json", SOME_JS),
                ("api/package.json", SOME_JS),
            ],
            &["make test", "cd api && npm test"],
            &["cd api && npm install", "cd web && npm install"],
        ),
        (
            &[("Makefile", "test:\n\tcd web && npm test\n"), ("package.json", SOME_JS)],
            &["make test", "npm test"],
            &["npm install"],
        ),
    ]);
    let project = found(&[CARGO, LOCK, ("Makefile", "test:\n\tcargo test\n")]);
    let note = "`cargo test` was left out: `make test` runs it";
    assert!(project.notes.iter().any(|one| one == note), "{project:?}");
    assert_eq!(project.verify[0].file, "Makefile");
}

#[test]
fn several_ecosystems_are_all_found() {
    let project = found(&[
        ("Cargo.toml", PACKAGE),
        ("package.json", SOME_JS),
        ("go.mod", ""),
        ("api/pytest.ini", ""),
        (".gitignore", "/target\nnode_modules/\n"),
    ]);
    assert_eq!(
        commands(&project.verify),
        ["cargo test", "npm test", "go vet ./...", "cd api && python3 -m pytest"]
    );
    assert_eq!(project.verify[3].file, "api/pytest.ini");
    assert_eq!(project.cache, ["target", "node_modules"]);
    assert!(!project.notes.iter().any(|note| note.contains(".gitignore")), "{project:?}");
}

#[test]
fn folders_are_looked_at_up_to_a_limit_and_examples_never() {
    let names: Vec<String> = (0..11).map(|n| format!("p{n:02}/go.mod")).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    files.extend([("examples/go.mod", ""), (".hidden/go.mod", "")]);
    let project = found(&files);
    assert_eq!(project.verify.len(), FOLDERS_MAX);
    assert!(
        project.notes.contains(&"only 8 folders are searched; not p08/, p09/, p10/".to_owned())
    );
    assert!(project.notes.contains(&"examples/ has a go.mod, and was not searched".to_owned()));
}

#[test]
fn names_are_quoted_so_that_a_shell_reads_them_back() {
    for name in ["a b", "a'b", "$(touch x)", "a\"b", "-n", "a;b", "ü", "`x`", "a\\b", "*"] {
        let said = std::process::Command::new("sh")
            .args(["-c", &format!("printf %s {}", quoted(name))])
            .output()
            .unwrap();
        let back = String::from_utf8(said.stdout).unwrap();
        assert_eq!(
            back.strip_prefix("./").filter(|_| name.starts_with('-')).unwrap_or(&back),
            name
        );
    }
    let path = "$(rm -rf x)'s/go.mod";
    assert_eq!(commands(&found(&[(path, "")]).verify), [r"cd '$(rm -rf x)'\''s' && go vet ./..."]);
    let project = found(&[("a\nb/go.mod", ""), ("../go.mod", ""), ("/go.mod", "")]);
    assert_eq!(project.verify, []);
    assert_eq!(project.notes, ["3 files have names that no command can use"]);
}

#[test]
fn hostile_content_gives_an_answer() {
    let manifests = MANIFESTS.iter().copied().chain([
        ".gitignore",
        "test.sh",
        "tests/a.sh",
        "a.sln",
        "tests/test_a.py",
        "pnpm-workspace.yaml",
        "Cargo.lock",
        ".cargo/config.toml",
        "web/package.json",
        "web/Cargo.toml",
    ]);
    let manifests: Vec<&str> = manifests.collect();
    let deep_json = "[".repeat(5_000);
    let deep_object = "{\"a\":".repeat(5_000);
    let deep_toml = format!("a = {}", "[".repeat(5_000));
    let huge = "test: test\n\tcargo test\n".repeat(50_000);
    let circle = "test:\n\tmake check\ncheck:\n\tmake test\n".repeat(100);
    let variable = format!("A=$(A)$(B)\nB=$(A)$(B)\ntest:\n\t{}\n", "$(A)".repeat(5000));
    let keys = format!("[{}]", "a.".repeat(5_000));
    for text in [&deep_json, &deep_object, &deep_toml, &huge, &circle, &variable, &keys] {
        let files: Vec<(&str, &str)> =
            manifests.iter().map(|path| (*path, text.as_str())).collect();
        found(&files);
    }
    let mut chance = Chance(11);
    let pieces = [
        "{",
        "}",
        "[",
        "]",
        "\"test\"",
        ":",
        "\n",
        "\t",
        "test",
        "cargo test",
        "=",
        "scripts",
        "$(",
        "é",
        "'",
        "\\",
        "#",
        "workspace",
        "-",
        "check",
        "\u{0}",
        "make",
        "`",
        "packages:",
        "*",
    ];
    for _ in 0..150 {
        let mut tree = Tree(BTreeMap::new());
        for _ in 0..chance.below(8) {
            let path = manifests[chance.below(manifests.len())];
            let text: String =
                (0..chance.below(60)).map(|_| pieces[chance.below(pieces.len())]).collect();
            tree.0.insert(path.to_owned(), text);
        }
        hold(&detect(&tree), &tree);
    }
}

#[test]
fn a_file_that_is_listed_but_cannot_be_read_is_no_harm() {
    struct Unreadable;
    impl ProjectFiles for Unreadable {
        fn exists(&self, _: &str) -> bool {
            true
        }
        fn read(&self, _: &str) -> Option<String> {
            None
        }
        fn list(&self) -> Vec<String> {
            MANIFESTS.iter().map(|path| (*path).to_owned()).collect()
        }
    }
    let project = detect(&Unreadable);
    assert!(
        project.notes.contains(&"package.json cannot be read as JSON".to_owned()),
        "{project:?}"
    );
}

#[test]
fn a_file_that_is_too_large_is_not_looked_into() {
    let mut makefile = "test:\n\tx\n".to_owned();
    makefile.push_str(&" ".repeat(FILE_BYTES_MAX - makefile.len()));
    assert_eq!(commands(&found(&[("Makefile", &makefile)]).verify), ["make test"]);
    makefile.push(' ');
    let project = found(&[("Makefile", &makefile)]);
    assert_eq!(project.verify, []);
    assert_eq!(project.notes, ["Makefile cannot be read"]);
}

#[test]
fn a_folder_does_not_stand_in_for_its_neighbour() {
    let files = [("web/Makefile", "test:\n\tcd api && npm test\n"), ("api/package.json", SOME_JS)];
    assert_eq!(commands(&found(&files).verify), ["cd api && npm test", "cd web && make test"]);
}

#[test]
fn notes_have_a_limit() {
    let names: Vec<String> = (0..60).map(|n| format!(".h{n}/go.mod")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    let notes = found(&files).notes;
    assert_eq!(notes.len(), NOTES_MAX + 1);
    assert_eq!(notes.last().unwrap(), "20 more notes were left out");
}
