//! Which files guard a project: a change to one of them changes what green means.
//!
//! Only the path is looked at. Not here: whether a change weakens a test, see `tests_said`.
//!
//! Invariant: upper and lower case, `./` and doubled slashes make no difference.

use crate::path_names::base_name;

/// What a file guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Guard {
    /// A test, or what a test compares with.
    Test,
    /// What runs on a server after a push.
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

impl Guard {
    /// One word for people.
    pub fn word(self) -> &'static str {
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

/// What a file guards, if it guards something.
pub fn guarded(path: &str) -> Option<Guard> {
    let path = normal(path);
    let lower = path.to_lowercase();
    let folders: Vec<&str> =
        lower.rsplit_once('/').map_or("", |(folder, _)| folder).split('/').collect();
    let name = base_name(&lower);
    if let Some(rest) = lower.strip_prefix(".forge/") {
        let is_record = ["runs/", "knowledge/"].iter().any(|folder| rest.starts_with(folder));
        return (!is_record).then_some(Guard::Settings);
    }
    if matches!(lower.as_str(), "forge.toml" | "forge.local.toml" | ".forge") {
        Some(Guard::Settings)
    } else if is_ci(&lower, name, &folders) {
        Some(Guard::Ci)
    } else if LOCKS.contains(&name) {
        Some(Guard::Lock)
    } else if is_lint(name, &folders) {
        Some(Guard::Lint)
    } else if is_build(&lower, name, &folders) {
        Some(Guard::Build)
    } else if is_test(base_name(&path), name, &folders) {
        Some(Guard::Test)
    } else {
        None
    }
}

/// A path without detours.
fn normal(path: &str) -> String {
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

const CI_NAMES: &[&str] = &[
    ".appveyor.yml",
    ".cirrus.yml",
    ".codecov.yml",
    ".drone.yml",
    ".gitlab-ci.yaml",
    ".gitlab-ci.yml",
    ".travis.yml",
    ".woodpecker.yml",
    "appveyor.yml",
    "bitbucket-pipelines.yml",
    "cloudbuild.yaml",
    "cloudbuild.yml",
    "codecov.yml",
    "codeowners",
    "codemagic.yaml",
    "wercker.yml",
];

const CI_FOLDERS: &[&str] = &[
    ".azure-pipelines",
    ".buildkite",
    ".circleci",
    ".dagger",
    ".semaphore",
    ".teamcity",
    ".woodpecker",
];

fn is_ci(lower: &str, name: &str, folders: &[&str]) -> bool {
    let starts = [
        ".github/workflows/",
        ".github/actions/",
        ".gitlab/ci/",
        ".gitea/workflows/",
        ".forgejo/workflows/",
    ];
    starts.iter().any(|start| lower.starts_with(start))
        || CI_NAMES.contains(&name)
        || name.starts_with("jenkinsfile")
        || name.starts_with("azure-pipelines")
        || folders.iter().any(|folder| CI_FOLDERS.contains(folder))
}

const LOCKS: &[&str] = &[
    "bun.lock",
    "bun.lockb",
    "cargo.lock",
    "composer.lock",
    "conda-lock.yml",
    "deno.lock",
    "flake.lock",
    "gemfile.lock",
    "go.sum",
    "go.work.sum",
    "gradle.lockfile",
    "mix.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "package.resolved",
    "packages.lock.json",
    "pdm.lock",
    "pipfile.lock",
    "pixi.lock",
    "pnpm-lock.yaml",
    "podfile.lock",
    "poetry.lock",
    "pubspec.lock",
    "pylock.toml",
    "uv.lock",
    "yarn.lock",
];

const LINT_NAMES: &[&str] = &[
    ".bandit",
    ".clang-format",
    ".clang-tidy",
    ".clippy.toml",
    ".coveragerc",
    ".credo.exs",
    ".editorconfig",
    ".flake8",
    ".formatter.exs",
    ".hadolint.yaml",
    ".isort.cfg",
    ".mypy.ini",
    ".pre-commit-config.yaml",
    ".pylintrc",
    ".rubocop.yml",
    ".ruff.toml",
    ".rustfmt.toml",
    ".shellcheckrc",
    ".swiftlint.yml",
    "checkstyle.xml",
    "clippy.toml",
    "deny.toml",
    "dprint.json",
    "lefthook.yml",
    "lefthook.yaml",
    "mypy.ini",
    "phpcs.xml",
    "phpstan.neon",
    "pmd.xml",
    "psalm.xml",
    "pylintrc",
    "pyrightconfig.json",
    "ruff.toml",
    "rustfmt.toml",
    "sonar-project.properties",
    "tslint.json",
    "typos.toml",
];

/// Names that go on in many ways, such as `.eslintrc.cjs`.
const LINT_STARTS: &[&str] = &[
    ".commitlintrc",
    ".eslintignore",
    ".eslintrc",
    ".golangci.",
    ".lintstagedrc",
    ".markdownlint",
    ".oxlintrc",
    ".prettierignore",
    ".prettierrc",
    ".rubocop_",
    ".stylelintrc",
    ".yamllint",
    "biome.json",
    "commitlint.config.",
    "detekt.",
    "eslint.config.",
    "lint-staged.config.",
    "prettier.config.",
    "spotbugs",
    "stylelint.config.",
    "xo.config.",
];

fn is_lint(name: &str, folders: &[&str]) -> bool {
    LINT_NAMES.contains(&name)
        || LINT_STARTS.iter().any(|start| name.starts_with(start))
        || (name.starts_with("tsconfig") && name.contains(".json"))
        || name == "jsconfig.json"
        || folders.iter().any(|folder| matches!(*folder, ".husky" | ".githooks"))
}

const BUILD_NAMES: &[&str] = &[
    ".babelrc",
    ".bazelrc",
    ".gitmodules",
    ".justfile",
    ".node-version",
    ".npmrc",
    ".nvmrc",
    ".pytest.ini",
    ".python-version",
    ".rspec",
    ".ruby-version",
    ".tool-versions",
    ".yarnrc",
    ".yarnrc.yml",
    "angular.json",
    "build",
    "build.bazel",
    "build.rs",
    "build.xml",
    "build.zig",
    "cargo.toml",
    "cmakelists.txt",
    "composer.json",
    "configure.ac",
    "conftest.py",
    "deno.json",
    "deno.jsonc",
    "directory.build.props",
    "directory.build.targets",
    "directory.packages.props",
    "gemfile",
    "global.json",
    "go.mod",
    "go.work",
    "gradle.properties",
    "gradlew",
    "gradlew.bat",
    "junit-platform.properties",
    "lerna.json",
    "mage.go",
    "magefile.go",
    "meson.build",
    "mix.exs",
    "module.bazel",
    "mvnw",
    "mvnw.cmd",
    "noxfile.py",
    "nuget.config",
    "nx.json",
    "package.json",
    "package.swift",
    "pipfile",
    "pnpm-workspace.yaml",
    "pom.xml",
    "pyproject.toml",
    "pytest.ini",
    "rakefile",
    "run-tests.sh",
    "run_tests.py",
    "run_tests.sh",
    "runtests.py",
    "runtests.sh",
    "rust-toolchain",
    "rust-toolchain.toml",
    "setup.cfg",
    "setup.py",
    "shard.yml",
    "sitecustomize.py",
    "taskfile.yaml",
    "taskfile.yml",
    "test.sh",
    "testng.xml",
    "tests.sh",
    "tox.ini",
    "turbo.json",
    "usercustomize.py",
    "workspace",
];

/// Names that go on in many ways, such as `jest.config.ts`.
const BUILD_STARTS: &[&str] = &[
    ".mocharc",
    ".nycrc",
    ".swcrc",
    "ava.config.",
    "babel.config.",
    "build.gradle",
    "compose.",
    "cypress.config.",
    "docker-compose",
    "dockerfile",
    "gnumakefile",
    "jest.config.",
    "jest.setup.",
    "justfile",
    "karma.conf.",
    "makefile",
    "phpunit.xml",
    "playwright.config.",
    "requirements",
    "rollup.config.",
    "settings.gradle",
    "setuptests.",
    "vite.config.",
    "vitest.config.",
    "vitest.setup.",
    "vitest.workspace.",
    "webpack.config.",
];

const BUILD_ENDINGS: &[&str] =
    &["csproj", "fsproj", "gemspec", "just", "mk", "runsettings", "sln", "slnx", "vbproj"];

fn is_build(lower: &str, name: &str, folders: &[&str]) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let last = folders.last().copied().unwrap_or_default();
    let is_requirements = name.starts_with("requirements") || last == "requirements";
    let is_written = matches!(extension, "md" | "rst" | "adoc");
    let starts = BUILD_STARTS.iter().filter(|start| **start != "requirements");
    let is_script = matches!(last, "script" | "scripts" | "bin" | "ci" | "tools" | "hack")
        && ["test", "check", "lint", "verify", "ci"].iter().any(|word| {
            let stem = name.split('.').next().unwrap_or_default();
            stem.split(['-', '_']).any(|part| part == *word || part == format!("{word}s"))
        });
    BUILD_NAMES.contains(&name)
        || BUILD_ENDINGS.contains(&extension)
        || (!is_written && starts.into_iter().any(|start| name.starts_with(start)))
        || (is_requirements && matches!(extension, "txt" | "in"))
        || (is_script && !is_written)
        || matches!(lower, "tests/run.sh" | "test/run.sh")
        || lower.starts_with("gradle/wrapper/")
        || (folders.contains(&".cargo") && name.starts_with("config"))
        || (last == ".config" && name == "nextest.toml")
        || folders.contains(&".mvn")
        || folders.contains(&"buildsrc")
}

const TEST_FOLDERS: &[&str] = &[
    "__fixtures__",
    "__mocks__",
    "__snapshots__",
    "__tests__",
    "androidtest",
    "cypress",
    "e2e",
    "integrationtest",
    "snapshots",
    "spec",
    "specs",
    "test",
    "testdata",
    "testfixtures",
    "testing",
    "tests",
];

fn is_test(name: &str, lower: &str, folders: &[&str]) -> bool {
    folders.iter().any(|folder| is_test_folder(folder)) || is_test_name(name, lower)
}

fn is_test_folder(folder: &str) -> bool {
    let last = folder.rsplit(['.', '-', '_']).next().unwrap_or_default();
    TEST_FOLDERS.contains(&folder) || matches!(last, "test" | "tests" | "specs" | "testdata")
}

fn is_test_name(name: &str, lower: &str) -> bool {
    let (stem, extension) = lower.rsplit_once('.').unwrap_or((lower, ""));
    if matches!(extension, "snap" | "bats" | "feature" | "t" | "golden" | "approved") {
        return true;
    }
    if lower.ends_with(".snap.new") {
        return true;
    }
    // A plan or a report about tests is not a test.
    if matches!(extension, "md" | "rst" | "adoc" | "txt" | "") {
        return false;
    }
    let is_word = |part: &str| matches!(part, "test" | "tests" | "spec" | "specs" | "unittest");
    let mut parts = stem.split(['.', '-', '_']);
    let first = parts.next().unwrap_or_default();
    if matches!(first, "test" | "tests") || is_word(parts.next_back().unwrap_or(first)) {
        return true;
    }
    if parts.next_back().is_some_and(is_word) && matches!(extension, "ts" | "js" | "snap") {
        return true;
    }
    is_camel_test(name)
}

/// `UserTest.java`, `UserTests.cs`, `TestUser.java`, `UserSpec.scala`, but not `Latest.java`.
fn is_camel_test(name: &str) -> bool {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let camel =
        ["java", "kt", "kts", "scala", "groovy", "cs", "fs", "vb", "swift", "php", "hs", "dart"];
    if !camel.contains(&extension.to_ascii_lowercase().as_str()) {
        return false;
    }
    let is_shouted = !stem.chars().any(char::is_lowercase);
    let endings = ["Test", "Tests", "TestCase", "Spec", "Specs", "IT"];
    endings.iter().any(|end| stem.ends_with(end))
        || (is_shouted && ["TEST", "TESTS", "SPEC"].iter().any(|end| stem.ends_with(end)))
        || stem.strip_prefix("Test").is_some_and(|rest| rest.starts_with(char::is_uppercase))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[(Option<Guard>, &[&str])] = &[
        (
            Some(Guard::Settings),
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
            Some(Guard::Ci),
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
            Some(Guard::Lint),
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
            Some(Guard::Lock),
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
            Some(Guard::Build),
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
            ],
        ),
        (
            Some(Guard::Test),
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
    fn each_file_guards_what_it_should() {
        for (expected, paths) in TABLE {
            for path in *paths {
                assert_eq!(guarded(path), *expected, "{path}");
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
            let guard = guarded(&path);
            assert_eq!(guard, guarded(&format!("./{path}")), "{path}");
            assert!(guard.is_none_or(|guard| !guard.word().is_empty()));
        }
    }
}
