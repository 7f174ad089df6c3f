//! How long a text may be at a host, counted in UTF-16 as the strictest do.

/// The most of the body of a pull request, and of a comment beside code; GitHub takes 65,536.
pub(crate) const BODY_MAX: usize = 60_000;
/// The most of a comment of Jira, which takes 32,767.
pub(crate) const JIRA_COMMENT_MAX: usize = 30_000;

/// Returns a text that a host takes, which says so if it was cut.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let mut length = 0;
    let end = text.char_indices().find(|(_, c)| {
        length += c.len_utf16();
        length > most
    });
    match end {
        Some((end, _)) => {
            format!("{}\n\n(shortened: the rest is too long for this host)", &text[..end])
        }
        None => text.to_owned(),
    }
}
