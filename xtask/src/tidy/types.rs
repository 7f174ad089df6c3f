//! A type has its name alone: a second struct, enum, trait or alias of that name in production code confuses every reader.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "items of Rust are not our enum, and there will be more"
)]

use std::collections::BTreeMap;

use super::source::{Crate, attributes, is_for_tests};

/// Names that mean the same everywhere, and are read together with their module.
const ALLOWED: &[&str] = &["Error", "Kind", "State", "Result", "Options"];

/// Crates of tools, which are read by themselves.
const TOOLS: &[&str] = &["scripted-model", "benchmark", "xtask"];

/// Names of more than one type, each with the places of all.
pub(super) fn repeated(crates: &[Crate]) -> Vec<String> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for all in crates.iter().filter(|all| !TOOLS.contains(&all.name.as_str())) {
        for file in all.production() {
            let place = format!("{}/{}", all.name, file.path.display());
            for name in names(&file.syntax.items) {
                places.entry(name).or_default().push(place.clone());
            }
        }
    }
    let is_repeated =
        |(name, all): &(String, Vec<String>)| all.len() > 1 && !ALLOWED.contains(&name.as_str());
    let repeated = places.into_iter().filter(is_repeated);
    repeated.map(|(name, all)| format!("type {name}: {}", all.join(", "))).collect()
}

fn names(items: &[syn::Item]) -> Vec<String> {
    let mut all = Vec::new();
    for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
        match item {
            syn::Item::Struct(item) => all.push(item.ident.to_string()),
            syn::Item::Enum(item) => all.push(item.ident.to_string()),
            syn::Item::Trait(item) => all.push(item.ident.to_string()),
            syn::Item::Type(item) => all.push(item.ident.to_string()),
            syn::Item::Union(item) => all.push(item.ident.to_string()),
            syn::Item::Mod(item) => {
                all.extend(item.content.iter().flat_map(|(_, items)| names(items)));
            }
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    fn crate_of(name: &str, files: &[(&str, &str)]) -> Crate {
        let files = files.iter().map(|(path, text)| (path.into(), (*text).to_owned())).collect();
        let files = source::parse(files).unwrap();
        Crate { name: name.to_owned(), folder: name.into(), files }
    }

    #[test]
    fn a_second_type_of_the_same_name_is_seen() {
        let core = crate_of("core", &[("lib.rs", "pub struct Place; enum Kind {}")]);
        let app = crate_of(
            "app",
            &[
                ("main.rs", "mod x { pub type Place = u8; } trait Kind {} struct Once;"),
                ("a_tests.rs", "struct Once;"),
                (
                    "b.rs",
                    "#[cfg(test)] mod tests { struct Once; } impl X for Y { type Once = u8; }",
                ),
            ],
        );
        let tool = crate_of("scripted-model", &[("lib.rs", "struct Once;")]);
        assert_eq!(repeated(&[core, app, tool]), ["type Place: core/lib.rs, app/main.rs"]);
    }
}
