//! One commit of the files as they are.
//!
//! Forge's own index decides what is tracked; nothing that the agent did to its `.git` plays a
//! role. The same files, parents, message and time give the same commit.
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
        files::{self, Filled},
        git_dir::{Checkout, Folders},
        nested_git,
        state::Held,
        submodules,
    },
    commit::added_content::{self, Guard},
    git::{
        command::{Git, parts},
        error::{Failure, GitError, Trying as _},
        ls_tree::is_attributes,
        merge_tree::{self, Outcome},
        path_names::{self, below, shown},
        safe_files::{self, Real, Survey},
    },
    protocol::{Commit, Committed, Made, Refused},
    repository::{locate::Repository, objects, refs},
};

/// How many of the agent's own commits are counted.
const OWN_COMMITS_MAX: u32 = 10_000;
/// How many strange things are told one by one.
const ODD_MAX: usize = 100;
/// How much of a file is looked through for conflict markers, in bytes.
const MARKED_BYTES_MAX: usize = 4 << 20;

/// Performs [`Commit`], if the guard lets it.
pub(crate) fn commit(order: &Commit, guard: &mut Guard<'_>) -> Result<Made, Failure> {
    refs::check_pin(&order.pin)?;
    let message = objects::checked_message(&order.message)?;
    let user = Repository::from_bench(&order.bench);
    let parents = parents(&user, &order.onto)?;
    let held = Held::take(&order.bench)?;
    let state = held.opened()?;
    let survey = safe_files::survey(&held.tree)?;
    let checkout = held.checkout(&order.bench)?;
    let kept_out = state.kept_out();
    checkout.prepare(&kept_out)?;

    let outcome = match parents.as_slice() {
        [first, second] => Some(merge_tree::try_merge(&user.common_dir, first, second)?),
        _ => None,
    };
    let baseline = outcome.as_ref().map_or(&parents[0], |outcome| &outcome.tree).clone();
    let own_commits = own_commits(&checkout, &parents)?;
    let mut odd = Vec::new();
    for path in &survey.strange {
        odd.push(format!("{} is a pipe, a socket or a device: left out", shown(path)));
        if path_names::is_read_by_git(path) {
            safe_files::remove(&below(&held.tree, path))?;
        }
    }
    let filled = Filled::outermost(checkout, baseline.clone())?;
    let prepare = |inner: &Filled| inner.checkout.prepare(&[]);
    let all = files::all_below(filled, Folders::AsTheyAre, prepare)?;
    let checkout = &all[0].checkout;
    let taken = put_aside(&held, &survey, checkout, &baseline, &kept_out).and_then(|untracked| {
        let flaws = added_content::look(checkout, &all[0].listing, &untracked, guard)?;
        let taken = if flaws.is_empty() {
            Ok(take_in(checkout, &baseline, &kept_out, &mut odd)?)
        } else {
            Err(flaws)
        };
        Ok(taken)
    });
    let repositories = odd_repositories(&survey, &all);
    nested_git::put_back(&held.dir)?;
    let tree = match taken? {
        Ok(tree) => tree,
        Err(mut flaws) => {
            shorten(&mut flaws);
            return Ok(Made::Refused(Refused { flaws }));
        }
    };
    odd.extend(repositories?);

    if let Some(outcome) = &outcome {
        odd.extend(unresolved(&user, &tree, outcome)?);
    }
    let old = user.git().args(["rev-parse", &format!("{}^{{tree}}", parents[0])]).line()?;
    let is_unchanged = old == tree;
    let commit = if is_unchanged && parents.len() == 1 {
        parents[0].clone()
    } else {
        let git = Git::of(&user.common_dir).durably();
        let git = checkout.settings.identity().sign(git, order.when_ms);
        objects::commit_tree(git, &tree, &parents, &message)?
    };
    user.pin(&order.pin, &commit)?;
    let changes = user.changes(&parents[0], &commit)?;
    let tree = user.code_of(tree)?;
    shorten(&mut odd);
    Ok(Made::Committed(Committed { commit, tree, changes, own_commits, odd }))
}

/// Puts aside what git must not come upon: every `.git` in the tree, and what is kept out although
/// an agent no longer lets git ignore it. The other untracked files.
fn put_aside(
    held: &Held,
    survey: &Survey,
    checkout: &Checkout,
    baseline: &str,
    kept_out: &[Vec<u8>],
) -> Result<Vec<Vec<u8>>, Failure> {
    nested_git::put(&held.dir, &survey.nested)?;
    checkout.reset_index(baseline)?;
    let (kept, untracked): (Vec<_>, Vec<_>) = checkout
        .untracked()?
        .into_iter()
        .partition(|path| path_names::is_at_or_below(path, kept_out));
    if !kept.is_empty() {
        nested_git::put(&held.dir, &[survey.nested.as_slice(), kept.as_slice()].concat())?;
    }
    Ok(untracked)
}

