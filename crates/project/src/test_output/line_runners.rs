//! Readers of test output whose lines carry a mark of their own: cargo, nextest, pytest, unittest,
//! go, TAP, prove, Maven, Gradle, .NET, mix and minitest.
//!
//! Not here: runners that show structure by indentation, see `runners_text`.
//!
//! Invariant: each reader looks at each line once, and leaves alone what it does not know.

use super::{
    Places, Said,
    TestSaid::{self, Failed, Passed, Skipped},
    path_name,
};

/// A reader of one kind of output.
pub(super) type Reader = fn(&[&str], &mut Said);

pub(super) const ALL: &[Reader] =
    &[cargo, nextest, pytest, unittest, go, tap, prove, maven, gradle, dotnet, mix, minitest];

/// `test a::b ... ok`, with the binary that was announced before.
fn cargo(lines: &[&str], all: &mut Said) {
    let mut places = Places::default();
    let mut place = String::new();
    let mut open: Option<&str> = None;
    for line in lines {
        if let Some(announced) = cargo_place(line) {
            place = places.numbered(&announced);
            open = None;
            continue;
        }
        if let Some(rest) = line.strip_prefix("test ")
            && let Some((name, said)) = rest.split_once(" ... ")
        {
            let name = name.strip_suffix(" - should panic").unwrap_or(name);
            match cargo_word(said) {
                Some(said) => all.add(&place, name, said),
                None => open = Some(name),
            }
            continue;
        }
        // What a test printed stands between its name and its word.
        if let (Some(name), Some(said)) = (open, cargo_word(line)) {
            all.add(&place, name, said);
            open = None;
            continue;
        }
        let quiet = line.strip_suffix(" --- FAILED").filter(|name| !name.contains(' '));
        let shown = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"));
        if let Some(name) = shown.or(quiet) {
            all.add(&place, name, Failed);
        }
    }
}

/// `Running tests/it.rs (target/debug/deps/it-9a17)` is `it tests/it.rs`.
fn cargo_place(line: &str) -> Option<String> {
    let line = line.trim_start();
    if let Some(name) = line.strip_prefix("Doc-tests ") {
        return Some(format!("{} doc", name.trim()));
    }
    let (source, binary) = line.strip_prefix("Running ")?.strip_suffix(')')?.rsplit_once(" (")?;
    let source = source.strip_prefix("unittests ").unwrap_or(source);
    let name = crate::path_names::base_name(binary);
    let name = name.rsplit_once('-').map_or(name, |(name, _)| name);
    Some(format!("{name} {source}"))
}

fn cargo_word(said: &str) -> Option<TestSaid> {
    let word = said.split([' ', ',']).next().unwrap_or_default();
    match word {
        "ok" => Some(Passed),
        "FAILED" => Some(Failed),
        "ignored" => Some(Skipped),
        _ => None,
    }
}

/// `PASS [   0.006s] (1/6) samp::it adds`.
fn nextest(lines: &[&str], all: &mut Said) {
    for line in lines {
        let Some((status, rest)) = line.split_once('[') else { continue };
        let Some((time, rest)) = rest.split_once(']') else { continue };
        if !line.starts_with(' ') || !time.trim().ends_with('s') {
            continue;
        }
        let said = match status.trim().split(' ').next().unwrap_or_default() {
            "PASS" | "LEAK" | "FLAKY" => Passed,
            "FAIL" | "TIMEOUT" | "ABORT" | "LEAK-FAIL" => Failed,
            "SKIP" => Skipped,
            word if word.starts_with("SIG") => Failed,
            _ => continue,
        };
        let rest = rest.trim_start();
        let rest = match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            Some((count, rest)) if count.contains('/') => rest.trim_start(),
            Some(_) | None => rest,
        };
        if let Some((binary, name)) = rest.split_once(' ') {
            all.add(binary, name, said);
        }
    }
}

const PYTEST_WORDS: &[(&str, TestSaid)] = &[
    ("PASSED", Passed),
    ("FAILED", Failed),
    ("SKIPPED", Skipped),
    ("XFAIL", Skipped),
    ("XPASS", Passed),
    ("ERROR", Failed),
];

/// `a.py::test_b PASSED [ 12%]`, and `FAILED a.py::test_b - why` at the end.
fn pytest(lines: &[&str], all: &mut Said) {
    let mut in_summary = false;
    for line in lines {
        if line.starts_with("===") {
            in_summary = line.contains("short test summary");
            continue;
        }
        let line = line.trim_end();
        let line = worker(line).unwrap_or(line);
        for (word, said) in PYTEST_WORDS {
            let first = line.strip_prefix(word).and_then(|rest| rest.strip_prefix(' '));
            if let Some(rest) = first {
                if rest.contains(".py::") {
                    all.add("", pytest_name(rest), *said);
                } else if in_summary && *word == "ERROR" {
                    // A file that could not even be loaded.
                    all.add("", rest.split(" - ").next().unwrap_or(rest), Failed);
                }
            } else if let Some(name) = pytest_verbose(line, word) {
                all.add("", name, *said);
            }
        }
    }
}

