//! Tests with outputs of the real runners. Those of cargo, nextest, pytest, unittest, node, jest,
//! vitest and mocha were made by running them; the others are written after their documentation.

use super::{
    TestOutcome::{Failed, Passed, Skipped},
    *,
};

/// Reads an output, one `name: outcome` per test.
fn outcomes(output: &str) -> Vec<String> {
    let tests = read_test_outcomes(output).unwrap_or_default();
    tests.iter().map(|(name, outcome)| format!("{name}: {}", outcome.as_str())).collect()
}

#[test]
fn cargo_tests_carry_their_binary_where_names_collide() {
    let output = "   Compiling samp v0.1.0 (/tmp/rs)
     Running unittests src/lib.rs (/tmp/target/debug/deps/samp-f991f4a988a6d072)

running 4 tests
test tests::adds ... ok
test tests::later ... ignored, later
test tests::breaks ... FAILED
test tests::panics - should panic ... ok

failures:

---- tests::breaks stdout ----
some out

thread 'tests::breaks' (18242) panicked at src/lib.rs:13:46:
assertion `left == right` failed: why

failures:
    tests::breaks

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.12s

error: test failed, to rerun pass `--lib`
     Running unittests src/main.rs (/tmp/target/debug/deps/samp-d587617553060f4f)

running 1 test
test tests::adds ... ok

     Running tests/it.rs (/tmp/target/debug/deps/it-9a1759ff38001968)

running 2 tests
test adds ... what it printed
ok
test it_breaks ... FAILED

   Doc-tests samp

running 2 tests
test src/lib.rs - one (line 6) ... ignored
test src/lib.rs - one (line 2) ... ok
     Running tests/it.rs (/tmp/target/debug/deps/it-1111111111111111)
test adds ... FAILED
";
    assert_eq!(
        outcomes(output),
        [
            "it tests/it.rs #2 adds: failed",
            "it tests/it.rs adds: passed",
            "it_breaks: failed",
            "samp src/lib.rs tests::adds: passed",
            "samp src/main.rs tests::adds: passed",
            "src/lib.rs - one (line 2): passed",
            "src/lib.rs - one (line 6): skipped",
            "tests::breaks: failed",
            "tests::later: skipped",
            "tests::panics: passed",
        ]
    );
    let quiet = "running 4 tests\n.i 2/4\ntests::breaks --- FAILED\n.\n";
    assert_eq!(outcomes(quiet), ["tests::breaks: failed"]);
}

#[test]
fn nextest_is_read_without_what_tests_printed() {
    let output = " Nextest run ID 9e438930 with nextest profile: default
    Starting 6 tests across 3 binaries (1 test skipped)
        PASS [   0.006s] (1/6) samp tests::adds
        FAIL [   0.132s] (2/6) samp tests::breaks
  stdout ───

    running 1 test
    test tests::breaks ... FAILED

        PASS [   0.007s] (4/6) samp::it adds
        PASS [   0.006s] (5/6) samp::bin/samp tests::adds
     TIMEOUT [  60.006s] samp::it hangs
     SIGSEGV [   0.006s] samp::it crashes
  TRY 1 FAIL [   0.006s] samp::it flaky
   FLAKY 2/3 [   0.006s] samp::it flaky
        SLOW [> 60.000s] samp::it slow
     Summary [   0.254s] 6 tests run: 4 passed, 2 failed, 1 skipped
        FAIL [   0.132s] (2/6) samp tests::breaks
error: test run failed
";
    assert_eq!(
        outcomes(output),
        [
            "adds: passed",
            "crashes: failed",
            "flaky: passed",
            "hangs: failed",
            "samp tests::adds: passed",
            "samp::bin/samp tests::adds: passed",
            "tests::breaks: failed",
        ]
    );
}

