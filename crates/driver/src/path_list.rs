//! Changed paths, as a message lists them.

use forge_workspace::FileChange;

/// The paths of a change, as many as a receipt names.
pub fn paths(changes: &[FileChange]) -> Vec<String> {
    changes.iter().take(CHANGED_MAX).map(|change| change.path.clone()).collect()
}

/// A few paths, and how many more.
pub fn short_list(paths: &[String]) -> String {
    let shown: Vec<&str> = paths.iter().take(5).map(String::as_str).collect();
    match paths.len().saturating_sub(5) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The most paths of a change that its receipt names.
const CHANGED_MAX: usize = 200;
