//! The `forge` program: the command line and the live screen.
//!
//! Keepers, launchers and the scripted agent are dispatched before anything else is set up, so
//! that they stay small. Commands are in `cli/<command>.rs`, shared texts in `text/`, formatting in
//! `format.rs`, and the live screen in `live.rs`.
//!
//! Invariant: this crate holds no run, decides nothing, and opens no journal file.
//! Invariant: data goes to stdout, everything else to stderr.

mod cli;
mod document;
mod format;
mod live;
mod markdown;
mod pager;
mod terminal_output;
mod text;
mod text_width;

use std::{panic, process::ExitCode};

/// The exit code of a bug in Forge.
const BUG: u8 = 70;

fn main() -> ExitCode {
    let args: Vec<std::ffi::OsString> = std::env::args_os().collect();
    if let Some(code) = forge_api::inner_program(&args) {
        return code;
    }
    panic::set_hook(Box::new(|bug| {
        live::restore();
        terminal_output::print_stderr(&format!(
            "this is a bug of ours, not yours: {bug}\nnothing that was journaled is lost; `forge resume` goes on"
        ));
    }));
    panic::catch_unwind(|| cli::run(&args)).unwrap_or(ExitCode::from(BUG))
}