const PYTEST_VERBOSE: &str = "\
============================= test session starts ==============================
platform linux -- Python 3.11.7, pytest-9.2.0, pluggy-1.7.0 -- /tmp/v/bin/python3
collecting ... collected 8 items

test_math.py::test_adds PASSED                                           [ 12%]
test_math.py::test_breaks FAILED                                         [ 25%]
test_math.py::test_later SKIPPED (later)                                 [ 37%]
test_math.py::test_par[a b] PASSED                                       [ 50%]
test_math.py::test_par[c - d] PASSED                                     [ 62%]
test_math.py::test_xf XFAIL                                              [ 75%]
test_math.py::test_err ERROR                                             [ 87%]
test_math.py::TestX::test_in PASSED                                      [100%]

=================================== FAILURES ===================================
_________________________________ test_breaks __________________________________
test_math.py:5: in test_breaks
    assert 1 == 2
E   assert 1 == 2
";

const PYTEST_SUMMARY: &str = "\
=========================== short test summary info ============================
PASSED test_math.py::test_adds
PASSED test_math.py::test_par[a b]
PASSED test_math.py::test_par[c - d]
PASSED test_math.py::TestX::test_in
SKIPPED [1] test_math.py:6: later
XFAIL test_math.py::test_xf
ERROR test_math.py::test_err - RuntimeError: no
FAILED test_math.py::test_breaks - assert 1 == 2
========== 1 failed, 4 passed, 1 skipped, 1 xfailed, 1 error in 0.04s ==========
";

#[test]
fn pytest_is_read_in_each_of_its_forms() {
    let verbose = outcomes(PYTEST_VERBOSE);
    assert_eq!(
        verbose,
        [
            "test_math.py::TestX::test_in: passed",
            "test_math.py::test_adds: passed",
            "test_math.py::test_breaks: failed",
            "test_math.py::test_err: failed",
            "test_math.py::test_later: skipped",
            "test_math.py::test_par[a b]: passed",
            "test_math.py::test_par[c - d]: passed",
            "test_math.py::test_xf: skipped",
        ]
    );
    assert_eq!(outcomes(&format!("{PYTEST_VERBOSE}{PYTEST_SUMMARY}")), verbose);
    let summary = outcomes(PYTEST_SUMMARY);
    let without_skipped: Vec<&String> =
        verbose.iter().filter(|line| !line.contains("test_later")).collect();
    assert_eq!(summary.iter().collect::<Vec<_>>(), without_skipped);
    let short = "test_math.py .Fs..xE.   [100%]
=========================== short test summary info ============================
FAILED test_math.py::test_breaks - assert 1 == 2
ERROR test_broken.py - SyntaxError: invalid syntax
=========================== 1 failed, 1 error in 0.04s =========================
";
    assert_eq!(outcomes(short), ["test_broken.py: failed", "test_math.py::test_breaks: failed"]);
    let workers = "[gw0] [ 12%] PASSED a.py::test_a \n[gw1] [ 25%] FAILED a.py::test_b\n";
    assert_eq!(outcomes(workers), ["a.py::test_a: passed", "a.py::test_b: failed"]);
}

#[test]
fn unittest_is_read_with_doc_strings_subtests_and_noise() {
    let output = "test_bad (test_u.T.test_bad) ... FAIL
test_doc (test_u.T.test_doc)
Says what it does. ... ok
test_err (test_u.T.test_err) ... ERROR
test_noise (test_u.T.test_noise) ... noise
ok
test_ok (test_u.T.test_ok) ... ok
test_skip (test_u.T.test_skip) ... skipped 'later'
test_sub (test_u.T.test_sub) ... 
  test_sub (test_u.T.test_sub) (i=1) ... FAIL
test_xf (test_u.T.test_xf) ... expected failure
test_old (test_u.Old) ... ok

======================================================================
ERROR: test_err (test_u.T.test_err)
----------------------------------------------------------------------
Traceback (most recent call last):
ValueError

Ran 8 tests in 0.002s

FAILED (failures=2, errors=1, skipped=1, expected failures=1)
";
    assert_eq!(
        outcomes(output),
        [
            "test_u.Old.test_old: passed",
            "test_u.T.test_bad: failed",
            "test_u.T.test_doc: passed",
            "test_u.T.test_err: failed",
            "test_u.T.test_noise: passed",
            "test_u.T.test_ok: passed",
            "test_u.T.test_skip: skipped",
            "test_u.T.test_sub: failed",
            "test_u.T.test_xf: skipped",
        ]
    );
    let short = "F.E\n======\nFAIL: test_bad (test_u.T.test_bad)\n------\n";
    assert_eq!(outcomes(short), ["test_u.T.test_bad: failed"]);
}

