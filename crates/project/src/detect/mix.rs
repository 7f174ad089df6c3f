//! Elixir: `mix test`.

use super::place::{Part, Place};

const MANIFEST: &str = "mix.exs";

pub(super) fn detect(place: &Place) -> Part {
    let mut part = Part::default();
    if !place.exists(MANIFEST) {
        return part;
    }
    if place.own().any(|path| path.ends_with("_test.exs")) {
        part.check("mix test", "there is a mix.exs, with tests", MANIFEST, &[&["mix", "test"]]);
    } else {
        part.note("there is a mix.exs, but no _test.exs file");
    }
    if place.exists("mix.lock") || place.has(MANIFEST, "{:") {
        part.set_up("mix deps.get", "mix.exs names dependencies", MANIFEST);
        part.inputs(place, &[MANIFEST, "mix.lock"]);
        part.cache.push("deps".to_owned());
    }
    part.cache.push("_build".to_owned());
    part
}
