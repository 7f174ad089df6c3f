//! Go: `go vet` and `go test`, in each module.

use super::project_folder::{Findings, ProjectFolder};

const MANIFEST: &str = "go.mod";

pub(super) fn detect(place: &ProjectFolder) -> Findings {
    let mut findings = Findings::default();
    if !place.exists(MANIFEST) {
        if place.exists("go.work") {
            findings.add_note("go.work without go.mod; modules one level down are searched");
        }
        return findings;
    }
    findings.add_check("go vet ./...", "there is a go.mod", MANIFEST, &[&["go", "vet"]]);
    let tests = place.own_paths().filter(|path| path.ends_with("_test.go")).count();
    let why = format!("there is a go.mod and {tests} test files");
    if tests > 0 {
        findings.add_check("go test ./...", &why, MANIFEST, &[&["go", "test"], &["gotestsum"]]);
    } else {
        findings.add_note("there is a go.mod, but no _test.go file");
    }
    if place.exists("go.sum") && !place.exists("vendor/modules.txt") {
        findings.add_setup("go mod download", "go.sum names modules to download", "go.sum");
        findings.add_setup_inputs(place, &[MANIFEST, "go.sum"]);
    }
    findings
}
