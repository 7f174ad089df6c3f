//! What an `each` goes over: items, lists of them, and which of them touch the same paths.
//!
//! Invariant: overlap is sound. It may see a conflict where there is none, never the reverse:
//! paths are normalised and compared without regard to case, a directory contains what is in
//! it, a glob stands for everything below its first fixed part, and an item that names no
//! paths conflicts with everything. Names beyond ASCII stand for everything beside them, because
//! file systems disagree on when two of them are the same.
//!
//! This crate has no disk: the caller that lists items first says with [`resolved`] where their paths lead.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most items any list may have, whatever its flow says.
pub const ITEMS_MAX: usize = 3_000;

/// One item of a list: a piece of work with a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// A short name, such as T1.
    pub id: String,
    /// One line for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(extend("default" = ""))]
    pub title: String,
    /// Ids of items which must be finished first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("default" = []))]
    pub after: Vec<String>,
    /// Paths which this item may write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("default" = []))]
    pub writes: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("default" = {}))]
    pub tags: BTreeMap<String, String>,
    /// Conditions that hold when the item is done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("default" = []))]
    pub must: Vec<String>,
}

/// The most places that one path may lead to. A path that leads to more leads everywhere.
pub const PLACES_MAX: usize = 64;

/// A path as overlap sees it: plain lower-case components, cut before the first that is not plain.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PathPrefix(Vec<String>);

impl PathPrefix {
    /// Parses a path. Nothing, if it leaves the tree or is absolute.
    fn parse(path: &str) -> Option<Self> {
        if path.is_empty() || path.starts_with(['/', '~', '\\']) || path.contains('\0') {
            return None;
        }
        // Also behind a glob: `a/*/../../b` is not below `a`.
        if path.split(['/', '\\']).any(|part| part == "..") {
            return None;
        }
        Some(Self(fixed(path).iter().map(|part| part.to_ascii_lowercase()).collect()))
    }

    fn touches(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a == b)
    }
}

/// Returns the components of a path before the first that is not plain.
fn fixed(path: &str) -> Vec<&str> {
    let parts = path.split(['/', '\\']).filter(|part| !matches!(*part, "" | "."));
    parts.take_while(|part| is_plain(part)).collect()
}

/// Returns true if a component means exactly the name that it is, wherever the tree lies.
fn is_plain(part: &str) -> bool {
    let is_glob = part.contains(['*', '?', '[', ']', '{', '}', '(', ')', '|', '\\']);
    let is_other = part.starts_with(['!', ':']) || part.trim() != part;
    let is_ascii = part.chars().all(|c| c.is_ascii() && !c.is_ascii_control());
    is_ascii && !is_glob && !is_other
}

/// Returns all paths that lead to the places that `path` leads to, in a tree with these symbolic links:
/// the path itself, what it means when the links on its way are followed, and the targets of
/// links below it.
///
/// `links` maps the path of each link to its target, as the link says it. More than
/// [`PLACES_MAX`] places, and a link that leads out of the tree, mean the whole tree: `.`.
pub fn resolved(path: &str, links: &BTreeMap<String, String>) -> Vec<String> {
    if PathPrefix::parse(path).is_none() {
        return vec![path.to_owned()];
    }
    let everywhere = || vec![path.to_owned(), ".".to_owned()];
    let is_within = |outer: &[String], inner: &[String]| {
        outer.len() <= inner.len()
            && outer.iter().zip(inner).all(|(a, b)| a.eq_ignore_ascii_case(b))
    };
    let mut places: Vec<Vec<String>> = vec![fixed(path).into_iter().map(str::to_owned).collect()];
    let mut next = 0;
    while let Some(place) = places.get(next).cloned() {
        next += 1;
        for (link, target) in links {
            let from: Vec<String> = fixed(link).into_iter().map(str::to_owned).collect();
            let on_its_way = is_within(&from, &place);
            if !on_its_way && !is_within(&place, &from) {
                continue;
            }
            let Some(mut to) = target_of(link, target) else { return everywhere() };
            // A link that is not plain may or may not be the one on the way.
            if on_its_way && is_exact(link) && is_exact_target(target) {
                to.extend_from_slice(&place[from.len()..]);
            }
            if !places.contains(&to) {
                places.push(to);
            }
            if places.len() > PLACES_MAX {
                return everywhere();
            }
        }
    }
    let named = |place: &Vec<String>| match place.as_slice() {
        [] => ".".to_owned(),
        parts => parts.join("/"),
    };
    let mut found = vec![path.to_owned()];
    found.extend(places.iter().skip(1).map(named));
    found
}

/// Returns true if all components of a link's path are plain.
fn is_exact(link: &str) -> bool {
    link.split('/').filter(|part| !matches!(*part, "" | ".")).all(is_plain)
}

/// Returns true if all components of a link's target are plain.
fn is_exact_target(target: &str) -> bool {
    target.split('/').filter(|part| !matches!(*part, "" | "." | "..")).all(is_plain)
}

