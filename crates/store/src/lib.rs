//! What Forge keeps on disk: facts, texts, and files that are replaced as a whole.
//!
//! Read [`journal`] first (every fact of every run, and how it is known to be whole), then
//! [`records`] (facts as JSON and back), [`blobs`] (long texts by content), [`atomic_file`], and
//! [`disk`] (the seam under blobs and files, for simulated runs), and [`work`] (records of features, sprints, tasks
//! and bugs, in a database of their own).
//!
//! Not here: processes, people, and what a fact means (that is `core`).

pub mod atomic_file;
pub mod blobs;
pub mod disk;
pub mod journal;
pub mod records;
pub mod work;
