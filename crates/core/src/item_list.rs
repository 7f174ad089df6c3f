//! What is wrong with a list of items, whoever made it.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    id::is_item_id,
    item::{Item, path_flaw},
};

/// Returns why nobody could ever get to the end of these items, if that is so.
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
        let flawed = |path: &String| Some((path.escape_debug().to_string(), path_flaw(path)?));
        if let Some((path, flaw)) = item.writes.iter().find_map(flawed) {
            return Some(format!("`{}` writes `{path}`, {flaw}", item.id));
        }
    }
    let ids: BTreeSet<&str> = items.iter().map(|item| item.id.as_str()).collect();
    let unknown = |item: &&Item| item.after.iter().any(|id| !ids.contains(id.as_str()));
    if let Some(item) = items.iter().find(unknown) {
        return Some(format!("`{}` waits for an item that is not listed", item.id));
    }
    circle(items).map(|id| format!("`{id}` waits for itself, by way of other items"))
}

/// Returns an item that lies on or behind a circle of `after`s.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_path_that_cannot_be_told_is_refused_with_the_reason() {
        let why = |path: &str| {
            let item = Item { id: "T1".into(), writes: vec![path.into()], ..Item::default() };
            flaw(&[item], 1)
        };
        for path in ["*.md", "é.md", "!x", "[x]", "a b/c", "app/(group)/[id]/page.tsx", "."] {
            assert_eq!(why(path), None, "{path}");
        }
        for (path, reason) in [
            ("README.md ", "a space"),
            ("src/{a,b}.rs", "list each of them"),
            ("a\u{7}b", "control character"),
            ("../x", "not a path inside"),
        ] {
            assert!(why(path).is_some_and(|flaw| flaw.contains(reason)), "{path}");
        }
    }
}
