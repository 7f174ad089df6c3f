//! Content that a commit would add, inspected before git writes any of it.
//!
//! The caller of a commit may pass a [`ContentGuard`], which sees each new name, the target of each new
//! link, each new or changed text with its new lines, and everything else in pieces. A line is
//! new if the file had no such line before; spaces at its ends do not matter. What comes from a
//! file that is gone now, or is a copy of a file that was there, is not new.
//!
//! Not here: what a guard objects to, and which paths it lets pass. Files are inspected as they
//! are in the tree: content that a filter of the user's encrypts on its way into git looks new and plain.
//!
//! Invariant: nothing here writes an object.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    io::{self, Read},
    ops::RangeInclusive,
    os::unix::ffi::OsStrExt as _,
};

use crate::{
    checkout::git_dir::{Checkout, DifferingFiles},
    git::{
        command::{Git, nul_separated},
        error::{GitError, IoContext as _, WorkspaceError},
        object_reader::{self, TreeEntry, TreeListing},
        path_names::{below, quoted},
        safe_files::RealFolders,
    },
};

/// A larger file is not compared line by line, and read in pieces of this size, in bytes.
const TEXT_BYTES_MAX: usize = 4 << 20;
/// Two pieces have this much in common, so that a text on the boundary is complete in one of them, in
/// bytes.
const OVERLAP_BYTES: usize = 64 << 10;
/// Of files that are gone, this much is remembered to see what was moved, in bytes.
const GONE_BYTES_MAX: usize = 64 << 20;

/// Looks at something that a commit would add, and says in words why it must not.
pub type ContentGuard<'a> = dyn FnMut(&AddedContent<'_>) -> Vec<String> + 'a;

/// Content that a commit would add.
#[derive(Debug)]
pub struct AddedContent<'a> {
    /// The path of the file, see [`crate::shown`].
    pub path: &'a [u8],
    pub part: ContentPart,
    /// The bytes to look at. Of a text all lines, also those that are not new.
    pub text: &'a [u8],
    /// For each line of a text, whether it is new; empty if all are.
    new: &'a [LineOrigin],
}

/// The inspected part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentPart {
    /// Its path.
    Name,
    /// The target of a link.
    LinkTarget,
    /// Its text, with lines.
    Lines,
    /// A part of something that is too large, or has no lines.
    Piece,
}

/// Origin of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineOrigin {
    New,
    Old,
}

impl AddedContent<'_> {
    /// Returns the first new line of these, counted from 1. What has no lines is new, and has line 0.
    pub fn first_new(&self, lines: RangeInclusive<usize>) -> Option<usize> {
        match self.part {
            ContentPart::Name | ContentPart::LinkTarget | ContentPart::Piece => Some(0),
            ContentPart::Lines if self.new.is_empty() => Some(*lines.start()),
            ContentPart::Lines => {
                let mut lines = lines;
                lines.find(|line| self.new.get(line.saturating_sub(1)) == Some(&LineOrigin::New))
            }
        }
    }
}

/// Shows a guard what a commit of the tree would add to the baseline. Its index must be that of the
/// baseline.
pub(crate) fn scan(
    checkout: &Checkout,
    baseline: &TreeListing,
    differing: &DifferingFiles,
    guard: &mut ContentGuard<'_>,
) -> Result<Vec<String>, WorkspaceError> {
    let DifferingFiles { changed, untracked } = differing;
    if changed.is_empty() && untracked.is_empty() {
        return Ok(Vec::new());
    }
    let tracked: HashMap<&[u8], &TreeEntry> =
        baseline.entries.iter().map(|entry| (entry.name.as_slice(), entry)).collect();
    let mut scan = ContentScan { checkout, real: RealFolders::below(&checkout.tree), guard };
    let mut gone = HashSet::new();
    let mut room = GONE_BYTES_MAX;
    for path in changed {
        let is_there = scan.real.file(path)?.is_some_and(|found| !found.is_dir());
        let Some(entry) = tracked.get(path.as_slice()).filter(|_| !is_there) else { continue };
        let Some(text) = scan.blob(entry)?.filter(|text| text.len() <= room) else { continue };
        room -= text.len();
        gone.extend(lines(&text).map(<[u8]>::to_vec));
    }
    let mut flaws = Vec::new();
    for path in changed {
        let old = tracked.get(path.as_slice()).map(|entry| scan.blob(entry)).transpose()?;
        let old = old.flatten().unwrap_or_default();
        flaws.extend(scan.content(path, &lines(&old).collect())?);
    }
    let copies = copies(checkout, baseline, untracked, &mut scan.real)?;
    let gone: HashSet<&[u8]> = gone.iter().map(Vec::as_slice).collect();
    for path in untracked {
        flaws.extend((scan.guard)(&AddedContent {
            path,
            part: ContentPart::Name,
            text: path,
            new: &[],
        }));
        if !copies.contains(path.as_slice()) {
            flaws.extend(scan.content(path, &gone)?);
        }
    }
    Ok(flaws)
}

