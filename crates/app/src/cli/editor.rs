//! A text in the user's editor.

use std::{
    env, fs,
    io::{self, IsTerminal as _},
    path::Path,
    process::Command,
};

use forge_api::Error;

/// Opens `content` in the user's editor and returns the edited text. `otherwise` is the command that needs no editor.
pub(crate) fn edit_text(name: &str, content: &[u8], otherwise: &str) -> Result<Vec<u8>, Error> {
    let (Some(editor), true) = (editor(), io::stdin().is_terminal()) else {
        let what = "no editor can be opened: EDITOR is not set, or this is not a terminal";
        return Err(Error::usage(what, otherwise));
    };
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
    let path = env::temp_dir().join(format!("forge-edit-{}-{plain}", std::process::id()));
    let error = |error: io::Error| Error::file(&path, &error);
    fs::write(&path, content).map_err(error)?;
    let edited = edit_file(&editor, &path);
    let content = fs::read(&path).map_err(error);
    // The file was only for the editor.
    let _ = fs::remove_file(&path);
    edited.and(content)
}

/// Returns the user's editor, as a shell reads it.
pub(crate) fn editor() -> Option<String> {
    let named = ["VISUAL", "EDITOR"].iter().filter_map(|name| env::var(name).ok());
    named.into_iter().find(|editor| !editor.trim().is_empty())
}

/// Opens a file in the user's editor and waits until it is closed.
pub(crate) fn edit_file(editor: &str, path: &Path) -> Result<(), Error> {
    let line = format!("{editor} \"$1\"");
    match Command::new("/bin/sh").args(["-c", &line, "sh"]).arg(path).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Error::usage("the editor failed; nothing is changed", editor)),
        Err(error) => Err(Error::file(Path::new("/bin/sh"), &error)),
    }
}
