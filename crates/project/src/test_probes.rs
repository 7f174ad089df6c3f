//! Tests of Forge's own that fail, written like the tests of a project: a check that stays green with one of them
//! cannot go red at all, or never runs what lies there.
//!
//! A probe lies beside a test of the project and is named like it. Where the runner loads a file by itself, the probe
//! is a copy of that test with one more that fails, so that what its imports do to the runner counts, too.
//!
//! Not here: running them. Whether a probe says anything is found out where the project is known to be as it was.
//!
//! Invariant: the same files give the same probes.

use crate::{
    detect::ProjectFiles,
    path_names::base_name,
    protected_files::{ProtectedKind, protected_kind},
};

/// The most bytes of a test that is copied.
const COPY_BYTES_MAX: usize = 256 * 1024;
/// The most test files that are read to find one of a runner's.
const READ_MAX: usize = 40;

/// Words in what every probe prints when it fails.
pub const PROBE_WORDS: &str = "test of Forge";

/// A file that fails where tests are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestProbe {
    pub path: String,
    pub text: String,
}

/// Returns a probe for each runner that is known by its test files, beside the `near` ones if there are such.
///
/// `salt` makes the names of probes, so that no project can know them.
pub fn test_probes(project: &dyn ProjectFiles, near: &[String], salt: &str) -> Vec<TestProbe> {
    let mut paths = project.list();
    let folder = |path: &str| path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let near_folders: Vec<String> = near.iter().map(|path| folder(path)).collect();
    paths.sort_by_cached_key(|path| {
        let is_beside = near_folders.contains(&folder(path));
        (!near.contains(path), !is_beside, path.matches('/').count(), path.clone())
    });
    let mut probes: Vec<TestProbe> = FILE_RUNNERS
        .iter()
        .filter_map(|runner| {
            let fits = |path: &&String| (runner.is_test)(path.as_str());
            paths.iter().filter(fits).take(READ_MAX).find_map(|path| {
                let text = project.read(path)?;
                let folder = path.strip_suffix(base_name(path)).expect("a path ends with its name");
                let name = (runner.name)(base_name(path), salt);
                Some(TestProbe { path: format!("{folder}{name}"), text: (runner.probe)(&text)? })
            })
        })
        .collect();
    probes.extend(cargo_probe(project, &paths, near, salt));
    probes
}

/// A runner that takes every file with such a name.
struct FileRunner {
    is_test: fn(&str) -> bool,
    /// Names a probe like a test.
    name: fn(&str, &str) -> String,
    /// Makes a probe like the text of a test.
    probe: fn(&str) -> Option<String>,
}

const FILE_RUNNERS: &[FileRunner] = &[
    FileRunner {
        is_test: is_python_test,
        name: python_name,
        probe: |text| Some(with_copy(text, PYTHON)),
    },
    FileRunner { is_test: is_script_test, name: like, probe: script_probe },
    FileRunner { is_test: |path| path.ends_with("_test.go"), name: like, probe: go_probe },
    FileRunner { is_test: is_shell_test, name: like, probe: |_| Some(SHELL.to_owned()) },
    FileRunner {
        is_test: |path| has_extension(path, &["bats"]),
        name: like,
        probe: |_| Some(BATS.to_owned()),
    },
];

const SHELL: &str = "echo \"not ok - this test of Forge's own fails\"\nexit 1\n";
const BATS: &str = "@test \"a test of Forge that fails\" {\n  false\n}\n";
const PYTHON: &str = "\n\nimport unittest as forge_unittest\n\n\nclass TestOfForge(forge_unittest.TestCase):\n    \
    def test_that_fails(self):\n        self.assertEqual(\"a test of Forge's own\", \"fails\")\n";
const RUST: &str = "\n#[test]\nfn a_test_of_forge_that_fails() {\n    assert_eq!(\"a test of Forge's own\", \"fails\");\n}\n";

fn has_extension(path: &str, extensions: &[&str]) -> bool {
    base_name(path).rsplit_once('.').is_some_and(|(_, extension)| extensions.contains(&extension))
}

fn is_test(path: &str) -> bool {
    protected_kind(path) == Some(ProtectedKind::Test)
}

