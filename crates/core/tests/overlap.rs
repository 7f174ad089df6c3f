//! Overlap is sound: held against brute force over all small paths, and over the files of a real
//! folder with symbolic links.
//!
//! The truth is taken from the outside: every pattern stands for a set of files in a small tree,
//! found by matching and not by comparing prefixes. Two items touch if a file of the one is a
//! file of the other, or lies below or above it, without regard to case. In a real folder, a file
//! is what all links on the way to it lead to.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]
#![expect(clippy::disallowed_methods, reason = "real links lie in real folders")]

#[path = "overlap/folder.rs"]
mod folder;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use folder::{Folder, real_files};
use forge_core::{
    item::{Item, PLACES_MAX, overlap, resolved},
    item_list::flaw,
};

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

/// How case folds beyond ASCII depends on the file system, so such names are never apart.
#[test]
fn names_that_some_file_system_takes_for_the_same_overlap() {
    for (a, b) in [
        ("straße", "STRASSE"),
        ("straße", "strasse"),
        ("İ", "i"),
        ("İ", "i\u{307}"),
        ("ı", "I"),
        ("\u{212a}", "k"),
        ("ſ", "s"),
        ("ﬁle", "file"),
        ("Σ", "ς"),
        ("é", "e\u{301}"),
        ("é", "É"),
        ("Å", "\u{212b}"),
        ("각", "\u{1100}\u{1161}\u{11a8}"),
        ("a\u{200c}", "a"),
    ] {
        for (a, b) in [(a, b), (b, a)] {
            let paths = |name: &str| [name.to_owned(), format!("src/{name}"), format!("{name}/x")];
            for (a, b) in paths(a).iter().zip(&paths(b)) {
                assert!(overlap(&item(&[a]), &item(&[b])), "`{a}` and `{b}`");
            }
        }
    }
    assert!(!overlap(&item(&["src/é"]), &item(&["lib/é"])), "what comes before them still counts");
}

#[test]
fn what_is_not_a_plain_name_stands_for_everything_beside_it() {
    for path in ["src/@(a|b)", "src/+(a)", "src/{a,b}", "src/[ab]", "src/!a", "src/ a", "src/a\tb"]
    {
        assert!(overlap(&item(&[path]), &item(&["src/z"])), "{path:?}");
        assert!(!overlap(&item(&[path]), &item(&["lib"])), "{path:?}");
        let is_refused = path.contains(['{', ' ', '\t']);
        assert_eq!(flaw(&[item(&[path])], 9).is_some(), is_refused, "{path:?}");
    }
    for path in ["!src/a", ":(glob)src/a", ":/src"] {
        assert!(overlap(&item(&[path]), &item(&["lib"])), "{path:?}");
    }
}

fn links(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(link, target)| ((*link).to_owned(), (*target).to_owned())).collect()
}

#[test]
fn a_path_is_followed_through_the_links_on_its_way() {
    let tree = links(&[("lib", "src"), ("src/up", "../docs"), ("a/b/c", "../../x/y")]);
    assert_eq!(resolved("docs/a.md", &tree), ["docs/a.md"]);
    assert_eq!(resolved("lib/a.rs", &tree), ["lib/a.rs", "src/a.rs"]);
    assert_eq!(resolved("a/b/c/d.rs", &tree), ["a/b/c/d.rs", "x/y/d.rs"]);
    assert_eq!(resolved("lib/up/a.md", &tree), ["lib/up/a.md", "src/up/a.md", "docs/a.md"]);
    assert_eq!(resolved("LIB/*.rs", &tree), ["LIB/*.rs", "src", "docs"], "and what lies below");
    assert_eq!(resolved("a", &tree), ["a", "x/y"], "a folder holds the links in it");
    assert_eq!(resolved("../a", &tree), ["../a"], "which is a flaw, and stays one");
}

#[test]
fn links_that_lead_out_or_go_round_lead_everywhere() {
    for tree in [
        links(&[("out", "/etc")]),
        links(&[("out", "../elsewhere")]),
        links(&[("out", "a/../b")]),
        links(&[("out", "out/more")]),
        links(&[("out", "")]),
    ] {
        assert_eq!(resolved("out/a", &tree), ["out/a", "."], "{tree:?}");
        assert_eq!(resolved("in/a", &tree), ["in/a"], "{tree:?}");
    }
    let round = links(&[("a", "b"), ("b", "c"), ("c", "a")]);
    assert_eq!(resolved("a", &round), ["a", "b", "c"]);
    let many: Vec<(String, String)> =
        (0..=PLACES_MAX).map(|n| (format!("l{n}"), format!("l{}", n + 1))).collect();
    let many: BTreeMap<String, String> = many.into_iter().collect();
    assert_eq!(resolved("l0", &many), ["l0", "."]);
}

#[test]
fn what_touches_in_a_real_folder_overlaps_after_its_links_are_followed() {
    let (mut touching, mut apart, mut only_by_links) = (0, 0, 0);
    for seed in 0..24 {
        let folder = Folder::by_chance(seed);
        let links = folder.links();
        let paths = folder.paths();
        let files: Vec<_> = paths.iter().map(|path| real_files(&folder, path)).collect();
        let all: BTreeSet<PathBuf> = files.iter().flatten().cloned().collect();
        let all: Vec<PathBuf> = all.into_iter().collect();
        let bit = |file: &PathBuf| 1_u128 << all.binary_search(file).unwrap();
        let files: Vec<u128> = files.iter().map(|files| files.iter().map(bit).sum()).collect();
        let items: Vec<Item> = paths
            .iter()
            .map(|path| Item { writes: resolved(path, &links), ..Item::default() })
            .collect();
        for n in 0..paths.len() {
            for m in n..paths.len() {
                let truth = files[n] & files[m];
                let said = overlap(&items[n], &items[m]);
                assert!(
                    said || truth == 0,
                    "folder {seed}: `{}` and `{}` are both {:?}, and nobody says so: {links:?}",
                    paths[n],
                    paths[m],
                    all[truth.trailing_zeros() as usize],
                );
                let plain = overlap(&item(&[&paths[n]]), &item(&[&paths[m]]));
                touching += usize::from(truth != 0);
                only_by_links += usize::from(truth != 0 && !plain);
                apart += usize::from(!said);
            }
        }
    }
    assert!(touching > 1_000 && apart > 1_000, "{touching} touch, {apart} are apart");
    assert!(only_by_links > 100, "only {only_by_links} touch by way of links alone");
}
