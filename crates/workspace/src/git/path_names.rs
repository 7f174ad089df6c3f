//! Names of files and of refs: bytes outside, strings where they are written down.
//!
//! A path is a string of its own bytes when it is UTF-8, and otherwise what git calls a quoted
//! path, `"a\377b"`. A path that begins with a quotation mark is quoted too, so both directions are
//! exact. Nothing here looks at the disk.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Component, Path, PathBuf},
};

/// Returns the path as a string from which [`decode_path`] gives the same bytes.
pub fn encode_path(path: &[u8]) -> String {
    match str::from_utf8(path) {
        Ok(text) if !text.starts_with('"') => text.to_owned(),
        Ok(_) | Err(_) => quoted(path),
    }
}

/// Returns the bytes of a path that was written down by [`shown`].
pub fn decode_path(name: &str) -> Vec<u8> {
    let inside = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inside.and_then(unquoted).unwrap_or_else(|| name.as_bytes().to_vec())
}

/// Returns the path of a name that was written down, below a folder.
pub(crate) fn below(folder: &Path, name: &[u8]) -> PathBuf {
    folder.join(OsStr::from_bytes(name))
}

/// Returns a relative path one step further.
pub(crate) fn joined(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}

/// Returns the folder of a relative path.
pub(crate) fn parent(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(&[], |end| &path[..end])
}

/// Files that git opens by name wherever it meets them; a pipe there would make it wait for ever.
pub(crate) fn is_read_by_git(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    [&b".gitattributes"[..], b".gitignore", b".gitmodules", b".mailmap"].contains(&name)
}

/// Quotes a path as git does, in the style of C.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for byte in bytes {
        match byte {
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            b'\n' => text.push_str("\\n"),
            b'\t' => text.push_str("\\t"),
            b'\r' => text.push_str("\\r"),
            0x20..=0x7e => text.push(char::from(*byte)),
            0x00..=0x1f | 0x7f..=0xff => {
                text.push('\\');
                for digit in [byte >> 6, (byte >> 3) & 7, byte & 7] {
                    text.push(char::from(b'0' + digit));
                }
            }
        }
    }
    text.push('"');
    text
}

fn unquoted(inside: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = inside.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next()? {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            first @ b'0'..=b'3' => {
                let digits = [first, rest.next()?, rest.next()?];
                digits.iter().try_fold(0_u8, |sum, digit| {
                    let digit = digit.checked_sub(b'0').filter(|digit| *digit < 8)?;
                    Some(sum << 3 | digit)
                })?
            }
            escaped @ (b'"' | b'\\') => escaped,
            _ => return None,
        });
    }
    Some(bytes)
}

/// Returns a path below a checkout that a setting names: relative, without `..`, not below `.git`. None
/// if it is anything else.
pub(crate) fn relative_inside(name: &str) -> Option<Vec<u8>> {
    let bytes = decode_path(name);
    let path = Path::new(OsStr::from_bytes(&bytes));
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(part) if !part.eq_ignore_ascii_case(".git") => clean.push(part),
            Component::CurDir => {}
            Component::Normal(_)
            | Component::ParentDir
            | Component::RootDir
            | Component::Prefix(_) => return None,
        }
    }
    let is_usable = !clean.as_os_str().is_empty() && !bytes.contains(&b'\n') && !bytes.contains(&0);
    is_usable.then(|| clean.as_os_str().as_bytes().to_vec())
}

/// Returns true if a path is one of these, or below one of them.
pub(crate) fn is_at_or_below(path: &[u8], roots: &[Vec<u8>]) -> bool {
    roots.iter().any(|root| {
        path.strip_prefix(root.as_slice()).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    })
}

/// Returns the line of an exclude file for exactly this path.
pub(crate) fn exclude_line(path: &[u8]) -> Vec<u8> {
    let mut line = vec![b'/'];
    for byte in path {
        if b"\\*?[ #!".contains(byte) {
            line.push(b'\\');
        }
        line.push(*byte);
    }
    line.push(b'\n');
    line
}

/// Returns true if a link, judged by its text, points to something in the same tree.
pub(crate) fn stays_inside(link: &[u8], link_target: &[u8]) -> bool {
    let mut depth = link.split(|byte| *byte == b'/').count() - 1;
    for (number, part) in link_target.split(|byte| *byte == b'/').enumerate() {
        match part {
            b"" if number == 0 => return false,
            b"" | b"." => {}
            b".." if depth == 0 => return false,
            b".." => depth -= 1,
            _ => depth += 1,
        }
    }
    true
}