/// Returns the beginning and the end of a name by which a runner knows a test, with the salt between them.
fn like(name: &str, salt: &str) -> String {
    let start = ["test_", "test-"].into_iter().find(|start| name.starts_with(start));
    let ends = ["_test.", "-test.", ".test.", "_spec.", "-spec.", ".spec."];
    let end = ends.into_iter().filter_map(|end| name.rfind(end)).max().or_else(|| name.rfind('.'));
    format!("{}zz_{salt}{}", start.unwrap_or_default(), end.map_or("", |at| &name[at..]))
}

fn is_python_test(path: &str) -> bool {
    let name = base_name(path);
    has_extension(path, &["py"]) && (name.starts_with("test") || name.ends_with("_test.py"))
}

fn python_name(name: &str, salt: &str) -> String {
    if name.ends_with("_test.py") { like(name, salt) } else { format!("test_zz_{salt}.py") }
}

fn is_script_test(path: &str) -> bool {
    has_extension(path, &["js", "mjs", "cjs", "ts", "mts", "cts", "jsx", "tsx"]) && is_test(path)
}

fn script_probe(source: &str) -> Option<String> {
    let has = |part: &str| source.contains(part);
    let is_module = source.lines().any(|line| line.starts_with("import "));
    let failing = if has("node:test") {
        let (test, assert) = if is_module {
            ("(await import('node:test')).test", "(await import('node:assert')).default")
        } else {
            ("require('node:test').test", "require('node:assert')")
        };
        format!(
            "const forgeAssert = {assert};\n{test}('a test of Forge that fails', () => {{\n  \
             forgeAssert.strictEqual(\"a test of Forge's own\", 'fails');\n}});\n"
        )
    } else if has("expect(") && (has("test(") || has("it(")) {
        let test = if has("test(") { "test" } else { "it" };
        format!(
            "{test}('a test of Forge that fails', () => {{ expect(\"a test of Forge's own\").toBe('fails'); }});\n"
        )
    } else if has("it(") && has("describe(") {
        "it('a test of Forge that fails', () => { throw new Error(\"a test of Forge's own fails\"); });\n".to_owned()
    } else {
        return None;
    };
    Some(with_copy(source, &format!("\n;{failing}")))
}

fn go_probe(text: &str) -> Option<String> {
    let package = text.lines().find(|line| line.starts_with("package "))?;
    Some(format!(
        "{package}\n\nimport \"testing\"\n\nfunc TestOfForgeThatFails(t *testing.T) {{\n\tt.Fatal(\"a test of Forge's own fails\")\n}}\n"
    ))
}

