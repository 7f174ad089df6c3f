//! Opening a checkout, recording or reusing what a set-up left, and restoring its files.
//!
//! All can be killed at any moment and repeated: a note on the disk says that they are not
//! through, and nothing that is there is trusted until it was inspected or created again.

use std::{collections::HashSet, path::PathBuf};

use crate::{
    checkout::{
        agent_repository::{self, AgentRepository, PendingMerge},
        cache_seal,
        files::{self, FilledCheckout},
        git_dir::Checkout,
        known_state::{self, AgentGit, UntouchedCheckout},
        prepared_setup,
        run_records::{self, RUN_RECORDS},
        setup_baseline,
        state::{CheckoutState, LockedCheckout, OpeningProgress},
        untracked_copies::{self, ExistingCopy},
    },
    git::{
        error::WorkspaceError,
        merge_tree::{self, MergedTree},
        path_names::{self, below, decode_path, encode_path},
        safe_files::{self, FolderOrigin},
    },
    protocol::{
        CachesAfter, FilesPolicy, OpenCheckout, OpenedCheckout, RecordBaseline, RecordedBaseline,
        RestoreFiles, RestoredFiles, ReuseSetUp, ReusedSetUp,
    },
    repository::locate::Repository,
};

/// Returns true if this process opened a small checkout for the same, and nobody has touched it since: performing
/// [`OpenCheckout`] would do nothing. Where that cannot be said quickly, it is not.
pub(crate) fn is_open(operation: &OpenCheckout) -> bool {
    let look = || -> Result<bool, WorkspaceError> {
        let Found { locked, untouched, .. } = find(operation)?;
        let Some(untouched) = untouched else { return Ok(false) };
        let is_whole = untouched.agent_git == AgentGit::Untouched;
        untouched.put_back(&locked.dir);
        Ok(is_whole)
    };
    known_state::is_known_and_small(&operation.location.dir) && look().unwrap_or(false)
}

/// Performs [`OpenCheckout`].
pub(crate) fn open_checkout(operation: &OpenCheckout) -> Result<OpenedCheckout, WorkspaceError> {
    let Found { validated, locked, checkout, key, untouched } = find(operation)?;
    if let Some(untouched) = untouched {
        if untouched.agent_git == AgentGit::Changed {
            validated.create_agent_repository(operation, &locked, &checkout, None)?;
        }
        let opened = untouched.opened();
        untouched.remember(&locked.dir);
        return Ok(opened);
    }
    let (opened, submodules) = make_ready(operation, validated, &locked, checkout)?;
    if let (Some(key), Submodules::None) = (key, submodules) {
        known_state::remember(&locked.dir, key, operation, &opened);
    }
    Ok(opened)
}

/// A checkout that is to be opened, as it is found.
struct Found {
    validated: ValidatedOpen,
    locked: LockedCheckout,
    checkout: Checkout,
    /// Under this it is remembered. None if it must not be.
    key: Option<Vec<u8>>,
    /// If it was opened for the same before, and nobody has touched it since.
    untouched: Option<UntouchedCheckout>,
}

/// Takes the lock of a checkout and looks at it.
fn find(operation: &OpenCheckout) -> Result<Found, WorkspaceError> {
    let validated = ValidatedOpen::new(operation)?;
    let mut locked = LockedCheckout::acquire(&operation.location)?;
    let checkout = locked.checkout(&operation.location)?;
    let key = known_state::key(operation, &checkout.owner.git_dir, &checkout.settings);
    let known = locked.known.take();
    let known =
        known.filter(|known| key.as_ref().is_some_and(|key| known.serves_open(key, &validated.at)));
    let untouched = known.and_then(|known| known.if_untouched(&locked.dir));
    Ok(Found { validated, locked, checkout, key, untouched })
}

/// The checkouts of submodules below one.
enum Submodules {
    None,
    Some,
}