/// Returns true if git accepts this as the name of a branch (so a path may be built from it).
pub(crate) fn is_branch_name(name: &str) -> bool {
    let is_part = |part: &str| {
        let is_ending = part.len() >= 5 && part.as_bytes()[part.len() - 5..] == *b".lock";
        !part.is_empty() && !part.starts_with(['.', '-']) && !part.ends_with('.') && !is_ending
    };
    let is_bad = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    name.split('/').all(is_part)
        && !name.contains("..")
        && !name.contains("@{")
        && name != "@"
        && name != "HEAD"
        && !name.contains(is_bad)
}

/// Returns the full id of an object that a text consists of, if it does.
pub(crate) fn object_id(text: &str) -> Option<String> {
    let text = text.trim();
    let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| text.to_owned())
}

/// Paths as strings in JSON, exactly, also where they are not UTF-8.
pub(crate) mod path {
    use std::{
        ffi::OsString,
        os::unix::ffi::{OsStrExt as _, OsStringExt as _},
        path::{Path, PathBuf},
    };

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&crate::git::path_names::encode_path(path.as_os_str().as_bytes()))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        let name = String::deserialize(from)?;
        Ok(OsString::from_vec(crate::git::path_names::decode_path(&name)).into())
    }
}

/// The same for a path that may be missing.
pub(crate) mod optional_path {
    use std::{
        ffi::OsString,
        os::unix::ffi::{OsStrExt as _, OsStringExt as _},
        path::PathBuf,
    };

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    #[expect(clippy::ref_option, reason = "serde calls it with a reference to the field")]
    pub(crate) fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        path.as_ref()
            .map(|path| crate::git::path_names::encode_path(path.as_os_str().as_bytes()))
            .serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        let name = Option::<String>::deserialize(from)?;
        Ok(name.map(|name| OsString::from_vec(crate::git::path_names::decode_path(&name)).into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_comes_back_as_it_was() {
        let odd: &[&[u8]] = &[
            b"a",
            b"\"a\"",
            b"\"",
            b"\xff\"\\\n",
            "ä ö".as_bytes(),
            b"-x",
            b"a\\101",
            b"\x00\x7f",
        ];
        for path in odd {
            assert_eq!(decode_path(&encode_path(path)), *path, "{}", encode_path(path));
        }
        assert_eq!(encode_path(b"a\xffb"), "\"a\\377b\"");
        assert_eq!(encode_path("ä".as_bytes()), "ä");
    }

    #[test]
    fn a_name_that_leaves_the_checkout_is_no_path_inside() {
        for name in ["", ".", "/etc", "../x", "a/../../x", ".git/config", "a/.GIT", "a\nb"] {
            assert_eq!(relative_inside(name), None, "{name:?}");
        }
        assert_eq!(relative_inside("./a//b/"), Some(b"a/b".to_vec()));
    }

    #[test]
    fn a_link_that_points_out_is_seen() {
        for link_target in ["b", "../b", "x/../../b", "./../b/"] {
            assert!(stays_inside(b"a/link", link_target.as_bytes()), "{link_target}");
        }
        for link_target in ["", "../../b", "/etc/passwd", "x/../../../b"] {
            assert!(!stays_inside(b"a/link", link_target.as_bytes()), "{link_target}");
        }
    }

    #[test]
    fn below_a_folder_does_not_mean_beginning_with_its_name() {
        let roots = [b"target".to_vec()];
        assert!(is_at_or_below(b"target", &roots));
        assert!(is_at_or_below(b"target/a", &roots));
        assert!(!is_at_or_below(b"targets", &roots));
    }

    #[test]
    fn only_names_that_git_accepts_are_names_of_branches() {
        for name in ["main", "forge/2026-x", "a.b", "ä"] {
            assert!(is_branch_name(name), "{name}");
        }
        for name in [
            "", "/a", "a/", "a//b", ".a", "a..b", "a.lock", "a b", "-a", "a\n", "@", "a@{1}",
            "x/../y",
        ] {
            assert!(!is_branch_name(name), "{name}");
        }
    }
}
