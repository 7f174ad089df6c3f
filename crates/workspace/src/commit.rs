//! Commits: of a checkout's files, with the user's hooks, and of a run's record.

pub(crate) mod added_content;
pub(crate) mod commit_files;
pub(crate) mod folder_files;
pub(crate) mod hooks;
pub(crate) mod run_record;