/// `[gw0] [ 12%] PASSED a.py::test_b`, without who did it and how far it is.
fn worker(line: &str) -> Option<&str> {
    let (_, rest) = line.strip_prefix("[gw")?.split_once("] ")?;
    let (_, rest) = rest.strip_prefix('[')?.split_once("] ")?;
    Some(rest)
}

/// The name before a word that is followed by nothing, a share or a reason.
fn pytest_verbose<'l>(line: &'l str, word: &str) -> Option<&'l str> {
    let at = line.rfind(&format!(" {word}"))?;
    let name = &line[..at];
    let rest = line[at + 1 + word.len()..].trim();
    let ends =
        rest.is_empty() || rest.starts_with('(') || (rest.starts_with('[') && rest.ends_with(']'));
    (ends && name.contains(".py::") && !name.starts_with(' ')).then(|| name.trim())
}

/// A name up to its reason; a parameter may hold ` - ` itself.
fn pytest_name(rest: &str) -> &str {
    let reason = rest.find(" - ").unwrap_or(rest.len());
    match rest.find('[') {
        Some(bracket) if bracket < reason => match rest.find("] - ") {
            Some(end) => &rest[..=end],
            None => rest,
        },
        Some(_) | None => &rest[..reason],
    }
}

/// `test_a (m.T.test_a) ... ok`, and `FAIL: test_a (m.T.test_a)`.
fn unittest(lines: &[&str], all: &mut Said) {
    let mut open: Option<String> = None;
    for line in lines {
        let line = line.trim();
        let failed = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: "));
        if let Some(name) = failed.and_then(unittest_name) {
            all.add("", &name, Failed);
            open = None;
            continue;
        }
        let (head, word) = match line.rsplit_once("... ") {
            Some((head, word)) => (head.trim(), word),
            None => (line.strip_suffix("...").unwrap_or(line).trim(), ""),
        };
        if let Some(name) = unittest_name(head) {
            open = Some(name);
        }
        let Some(name) = &open else { continue };
        let word = if line.contains("...") { word } else { line };
        if let Some(said) = unittest_word(word) {
            all.add("", name, said);
            open = None;
        }
    }
}

/// `test_a (m.T.test_a)` of new and `test_a (m.T)` of old Pythons are both `m.T.test_a`.
fn unittest_name(text: &str) -> Option<String> {
    let (name, rest) = text.split_once(" (")?;
    let (path, _) = rest.split_once(')')?;
    let is_name = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')
    };
    if !is_name(name) || !is_name(path) || !path.contains('.') && !name.starts_with("test") {
        return None;
    }
    let ends = path.rsplit('.').next() == Some(name);
    Some(if ends { path.to_owned() } else { format!("{path}.{name}") })
}

fn unittest_word(word: &str) -> Option<TestSaid> {
    match word {
        "ok" => Some(Passed),
        "FAIL" | "ERROR" | "unexpected success" => Some(Failed),
        "expected failure" => Some(Skipped),
        _ => word.starts_with("skipped").then_some(Skipped),
    }
}

/// `--- FAIL: TestA/b (0.00s)`; the package is named after its tests.
fn go(lines: &[&str], all: &mut Said) {
    let mut found: Vec<(&str, TestSaid)> = Vec::new();
    let mut running: Vec<&str> = Vec::new();
    for line in lines {
        if let Some(name) = line.strip_prefix("=== RUN ") {
            running.push(name.trim());
            continue;
        }
        if let Some((name, said)) = go_test(line) {
            found.push((name, said));
            continue;
        }
        let mut words = line.split('\t').map(str::trim);
        let said = match words.next() {
            Some("ok") => Passed,
            Some("FAIL") => Failed,
            Some(_) | None => continue,
        };
        let Some(package) = words.next().filter(|package| !package.is_empty()) else { continue };
        let package = package.split(' ').next().unwrap_or(package);
        end_of_package(package, said, &mut found, &mut running, all);
    }
    end_of_package("", Passed, &mut found, &mut running, all);
}

