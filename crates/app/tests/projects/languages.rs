//! The projects: for each language a tiny real one, and a change of it, first red and then green.
//!
//! The files of each are in one text: `== base PATH` is in the project, `== test PATH` is the new
//! test, `== red PATH` and `== green PATH` the code that it tests, wrong and right. None needs
//! the network: what is set up lies in the project itself.

/// One language.
pub(crate) struct Language {
    pub(crate) name: &'static str,
    /// A command that succeeds where the toolchain is there.
    pub(crate) toolchain: &'static [&'static str],
    text: &'static str,
    /// What `forge init` must find.
    pub(crate) setup: &'static [&'static str],
    pub(crate) checks: &'static [&'static str],
    pub(crate) cache: &'static [&'static str],
    /// The check that names every test, where the one that is found names only those that fail.
    pub(crate) naming: Option<&'static str>,
    /// What the task may write.
    pub(crate) writes: &'static [&'static str],
    /// The new test, as it is called where it fails and where it passes.
    pub(crate) test_name: &'static str,
}

/// Which files of a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Base,
    Test,
    Red,
    Green,
}

impl Part {
    fn word(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Test => "test",
            Self::Red => "red",
            Self::Green => "green",
        }
    }
}

impl Language {
    /// The files of these parts: where, and what is in them.
    pub(crate) fn files(&self, parts: &[Part]) -> Vec<(&'static str, &'static str)> {
        let mut found = Vec::new();
        for file in self.text.split("== ").skip(1) {
            let (head, content) = file.split_once('\n').unwrap();
            let (part, path) = head.split_once(' ').unwrap();
            if parts.iter().any(|wanted| wanted.word() == part) {
                found.push((path, content));
            }
        }
        assert!(!found.is_empty(), "{} has no {parts:?}", self.name);
        found
    }
}

pub(crate) const SH: Language = Language {
    name: "sh",
    toolchain: &["sh", "-c", ":"],
    text: include_str!("sh.txt"),
    setup: &[],
    checks: &["sh test.sh"],
    cache: &[],
    naming: None,
    writes: &["bin", "tests"],
    test_name: "says goodbye",
};

pub(crate) const PYTHON: Language = Language {
    name: "Python",
    toolchain: &["python3", "-c", "import venv, ensurepip, unittest"],
    text: include_str!("python.txt"),
    setup: &[],
    checks: &["python3 -m unittest discover -s tests"],
    cache: &[],
    naming: Some("python3 -m unittest discover -v -s tests"),
    writes: &["farewell.py", "tests"],
    test_name: "test_says_goodbye",
};

/// The same project, once it names what it needs.
pub(crate) const PYTHON_WITH_NEEDS: Language = Language {
    setup: &["python3 -m venv .venv && .venv/bin/python -m pip install -q -r requirements.txt"],
    checks: &[".venv/bin/python -m unittest discover -s tests"],
    cache: &[".venv"],
    ..PYTHON
};

pub(crate) const NODE: Language = Language {
    name: "Node",
    toolchain: &["npm", "--version"],
    text: include_str!("node.txt"),
    setup: &["npm ci"],
    checks: &["npm test"],
    cache: &["node_modules"],
    naming: None,
    writes: &["farewell.js", "test"],
    test_name: "says goodbye",
};

pub(crate) const RUST: Language = Language {
    name: "Rust",
    toolchain: &["cargo", "--version"],
    text: include_str!("rust.txt"),
    setup: &[],
    checks: &["cargo test"],
    cache: &["target"],
    naming: None,
    writes: &["src", "tests"],
    test_name: "says_goodbye",
};

pub(crate) const GO: Language = Language {
    name: "Go",
    toolchain: &["go", "version"],
    text: include_str!("go.txt"),
    setup: &[],
    checks: &["go vet ./...", "go test ./..."],
    cache: &[],
    naming: Some("go test -v ./..."),
    writes: &["farewell.go", "farewell_test.go"],
    test_name: "TestSaysGoodbye",
};
