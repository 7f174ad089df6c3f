//! One commit of the files as they are.
//!
//! Forge's own index decides what is tracked; nothing that the agent did to its `.git` has
//! an effect. The same files, parents, message and time give the same commit.
//!
//! Invariant: no submodule is added, moved or lost by accident; no copied file and no cache is ever
//! committed.
//! Invariant: nothing of the files is written down before the guard has seen it.

use std::{
    ffi::OsStr,
    fs::{self, File},
    os::unix::ffi::OsStrExt as _,
};

use crate::{
    checkout::{
        agent_repository,
        files::{self, FilledCheckout},
        git_dir::{Checkout, DifferingFiles, MissingFolders},
        nested_git, run_records, setup_baseline,
        state::LockedCheckout,
        submodules,
    },
    commit::added_content::{self, ContentGuard},
    git::{
        error::{GitError, IoContext as _, WorkspaceError},
        merge_tree::{self, MergedTree},
        object_reader::{self, Difference, TreeEntry, is_attributes},
        object_writer::NewCommit,
        path_names::{self, below, encode_path},
        safe_files::{self, RealFolders, TreeSurvey},
    },
    protocol::{CommitFiles, CommittedFiles, OperationResult, RefusedCommit},
    repository::{locate::Repository, objects, refs},
};

/// Limit on the agent's own commits that are counted.
const OWN_COMMITS_MAX: u32 = 10_000;
/// Limit on the notes that are listed one by one.
const NOTES_MAX: usize = 100;
/// Limit on the part of a file that is searched for conflict markers, in bytes.
const MARKED_BYTES_MAX: usize = 4 << 20;

/// Performs [`CommitFiles`], if the guard lets it.
pub(crate) fn commit_files(
    operation: &CommitFiles,
    guard: &mut ContentGuard<'_>,
) -> Result<OperationResult, WorkspaceError> {
    refs::check_pin(&operation.pin)?;
    let message = objects::checked_message(&operation.message)?;
    let user = Repository::from_location(&operation.location);
    let parents = parents(&user, &operation.onto)?;
    let locked = LockedCheckout::acquire(&operation.location)?;
    let state = locked.opened()?;
    let survey = safe_files::survey(&locked.tree)?;
    let checkout = locked.checkout(&operation.location)?;
    let untouched = setup_baseline::untouched(&state.baseline, &locked.tree)?;
    let untouched = setup_baseline::paths(&untouched);
    let excluded = [&state.excluded()[..], &untouched].concat();
    checkout.prepare(&excluded)?;

    let outcome = match parents.as_slice() {
        [first, second] => Some(merge_tree::try_merge(&user.common_dir, first, second)?),
        _ => None,
    };
    let whole = match &outcome {
        Some(outcome) => outcome.tree.clone(),
        None => user.tree(&parents[0])?,
    };
    let baseline = user.without_run_records(whole.clone())?;
    let own_commits = own_commits(&checkout, &parents)?;
    let mut notes = Vec::new();
    for path in &survey.special {
        notes.push(format!("{} is a pipe, a socket or a device: left out", encode_path(path)));
        if path_names::is_read_by_git(path) {
            safe_files::remove(&below(&locked.tree, path))?;
        }
    }
    let filled = FilledCheckout::outermost(checkout, baseline.clone())?;
    let prepare = |inner: &FilledCheckout| inner.checkout.prepare(&[]);
    let all = files::all_below(filled, MissingFolders::AsTheyAre, prepare)?;
    let checkout = &all[0].checkout;
    let by_setup = untouched.into_iter().filter(|path| all[0].listing.has_file(path)).collect();
    let start = IndexStart { checkout, tree: &baseline, by_setup };
    let staged = set_aside(&locked, &survey, &start, &excluded).and_then(|differing| {
        let flaws = added_content::scan(checkout, &all[0].listing, &differing, guard)?;
        let is_same = differing.changed.is_empty() && differing.untracked.is_empty();
        // A repository inside is looked at by git, whatever it says of files.
        let staged = if !flaws.is_empty() {
            Err(flaws)
        } else if is_same && all.len() == 1 && survey.nested.len() <= 1 {
            Ok(baseline.clone())
        } else {
            Ok(stage_files(&start, &excluded, &mut notes)?)
        };
        checkout.look_again(&start.by_setup)?;
        Ok(staged)
    });
    let repositories = repository_notes(&survey, &all);
    nested_git::restore(&locked.dir)?;
    let tree = match staged? {
        Ok(tree) => tree,
        Err(mut flaws) => {
            shorten(&mut flaws);
            return Ok(OperationResult::Refused(RefusedCommit { flaws }));
        }
    };
    notes.extend(repositories?);
    notes.extend(run_records::notes(&locked.tree)?);
    let tree = user.with_run_records(tree, &whole)?;

    if let Some(outcome) = &outcome {
        notes.extend(unresolved(&user, &tree, outcome)?);
    }
    let is_unchanged = user.tree(&parents[0])? == tree;
    let rewords = operation.rewords.as_ref().filter(|before| **before == parents[0]);
    let new_parents = match (is_unchanged && parents.len() == 1, rewords) {
        (true, None) => None,
        (true, Some(before)) => Some(user.parents(before)?),
        (false, _) => Some(parents.clone()),
    };
    let commit = match new_parents {
        None => parents[0].clone(),
        Some(new_parents) => {
            let (identity, when_ms) = (&checkout.settings.identity(), operation.when_ms);
            let (tree, parents, message) = (&tree, &new_parents, &message);
            user.make_commit(&NewCommit { tree, parents, identity, when_ms, message })?
        }
    };
    user.pin(&operation.pin, &commit)?;
    let changes = user.changes(&parents[0], &commit)?;
    let tree = user.without_run_records(tree)?;
    shorten(&mut notes);
    Ok(OperationResult::Committed(CommittedFiles { commit, tree, changes, own_commits, notes }))
}