/// Makes a checkout what it is to be, whatever became of it.
fn make_ready(
    operation: &OpenCheckout,
    mut validated: ValidatedOpen,
    locked: &LockedCheckout,
    checkout: Checkout,
) -> Result<(OpenedCheckout, Submodules), WorkspaceError> {
    let was = safe_files::make_folder(&locked.tree)?;
    let old = CheckoutState::read(&locked.dir)?.filter(|_| was == FolderOrigin::There);
    let survey = safe_files::survey(&locked.tree)?;
    let kept = old.as_ref().filter(|old| {
        operation.files == FilesPolicy::KeepWork
            && old.progress == OpeningProgress::Whole
            && old.is_for(operation.worker.as_ref())
    });
    let is_kept = kept.is_some();
    if let Some(old) = kept.filter(|_| operation.worker.is_some()) {
        validated.continue_from(old, operation)?;
    }
    let outcome = validated.outcome(operation)?;
    let merged = validated.merge.clone().filter(|_| outcome.is_some());
    let mut baseline = match (&old, operation.files) {
        (Some(old), FilesPolicy::KeepWork) if is_kept => old.baseline.clone(),
        (Some(old), FilesPolicy::KeepWork | FilesPolicy::ResetTracked) => {
            setup_baseline::untouched(&old.baseline, &locked.tree)?
        }
        (None, _) | (_, FilesPolicy::Pristine) => Vec::new(),
    };
    checkout.prepare(&[&validated.excluded[..], &setup_baseline::paths(&baseline)].concat())?;
    let is_new = !old.as_ref().is_some_and(|old| old.progress != OpeningProgress::Making);
    let has_caches = operation.files != FilesPolicy::Pristine
        || validated.cache.is_empty()
        || !is_new && cache_seal::is_intact(&locked.dir, &locked.tree, &validated.cache)?;

    let progress = if is_new { OpeningProgress::Making } else { OpeningProgress::Remaking };
    let state = validated.state(operation, progress);
    let state = CheckoutState { merged: merged.clone(), baseline: baseline.clone(), ..state };
    let user = Repository::from_location(&operation.location);
    let at = match &outcome {
        Some(outcome) => user.without_run_records(outcome.tree.clone())?,
        None => user.code_tree(&validated.at)?,
    };
    let filled = FilledCheckout::outermost(checkout, at)?;
    run_records::remove(&locked.tree)?;
    let mut changed_before = Vec::new();
    let all = if is_kept {
        for path in survey.special.iter().filter(|path| path_names::is_read_by_git(path)) {
            safe_files::remove(&below(&locked.tree, path))?;
        }
        filled.checkout.reset_index(&filled.at)?;
        let differing = filled.checkout.differing()?.into_paths();
        changed_before = setup_baseline::worked(&differing, &baseline, &locked.tree)?;
        if !agent_repository::is_sound(&filled.checkout)? {
            let checkout = &filled.checkout;
            validated.create_agent_repository(operation, locked, checkout, outcome.as_ref())?;
        }
        vec![filled]
    } else {
        state.write(&locked.dir)?;
        for path in &survey.special {
            safe_files::remove(&below(&locked.tree, path))?;
        }
        // A file of the commit is what the commit says, whatever the set-up made of it.
        baseline.retain(|file| !filled.listing.has_file(&decode_path(&file.path)));
        let all = files::fill_all(filled, &survey, &locked.lock)?;
        match operation.files {
            FilesPolicy::Pristine => {
                let kept: &[Vec<u8>] = if has_caches { &validated.cache } else { &[] };
                files::remove_all_but(&all, &locked.tree, kept)?;
                cache_seal::invalidate(&locked.dir, &validated.cache)?;
            }
            FilesPolicy::ResetTracked | FilesPolicy::KeepWork => {
                if files::has_others(&all, &locked.tree)? {
                    for filled in &all {
                        filled.checkout.clean(&locked.lock)?;
                    }
                }
            }
        }
        all
    };
    if let (Some(top), false) = (&operation.location.top, validated.copy.is_empty()) {
        let tracked = all[0].listing.entries.iter().map(|entry| entry.name.clone());
        let tracked: HashSet<Vec<u8>> = tracked.collect();
        let old = if is_kept { ExistingCopy::Keep } else { ExistingCopy::Replace };
        untracked_copies::copy(top, &locked.tree, &validated.copy, &tracked, old)?;
    }
    for filled in &all {
        filled.set_access(operation.access)?;
    }
    if !is_kept {
        agent_repository::create_in_submodules(files::submodules(&all), &scratch_git_dir(locked))?;
        let checkout = &all[0].checkout;
        validated.create_agent_repository(operation, locked, checkout, outcome.as_ref())?;
    }
    // A reader does not take over the files of the worker.
    let theirs = old.as_ref().filter(|_| is_kept && operation.worker.is_none());
    let CheckoutState { at, merged: of_files, worker, .. } = theirs.unwrap_or(&state).clone();
    let state =
        CheckoutState { at, merged: of_files, worker, baseline, worked: changed_before, ..state };
    CheckoutState { progress: OpeningProgress::Whole, ..state }.write(&locked.dir)?;
    let conflicts = outcome.map(|outcome| outcome.paths()).unwrap_or_default();
    let setup = untracked_copies::fingerprint(&locked.tree, &validated.setup_inputs)?;
    let is_new = is_new || !has_caches;
    let tree = locked.tree.clone();
    let opened =
        OpenedCheckout { tree, head: validated.at, merge: merged, conflicts, setup, is_new };
    Ok((opened, if all.len() == 1 { Submodules::None } else { Submodules::Some }))
}