/// A test that was started and never ended failed with its package.
fn end_of_package(
    package: &str,
    said: TestSaid,
    found: &mut Vec<(&str, TestSaid)>,
    running: &mut Vec<&str>,
    all: &mut Said,
) {
    let ended: std::collections::BTreeSet<&str> = found.iter().map(|(name, _)| *name).collect();
    if said == Failed {
        for name in running.iter().filter(|name| !ended.contains(**name)) {
            all.add(package, name, Failed);
        }
    }
    for (name, said) in found.drain(..) {
        all.add(package, name, said);
    }
    running.clear();
}

fn go_test(line: &str) -> Option<(&str, TestSaid)> {
    let (_, rest) = line.split_once("--- ")?;
    let (word, rest) = rest.split_once(": ")?;
    let said = match word {
        "PASS" => Passed,
        "FAIL" => Failed,
        "SKIP" => Skipped,
        _ => return None,
    };
    let (name, time) = rest.trim_end().rsplit_once(" (")?;
    time.ends_with("s)").then_some((name, said))
}

/// The deepest nesting that is followed.
const PARENTS_MAX: usize = 50;

/// `ok 1 - name # SKIP why`, nested by indentation below `# Subtest: name`.
fn tap(lines: &[&str], all: &mut Said) {
    let is_plan = |line: &&&str| {
        let line = line.trim();
        let plan = line.strip_prefix("1..").and_then(|rest| rest.split(' ').next());
        line.starts_with("TAP version") || plan.is_some_and(|plan| plan.parse::<u32>().is_ok())
    };
    if !lines.iter().any(|line| is_plan(&line)) {
        return;
    }
    let mut parents: Vec<(usize, &str)> = Vec::new();
    for line in lines {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if let Some(name) = text.strip_prefix("# Subtest: ") {
            parents.retain(|(above, _)| *above < indent);
            if parents.len() < PARENTS_MAX {
                parents.push((indent, name));
            }
            continue;
        }
        let (rest, passed) = match (text.strip_prefix("ok"), text.strip_prefix("not ok")) {
            (Some(rest), _) => (rest, Passed),
            (None, Some(rest)) => (rest, Failed),
            (None, None) => continue,
        };
        let Some(rest) = rest.strip_prefix(' ') else { continue };
        let name = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if name.len() == rest.len() {
            continue;
        }
        let rest = name.trim_start();
        let rest = rest.strip_prefix("- ").unwrap_or(rest);
        let (name, directive) = tap_directive(rest);
        let said = if directive { Skipped } else { passed };
        let above = parents.iter().filter(|(above, _)| *above < indent).map(|(_, name)| *name);
        let name = name.replace("\\#", "#");
        all.add("", &path_name(above.chain([name.trim()])), said);
    }
}

/// The name, and whether the test was skipped or is still to be written.
fn tap_directive(rest: &str) -> (&str, bool) {
    for (at, _) in rest.match_indices('#') {
        let word = rest[at + 1..].trim_start();
        let is = |wanted: &str| word.get(..4).is_some_and(|word| word.eq_ignore_ascii_case(wanted));
        if (at == 0 || rest[..at].ends_with(' ')) && (is("skip") || is(concat!("TO", "DO"))) {
            return (rest[..at].trim_end(), true);
        }
    }
    (rest, false)
}

/// `t/basic.t .. ok`.
fn prove(lines: &[&str], all: &mut Said) {
    for line in lines {
        let Some((name, rest)) = line.split_once(" ..") else { continue };
        let is_file = [".t", ".bats", ".sh", ".pl"].iter().any(|end| name.ends_with(end));
        if !is_file || name.contains(' ') {
            continue;
        }
        let said = rest.trim_start_matches('.').trim_start();
        if said == "ok" || said.starts_with("ok ") {
            all.add("", name, Passed);
        } else if said.starts_with("skipped") {
            all.add("", name, Skipped);
        } else if said.starts_with("Failed") || said.starts_with("Dubious") {
            all.add("", name, Failed);
        }
    }
}

/// `Tests run: 3, Failures: 1, … in com.x.AppTest`, and `com.x.AppTest.adds … <<< FAILURE!`.
fn maven(lines: &[&str], all: &mut Said) {
    for line in lines {
        let text = match line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
            Some(("INFO" | "ERROR" | "WARNING", text)) => text,
            Some(_) | None => line,
        };
        if let Some((name, _)) = text.split_once(" <<< ") {
            let name = name.split("  Time elapsed").next().unwrap_or(name);
            let name = name.split(" -- Time elapsed").next().unwrap_or(name).trim();
            if !name.contains("Tests run:") {
                all.add("", &junit_name(name), Failed);
                continue;
            }
        }
        if let Some(counts) = text.strip_prefix("Tests run: ")
            && let Some(class) = text.split(" in ").last().filter(|class| is_class(class))
        {
            let count = |key: &str| {
                let rest = counts.split(key).nth(1).unwrap_or_default();
                let digits = rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
                digits.parse::<u64>().unwrap_or_default()
            };
            let run = counts.split(',').next().unwrap_or_default().parse::<u64>();
            let said = if count("Failures: ") + count("Errors: ") > 0 {
                Failed
            } else if run == Ok(count("Skipped: ")) {
                Skipped
            } else {
                Passed
            };
            all.add("", class.trim(), said);
        }
    }
}

