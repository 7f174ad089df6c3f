//! Which files guard the project: tests, CI, lint and build files, and what its checks name.

use forge_project::{
    protected_files::{ProtectedKind, protected_kind},
    settings::Frozen,
};

/// What a file guards: by what it is, or because a check or the set-up of the run names it.
pub(super) fn guard_of(path: &str, frozen: &Frozen) -> Option<ProtectedKind> {
    let mut commands = frozen.verify.commands.iter().chain(&frozen.setup);
    protected_kind(path)
        .or_else(|| commands.any(|command| names(command, path)).then_some(ProtectedKind::Build))
}

/// Whether files of this kind take part in the checks.
pub(super) fn takes_part(kind: ProtectedKind) -> bool {
    match kind {
        ProtectedKind::Test | ProtectedKind::Build | ProtectedKind::Lint | ProtectedKind::Lock => {
            true
        }
        ProtectedKind::Ci | ProtectedKind::Settings => false,
    }
}

/// Returns the first part of a path if a check or the set-up says the same word: a new module `unittest.py` is run
/// instead of the runner, and a new folder `test` keeps `make test` from running anything.
pub(super) fn shadowing<'p>(path: &'p str, frozen: &Frozen) -> Option<&'p str> {
    let first = path.split('/').next().unwrap_or_default();
    let stem = first.split('.').next().filter(|stem| !stem.is_empty())?;
    let mut commands = frozen.verify.commands.iter().chain(&frozen.setup);
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let says = |command: &String| {
        command.split(|c: char| !is_word(c) && c != '/' && c != '.').any(|word| word == stem)
    };
    commands.any(says).then_some(first)
}

/// Returns where a link leads, if that is out of the repository.
pub(super) fn leads_out<'t>(path: &str, target: &'t str) -> Option<&'t str> {
    let mut depth = path.matches('/').count();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." if depth == 0 => return Some(target),
            ".." => depth -= 1,
            _ => depth += 1,
        }
    }
    target.starts_with('/').then_some(target)
}

/// Parts of a source file with tests in it: what it is, and its tests from the line that says so on.
pub(super) fn inner_tests<'t>(path: &str, text: &'t str) -> (&'t str, &'t str) {
    const MARK: &str = "#[cfg(test)]";
    let is_rust = std::path::Path::new(path).extension().is_some_and(|extension| extension == "rs");
    let at = if text.starts_with(MARK) {
        Some(0)
    } else {
        text.find(&format!("\n{MARK}")).map(|at| at + 1)
    };
    match at {
        Some(at) if is_rust => text.split_at(at),
        Some(_) | None => (text, ""),
    }
}

/// Whether a command line names a file, from the top or from a folder that it goes into.
pub(super) fn names(command: &str, path: &str) -> bool {
    let is_end = |c: char| c.is_whitespace() || "\"'`;&|()<>=".contains(c);
    command.split(is_end).any(|word| {
        // `./checks` is a file, whatever its name.
        let is_file = word.contains(['.', '/']);
        let word = word.trim_start_matches("./");
        word == path
            || (is_file
                && !word.is_empty()
                && path.strip_suffix(word).is_some_and(|rest| rest.ends_with('/')))
    })
}

#[cfg(test)]
mod tests {
    use forge_project::settings::{AgentChoice, Settings};

    use super::*;

    #[test]
    fn links_out_of_the_repository_are_seen_however_they_are_written() {
        for target in ["/etc/x", "../../x", "a/../../../x", "../.././../x"] {
            assert!(leads_out("src/a", target).is_some(), "{target}");
        }
        for target in ["b", "../b", "./../src/../b", "c/d"] {
            assert_eq!(leads_out("src/a", target), None, "{target}");
        }
        assert!(leads_out("a", "..").is_some());
    }

    #[test]
    fn new_files_named_like_a_word_of_a_check_are_seen() {
        let mut frozen = Settings::default().freeze(AgentChoice::Nobody);
        frozen.verify.commands = vec!["python3 -m unittest".into(), "make test".into()];
        for path in ["unittest.py", "unittest/__main__.py", "test/README.md", "make"] {
            assert!(shadowing(path, &frozen).is_some(), "{path}");
        }
        for path in ["src/unittest.py", "tests/a.py", "latest.md", ".test"] {
            assert!(shadowing(path, &frozen).is_none(), "{path}");
        }
    }

    #[test]
    fn the_tests_inside_of_a_source_file_are_parted_from_it() {
        let text = "fn a() {}\n\n#[cfg(test)]\nmod tests {}\n";
        assert_eq!(
            inner_tests("src/a.rs", text),
            ("fn a() {}\n\n", "#[cfg(test)]\nmod tests {}\n")
        );
        assert_eq!(inner_tests("src/a.py", text), (text, ""));
        assert_eq!(inner_tests("src/a.rs", "fn a() {}\n"), ("fn a() {}\n", ""));
    }
}