/// Performs [`RecordBaseline`].
pub(crate) fn record_baseline(
    operation: &RecordBaseline,
) -> Result<RecordedBaseline, WorkspaceError> {
    let locked = LockedCheckout::acquire(&operation.location)?;
    let state = locked.opened()?;
    safe_files::survey(&locked.tree)?;
    let checkout = locked.checkout(&operation.location)?;
    checkout.prepare(&state.excluded())?;
    let differing = checkout.differing()?.into_paths();
    let baseline = setup_baseline::left_by_setup(&differing, &state.worked, &locked.tree)?;
    let paths = baseline.iter().map(|file| file.path.clone()).collect();
    CheckoutState { baseline, ..state }.write(&locked.dir)?;
    if let Some(save) = &operation.save {
        // Without it the set-up is run in other checkouts, too.
        let _is_kept = prepared_setup::save(save, &checkout);
    }
    Ok(RecordedBaseline { paths })
}

/// Performs [`ReuseSetUp`].
pub(crate) fn reuse_setup(operation: &ReuseSetUp) -> Result<ReusedSetUp, WorkspaceError> {
    let locked = LockedCheckout::acquire(&operation.location)?;
    let state = locked.opened()?;
    safe_files::survey(&locked.tree)?;
    let checkout = locked.checkout(&operation.location)?;
    checkout.prepare(&state.excluded())?;
    Ok(prepared_setup::reuse(operation, &checkout)
        .unwrap_or_else(|error| ReusedSetUp::Unusable { why: error.what }))
}

/// Performs [`RestoreFiles`].
pub(crate) fn restore_files(operation: &RestoreFiles) -> Result<RestoredFiles, WorkspaceError> {
    let at = Repository::from_location(&operation.location).require_commit(&operation.at)?;
    let mut locked = LockedCheckout::acquire(&operation.location)?;
    let state = locked.opened()?;
    let known = locked.known.take().filter(|known| known.serves_restore(operation, &at));
    if let Some(untouched) = known.and_then(|known| known.if_untouched(&locked.dir)) {
        if untouched.agent_git == AgentGit::Changed {
            let checkout = locked.checkout(&operation.location)?;
            restore_agent_repository(&checkout, &at, &state, &locked)?;
        }
        untouched.remember(&locked.dir);
        return Ok(RestoredFiles { discarded: Vec::new() });
    }
    let mut discarded = Vec::new();
    let survey = safe_files::survey(&locked.tree)?;
    let note = CheckoutState { progress: OpeningProgress::Remaking, ..state.clone() };
    note.write(&locked.dir)?;
    let checkout = locked.checkout(&operation.location)?;
    let mut baseline = setup_baseline::untouched(&state.baseline, &locked.tree)?;
    let untouched = setup_baseline::paths(&baseline);
    checkout.prepare(&[&state.excluded()[..], &untouched].concat())?;
    for path in &survey.special {
        safe_files::remove(&below(&locked.tree, path))?;
        discarded.push(encode_path(path));
    }
    let code = Repository::from_location(&operation.location).code_tree(&at)?;
    checkout.reset_index(&code)?;
    let changed = checkout.changed()?.into_iter().filter(|path| !untouched.contains(path));
    discarded.extend(changed.map(|path| encode_path(&path)));
    run_records::remove(&locked.tree)?;
    let filled = FilledCheckout::outermost(checkout, code)?;
    baseline.retain(|file| !filled.listing.has_file(&decode_path(&file.path)));
    let all = files::fill_all(filled, &survey, &locked.lock)?;
    let has_others = files::has_others(&all, &locked.tree)?;
    for filled in &all {
        if has_others {
            let untracked = filled.checkout.untracked()?;
            let untracked = untracked.iter().map(|path| path_names::joined(&filled.path, path));
            discarded.extend(untracked.map(|path| encode_path(&path)));
            filled.checkout.clean(&locked.lock)?;
        }
        filled.set_access(operation.access)?;
    }
    agent_repository::create_in_submodules(files::submodules(&all), &scratch_git_dir(&locked))?;
    restore_agent_repository(&all[0].checkout, &at, &state, &locked)?;
    match operation.caches {
        CachesAfter::Sealed => cache_seal::seal(&locked.dir, &locked.tree)?,
        CachesAfter::Unsealed => {}
    }
    let at = Some(at);
    let state =
        CheckoutState { at, merged: None, worker: None, baseline, worked: Vec::new(), ..state };
    CheckoutState { progress: OpeningProgress::Whole, ..state }.write(&locked.dir)?;
    discarded.sort();
    discarded.dedup();
    Ok(RestoredFiles { discarded })
}

