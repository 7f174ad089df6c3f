//! The folder in which a run or one of its tasks is worked on, for a person who wants to look into it.
//!
//! Invariant: only folders that exist are returned; nothing is created.

use std::path::PathBuf;

use forge_core::id::Scope;
use forge_driver::{Error, checkouts::checkout_location, run_id::short_id};

use crate::forge::Forge;

impl Forge {
    /// Returns the checkout of a run, or of one of its tasks.
    pub fn checkout_to_open(&self, id: &str, task: Option<&str>) -> Result<PathBuf, Error> {
        if let Some(task) = task {
            return self.checkout(id, &self.find_unit("open", id, task)?);
        }
        let (run, _) = self.fold(id)?;
        let frozen = self.frozen(&run)?;
        let tree = checkout_location(&self.home, &frozen, id, &Scope::root())?.dir.join("tree");
        if tree.is_dir() {
            return Ok(tree);
        }
        let work = self.home.work(id);
        if work.is_dir() {
            return Ok(work);
        }
        let branch = self.result(id)?.row.branch;
        let id = short_id(id);
        let next = match branch {
            Some(branch) => format!("git switch {branch}"),
            None => format!("forge show {id}"),
        };
        Err(Error::usage(format!("{id} has no checkout, or it was cleaned up"), next))
    }
}
