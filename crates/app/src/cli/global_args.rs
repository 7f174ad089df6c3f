//! Flags that every command takes: the folder to work in, how much is said, and colours.
//!
//! Not here: their help text, which is only in that of `forge` itself (`help.rs`).

use std::{env, ffi::OsString, path::PathBuf};

use clap::{ArgAction, Args, ValueEnum as _};
use forge_api::Error;

use crate::{terminal_info::ColourChoice, verbosity::Verbosity};

/// Flags that every command takes.
#[derive(Args)]
pub(crate) struct GlobalArgs {
    /// Run as if started in this folder
    #[arg(short = 'C', value_name = "DIR", global = true, hide = true)]
    working_dir: Option<PathBuf>,
    /// Print results and errors only
    #[arg(long, short, global = true, hide = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print more; twice, everything
    #[arg(long, short, global = true, hide = true, action = ArgAction::Count)]
    verbose: u8,
    /// Colour the output: auto, always or never
    #[arg(long, value_name = "WHEN", global = true, hide = true, default_value = "auto")]
    color: ColourChoice,
}

impl GlobalArgs {
    /// Makes the flags count for the whole process.
    pub(crate) fn apply(&self) -> Result<(), Error> {
        Verbosity::from_flags(self.quiet, self.verbose).choose();
        let Some(dir) = &self.working_dir else { return Ok(()) };
        env::set_current_dir(dir).map_err(|error| {
            let why = if error.kind() == std::io::ErrorKind::NotFound {
                "it does not exist".to_owned()
            } else {
                error.to_string()
            };
            let what = format!("cannot open the folder {}: {why}", dir.display());
            Error::usage(what, "forge -C DIR status, with the folder of a project as DIR")
        })
    }
}

/// Returns what `--color` says, also in a command line that is not valid.
pub(crate) fn colour_choice(args: &[OsString]) -> ColourChoice {
    let words = args.iter().map(|word| word.to_str().unwrap_or_default());
    let mut words = words.take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        let value = match word.split_once('=') {
            Some(("--color", value)) => Some(value),
            _ if word == "--color" => words.next(),
            _ => None,
        };
        if let Some(choice) = value.and_then(|value| ColourChoice::from_str(value, true).ok()) {
            return choice;
        }
    }
    ColourChoice::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_of_colours_is_found_before_anything_is_parsed() {
        let choice = |line: &str| {
            colour_choice(&line.split(' ').map(OsString::from).collect::<Vec<OsString>>())
        };
        assert_eq!(choice("forge status --color always --nope"), ColourChoice::Always);
        assert_eq!(choice("forge --color=never status"), ColourChoice::Never);
        assert_eq!(choice("forge run -- --color always"), ColourChoice::Auto);
        assert_eq!(choice("forge status --color"), ColourChoice::Auto);
    }
}
