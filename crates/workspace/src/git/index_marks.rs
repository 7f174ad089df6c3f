//! The entries of an index, and the marks in it that make git skip files, whatever their content.
//!
//! Read from the file itself (versions 2 to 4 of the format in `gitformat-index(5)`), because it is asked before
//! every operation on a checkout.

/// The bytes of an entry before its object: times, device, inode, mode, owner and size.
const STAT_BYTES: usize = 40;
/// The time of the last write comes after that of the last change, of eight bytes.
const WRITTEN_AT: usize = 8;
/// The length of a name is not told beyond this.
const NAME_BYTES_MAX: usize = 0xfff;
const ASSUME_UNCHANGED: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;
const SKIP_WORKTREE: u16 = 0x4000;

/// A file as the index knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry<'a> {
    /// The second in which it was changed last, its rights included.
    pub(crate) changed_s: u32,
    /// The second in which it was written last.
    pub(crate) written_s: u32,
    /// None where names are shortened.
    pub(crate) name: Option<&'a [u8]>,
}

/// Returns the entries of an index. None if git would take a file for unchanged without looking, if a merge is not
/// resolved, or if the index is not one that Forge's git writes.
pub(crate) fn unmarked_entries(index: &[u8], object_bytes: usize) -> Option<Vec<IndexEntry<'_>>> {
    let number = |at: usize| -> Option<u32> {
        Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?))
    };
    let flags = |at: usize| -> Option<u16> {
        Some(u16::from_be_bytes(index.get(at..at + 2)?.try_into().ok()?))
    };
    let version =
        number(4).filter(|version| index.starts_with(b"DIRC") && (2..=4).contains(version))?;
    let mut entries = Vec::new();
    let mut at = 12;
    for _ in 0..number(8)? {
        let start = at;
        let (changed_s, written_s) = (number(start)?, number(start + WRITTEN_AT)?);
        at += STAT_BYTES + object_bytes;
        let entry = flags(at)?;
        at += 2;
        if entry & (ASSUME_UNCHANGED | STAGE) != 0 {
            return None;
        }
        if entry & EXTENDED != 0 {
            if flags(at)? & SKIP_WORKTREE != 0 {
                return None;
            }
            at += 2;
        }
        if version == 4 {
            // How much of the last name is left, then the rest of this one.
            at += index.get(at..)?.iter().position(|byte| byte & 0x80 == 0)? + 1;
            at += index.get(at..)?.iter().position(|byte| *byte == 0)? + 1;
            entries.push(IndexEntry { changed_s, written_s, name: None });
            continue;
        }
        let length = usize::from(entry) & NAME_BYTES_MAX;
        let length = if length < NAME_BYTES_MAX {
            length
        } else {
            index.get(at..)?.iter().position(|byte| *byte == 0)?
        };
        let name = Some(index.get(at..at + length)?);
        entries.push(IndexEntry { changed_s, written_s, name });
        // Filled up with one to eight zero bytes.
        at = start + ((at + length - start) / 8 + 1) * 8;
    }
    let end = index.len().checked_sub(object_bytes)?;
    while at < end {
        // Entries of another file, or folders in the place of files: Forge's git writes neither.
        if matches!(index.get(at..at + 4)?, b"link" | b"sdir") {
            return None;
        }
        at += 8 + usize::try_from(number(at + 4)?).ok()?;
    }
    (at == end).then_some(entries)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::command::Git;

    #[test]
    fn marks_of_any_version_are_found_and_an_index_without_has_none() {
        for (version, format) in [("2", "sha1"), ("3", "sha1"), ("4", "sha1"), ("2", "sha256")] {
            let folder = tempfile::tempdir().unwrap();
            let path = |name: &str| folder.path().join(name);
            let git = |args: &[&str]| Git::in_folder(folder.path()).args(args).run().unwrap();
            git(&["init", "--quiet", &format!("--object-format={format}")]);
            git(&["config", "index.version", version]);
            for number in 0..40 {
                fs::write(path(&"n".repeat(number + 1)), "a").unwrap();
            }
            fs::write(path("later"), "a").unwrap();
            git(&["add", "--all"]);
            let marks = || {
                let index = fs::read(path(".git/index")).unwrap();
                unmarked_entries(&index, if format == "sha1" { 20 } else { 32 }).is_none()
            };
            assert!(!marks(), "{version} {format}");
            git(&["update-index", "--assume-unchanged", "later"]);
            assert!(marks(), "{version} {format}");
            git(&["update-index", "--no-assume-unchanged", "later"]);
            assert!(!marks());
            git(&["update-index", "--skip-worktree", "nn"]);
            assert!(marks(), "{version} {format}");
            git(&["update-index", "--no-skip-worktree", "nn"]);
            assert!(!marks());
            git(&["update-index", "--split-index"]);
            assert!(marks(), "its entries are elsewhere");
        }
    }

    #[test]
    fn what_is_no_index_counts_as_marked() {
        let folder = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| Git::in_folder(folder.path()).args(args).run().unwrap();
        git(&["init", "--quiet"]);
        fs::write(folder.path().join("a"), "a").unwrap();
        git(&["add", "a"]);
        let index = fs::read(folder.path().join(".git/index")).unwrap();
        assert_eq!(unmarked_entries(&index, 20).unwrap()[0].name, Some(&b"a"[..]));
        for end in 0..index.len() {
            assert_eq!(unmarked_entries(&index[..end], 20), None, "{end} bytes");
        }
    }
}