#[test]
fn go_is_read_with_the_package_where_names_collide() {
    let output = "=== RUN   TestAdd
--- PASS: TestAdd (0.00s)
=== RUN   TestTable
=== RUN   TestTable/a_b
    x_test.go:9: want 2
--- FAIL: TestTable (0.00s)
    --- FAIL: TestTable/a_b (0.00s)
=== RUN   TestLater
    x_test.go:12: later
--- SKIP: TestLater (0.00s)
FAIL
FAIL\texample.com/x\t0.003s
=== RUN   TestAdd
printed without end--- PASS: TestAdd (0.01s)
PASS
ok  \texample.com/y\t0.002s
=== RUN   TestCrash
panic: boom
FAIL\texample.com/z\t0.002s
FAIL
";
    assert_eq!(
        outcomes(output),
        [
            "TestCrash: failed",
            "TestLater: skipped",
            "TestTable: failed",
            "TestTable/a_b: failed",
            "example.com/x TestAdd: passed",
            "example.com/y TestAdd: passed",
        ]
    );
    let short =
        "--- FAIL: TestX (0.00s)\n    a_test.go:3: no\nFAIL\nFAIL\tm\t0.1s\nok  \tn\t0.1s\n";
    assert_eq!(outcomes(short), ["TestX: failed"]);
}

#[test]
fn tap_is_read_with_its_nesting() {
    let node = "TAP version 13
# Subtest: adds
ok 1 - adds
  ---
  duration_ms: 2.062295
  ...
# Subtest: breaks
not ok 2 - breaks
  ---
  error: '1 == 2'
  ...
# Subtest: later
ok 3 - later # SKIP
# Subtest: some day
ok 4 - some day # TODO
# Subtest: group
    # Subtest: inner ok
    ok 1 - inner ok
    # Subtest: deep
        # Subtest: d1
        ok 1 - d1
        1..1
    ok 3 - deep
    1..3
not ok 5 - group
1..5
# tests 7
";
    assert_eq!(
        outcomes(node),
        [
            "adds: passed",
            "breaks: failed",
            "group: failed",
            "group › deep: passed",
            "group › deep › d1: passed",
            "group › inner ok: passed",
            "later: skipped",
            "some day: skipped",
        ]
    );
    let bats = "1..3\nok 1 adds # 2\nnot ok 2 breaks\n# (in test file a.bats, line 3)\nok 3 later # skip why\n";
    assert_eq!(outcomes(bats), ["adds # 2: passed", "breaks: failed", "later: skipped"]);
    let prove =
        "t/basic.t .. ok\nt/bad.t .... Failed 1/3 subtests\nt/no.t ..... skipped: why\nAll done.\n";
    assert_eq!(outcomes(prove), ["t/bad.t: failed", "t/basic.t: passed", "t/no.t: skipped"]);
    assert_eq!(read_test_outcomes("ok 1 of 3 files copied\nok then\n"), None);
    assert_eq!(outcomes("1..1\nok then\nok 1 - a\n"), ["a: passed"]);
}

