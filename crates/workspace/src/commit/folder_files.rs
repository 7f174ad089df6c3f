//! One commit on top of another that differs from it in named files of one folder, and nowhere else.
//!
//! No checkout is needed: the trees are made from the ones that are there. No hooks run. The same files, parent, message
//! and time give the same commit.
//!
//! Not here: which files those are. Unlike the record of a run, they are code: what is made of them has to be proved.
//!
//! Invariant: what is not a regular file is never replaced, nor is anything outside the folder.
//! Invariant: nothing of the files is written down before the guard has seen it.

use std::{
    collections::BTreeMap,
    fs::{self, File},
};

use crate::{
    commit::added_content::{self, ContentGuard},
    git::{
        error::{IoContext as _, WorkspaceError},
        object_reader::TreeEntry,
        object_writer::{self, NewCommit, Outlasts},
        path_names,
        user_config::UserConfig,
    },
    protocol::{AttachedRecord, OperationResult, RefusedCommit, WriteFiles},
    repository::{locate::Repository, objects, refs},
};

/// Performs [`WriteFiles`], if the guard lets it.
pub(crate) fn write_files(
    operation: &WriteFiles,
    guard: &mut ContentGuard<'_>,
) -> Result<OperationResult, WorkspaceError> {
    refs::check_pin(&operation.pin)?;
    let message = objects::checked_message(&operation.message)?;
    let user = Repository::from_location(&operation.location);
    let parent = user.require_commit(&operation.onto)?;
    let mut flaws = Vec::new();
    for written in &operation.files {
        let path = in_folder(operation, &written.path)?;
        let file = File::open(&written.from).context("read", &written.from)?;
        let seen = added_content::scan_file(path.as_bytes(), file, guard);
        flaws.extend(seen.context("read", &written.from)?);
    }
    if !flaws.is_empty() {
        return Ok(OperationResult::Refused(RefusedCommit { flaws }));
    }
    let mut edits = FolderEdits::default();
    for written in &operation.files {
        let content = fs::read(&written.from).context("read", &written.from)?;
        let object = object_writer::write(&user.common_dir, "blob", &content, Outlasts::PowerLoss)?;
        edits.add(&in_folder(operation, &written.path)?, Some(object));
    }
    for removed in &operation.removed {
        edits.add(&in_folder(operation, removed)?, None);
    }
    let old = user.tree(&parent)?;
    let entries = edited(&user, Some(&old), &edits)?;
    let tree = make(&user, &entries)?;
    if tree == old {
        let tree = user.without_run_records(old)?;
        return Ok(OperationResult::Attached(AttachedRecord { commit: parent, tree }));
    }
    let identity = UserConfig::read(user.top.as_deref(), &user.common_dir)?.identity();
    let (parents, when_ms) = (&[parent], operation.when_ms);
    let new = NewCommit { tree: &tree, parents, identity: &identity, when_ms, message: &message };
    let commit = user.make_commit(&new)?;
    user.pin(&operation.pin, &commit)?;
    let tree = user.without_run_records(tree)?;
    Ok(OperationResult::Attached(AttachedRecord { commit, tree }))
}

/// Returns the path of a file of the folder from the top.
fn in_folder(operation: &WriteFiles, path: &str) -> Result<String, WorkspaceError> {
    let whole = format!("{}/{path}", operation.folder);
    if path_names::relative_inside(&whole).as_deref() == Some(whole.as_bytes()) {
        return Ok(whole);
    }
    let what = format!("{whole:?} is not a path inside a folder");
    Err(WorkspaceError::new(what, "this is a bug in Forge; please report it"))
}

/// What changes in a folder: files by name, with the object of their content or none, and folders in it.
#[derive(Default)]
struct FolderEdits {
    folders: BTreeMap<String, FolderEdits>,
    files: BTreeMap<String, Option<String>>,
}

impl FolderEdits {
    fn add(&mut self, path: &str, object: Option<String>) {
        let (mut here, mut rest) = (self, path);
        while let Some((folder, inner)) = rest.split_once('/') {
            here = here.folders.entry(folder.to_owned()).or_default();
            rest = inner;
        }
        here.files.insert(rest.to_owned(), object);
    }
}

/// Returns the entries of a tree with these edits.
fn edited(
    user: &Repository,
    tree: Option<&str>,
    edits: &FolderEdits,
) -> Result<Vec<TreeEntry>, WorkspaceError> {
    let mut entries = match tree {
        Some(tree) => user.entries(tree)?.to_vec(),
        None => Vec::new(),
    };
    let mut take = |name: &str, kind: &str| {
        let found = entries.iter().position(|entry| entry.name == name.as_bytes());
        let Some(entry) = found.map(|at| entries.remove(at)) else { return Ok(None) };
        let is_link = entry.mode == "120000";
        if entry.kind == kind && !is_link {
            return Ok(Some(entry.object));
        }
        let expected = if kind == "tree" { "folder" } else { "file" };
        let what = format!("`{name}` is not a {expected} in the commit, so it cannot be written");
        Err(WorkspaceError::new(what, "give it another name, then resume"))
    };
    let mut made = Vec::new();
    for (name, inner) in &edits.folders {
        let inner = edited(user, take(name, "tree")?.as_deref(), inner)?;
        // Git knows no empty folders.
        if !inner.is_empty() {
            made.push(entry(name, ("040000", "tree"), make(user, &inner)?));
        }
    }
    for (name, object) in &edits.files {
        take(name, "blob")?;
        made.extend(object.clone().map(|object| entry(name, ("100644", "blob"), object)));
    }
    entries.extend(made);
    Ok(entries)
}

fn entry(name: &str, (mode, kind): (&str, &str), object: String) -> TreeEntry {
    TreeEntry {
        mode: mode.to_owned(),
        kind: kind.to_owned(),
        object,
        name: name.as_bytes().to_vec(),
    }
}

fn make(user: &Repository, entries: &[TreeEntry]) -> Result<String, WorkspaceError> {
    let entries: Vec<&TreeEntry> = entries.iter().collect();
    Ok(user.make_tree(&entries, Outlasts::PowerLoss)?)
}
