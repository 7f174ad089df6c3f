//! What the project's documents about its architecture are about, from the base commit: the path of each, its title and how it
//! begins. Agents have a checkout, so they read there what they need.
//!
//! Not here: the rest of a brief (`forge_driver::setup`).
//!
//! Invariant: nothing is read from a checkout, and what a brief repeats has a limit.

use forge_core::view::{short_commit, shorten};
use forge_project::markdown::{first_paragraph, title};
use forge_workspace::{CodeHistory, GitError};

use forge_driver::Error;

/// The most documents that are described. Others are counted.
const DOCUMENTS_MAX: usize = 20;
/// The most characters of how a document begins.
const BEGINNING_CHARS_MAX: usize = 300;
/// The most characters of a title.
const TITLE_CHARS_MAX: usize = 80;
/// A longer document is only named.
const READ_BYTES_MAX: u64 = 256 * 1024;

/// Describes the documents that the settings name, each a file, or the Markdown files in a folder.
pub(super) fn architecture_at<'a>(
    repository: &dyn CodeHistory,
    base: &str,
    named: impl Iterator<Item = &'a str>,
) -> Result<Option<String>, Error> {
    let mut paths: Vec<String> = Vec::new();
    for path in named {
        let found = documents(repository, base, path)?;
        if found.is_empty() {
            let short = short_commit(base);
            let what = format!("`architecture` names `{path}`, but {short} has no document there");
            let next = "commit it, or: forge config set architecture '[\"PATH\"]'";
            return Err(Error::usage(what, next));
        }
        let new: Vec<String> = found.into_iter().filter(|path| !paths.contains(path)).collect();
        paths.extend(new);
    }
    let mut lines = Vec::new();
    for path in paths.iter().take(DOCUMENTS_MAX) {
        lines.push(match repository.file_at(base, path, READ_BYTES_MAX) {
            Ok(bytes) => line(path, &String::from_utf8_lossy(&bytes.unwrap_or_default())),
            Err(GitError::TooLarge { bytes, .. }) => format!("- `{path}` (it has {bytes} bytes)"),
            Err(error) => return Err(error.into()),
        });
    }
    if paths.len() > DOCUMENTS_MAX {
        lines.push(format!("- and {} more beside them", paths.len() - DOCUMENTS_MAX));
    }
    Ok((!lines.is_empty()).then(|| lines.join("\n")))
}

/// Returns the files that a path names, sorted.
fn documents(repository: &dyn CodeHistory, base: &str, path: &str) -> Result<Vec<String>, Error> {
    let path = path.trim_end_matches('/');
    let mut found = repository.files_at(base, path)?;
    let is_in_folder = |file: &String| {
        let below = file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        let extension = std::path::Path::new(file).extension();
        below && extension.is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
    };
    found.retain(|file| file == path || is_in_folder(file));
    found.sort();
    Ok(found)
}

/// Describes a document.
fn line(path: &str, text: &str) -> String {
    let title = title(text).map(|title| format!(" {}:", shorten(title, TITLE_CHARS_MAX)));
    let beginning = shorten(&first_paragraph(text), BEGINNING_CHARS_MAX);
    format!("- `{path}`{} {beginning}", title.unwrap_or_default()).trim_end().to_owned()
}
