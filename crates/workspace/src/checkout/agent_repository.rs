//! The agent's own `.git`: a private repository that borrows the user's objects.
//!
//! The agent may do with it what it likes. We write it, and later look at few of its files as
//! plain text; git never runs with its settings, because they could start programs.
//!
//! Invariant: it has no remote and no hooks, and what it borrows it cannot change.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    checkout::{
        git_dir::{Checkout, copy_settings},
        run_records,
    },
    git::{
        command::{Git, nul_separated},
        error::{IoContext as _, WorkspaceError},
        path_names, safe_files,
    },
};

/// A file of refs that is longer than this is not read, in bytes.
const REFS_BYTES_MAX: u64 = 16 << 20;

/// The content of the agent's repository.
#[derive(Debug)]
pub(crate) struct AgentRepository<'a> {
    /// The files, and where they come from.
    pub(crate) checkout: &'a Checkout,
    /// The commit that it stands on.
    pub(crate) at: &'a str,
    /// The branch that is checked out; none for a submodule.
    pub(crate) branch: Option<&'a str>,
    /// Another branch, and its commit.
    pub(crate) base: Option<(&'a str, &'a str)>,
    /// Paths that it must not show as new.
    pub(crate) excluded: &'a [Vec<u8>],
    /// A merge that is under way.
    pub(crate) merging: Option<PendingMerge<'a>>,
}

/// A merge that is under way.
#[derive(Debug)]
pub(crate) struct PendingMerge<'a> {
    /// The commit that is merged in.
    pub(crate) commit: &'a str,
    /// Lines for the index: the sides of every file in conflict.
    pub(crate) sides: &'a [u8],
}

/// Creates the agent's `.git`, in place of an old one. `aside` is a free path on the same disk, outside
/// the tree.
pub(crate) fn create(private: &AgentRepository<'_>, aside: &Path) -> Result<(), WorkspaceError> {
    safe_files::remove(aside)?;
    for folder in ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info"] {
        let folder = aside.join(folder);
        fs::create_dir_all(&folder).context("make the folder", &folder)?;
    }
    let checkout = private.checkout;
    let head = match private.branch {
        Some(branch) => format!("ref: refs/heads/{branch}\n"),
        None => format!("{}\n", private.at),
    };
    safe_files::write(&aside.join("HEAD"), head.as_bytes())?;
    safe_files::write(&aside.join("packed-refs"), refs(private).as_bytes())?;
    safe_files::write(&aside.join("config"), &config(checkout))?;
    safe_files::write(&aside.join("objects/info/alternates"), &alternates(checkout))?;
    safe_files::write(&aside.join("info/exclude"), &checkout.exclude(private.excluded)?)?;
    for name in ["info/attributes", "shallow"] {
        copy_settings(&checkout.owner.git_dir.join(name), &aside.join(name))?;
    }
    let index = aside.join("index");
    fs::copy(checkout.index(), &index).context("write", &index)?;
    let git = || checkout.git().env("GIT_INDEX_FILE", &index);
    run_records::hide_in_index(git, &checkout.owner.git_dir, private.at)?;
    if let Some(merging) = &private.merging {
        safe_files::write(&aside.join("MERGE_HEAD"), format!("{}\n", merging.commit).as_bytes())?;
        safe_files::write(
            &aside.join("MERGE_MSG"),
            format!("Merge {}\n", merging.commit).as_bytes(),
        )?;
        safe_files::write(&aside.join("MERGE_MODE"), b"")?;
        if !merging.sides.is_empty() {
            let git = git().args(["update-index", "-z", "--index-info"]);
            git.input(merging.sides.to_vec()).run()?;
        }
    }
    let git_dir = git_dir(&checkout.tree);
    safe_files::remove(&git_dir)?;
    fs::rename(aside, &git_dir).context("make", &git_dir)
}

