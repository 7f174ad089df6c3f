//! The example of `docs/how-to/use-your-own-agent.md` works as it is pasted.

use std::{fs, os::unix::fs::PermissionsExt as _};

use crate::{
    ledger::adds_up,
    world::{DONE, World, has},
};

const DOCUMENT: &str = include_str!("../../../../docs/how-to/use-your-own-agent.md");
/// The reference has settings of agents, too.
const REFERENCE: &str = include_str!("../../../../docs/reference/agents.md");

/// The first block of the document in this language that has a text in it.
fn block(language: &str, text: &str) -> &'static str {
    let begin = format!("```{language}\n");
    let blocks = DOCUMENT.split(&begin).skip(1).map(|rest| rest.split("```\n").next().unwrap());
    blocks.into_iter().find(|block| block.contains(text)).expect("the document has an example")
}

#[test]
fn the_example_of_the_documentation_works_as_it_is_pasted() {
    let world = World::new();
    let path = world.write("agent.sh", block("sh", "#!/bin/sh"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    world.write("forge.local.toml", block("toml", "command = [\"./agent.sh\"]"));
    let line = block("console", "forge run").trim().strip_prefix("$ forge ").unwrap();
    let (options, request) = line.split_once('"').unwrap();
    let request = request.trim_end_matches('"');
    let words: Vec<&str> = options.split_whitespace().chain([request]).collect();
    let said = world.forge(&words);
    assert_eq!(said.code, DONE, "{said}");
    let run = world.latest();
    let draft = world.place().join("runs").join(&run).join("artifacts/draft.md");
    assert_eq!(
        fs::read_to_string(draft).unwrap().trim_end(),
        format!("# What was asked\n{request}")
    );
    assert_eq!(adds_up(&world, &run).known, 2_400);
    has(&world.ok(&["watch", &run, "write#1"]), &["ended"]);
}

#[test]
fn the_settings_of_the_documentation_are_right() {
    let world = World::new();
    for document in [DOCUMENT, REFERENCE] {
        let blocks = document.split("```toml\n").skip(1);
        for text in blocks.map(|rest| rest.split("```\n").next().unwrap()) {
            world.write("forge.local.toml", text);
            world.ok(&["config", "list"]);
        }
    }
}
