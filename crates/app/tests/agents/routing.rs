//! Tiers: which agent and model a call gets, and where a person sees why.

use std::fs;

use crate::{
    mine::{self, PLAYS_ALL},
    world::{DONE, World, has},
};

/// What each call was asked for: its role and its model.
const KEEPS: &str = "echo \"$FORGE_ROLE ${FORGE_MODEL:-none}\" >> $HOME/asked\n";

fn world(settings: &str) -> World {
    let world = mine::world(&format!("{KEEPS}{PLAYS_ALL}"));
    let own = fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    world.write("forge.toml", format!("{own}{settings}"));
    world
}

fn asked(world: &World) -> Vec<String> {
    let path = world.beside("asked");
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(path).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn roles_of_two_tiers_get_the_models_of_the_settings_and_a_person_sees_why() {
    let world = world("[tiers.standard]\nmodel = \"usual\"\n[tiers.heavy]\nmodel = \"big\"\n");
    let said = world.run("draft", &["--auto"]);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(asked(&world), ["writer usual", "reviewer big"]);
    let run = world.latest();
    let why = "tier heavy (set by the role), model by the settings of the tier";
    has(&world.ok(&["log", &run, "--phases", "-v"]), &[why, "tier standard (set by the role)"]);
    let watched = world.ok(&["watch", &run, "write#1/review#1"]);
    let watched = watched.split_whitespace().collect::<Vec<&str>>().join(" ");
    has(&watched, &["mine · big", why]);
    let facts = serde_json::to_string(&world.facts(&run)).unwrap();
    has(&facts, &[r#""wish":{"tier":{"is":"heavy","why":"role"}}"#, r#""model_from":"tier""#]);
    let dry = world.ok(&["run", "--flow", "draft", "do it", "--dry-run"]);
    has(&dry, &["reviewer (mine (big), tier heavy (set by the role)"]);
}

#[test]
fn a_tier_for_the_run_and_settings_of_a_role_outweigh_what_the_role_says() {
    let world = world(
        "[tiers.light]\nmodel = \"small\"\n[tiers.max]\nmodel = \"huge\"\n[roles.writer]\ntier = \"max\"\n",
    );
    let said = world.run("draft", &["--auto"]);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(asked(&world), ["writer huge", "reviewer none"]);
    let said = world.run("draft", &["--auto", "--tier", "light"]);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(asked(&world), ["writer small", "reviewer small"]);
    let said = world.run("draft", &["--auto", "--tier", "light", "--model", "one"]);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(asked(&world), ["writer one", "reviewer one"]);
    let refused = world.refused(&["run", "--flow", "draft", "do it", "--tier", "strong"]);
    has(&refused, &["`strong` is not a valid --tier; use light, standard, heavy, max"]);
}

#[test]
fn a_tier_can_be_another_agent() {
    let other = "[agents.other]\ncommand = [\"OTHER\"]\nmodel = \"theirs\"\n[tiers.heavy]\nagent = \"other\"\n";
    let world = mine::world(&format!("{KEEPS}{PLAYS_ALL}"));
    let path = world.beside("other.sh");
    mine::program(&path, &format!("{KEEPS}{PLAYS_ALL}"));
    let own = fs::read_to_string(world.repo.join("forge.toml")).unwrap();
    let other = other.replace("OTHER", &path.display().to_string());
    world.write("forge.toml", format!("{own}{other}"));
    let said = world.run("draft", &["--auto"]);
    assert_eq!(said.code, DONE, "{said}");
    assert_eq!(asked(&world), ["writer none", "reviewer theirs"]);
    has(&world.ok(&["log", &world.latest(), "--phases"]), &["other theirs"]);
    fs::remove_file(&path).unwrap();
    let refused = world.refused(&["run", "--flow", "draft", "do it"]);
    has(&refused, &["the agent `other` needs the program"]);
}
