//! Tests of what counts as weakened, by language.

use super::*;

/// Path, before, after, and words that must be in what is said; none for nothing said.
type Row = (&'static str, &'static str, &'static str, &'static [&'static str]);

const ROWS: &[Row] = &[
    // Rust
    (
        "tests/a.rs",
        "#[test]\nfn a() { assert_eq!(f(), 2); }\n#[tokio::test]\nasync fn b() {}\n",
        "#[test]\nfn a() { assert_eq!(f(), 2); }\n",
        &["1 test removed: b"],
    ),
    (
        "tests/a.rs",
        "#[test]\nfn a() {}",
        concat!("#[test]\n#[ig", "nore]\nfn a() {}"),
        &["line 2: newly skipped"],
    ),
    (
        "tests/a.rs",
        "#[test]\nfn a() { assert!(x); }",
        "#[test]\nfn a() { assert!( true ); }",
        &["cannot fail"],
    ),
    (
        "tests/a.rs",
        "#[test]\nfn a() { assert!(x); }",
        "#[test]\nfn a() { assert_eq!(1, 1); }",
        &["cannot fail"],
    ),
    ("tests/a.rs", "#[test]\nfn a() {}\n", "// #[test]\nfn a() {}\n", &["1 test removed: a"]),
    ("tests/a.rs", "#[test]\nfn a() {}\n", "/*\n#[test]\nfn a() {}\n*/\n", &["1 test removed: a"]),
    (
        "tests/a.rs",
        "#[test]\nfn a() { assert!(x); assert!(y); }",
        "#[test]\nfn a() { assert!(x); }",
        &["fewer assertions: 2 → 1"],
    ),
    ("tests/a.rs", "#[test]\nfn a() {}\n", "#[test]\nfn better_name() {}\n", &[]),
    (
        "tests/a.rs",
        "#[test]\nfn a() {}\n",
        "#[test]\nfn a() { let url = \"http://x\"; assert!(truth); }\n",
        &[],
    ),
    // Python
    (
        "test_a.py",
        "def test_a():\n    assert f() == 2\ndef test_b():\n    assert g()\n",
        "def test_a():\n    assert True\n",
        &["removed: test_b", "line 2: new assertion that cannot fail"],
    ),
    (
        "test_a.py",
        "def test_a(): pass",
        "@pytest.mark.skip(reason='x')\ndef test_a(): pass",
        &["newly skipped"],
    ),
    (
        "test_a.py",
        "def test_a(): pass",
        "@unittest.skipIf(True, 'x')\ndef test_a(): pass",
        &["newly skipped"],
    ),
    ("test_a.py", "x", "def test_a():\n    assert f() or True\n", &["cannot fail"]),
    ("test_a.py", "x", "def test_a():\n    assert 1 == 1\n", &["cannot fail"]),
    ("test_a.py", "x", "def test_a():\n    self.assertTrue(True)\n", &["cannot fail"]),
    ("test_a.py", "x", "def test_a():\n    self.assertTrue(value)\n    assert Truth\n", &[]),
    ("test_a.py", "def test_a(): pass", "\"\"\"\ndef test_a(): pass\n\"\"\"", &["1 test removed"]),
    (
        "conftest.py",
        "",
        "def pytest_collection_modifyitems(items): items.clear()",
        &["how tests are run"],
    ),
    ("test_a.py", "x", "import os\nos._exit(0)", &["swallows"]),
    // JavaScript
    (
        "a.test.ts",
        "it('a', () => { expect(f()).toBe(2) })\ntest(\"b\", () => {})\n",
        "it('a', () => { expect(true).toBe(true) })\n",
        &["removed: b", "cannot fail"],
    ),
    ("a.test.ts", "it('a', f)", "it.skip('a', f)", &["newly skipped: `it.skip(`"]),
    ("a.test.ts", "it('a', f)", "xit('a', f)", &["newly skipped: `xit(`"]),
    ("a.test.ts", "it('a', f)", "it.only('a', f)", &["newly runs only some"]),
    ("a.test.ts", "it('a', f)", "// it('a', f)", &["1 test removed: a"]),
    (
        "a.test.ts",
        "it('a', f)",
        "it('a', f)\nconst x = exit(1); profit(2); await submit('x')\n",
        &[],
    ),
    ("a.test.ts", "it.each([1])('a %s', f)", "it.each([1, 2])('a %s', f)", &[]),
    // Go
    (
        "a_test.go",
        "func TestA(t *testing.T) {\n\tt.Fatal(1)\n}",
        "func TestA(t *testing.T) {\n\tt.Skip(\"x\")\n}",
        &["newly skipped", "fewer assertions: 1 → 0"],
    ),
    (
        "a_test.go",
        "func TestA(t *testing.T) {}\nfunc TestB(t *testing.T) {}",
        "func TestA(t *testing.T) {}",
        &["removed: TestB"],
    ),
    // Java, C#
    (
        "ATest.java",
        "@Test\nvoid adds() {\n assertEquals(2, f());\n}",
        "@Disabled\n@Test\nvoid adds() {\n assertEquals(2, f());\n}",
        &["newly skipped: `@Disabled`"],
    ),
    (
        "ATest.java",
        "@Test\npublic void adds() {}\n@Test void b() {}",
        "@Test\npublic void adds() {}",
        &["removed: "],
    ),
    (
        "ATests.cs",
        "[Fact]\npublic void A() {}",
        "[Fact(Skip = \"x\")]\npublic void A() {}",
        &["newly skipped"],
    ),
    // Ruby, Elixir
    (
        "a_spec.rb",
        "it \"adds\" do\n expect(f).to eq 2\nend",
        "xit \"adds\" do\n expect(f).to eq 2\nend",
        &["newly skipped"],
    ),
    (
        "a_test.exs",
        "test \"adds\" do\n assert f() == 2\nend",
        "@tag :skip\ntest \"adds\" do\n assert f() == 2\nend",
        &["newly skipped"],
    ),
    // Shell and commands
    ("tests/a.sh", "cargo test\n", "cargo test || true\n", &["swallows a failure: `||true`"]),
    ("tests/a.sh", "cargo test\n", "exit 0\ncargo test\n", &["line 1: newly swallows"]),
    ("Makefile", "test:\n\tx\n", "test:\n\t# x || true\n\tx\n", &[]),
    ("tests/a.sh", "cargo test\n", "cargo test # || true\nexit 1\n", &[]),
    (
        "x.bats",
        "@test \"a\" {\n  [ 1 = 1 ]\n}\n@test \"b\" {\n}",
        "@test \"a\" {\n  true\n}",
        &["removed: b"],
    ),
    (
        ".github/workflows/ci.yml",
        "run: make\n",
        "run: make\ncontinue-on-error: true\n",
        &["swallows"],
    ),
    (
        "package.json",
        "{\"test\": \"jest\"}",
        "{\"test\": \"jest --passWithNoTests\"}",
        &["how tests are run"],
    ),
    ("Makefile", "test:\n\tpytest\n", "test:\n\tpytest || true\n", &["swallows"]),
    ("notes.txt", "assert", "", &["fewer assertions: 1 → 0"]),
];

#[test]
fn what_is_weaker_is_said_and_nothing_else() {
    for (path, before, after, expected) in ROWS {
        let said = find_weakening(before, after, path, ChecksProved::No);
        if expected.is_empty() {
            assert_eq!(said, [""; 0], "{path}: {after}");
        }
        for words in *expected {
            assert!(said.iter().any(|line| line.contains(words)), "{path}: {after}\n{said:?}");
        }
    }
}

#[test]
fn a_file_compared_with_itself_has_no_marks() {
    for (path, before, after, _) in ROWS {
        for text in [before, after] {
            assert_eq!(
                find_weakening(text, text, path, ChecksProved::No),
                [""; 0],
                "{path}: {text}"
            );
        }
    }
}

#[test]
fn many_removed_tests_are_counted_after_the_first_names() {
    let before: Vec<String> = (0..15).map(|n| format!("def test_{n:02}(): pass")).collect();
    let before = before.join("\n");
    let said = find_weakening(&before, "", "test_a.py", ChecksProved::No);
    assert_eq!(said.len(), 1);
    assert!(said[0].contains("15 tests removed"), "{said:?}");
    assert!(said[0].ends_with("test_09 and 5 more"), "{said:?}");
}

#[test]
fn any_two_texts_have_an_answer() {
    let mut chance = crate::detect::tests::Chance(5);
    let pieces = [
        "#[test]",
        "fn a",
        "\n",
        "it(",
        "'",
        "\"",
        "`",
        "/*",
        "*/",
        "//",
        "\"\"\"",
        "assert",
        "(",
        ")",
        "é",
        "\\",
        "True",
        "exit 0",
        "@Test",
        "[Fact]",
        "@test ",
        "{",
        "or True",
        "#",
        "==",
        ",",
        "def test_",
    ];
    let paths =
        ["a.rs", "a.py", "a.ts", "a.go", "a.java", "a.cs", "a.rb", "a.exs", "a.sh", "a.yml", "a"];
    for _ in 0..200 {
        let mut text = || {
            let length = chance.below(40);
            (0..length).map(|_| pieces[chance.below(pieces.len())]).collect::<String>()
        };
        let (before, after) = (text(), text());
        for path in paths {
            find_weakening(&before, &after, path, ChecksProved::No);
            assert_eq!(find_weakening(&after, &after, path, ChecksProved::No), [""; 0]);
        }
    }
}

#[test]
fn what_keeps_tests_from_failing_is_told_in_new_files_too() {
    let proved = ChecksProved::No;
    for (path, text, mark) in [
        ("tests/test_a.py", "import os\nos._exit(0)\n", "os._exit"),
        (
            "tests/test_a.py",
            "import calc\ncalc.add = lambda a, b: a + b\n",
            "assignment to what is imported",
        ),
        ("tests/test_a.py", "from calc import add\nadd = max\n", "assignment to what is imported"),
        (
            "tests/test_a.py",
            "import unittest\nunittest.TestCase.run = None\n",
            "assignment to what is imported",
        ),
        (
            "tests/test_a.py",
            "class TestA(T):\n    pass\nTestA.run = None\n",
            "assignment to what is imported",
        ),
        ("tests/test_a.py", "def load_tests(a, b, c):\n    return None\n", "def load_tests("),
        (
            "tests/test_a.py",
            "def test_a():\n    return\n    assert x\n",
            "return as first line of a test",
        ),
        ("tests/test_a.py", "def test_a(): return\n", "return"),
        (
            "tests/test_a.py",
            "def test_a():\n    assert x\ndef test_a():\n    pass\n",
            "a test defined twice",
        ),
        (
            "tests/test_a.py",
            "class TestA(T):\n    pass\n\nclass TestA(T):\n    pass\n",
            "a test defined twice",
        ),
        ("tests/test_a.py", "del TestA\n", "del"),
        ("tests/test_a.py", "@unittest.skip('x')\nclass TestA(T):\n    pass\n", "unittest.skip("),
        ("a.test.js", "test('x', () => {\n  return;\n", "return as first line of a test"),
        (
            "a.test.js",
            "const calc = require('./calc');\ncalc.add = f;\n",
            "assignment to what is imported",
        ),
        (
            "a.test.mjs",
            "import calc from './calc.js';\ncalc.add = f;\n",
            "assignment to what is imported",
        ),
        ("a.test.js", "process.exit();\n", "process.exit()"),
        ("tests/a.sh", "exit\n", "exit"),
        ("tests/a.sh", "test() { :; }\n", "function named like a command"),
    ] {
        let marks = find_marks(text, path, proved);
        assert_eq!(marks.len(), 1, "{text}: {marks:?}");
        assert!(marks[0].ends_with(&format!("`{mark}`")), "{text}: {marks:?}");
    }
}

#[test]
fn honest_new_tests_have_no_marks() {
    for (path, text) in [
        ("tests/test_a.py", "import os\nos.environ['A'] = 'b'\n"),
        ("tests/test_a.py", "import unittest\nunittest.TestCase.maxDiff = None\n"),
        (
            "tests/test_a.py",
            "import calc\n\ndef test_a():\n    calc.now = lambda: 1\n    assert calc.f() == 1\n",
        ),
        (
            "tests/test_a.py",
            "class A(T):\n    def test_a(self):\n        x()\n\nclass B(T):\n    def test_a(self):\n        y()\n",
        ),
        ("tests/test_a.py", "@unittest.skipIf(windows, 'x')\nclass TestA(T):\n    pass\n"),
        (
            "a.test.js",
            "test('a', { skip: process.platform === 'win32' && 'x' }, () => {\n  expect(1).toBe(f())\n})\n",
        ),
        ("tests/test_a.py", "def test_a():\n    return_value = f()\n"),
        ("a.test.js", "const calc = require('./calc');\nconst sum = calc.add(1, 2);\n"),
        ("a.test.js", "global.fetch = jest.fn();\nprocess.env.A = 'b';\n"),
        ("a_test.go", "func TestA(t *testing.T) {\n\tif testing.Short() {\n\t\tt.Skip()\n"),
        ("tests/a.sh", "x=$(f) || true\n[ \"$x\" = 1 ] || exit 1\nexit 0\n"),
    ] {
        assert_eq!(find_marks(text, path, ChecksProved::Yes), [""; 0], "{text}");
    }
}

#[test]
fn where_checks_are_proved_fewer_assertions_are_no_weakness_until_none_is_left() {
    let before = "def test_a():\n    assert f(1) == 2\ndef test_b():\n    assert f(2) == 3\n";
    let helped = "def check(a, b):\n    assert f(a) == b\ndef test_a():\n    check(1, 2)\ndef test_b():\n    check(2, 3)\n";
    let empty = "def test_a():\n    f(1)\ndef test_b():\n    f(2)\n";
    let weaker = |after, proved| find_weakening(before, after, "test_a.py", proved).len();
    assert_eq!((weaker(helped, ChecksProved::No), weaker(helped, ChecksProved::Yes)), (1, 0));
    assert_eq!((weaker(empty, ChecksProved::No), weaker(empty, ChecksProved::Yes)), (1, 1));
}