/// Shows a guard one file that is new: its name, and all that is in it.
pub(crate) fn scan_file(
    path: &[u8],
    mut file: File,
    guard: &mut ContentGuard<'_>,
) -> io::Result<Vec<String>> {
    let mut flaws = guard(&AddedContent { path, part: ContentPart::Name, text: path, new: &[] });
    let mut text = Vec::new();
    let limit = u64::try_from(TEXT_BYTES_MAX).unwrap_or(u64::MAX);
    Read::by_ref(&mut file).take(limit).read_to_end(&mut text)?;
    if text.len() < TEXT_BYTES_MAX && !text.contains(&0) {
        flaws.extend(guard(&AddedContent {
            path,
            part: ContentPart::Lines,
            text: &text,
            new: &[],
        }));
    } else {
        flaws.extend(pieces(path, text, &mut file, guard)?);
    }
    Ok(flaws)
}

/// Shows a guard what one tree adds to another.
pub(crate) fn scan_trees(
    git: impl Fn() -> Git,
    from: &str,
    to: &str,
    guard: &mut ContentGuard<'_>,
) -> Result<Vec<String>, GitError> {
    let differ = git().args(["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames"]);
    let output = differ.args([from, to, "--"]).run()?;
    let mut fields = nul_separated(&output);
    let mut flaws = Vec::new();
    while let (Some(header), Some(path)) = (fields.next(), fields.next()) {
        let header = String::from_utf8_lossy(header).into_owned();
        let words: Vec<&str> = header.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old, new, ..] = words.as_slice() else { continue };
        if ["000000", "160000"].contains(new_mode) {
            continue;
        }
        if *old_mode == "000000" {
            let part = ContentPart::Name;
            flaws.extend(guard(&AddedContent { path, part, text: path, new: &[] }));
        }
        let blob = |object: &str| git().args(["cat-file", "blob", object]).run();
        let old = if old_mode.starts_with("10") { blob(old)? } else { Vec::new() };
        let old: HashSet<&[u8]> = lines(&old).collect();
        let text = narrowed(blob(new)?);
        let part = match *new_mode {
            "120000" => ContentPart::LinkTarget,
            _ if text.contains(&0) => ContentPart::Piece,
            _ => ContentPart::Lines,
        };
        flaws.extend(guard(&AddedContent { path, part, text: &text, new: &origins(&text, &old) }));
    }
    Ok(flaws)
}

/// Shows a guard a message that a commit would get.
pub(crate) fn scan_message(message: &str, guard: &mut ContentGuard<'_>) -> Vec<String> {
    let (path, part) = (&b"COMMIT_EDITMSG"[..], ContentPart::Lines);
    guard(&AddedContent { path, part, text: message.as_bytes(), new: &[] })
}

/// Says for each line of a text whether it is new.
fn origins(text: &[u8], old: &HashSet<&[u8]>) -> Vec<LineOrigin> {
    let origin = |line| if old.contains(line) { LineOrigin::Old } else { LineOrigin::New };
    lines(text).map(origin).collect()
}

/// A look that is under way.
struct ContentScan<'a, 'g> {
    checkout: &'a Checkout,
    real: RealFolders<'a>,
    guard: &'a mut ContentGuard<'g>,
}

impl ContentScan<'_, '_> {
    /// Returns the old content of a file; none if it is too large to be compared.
    fn blob(&self, entry: &TreeEntry) -> Result<Option<Vec<u8>>, GitError> {
        if entry.is_submodule() {
            return Ok(None);
        }
        let limit = u64::try_from(TEXT_BYTES_MAX).unwrap_or(u64::MAX);
        Ok(object_reader::blob(&self.checkout.owner.git_dir, &entry.object, limit)?.ok())
    }

