//! Git and the file system below everything else: calling git, its errors, its names and listings.
//!
//! Nothing here knows what a checkout of Forge's or an operation on it is.

pub(crate) mod command;
pub(crate) mod error;
pub(crate) mod folder_lock;
pub(crate) mod hex;
pub(crate) mod index_marks;
pub(crate) mod job;
pub(crate) mod merge_tree;
pub(crate) mod object_reader;
pub(crate) mod object_writer;
pub(crate) mod path_names;
pub(crate) mod safe_files;
pub(crate) mod user_config;
