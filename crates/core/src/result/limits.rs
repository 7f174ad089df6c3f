//! How large a result and its parts may be.

/// The version of the contract.
pub const RESULT_FORMAT: u64 = 1;
/// The name of the file in the outbox.
pub const RESULT_FILE: &str = "result.json";
/// `result.json` is at most this large.
pub const RESULT_BYTES_MAX: u64 = 1024 * 1024;
pub const SUMMARY_CHARACTERS_MAX: usize = 500;
/// Any other text in a result.
pub const TEXT_CHARACTERS_MAX: usize = 4_000;
pub const FINDINGS_MAX: usize = 200;
/// Lists in a result, items in a list, and texts in any list of texts.
pub const ENTRIES_MAX: usize = 3_000;
