//! Go: `go vet` and `go test`, in each module.

use super::place::{Part, Place};

const MANIFEST: &str = "go.mod";

pub(super) fn detect(place: &Place) -> Part {
    let mut part = Part::default();
    if !place.exists(MANIFEST) {
        if place.exists("go.work") {
            part.note("go.work is there without go.mod; modules one level down are looked at");
        }
        return part;
    }
    part.check("go vet ./...", "there is a go.mod", MANIFEST, &[&["go", "vet"]]);
    let tests = place.own().filter(|path| path.ends_with("_test.go")).count();
    let why = format!("there is a go.mod and {tests} test files");
    if tests > 0 {
        part.check("go test ./...", &why, MANIFEST, &[&["go", "test"], &["gotestsum"]]);
    } else {
        part.note("there is a go.mod, but no _test.go file");
    }
    if place.exists("go.sum") && !place.exists("vendor/modules.txt") {
        part.set_up("go mod download", "go.sum names modules to download", "go.sum");
        part.inputs(place, &[MANIFEST, "go.sum"]);
    }
    part
}
