//! The folder of a run of an older system: which files say what, and how its state says that it is over.

/// The file that says where a run stands.
pub(crate) const STATE: &str = "state.json";
/// The file that says what was asked for.
pub(crate) const REQUEST: &str = "request.md";

/// The last phase of an older run.
const LAST: &str = "final-commit";

/// The end of an older run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OlderEnd {
    Completed,
    Abandoned,
}

/// Returns how a run is over, by its phase and the status of that.
pub(crate) fn older_end(phase: Option<&str>, status: Option<&str>) -> Option<OlderEnd> {
    match (phase, status) {
        (_, Some("abandoned")) => Some(OlderEnd::Abandoned),
        (Some("completed"), _) | (Some(LAST), Some("completed")) => Some(OlderEnd::Completed),
        _ => None,
    }
}

/// Returns a request without the lines between `---` that an older system put before it.
pub(crate) fn without_head(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("---\n") else { return text };
    rest.split_once("\n---\n").map_or(text, |(_, body)| body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_an_older_request_is_no_part_of_it() {
        assert_eq!(without_head("---\nsource_type: text\n---\n\nDo it\n"), "\nDo it\n");
        assert_eq!(without_head("Do it\n---\nmore\n"), "Do it\n---\nmore\n");
    }
}