/// Returns where a link leads, cut before the first component that is not plain. Nothing, if that may be
/// outside of the tree, or depends on other links.
fn target_of(link: &str, target: &str) -> Option<Vec<String>> {
    if target.is_empty() || target.starts_with('/') {
        return None;
    }
    let parts = |path: &str| -> Vec<String> {
        let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
        parts.map(str::to_owned).collect()
    };
    // In a commit, the folder of a link is no link itself.
    let mut place = parts(link);
    place.pop()?;
    let down = parts(target);
    let ups = down.iter().take_while(|part| *part == "..").count();
    for _ in 0..ups {
        place.pop()?;
    }
    let down = &down[ups..];
    if down.iter().any(|part| part == "..") {
        return None;
    }
    place.extend_from_slice(down);
    let plain = place.iter().take_while(|part| is_plain(part)).count();
    place.truncate(plain);
    Some(place)
}

/// Returns true if two items may write the same place.
pub fn overlap(a: &Item, b: &Item) -> bool {
    if a.writes.is_empty() || b.writes.is_empty() {
        return true;
    }
    let places = |item: &Item| -> Option<Vec<PathPrefix>> {
        item.writes.iter().map(|path| PathPrefix::parse(path)).collect()
    };
    match (places(a), places(b)) {
        (Some(a), Some(b)) => a.iter().any(|a| b.iter().any(|b| a.touches(b))),
        (None, _) | (_, None) => true,
    }
}

/// Returns true if a path that was changed is one of those that were declared, or below one: `*` stands
/// for anything in one name, `**` for any folders, all else for itself. Case does not count.
pub fn writes_reach(writes: &[String], path: &str) -> bool {
    let changed: Vec<String> = path.split('/').map(str::to_lowercase).collect();
    let reaches = |declared: &String| {
        let names = declared.split(['/', '\\']).filter(|name| !matches!(*name, "" | "."));
        let mut pattern: Vec<String> = names.map(str::to_lowercase).collect();
        pattern.push("**".to_owned());
        fits(&pattern, &changed, |name| name == "**", |pattern, name| fits_name(pattern, name))
    };
    writes.iter().any(reaches)
}

/// Returns true if a pattern stands for a name.
fn fits_name(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    fits(&pattern, &name, |c| *c == '*', |one, other| one == other)
}

/// Returns true if a pattern stands for a text, where stars stand for anything. Only the last star is
/// tried again, so the time is at most the product of both lengths.
fn fits<T>(
    pattern: &[T],
    text: &[T],
    is_star: impl Fn(&T) -> bool,
    is_one: impl Fn(&T, &T) -> bool,
) -> bool {
    let (mut at, mut place, mut star) = (0, 0, None);
    while let Some(found) = text.get(place) {
        match pattern.get(at) {
            Some(part) if is_star(part) => {
                star = Some((at, place));
                at += 1;
            }
            Some(part) if is_one(part, found) => {
                at += 1;
                place += 1;
            }
            Some(_) | None => {
                let Some((last, from)) = star else { return false };
                star = Some((last, from + 1));
                at = last + 1;
                place = from + 1;
            }
        }
    }
    pattern[at..].iter().all(is_star)
}

/// Returns why a declared path stands for nothing that could be told, if that is so.
pub fn path_flaw(path: &str) -> Option<&'static str> {
    let has_outer_space = |name: &str| name.trim() != name;
    let is_list = path.contains('{') && path.contains(',') && path.contains('}');
    if PathPrefix::parse(path).is_none() {
        Some("which is not a path inside the repository")
    } else if path.split(['/', '\\']).any(has_outer_space) {
        Some("where a name begins or ends with a space")
    } else if path.contains(char::is_control) {
        Some("which has a control character in it")
    } else if is_list {
        Some("where braces stand for several paths; list each of them")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_path_stands_for_exactly_what_it_means() {
        let reaches = |declared: &str, path: &str| writes_reach(&[declared.to_owned()], path);
        for (declared, path) in [
            ("*.md", "README.md"),
            ("é.md", "é.md"),
            ("!x", "!x"),
            ("[x]", "[x]/page.ts"),
            ("src", "src/a/b.rs"),
            ("./src/", "SRC/a"),
            ("src/**/*.rs", "src/a.rs"),
            ("src/**/*.rs", "src/a/b/c.rs"),
            ("src/*", "src/a/b"),
            (".", "anything"),
            ("**", "any/thing"),
            ("docs\\a.md", "docs/a.md"),
        ] {
            assert!(reaches(declared, path), "{declared} {path}");
        }
        for (declared, path) in [
            ("*.md", "calc.py"),
            ("*.md", "docs/a.md"),
            ("é.md", "calc.py"),
            ("!x", "calc.py"),
            ("[x]", "x"),
            ("src", "srcs/a"),
            ("src/**/*.rs", "src/a/b.py"),
            ("*a*a*a*a*a*a*a*a*ax", &"a".repeat(60)),
        ] {
            assert!(!reaches(declared, path), "{declared} {path}");
        }
    }
}