/// Creates the agent's `.git` anew, on the commit that the files are at.
fn restore_agent_repository(
    checkout: &Checkout,
    at: &str,
    state: &CheckoutState,
    locked: &LockedCheckout,
) -> Result<(), WorkspaceError> {
    let private = AgentRepository {
        checkout,
        at,
        branch: Some(&state.branch),
        base: state.base.as_ref().map(|(branch, commit)| (branch.as_str(), commit.as_str())),
        excluded: &state.excluded(),
        merging: None,
    };
    agent_repository::create(&private, &scratch_git_dir(locked))
}

/// A request to open a checkout whose names were all checked.
struct ValidatedOpen {
    at: String,
    merge: Option<String>,
    copy: Vec<Vec<u8>>,
    cache: Vec<Vec<u8>>,
    excluded: Vec<Vec<u8>>,
    setup_inputs: Vec<Vec<u8>>,
}

impl ValidatedOpen {
    fn new(operation: &OpenCheckout) -> Result<Self, WorkspaceError> {
        let repository = Repository::from_location(&operation.location);
        let base = operation.base.as_ref().map(|(branch, _)| branch);
        for branch in [Some(&operation.branch), base].into_iter().flatten() {
            if !path_names::is_branch_name(branch) {
                let what = format!("{branch:?} cannot be the name of a branch");
                return Err(WorkspaceError::new(what, "choose another name"));
            }
        }
        let (copy, cache) =
            (checked_paths("copy", &operation.copy)?, checked_paths("cache", &operation.cache)?);
        Ok(Self {
            at: repository.require_commit(&operation.at)?,
            merge: operation
                .merge
                .as_ref()
                .map(|commit| repository.require_commit(commit))
                .transpose()?,
            excluded: [copy.as_slice(), cache.as_slice(), &[RUN_RECORDS.to_vec()]].concat(),
            copy,
            cache,
            setup_inputs: checked_paths("setup_inputs", &operation.setup_inputs)?,
        })
    }

    /// Interrupted work continues from its starting commit, and with what was merged into it then, whatever has landed since.
    fn continue_from(
        &mut self,
        old: &CheckoutState,
        operation: &OpenCheckout,
    ) -> Result<(), WorkspaceError> {
        let Some(began) = &old.at else { return Ok(()) };
        let repository = Repository::from_location(&operation.location);
        self.at = repository.require_commit(began)?;
        let merged = old.merged.as_ref();
        self.merge = merged.map(|commit| repository.require_commit(commit)).transpose()?;
        Ok(())
    }

    /// Merges the commit to be merged, unless the starting commit contains it.
    fn outcome(&self, operation: &OpenCheckout) -> Result<Option<MergedTree>, WorkspaceError> {
        let Some(commit) = &self.merge else { return Ok(None) };
        if Repository::from_location(&operation.location).is_ancestor(commit, &self.at)? {
            return Ok(None);
        }
        Ok(Some(merge_tree::try_merge(&operation.location.common_dir, &self.at, commit)?))
    }

    fn state(&self, operation: &OpenCheckout, progress: OpeningProgress) -> CheckoutState {
        CheckoutState {
            progress,
            branch: operation.branch.clone(),
            base: operation.base.clone(),
            excluded: self.excluded.iter().map(|path| encode_path(path)).collect(),
            at: Some(self.at.clone()),
            merged: None,
            worker: operation.worker.clone(),
            baseline: Vec::new(),
            worked: Vec::new(),
        }
    }

    fn create_agent_repository(
        &self,
        operation: &OpenCheckout,
        locked: &LockedCheckout,
        checkout: &Checkout,
        outcome: Option<&MergedTree>,
    ) -> Result<(), WorkspaceError> {
        let sides = outcome.map(MergedTree::index_lines).unwrap_or_default();
        let merging = self.merge.as_deref().filter(|_| outcome.is_some());
        let private = AgentRepository {
            checkout,
            at: &self.at,
            branch: Some(&operation.branch),
            base: operation
                .base
                .as_ref()
                .map(|(branch, commit)| (branch.as_str(), commit.as_str())),
            excluded: &self.excluded,
            merging: merging.map(|commit| PendingMerge { commit, sides: &sides }),
        };
        agent_repository::create(&private, &scratch_git_dir(locked))
    }
}

fn scratch_git_dir(locked: &LockedCheckout) -> PathBuf {
    locked.dir.join("git.new")
}

fn checked_paths(key: &str, names: &[String]) -> Result<Vec<Vec<u8>>, WorkspaceError> {
    let path = |name: &String| {
        path_names::relative_inside(name).ok_or_else(|| {
            WorkspaceError::new(
                format!("`{key}` names {name:?}, which is not a path inside the repository"),
                format!("name files below the top of the repository in `{key}`"),
            )
        })
    };
    names.iter().map(path).collect()
}
