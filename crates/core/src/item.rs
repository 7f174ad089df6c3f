//! What an `each` goes over: items, lists of them, and which of them touch the same paths.
//!
//! Invariant: overlap is sound. It may see a conflict where there is none, never the reverse:
//! paths are normalised and compared without regard to case, a directory contains what is in
//! it, a glob stands for everything below its first fixed part, and an item that names no
//! paths conflicts with everything.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::is_item_id;

/// The most items any list may have, whatever its flow says.
pub const ITEMS_MAX: usize = 3_000;

/// One thing an `each` goes over: a task, a slice. The same item only if all of it is the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Unique in its list without regard to case: `[A-Za-z0-9][A-Za-z0-9_-]{0,39}`.
    pub id: String,
    /// One line for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Items of the same list that come first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// Paths the item says it will write. Two items with a common path never run together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// What conditions can look at, such as `risk = "high"`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// What must be true when the item is done, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must: Vec<String>,
}

/// A path as overlap sees it: plain lower-case components, cut before the first glob.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place(Vec<String>);

impl Place {
    /// Nothing, if the path leaves the tree or is absolute.
    fn parse(path: &str) -> Option<Self> {
        if path.is_empty() || path.starts_with(['/', '~', '\\']) || path.contains('\0') {
            return None;
        }
        // Also behind a glob: `a/*/../../b` is not below `a`.
        if path.split(['/', '\\']).any(|part| part == "..") {
            return None;
        }
        let mut parts: Vec<String> = Vec::new();
        for part in path.split(['/', '\\']) {
            match part {
                "" | "." => {}
                glob if glob.contains(['*', '?', '[', '{']) => break,
                plain => parts.push(plain.to_lowercase()),
            }
        }
        Some(Self(parts))
    }

    fn touches(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a == b)
    }
}

/// Whether two items may write the same place.
pub fn overlap(a: &Item, b: &Item) -> bool {
    if a.writes.is_empty() || b.writes.is_empty() {
        return true;
    }
    let places = |item: &Item| -> Option<Vec<Place>> {
        item.writes.iter().map(|path| Place::parse(path)).collect()
    };
    match (places(a), places(b)) {
        (Some(a), Some(b)) => a.iter().any(|a| b.iter().any(|b| a.touches(b))),
        (None, _) | (_, None) => true,
    }
}

/// Why nobody could ever get to the end of these items, if that is so.
pub fn flaw(items: &[Item], items_max: usize) -> Option<String> {
    if items.len() > items_max {
        return Some(format!("it has {} items, and at most {items_max} are allowed", items.len()));
    }
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for item in items {
        if !is_item_id(&item.id) {
            return Some(format!(
                "`{}` is not an item id (a letter or digit, then at most 39 letters, digits, `-` or `_`)",
                item.id.escape_debug()
            ));
        }
        if !seen.insert(item.id.to_ascii_lowercase()) {
            return Some(format!("two items have the id `{}` (case does not count)", item.id));
        }
        if let Some(path) = item.writes.iter().find(|path| Place::parse(path).is_none()) {
            return Some(format!(
                "`{}` writes `{}`, which is not a path inside the repository",
                item.id,
                path.escape_debug()
            ));
        }
    }
    let ids: BTreeSet<&str> = items.iter().map(|item| item.id.as_str()).collect();
    let unknown = |item: &&Item| item.after.iter().any(|id| !ids.contains(id.as_str()));
    if let Some(item) = items.iter().find(unknown) {
        return Some(format!("`{}` waits for an item that is not listed", item.id));
    }
    circle(items).map(|id| format!("`{id}` waits for itself, by way of other items"))
}

/// An item that lies on or behind a circle of `after`s.
fn circle(items: &[Item]) -> Option<&str> {
    let mut waits: BTreeMap<&str, usize> =
        items.iter().map(|item| (item.id.as_str(), item.after.len())).collect();
    let mut followers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for item in items {
        for first in &item.after {
            followers.entry(first).or_default().push(&item.id);
        }
    }
    let mut ready: Vec<&str> = waits.iter().filter(|(_, n)| **n == 0).map(|(id, _)| *id).collect();
    while let Some(id) = ready.pop() {
        for follower in followers.remove(id).unwrap_or_default() {
            let n = waits.get_mut(follower).expect("a follower is an item of the list");
            *n -= 1;
            if *n == 0 {
                ready.push(follower);
            }
        }
    }
    items.iter().map(|item| item.id.as_str()).find(|id| waits[id] > 0)
}
