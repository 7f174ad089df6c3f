//! Changes of a TOML text that keep comments, order, line ends and a byte order mark.
//!
//! Not here: which key is changed, and whether the result is right settings.

use toml_edit::{DocumentMut, TableLike};

use crate::suggest::line_of;

/// Returns the text with a change in it. A byte order mark at the beginning and the line ends stay.
pub(super) fn changed(
    text: &str,
    change: impl FnOnce(&mut DocumentMut) -> Result<(), String>,
) -> Result<String, String> {
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let n_ends = body.matches("\r\n").count();
    let has_crlf = n_ends > 0 && n_ends == body.matches('\n').count();
    let plain = if has_crlf { body.replace("\r\n", "\n") } else { body.to_owned() };
    let mut document: DocumentMut = plain.parse().map_err(|error: toml_edit::TomlError| {
        let line = error.span().map_or(1, |span| line_of(&plain, span.start));
        format!("line {line}: {}", error.message().trim())
    })?;
    change(&mut document)?;
    let text = document.to_string();
    let text = if has_crlf { text.replace('\n', "\r\n") } else { text };
    Ok(format!("{mark}{text}"))
}

/// Returns the table that a path leads to, if there is one.
pub(super) fn table_at<'a>(
    document: &'a mut DocumentMut,
    path: &str,
) -> Result<Option<&'a mut dyn TableLike>, String> {
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for word in path.split('.').filter(|word| !word.is_empty()) {
        let Some(item) = table.get_mut(word) else { return Ok(None) };
        table = item.as_table_like_mut().ok_or_else(|| format!("`{word}` is not a table"))?;
    }
    Ok(Some(table))
}