/// The state that the index is brought to before the files are looked at.
struct IndexStart<'a> {
    checkout: &'a Checkout,
    /// The tree that the files are compared with.
    tree: &'a str,
    /// Tracked files that are as the set-up left them: they count as unchanged.
    by_setup: Vec<Vec<u8>>,
}

impl IndexStart<'_> {
    fn reset(&self) -> Result<(), WorkspaceError> {
        self.checkout.reset_index(self.tree)?;
        Ok(self.checkout.assume_unchanged(&self.by_setup)?)
    }
}

/// Puts aside what git must not come upon: every `.git` in the tree, and what is kept out although
/// an agent no longer lets git ignore it. Returns what differs but for these; the index is that of the baseline.
fn set_aside(
    locked: &LockedCheckout,
    survey: &TreeSurvey,
    start: &IndexStart<'_>,
    excluded: &[Vec<u8>],
) -> Result<DifferingFiles, WorkspaceError> {
    nested_git::set_aside(&locked.dir, &survey.nested)?;
    start.reset()?;
    let DifferingFiles { changed, untracked } = start.checkout.differing()?;
    let (kept, untracked): (Vec<_>, Vec<_>) =
        untracked.into_iter().partition(|path| path_names::is_at_or_below(path, excluded));
    if !kept.is_empty() {
        nested_git::set_aside(&locked.dir, &[survey.nested.as_slice(), kept.as_slice()].concat())?;
    }
    Ok(DifferingFiles { changed, untracked })
}

/// Returns the parents in full, without one that is in the history of the first.
fn parents(user: &Repository, onto: &[String]) -> Result<Vec<String>, WorkspaceError> {
    match onto {
        [only] => Ok(vec![user.require_commit(only)?]),
        [first, second] => {
            let (first, second) = (user.require_commit(first)?, user.require_commit(second)?);
            let is_in = user.is_ancestor(&second, &first)?;
            Ok(if is_in { vec![first] } else { vec![first, second] })
        }
        _ => Err(WorkspaceError::new(
            format!("a commit has one or two parents, not {}", onto.len()),
            "this is a bug in Forge; please report it",
        )),
    }
}

/// Brings the files into the index, which is that of the baseline, and gives the tree of it.
fn stage_files(
    start: &IndexStart<'_>,
    excluded: &[Vec<u8>],
    notes: &mut Vec<String>,
) -> Result<String, WorkspaceError> {
    let checkout = start.checkout;
    let attempt = || -> Result<StagedFiles, WorkspaceError> {
        let git = checkout.git().durably().args(["add", "-A", "--ignore-errors"]);
        let unadded_files =
            git.run().map_or_else(|error| unadded_files(checkout, error), |_| Ok(Vec::new()))?;
        let mut staged = keep_out(checkout, start.tree, excluded)?;
        staged.notes.extend(unadded_files);
        Ok(staged)
    };
    let staged = attempt()?;
    let staged = match staged.attributes {
        AttributesChange::Same => staged,
        // Files that did not change may be kept differently now: all are read again, so that the
        // outcome does not depend on what the index knew.
        AttributesChange::Changed => {
            safe_files::remove(&checkout.index())?;
            start.reset()?;
            attempt()?
        }
    };
    notes.extend(staged.notes);
    Ok(staged.tree)
}

