//! Amounts and moments in words, and texts that cannot control a terminal. Facts as sentences are in `view/sentence.rs`.
//!
//! Invariant: what is estimated is called so, and what is unknown is never shown as nothing.

use crate::{Time, money::Money};

/// Formats a large number in a few characters: `950`, `1.2k`, `34M`.
pub fn short_number(number: u64) -> String {
    let mut unit = 1_000;
    for letter in ["k", "M", "G"] {
        if number < unit {
            break;
        }
        let tenths = number / (unit / 10);
        if tenths < 100 {
            return format!("{}.{}{letter}", tenths / 10, tenths % 10);
        }
        if tenths < 10_000 || letter == "G" {
            return format!("{}{letter}", tenths / 10);
        }
        unit *= 1_000;
    }
    number.to_string()
}

/// An amount of money, by how well it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// The part that programs reported.
    pub known: Money,
    /// What we computed from tokens and a price list.
    pub estimated: Money,
    /// Calls of unknown price.
    pub unknown_calls: u32,
}

impl Amount {
    /// Formats it for a sentence: `$1.20`, `about $1.20`, `at least $1.20 (1 call of unknown cost)`, `unknown`.
    pub fn to_text(self) -> String {
        let (sum, about) = self.sum("about ");
        let calls = match self.unknown_calls {
            1 => "1 call".to_owned(),
            n => format!("{n} calls"),
        };
        match (sum.0, self.unknown_calls) {
            (0, 0) => "$0".to_owned(),
            (_, 0) => format!("{about}{sum}"),
            (0, _) => "unknown".to_owned(),
            (_, _) => format!("at least {about}{sum} ({calls} of unknown cost)"),
        }
    }

    /// Formats it for a column: `$0`, `$1.20`, `~$1.20`, `$1.20+?`, `unknown`.
    pub fn to_short_text(self) -> String {
        let (sum, about) = self.sum("~");
        match (sum.0, self.unknown_calls) {
            (0, 0) => "$0".to_owned(),
            (_, 0) => format!("{about}{sum}"),
            (0, _) => "unknown".to_owned(),
            (_, _) => format!("{about}{sum}+?"),
        }
    }

    /// Formats it for a line of figures: as for a column, but `at least $1.20`.
    pub fn to_figure(self) -> String {
        let (sum, about) = self.sum("~");
        match (sum.0, self.unknown_calls) {
            (1.., 1..) => format!("at least {about}{sum}"),
            (_, _) => self.to_short_text(),
        }
    }

    /// Returns what is known and estimated together, and the mark of an estimate if a part of it is one.
    fn sum(self, mark: &str) -> (Money, &str) {
        let mut sum = self.known;
        sum += self.estimated;
        (sum, if self.estimated.0 == 0 { "" } else { mark })
    }
}

/// Returns the day of a moment, in UTC: `2026-11-15`.
pub fn day(at: Time) -> String {
    let (year, month, day) = date(at / DAY_MS);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Returns a moment, in UTC: `2026-11-15 14:05:30 UTC`.
pub fn moment(at: Time) -> String {
    let seconds = at % DAY_MS / 1_000;
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    format!("{} {hours:02}:{minutes:02}:{:02} UTC", day(at), seconds % 60)
}

/// Returns a moment for programs, in UTC: `2026-11-15T14:05:30Z`.
pub fn stamp(at: Time) -> String {
    let seconds = at % DAY_MS / 1_000;
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    format!("{}T{hours:02}:{minutes:02}:{:02}Z", day(at), seconds % 60)
}

/// Returns how long something took: `0s`, `12s`, `3m05s`, `2h10m`.
pub fn span(took_ms: u64) -> String {
    let seconds = took_ms / 1_000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3_600, seconds / 60 % 60),
    }
}

/// Returns the first line that says something, cut to so many characters.
pub(super) fn first_line(text: &str, chars_max: usize) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    shorten(line.trim(), chars_max)
}

/// Cuts a text to so many characters, of which the last one shows that it was cut.
pub fn shorten(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    text.chars().take(chars_max - 1).chain(['…']).collect()
}

