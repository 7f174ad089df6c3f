//! Linters and type checks that a project configures. They are offered, and never run by themselves: not every project
//! keeps them clean.
//!
//! Not here: scripts and recipes that run them; those are checks already.

use super::{
    project_folder::{CommandWords, DetectedCheck, DetectedCommand, ProjectFolder},
    recipe_text,
};

/// A linter, by the files that configure it.
struct Linter {
    /// The command, or for a Python module what comes after `python -m`.
    command: &'static str,
    runs_as: RunsAs,
    /// How others call it.
    signs: &'static [CommandWords],
    /// Files, each with the words in it that count. No words: the file itself.
    configured_by: &'static [(&'static str, &'static str)],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RunsAs {
    Program,
    PythonModule,
}

const LINTERS: &[Linter] = &[
    Linter {
        command: "npx --no-install eslint .",
        runs_as: RunsAs::Program,
        signs: &[&["eslint"]],
        configured_by: &[
            ("eslint.config.js", ""),
            ("eslint.config.mjs", ""),
            ("eslint.config.cjs", ""),
            ("eslint.config.ts", ""),
            (".eslintrc", ""),
            (".eslintrc.js", ""),
            (".eslintrc.cjs", ""),
            (".eslintrc.json", ""),
            (".eslintrc.yml", ""),
            (".eslintrc.yaml", ""),
            ("package.json", "\"eslintConfig\""),
        ],
    },
    Linter {
        command: "npx --no-install tsc --noEmit",
        runs_as: RunsAs::Program,
        signs: &[&["tsc"], &["vue-tsc"]],
        configured_by: &[("tsconfig.json", "")],
    },
    Linter {
        command: "npx --no-install biome check .",
        runs_as: RunsAs::Program,
        signs: &[&["biome"]],
        configured_by: &[("biome.json", ""), ("biome.jsonc", "")],
    },
    Linter {
        command: "npx --no-install prettier --check .",
        runs_as: RunsAs::Program,
        signs: &[&["prettier"]],
        configured_by: &[
            (".prettierrc", ""),
            (".prettierrc.json", ""),
            (".prettierrc.yml", ""),
            (".prettierrc.yaml", ""),
            ("prettier.config.js", ""),
            ("prettier.config.mjs", ""),
        ],
    },
    Linter {
        command: "ruff check .",
        runs_as: RunsAs::PythonModule,
        signs: &[&["ruff"]],
        configured_by: &[("ruff.toml", ""), (".ruff.toml", ""), ("pyproject.toml", "[tool.ruff")],
    },
    Linter {
        command: "mypy .",
        runs_as: RunsAs::PythonModule,
        signs: &[&["mypy"]],
        configured_by: &[
            ("mypy.ini", ""),
            (".mypy.ini", ""),
            ("pyproject.toml", "[tool.mypy"),
            ("setup.cfg", "[mypy"),
            ("tox.ini", "mypy"),
        ],
    },
    Linter {
        command: "flake8",
        runs_as: RunsAs::PythonModule,
        signs: &[&["flake8"]],
        configured_by: &[(".flake8", ""), ("setup.cfg", "[flake8]"), ("tox.ini", "flake8")],
    },
    Linter {
        command: "pylint --recursive=y .",
        runs_as: RunsAs::PythonModule,
        signs: &[&["pylint"]],
        configured_by: &[(".pylintrc", ""), ("pylintrc", ""), ("pyproject.toml", "[tool.pylint")],
    },
    Linter {
        command: "black --check .",
        runs_as: RunsAs::PythonModule,
        signs: &[&["black"]],
        configured_by: &[("pyproject.toml", "[tool.black]")],
    },
    Linter {
        command: "pyright",
        runs_as: RunsAs::PythonModule,
        signs: &[&["pyright"]],
        configured_by: &[("pyrightconfig.json", ""), ("pyproject.toml", "[tool.pyright]")],
    },
    Linter {
        command: "cargo fmt --all --check",
        runs_as: RunsAs::Program,
        signs: &[&["cargo", "fmt"], &["rustfmt"]],
        configured_by: &[("rustfmt.toml", ""), (".rustfmt.toml", "")],
    },
    Linter {
        command: "cargo clippy --all-targets -- -D warnings",
        runs_as: RunsAs::Program,
        signs: &[&["cargo", "clippy"]],
        configured_by: &[
            ("clippy.toml", ""),
            (".clippy.toml", ""),
            ("Cargo.toml", "[lints.clippy]"),
            ("Cargo.toml", "[workspace.lints.clippy]"),
        ],
    },
    Linter {
        command: "golangci-lint run",
        runs_as: RunsAs::Program,
        signs: &[&["golangci-lint"]],
        configured_by: &[
            (".golangci.yml", ""),
            (".golangci.yaml", ""),
            (".golangci.toml", ""),
            (".golangci.json", ""),
        ],
    },
    Linter {
        command: "bundle exec rubocop",
        runs_as: RunsAs::Program,
        signs: &[&["rubocop"]],
        configured_by: &[(".rubocop.yml", "")],
    },
    Linter {
        command: "mix format --check-formatted",
        runs_as: RunsAs::Program,
        signs: &[&["mix", "format"]],
        configured_by: &[(".formatter.exs", "")],
    },
    Linter {
        command: "mix credo",
        runs_as: RunsAs::Program,
        signs: &[&["mix", "credo"]],
        configured_by: &[(".credo.exs", "")],
    },
];

/// Returns the linters that a folder configures and that none of its checks runs.
pub(super) fn configured(place: &ProjectFolder, checks: &[DetectedCheck]) -> Vec<DetectedCommand> {
    let python = checks.iter().find_map(|check| check.found.command.split_once(" -m "));
    let python = python.map_or("python3", |(program, _)| program);
    let is_sign = |(file, words): &&(&str, &str)| match *words {
        "" => place.exists(file),
        words => place.file_contains(file, words),
    };
    let mut offers = Vec::new();
    for linter in LINTERS {
        let Some((file, words)) = linter.configured_by.iter().find(is_sign) else { continue };
        let is_run = |check: &DetectedCheck| {
            recipe_text::runs(&check.does, linter.signs, "")
                || recipe_text::runs(&check.found.command, linter.signs, "")
        };
        if checks.iter().any(is_run) {
            continue;
        }
        let command = match linter.runs_as {
            RunsAs::Program => linter.command.to_owned(),
            RunsAs::PythonModule => format!("{python} -m {}", linter.command),
        };
        let why = match *words {
            "" => format!("there is a {file}"),
            words => format!("{file} has {words}"),
        };
        offers.push(DetectedCommand::new(&command, &why, file));
    }
    offers
}
