//! Files that guard a project: a change to one of them changes what a green check means.
//!
//! The table is data, `protected_files.toml`; only the path counts. Not here: whether a change
//! weakens a test, see `test_weakening`.
//!
//! Invariant: upper and lower case, `./` and doubled slashes make no difference.

use std::sync::LazyLock;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex::RegexSet;
use serde::Deserialize;

const TABLE: &str = include_str!("protected_files.toml");

/// The purpose of a protected file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProtectedKind {
    /// A test, or what a test compares with.
    Test,
    /// Configuration of servers that run after a push.
    Ci,
    /// The rules of a linter, a formatter or a type checker.
    Lint,
    /// The exact versions of dependencies.
    Lock,
    /// The settings of Forge.
    Settings,
    /// What the checks do: build files, test set-ups, scripts.
    Build,
}

impl ProtectedKind {
    /// Returns the word that people read.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Ci => "ci",
            Self::Lint => "lint",
            Self::Lock => "lock",
            Self::Settings => "settings",
            Self::Build => "build",
        }
    }
}

/// Returns why a file is protected; nothing for a file that is free to change.
pub fn protected_kind(path: &str) -> Option<ProtectedKind> {
    static GROUPS: LazyLock<Vec<Group>> = LazyLock::new(shipped_groups);
    let path = normalized(path);
    let lower = path.to_lowercase();
    GROUPS.iter().find(|group| group.fits(&path, &lower))?.kind
}

/// One group of the table, as it is written.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct GroupText {
    kind: Option<ProtectedKind>,
    names: Vec<String>,
    folders: Vec<String>,
    paths: Vec<String>,
    patterns: Vec<String>,
    cased_patterns: Vec<String>,
    except: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupTable {
    group: Vec<GroupText>,
}

/// One group of the table, ready to match.
struct Group {
    kind: Option<ProtectedKind>,
    globs: GlobSet,
    patterns: RegexSet,
    cased_patterns: RegexSet,
    except: GlobSet,
}

impl Group {
    fn new(text: &GroupText) -> Result<Self, Box<dyn std::error::Error>> {
        let by_name = |names: &[String]| -> Vec<String> {
            names.iter().map(|name| format!("**/{name}")).collect()
        };
        let mut globs = by_name(&text.names);
        globs.extend(text.folders.iter().map(|folder| format!("**/{folder}/**")));
        globs.extend_from_slice(&text.paths);
        Ok(Self {
            kind: text.kind,
            globs: glob_set(&globs)?,
            patterns: RegexSet::new(&text.patterns)?,
            cased_patterns: RegexSet::new(&text.cased_patterns)?,
            except: glob_set(&by_name(&text.except))?,
        })
    }

    fn fits(&self, path: &str, lower: &str) -> bool {
        let is_listed = self.globs.is_match(lower)
            || self.patterns.is_match(lower)
            || self.cased_patterns.is_match(path);
        is_listed && !self.except.is_match(lower)
    }
}

fn shipped_groups() -> Vec<Group> {
    let table: GroupTable =
        toml::from_str(TABLE).expect("our own table of protected files is TOML");
    let groups: Result<Vec<Group>, _> = table.group.iter().map(Group::new).collect();
    groups.expect("our own table of protected files has valid patterns")
}

fn glob_set(globs: &[String]) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        set.add(GlobBuilder::new(glob).literal_separator(true).build()?);
    }
    set.build()
}

