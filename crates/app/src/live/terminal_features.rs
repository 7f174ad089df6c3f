//! What a terminal can show: colours, characters (`character_set.rs`), motion, a progress bar of its own.
//!
//! Decided once from the environment; nothing is asked of the terminal.

use ratatui::style::{Modifier, Style};

use crate::{character_set::CharacterSet, terminal_info};

/// The colours of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScreenColours {
    /// The 256 colours, and bold.
    Indexed,
    /// Bold, for old terminals.
    Bold,
    /// Neither; `NO_COLOR`.
    None,
}

/// Permission for a screen to move by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Motion {
    On,
    /// `FORGE_MOTION=off`.
    Off,
}

/// Removes the progress bar.
pub(crate) const NO_PROGRESS: &str = "\x1b]9;4;0\x1b\\";

/// Whether the terminal shows a progress bar in its tab or task bar (OSC 9;4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgressBar {
    Supported,
    /// Others may take the sequence for a notification.
    Unsupported,
}

/// All of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TerminalFeatures {
    pub(crate) colours: ScreenColours,
    pub(crate) character_set: CharacterSet,
    pub(crate) motion: Motion,
    pub(crate) progress_bar: ProgressBar,
}

impl TerminalFeatures {
    /// Returns what the terminal of this process can show.
    pub(crate) fn detect() -> Self {
        let features = Self::from_variables(|name| std::env::var(name).ok());
        match terminal_info::stdout_colours() {
            terminal_info::Colours::Yes => features,
            terminal_info::Colours::No => Self { colours: ScreenColours::None, ..features },
        }
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let is = |name: &str, value: &str| {
            variable(name).is_some_and(|found| found.eq_ignore_ascii_case(value))
        };
        let term = variable("TERM").unwrap_or_default();
        let is_old = ["linux", "vt", "ansi", "cons", "sun", "dumb"];
        let is_old = is_old.iter().any(|name| term.starts_with(name)) || term.ends_with("-mono");
        let has_progress = variable("WT_SESSION").is_some()
            || is("ConEmuANSI", "ON")
            || is("TERM_PROGRAM", "WezTerm")
            || is("TERM_PROGRAM", "ghostty")
            || is("TERM_PROGRAM", "iTerm.app")
                && variable("TERM_FEATURES").is_some_and(|found| found.contains('P'));
        Self {
            colours: if is_old { ScreenColours::Bold } else { ScreenColours::Indexed },
            character_set: CharacterSet::from_variables(&variable),
            motion: if is("FORGE_MOTION", "off") { Motion::Off } else { Motion::On },
            progress_bar: if has_progress {
                ProgressBar::Supported
            } else {
                ProgressBar::Unsupported
            },
        }
    }
}

impl ScreenColours {
    /// Returns what is left of a style on such a terminal.
    pub(crate) fn reduce(self, style: Style) -> Style {
        match self {
            Self::Indexed => style,
            Self::Bold if style.has_modifier(Modifier::BOLD) => {
                Style::new().add_modifier(Modifier::BOLD)
            }
            Self::Bold | Self::None => Style::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(variables: &[(&str, &str)]) -> TerminalFeatures {
        TerminalFeatures::from_variables(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn old_terminals_get_no_colours_and_only_known_ones_a_progress_bar() {
        assert_eq!(features(&[("TERM", "xterm-256color")]).colours, ScreenColours::Indexed);
        assert_eq!(features(&[("TERM", "linux")]).colours, ScreenColours::Bold);
        assert_eq!(features(&[("TERM", "vt220")]).colours, ScreenColours::Bold);
        assert_eq!(features(&[]).progress_bar, ProgressBar::Unsupported);
        let ghostty = features(&[("TERM_PROGRAM", "ghostty")]);
        assert_eq!(ghostty.progress_bar, ProgressBar::Supported);
        let iterm = [("TERM_PROGRAM", "iTerm.app"), ("TERM_FEATURES", "T3P")];
        assert_eq!(features(&iterm[..1]).progress_bar, ProgressBar::Unsupported);
        assert_eq!(features(&iterm).progress_bar, ProgressBar::Supported);
        assert_eq!(features(&[("FORGE_MOTION", "off")]).motion, Motion::Off);
    }
}