fn is_class(text: &str) -> bool {
    let text = text.trim();
    let is_name = |c: char| c.is_alphanumeric() || "._$".contains(c);
    !text.is_empty() && text.chars().all(is_name) && text.contains(char::is_uppercase)
}

/// `adds(com.x.AppTest)` is `com.x.AppTest.adds`.
fn junit_name(name: &str) -> String {
    match name.split_once('(') {
        Some((method, class)) if !method.contains('.') => {
            format!("{}.{method}", class.trim_end_matches(')'))
        }
        Some(_) | None => name.to_owned(),
    }
}

/// `com.x.AppTest > adds() PASSED`.
fn gradle(lines: &[&str], all: &mut Said) {
    for line in lines {
        let Some((name, word)) = line.trim_end().rsplit_once(' ') else { continue };
        let said = match word {
            "PASSED" => Passed,
            "FAILED" => Failed,
            "SKIPPED" => Skipped,
            _ => continue,
        };
        let Some((class, _)) = name.split_once(" > ") else { continue };
        if !class.is_empty() && !class.contains([' ', ':']) {
            all.add("", name, said);
        }
    }
}

/// `  Passed Ns.Class.Method [12 ms]`.
fn dotnet(lines: &[&str], all: &mut Said) {
    for line in lines {
        if let Some(rest) = line.strip_prefix("[xUnit.net ") {
            let rest = rest.split_once(']').map_or("", |(_, rest)| rest).trim();
            if let Some(name) = rest.strip_suffix(" [FAIL]") {
                all.add("", name, Failed);
            } else if let Some(name) = rest.strip_suffix(" [SKIP]") {
                all.add("", name, Skipped);
            }
            continue;
        }
        let Some(rest) = line.strip_prefix("  ") else { continue };
        let Some((word, rest)) = rest.split_once(' ') else { continue };
        let said = match word {
            "Passed" => Passed,
            "Failed" => Failed,
            "Skipped" => Skipped,
            _ => continue,
        };
        let timed = rest.trim_end().strip_suffix(']').and_then(|rest| rest.rsplit_once(" ["));
        if let Some((name, time)) = timed
            && (time.ends_with("ms") || time.ends_with(" s") || time.contains(" m "))
        {
            all.add("", name, said);
        }
    }
}

/// `  * test adds (0.00ms) [L#5]` below `MathTest [test/math_test.exs]`.
fn mix(lines: &[&str], all: &mut Said) {
    let mut module = "";
    for line in lines {
        if let Some((name, file)) = line.split_once(" [")
            && (file.ends_with(".exs]") || file.ends_with(".ex]"))
            && !name.contains(' ')
        {
            module = name;
        } else if let Some(rest) = line.strip_prefix("  * ") {
            let Some((name, number)) = rest.trim_end().rsplit_once(" [L#") else { continue };
            if !number.ends_with(']') {
                continue;
            }
            let (name, note) = match name.strip_suffix(')').and_then(|name| name.rsplit_once(" ("))
            {
                Some((name, note)) => (name, note),
                None => (name, ""),
            };
            let said = if matches!(note, "skipped" | "excluded") { Skipped } else { Passed };
            all.add("", &format!("{module} {name}"), said);
        } else if let Some((number, rest)) = line.trim_start().split_once(") test ")
            && number.parse::<u32>().is_ok()
            && let Some((name, of)) = rest.trim_end().rsplit_once(" (")
            && let Some(of) = of.strip_suffix(')')
        {
            all.add("", &format!("{of} test {name}"), Failed);
        }
    }
}

/// `MathTest#test_adds = 0.00 s = .`
fn minitest(lines: &[&str], all: &mut Said) {
    for line in lines {
        let Some((name, rest)) = line.split_once(" = ") else { continue };
        let Some((time, word)) = rest.trim_end().split_once(" = ") else { continue };
        let said = match word {
            "." => Passed,
            "F" | "E" => Failed,
            "S" => Skipped,
            _ => continue,
        };
        if time.ends_with(" s") && name.contains('#') {
            all.add("", name, said);
        }
    }
}
