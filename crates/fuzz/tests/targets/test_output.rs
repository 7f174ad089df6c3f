//! The output of checks: an excerpt is within its bounds, and tests that are named are in the output.

use forge_fuzz::FuzzTarget;
use forge_project::test_output::{excerpt, read_test_outcomes};

/// The most bytes of a name with its place: 500 of each.
const NAME_BYTES_MAX: usize = 5_000;

#[test]
fn an_excerpt_is_within_its_bounds_and_every_named_test_is_in_the_output() {
    let tokens = &[
        "test a::b ... ok\n",
        "test a ... FAILED\n",
        "test result: FAILED. 1 passed; 1 failed\n",
        "---- a::b stdout ----\n",
        "panicked at ",
        "     Running unittests src/lib.rs (target/debug/deps/a-0)\n",
        "ok 1 - name\n",
        "not ok 2 - other # SKIP\n",
        "--- FAIL: TestX (0.00s)\n",
        "=== RUN   TestX\n",
        "PASSED tests/a.py::b\n",
        "tests/a.py::b FAILED\n",
        "  ✓ works (3 ms)\n",
        "  ✕ breaks\n",
        "FAIL src/a.test.js\n",
        "● suite › name\n",
        "<testcase name=\"a\" classname=\"b\">",
        "<failure>",
        "  Passed A.B.C [1 ms]\n",
        "  Failed A.B.D [1 ms]\n",
        "error: ",
        "warning: ",
        "E   assert",
        "Traceback (most recent call last):\n",
        "\x1b[32m",
        "PASS [   0.005s] a b::c\n",
    ];
    FuzzTarget { name: "test-output", check, tokens, bytes_max: 32 * 1024 }.run();
}

fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for (lines_max, bytes_max) in [(0, 0), (1, 10), (4, 160), (5, 200), (20, 1_000), (120, 8_000)] {
        let short = excerpt(&text, lines_max, bytes_max);
        assert!(short.len() <= bytes_max, "{} of {bytes_max} bytes", short.len());
        assert!(
            short.lines().count() <= lines_max,
            "{} of {lines_max} lines",
            short.lines().count()
        );
        let is_control = |c: char| c.is_control() && c != '\n' && c != '\t';
        assert!(!short.contains(is_control), "a control character is in {short:?}");
    }
    // A name may be put together from several lines, and an escape sequence may stand in the middle of a word.
    let is_in = |word: &str, line: &str| {
        let mut rest = line.chars().flat_map(char::to_lowercase);
        word.chars().flat_map(char::to_lowercase).all(|c| rest.any(|other| other == c))
    };
    for name in read_test_outcomes(&text).unwrap_or_default().into_keys() {
        assert!(name.len() <= NAME_BYTES_MAX, "a name of {} bytes", name.len());
        for word in name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            // Places of the same name are counted.
            let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
            let is_there = is_number || text.lines().any(|line| is_in(word, line));
            assert!(is_there, "{word:?} of {name:?} is not in the output");
        }
    }
}
