//! Overlap is sound: held against brute force over all small paths.
//!
//! The truth is taken from the outside: every pattern stands for a set of files in a small tree,
//! found by matching and not by comparing prefixes. Two items touch if a file of the one is a
//! file of the other, or lies below or above it, without regard to case.

use forge_core::item::{Item, flaw, overlap};

/// All files and folders of a small tree, three levels of two names.
fn tree() -> Vec<Vec<&'static str>> {
    let mut all: Vec<Vec<&str>> = vec![vec![]];
    let mut level: Vec<Vec<&str>> = vec![vec![]];
    for _ in 0..3 {
        level = level
            .iter()
            .flat_map(|path| ["a", "b"].map(|name| [path.clone(), vec![name]].concat()))
            .collect();
        all.extend(level.clone());
    }
    all
}

/// Whether a pattern of one name stands for a name.
fn stands_for(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.first(), name.first()) {
        (None, None) => true,
        (Some(b'*'), _) => {
            stands_for(&pattern[1..], name) || (!name.is_empty() && stands_for(pattern, &name[1..]))
        }
        (Some(b'?'), Some(_)) => stands_for(&pattern[1..], &name[1..]),
        (Some(p), Some(n)) => p.eq_ignore_ascii_case(n) && stands_for(&pattern[1..], &name[1..]),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// The places of the tree that a pattern stands for, by trying them all.
fn places(pattern: &str, tree: &[Vec<&'static str>]) -> Vec<Vec<&'static str>> {
    fn fits(pattern: &[&str], place: &[&str]) -> bool {
        match (pattern.split_first(), place.split_first()) {
            (None, None) => true,
            (Some((&"**", rest)), _) => {
                fits(rest, place) || (!place.is_empty() && fits(pattern, &place[1..]))
            }
            (Some((p, rest)), Some((n, others))) => {
                stands_for(p.as_bytes(), n.as_bytes()) && fits(rest, others)
            }
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
    let parts: Vec<&str> = pattern.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    tree.iter().filter(|place| fits(&parts, place)).cloned().collect()
}

fn touch(a: &[&str], b: &[&str]) -> bool {
    a.iter().zip(b).all(|(a, b)| a == b)
}

fn item(writes: &[&str]) -> Item {
    let writes = writes.iter().map(|path| (*path).to_owned()).collect();
    Item { id: "X".to_owned(), writes, ..Item::default() }
}

fn patterns() -> Vec<String> {
    let names = ["a", "b", "A", "*", "?", "a*", "**", "."];
    let mut all: Vec<String> = Vec::new();
    for one in names {
        all.push(one.to_owned());
        for two in names {
            all.push(format!("{one}/{two}"));
            all.push(format!("./{one}//{two}/"));
            for three in ["a", "B", "*"] {
                all.push(format!("{one}/{two}/{three}"));
            }
        }
    }
    all
}

#[test]
fn what_touches_in_a_real_tree_overlaps() {
    let tree = tree();
    let patterns = patterns();
    let places: Vec<_> = patterns.iter().map(|pattern| places(pattern, &tree)).collect();
    let (mut touching, mut apart) = (0, 0);
    for (n, a) in patterns.iter().enumerate() {
        for (m, b) in patterns.iter().enumerate() {
            let truth = places[n].iter().any(|a| places[m].iter().any(|b| touch(a, b)));
            let said = overlap(&item(&[a]), &item(&[b]));
            assert!(said || !truth, "`{a}` and `{b}` touch, and nobody says so");
            assert_eq!(said, overlap(&item(&[b]), &item(&[a])), "`{a}` and `{b}`: order matters");
            touching += usize::from(truth);
            apart += usize::from(!said);
        }
    }
    assert!(touching > 1_000 && apart > 1_000, "{touching} touch, {apart} are apart");
}

#[test]
fn plain_paths_overlap_exactly_when_they_touch() {
    let tree = tree();
    for a in tree.iter().skip(1) {
        for b in tree.iter().skip(1) {
            let said = overlap(&item(&[&a.join("/")]), &item(&[&b.join("/")]));
            assert_eq!(said, touch(a, b), "{a:?} and {b:?}");
        }
    }
}

#[test]
fn any_path_of_many_is_enough() {
    assert!(overlap(&item(&["x", "a/b"]), &item(&["y", "a"])));
    assert!(!overlap(&item(&["x", "a/b"]), &item(&["y", "a/c"])));
}

#[test]
fn an_item_without_paths_conflicts_with_everything() {
    assert!(overlap(&item(&[]), &item(&["a"])));
    assert!(overlap(&item(&["a"]), &item(&[])));
    assert!(overlap(&item(&[]), &item(&[])));
}

#[test]
fn a_path_that_leaves_the_tree_conflicts_with_everything_and_is_a_flaw() {
    for path in ["..", "a/../b", "/a", "~/a", "\\a", "", "a/*/../../b", "a\\..\\b", "a\0b"] {
        assert!(overlap(&item(&[path]), &item(&["z"])), "{path:?}");
        assert!(overlap(&item(&["z"]), &item(&[path])), "{path:?}");
        assert!(flaw(&[item(&[path])], 9).is_some(), "{path:?}");
    }
    assert_eq!(flaw(&[item(&["./a/./b/", "c/**", "D"])], 9), None);
}

#[test]
fn case_and_slashes_do_not_count() {
    assert!(overlap(&item(&["SRC/Main.rs"]), &item(&["src/main.RS"])));
    assert!(overlap(&item(&["src\\main.rs"]), &item(&["src/main.rs"])));
    assert!(overlap(&item(&["./src//a/"]), &item(&["src/a/b"])));
}