/// Creates the agent's `.git` in every submodule, in place of old ones.
pub(crate) fn create_in_submodules<'a>(
    submodules: impl Iterator<Item = (&'a Checkout, &'a str)>,
    aside: &Path,
) -> Result<(), WorkspaceError> {
    for (checkout, at) in submodules {
        let private = AgentRepository {
            checkout,
            at,
            branch: None,
            base: None,
            excluded: &[],
            merging: None,
        };
        create(&private, aside)?;
    }
    Ok(())
}

/// Returns true if the `.git` of an agent still works: it is a folder, its objects are
/// borrowed from the user, and its settings do not send git elsewhere. Locks of dead processes go.
pub(crate) fn is_sound(checkout: &Checkout) -> Result<bool, WorkspaceError> {
    let git_dir = git_dir(&checkout.tree);
    for folder in ["", "objects", "objects/info", "refs"] {
        if !safe_files::file_kind(&git_dir.join(folder))?.is_some_and(|kind| kind.is_dir()) {
            return Ok(false);
        }
    }
    let borrowed = safe_files::read(&git_dir.join("objects/info/alternates"))?;
    let has_head = head(&checkout.tree)?.is_some();
    if borrowed != Some(alternates(checkout))
        || !has_head
        || !safe_files::survey(&git_dir)?.special.is_empty()
    {
        return Ok(false);
    }
    for lock in ["index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "shallow.lock"] {
        safe_files::remove(&git_dir.join(lock))?;
    }
    let index = git_dir.join("index");
    let is_file = safe_files::file_kind(&index)?.is_some_and(|kind| kind.is_file());
    let listed = checkout.git().env("GIT_INDEX_FILE", &index).args(["ls-files", "-z"]).run();
    Ok(is_file && listed.is_ok() && has_plain_settings(checkout, &git_dir.join("config"))?)
}

/// Returns the commit that the agent's git stands on, as far as plain files say it.
pub(crate) fn head(tree: &Path) -> Result<Option<String>, WorkspaceError> {
    let git_dir = git_dir(tree);
    if !safe_files::file_kind(&git_dir)?.is_some_and(|kind| kind.is_dir()) {
        return Ok(None);
    }
    let Some(text) = small_text(&git_dir.join("HEAD"))? else { return Ok(None) };
    let Some(name) = text.strip_prefix("ref: ") else { return Ok(path_names::object_id(&text)) };
    let Some(branch) =
        name.trim().strip_prefix("refs/heads/").filter(|name| path_names::is_branch_name(name))
    else {
        return Ok(None);
    };
    // A ref is in a file of its own, or in the file of all refs.
    let mut real = safe_files::RealFolders::below(&git_dir);
    let loose = format!("refs/heads/{branch}");
    if real.file(loose.as_bytes())?.is_some_and(|metadata| metadata.is_file()) {
        return Ok(small_text(&git_dir.join(&loose))?.and_then(|text| path_names::object_id(&text)));
    }
    let Some(packed) = small_text(&git_dir.join("packed-refs"))? else { return Ok(None) };
    let found = packed.lines().find_map(|line| line.strip_suffix(&loose)?.strip_suffix(' '));
    Ok(found.and_then(path_names::object_id))
}

/// Returns the objects that the agent made, if git can be let near them.
pub(crate) fn objects(checkout: &Checkout) -> Result<Option<PathBuf>, WorkspaceError> {
    let objects = git_dir(&checkout.tree).join("objects");
    for folder in [&git_dir(&checkout.tree), &objects, &objects.join("info")] {
        if !safe_files::file_kind(folder)?.is_some_and(|kind| kind.is_dir()) {
            return Ok(None);
        }
    }
    let borrowed = safe_files::read(&objects.join("info/alternates"))?;
    let is_unchanged = borrowed == Some(alternates(checkout));
    let is_harmless = is_unchanged && safe_files::survey(&objects)?.special.is_empty();
    Ok(is_harmless.then_some(objects))
}

fn git_dir(tree: &Path) -> PathBuf {
    tree.join(".git")
}

