//! Documents of strangers: whatever bytes they have, a terminal gets text and Forge's own colours.

use forge_fuzz::FuzzTarget;

use super::*;
use crate::{palette::Hue, text_width};

/// The escape sequences that Forge itself writes.
const OWN_COLOURS: &[&str] =
    &["\x1b[0m", "\x1b[1m", "\x1b[3m", Hue::Blue.code(), Hue::Green.code(), Hue::Red.code()];

#[test]
fn a_document_of_any_bytes_is_shown_without_control_characters_and_within_its_width() {
    let tokens = &[
        "# ",
        "## ",
        "- ",
        "* ",
        "1. ",
        "10) ",
        "- [x] ",
        "- [ ] ",
        "> ",
        ">> ",
        "```\n",
        "~~~",
        "|---|",
        "| a | b |\n",
        "|",
        "**",
        "__",
        "*",
        "_",
        "`",
        "[a](b)",
        "](",
        "\\*",
        "---\n",
        "  \n",
        "\\\n",
        "    code",
        "\tcode",
        "@@ -1 +1 @@\n",
        "+new\n",
        "diff --git",
        "工作",
        "e\u{301}",
        "\u{200d}",
        "🦀",
        "\u{202e}",
        "\u{9b}31m",
        "\x1b[2J",
        "\x1b]0;t\x07",
        "\r",
        "\x08",
        "12 min",
        "$1.20",
    ];
    FuzzTarget { name: "markdown", check, tokens, bytes_max: 16 * 1024 }.run();
}

fn check(input: &[u8]) {
    let text = sanitize(String::from_utf8_lossy(input).trim_end());
    check_characters(&text, &text);
    check_characters(&coloured_diff(&text), &text);
    for width in [20, 33, 80] {
        let plain = markdown::render(&text, width, Colours::No);
        let coloured = markdown::render(&text, width, Colours::Yes);
        check_characters(&plain, &text);
        check_characters(&coloured, &text);
        check_width(&plain, width);
        check_width(&without_colours(&coloured), width);
        check_letters(&plain, &text);
    }
}

fn check_characters(shown: &str, text: &str) {
    let plain = without_colours(shown);
    assert_eq!(sanitize(&plain), plain, "a control character reaches the screen, of {text:?}");
}

fn without_colours(shown: &str) -> String {
    OWN_COLOURS.iter().fold(shown.to_owned(), |text, colour| text.replace(colour, ""))
}

/// Prose and lists are wrapped; code, tables of numbers and single words may be wider.
fn check_width(shown: &str, width: usize) {
    for line in shown.lines() {
        // Code is indented, also behind the mark of its list; between words of prose there is one space.
        let is_code = line.contains("    ") || line.contains('\t');
        let is_table = line.contains(" │ ") || line.contains('┼');
        let is_mark = |word: &&str| !word.contains(char::is_alphanumeric) || word.ends_with('.');
        let words = line.split_whitespace().filter(|word| !is_mark(word)).count();
        let is_wide = text_width::width(line) > width && words > 1;
        assert!(!is_wide || is_code || is_table, "{width} columns: {line:?}");
    }
}

/// No letter is lost, but of what is said another way: numbers of lists, languages of code, checked boxes, links that
/// name their target, definitions of links, entities, and cells that a table has no column for.
fn check_letters(shown: &str, text: &str) {
    let marks = ["```", "~~~", "[x]", "[X]", "](", "]:", "][", "&", "|", "<"];
    let is_plain = marks.iter().all(|mark| !text.contains(mark));
    let letters = |text: &str| {
        let mut letters: Vec<char> = text.chars().filter(|c| c.is_alphabetic()).collect();
        letters.sort_unstable();
        letters
    };
    assert!(
        !is_plain || letters(shown) == letters(text),
        "letters of {text:?} are lost in {shown:?}"
    );
}
