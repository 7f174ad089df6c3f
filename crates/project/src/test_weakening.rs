//! Obvious marks that a test file was weakened between two versions.
//!
//! The code is read roughly, by language, without comments. What is said here is a reason to look,
//! never a verdict: tests may be removed for good reasons.
//!
//! Invariant: a version compared with itself has no marks.
//! Invariant: linear in the two texts.

use Kind::{Only, Runner, Skip, Swallow, Tautology};

use std::collections::BTreeSet;

use crate::{bounded_text::start_of, path_names::base_name};

/// The most names in one sentence.
const NAMES_MAX: usize = 10;
/// Longer texts are compared only so far.
const BYTES_MAX: usize = 1024 * 1024;

/// What got weaker from one version of a file to the next, one sentence each.
///
/// A file that is gone is an empty text.
pub fn skipped_or_weakened(before: &str, after: &str, path: &str) -> Vec<String> {
    let language = Language::of(path);
    let before = Profile::of(before, language);
    let after = Profile::of(after, language);
    let mut said = Vec::new();
    if after.tests.len() < before.tests.len() {
        let gone = missing(&before.tests, &after.tests);
        let names: Vec<&str> = gone.iter().copied().take(NAMES_MAX).collect();
        let more = gone.len().saturating_sub(NAMES_MAX);
        let names = if names.is_empty() { "one of a double name".into() } else { names.join(", ") };
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        said.push(format!(
            "{path}: {} tests before, {} after; removed: {names}{more}",
            before.tests.len(),
            after.tests.len()
        ));
    }
    for (kind, mark, count, line) in &after.marks {
        let earlier = before.marks.iter().find(|(_, other, _, _)| other == mark);
        if *count > earlier.map_or(0, |(_, _, count, _)| *count) {
            said.push(format!("{path}, line {line}: {}: `{mark}`", kind.sentence()));
        }
    }
    if after.assertions < before.assertions {
        said.push(format!(
            "{path}: {} assertions before, {} after",
            before.assertions, after.assertions
        ));
    }
    said
}

/// What a mark does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A test is left out.
    Skip,
    /// All other tests are left out.
    Only,
    /// It cannot fail.
    Tautology,
    /// A failure is swallowed.
    Swallow,
    /// The runner itself is changed.
    Runner,
}

impl Kind {
    fn sentence(self) -> &'static str {
        match self {
            Self::Skip => "newly skipped",
            Self::Only => "newly runs only some tests",
            Self::Tautology => "new assertion that cannot fail",
            Self::Swallow => "newly swallows a failure",
            Self::Runner => "newly changes how tests are run or counted",
        }
    }
}

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Rust,
    Python,
    Script,
    Go,
    Java,
    DotNet,
    Ruby,
    Elixir,
    Shell,
    /// Settings and build files, which hold shell commands.
    Commands,
    Other,
}

impl Language {
    fn of(path: &str) -> Self {
        let name = base_name(path).to_ascii_lowercase();
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        match extension {
            "rs" => Self::Rust,
            "py" => Self::Python,
            "js" | "ts" | "jsx" | "tsx" | "mjs" | "cjs" | "mts" | "cts" | "vue" => Self::Script,
            "go" => Self::Go,
            "java" | "kt" | "kts" | "scala" | "groovy" => Self::Java,
            "cs" | "fs" | "vb" => Self::DotNet,
            "rb" => Self::Ruby,
            "ex" | "exs" => Self::Elixir,
            "sh" | "bash" | "bats" | "zsh" => Self::Shell,
            "yml" | "yaml" | "json" | "mk" | "just" | "toml" | "ini" | "cfg" => Self::Commands,
            _ => {
                let names = ["makefile", "justfile", "dockerfile", "jenkinsfile"];
                let is_commands =
                    names.iter().any(|start| name.trim_start_matches("gnu").starts_with(start));
                if is_commands { Self::Commands } else { Self::Other }
            }
        }
    }

