//! Real folders by chance, with symbolic links, and the files in them that a pattern stands for.
//!
//! Nothing here knows how overlap works: patterns are matched name by name while the folder is
//! walked, links are followed by the operating system, and files are compared by where they
//! really are.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

/// How deep the walk goes: links can go round.
const DEPTH_MAX: usize = 4;

const NAMES: [&str; 4] = ["a", "b", "Lib", "é"];

/// A folder of its own, gone with its owner.
pub(crate) struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A small generator of numbers.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % n as u64).unwrap()
    }
}

impl Folder {
    /// Three levels of folders and files, some of which are links instead.
    pub(crate) fn by_chance(seed: u64) -> Self {
        let name = format!("forge-overlap-{}-{seed}", std::process::id());
        let folder = Self(fs::canonicalize(std::env::temp_dir()).unwrap().join(name));
        fs::create_dir(&folder.0).unwrap();
        let mut chance = Chance(seed * 7 + 1);
        (0..4).for_each(|_| _ = chance.below(2));
        folder.fill(Path::new(""), 0, &mut chance);
        folder
    }

    fn fill(&self, at: &Path, depth: usize, chance: &mut Chance) {
        for name in NAMES {
            let path = at.join(name);
            match chance.below(if depth < 2 { 9 } else { 5 }) {
                0 => symlink(link_by_chance(depth, chance), self.0.join(path)).unwrap(),
                1..=4 => fs::write(self.0.join(path), "x").unwrap(),
                _ => {
                    fs::create_dir(self.0.join(&path)).unwrap();
                    self.fill(&path, depth + 1, chance);
                }
            }
        }
    }

    /// All links with their targets, as git would list them.
    pub(crate) fn links(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.0.clone()];
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let kind = fs::symlink_metadata(&path).unwrap().file_type();
                if kind.is_symlink() {
                    let target = fs::read_link(&path).unwrap().to_str().unwrap().to_owned();
                    let link = path.strip_prefix(&self.0).unwrap().to_str().unwrap().to_owned();
                    found.insert(link, target);
                } else if kind.is_dir() {
                    open.push(path);
                }
            }
        }
        found
    }

    /// Paths and patterns that an item could name.
    #[expect(clippy::unused_self, reason = "all folders have the same names")]
    pub(crate) fn paths(&self) -> Vec<String> {
        let names = ["a", "b", "Lib", "é", "*", "?", "**", "."];
        let mut all: Vec<String> = Vec::new();
        for one in names {
            all.push(one.to_owned());
            all.extend(names.map(|two| format!("{one}/{two}")));
            all.push(format!("./{one}//a/b"));
        }
        all.push("a/b/Lib/b".to_owned());
        all
    }
}

/// Where a link leads: beside it, up, down, to itself, or out of the folder.
fn link_by_chance(depth: usize, chance: &mut Chance) -> String {
    let up = "../".repeat(chance.below(depth + 1));
    let one = NAMES[chance.below(NAMES.len())];
    let two = NAMES[chance.below(NAMES.len())];
    match chance.below(24) {
        0 => "/etc".to_owned(),
        1 => "..".to_owned(),
        2..=11 => format!("{up}{one}"),
        12 => format!("{up}{one}/../{two}"),
        _ => format!("{up}{one}/{two}"),
    }
}

/// The files inside the folder that a pattern stands for, where they really are. A folder stands
/// for all files in it.
pub(crate) fn real_files(folder: &Folder, pattern: &str) -> BTreeSet<PathBuf> {
    let parts: Vec<&str> = pattern.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let mut found = BTreeSet::new();
    walk(folder, &folder.0, &parts, 0, &mut found);
    found
}

fn walk(folder: &Folder, at: &Path, parts: &[&str], depth: usize, found: &mut BTreeSet<PathBuf>) {
    let is_inside = |real: PathBuf| real.starts_with(&folder.0);
    if depth > DEPTH_MAX || !fs::canonicalize(at).is_ok_and(is_inside) {
        return;
    }
    let Some((first, rest)) = parts.split_first() else { return take(folder, at, depth, found) };
    if *first == "**" {
        walk(folder, at, rest, depth, found);
    }
    let Ok(entries) = fs::read_dir(at) else { return };
    for entry in entries {
        let entry = entry.unwrap();
        let name = entry.file_name();
        let name = name.to_str().unwrap();
        match *first {
            "**" => walk(folder, &entry.path(), parts, depth + 1, found),
            "*" => walk(folder, &entry.path(), rest, depth + 1, found),
            "?" if name.chars().count() == 1 => {
                walk(folder, &entry.path(), rest, depth + 1, found);
            }
            plain if plain == name => walk(folder, &entry.path(), rest, depth + 1, found),
            _ => {}
        }
    }
}

/// Takes a file, or all files of a folder, if it lies inside at all.
fn take(folder: &Folder, at: &Path, depth: usize, found: &mut BTreeSet<PathBuf>) {
    let Ok(real) = fs::canonicalize(at) else { return };
    if depth > DEPTH_MAX || !real.starts_with(&folder.0) {
        return;
    }
    if real.is_file() {
        found.insert(real);
    } else if let Ok(entries) = fs::read_dir(at) {
        for entry in entries {
            take(folder, &entry.unwrap().path(), depth + 1, found);
        }
    }
}