    /// Shows the content of a file, or the aim of a link. Lines that are in `old` are not new.
    fn content(
        &mut self,
        path: &[u8],
        old: &HashSet<&[u8]>,
    ) -> Result<Vec<String>, WorkspaceError> {
        let Some(found) = self.real.file(path)? else { return Ok(Vec::new()) };
        let place = below(&self.checkout.tree, path);
        if found.is_symlink() {
            let link_target = fs::read_link(&place).context("read", &place)?;
            let text = link_target.as_os_str().as_bytes();
            if old.contains(text.trim_ascii()) {
                return Ok(Vec::new());
            }
            return Ok((self.guard)(&AddedContent {
                path,
                part: ContentPart::LinkTarget,
                text,
                new: &[],
            }));
        }
        if !found.is_file() {
            return Ok(Vec::new());
        }
        // One that cannot be read cannot be added either.
        let Ok(mut file) = File::open(&place) else { return Ok(Vec::new()) };
        let mut text = Vec::new();
        let limit = u64::try_from(TEXT_BYTES_MAX).unwrap_or(u64::MAX);
        Read::by_ref(&mut file).take(limit).read_to_end(&mut text).context("read", &place)?;
        let is_whole = text.len() < TEXT_BYTES_MAX;
        let text = if is_whole { narrowed(text) } else { text };
        if is_whole && !text.contains(&0) {
            let new = origins(&text, old);
            return Ok((self.guard)(&AddedContent {
                path,
                part: ContentPart::Lines,
                text: &text,
                new: &new,
            }));
        }
        pieces(path, text, &mut file, self.guard).context("read", &place)
    }
}

/// Shows a guard something that is too large, or has no lines, piece by piece.
fn pieces(
    path: &[u8],
    first: Vec<u8>,
    rest: &mut File,
    guard: &mut ContentGuard<'_>,
) -> io::Result<Vec<String>> {
    let mut flaws = Vec::new();
    let mut piece = first;
    let wanted = u64::try_from(TEXT_BYTES_MAX - OVERLAP_BYTES).unwrap_or(u64::MAX);
    loop {
        let part = ContentPart::Piece;
        flaws.extend(guard(&AddedContent { path, part, text: &piece, new: &[] }));
        piece.drain(..piece.len().saturating_sub(OVERLAP_BYTES));
        if Read::by_ref(rest).take(wanted).read_to_end(&mut piece)? == 0 {
            flaws.dedup();
            return Ok(flaws);
        }
    }
}

/// Returns the untracked files whose content is that of a file of the baseline: nothing is added by them.
fn copies<'a>(
    checkout: &Checkout,
    baseline: &TreeListing,
    untracked: &'a [Vec<u8>],
    real: &mut RealFolders<'_>,
) -> Result<HashSet<&'a [u8]>, WorkspaceError> {
    let mut files = Vec::new();
    for path in untracked {
        let is_file = real.file(path)?.is_some_and(|found| found.is_file());
        if is_file && File::open(below(&checkout.tree, path)).is_ok() {
            files.push(path.as_slice());
        }
    }
    if files.is_empty() {
        return Ok(HashSet::new());
    }
    let input = files.iter().flat_map(|path| (quoted(path) + "\n").into_bytes()).collect();
    let output = checkout.git().args(["hash-object", "--stdin-paths"]).input(input).run()?;
    let output = String::from_utf8_lossy(&output).into_owned();
    let known: HashSet<&str> = baseline.entries.iter().map(|entry| entry.object.as_str()).collect();
    let hashed = files.into_iter().zip(output.lines());
    Ok(hashed.filter(|(_, object)| known.contains(object)).map(|(path, _)| path).collect())
}

/// Returns the lines of a text without the spaces around them.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii)
}

/// Returns a text of two bytes for each character, as some systems write it, becomes one that can be read.
fn narrowed(text: Vec<u8>) -> Vec<u8> {
    let unit = match text.get(..2) {
        Some([0xff, 0xfe]) => u16::from_le_bytes,
        Some([0xfe, 0xff]) => u16::from_be_bytes,
        Some(_) | None => return text,
    };
    let (units, _) = text[2..].as_chunks::<2>();
    let units: Vec<u16> = units.iter().map(|two| unit(*two)).collect();
    String::from_utf16_lossy(&units).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_wide_characters_can_be_read() {
        assert_eq!(narrowed(b"\xff\xfea\0b\0".to_vec()), b"ab");
        assert_eq!(narrowed(b"\xfe\xff\0a\0b".to_vec()), b"ab");
        assert_eq!(narrowed(b"ab".to_vec()), b"ab");
    }

    #[test]
    fn the_first_new_line_of_some_is_told() {
        let new = [LineOrigin::Old, LineOrigin::New, LineOrigin::Old, LineOrigin::New];
        let added = |part, new| AddedContent { path: b"a", part, text: b"", new };
        assert_eq!(added(ContentPart::Lines, &new).first_new(1..=4), Some(2));
        assert_eq!(added(ContentPart::Lines, &new).first_new(3..=3), None);
        assert_eq!(added(ContentPart::Lines, &[]).first_new(3..=3), Some(3));
        assert_eq!(added(ContentPart::Piece, &[]).first_new(3..=3), Some(0));
    }
}
