//! Opening a bench, and putting its files back.
//!
//! Both can be killed at any moment and repeated: a note on the disk says that they are not
//! through, and nothing that is there is trusted until it was looked at or made anew.

use std::{collections::HashSet, path::PathBuf};

use crate::{
    checkout::{
        agent_repository::{self, Merging, Private},
        cache_seal,
        files::{self, Filled},
        state::{Held, Standing, State},
        untracked_copies::{self, Old},
    },
    git::{
        error::Failure,
        merge_tree::{self, Outcome},
        path_names::{self, below, shown},
        safe_files::{self, Was},
    },
    protocol::{Files, Open, Opened, Restore, Restored},
    repository::locate::Repository,
};

/// Performs [`Open`].
pub(crate) fn open(order: &Open) -> Result<Opened, Failure> {
    let mut asked = Asked::of(order)?;
    let held = Held::take(&order.bench)?;
    let was = safe_files::make_folder(&held.tree)?;
    let old = State::read(&held.dir)?.filter(|_| was == Was::There);
    let survey = safe_files::survey(&held.tree)?;
    let kept = old.as_ref().filter(|old| {
        order.files == Files::AsLeft
            && old.standing == Standing::Whole
            && old.is_for(order.worker.as_ref())
    });
    let is_kept = kept.is_some();
    // Work that goes on goes on from where it began, whatever has landed meanwhile.
    let began = kept.filter(|_| order.worker.is_some()).and_then(|old| old.at.clone());
    if let Some(began) = began {
        asked.at = Repository::from_bench(&order.bench).sure(&began)?;
    }
    let outcome = asked.outcome(order)?;
    let checkout = held.checkout(&order.bench)?;
    checkout.prepare(&asked.kept_out)?;
    let is_new = !old.as_ref().is_some_and(|old| old.standing != Standing::Making);
    let has_caches = order.files != Files::Pristine
        || asked.cache.is_empty()
        || !is_new && cache_seal::is_whole(&held.dir, &held.tree, &asked.cache)?;

    let standing = if is_new { Standing::Making } else { Standing::Remaking };
    let state = asked.state(order, standing);
    let at = outcome.as_ref().map_or(&asked.at, |outcome| &outcome.tree);
    let filled = Filled::outermost(checkout, at.clone())?;
    let all = if is_kept {
        for path in survey.strange.iter().filter(|path| path_names::is_read_by_git(path)) {
            safe_files::remove(&below(&held.tree, path))?;
        }
        if !agent_repository::is_sound(&filled.checkout)? {
            filled.checkout.reset_index(&filled.at)?;
            asked.make_private(order, &held, &filled, outcome.as_ref())?;
        }
        vec![filled]
    } else {
        state.write(&held.dir)?;
        for path in &survey.strange {
            safe_files::remove(&below(&held.tree, path))?;
        }
        let all = files::fill_all(filled, &survey, &held.lock)?;
        match order.files {
            Files::Pristine => {
                let kept: &[Vec<u8>] = if has_caches { &asked.cache } else { &[] };
                files::remove_all_but(&all, &held.tree, kept)?;
                cache_seal::break_open(&held.dir, &asked.cache)?;
            }
            Files::Exactly | Files::AsLeft => {
                for filled in &all {
                    filled.checkout.clean(&held.lock)?;
                }
            }
        }
        all
    };
    if let (Some(top), false) = (&order.bench.top, asked.copy.is_empty()) {
        let tracked = all[0].listing.entries.iter().map(|entry| entry.name.clone());
        let tracked: HashSet<Vec<u8>> = tracked.collect();
        let old = if is_kept { Old::Keep } else { Old::Replace };
        untracked_copies::copy(top, &held.tree, &asked.copy, &tracked, old)?;
    }
    for filled in &all {
        filled.set_access(order.access)?;
    }
    if !is_kept {
        agent_repository::make_inner_private(files::submodules(&all), &aside(&held))?;
        asked.make_private(order, &held, &all[0], outcome.as_ref())?;
    }
    // Who reads beside others leaves it theirs.
    let theirs = old.as_ref().filter(|_| is_kept && order.worker.is_none());
    let (at, worker) = match theirs {
        Some(old) => (old.at.clone(), old.worker.clone()),
        None => (state.at.clone(), state.worker.clone()),
    };
    State { standing: Standing::Whole, at, worker, ..state }.write(&held.dir)?;
    let conflicts = outcome.map(|outcome| outcome.paths()).unwrap_or_default();
    let setup = untracked_copies::fingerprint(&held.tree, &asked.setup_inputs)?;
    let is_new = is_new || !has_caches;
    Ok(Opened { tree: held.tree, head: asked.at, conflicts, setup, is_new })
}

