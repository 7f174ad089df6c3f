//! A text in the user's editor.

use std::{
    env, fs,
    io::{self, IsTerminal as _},
    path::Path,
    process::{Command, ExitStatus},
};

use forge_api::Error;

/// Returns the user's editor, as a shell reads it.
pub(crate) fn editor() -> Option<String> {
    let named = ["VISUAL", "EDITOR"].iter().filter_map(|name| env::var(name).ok());
    named.into_iter().find(|editor| !editor.trim().is_empty())
}

/// Returns the editor for a text: the user's, or the one that git would open.
pub(crate) fn text_editor() -> Option<String> {
    editor().or_else(|| {
        let output = Command::new("git").args(["var", "GIT_EDITOR"]).output().ok()?;
        let name = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !name.is_empty()).then_some(name)
    })
}

/// Opens a file in the user's editor and waits until it is closed.
pub(crate) fn edit_file(editor: &str, path: &Path) -> Result<(), Error> {
    let line = format!("{editor} \"$1\"");
    match Command::new("/bin/sh").args(["-c", &line, "sh"]).arg(path).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(editor_failed(status, "nothing is changed")),
        Err(error) => Err(Error::file(Path::new("/bin/sh"), &error)),
    }
}

/// Builds the error for an editor that did not end well.
pub(crate) fn editor_failed(status: ExitStatus, so: &str) -> Error {
    let how = status.code().map(|code| format!(" (exit code {code})")).unwrap_or_default();
    Error::usage(format!("the editor failed{how}; {so}"), "export EDITOR=vi")
}

/// Opens `content` in the user's editor and returns the edited text; `otherwise` is the error where that cannot be.
pub(crate) fn edit_text(name: &str, content: &[u8], otherwise: Error) -> Result<Vec<u8>, Error> {
    if !io::stdin().is_terminal() {
        return Err(otherwise);
    }
    let Some(editor) = text_editor() else { return Err(otherwise) };
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
