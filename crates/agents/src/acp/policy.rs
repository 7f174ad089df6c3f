//! What an agent may do: which permissions it gets, and below which folders it may read and write.
//!
//! An agent works with three folders. It reads in all of them. It writes into its outbox, and into its checkout if its role
//! writes code. Commands are not held to that: what they change in the checkout of a role that only looks is discarded.
//!
//! Invariant: a path is where its links lead, not what it is called.

use std::path::{Component, Path, PathBuf};

use super::known_tools::PermissionRequest;
use super::wire::{PermissionOption, ToolKind};
use crate::agent::CodeAccess;

/// The folders of a call.
#[derive(Clone, Debug)]
pub(super) struct AllowedFolders {
    pub(super) checkout: PathBuf,
    pub(super) inbox: PathBuf,
    pub(super) outbox: PathBuf,
    pub(super) access: CodeAccess,
}

/// Our answer to a request for permission.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PermissionAnswer {
    /// The option with this id, which allows it.
    Allowed(String),
    /// The option with this id, which refuses it; none, if there is no such option.
    Refused(Option<String>),
}

impl AllowedFolders {
    pub(super) fn readable(&self) -> Vec<&Path> {
        vec![&self.checkout, &self.inbox, &self.outbox]
    }

    pub(super) fn writable(&self) -> Vec<&Path> {
        match self.access {
            CodeAccess::Writes => vec![&self.checkout, &self.outbox],
            CodeAccess::Reads => vec![&self.outbox],
        }
    }

    /// Answers a request for permission.
    pub(super) fn answer(&self, request: &PermissionRequest) -> PermissionAnswer {
        let option = |kinds: [&str; 2]| {
            let find = |kind| request.options.iter().find(|option| option.kind == kind);
            kinds
                .into_iter()
                .find_map(find)
                .map(|option: &PermissionOption| option.option_id.clone())
        };
        // Once, where it can be had: what is asked next may be something else.
        match option(["allow_once", "allow_always"]).filter(|_| self.permits(request)) {
            Some(id) => PermissionAnswer::Allowed(id),
            None => PermissionAnswer::Refused(option(["reject_once", "reject_always"])),
        }
    }

    fn permits(&self, request: &PermissionRequest) -> bool {
        match request.kind {
            ToolKind::Edit | ToolKind::Delete | ToolKind::Move => {
                let is_told = !request.paths.is_empty() || self.access == CodeAccess::Writes;
                is_told && request.paths.iter().all(|path| self.may_write(path))
            }
            ToolKind::Read
            | ToolKind::Search
            | ToolKind::Execute
            | ToolKind::Think
            | ToolKind::Other => true,
            // As for every agent: nothing on the network but by a command, and no mode but the one it began in.
            ToolKind::Fetch | ToolKind::SwitchMode => false,
        }
    }

    fn may_write(&self, path: &Path) -> bool {
        let path = real(&self.checkout.join(path));
        path.is_some_and(|path| {
            self.writable()
                .into_iter()
                .any(|folder| path.starts_with(real(folder).as_deref().unwrap_or(folder)))
        })
    }
}

/// Returns where a path leads; of what is not there yet, where its folder leads.
pub(super) fn real(path: &Path) -> Option<PathBuf> {
    if path.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    if let Ok(path) = path.canonicalize() {
        return Some(path);
    }
    // A link that leads nowhere could be anywhere.
    if path.is_symlink() {
        return None;
    }
    Some(real(path.parent()?)?.join(path.file_name()?))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    fn world(access: CodeAccess) -> (TempDir, AllowedFolders) {
        let home = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let path = home.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let folders = AllowedFolders {
            checkout: folder("checkout"),
            inbox: folder("inbox"),
            outbox: folder("outbox"),
            access,
        };
        (home, folders)
    }

    fn option(kind: &str) -> PermissionOption {
        PermissionOption { option_id: format!("id of {kind}"), kind: kind.to_owned() }
    }

    fn ask(folders: &AllowedFolders, kind: ToolKind, paths: &[&Path]) -> PermissionAnswer {
        let options = ["allow_always", "allow_once", "reject_once"].map(option).to_vec();
        let paths = paths.iter().map(|path| path.to_path_buf()).collect();
        folders.answer(&PermissionRequest { kind, paths, title: String::new(), options })
    }

    fn allowed() -> PermissionAnswer {
        PermissionAnswer::Allowed("id of allow_once".to_owned())
    }

    fn refused() -> PermissionAnswer {
        PermissionAnswer::Refused(Some("id of reject_once".to_owned()))
    }

    #[test]
    fn who_writes_code_may_change_its_checkout_and_its_outbox_and_nothing_else() {
        let (home, folders) = world(CodeAccess::Writes);
        symlink("/etc", folders.checkout.join("away")).unwrap();
        symlink("/nowhere", folders.checkout.join("dangling")).unwrap();
        let edit = |path: &Path| ask(&folders, ToolKind::Edit, &[path]);
        assert_eq!(edit(&folders.checkout.join("a/new/file")), allowed());
        assert_eq!(edit(Path::new("a/relative/file")), allowed());
        assert_eq!(edit(&folders.outbox.join("result.json")), allowed());
        assert_eq!(ask(&folders, ToolKind::Edit, &[]), allowed(), "it does not say what");
        for outside in [
            home.path().join("other"),
            folders.inbox.join("request.md"),
            folders.checkout.join("../other"),
            folders.checkout.join("away/passwd"),
            folders.checkout.join("dangling"),
            PathBuf::from("/etc/passwd"),
        ] {
            assert_eq!(edit(&outside), refused(), "{}", outside.display());
        }
        let both = [folders.checkout.join("a"), home.path().join("b")];
        assert_eq!(ask(&folders, ToolKind::Move, &[&both[0], &both[1]]), refused());
    }

    #[test]
    fn who_only_looks_may_write_its_outbox_and_run_commands() {
        let (_home, folders) = world(CodeAccess::Reads);
        let inside = folders.checkout.join("a");
        for kind in [ToolKind::Edit, ToolKind::Delete, ToolKind::Move] {
            assert_eq!(ask(&folders, kind, &[&inside]), refused());
            assert_eq!(ask(&folders, kind, &[]), refused(), "it does not say what");
            assert_eq!(ask(&folders, kind, &[&folders.outbox.join("a")]), allowed());
        }
        for kind in [ToolKind::Read, ToolKind::Search, ToolKind::Execute, ToolKind::Other] {
            assert_eq!(ask(&folders, kind, &[&inside]), allowed());
        }
        for kind in [ToolKind::Fetch, ToolKind::SwitchMode] {
            assert_eq!(ask(&folders, kind, &[]), refused());
        }
    }

    #[test]
    fn an_option_is_chosen_by_its_kind_and_without_one_nothing_is_allowed() {
        let (_home, folders) = world(CodeAccess::Writes);
        let ask = |kind, options: &[&str]| {
            let options = options.iter().map(|kind| option(kind)).collect();
            folders.answer(&PermissionRequest {
                kind,
                paths: Vec::new(),
                title: String::new(),
                options,
            })
        };
        let always = PermissionAnswer::Allowed("id of allow_always".to_owned());
        assert_eq!(ask(ToolKind::Edit, &["reject_once", "allow_always"]), always);
        assert_eq!(ask(ToolKind::Edit, &["reject_once"]), refused());
        assert_eq!(ask(ToolKind::Edit, &[]), PermissionAnswer::Refused(None));
        let never = PermissionAnswer::Refused(Some("id of reject_always".to_owned()));
        assert_eq!(ask(ToolKind::Fetch, &["allow_once", "reject_always"]), never);
    }
}