/// Performs [`Restore`].
pub(crate) fn restore(order: &Restore) -> Result<Restored, Failure> {
    let at = Repository::from_bench(&order.bench).sure(&order.at)?;
    let held = Held::take(&order.bench)?;
    let state = held.opened()?;
    let mut discarded = Vec::new();
    let survey = safe_files::survey(&held.tree)?;
    let note = State { standing: Standing::Remaking, ..state.clone() };
    note.write(&held.dir)?;
    let checkout = held.checkout(&order.bench)?;
    checkout.prepare(&state.kept_out())?;
    for path in &survey.strange {
        safe_files::remove(&below(&held.tree, path))?;
        discarded.push(shown(path));
    }
    checkout.reset_index(&at)?;
    discarded.extend(checkout.changed()?.iter().map(|path| shown(path)));
    let filled = Filled::outermost(checkout, at.clone())?;
    let all = files::fill_all(filled, &survey, &held.lock)?;
    for filled in &all {
        let untracked = filled.checkout.untracked()?;
        let untracked = untracked.iter().map(|path| path_names::joined(&filled.path, path));
        discarded.extend(untracked.map(|path| shown(&path)));
        filled.checkout.clean(&held.lock)?;
        filled.set_access(order.access)?;
    }
    agent_repository::make_inner_private(files::submodules(&all), &aside(&held))?;
    let private = Private {
        checkout: &all[0].checkout,
        at: &at,
        branch: Some(&state.branch),
        base: state.base.as_ref().map(|(branch, commit)| (branch.as_str(), commit.as_str())),
        kept_out: &state.kept_out(),
        merging: None,
    };
    agent_repository::make(&private, &held.dir.join("git.new"))?;
    cache_seal::close(&held.dir, &held.tree)?;
    let at = Some(at);
    State { standing: Standing::Whole, at, worker: None, ..state }.write(&held.dir)?;
    discarded.sort();
    discarded.dedup();
    Ok(Restored { discarded })
}

/// An order whose names were all looked at.
struct Asked {
    at: String,
    merge: Option<String>,
    copy: Vec<Vec<u8>>,
    cache: Vec<Vec<u8>>,
    kept_out: Vec<Vec<u8>>,
    setup_inputs: Vec<Vec<u8>>,
}

impl Asked {
    fn of(order: &Open) -> Result<Self, Failure> {
        let repository = Repository::from_bench(&order.bench);
        let base = order.base.as_ref().map(|(branch, _)| branch);
        for branch in [Some(&order.branch), base].into_iter().flatten() {
            if !path_names::is_branch_name(branch) {
                let what = format!("{branch:?} cannot be the name of a branch");
                return Err(Failure::new(what, "choose another name"));
            }
        }
        let (copy, cache) = (inside("copy", &order.copy)?, inside("cache", &order.cache)?);
        Ok(Self {
            at: repository.sure(&order.at)?,
            merge: order.merge.as_ref().map(|commit| repository.sure(commit)).transpose()?,
            kept_out: [copy.as_slice(), cache.as_slice()].concat(),
            copy,
            cache,
            setup_inputs: inside("setup_inputs", &order.setup_inputs)?,
        })
    }

    /// What the merge makes, if there is anything to merge.
    fn outcome(&self, order: &Open) -> Result<Option<Outcome>, Failure> {
        let Some(commit) = &self.merge else { return Ok(None) };
        if Repository::from_bench(&order.bench).is_ancestor(commit, &self.at)? {
            return Ok(None);
        }
        Ok(Some(merge_tree::try_merge(&order.bench.common_dir, &self.at, commit)?))
    }

    fn state(&self, order: &Open, standing: Standing) -> State {
        State {
            standing,
            branch: order.branch.clone(),
            base: order.base.clone(),
            kept_out: self.kept_out.iter().map(|path| shown(path)).collect(),
            at: Some(self.at.clone()),
            worker: order.worker.clone(),
        }
    }

    fn make_private(
        &self,
        order: &Open,
        held: &Held,
        filled: &Filled,
        outcome: Option<&Outcome>,
    ) -> Result<(), Failure> {
        let sides = outcome.map(Outcome::index_lines).unwrap_or_default();
        let merging = self.merge.as_deref().filter(|_| outcome.is_some());
        let private = Private {
            checkout: &filled.checkout,
            at: &self.at,
            branch: Some(&order.branch),
            base: order.base.as_ref().map(|(branch, commit)| (branch.as_str(), commit.as_str())),
            kept_out: &self.kept_out,
            merging: merging.map(|commit| Merging { commit, sides: &sides }),
        };
        agent_repository::make(&private, &aside(held))
    }
}

fn aside(held: &Held) -> PathBuf {
    held.dir.join("git.new")
}

fn inside(key: &str, names: &[String]) -> Result<Vec<Vec<u8>>, Failure> {
    let path = |name: &String| {
        path_names::inside(name).ok_or_else(|| {
            Failure::new(
                format!("`{key}` names {name:?}, which is no path inside the repository"),
                format!("name files below the top of the repository in `{key}`"),
            )
        })
    };
    names.iter().map(path).collect()
}
