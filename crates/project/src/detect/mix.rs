//! Elixir: `mix test`.

use super::project_folder::{Findings, ProjectFolder};

const MANIFEST: &str = "mix.exs";

pub(super) fn detect(place: &ProjectFolder) -> Findings {
    let mut findings = Findings::default();
    if !place.exists(MANIFEST) {
        return findings;
    }
    if place.own_paths().any(|path| path.ends_with("_test.exs")) {
        findings.add_check(
            "mix test",
            "there is a mix.exs, with tests",
            MANIFEST,
            &[&["mix", "test"]],
        );
    } else {
        findings.add_note("there is a mix.exs, but no _test.exs file");
    }
    if place.exists("mix.lock") || place.file_contains(MANIFEST, "{:") {
        findings.add_setup("mix deps.get", "mix.exs names dependencies", MANIFEST);
        findings.add_setup_inputs(place, &[MANIFEST, "mix.lock"]);
        findings.cache.push("deps".to_owned());
    }
    findings.cache.push("_build".to_owned());
    findings
}