#[test]
fn nodes_own_reporter_is_read_without_its_repetition() {
    let output = "✔ adds (1.845081ms)
✖ breaks (1.822824ms)
  AssertionError [ERR_ASSERTION]: 1 == 2
      at TestContext.<anonymous> (file:///tmp/a.test.mjs:2:50) {
    expected: 2,
  }

﹣ later (0.276022ms) # SKIP
✔ some day (0.171446ms) # TODO
▶ group
  ✔ inner ok (0.347151ms)
  ✖ inner bad (0.294215ms)
    Error: x

  ▶ deep
    ✔ d1 (0.312484ms)
  ✔ deep (0.563521ms)
✖ group (3.6627ms)
ℹ tests 7
ℹ suites 2
ℹ pass 3

✖ failing tests:

test at a.test.mjs:2:23
✖ breaks (1.822824ms)
  AssertionError [ERR_ASSERTION]: 1 == 2

test at a.test.mjs:3:48
✖ inner bad (0.294215ms)
  Error: x
";
    let tests = outcomes(output);
    assert!(tests.contains(&"group › inner ok: passed".to_owned()), "{tests:?}");
    assert!(tests.contains(&"later: skipped".to_owned()), "{tests:?}");
    assert!(tests.contains(&"some day: skipped".to_owned()), "{tests:?}");
    assert!(tests.contains(&"breaks: failed".to_owned()), "{tests:?}");
    assert!(!tests.contains(&"inner bad: failed".to_owned()), "{tests:?}");
    assert_eq!(tests.len(), 9, "{tests:?}");
    assert_eq!(outcomes(&output.repeat(2)), tests);
}

#[test]
fn jest_is_read_with_groups_and_files_that_did_not_load() {
    let output = "FAIL vt/x.test.js
  ● Test suite failed to run

    Here's what you can do:
     - Configure a transform (e.g. babel-jest)
     1) not a test

FAIL j/x.test.js
  ✓ top (1 ms)
  sum
    ✓ adds (3 ms)
    ✕ breaks (4 ms)
    ○ skipped later
    ✎ todo someday
    deep
      ✓ d1 (1 ms)

  ● sum › breaks

    expect(received).toBe(expected) // Object.is equality

    Expected: 2
    Received: 1

Test Suites: 2 failed, 2 total
Tests:       1 failed, 1 skipped, 1 todo, 3 passed, 6 total
Snapshots:   0 total
";
    assert_eq!(
        outcomes(output),
        [
            "sum › adds: passed",
            "sum › breaks: failed",
            "sum › deep › d1: passed",
            "sum › later: skipped",
            "sum › someday: skipped",
            "top: passed",
            "vt/x.test.js: failed",
        ]
    );
    let short = "PASS a.test.js\nFAIL j/x.test.js\n  ● Console\n\n  ● sum › breaks\n\nTests:       1 failed, 2 total\n";
    assert_eq!(outcomes(short), ["sum › breaks: failed"]);
    let doubles = "PASS a.test.js\n  ✓ x (1 ms)\nPASS b.test.js\n  ✓ x (1 ms)\n\nTests:       2 passed, 2 total\n";
    assert_eq!(outcomes(doubles), ["a.test.js x: passed", "b.test.js x: passed"]);
}

