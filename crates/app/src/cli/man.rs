//! `forge man`: shows or writes the manual pages, generated from the clap definitions.

use std::{
    fs,
    io::{self, IsTerminal as _},
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
};

use clap::Args;
use clap_mangen::Man as Page;
use forge_api::Error;

use crate::{
    format,
    pager::{self, Paging},
    terminal_output,
};

/// Show the manual page, or write one for each command
#[derive(Args)]
#[command(after_help = "Piped, it is the source of the page: forge man > forge.1")]
pub(crate) struct ManArgs {
    /// Write forge.1, forge-run.1 and so on into this folder
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl ManArgs {
    pub(crate) fn run(self, mut command: clap::Command) -> Result<ExitCode, Error> {
        command.build();
        // The help of every command leaves them out, but a manual has them.
        command = command
            .mut_args(|flag| if flag.is_global_set() { flag.hide(false) } else { flag })
            .mut_arg("version", |flag| flag.help("Print the version"));
        let Some(dir) = &self.dir else {
            let page = render(&command, "forge");
            if !io::stdout().is_terminal() {
                terminal_output::print_bytes(&page);
            } else if show_in_man(&page).is_none() {
                pager::print_paged(&command.render_long_help().to_string(), Paging::IfLong);
            }
            return Ok(ExitCode::SUCCESS);
        };
        fs::create_dir_all(dir).map_err(|error| Error::file(dir, &error))?;
        let pages = pages("forge", &command);
        for (name, page) in &pages {
            let path = dir.join(format!("{name}.1"));
            fs::write(&path, page).map_err(|error| Error::file(&path, &error))?;
        }
        let n = u32::try_from(pages.len()).unwrap_or(u32::MAX);
        terminal_output::print(&format!(
            "wrote {} into {}",
            format::count(n, "page"),
            dir.display()
        ));
        Ok(ExitCode::SUCCESS)
    }
}

/// The exit codes, as a section of a manual page.
const EXIT_STATUS: &str = "\
.SH \"EXIT STATUS\"
.TP
0
Done.
.TP
1
The run failed or was abandoned.
.TP
2
Usage or environment error; nothing was started.
.TP
3
The run needs you.
.TP
4
The run is blocked, or the same failure occurred repeatedly.
.TP
5
The run is paused, out of budget, rate-limited, or not running.
.TP
70
Internal error.
.TP
130
The run was interrupted or stopped.
";

/// Shows a page with `man`. Returns `None` if that fails.
fn show_in_man(page: &[u8]) -> Option<()> {
    let file = pager::unnamed_file(page).ok()?;
    let status = Command::new("man").args(["-l", "-"]).stdin(Stdio::from(file)).status().ok()?;
    status.success().then_some(())
}

/// Renders the page of a command and of each subcommand, by name.
fn pages(name: &str, command: &clap::Command) -> Vec<(String, Vec<u8>)> {
    let mut all = vec![(name.to_owned(), render(command, name))];
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        all.extend(pages(&format!("{name}-{}", inner.get_name()), inner));
    }
    all
}

fn render(command: &clap::Command, name: &str) -> Vec<u8> {
    let mut page = Vec::new();
    let command = command.clone().display_name(name.to_owned());
    Page::new(command).title(name.to_owned()).render(&mut page).expect("memory takes a page");
    if name == "forge" {
        page.extend_from_slice(EXIT_STATUS.as_bytes());
    }
    page
}
