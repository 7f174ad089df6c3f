//! The width of text on a terminal: measuring, cutting, padding and wrapping. The only place that asks for the width of
//! a character.
//!
//! Invariant: text that was cut, or wrapped with `LongWords::Broken`, is never wider than the given width.

use unicode_width::UnicodeWidthChar as _;

/// What happens to a word that is wider than a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LongWords {
    /// It stays whole, so that a command can be copied.
    Whole,
    /// It continues in the next line.
    Broken,
}

/// Returns the width of a text. A control character counts as one: a replacement is shown for it.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

fn char_width(c: char) -> usize {
    c.width().unwrap_or(1)
}

/// Cuts a text to at most `columns`, with `…` at the cut.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut kept = beginning(text, columns.saturating_sub(1)).to_owned();
    if columns > 0 {
        kept.push('…');
    }
    kept
}

/// Cuts a name in its middle: its end tells it from others.
pub(crate) fn cut_middle(text: &str, columns: usize) -> String {
    const END: usize = 5;
    if width(text) <= columns || columns <= END + 1 {
        return cut(text, columns);
    }
    let mut at = text.len();
    for (start, c) in text.char_indices().rev() {
        if width(&text[start..]) > END {
            break;
        }
        // A character without a width belongs to the one before it.
        if char_width(c) > 0 {
            at = start;
        }
    }
    let (end, begin) = (&text[at..], beginning(text, columns - END - 1));
    format!("{begin}…{end}")
}

/// Pads a text with spaces.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Returns as much of the beginning of a text as fits.
fn beginning(text: &str, columns: usize) -> &str {
    let mut room = columns;
    for (at, c) in text.char_indices() {
        match room.checked_sub(char_width(c)) {
            Some(rest) => room = rest,
            None => return &text[..at],
        }
    }
    text
}

/// Wraps a text at its spaces and beside wide characters. The first line starts in the column `from`, after a prefix;
/// all others are indented.
pub(crate) fn wrap(
    text: &str,
    from: usize,
    indent: usize,
    columns: usize,
    long: LongWords,
) -> String {
    let indent = match long {
        LongWords::Whole => indent,
        LongWords::Broken => indent.min(columns / 2),
    };
    let mut lines = String::new();
    let mut column = from;
    let next = |lines: &mut String| {
        lines.push('\n');
        lines.push_str(&" ".repeat(indent));
        indent
    };
    for (position, word) in text.split_whitespace().enumerate() {
        for (at, piece) in breakable_pieces(word).into_iter().enumerate() {
            let gap = usize::from(at == 0 && position > 0);
            if column > indent && column + gap + width(piece) > columns {
                column = next(&mut lines);
            } else if gap > 0 {
                lines.push(' ');
                column += gap;
            }
            match long {
                LongWords::Whole => {
                    lines.push_str(piece);
                    column += width(piece);
                }
                LongWords::Broken => {
                    for c in piece.chars() {
                        if column > indent && column + char_width(c) > columns {
                            column = next(&mut lines);
                        }
                        lines.push(c);
                        column += char_width(c);
                    }
                }
            }
        }
    }
    lines
}

/// Splits a word where a line may end: beside every wide character.
fn breakable_pieces(word: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut last) = (0, 1);
    for (at, c) in word.char_indices() {
        let now = char_width(c);
        if at > start && now > 0 && (now > 1 || last > 1) {
            pieces.push(&word[start..at]);
            start = at;
        }
        if now > 0 {
            last = now;
        }
    }
    pieces.push(&word[start..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_counts_columns_and_never_halves_a_character() {
        assert_eq!(width("工作 ok"), 7);
        assert_eq!(cut("工作工作", 8), "工作工作");
        assert_eq!(cut("工作工作", 7), "工作工…");
        assert_eq!(cut("工作工作", 6), "工作…");
        assert_eq!(cut("abc", 0), "");
        assert_eq!(cut_middle("20261115-add-rate-limits-k3f9", 16), "20261115-a…-k3f9");
        assert_eq!(cut_middle("工作工作工作工作", 10), "工作…工作");
        assert_eq!(pad("工作", 6), "工作  ");
        for columns in 0..20 {
            assert!(width(&cut_middle("工作工作工作工作 ab", columns)) <= columns, "{columns}");
        }
    }

    #[test]
    fn text_without_spaces_is_broken_beside_wide_characters_and_commands_stay_whole() {
        let whole = |text| wrap(text, 0, 2, 8, LongWords::Whole);
        assert_eq!(whole("one two three"), "one two\n  three");
        assert_eq!(whole("工作工作工作"), "工作工作\n  工作");
        assert_eq!(whole("and averylongcommand b"), "and\n  averylongcommand\n  b");
        let text = "工作工作工作 with averylongword 'and/a/path/of/its/own' 工作a工作";
        for columns in 4..40 {
            let lines = wrap(text, 3, 3, columns, LongWords::Broken);
            for line in lines.lines().skip(1) {
                assert!(width(line) <= columns, "{columns}: {line:?}");
            }
            let same = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(same(&lines), same(text));
        }
    }
}