/// The parents in full, without one that is in the history of the first.
fn parents(user: &Repository, onto: &[String]) -> Result<Vec<String>, Failure> {
    match onto {
        [only] => Ok(vec![user.sure(only)?]),
        [first, second] => {
            let (first, second) = (user.sure(first)?, user.sure(second)?);
            let is_in = user.is_ancestor(&second, &first)?;
            Ok(if is_in { vec![first] } else { vec![first, second] })
        }
        _ => Err(Failure::new(
            format!("a commit has one or two parents, not {}", onto.len()),
            "this is a defect of Forge",
        )),
    }
}

/// Brings the files into the index, and gives the tree of it. The index begins with the baseline,
/// never with what an earlier try had added.
fn take_in(
    checkout: &Checkout,
    baseline: &str,
    kept_out: &[Vec<u8>],
    odd: &mut Vec<String>,
) -> Result<String, Failure> {
    let attempt = || -> Result<Taken, Failure> {
        checkout.reset_index(baseline)?;
        let git = checkout.git().durably().args(["add", "-A", "--ignore-errors"]);
        let left_out =
            git.run().map_or_else(|error| left_out(checkout, error), |_| Ok(Vec::new()))?;
        let mut taken = keep_out(checkout, baseline, kept_out)?;
        taken.odd.extend(left_out);
        taken.tree = checkout.git().durably().arg("write-tree").line()?;
        Ok(taken)
    };
    let taken = attempt()?;
    let taken = match taken.attributes {
        Attributes::Same => taken,
        // Files that did not change may be kept differently now: all are read again, so that the
        // outcome does not depend on what the index knew.
        Attributes::Changed => {
            safe_files::remove(&checkout.index())?;
            attempt()?
        }
    };
    odd.extend(taken.odd);
    Ok(taken.tree)
}

/// What came into the index.
struct Taken {
    tree: String,
    odd: Vec<String>,
    attributes: Attributes,
}

/// Whether files that say how other files are kept have changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attributes {
    Same,
    Changed,
}

/// What git would not add: fine if it is the file's fault, an error if it is not.
fn left_out(checkout: &Checkout, error: GitError) -> Result<Vec<String>, Failure> {
    let is_partial = matches!(&error, GitError::Refused { code: Some(1), .. });
    let mut left = checkout.changed()?;
    left.extend(checkout.untracked()?);
    if !is_partial || left.is_empty() {
        return Err(error.into());
    }
    let mut real = Real::below(&checkout.tree);
    let mut odd = Vec::new();
    for path in left {
        let file = below(&checkout.tree, &path);
        let metadata = real.file(&path)?;
        let is_strange =
            metadata.as_ref().is_some_and(|metadata| safe_files::is_strange(metadata.file_type()));
        let is_unreadable = !is_strange
            && metadata.is_some_and(|metadata| metadata.is_file())
            && File::open(&file).is_err();
        if is_strange {
            continue;
        }
        if is_unreadable {
            odd.push(format!("{} cannot be read: left as it was", shown(&path)));
        } else if is_refused_name(checkout, &path)? {
            odd.push(format!("{} has a name that git refuses: left out", shown(&path)));
        } else {
            return Err(error.into());
        }
    }
    Ok(odd)
}

/// Whether git refuses a name, asked with an index that nobody uses.
fn is_refused_name(checkout: &Checkout, path: &[u8]) -> Result<bool, Failure> {
    let index = checkout.git_dir.join("index.asked");
    safe_files::remove(&index)?;
    let empty = checkout.git().args(["hash-object", "-w", "-t", "blob", "--stdin"]).line()?;
    let path = OsStr::from_bytes(path.strip_suffix(b"/").unwrap_or(path));
    let git = checkout.git().env("GIT_INDEX_FILE", &index);
    let asked =
        git.args(["update-index", "--add", "--cacheinfo", "100644", &empty]).arg(path).run();
    safe_files::remove(&index)?;
    Ok(asked.is_err())
}