/// Cuts the beginning of a text, so that so many characters are left, of which the first one shows that it was cut.
pub fn shorten_start(text: &str, chars_max: usize) -> String {
    let chars = text.chars().count();
    if chars <= chars_max {
        return text.to_owned();
    }
    ['…'].into_iter().chain(text.chars().skip(chars - chars_max + 1)).collect()
}

/// One day, in milliseconds.
const DAY_MS: u64 = 86_400_000;

/// Days in 400 years, after which the calendar repeats itself.
const ERA_DAYS: u64 = 146_097;

/// Returns year, month and day of the number of a day since 1970.
fn date(since_1970: u64) -> (u64, u64, u64) {
    // The year is taken to begin with March, so that the leap day is its last.
    let days = since_1970 + 719_468;
    let (era, day) = (days / ERA_DAYS, days % ERA_DAYS);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    (year, month, day_of_month)
}

/// Replaces control characters and overrides of the text direction: what an agent wrote must not control a terminal.
/// Line breaks and tabs stay.
pub fn sanitize(text: &str) -> String {
    let is_control = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.replace(is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::{Amount, DAY_MS, day, moment, sanitize, shorten, shorten_start, span, stamp};
    use crate::money::Money;

    #[test]
    fn a_text_is_cut_at_either_end_and_shows_it() {
        for (chars_max, start, end) in [(4, "naïv", "naïv"), (3, "na…", "…ïv"), (1, "…", "…")]
        {
            assert_eq!(shorten("naïv", chars_max), start);
            assert_eq!(shorten_start("naïv", chars_max), end);
        }
    }

    #[test]
    fn amounts_say_how_well_they_are_known() {
        let amount = |known, estimated, unknown_calls| Amount {
            known: Money(known),
            estimated: Money(estimated),
            unknown_calls,
        };
        for (amount, words, short) in [
            (amount(0, 0, 0), "$0", "$0"),
            (amount(1_200_000, 0, 0), "$1.20", "$1.20"),
            (amount(1_000_000, 200_000, 0), "about $1.20", "~$1.20"),
            (amount(0, 1_200_000, 0), "about $1.20", "~$1.20"),
            (amount(0, 0, 1), "unknown", "unknown"),
            (amount(1_200_000, 0, 2), "at least $1.20 (2 calls of unknown cost)", "$1.20+?"),
            (amount(0, 1_200_000, 1), "at least about $1.20 (1 call of unknown cost)", "~$1.20+?"),
        ] {
            assert_eq!(
                (amount.to_text().as_str(), amount.to_short_text().as_str()),
                (words, short)
            );
        }
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(day(0), "1970-01-01");
        assert_eq!(day(951_782_400_000), "2000-02-29");
        assert_eq!(day(951_782_400_000 + DAY_MS), "2000-03-01");
        assert_eq!(day(1_709_164_800_000), "2024-02-29");
        assert_eq!(day(1_735_689_599_999), "2024-12-31");
        assert_eq!(day(4_107_542_400_000), "2100-03-01", "2100 has no leap day");
        assert_eq!(moment(1_794_751_530_000), "2026-11-15 14:05:30 UTC");
        assert!(moment(u64::MAX).ends_with(" UTC"), "the end of time has a name, too");
        assert_eq!(stamp(1_794_751_530_999), "2026-11-15T14:05:30Z");
    }

    #[test]
    fn spans_are_told_as_roughly_as_they_are_long() {
        for (took_ms, words) in
            [(0, "0s"), (999, "0s"), (1_000, "1s"), (185_999, "3m05s"), (7_800_000, "2h10m")]
        {
            assert_eq!(span(took_ms), words);
        }
    }

    #[test]
    fn what_agents_say_steers_no_terminal() {
        assert_eq!(
            sanitize("a\u{1b}]0;x\u{7}\r\u{9b}2J\u{202e}\nb\tc\u{7f}\0"),
            "a\u{fffd}]0;x\u{fffd}\u{fffd}\u{fffd}2J\u{fffd}\nb\tc\u{fffd}\u{fffd}"
        );
    }
}