    /// Marks of this language, as they look in a dense line.
    fn marks(self) -> &'static [(Kind, &'static str)] {
        match self {
            Self::Rust => RUST,
            Self::Python => PYTHON,
            Self::Script => SCRIPT,
            Self::Go => GO,
            Self::Java => JAVA,
            Self::DotNet => DOTNET,
            Self::Ruby => RUBY,
            Self::Elixir => ELIXIR,
            Self::Shell => SHELL,
            Self::Commands => COMMANDS,
            Self::Other => &[],
        }
    }
}

const RUST: &[(Kind, &str)] = &[
    (Skip, concat!("#[ig", "nore")),
    (Skip, "#[cfg(any())]"),
    (Skip, "#[cfg(never)]"),
    (Tautology, "assert!(true"),
    (Swallow, "process::exit(0)"),
];
const PYTHON: &[(Kind, &str)] = &[
    (Skip, "pytest.mark.skip"),
    (Skip, "pytest.skip("),
    (Skip, "pytest.mark.xfail"),
    (Skip, "pytest.xfail("),
    (Skip, "pytest.importorskip("),
    (Skip, "unittest.skip"),
    (Skip, "@skip"),
    (Skip, "self.skipTest("),
    (Skip, "raise SkipTest"),
    (Skip, "raise unittest.SkipTest"),
    (Skip, "unittest.expectedFailure"),
    (Skip, "__test__=False"),
    (Tautology, "assertTrue(True)"),
    (Tautology, "assertFalse(False)"),
    (Tautology, "assert True"),
    (Tautology, "assert not False"),
    (Tautology, "or True"),
    (Swallow, "sys.exit(0)"),
    (Swallow, "os._exit("),
    (Runner, "collect_ignore"),
    (Runner, "pytest_collection_modifyitems"),
    (Runner, "pytest_runtest_makereport"),
    (Runner, "pytest_sessionfinish"),
    (Runner, "def __eq__(self,other):return True"),
];
const SCRIPT: &[(Kind, &str)] = &[
    (Skip, "it.skip("),
    (Skip, "test.skip("),
    (Skip, "describe.skip("),
    (Skip, "context.skip("),
    (Skip, ".skipIf("),
    (Skip, ".runIf("),
    (Skip, "t.skip("),
    (Skip, "this.skip("),
    (Skip, "it.todo("),
    (Skip, "test.todo("),
    (Skip, ".failing("),
    (Skip, "test.fixme("),
    (Skip, "{skip:"),
    (Skip, ",skip:"),
    (Skip, "xit("),
    (Skip, "xtest("),
    (Skip, "xdescribe("),
    (Only, "it.only("),
    (Only, "test.only("),
    (Only, "describe.only("),
    (Only, "fit("),
    (Only, "fdescribe("),
    (Tautology, "expect(true).toBe(true)"),
    (Tautology, "expect(true).toBeTruthy("),
    (Tautology, "expect(true).toEqual(true)"),
    (Tautology, "expect(true).to.be.true"),
    (Tautology, "expect(false).toBe(false)"),
    (Tautology, "expect(1).toBe(1)"),
    (Tautology, "assert(true"),
    (Tautology, "assert.ok(true"),
    (Tautology, "assert.equal(1,1)"),
    (Tautology, "assert.strictEqual(1,1)"),
    (Swallow, "process.exit(0)"),
];
const GO: &[(Kind, &str)] = &[
    (Skip, ".Skip("),
    (Skip, ".Skipf("),
    (Skip, ".SkipNow("),
    (Skip, "//go:build ignore"),
    (Tautology, "assert.True(t,true"),
    (Tautology, "require.True(t,true"),
    (Swallow, "os.Exit(0)"),
];
const JAVA: &[(Kind, &str)] = &[
    (Skip, "@Disabled"),
    (Skip, "@Ignore"),
    (Skip, "assumeTrue(false"),
    (Skip, "assumeFalse(true"),
    (Tautology, "assertTrue(true"),
    (Tautology, "assertFalse(false"),
    (Tautology, "assertEquals(1,1)"),
    (Swallow, "System.exit(0)"),
];
const DOTNET: &[(Kind, &str)] = &[
    (Skip, "(Skip="),
    (Skip, ",Skip="),
    (Skip, "[Ignore"),
    (Skip, "[Explicit"),
    (Skip, "Assert.Ignore("),
    (Skip, "Assert.Inconclusive("),
    (Skip, "Skip.If("),
    (Tautology, "Assert.True(true"),
    (Tautology, "Assert.IsTrue(true"),
    (Tautology, "Assert.That(true"),
    (Tautology, "Assert.Equal(1,1)"),
    (Tautology, "Assert.Pass("),
    (Swallow, "Environment.Exit(0)"),
];
const RUBY: &[(Kind, &str)] = &[
    (Skip, "xit\""),
    (Skip, "xit'"),
    (Skip, "xdescribe"),
    (Skip, "xcontext"),
    (Skip, "pending\""),
    (Skip, "pending'"),
    (Skip, "pending("),
    (Skip, "skip:"),
    (Skip, "skip\""),
    (Skip, "skip'"),
    (Skip, ":skip"),
    (Only, "fit\""),
    (Only, "fit'"),
    (Only, "fdescribe"),
    (Only, ":focus"),
    (Tautology, "expect(true).to"),
    (Tautology, "assert true"),
    (Tautology, "assert(true"),
    (Swallow, "exit!(0)"),
    (Swallow, "exit(0)"),
];
const ELIXIR: &[(Kind, &str)] = &[
    (Skip, "@tag:skip"),
    (Skip, "@tag skip:"),
    (Skip, "@moduletag:skip"),
    (Skip, "@moduletag skip:"),
    (Tautology, "assert true"),
    (Tautology, "assert(true"),
    (Swallow, "System.halt(0)"),
];
const SHELL: &[(Kind, &str)] = &[
    (Skip, "skip\""),
    (Skip, "skip'"),
    (Swallow, "exit 0"),
    (Swallow, "return 0"),
    (Swallow, "||true"),
    (Swallow, "||:"),
    (Swallow, "||exit 0"),
    (Swallow, ";true"),
    (Swallow, "set+e"),
    (Swallow, "trap'exit 0'"),
];
const COMMANDS: &[(Kind, &str)] = &[
    (Swallow, "||true"),
    (Swallow, "||:"),
    (Swallow, "||exit 0"),
    (Swallow, ";exit 0"),
    (Swallow, "\"exit 0"),
    (Swallow, "&&exit 0"),
    (Swallow, ";true"),
    (Swallow, "continue-on-error:true"),
    (Swallow, "allow_failure:true"),
    (Swallow, "ignore_outcome=true"),
    (Skip, "if:false"),
    (Runner, "passWithNoTests"),
    (Runner, "--exit-zero"),
    (Runner, "--ignore="),
    (Runner, "--deselect"),
    (Runner, "--skip"),
    (Runner, "-DskipTests"),
    (Runner, "-Dmaven.test.skip"),
    (Runner, "testPathIgnorePatterns"),
];

