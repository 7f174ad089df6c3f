//! File names: the last part of a path, plain paths, and quoting for a shell.

/// Returns the part of a path after the last slash.
pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Tells whether a path is relative, stays inside, and fits into one line of a command.
pub(crate) fn is_plain(path: &str) -> bool {
    !path.is_empty()
        && !path.chars().any(char::is_control)
        && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

/// Quotes a name for a shell.
pub(crate) fn quoted(name: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "_./+:@%=,-".contains(c);
    let name = if name.starts_with('-') { format!("./{name}") } else { name.to_owned() };
    if !name.is_empty() && name.chars().all(is_safe) {
        return name;
    }
    format!("'{}'", name.replace('\'', r"'\''"))
}
