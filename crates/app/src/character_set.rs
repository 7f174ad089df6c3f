//! The characters that a terminal can show, by its locale, and what is shown in place of others.
//!
//! Not here: data for programs, which is never changed.

use std::{env, sync::LazyLock};

use unicode_width::UnicodeWidthChar as _;

/// The characters of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CharacterSet {
    Utf8,
    /// The locale is not UTF-8.
    Ascii,
}

static DETECTED: LazyLock<CharacterSet> =
    LazyLock::new(|| CharacterSet::from_variables(|name| env::var(name).ok()));

impl CharacterSet {
    /// Returns that of this process.
    pub(crate) fn detect() -> Self {
        *DETECTED
    }

    pub(crate) fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().filter_map(|name| variable(name));
        let locale = locale.map(|value| value.to_lowercase()).find(|value| !value.is_empty());
        // Containers often have no locale, and a terminal that knows UTF-8.
        let is_utf8 = locale.is_none_or(|value| value.contains("utf-8") || value.contains("utf8"));
        if is_utf8 { Self::Utf8 } else { Self::Ascii }
    }

    /// Replaces characters that the terminal cannot show by others of the same width.
    pub(crate) fn encode(self, text: &str) -> String {
        self.replace(text, |c| "?".repeat(c.width().unwrap_or_default()))
    }

    /// Replaces only the symbols of Forge: what agents and people wrote stays as it is.
    pub(crate) fn encode_symbols(self, text: &str) -> String {
        self.replace(text, |c| c.to_string())
    }

    fn replace(self, text: &str, other: impl Fn(char) -> String) -> String {
        let replace = |c| to_ascii(c).map_or_else(|| other(c), |ascii| ascii.to_string());
        match self {
            Self::Utf8 => text.to_owned(),
            Self::Ascii => text.chars().map(replace).collect(),
        }
    }
}

/// Returns what a symbol of Forge is in ASCII.
const fn to_ascii(c: char) -> Option<char> {
    Some(match c {
        '\0'..='~' => c,
        '✓' => '+',
        '✗' => 'x',
        '●' => '*',
        '◌' => '~',
        '■' => '=',
        '·' | '•' | '…' => '.',
        '›' | '❯' | '»' | '→' => '>',
        '←' => '<',
        '↑' => '^',
        '↓' => 'v',
        '└' => '`',
        '│' | '⠋' | '⠼' => '|',
        '─' | '–' | '—' | '−' | '⠹' | '⠦' => '-',
        '⠙' | '⠴' => '/',
        '⠸' | '⠧' | '⠇' | '⠏' => '\\',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_that_is_not_utf8_gets_ascii_and_the_first_of_three_variables_counts() {
        let character_set = |variables: &[(&str, &str)]| {
            CharacterSet::from_variables(|name| {
                let found = variables.iter().find(|(variable, _)| *variable == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(character_set(&[]), CharacterSet::Utf8);
        assert_eq!(character_set(&[("LANG", "de_DE.UTF-8")]), CharacterSet::Utf8);
        assert_eq!(character_set(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]), CharacterSet::Ascii);
        assert_eq!(character_set(&[("LC_ALL", ""), ("LANG", "C.utf8")]), CharacterSet::Utf8);
        assert_eq!(character_set(&[("LANG", "de_DE.ISO-8859-1")]), CharacterSet::Ascii);
    }

    #[test]
    fn a_screen_is_all_ascii_and_a_line_only_in_its_symbols() {
        let text = "✓ done · ● 工 é ─ ❯ …";
        assert_eq!(CharacterSet::Ascii.encode(text), "+ done . * ?? ? - > .");
        assert_eq!(CharacterSet::Ascii.encode_symbols(text), "+ done . * 工 é - > .");
        assert_eq!(CharacterSet::Utf8.encode_symbols(text), text);
    }
}