/// What a version of a file holds.
#[derive(Debug, Default)]
struct Profile {
    /// Names of tests, doubles included.
    tests: Vec<String>,
    assertions: usize,
    /// Each mark that is there: how often, and the line where it was last.
    marks: Vec<(Kind, &'static str, usize, usize)>,
}

impl Profile {
    fn of(text: &str, language: Language) -> Self {
        let text = start_of(text, BYTES_MAX);
        let mut profile = Self::default();
        let mut lines = CodeLines { language, in_block: None };
        let mut names = TestNames { language, is_announced: false };
        for (at, line) in text.lines().enumerate() {
            let code = lines.code(line);
            let code = code.trim();
            if code.is_empty() {
                continue;
            }
            profile.take_marks(code, at + 1, language);
            profile.assertions += assertions(code, language);
            if let Some(name) = names.begun_by(code) {
                profile.tests.push(name);
            }
        }
        profile
    }

    fn take_marks(&mut self, code: &str, line: usize, language: Language) {
        let dense = dense(code);
        for (kind, mark) in language.marks() {
            let count = occurrences(&dense, mark, *kind);
            if count == 0 {
                continue;
            }
            match self.marks.iter_mut().find(|(_, known, _, _)| known == mark) {
                Some(known) => {
                    known.2 += count;
                    known.3 = line;
                }
                None => self.marks.push((*kind, mark, count, line)),
            }
        }
        if is_equal_literals(&dense) {
            let mark = "equal literals";
            match self.marks.iter_mut().find(|(_, known, _, _)| *known == mark) {
                Some(known) => {
                    known.2 += 1;
                    known.3 = line;
                }
                None => self.marks.push((Tautology, mark, 1, line)),
            }
        }
    }
}

/// A line without spaces, but for one between two words.
fn dense(code: &str) -> String {
    let mut dense = String::with_capacity(code.len());
    let mut has_space = false;
    for c in code.chars() {
        if c.is_whitespace() {
            has_space = true;
            continue;
        }
        if has_space && is_word(c) && dense.ends_with(is_word) {
            dense.push(' ');
        }
        has_space = false;
        dense.push(c);
    }
    dense
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// How often a mark stands in a dense line as a word of its own.
fn occurrences(dense: &str, mark: &str, kind: Kind) -> usize {
    let is_sentence = |dense: &str| dense.trim_start_matches("self.").starts_with("assert");
    if mark == "or True" && !is_sentence(dense) {
        return 0;
    }
    let found = dense.match_indices(mark).filter(|(at, _)| {
        let before = dense[..*at].chars().next_back();
        let after = dense[at + mark.len()..].chars().next();
        let runs_on = mark.starts_with(is_word) && before.is_some_and(is_word);
        // `curve.fit(` is not a test.
        let is_method = matches!(mark, "fit(" | "xit(") && before == Some('.');
        let goes_on = mark.ends_with(is_word) && after.is_some_and(is_word);
        let ends = match kind {
            Tautology if mark == "expect(true).to" => !goes_on,
            // `assert True and x` can fail.
            Tautology => {
                !mark.ends_with(is_word) || after.is_none_or(|c| matches!(c, ',' | ')' | ';' | '#'))
            }
            Swallow => !goes_on,
            // `pytest.mark.skip` is also `pytest.mark.skipif`.
            Skip | Only | Runner => true,
        };
        !runs_on && !is_method && ends
    });
    found.count()
}

/// `assert_eq!(1,1)`, `assert1==1`, `assertEqual("a","a")`: two literals that are the same.
fn is_equal_literals(dense: &str) -> bool {
    let is_literal = |text: &str| {
        let is_number = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.');
        let inner = text.strip_prefix(['"', '\'']).and_then(|text| text.strip_suffix(['"', '\'']));
        let is_string = inner.is_some_and(|inner| !inner.contains(['"', '\'']));
        is_number
            || is_string
            || matches!(text, "true" | "false" | "True" | "False" | "None" | "null")
    };
    let pair = |text: &str, between: &str| {
        text.split_once(between).is_some_and(|(one, other)| one == other && is_literal(one))
    };
    for start in
        ["assert_eq!(", "assertEqual(", "assertEquals(", "assert.Equal(t,", "Assert.AreEqual("]
    {
        if let Some((_, rest)) = dense.split_once(start)
            && let Some((inside, _)) = rest.split_once(')')
            && pair(inside, ",")
        {
            return true;
        }
    }
    dense.strip_prefix("assert").is_some_and(|rest| {
        let rest = rest.trim_start();
        let rest = rest.strip_prefix("!(").and_then(|rest| rest.split(')').next()).unwrap_or(rest);
        pair(rest.split(',').next().unwrap_or(rest), "==") || matches!(rest, "1" | "1;")
    })
}

/// How many assertions a line makes.
fn assertions(code: &str, language: Language) -> usize {
    let words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
    let by_word = words.filter(|word| {
        let lower = word.to_ascii_lowercase();
        let is_assertion = ["assert", "refute", "prop_assert", "debug_assert", "xctassert"];
        is_assertion.iter().any(|start| lower.starts_with(start)) && !lower.ends_with("error")
    });
    let count = by_word.count();
    let also = |marks: &[&str]| marks.iter().map(|mark| code.matches(mark).count()).sum::<usize>();
    let is_import = ["import ", "use ", "from ", "require", "using "]
        .iter()
        .any(|start| code.starts_with(start));
    if is_import || code.contains("require(") && language == Language::Script {
        return 0;
    }
    let others = match language {
        Language::Python => also(&["pytest.raises", "self.fail("]),
        Language::Script => also(&["expect(", ".should."]),
        Language::Go => also(&["t.Error", "t.Fatal", "t.Fail", "b.Fatal"]),
        Language::Java => also(&["verify(", "fail("]),
        Language::DotNet => also(&[".Should()", "Verify("]),
        Language::Ruby => also(&["expect(", "expect {", ".should ", ".must_"]),
        Language::Shell => also(&["[ ", "[[ ", "grep -q", "diff ", "cmp "]),
        Language::Rust | Language::Elixir | Language::Commands | Language::Other => 0,
    };
    count + others
}

/// Finds the names of tests, line by line.
struct TestNames {
    language: Language,
    /// A mark such as `@Test` stands above, and its function is still to come.
    is_announced: bool,
}

const JAVA_TESTS: &[&str] = &["Test", "ParameterizedTest", "RepeatedTest", "TestFactory"];
const DOTNET_TESTS: &[&str] =
    &["Fact", "Theory", "Test", "TestCase", "TestMethod", "DataTestMethod"];

impl TestNames {
    /// The name of the test that a line begins.
    fn begun_by(&mut self, code: &str) -> Option<String> {
        let word_after = |start: &str| {
            let rest = &code[code.find(start)? + start.len()..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            (end > 0).then(|| rest[..end].to_owned())
        };
        match self.language {
            Language::Rust => {
                let attribute =
                    code.strip_prefix("#[").and_then(|rest| rest.split([']', '(']).next());
                let last = attribute.and_then(|path| path.rsplit("::").next());
                self.is_announced |=
                    matches!(last, Some("test" | "rstest" | "test_case" | "quickcheck"));
                let name = word_after("fn ").filter(|_| self.is_announced)?;
                self.is_announced = false;
                Some(name)
            }
            Language::Python => {
                let is_def = code.starts_with("def test") || code.starts_with("async def test");
                word_after("def ").filter(|_| is_def)
            }
            Language::Go => {
                let name = code.strip_prefix("func ").and_then(|_| word_after("func "))?;
                let kinds = ["Test", "Fuzz", "Example", "Benchmark"];
                kinds.iter().any(|kind| name.starts_with(kind)).then_some(name)
            }
            Language::Java => self.method(code, code.strip_prefix('@'), JAVA_TESTS),
            Language::DotNet => self.method(code, code.strip_prefix('['), DOTNET_TESTS),
            Language::Script => {
                quoted_after(code, &["it", "test", "specify", "xit", "xtest", "fit"])
            }
            Language::Ruby => {
                let named = quoted_after(code, &["it", "specify", "test", "example", "xit", "fit"]);
                named.or_else(|| word_after("def ").filter(|_| code.starts_with("def test_")))
            }
            Language::Elixir => quoted_after(code, &["test", "property"]),
            Language::Shell => {
                let named = code.strip_prefix("@test ").map(|rest| rest.trim_end_matches('{'));
                let function = code.strip_prefix("function ").unwrap_or(code);
                let is_test = function.starts_with("test") && function.contains("()");
                let function = is_test.then(|| function.split("()").next().unwrap_or_default());
                named.or(function).map(|name| name.trim().trim_matches(['"', '\'']).to_owned())
            }
            Language::Commands | Language::Other => None,
        }
    }

    /// The name of a method below, or behind, one of these marks.
    fn method(&mut self, code: &str, mark: Option<&str>, tests: &[&str]) -> Option<String> {
        let word = mark.and_then(|rest| rest.split(|c: char| !c.is_alphanumeric()).next());
        self.is_announced |= word.is_some_and(|word| tests.contains(&word));
        let (before, _) = behind_marks(code).split_once('(').filter(|_| self.is_announced)?;
        let name = before.rsplit([' ', '`', '.']).find(|word| !word.is_empty())?;
        self.is_announced = false;
        Some(name.to_owned())
    }
}

/// What follows annotations such as `@Test(timeout = 1)` or `[Fact]` in the same line.
fn behind_marks(code: &str) -> &str {
    let mut rest = code;
    loop {
        rest = rest.trim_start();
        if let Some(mark) = rest.strip_prefix('@') {
            rest = mark.trim_start_matches(|c: char| is_word(c) || c == '.');
            if rest.starts_with('(') {
                rest = rest.split_once(')').map_or("", |(_, rest)| rest);
            }
        } else if let Some(mark) = rest.strip_prefix('[') {
            rest = mark.split_once(']').map_or("", |(_, rest)| rest);
        } else {
            return rest;
        }
    }
}

/// The text in quotes after a word such as `it(`, `it.each(…)(` or `it "`.
fn quoted_after(code: &str, words: &[&str]) -> Option<String> {
    let end = code.find(|c: char| !c.is_alphanumeric()).unwrap_or(code.len());
    let code = match &code[..end] {
        "await" | "return" | "void" => code[end..].trim_start(),
        _ => code,
    };
    let end = code.find(|c: char| !c.is_alphanumeric())?;
    if !words.contains(&&code[..end]) {
        return None;
    }
    let rest = &code[end..];
    if !rest.starts_with(['(', '.', ' ', '`']) || rest.trim_start().starts_with(['=', ':']) {
        return None;
    }
    let open = rest.find(['"', '\'', '`'])?;
    let quote = rest[open..].chars().next()?;
    let inside = &rest[open + quote.len_utf8()..];
    let close = inside.find(quote).unwrap_or(inside.len());
    Some(inside[..close].to_owned())
}

/// Takes comments away, line by line.
struct CodeLines {
    language: Language,
    /// The mark that ends the comment, or the text without meaning, that is open.
    in_block: Option<&'static str>,
}

impl CodeLines {
    fn code<'l>(&mut self, line: &'l str) -> &'l str {
        let mut line = line;
        if let Some(end) = self.in_block {
            let Some(at) = line.find(end) else { return "" };
            self.in_block = None;
            line = &line[at + end.len()..];
        }
        match self.language {
            Language::Rust
            | Language::Script
            | Language::Go
            | Language::Java
            | Language::DotNet => self.without_slashes(line),
            Language::Python => {
                for quote in ["\"\"\"", "'''"] {
                    let text = line.trim_start();
                    // A text on its own is a comment; one behind an assignment may be, too.
                    if let Some(inside) = text.strip_prefix(quote) {
                        if !inside.contains(quote) {
                            self.in_block = Some(quote);
                        }
                        return "";
                    }
                }
                without_hash(line)
            }
            Language::Ruby | Language::Elixir | Language::Shell | Language::Commands => {
                without_hash(line)
            }
            Language::Other => line,
        }
    }

    fn without_slashes<'l>(&mut self, line: &'l str) -> &'l str {
        let is_directive = self.language == Language::Go && line.starts_with("//go:");
        if is_directive {
            return line;
        }
        let mut quote = None;
        let mut is_escaped = false;
        let mut before = ' ';
        for (at, c) in line.char_indices() {
            if is_escaped {
                is_escaped = false;
            } else if c == '\\' {
                is_escaped = true;
            } else if let Some(open) = quote {
                if c == open {
                    quote = None;
                }
            } else if c == '"' || c == '`' || (c == '\'' && self.language == Language::Script) {
                quote = Some(c);
            } else if before == '/' && c == '/' {
                return &line[..at - 1];
            } else if before == '/' && c == '*' {
                let rest = &line[at + 1..];
                if !rest.contains("*/") {
                    self.in_block = Some("*/");
                }
                return &line[..at - 1];
            }
            before = c;
        }
        line
    }
}

fn without_hash(line: &str) -> &str {
    // A `#` after a space and outside quotes begins a comment.
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c == '#' && before.is_whitespace() => return &line[..at],
            Some(_) | None => {}
        }
        before = c;
    }
    line
}

/// Names that are in one set and not in the other, for messages.
fn missing<'n>(before: &'n [String], after: &[String]) -> BTreeSet<&'n str> {
    let after: BTreeSet<&str> = after.iter().map(String::as_str).collect();
    before.iter().map(String::as_str).filter(|name| !after.contains(name)).collect()
}

#[cfg(test)]
mod tests;