fn refs(private: &AgentRepository<'_>) -> String {
    let mut refs = Vec::new();
    if let Some(branch) = private.branch {
        refs.push((branch, private.at));
    }
    if let Some((base, commit)) = private.base {
        // `a` and `a/b` cannot both be branches; the one that is checked out matters more.
        let is_in_the_way = |branch: &str| {
            branch == base
                || branch.strip_prefix(base).is_some_and(|rest| rest.starts_with('/'))
                || base.strip_prefix(branch).is_some_and(|rest| rest.starts_with('/'))
        };
        if !private.branch.is_some_and(is_in_the_way) {
            refs.push((base, commit));
        }
    }
    refs.sort_unstable();
    let line = |(name, commit): &(&str, &str)| format!("{commit} refs/heads/{name}\n");
    let lines: String = refs.iter().map(line).collect();
    format!("# pack-refs with: sorted \n{lines}")
}

fn config(checkout: &Checkout) -> Vec<u8> {
    let identity = checkout.settings.identity();
    let (name, email) = identity.author();
    let mut overrides: Vec<(String, Vec<u8>)> = [
        ("core.logallrefupdates", "true"),
        ("core.hookspath", "/dev/null"),
        ("core.fsmonitor", "false"),
        ("gc.auto", "0"),
        ("maintenance.auto", "false"),
        ("commit.gpgsign", "false"),
        ("tag.gpgsign", "false"),
        ("user.name", name),
        ("user.email", email),
    ]
    .map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec()))
    .to_vec();
    // A push into the user's repository by its path ends at a helper that does not exist. This
    // stops accidents; a sandbox stops the rest.
    let places = [Some(&checkout.owner.git_dir), checkout.owner.top.as_ref()];
    for git_dir in places.into_iter().flatten() {
        let path = git_dir.as_os_str().as_encoded_bytes();
        for prefix in [&b""[..], b"file://"] {
            let key = "url.forge-lands-the-work::.pushinsteadof".to_owned();
            overrides.push((key, [prefix, path].concat()));
        }
    }
    let overrides: Vec<(&str, &[u8])> =
        overrides.iter().map(|(key, value)| (key.as_str(), value.as_slice())).collect();
    checkout.settings.text(&overrides)
}

fn alternates(checkout: &Checkout) -> Vec<u8> {
    let objects = checkout.objects();
    let path = objects.as_os_str().as_encoded_bytes();
    let is_plain = !path.starts_with(b"\"") && !path.starts_with(b"#") && !path.contains(&b'\n');
    let mut line = if is_plain { path.to_vec() } else { path_names::quoted(path).into_bytes() };
    line.push(b'\n');
    line
}

/// Returns true if settings can be read, and neither move the files elsewhere nor exclude them.
fn has_plain_settings(checkout: &Checkout, config: &Path) -> Result<bool, WorkspaceError> {
    if !safe_files::file_kind(config)?.is_some_and(|kind| kind.is_file()) {
        return Ok(false);
    }
    let git = Git::in_git_dir(&checkout.git_dir);
    let git = git.args(["config", "--no-includes", "--list", "-z", "--file"]);
    let Ok(output) = git.arg(config).run() else { return Ok(false) };
    let is_bad = |part: &[u8]| {
        part.starts_with(b"core.worktree\n")
            || (part.starts_with(b"core.bare") && part != b"core.bare\nfalse")
    };
    let is_plain = !nul_separated(&output).any(is_bad);
    Ok(is_plain)
}

/// Returns the text of a regular file of a reasonable size.
fn small_text(path: &Path) -> Result<Option<String>, WorkspaceError> {
    let is_small = |metadata: &fs::Metadata| metadata.is_file() && metadata.len() <= REFS_BYTES_MAX;
    if safe_files::metadata(path)?.is_some_and(|metadata| is_small(&metadata)) {
        let content = fs::read(path).context("read", path)?;
        return Ok(String::from_utf8(content).ok());
    }
    Ok(None)
}
