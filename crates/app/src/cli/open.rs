//! `forge open`: an editor or a shell in the checkout of a run or of one of its tasks.

use std::{
    env,
    io::{self, IsTerminal as _},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Command, ExitCode},
};

use clap::Args;
use forge_api::{Error, forge::Forge, refuse_agents};

use super::common::{open_forge, run_and_name};
use crate::{editor::editor, format, terminal_output};

/// Open the checkout of a run or a task in your editor, or a shell
#[derive(Args)]
pub(crate) struct OpenArgs {
    /// Name the run; the latest by default
    run: Option<String>,
    /// Open the checkout of this task, such as T2
    task: Option<String>,
    /// Print the path, and open nothing
    #[arg(long)]
    print: bool,
}

impl OpenArgs {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let forge = open_forge()?;
        let (run, task) = run_and_name(&forge, self.run.as_deref(), self.task.as_deref())?;
        let folder = forge.checkout_to_open(&run, task.as_deref())?;
        // In a pipe only the path is of use: `cd "$(forge open)"`.
        if self.print || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            terminal_output::print(&folder.display().to_string());
            return Ok(ExitCode::SUCCESS);
        }
        refuse_agents()?;
        let editor = editor();
        print_hint(&forge, &run, &folder, editor.as_deref());
        let mut command = match editor {
            Some(editor) => {
                let mut command = Command::new("/bin/sh");
                command.args(["-c", &format!("{editor} .")]);
                command
            }
            None => Command::new(env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into())),
        };
        // Returns only if it cannot be started.
        let error = command.current_dir(&folder).exec();
        Err(Error::file(Path::new(command.get_program()), &error))
    }
}

/// Says where the shell or editor is, and what becomes of changes there.
fn print_hint(forge: &Forge, run: &str, folder: &Path, editor: Option<&str>) {
    let id = format::short_id(run);
    let what = match editor {
        Some(editor) => format!("opening {editor} in the checkout of {id}"),
        None => format!("opening a shell in the checkout of {id}; `exit` returns"),
    };
    terminal_output::print_note(&format!("{what}: {}", folder.display()));
    if forge.is_driven(run) {
        terminal_output::print_note("the run is working here; changes you make may be overwritten");
    }
}
