//! What a driver reads and keeps of a repository's history, as a trait: [`Repository`] in the product,
//! a history in memory in simulated runs.
//!
//! Not here: anything with files; that is an [`crate::Operation`].

use std::{collections::BTreeMap, fmt::Debug};

use crate::{
    git::error::{GitError, WorkspaceError},
    protocol::{BranchAdvance, FileChange, MoveRunHead, RunHeadUpdate},
    repository::{locate::Repository, run_refs::move_run_head},
};

/// Commits by their full ids. The methods promise what those of [`Repository`] do.
pub trait CodeHistory: Debug {
    fn changes(&self, from: &str, to: &str) -> Result<Vec<FileChange>, GitError>;

    fn diff(
        &self,
        from: &str,
        to: &str,
        paths: &[String],
        bytes_max: usize,
    ) -> Result<Vec<u8>, GitError>;

    fn branch_advance(
        &self,
        branch: &str,
        base: &str,
        head: &str,
    ) -> Result<Option<BranchAdvance>, GitError>;

    fn merge_base(&self, one: &str, other: &str) -> Result<String, GitError>;

    fn links_at(&self, commit: &str) -> Result<BTreeMap<String, String>, GitError>;

    fn commit_time_ms(&self, commit: &str) -> Result<u64, GitError>;

    fn message(&self, commit: &str) -> Result<String, GitError>;

    fn squash(&self, onto: &str, commit: &str, pin: &str) -> Result<String, GitError>;

    fn overlay(
        &self,
        onto: &str,
        from: &str,
        paths: &[String],
        pin: &str,
    ) -> Result<String, GitError>;

    fn resolve_commit(&self, name: &str) -> Option<String>;

    fn file_at(
        &self,
        commit: &str,
        path: &str,
        bytes_max: u64,
    ) -> Result<Option<Vec<u8>>, GitError>;

    fn files_at(&self, commit: &str, under: &str) -> Result<Vec<String>, GitError>;

    fn is_ancestor(&self, a: &str, b: &str) -> Result<bool, GitError>;

    fn code_tree(&self, commit: &str) -> Result<String, GitError>;

    fn pin(&self, name: &str, commit: &str) -> Result<(), GitError>;

    fn unpin(&self, name: &str) -> Result<(), GitError>;

    /// Moves the head of a run, and its branch with it.
    fn move_run_head(&self, order: &MoveRunHead) -> Result<RunHeadUpdate, WorkspaceError>;
}

impl CodeHistory for Repository {
    fn changes(&self, from: &str, to: &str) -> Result<Vec<FileChange>, GitError> {
        Repository::changes(self, from, to)
    }

    fn diff(
        &self,
        from: &str,
        to: &str,
        paths: &[String],
        bytes_max: usize,
    ) -> Result<Vec<u8>, GitError> {
        Repository::diff(self, from, to, paths, bytes_max)
    }

    fn branch_advance(
        &self,
        branch: &str,
        base: &str,
        head: &str,
    ) -> Result<Option<BranchAdvance>, GitError> {
        Repository::branch_advance(self, branch, base, head)
    }

    fn merge_base(&self, one: &str, other: &str) -> Result<String, GitError> {
        Repository::merge_base(self, one, other)
    }

    fn links_at(&self, commit: &str) -> Result<BTreeMap<String, String>, GitError> {
        Repository::links_at(self, commit)
    }

    fn commit_time_ms(&self, commit: &str) -> Result<u64, GitError> {
        Repository::commit_time_ms(self, commit)
    }

    fn message(&self, commit: &str) -> Result<String, GitError> {
        Repository::message(self, commit)
    }

    fn squash(&self, onto: &str, commit: &str, pin: &str) -> Result<String, GitError> {
        Repository::squash(self, onto, commit, pin)
    }

    fn overlay(
        &self,
        onto: &str,
        from: &str,
        paths: &[String],
        pin: &str,
    ) -> Result<String, GitError> {
        Repository::overlay(self, onto, from, paths, pin)
    }

    fn resolve_commit(&self, name: &str) -> Option<String> {
        Repository::resolve_commit(self, name)
    }

    fn file_at(
        &self,
        commit: &str,
        path: &str,
        bytes_max: u64,
    ) -> Result<Option<Vec<u8>>, GitError> {
        Repository::file_at(self, commit, path, bytes_max)
    }

    fn files_at(&self, commit: &str, under: &str) -> Result<Vec<String>, GitError> {
        Repository::files_at(self, commit, under)
    }

    fn is_ancestor(&self, a: &str, b: &str) -> Result<bool, GitError> {
        Repository::is_ancestor(self, a, b)
    }

    fn code_tree(&self, commit: &str) -> Result<String, GitError> {
        Repository::code_tree(self, commit)
    }

    fn pin(&self, name: &str, commit: &str) -> Result<(), GitError> {
        Repository::pin(self, name, commit)
    }

    fn unpin(&self, name: &str) -> Result<(), GitError> {
        Repository::unpin(self, name)
    }

    fn move_run_head(&self, order: &MoveRunHead) -> Result<RunHeadUpdate, WorkspaceError> {
        move_run_head(order)
    }
}
