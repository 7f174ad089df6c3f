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
    commit::added_content::{self, Guard},
    git::{
        command::Git,
        error::{Failure, Trying as _},
        ls_tree::Entry,
        path_names,
        user_config::Settings,
    },
    protocol::{Attach, Attached, Made, Refused},
    repository::{locate::Repository, objects, refs},
};

/// Where files may be attached.
const BELOW: [&str; 2] = [".forge", "runs"];

/// Performs [`Attach`], if the guard lets it.
pub(crate) fn attach(order: &Attach, guard: &mut Guard<'_>) -> Result<Made, Failure> {
    refs::check_pin(&order.pin)?;
    let message = objects::checked_message(&order.message)?;
    let user = Repository::from_bench(&order.bench);
    let parent = user.sure(&order.onto)?;
    let is_plain = !order.folder.contains('/') && path_names::inside(&order.folder).is_some();
    if !is_plain {
        let what = format!("{:?} is no folder below {}", order.folder, BELOW.join("/"));
        return Err(Failure::new(what, "this is a defect of Forge"));
    }
    let mut flaws = Vec::new();
    for attached in &order.files {
        let path = format!("{}/{}/{}", BELOW.join("/"), order.folder, attached.path);
        let file = File::open(&attached.from).trying("read", &attached.from)?;
        let seen = added_content::look_at(path.as_bytes(), file, guard);
        flaws.extend(seen.trying("read", &attached.from)?);
    }
    if !flaws.is_empty() {
        return Ok(Made::Refused(Refused { flaws }));
    }
    let folder = folder(&user, order)?;
    let old = user.git().args(["rev-parse", &format!("{parent}^{{tree}}")]).line()?;
    let way = [BELOW[0], BELOW[1], &order.folder];
    let tree = put(&user, Some(&old), &way, &folder)?;
    let code = user.code_of(tree.clone())?;
    if code != user.code_of(old)? {
        let what = format!("files at {} would change the code", order.folder);
        return Err(Failure::new(what, "this is a defect of Forge"));
    }
    let identity = Settings::of(user.top.as_deref(), &user.common_dir)?.identity();
    let git = identity.sign(Git::of(&user.common_dir).durably(), order.when_ms);
    let commit = objects::commit_tree(git, &tree, &[parent], &message)?;
    user.pin(&order.pin, &commit)?;
    Ok(Made::Attached(Attached { commit, tree: code }))
}

/// A folder that is made: what lies in it, by name.
#[derive(Default)]
struct Folder {
    folders: BTreeMap<String, Folder>,
    files: BTreeMap<String, String>,
}

/// The tree of all files that are attached.
fn folder(user: &Repository, order: &Attach) -> Result<String, Failure> {
    let mut top = Folder::default();
    for attached in &order.files {
        let Some(_inside) = path_names::inside(&attached.path) else {
            let what = format!("{:?} is no path inside a folder", attached.path);
            return Err(Failure::new(what, "this is a defect of Forge"));
        };
        let content = fs::read(&attached.from).trying("read", &attached.from)?;
        let git = user.git().durably().args(["hash-object", "-w", "-t", "blob", "--stdin"]);
        let object = git.input(content).line()?;
        let (mut here, mut rest) = (&mut top, attached.path.as_str());
        while let Some((folder, inner)) = rest.split_once('/') {
            here = here.folders.entry(folder.to_owned()).or_default();
            rest = inner;
        }
        here.files.insert(rest.to_owned(), object);
    }
    written(user, &top)
}

fn written(user: &Repository, folder: &Folder) -> Result<String, Failure> {
    let mut entries = Vec::new();
    for (name, inner) in &folder.folders {
        entries.push(tree_entry(name, written(user, inner)?));
    }
    for (name, object) in &folder.files {
        let (mode, kind) = ("100644".to_owned(), "blob".to_owned());
        let name = name.as_bytes().to_vec();
        entries.push(Entry { mode, kind, object: object.clone(), name });
    }
    make(user, &entries)
}

/// The same tree with another folder at the end of this way. What is in the way is not replaced.
fn put(user: &Repository, tree: Option<&str>, way: &[&str], last: &str) -> Result<String, Failure> {
    let Some((first, rest)) = way.split_first() else { return Ok(last.to_owned()) };
    let mut entries = match tree {
        Some(tree) => user.entries(tree)?,
        None => Vec::new(),
    };
    let found = entries.iter().position(|entry| entry.name == first.as_bytes());
    let inner = match found.map(|at| entries.remove(at)) {
        Some(entry) if entry.kind == "tree" => Some(entry.object),
        None => None,
        Some(_) => {
            let what =
                format!("`{first}` is no folder in the commit, so nothing can be kept in it");
            return Err(Failure::new(what, "give it another name, then resume"));
        }
    };
    entries.push(tree_entry(first, put(user, inner.as_deref(), rest, last)?));
    make(user, &entries)
}

fn tree_entry(name: &str, object: String) -> Entry {
    let (mode, kind) = ("040000".to_owned(), "tree".to_owned());
    Entry { mode, kind, object, name: name.as_bytes().to_vec() }
}

fn make(user: &Repository, entries: &[Entry]) -> Result<String, Failure> {
    let entries: Vec<&Entry> = entries.iter().collect();
    Ok(Repository::make_tree(user.git().durably(), &entries)?)
}
