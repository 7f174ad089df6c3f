//! `forge undo`, which does not exist: it names what people mean by it.

use std::process::ExitCode;

use clap::Args;
use forge_api::Error;

/// Say how a run or a merge is taken back
#[derive(Args)]
pub(crate) struct UndoArgs {
    #[arg(hide = true)]
    words: Vec<String>,
}

impl UndoArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let run = self.words.first().map_or("RUN", String::as_str);
        Err(Error::usage(
            "a run cannot be undone: it only adds a branch, and what it did is kept",
            format!(
                "forge rewind {run} STAGE (run again from a stage)\n   or: git revert -m 1 HEAD (take back a merge)"
            ),
        ))
    }
}
