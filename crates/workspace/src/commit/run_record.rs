//! One commit on top of another that differs from it in one folder below `.forge/runs/`, and nowhere
//! else.
//!
//! No checkout is needed: the trees are made from the ones that are there. No hooks run, because
//! nothing that is built or tested changes. The same files, parent, message and time give the same
//! commit.
//!
//! Invariant: the code tree is the same before and after.
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
    protocol::{AttachRecord, AttachedRecord, OperationResult, RefusedCommit},
    repository::{locate::Repository, objects, refs},
};

/// The folder that a record may be attached in.
const BELOW: [&str; 2] = [".forge", "runs"];

/// Performs [`AttachRecord`], if the guard lets it.
pub(crate) fn attach_record(
    operation: &AttachRecord,
    guard: &mut ContentGuard<'_>,
) -> Result<OperationResult, WorkspaceError> {
    refs::check_pin(&operation.pin)?;
    let message = objects::checked_message(&operation.message)?;
    let user = Repository::from_location(&operation.location);
    let parent = user.require_commit(&operation.onto)?;
    let is_plain =
        !operation.folder.contains('/') && path_names::relative_inside(&operation.folder).is_some();
    if !is_plain {
        let what = format!("{:?} is not a folder below {}", operation.folder, BELOW.join("/"));
        return Err(WorkspaceError::new(what, "this is a bug in Forge; please report it"));
    }
    let mut flaws = Vec::new();
    for attached in &operation.files {
        let path = format!("{}/{}/{}", BELOW.join("/"), operation.folder, attached.path);
        let file = File::open(&attached.from).context("read", &attached.from)?;
        let seen = added_content::scan_file(path.as_bytes(), file, guard);
        flaws.extend(seen.context("read", &attached.from)?);
    }
    if !flaws.is_empty() {
        return Ok(OperationResult::Refused(RefusedCommit { flaws }));
    }
    let folder = folder(&user, operation)?;
    let old = user.tree(&parent)?;
    let way = [BELOW[0], BELOW[1], &operation.folder];
    let tree = replace_folder(&user, Some(&old), &way, &folder)?;
    let code = user.without_run_records(tree.clone())?;
    if code != user.without_run_records(old)? {
        let what = format!("files at {} would change the code", operation.folder);
        return Err(WorkspaceError::new(what, "this is a bug in Forge; please report it"));
    }
    let identity = UserConfig::read(user.top.as_deref(), &user.common_dir)?.identity();
    let (parents, when_ms) = (&[parent], operation.when_ms);
    let (tree, identity, message) = (&tree, &identity, &message);
    let commit = user.make_commit(&NewCommit { tree, parents, identity, when_ms, message })?;
    user.pin(&operation.pin, &commit)?;
    Ok(OperationResult::Attached(AttachedRecord { commit, tree: code }))
}

/// A new folder with its entries, by name.
#[derive(Default)]
struct RecordFolder {
    folders: BTreeMap<String, RecordFolder>,
    files: BTreeMap<String, String>,
}

/// Returns the tree of all files that are attached.
fn folder(user: &Repository, operation: &AttachRecord) -> Result<String, WorkspaceError> {
    let mut top = RecordFolder::default();
    for attached in &operation.files {
        let Some(_inside) = path_names::relative_inside(&attached.path) else {
            let what = format!("{:?} is not a path inside a folder", attached.path);
            return Err(WorkspaceError::new(what, "this is a bug in Forge; please report it"));
        };
        let content = fs::read(&attached.from).context("read", &attached.from)?;
        let object = object_writer::write(&user.common_dir, "blob", &content, Outlasts::PowerLoss)?;
        let (mut here, mut rest) = (&mut top, attached.path.as_str());
        while let Some((folder, inner)) = rest.split_once('/') {
            here = here.folders.entry(folder.to_owned()).or_default();
            rest = inner;
        }
        here.files.insert(rest.to_owned(), object);
    }
    written(user, &top)
}

fn written(user: &Repository, folder: &RecordFolder) -> Result<String, WorkspaceError> {
    let mut entries = Vec::new();
    for (name, inner) in &folder.folders {
        entries.push(tree_entry(name, written(user, inner)?));
    }
    for (name, object) in &folder.files {
        let (mode, kind) = ("100644".to_owned(), "blob".to_owned());
        let name = name.as_bytes().to_vec();
        entries.push(TreeEntry { mode, kind, object: object.clone(), name });
    }
    make(user, &entries)
}

/// Returns the same tree with another folder at the end of this way. What is in the way is not replaced.
fn replace_folder(
    user: &Repository,
    tree: Option<&str>,
    way: &[&str],
    last: &str,
) -> Result<String, WorkspaceError> {
    let Some((first, rest)) = way.split_first() else { return Ok(last.to_owned()) };
    let mut entries = match tree {
        Some(tree) => user.entries(tree)?.to_vec(),
        None => Vec::new(),
    };
    let found = entries.iter().position(|entry| entry.name == first.as_bytes());
    let inner = match found.map(|at| entries.remove(at)) {
        Some(entry) if entry.kind == "tree" => Some(entry.object),
        None => None,
        Some(_) => {
            let what =
                format!("`{first}` is not a folder in the commit, so nothing can be stored in it");
            return Err(WorkspaceError::new(what, "give it another name, then resume"));
        }
    };
    entries.push(tree_entry(first, replace_folder(user, inner.as_deref(), rest, last)?));
    make(user, &entries)
}

fn tree_entry(name: &str, object: String) -> TreeEntry {
    let (mode, kind) = ("040000".to_owned(), "tree".to_owned());
    TreeEntry { mode, kind, object, name: name.as_bytes().to_vec() }
}

fn make(user: &Repository, entries: &[TreeEntry]) -> Result<String, WorkspaceError> {
    let entries: Vec<&TreeEntry> = entries.iter().collect();
    Ok(user.make_tree(&entries, Outlasts::PowerLoss)?)
}
