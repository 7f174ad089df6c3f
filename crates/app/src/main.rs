//! The doors: one program, and the ways into it.
//!
//! Keepers, launchers and the scripted agent are dispatched before anything else is set up, so
//! that they stay small. What each command does is in `cli/<command>.rs`; how things look is in
//! `format.rs`, and what a person sees while a run goes on in `live.rs`.
//!
//! Invariant: no door holds a run, decides, or opens a journal file.
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

/// The exit code of a bug of ours.
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