/// Takes out of the index what must not be committed, and puts back submodules.
fn keep_out(checkout: &Checkout, baseline: &str, kept_out: &[Vec<u8>]) -> Result<Taken, Failure> {
    let git = checkout.git().args([
        "diff-index",
        "--cached",
        "--raw",
        "--no-abbrev",
        "--no-renames",
        "-z",
    ]);
    let said = git.arg("--ignore-submodules=none").arg(baseline).arg("--").run()?;
    let mut fields = parts(&said);
    let mut lines = Vec::new();
    let mut odd = Vec::new();
    let mut known = None;
    let mut attributes = Attributes::Same;
    let mut real = Real::below(&checkout.tree);
    while let (Some(header), Some(path)) = (fields.next(), fields.next()) {
        let header = String::from_utf8_lossy(header).into_owned();
        let words: Vec<&str> = header.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old, ..] = words.as_slice() else { continue };
        if is_attributes(path) {
            attributes = Attributes::Changed;
        }
        if *new_mode == "120000" && real.file(path)?.is_some_and(|found| found.is_symlink()) {
            let link = below(&checkout.tree, path);
            let aim = fs::read_link(&link).trying("read", &link)?;
            if !path_names::stays_inside(path, aim.as_os_str().as_bytes()) {
                odd.push(format!("{} is a link to outside of the repository", shown(path)));
            }
        }
        let mut put = |mode: &str, object: &str| {
            lines.extend(format!("{mode} {object}\t").into_bytes());
            lines.extend(path);
            lines.push(0);
        };
        let none = "0".repeat(old.len());
        match (*old_mode, *new_mode) {
            ("000000", "160000") => {
                put("0", &none);
                odd.push(format!("{} is a repository of its own: left out", shown(path)));
            }
            ("000000", _) if path_names::is_at_or_below(path, kept_out) => put("0", &none),
            ("160000", "000000") => {
                // Gone for good only if `.gitmodules` has forgotten it, too.
                let known =
                    known.get_or_insert_with(|| submodules::names(checkout.git(), ":.gitmodules"));
                if known.iter().any(|(known, _)| known == path) {
                    put("160000", old);
                    odd.push(format!("the submodule {} was removed: kept", shown(path)));
                }
            }
            ("160000", _) => {
                put("160000", old);
                odd.push(format!("the submodule {} was changed: kept as it was", shown(path)));
            }
            (_, _) => {}
        }
    }
    if !lines.is_empty() {
        checkout.git().args(["update-index", "-z", "--index-info"]).input(lines).run()?;
    }
    Ok(Taken { tree: String::new(), odd, attributes })
}

/// Repositories that the agent made in the tree, and submodules that it changed.
fn odd_repositories(survey: &Survey, all: &[Filled]) -> Result<Vec<String>, Failure> {
    let mut odd = Vec::new();
    let known: Vec<Vec<u8>> =
        all[1..].iter().map(|filled| path_names::joined(&filled.path, b".git")).collect();
    let made: Vec<&Vec<u8>> = survey.nested.iter().filter(|path| !known.contains(path)).collect();
    if !made.is_empty() {
        let tracked = all[0].checkout.tracked()?;
        for path in made {
            let folder = [path_names::parent(path), b"/"].concat();
            if tracked.iter().any(|path| path.starts_with(&folder)) {
                let folder = shown(path_names::parent(path));
                odd.push(format!(
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
            let path = shown(&filled.path);
            odd.push(format!("the submodule {path} was changed: its changes are not committed"));
        }
    }
    Ok(odd)
}

/// Files of a merge that still have conflict markers.
fn unresolved(user: &Repository, tree: &str, outcome: &Outcome) -> Result<Vec<String>, Failure> {
    let mut odd = Vec::new();
    for path in outcome.paths() {
        let Some(object) = user.blob_at(tree, &path)? else { continue };
        let (text, _) =
            user.git().args(["cat-file", "blob", &object]).beginning(MARKED_BYTES_MAX)?;
        if merge_tree::has_markers(&text) {
            odd.push(format!("unresolved conflict markers in {path}"));
        }
    }
    Ok(odd)
}

/// How many commits the agent's git has on top of the parents. A `.git` that cannot be read any
/// more has none.
fn own_commits(checkout: &Checkout, parents: &[String]) -> Result<u32, Failure> {
    let Some(head) = agent_repository::head(&checkout.tree)? else { return Ok(0) };
    if parents.contains(&head) {
        return Ok(0);
    }
    let Some(objects) = agent_repository::objects(checkout)? else { return Ok(0) };
    let borrowed = path_names::quoted(objects.as_os_str().as_encoded_bytes());
    let git = checkout.git().env("GIT_ALTERNATE_OBJECT_DIRECTORIES", borrowed);
    let git = git.args(["rev-list", "--count", &format!("--max-count={OWN_COMMITS_MAX}")]);
    let counted = git.arg(head).arg("--not").args(parents).arg("--").line();
    Ok(counted.ok().and_then(|counted| counted.parse().ok()).unwrap_or(0))
}

fn shorten(odd: &mut Vec<String>) {
    if odd.len() > ODD_MAX {
        let more = odd.len() - ODD_MAX;
        odd.truncate(ODD_MAX);
        odd.push(format!("and {more} more"));
    }
}