#[test]
fn vitest_is_read_through_its_colours() {
    let verbose = "\u{1b}[1m\u{1b}[30m\u{1b}[46m RUN \u{1b}[49m\u{1b}[39m\u{1b}[22m \u{1b}[36mv4.1.12 \u{1b}[39m

 \u{1b}[32m✓\u{1b}[39m vt/x.test.js\u{1b}[2m > \u{1b}[22msum\u{1b}[2m > \u{1b}[22madds\u{1b}[32m 3\u{1b}[2mms\u{1b}[22m\u{1b}[39m
 \u{1b}[31m×\u{1b}[39m vt/x.test.js\u{1b}[2m > \u{1b}[22msum\u{1b}[2m > \u{1b}[22mbreaks\u{1b}[32m 9\u{1b}[2mms\u{1b}[22m\u{1b}[39m
\u{1b}[31m   → expected 1 to be 2 // Object.is equality\u{1b}[39m
 \u{1b}[2m\u{1b}[90m↓\u{1b}[39m\u{1b}[22m vt/x.test.js\u{1b}[2m > \u{1b}[22msum\u{1b}[2m > \u{1b}[22mlater
 \u{1b}[2m\u{1b}[90m□\u{1b}[39m\u{1b}[22m vt/x.test.js\u{1b}[2m > \u{1b}[22msum\u{1b}[2m > \u{1b}[22msomeday
 \u{1b}[32m✓\u{1b}[39m vt/x.test.js\u{1b}[2m > \u{1b}[22mtop\u{1b}[32m 0\u{1b}[2mms\u{1b}[22m\u{1b}[39m

\u{1b}[2m      Tests \u{1b}[22m \u{1b}[1m\u{1b}[31m1 failed\u{1b}[39m\u{1b}[22m\u{1b}[2m | \u{1b}[22m3 passed (6)
";
    assert_eq!(
        outcomes(verbose),
        [
            "sum › adds: passed",
            "sum › breaks: failed",
            "sum › later: skipped",
            "sum › someday: skipped",
            "top: passed",
        ]
    );
    let short = " ✓ vt/y.test.js (3 tests) 4ms
 ❯ vt/x.test.js (6 tests | 1 failed) 16ms
     ✓ adds 2ms
     × breaks 10ms
     ↓ later
   ✓ top 0ms

 Test Files  1 failed (1)
      Tests  1 failed | 3 passed (6)
";
    assert_eq!(
        outcomes(short),
        ["adds: passed", "breaks: failed", "later: skipped", "top: passed"]
    );
}

#[test]
fn mocha_is_read_without_its_list_of_failures() {
    let output = "
> mocha

  Array
    ✔ outer
    #indexOf()
      ✔ gives -1
      1) breaks
      - later
      ✔ slow (82ms)


  3 passing (103ms)
  1 pending
  1 failing

  1) Array
       #indexOf()
         breaks:

      AssertionError [ERR_ASSERTION]: 1 == 2
      + expected - actual

      - 1
      +2
";
    assert_eq!(
        outcomes(output),
        [
            "Array › #indexOf() › breaks: failed",
            "Array › #indexOf() › gives -1: passed",
            "Array › #indexOf() › later: skipped",
            "Array › #indexOf() › slow: passed",
            "Array › outer: passed",
        ]
    );
    assert_eq!(outcomes(&output.repeat(2)), outcomes(output));
}

#[test]
fn a_test_that_failed_once_is_failed() {
    let output = "FAILED a.py::test_x - why\nPASSED a.py::test_x\n";
    assert_eq!(outcomes(output), ["a.py::test_x: failed"]);
}

#[test]
fn rspec_examples_have_the_same_name_in_both_of_its_lists() {
    let output = "
Calculator
  #add
    adds numbers
    breaks (FAILED - 1)
    later (PENDING: Temporarily skipped with xit)
  is calm

Pending: (Failures listed here are expected and do not affect your suite's status)

  1) Calculator#add later

Failures:

  1) Calculator#add breaks
     Failure/Error: expect(1).to eq 2

Finished in 0.01 seconds (files took 0.08 seconds to load)
4 examples, 1 failure, 1 pending

Failed examples:

rspec ./spec/calc_spec.rb:10 # Calculator#add breaks
";
    assert_eq!(
        outcomes(output),
        [
            "Calculator is calm: passed",
            "Calculator#add adds numbers: passed",
            "Calculator#add breaks: failed",
            "Calculator#add later: skipped",
        ]
    );
}

#[test]
fn the_others_are_read() {
    let table: &[(&str, &[&str])] = &[
        (
            "[INFO] Running com.x.AppTest
[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.05 s <<< FAILURE! -- in com.x.AppTest
[ERROR] com.x.AppTest.adds -- Time elapsed: 0.01 s <<< FAILURE!
[ERROR] old(com.x.OldTest)  Time elapsed: 0.005 sec  <<< ERROR!
[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.05 s -- in com.x.OkTest
[WARNING] Tests run: 1, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 0.05 s -- in com.x.NoTest
[ERROR] Tests run: 6, Failures: 1, Errors: 0, Skipped: 1
",
            &[
                "com.x.AppTest: failed",
                "com.x.AppTest.adds: failed",
                "com.x.NoTest: skipped",
                "com.x.OkTest: passed",
                "com.x.OldTest.old: failed",
            ],
        ),
        (
            "> Task :test FAILED\n\ncom.x.AppTest > adds() PASSED\n\nAppTest > breaks FAILED\n    org.opentest4j\nAppTest > no SKIPPED\n",
            &["AppTest > breaks: failed", "AppTest > no: skipped", "com.x.AppTest > adds(): passed"],
        ),
        (
            "  Passed Ns.A.Adds [12 ms]\n  Failed Ns.A.Breaks(x: 1) [< 1 ms]\n  Error Message:\n  Skipped Ns.A.Later [1 ms]\n[xUnit.net 00:00:00.51]     Ns.A.Breaks(x: 1) [FAIL]\nPassed!  - Failed: 0\n",
            &["Ns.A.Adds: passed", "Ns.A.Breaks(x: 1): failed", "Ns.A.Later: skipped"],
        ),
        (
            "MathTest [test/math_test.exs]\n  * test adds [L#5]\r  * test adds (0.01ms) [L#5]\n  * test later (skipped) [L#8]\n  * test breaks (3.3ms) [L#9]\n\n  1) test breaks (MathTest)\n     test/math_test.exs:9\n",
            &["MathTest test adds: passed", "MathTest test breaks: failed", "MathTest test later: skipped"],
        ),
        (
            "MathTest#test_adds = 0.00 s = .\nMathTest#test_bad = 0.01 s = F\n",
            &["MathTest#test_adds: passed", "MathTest#test_bad: failed"],
        ),
        (
            " ✓ adds\n ✗ breaks\n   (in test file a.bats, line 3)\n - later (skipped)\n\n3 tests, 1 failure, 1 skipped\n",
            &["adds: passed", "breaks: failed"],
        ),
    ];
    for (output, expected) in table {
        assert_eq!(outcomes(output), *expected, "{output}");
    }
}

#[test]
fn an_output_that_names_no_test_says_nothing() {
    for output in [
        "",
        "\n",
        "all good\n",
        "✓ 34 modules transformed.\n✓ built in 2s\n",
        "test result: ok. 3 passed; 0 failed\n",
        "....\n4 passed in 0.1s\n",
        "ok  \texample.com/x\t0.003s\n",
        "  1) first do this\n  - then that\n",
        "INFO: loaded (a.b) ... ok?\n",
        "BUILD FAILED\n",
        "error: test failed\n",
    ] {
        assert_eq!(read_test_outcomes(output), None, "{output}");
    }
}

#[test]
fn outputs_of_several_runners_are_read_together() {
    let output = format!("test a ... ok\n{PYTEST_SUMMARY}--- FAIL: TestX (0.00s)\nFAIL\tm\t0.1s\n");
    let tests = read_test_outcomes(&output).unwrap();
    assert_eq!(tests["a"], Passed);
    assert_eq!(tests["TestX"], Failed);
    assert_eq!(tests["test_math.py::test_xf"], Skipped);
}

#[test]
fn a_flood_is_read_at_its_start_and_its_end() {
    assert_eq!(kept_lines("1\n2\n3\n4\n5\n6\n7", 4), ["1", "2", "6", "7"]);
    assert_eq!(kept_lines("1\n\n \n\n2", 4), ["1", "", "2"]);
    assert_eq!(kept_lines("1\n2\n3\n4", 4), ["1", "2", "3", "4"]);
}

#[test]
fn names_and_their_number_have_limits() {
    let output = format!("test {} ... ok\n", "é".repeat(1000));
    let tests = read_test_outcomes(&output).unwrap();
    assert!(tests.keys().all(|name| name.len() <= outcomes::NAME_BYTES_MAX));
    let deep: Vec<String> =
        (0..200).map(|n| format!("{}# Subtest: {}", " ".repeat(n), "x".repeat(900))).collect();
    let output = format!("1..1\n{}\n{}ok 1 - a\n", deep.join("\n"), " ".repeat(201));
    assert!(
        read_test_outcomes(&output)
            .unwrap()
            .keys()
            .all(|name| name.len() <= outcomes::NAME_BYTES_MAX)
    );
    let mut all = Outcomes::new(2);
    for name in ["a", "b", "c", "d"] {
        all.add("", name, Passed);
    }
    assert_eq!(all.into_named().into_keys().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn any_output_has_an_answer() {
    let mut chance = crate::detect::tests::Chance(13);
    let pieces = [
        "test ",
        " ... ",
        "ok",
        "FAILED",
        "\n",
        "\n",
        "    ",
        "✓ ",
        "(3 ms)",
        "1..2",
        "not ok 1",
        "# SKIP",
        "--- FAIL: ",
        "(0.0s)",
        "::",
        ".py",
        " PASSED",
        "[gw",
        "] ",
        "[",
        "é",
        "1) ",
        "- ",
        "Running ",
        "(",
        ")",
        " > ",
        "Tests: 1 (",
        "Tests run: ",
        " in ",
        "<<< ",
        "  * ",
        " [L#",
        "=== RUN ",
        "FAIL\t",
        "rspec ",
        " # ",
        "1 examples, failure",
        "\u{1b}[",
        "\r",
        "● ",
        "▶ ",
        "x.js",
        "1 passing ()",
    ];
    for _ in 0..4000 {
        let length = chance.below(60);
        let output: String = (0..length).map(|_| pieces[chance.below(pieces.len())]).collect();
        let tests = read_test_outcomes(&output);
        assert!(
            tests
                .is_none_or(|tests| !tests.is_empty() && tests.keys().all(|name| !name.is_empty()))
        );
    }
}

#[test]
fn tests_that_have_no_names_are_counted() {
    for (output, expected) in [
        ("....\nRan 4 tests in 0.001s\n\nOK (skipped=1)\n", Some((4, 1))),
        ("Ran 1 test in 0.001s\n\nFAILED (failures=1)\nRan 2 tests in 1s\n\nOK\n", Some((3, 0))),
        ("===== 3 passed, 2 skipped, 1 failed, 1 warning in 0.12s =====\n", Some((6, 2))),
        (
            "Test Suites: 2 passed, 2 total\nTests:       1 skipped, 3 passed, 4 total\n",
            Some((4, 1)),
        ),
        ("# tests 5\n# suites 0\n# pass 4\n# skipped 1\n", Some((5, 1))),
        (
            "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
             test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
            Some((4, 1)),
        ),
        ("all good\n", None),
    ] {
        let expected = expected.map(|(all, skipped)| TestCounts { all, skipped });
        assert_eq!(read_test_counts(output), expected, "{output}");
    }
}

#[test]
fn a_runner_that_can_name_its_tests_is_asked_to() {
    let named = |command: &str| naming_tests(command).split_once("; ").unwrap().1.to_owned();
    assert_eq!(
        named("python3 -m unittest discover -s tests"),
        "python3 -m unittest discover -v -s tests"
    );
    assert_eq!(named("python3 -m unittest"), "python3 -m unittest -v");
    assert_eq!(named("make test"), "make test");
}