/// Scripts in a folder of tests, and named ones; not what runs them or helps them.
fn is_shell_test(path: &str) -> bool {
    let name = base_name(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let helps =
        ["run", "common", "env", "functions", "helper", "helpers", "lib", "setup", "util", "utils"];
    has_extension(path, &["sh", "bash"])
        && is_test(path)
        && !helps.contains(&stem)
        && path.contains('/')
}

/// Cargo runs each file in `tests/` of a package, without any other sign.
fn cargo_probe(
    project: &dyn ProjectFiles,
    paths: &[String],
    near: &[String],
    salt: &str,
) -> Option<TestProbe> {
    let manifests = paths.iter().filter(|path| base_name(path) == "Cargo.toml").take(READ_MAX);
    let is_package = |path: &&String| {
        project.read(path).is_some_and(|text| text.lines().any(|line| line.trim() == "[package]"))
    };
    let folders: Vec<&str> =
        manifests.filter(is_package).filter_map(|path| path.strip_suffix("Cargo.toml")).collect();
    let around = |path: &String| {
        let above = folders.iter().filter(|folder| path.starts_with(**folder));
        above.max_by_key(|folder| folder.len())
    };
    let folder = near.iter().find_map(around).or(folders.first())?;
    let inside = format!("{folder}tests/");
    let is_sibling = |path: &&String| {
        path.strip_prefix(&inside)
            .is_some_and(|name| !name.contains('/') && has_extension(name, &["rs"]))
    };
    let sibling = paths.iter().find(is_sibling).and_then(|path| project.read(path));
    let text = with_copy(&sibling.unwrap_or_default(), RUST);
    Some(TestProbe { path: format!("{inside}zz_{salt}.rs"), text })
}

/// Returns a test with another one below it.
fn with_copy(text: &str, failing: &str) -> String {
    if text.len() > COPY_BYTES_MAX { failing.to_owned() } else { format!("{text}{failing}") }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    struct Files(BTreeMap<&'static str, &'static str>);

    impl ProjectFiles for Files {
        fn exists(&self, path: &str) -> bool {
            self.0.contains_key(path)
        }

        fn read(&self, path: &str) -> Option<String> {
            self.0.get(path).map(|text| (*text).to_owned())
        }

        fn list(&self) -> Vec<String> {
            self.0.keys().map(|path| (*path).to_owned()).collect()
        }
    }

    fn paths(files: &[(&'static str, &'static str)], near: &[&str]) -> Vec<String> {
        let near: Vec<String> = near.iter().map(|path| (*path).to_owned()).collect();
        let probes = test_probes(&Files(files.iter().copied().collect()), &near, "salt");
        probes.into_iter().map(|probe| probe.path).collect()
    }

    #[test]
    fn a_probe_lies_beside_a_test_of_its_runner_and_is_named_like_it() {
        let node = "const test = require('node:test')";
        for (path, text, probe) in [
            ("tests/test_a.py", "", "tests/test_zz_salt.py"),
            ("app/tests.py", "", "app/test_zz_salt.py"),
            ("a/b_test.py", "", "a/zz_salt_test.py"),
            ("test/a.test.mjs", node, "test/zz_salt.test.mjs"),
            ("test/a.js", node, "test/zz_salt.js"),
            ("src/a.spec.ts", "it('x', () => expect(1).toBe(1))", "src/zz_salt.spec.ts"),
            ("pkg/a_test.go", "package pkg_test\n", "pkg/zz_salt_test.go"),
            ("tests/a.sh", "", "tests/zz_salt.sh"),
            ("tests/test_a.sh", "", "tests/test_zz_salt.sh"),
            ("test/a.bats", "", "test/zz_salt.bats"),
            ("b/Cargo.toml", "[package]\n", "b/tests/zz_salt.rs"),
        ] {
            assert_eq!(paths(&[(path, text)], &[]), [probe]);
        }
    }

    #[test]
    fn what_no_runner_would_take_has_no_probe() {
        let files = [
            ("src/a.py", ""),
            ("test/plain.js", "if (1 !== 1) process.exit(1)"),
            ("tests/run.sh", ""),
            ("test.sh", ""),
            ("Cargo.toml", "[workspace]\n"),
            ("tests/data.json", ""),
        ];
        assert_eq!(paths(&files, &[]), [""; 0]);
    }

    #[test]
    fn changed_tests_are_probed_first() {
        let files = [("a/test_a.py", ""), ("b/test_b.py", ""), ("b/test_c.py", "")];
        assert_eq!(paths(&files, &[]), ["a/test_zz_salt.py"]);
        assert_eq!(paths(&files, &["b/test_new.py"]), ["b/test_zz_salt.py"]);
        let files = [("Cargo.toml", "[package]"), ("a/Cargo.toml", "[package]")];
        assert_eq!(paths(&files, &["a/src/lib.rs"]), ["a/tests/zz_salt.rs"]);
    }

    #[test]
    fn a_probe_copies_what_a_test_does_when_it_is_loaded() {
        let files = Files([("tests/test_a.py", "import calc\n")].into_iter().collect());
        let probes = test_probes(&files, &[], "salt");
        assert!(probes[0].text.starts_with("import calc\n"), "{}", probes[0].text);
        assert!(probes[0].text.contains("self.assertEqual("), "{}", probes[0].text);
    }

    #[test]
    fn every_probe_says_whose_it_is_when_it_fails() {
        for runner in FILE_RUNNERS {
            let texts = ["package a", "require('node:test')", "test(expect(", "describe(it("];
            let probes: Vec<String> =
                texts.iter().filter_map(|text| (runner.probe)(text)).collect();
            assert!(!probes.is_empty());
            assert!(probes.iter().all(|probe| probe.contains(PROBE_WORDS)), "{probes:?}");
        }
        assert!(RUST.contains(PROBE_WORDS));
    }
}