/// The state of the index after all files were added.
struct StagedFiles {
    tree: String,
    notes: Vec<String>,
    attributes: AttributesChange,
}

/// Change of the files that define how other files are stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AttributesChange {
    Same,
    Changed,
}

/// Explains the files that git did not add. It is an error if the cause is not the file itself.
fn unadded_files(checkout: &Checkout, error: GitError) -> Result<Vec<String>, WorkspaceError> {
    let is_partial = matches!(&error, GitError::Refused { code: Some(1), .. });
    let mut unadded = checkout.changed()?;
    unadded.extend(checkout.untracked()?);
    if !is_partial || unadded.is_empty() {
        return Err(error.into());
    }
    let mut real = RealFolders::below(&checkout.tree);
    let mut notes = Vec::new();
    for path in unadded {
        let file = below(&checkout.tree, &path);
        let metadata = real.file(&path)?;
        let is_special =
            metadata.as_ref().is_some_and(|metadata| safe_files::is_special(metadata.file_type()));
        let is_unreadable = !is_special
            && metadata.is_some_and(|metadata| metadata.is_file())
            && File::open(&file).is_err();
        if is_special {
            continue;
        }
        if is_unreadable {
            notes.push(format!("{} cannot be read: left as it was", encode_path(&path)));
        } else if is_refused_name(checkout, &path)? {
            notes.push(format!("{} has a name that git refuses: left out", encode_path(&path)));
        } else {
            return Err(error.into());
        }
    }
    Ok(notes)
}

/// Checks whether git refuses a name, with a temporary index.
fn is_refused_name(checkout: &Checkout, path: &[u8]) -> Result<bool, WorkspaceError> {
    let index = checkout.git_dir.join("index.asked");
    safe_files::remove(&index)?;
    let empty = checkout.git().args(["hash-object", "-w", "-t", "blob", "--stdin"]).run_line()?;
    let path = OsStr::from_bytes(path.strip_suffix(b"/").unwrap_or(path));
    let git = checkout.git().env("GIT_INDEX_FILE", &index);
    let asked =
        git.args(["update-index", "--add", "--cacheinfo", "100644", &empty]).arg(path).run();
    safe_files::remove(&index)?;
    Ok(asked.is_err())
}

/// Takes out of the index what must not be committed, and puts back submodules.
fn keep_out(
    checkout: &Checkout,
    baseline: &str,
    excluded: &[Vec<u8>],
) -> Result<StagedFiles, WorkspaceError> {
    let written = checkout.git().durably().arg("write-tree").run_line()?;
    let mut lines = Vec::new();
    let mut notes = Vec::new();
    let mut known = None;
    let mut attributes = AttributesChange::Same;
    let mut real = RealFolders::below(&checkout.tree);
    for Difference { path, old, new } in
        &object_reader::differences(&checkout.owner.git_dir, baseline, &written)?
    {
        let mode = |entry: &Option<TreeEntry>| {
            entry.as_ref().map_or("000000".to_owned(), |entry| entry.mode.clone())
        };
        let (old_mode, new_mode) = (mode(old), mode(new));
        let old = old.as_ref().map_or_else(|| "0".repeat(baseline.len()), |old| old.object.clone());
        if is_attributes(path) {
            attributes = AttributesChange::Changed;
        }
        if new_mode == "120000" && real.file(path)?.is_some_and(|found| found.is_symlink()) {
            let link = below(&checkout.tree, path);
            let link_target = fs::read_link(&link).context("read", &link)?;
            if !path_names::stays_inside(path, link_target.as_os_str().as_bytes()) {
                notes.push(format!("{} is a link to outside of the repository", encode_path(path)));
            }
        }
        let mut put = |mode: &str, object: &str| {
            lines.extend(format!("{mode} {object}\t").into_bytes());
            lines.extend(path);
            lines.push(0);
        };
        let none = "0".repeat(old.len());
        match (old_mode.as_str(), new_mode.as_str()) {
            ("000000", "160000") => {
                put("0", &none);
                notes.push(format!("{} is a repository of its own: left out", encode_path(path)));
            }
            ("000000", _) if path_names::is_at_or_below(path, excluded) => put("0", &none),
            ("160000", "000000") => {
                // Gone for good only if `.gitmodules` has forgotten it, too.
                let known =
                    known.get_or_insert_with(|| submodules::names(checkout.git(), ":.gitmodules"));
                if known.iter().any(|(known, _)| known == path) {
                    put("160000", &old);
                    notes.push(format!("the submodule {} was removed: kept", encode_path(path)));
                }
            }
            ("160000", _) => {
                put("160000", &old);
                notes.push(format!(
                    "the submodule {} was changed: kept as it was",
                    encode_path(path)
                ));
            }
            (_, _) => {}
        }
    }
    if lines.is_empty() {
        return Ok(StagedFiles { tree: written, notes, attributes });
    }
    checkout.git().args(["update-index", "-z", "--index-info"]).input(lines).run()?;
    let tree = checkout.git().durably().arg("write-tree").run_line()?;
    Ok(StagedFiles { tree, notes, attributes })
}

