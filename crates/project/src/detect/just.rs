//! `just test` and `just check`.
//!
//! A recipe with a parameter that has no default cannot be run by itself, so it is not a check.

use std::collections::BTreeMap;

use super::{
    project_folder::{CommandWords, Findings, ProjectFolder},
    recipe_text::{Recipe, text_of_recipe},
};

const NAMES: &[&str] = &["justfile", "Justfile", ".justfile", "JUSTFILE"];
/// Recipes that are checks, and how others call them.
const RECIPES: &[(&str, &[CommandWords])] =
    &[("check", &[&["just", "check"]]), ("test", &[&["just", "test"]])];

pub(super) fn detect(place: &ProjectFolder) -> Findings {
    let mut findings = Findings::default();
    let Some(file) = place.first_existing(NAMES) else { return findings };
    let Some(text) = place.read(file) else {
        findings.add_note(format!("{file} cannot be read"));
        return findings;
    };
    let read = read(&text);
    for (name, signs) in RECIPES {
        if read.wanting.iter().any(|wanting| wanting == name) {
            findings.add_note(format!("`just {name}` wants arguments, so it was left out"));
        } else if read.recipes.contains_key(*name) {
            let does = text_of_recipe(name, &read.recipes, "just", place);
            let why = format!("{file} has a recipe `{name}`");
            findings.add_wrapping_check(&format!("just {name}"), &why, file, signs, does);
        }
    }
    findings
}

/// The recipes of a justfile.
#[derive(Debug, Default)]
struct Justfile {
    recipes: BTreeMap<String, Recipe>,
    /// Recipes that need an argument.
    wanting: Vec<String>,
}

fn read(text: &str) -> Justfile {
    let mut all = Justfile::default();
    let mut current: Option<String> = None;
    for line in text.lines() {
        if line.starts_with([' ', '\t']) {
            if let Some(recipe) = current.as_ref().and_then(|name| all.recipes.get_mut(name)) {
                recipe.lines.push(line.trim().trim_start_matches(['@', '-']).to_owned());
            }
            continue;
        }
        if line.trim().is_empty() {
            continue;
        }
        current = None;
        if let Some((target, aliased)) = alias(line) {
            let recipe = Recipe { needs: vec![aliased], lines: Vec::new() };
            all.recipes.insert(target, recipe);
        } else if let Some((name, parameters, needs)) = header(line) {
            if parameters.iter().any(|parameter| wants_argument(parameter)) {
                all.wanting.push(name.clone());
            }
            all.recipes.insert(name.clone(), Recipe { needs, lines: Vec::new() });
            current = Some(name);
        }
    }
    all
}

fn alias(line: &str) -> Option<(String, String)> {
    let (name, aliased) = line.strip_prefix("alias ")?.split_once(":=")?;
    Some((name.trim().to_owned(), aliased.trim().to_owned()))
}

/// Returns name, parameters and needs of a line such as `@test filter="": build (lint "all")`.
fn header(line: &str) -> Option<(String, Vec<String>, Vec<String>)> {
    if line.starts_with(['#', '[', '}']) {
        return None;
    }
    let line = line.strip_prefix('@').unwrap_or(line);
    let colon = colon_outside_quotes(line)?;
    if line[colon..].starts_with(":=") {
        return None;
    }
    let mut words = line[..colon].split_whitespace();
    let name = words.next()?.to_owned();
    let needs = line[colon + 1..].split('#').next().unwrap_or_default();
    let needs = needs.split_whitespace().map(|word| word.trim_matches(['(', ')']));
    let needs = needs.filter(|word| *word != "&&" && !word.starts_with(['"', '\'']));
    Some((name, words.map(str::to_owned).collect(), needs.map(str::to_owned).collect()))
}

fn colon_outside_quotes(line: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' || c == '`' => quote = Some(c),
            None if c == ':' => return Some(at),
            Some(_) | None => {}
        }
    }
    None
}

fn wants_argument(parameter: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || "_-$+".contains(c);
    !parameter.starts_with('*') && !parameter.is_empty() && parameter.chars().all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_are_told_from_settings_and_know_what_they_need() {
        let read = read(
            "set shell := [\"bash\", \"-c\"]\nversion := \"1\"\nalias t := test\n\
             # test: no\n[group('x')]\n@test filter='a:b' *rest: build && (lint \"all\") # why\n\
             \x20   cargo test {{filter}}\n\n    echo done\none target:\n    x\nmany +t:\n  x\n",
        );
        let names: Vec<&str> = read.recipes.keys().map(String::as_str).collect();
        assert_eq!(names, ["many", "one", "t", "test"]);
        assert_eq!(read.recipes["test"].needs, ["build", "lint"]);
        assert_eq!(read.recipes["test"].lines, ["cargo test {{filter}}", "echo done"]);
        assert_eq!(read.recipes["t"].needs, ["test"]);
        assert_eq!(read.wanting, ["one", "many"]);
    }
}
