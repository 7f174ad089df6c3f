//! Every place that waits for the disk is known, and proved by a test.
//!
//! In `store` and `driver` that is a `SyncPoint`, which the simulation leaves out one by one. The others are counted and ordered by
//! `crates/app/tests/syncs`; a new one is added there and here.

use std::path::Path;

/// Files with syncs of their own, and how many.
const KNOWN: &[(&str, usize)] = &[
    ("crates/keeper/src/keeper/ending.rs", 2),
    ("crates/project/src/settings/edit.rs", 2),
    ("crates/project/src/trust.rs", 2),
    ("crates/store/src/disk.rs", 1),
    ("crates/workspace/src/git/object_writer.rs", 1),
];

/// Says if a file of the product has another number of syncs than is known.
pub(super) fn unknown(path: &Path, text: &str) -> Option<String> {
    let is_product = path.components().any(|part| part.as_os_str() == "src")
        && !path.starts_with("crates/benchmark")
        && !path.starts_with("xtask");
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let found = [".sync_all()", ".sync_data()", "fsync("];
    let found: usize = found.iter().map(|call| code.matches(call).count()).sum();
    let known = KNOWN.iter().find(|(known, _)| path == Path::new(known)).map_or(0, |known| known.1);
    (is_product && found != known)
        .then(|| format!("{}: {found} syncs, and {known} are proved", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_that_no_test_knows_is_refused_and_so_is_one_that_is_gone() {
        let sync = "fn f() { file.sync_all(); }\n";
        let new = unknown(Path::new("crates/driver/src/x.rs"), sync);
        assert_eq!(new.unwrap(), "crates/driver/src/x.rs: 1 syncs, and 0 are proved");
        assert!(unknown(Path::new("crates/keeper/src/keeper/ending.rs"), "").is_some());
        assert_eq!(unknown(Path::new("crates/store/src/disk.rs"), sync), None);
    }
}