/// Repositories that the agent made in the tree, and submodules that it changed.
fn repository_notes(
    survey: &TreeSurvey,
    all: &[FilledCheckout],
) -> Result<Vec<String>, WorkspaceError> {
    let mut notes = Vec::new();
    let known: Vec<Vec<u8>> =
        all[1..].iter().map(|filled| path_names::joined(&filled.path, b".git")).collect();
    let made: Vec<&Vec<u8>> = survey.nested.iter().filter(|path| !known.contains(path)).collect();
    if !made.is_empty() {
        let tracked = all[0].checkout.tracked()?;
        for path in made {
            let folder = [path_names::parent(path), b"/"].concat();
            if tracked.iter().any(|path| path.starts_with(&folder)) {
                let folder = encode_path(path_names::parent(path));
                notes.push(format!(
                    "{folder} was a repository of its own: its files were added as plain files"
                ));
            }
        }
    }
    for filled in &all[1..] {
        filled.checkout.reset_index(&filled.at)?;
        let is_same =
            filled.checkout.changed()?.is_empty() && filled.checkout.untracked()?.is_empty();
        if !is_same {
            let path = encode_path(&filled.path);
            notes.push(format!("the submodule {path} was changed: its changes are not committed"));
        }
    }
    Ok(notes)
}

/// Files of a merge that still have conflict markers.
fn unresolved(
    user: &Repository,
    tree: &str,
    outcome: &MergedTree,
) -> Result<Vec<String>, WorkspaceError> {
    let mut notes = Vec::new();
    for path in outcome.paths() {
        let Some(object) = user.blob_at(tree, &path)? else { continue };
        let (text, _) =
            user.git().args(["cat-file", "blob", &object]).run_truncated(MARKED_BYTES_MAX)?;
        if merge_tree::has_markers(&text) {
            notes.push(format!("unresolved conflict markers in {path}"));
        }
    }
    Ok(notes)
}

/// Counts the commits that the agent's git has on top of the parents. A `.git` that cannot be read
/// has none.
fn own_commits(checkout: &Checkout, parents: &[String]) -> Result<u32, WorkspaceError> {
    let Some(head) = agent_repository::head(&checkout.tree)? else { return Ok(0) };
    if parents.contains(&head) {
        return Ok(0);
    }
    let Some(objects) = agent_repository::objects(checkout)? else { return Ok(0) };
    let borrowed = path_names::quoted(objects.as_os_str().as_encoded_bytes());
    let git = checkout.git().env("GIT_ALTERNATE_OBJECT_DIRECTORIES", borrowed);
    let git = git.args(["rev-list", "--count", &format!("--max-count={OWN_COMMITS_MAX}")]);
    let counted = git.arg(head).arg("--not").args(parents).arg("--").run_line();
    Ok(counted.ok().and_then(|counted| counted.parse().ok()).unwrap_or(0))
}

fn shorten(notes: &mut Vec<String>) {
    if notes.len() > NOTES_MAX {
        let more = notes.len() - NOTES_MAX;
        notes.truncate(NOTES_MAX);
        notes.push(format!("and {more} more"));
    }
}
