//! Rust: `cargo test`, for the whole workspace if there is one.

use toml::{Table, Value};

use super::project_folder::{Findings, ProjectFolder};

const MANIFEST: &str = "Cargo.toml";

pub(super) fn detect(place: &ProjectFolder) -> Findings {
    let mut findings = Findings::default();
    if !place.exists(MANIFEST) {
        return findings;
    }
    let Some(manifest) = read(place) else {
        findings.add_note("Cargo.toml cannot be read as TOML");
        return findings;
    };
    let signs: &[&[&str]] = &[&["cargo", "test"], &["cargo", "nextest"], &["cargo", "t"]];
    if manifest.contains_key("workspace") {
        let why = "Cargo.toml has a workspace";
        findings.add_check("cargo test --workspace", why, MANIFEST, signs);
    } else if manifest.contains_key("package") {
        findings.add_check("cargo test", "Cargo.toml has a package", MANIFEST, signs);
    } else {
        findings.add_note("Cargo.toml has neither a package nor a workspace");
        return findings;
    }
    match place.read("Cargo.lock") {
        Some(lock) if lock.contains("\nsource = ") => {
            findings.add_setup(
                "cargo fetch --locked",
                "Cargo.lock names crates to download",
                "Cargo.lock",
            );
        }
        Some(_) => {}
        None => findings.add_setup("cargo fetch", "there is no Cargo.lock", MANIFEST),
    }
    findings.add_setup_inputs(
        place,
        &[MANIFEST, "Cargo.lock", "rust-toolchain.toml", "rust-toolchain"],
    );
    findings.cache.push(target_folder(place));
    if place.exists(".config/nextest.toml") {
        findings.add_note(
            "nextest is configured; `cargo test` was chosen because it is always available",
        );
    }
    findings
}

/// Tells whether a folder belongs to the workspace at the top: unless it is excluded or is itself a
/// workspace.
pub(super) fn covers(top: &ProjectFolder, folder: &str) -> bool {
    let Some(workspace) = read(top).and_then(|table| table.get("workspace").cloned()) else {
        return false;
    };
    let excluded = workspace.get("exclude").and_then(Value::as_array);
    let is_excluded = excluded.into_iter().flatten().any(|path| path.as_str() == Some(folder));
    let own = top.read(&format!("{folder}/{MANIFEST}")).and_then(|text| text.parse::<Table>().ok());
    !is_excluded && !own.is_some_and(|own| own.contains_key("workspace"))
}

fn read(place: &ProjectFolder) -> Option<Table> {
    place.read(MANIFEST)?.parse().ok()
}

/// Returns the build folder that the project configures.
fn target_folder(place: &ProjectFolder) -> String {
    let config = place.read(".cargo/config.toml").and_then(|text| text.parse::<Table>().ok());
    let named = config.as_ref().and_then(|config| config.get("build")?.get("target-dir")?.as_str());
    named.filter(|path| crate::path_names::is_plain(path)).unwrap_or("target").to_owned()
}