/// Returns a path without empty parts, `.` and `..`.
fn normalized(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: &[(Option<ProtectedKind>, &[&str])] = &[
        (
            Some(ProtectedKind::Settings),
            &[
                "forge.toml",
                "./FORGE.toml",
                "x/../forge.toml",
                ".forge/flows/a.toml",
                ".Forge//roles/x.md",
                ".forge/instructions.md",
                ".forge/tests/a.py",
                "forge.local.toml",
            ],
        ),
        (
            Some(ProtectedKind::Ci),
            &[
                ".github/workflows/ci.yml",
                ".GitHub/Workflows/CI.yml",
                ".github/actions/x/action.yml",
                ".gitlab-ci.yml",
                ".circleci/config.yml",
                "Jenkinsfile",
                "Jenkinsfile.release",
                "azure-pipelines.yml",
                ".buildkite/pipeline.yml",
                ".github/CODEOWNERS",
            ],
        ),
        (
            Some(ProtectedKind::Lint),
            &[
                ".eslintrc",
                ".eslintrc.cjs",
                "web/eslint.config.mjs",
                "clippy.toml",
                "rustfmt.toml",
                ".editorconfig",
                "ruff.toml",
                ".flake8",
                ".pre-commit-config.yaml",
                ".husky/pre-commit",
                "tsconfig.json",
                "web/tsconfig.build.json",
                ".golangci.yml",
            ],
        ),
        (
            Some(ProtectedKind::Lock),
            &[
                "Cargo.lock",
                "web/package-lock.json",
                "go.sum",
                "uv.lock",
                "bun.lockb",
                "Gemfile.lock",
            ],
        ),
        (
            Some(ProtectedKind::Build),
            &[
                "Makefile",
                "GNUmakefile",
                "makefile.am",
                "justfile",
                "package.json",
                "web/package.json",
                "tests/conftest.py",
                "pyproject.toml",
                "Cargo.toml",
                "crates/a/build.rs",
                ".cargo/config.toml",
                ".config/nextest.toml",
                "build.gradle.kts",
                "pom.xml",
                "jest.config.ts",
                "test.sh",
                "scripts/run-tests",
                "scripts/ci.sh",
                "tests/run.sh",
                "requirements-dev.txt",
                "requirements/dev.txt",
                "App.csproj",
                "Dockerfile.test",
                "rules.mk",
                ".gitattributes",
                "web/.gitignore",
                "node_modules/.bin/node",
                ".venv/lib/python3/site-packages/unittest.py",
            ],
        ),
        (
            Some(ProtectedKind::Test),
            &[
                "tests/a.rs",
                "crates/a/tests/b.rs",
                "src/tests.rs",
                "test/data.json",
                "spec/a_spec.rb",
                "src/__tests__/a.tsx",
                "a/b_test.go",
                "test_x.py",
                "x_test.py",
                "app/tests.py",
                "src/a.test.ts",
                "src/a.spec.jsx",
                "src/a.test.d.ts",
                "src/UserTest.java",
                "src/USERTEST.JAVA",
                "TestUser.kt",
                "App.Tests/Unit.cs",
                "src/snapshots/a.snap",
                "parser/expected/list.json",
                "fixtures/users.json",
                "golden/out.bin",
                "cmd/goldens/help.out",
                "a/b.snap",
                "x.bats",
                "features/login.feature",
                "t/basic.t",
                "TESTS/A.RS",
            ],
        ),
        (
            None,
            &[
                "",
                "src/main.rs",
                "README.md",
                "src/Latest.java",
                "src/Contest.java",
                "src/latest.ts",
                "src/attestation.py",
                "docs/test_plan.md",
                ".forge/runs/x/summary.md",
                ".forge/knowledge/tests/a.md",
                "src/protest.rs",
                "examples/forge.toml",
                "docs/requirements.md",
                "src/makefile.md",
                "inspect.py",
                "src/specific.ts",
            ],
        ),
    ];

    #[test]
    fn each_path_has_its_kind() {
        for (expected, paths) in PATHS {
            for path in *paths {
                assert_eq!(protected_kind(path), *expected, "{path}");
            }
        }
    }

    #[test]
    fn any_path_has_an_answer() {
        let mut chance = crate::detect::tests::Chance(3);
        let pieces =
            ["/", ".", "test", "_", "É", "Test", ".java", "..", ".forge", "\\", "\0", "md"];
        for _ in 0..5000 {
            let path: String =
                (0..chance.below(9)).map(|_| pieces[chance.below(pieces.len())]).collect();
            let kind = protected_kind(&path);
            assert_eq!(kind, protected_kind(&format!("./{path}")), "{path}");
            assert!(kind.is_none_or(|kind| !kind.as_str().is_empty()));
        }
    }
}
