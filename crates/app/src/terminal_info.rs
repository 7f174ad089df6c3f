//! Facts about the terminal: its width, and whether output is coloured.

use std::{
    io::{self, IsTerminal as _},
    sync::OnceLock,
};

use clap::ValueEnum;

/// The width of a terminal that does not report one.
const WIDTH_DEFAULT: usize = 80;

/// The choice between coloured and plain output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colours {
    Yes,
    No,
}

/// When output is coloured, as `--color` says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColourChoice {
    #[default]
    Auto,
    Always,
    Never,
}

static CHOSEN: OnceLock<ColourChoice> = OnceLock::new();

impl ColourChoice {
    /// Makes this the choice of the whole process, once.
    pub(crate) fn choose(self) {
        CHOSEN.set(self).expect("colours are chosen once");
    }
}

pub(crate) fn stdout_colours() -> Colours {
    if has_colours(&io::stdout()) { Colours::Yes } else { Colours::No }
}

/// Returns true if output to a stream is coloured: as `--color` says, else as `NO_COLOR` and `CLICOLOR_FORCE` say, else
/// on a terminal that is not dumb.
pub(crate) fn has_colours(stream: &impl io::IsTerminal) -> bool {
    let variable =
        |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let is_dumb = variable("TERM").is_some_and(|term| term == "dumb");
    let default = if stream.is_terminal() && !is_dumb { Colours::Yes } else { Colours::No };
    let choice = CHOSEN.get().copied().unwrap_or_default();
    chosen_colours(choice, default, variable) == Colours::Yes
}

fn chosen_colours(
    choice: ColourChoice,
    default: Colours,
    variable: impl Fn(&str) -> Option<String>,
) -> Colours {
    let value = |name: &str| variable(name).filter(|value| !value.is_empty());
    match (choice, value("NO_COLOR"), value("CLICOLOR_FORCE").as_deref()) {
        (ColourChoice::Never, ..) | (ColourChoice::Auto, Some(_), _) => Colours::No,
        (ColourChoice::Auto, None, None | Some("0")) => default,
        (ColourChoice::Always, ..) | (ColourChoice::Auto, None, Some(_)) => Colours::Yes,
    }
}

/// Returns the width of the terminal; in a pipe that of `COLUMNS`, or a default.
pub(crate) fn terminal_width() -> usize {
    let width = if io::stdout().is_terminal() {
        rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col))
    } else {
        std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok())
    };
    width.filter(|width| *width >= 20).unwrap_or(WIDTH_DEFAULT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_wins_over_the_variables_and_they_win_over_the_terminal() {
        use ColourChoice::{Always, Auto, Never};
        use Colours::{No, Yes};
        let colours = |choice, default, set: &[(&str, &str)]| {
            chosen_colours(choice, default, |name| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        for default in [Yes, No] {
            assert_eq!(colours(Auto, default, &[]), default);
            assert_eq!(colours(Auto, default, &[("NO_COLOR", "")]), default);
            assert_eq!(colours(Auto, default, &[("CLICOLOR_FORCE", "0")]), default);
            assert_eq!(colours(Auto, default, &[("CLICOLOR_FORCE", "1")]), Yes);
            assert_eq!(colours(Auto, default, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]), No);
            assert_eq!(colours(Always, default, &[("NO_COLOR", "1")]), Yes);
            assert_eq!(colours(Never, default, &[("CLICOLOR_FORCE", "1")]), No);
        }
    }
}
