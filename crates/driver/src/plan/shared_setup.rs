//! The set-up of a project is run once in a run: which checkouts share what it left, and which one it is kept from.
//!
//! Not here: how it is kept and copied (`forge_workspace`), nor the commands themselves (`plan`).
//!
//! Invariant: it is shared only by checkouts with the same commands and the same `setup_inputs`, and only where inputs are
//! named: without them it is not known what the set-up reads.
//! Invariant: it is kept only from the base of the run or from a commit of its result, before anybody worked in that
//! checkout. What an agent made of the set-up in work that was not accepted reaches no proof of other work.

use std::path::PathBuf;

use forge_workspace::{
    CachesBefore, CheckoutLocation, OpenedCheckout, Operation, OperationResult, ReuseSetUp,
    ReusedSetUp, SaveSetUp,
};

use crate::{
    Error,
    plan::{Pending, Plan, step::OnStop},
};

/// Programs that keep what they make outside of the checkout, by its path: it would be missing in another one.
const KEEP_BY_PATH: &[&str] = &["direnv", "hatch", "mise", "pipenv", "poetry"];

/// A set-up that checkouts may share.
pub(super) struct SharedSetUp {
    pub(super) location: CheckoutLocation,
    /// Where what it left is kept.
    folder: PathBuf,
    pub(super) caches: CachesBefore,
}

impl Plan<'_> {
    /// The set-up with this hash, if checkouts may share it.
    pub(super) fn shared_setup(
        &self,
        wanted: &str,
        location: CheckoutLocation,
        caches: CachesBefore,
    ) -> Option<SharedSetUp> {
        let frozen = self.context.frozen;
        let is_word = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
        let mut words = frozen.setup.iter().flat_map(|line| line.split(|char| !is_word(char)));
        if frozen.setup_inputs.is_empty() || words.any(|word| KEEP_BY_PATH.contains(&word)) {
            return None;
        }
        let folder = self.context.checkouts.join("_setup").join(wanted);
        Some(SharedSetUp { location, folder, caches })
    }

    /// Copies what the set-up left in another checkout, if it is there.
    pub(super) fn reused_setup(
        &self,
        name: &str,
        shared: &SharedSetUp,
    ) -> Result<ReusedSetUp, Pending> {
        let order = || {
            Ok(Operation::Reuse(ReuseSetUp {
                location: shared.location.clone(),
                folder: shared.folder.clone(),
                copy: self.context.frozen.copy.clone(),
                cache: self.context.frozen.cache.clone(),
                before: shared.caches,
            }))
        };
        let OperationResult::Reused(reused) = self.operation(name, OnStop::Cancel, order)? else {
            unreachable!("the worker reuses what it is asked to reuse")
        };
        Ok(reused)
    }

    /// Where the set-up of a checkout in which no agent has worked is kept, if its commit is one that was accepted.
    pub(super) fn saved_setup(
        &self,
        shared: &SharedSetUp,
        opened: &OpenedCheckout,
    ) -> Result<Option<SaveSetUp>, Error> {
        let head = self.run.head().expect("a run with checkouts has a base");
        let is_accepted = self.is_at_the_base(&opened.head)?
            || self.context.code.is_ancestor(&opened.head, head)?;
        let (folder, copy) = (shared.folder.clone(), self.context.frozen.copy.clone());
        Ok(is_accepted.then_some(SaveSetUp { folder, copy }))
    }
}
