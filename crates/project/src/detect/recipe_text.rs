//! Named recipes of `make` and `just`: the commands of one, and whether a text runs a command.
//!
//! Not here: the two file formats. A shell text is read roughly: in doubt it does not run a command,
//! and a check is then run twice rather than never.
//!
//! Invariant: recipes that need each other in a circle, or by the thousand, end.

use std::collections::{BTreeMap, BTreeSet};

use super::project_folder::{CommandWords, ProjectFolder, TEXT_BYTES_MAX};
use crate::path_names::base_name;

/// The most recipes and scripts that one recipe is followed into.
const FOLLOWED_MAX: usize = 200;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Recipe {
    /// Recipes that run before or after it.
    pub(super) needs: Vec<String>,
    pub(super) lines: Vec<String>,
}

/// Returns all that a recipe runs, with its needs and the scripts that it calls.
///
/// A need is also written as the command that would run it, such as `make lint`.
pub(super) fn text_of_recipe(
    name: &str,
    recipes: &BTreeMap<String, Recipe>,
    program: &str,
    place: &ProjectFolder,
) -> String {
    let mut text = String::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![name.to_owned()];
    while let Some(next) = open.pop() {
        if seen.len() == FOLLOWED_MAX || text.len() > TEXT_BYTES_MAX {
            break;
        }
        let Some(recipe) = recipes.get(&next) else { continue };
        if !seen.insert(next.clone()) {
            continue;
        }
        if next != name {
            text.extend([program, " ", &next, "\n"]);
        }
        for line in &recipe.lines {
            text.push_str(line);
            text.push('\n');
            for words in commands(line) {
                let mut words = words.iter().skip_while(|word| base_name(word) != program);
                let called = words.by_ref().skip(1).filter(|word| recipes.contains_key(**word));
                open.extend(called.map(|word| (*word).to_owned()));
            }
        }
        open.extend(recipe.needs.iter().cloned());
    }
    text.push_str(&scripts_of(&text, place));
    text
}

/// Returns the texts of the shell scripts that a text calls, one level deep.
fn scripts_of(text: &str, place: &ProjectFolder) -> String {
    let mut scripts = String::new();
    let mut seen = BTreeSet::new();
    for words in text.lines().flat_map(commands) {
        for word in words {
            let path = word.strip_prefix("./").unwrap_or(word);
            let may_be = is_shell(path) || path.starts_with("scripts/") || word != path;
            if may_be && seen.len() < FOLLOWED_MAX && seen.insert(path.to_owned()) {
                if !place.is_listed(path) {
                    continue;
                }
                let script = place.read(path).unwrap_or_default();
                if scripts.len() + script.len() <= TEXT_BYTES_MAX {
                    scripts.push_str(&script);
                    scripts.push('\n');
                }
            }
        }
    }
    scripts
}

fn is_shell(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| extension == "sh")
}

/// Tells whether a text runs one of these commands in this folder, where "" is the same folder.
pub(super) fn runs(text: &str, signs: &[CommandWords], folder: &str) -> bool {
    text.lines().filter(|line| !line.trim_start().starts_with('#')).any(|line| {
        let commands = commands(line);
        let mut words = commands.iter().flatten();
        let is_here = if folder.is_empty() {
            let moves = ["cd", "-C", "--prefix", "--dir", "--cwd", "--manifest-path", "pushd"];
            !words.any(|word| moves.contains(word))
        } else {
            words.any(|word| word.trim_start_matches("./").trim_end_matches('/') == folder)
        };
        is_here && commands.iter().any(|words| signs.iter().any(|sign| matches(words, sign)))
    })
}

/// Tells whether the words of a sign come in this order among the words of a command.
fn matches(words: &[&str], sign: CommandWords) -> bool {
    let mut words = words.iter();
    sign.iter().all(|wanted| words.any(|word| base_name(word) == *wanted))
}

/// Returns the simple commands of a line of shell, each as its words.
fn commands(line: &str) -> Vec<Vec<&str>> {
    let parts = line.split(['&', '|', ';', '(', ')', '`', '{', '}']);
    let words = parts.map(|part| {
        let words = part.split_whitespace();
        words.map(|word| word.trim_matches(['"', '\'', '@'])).filter(|word| !word.is_empty())
    });
    words.map(Iterator::collect).filter(|words: &Vec<_>| !words.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARGO: &[CommandWords] = &[&["cargo", "test"], &["cargo", "nextest"]];

    #[test]
    fn a_text_runs_a_command_only_in_the_right_place_and_order() {
        for (text, folder, expected) in [
            ("cargo test", "", true),
            ("@RUST_LOG=x cargo +nightly --locked test --all", "", true),
            ("set -e; ~/.cargo/bin/cargo nextest run", "", true),
            ("test -f x && cargo build", "", false),
            ("cargo build --test-dir x", "", false),
            ("# cargo test", "", false),
            ("echo test cargo", "", false),
            ("cd web && cargo test", "", false),
            ("cd web && cargo test", "web", true),
            ("cargo test --manifest-path web/Cargo.toml", "", false),
            ("(cd ./web/ && cargo test)", "web", true),
            ("cargo test", "web", false),
            ("", "", false),
        ] {
            assert_eq!(runs(text, CARGO, folder), expected, "{text} in {folder}");
        }
    }
}
