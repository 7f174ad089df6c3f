//! Small real projects in sh, Python, Node, Rust and Go: `forge init` finds their checks and proves
//! them, a run of the shipped flow `change` is red and then green in the language's own runner, and
//! the gate `new-tests` says what each new test proves.
//!
//! Read `languages.rs` and the texts beside it (the projects), then `proofs.rs`
//! (what is done with each). A language whose toolchain is not here is not proved, and that is said
//! loudly. Nothing needs the network.

use crate::world;

mod languages;
mod proofs;

use languages::{GO, NODE, PYTHON, PYTHON_WITH_NEEDS, RUST, SH};

#[test]
fn a_shell_project_is_found_and_goes_from_red_to_green() {
    proofs::prove(&SH);
}

#[test]
fn a_new_test_that_passes_without_the_change_sends_the_work_back() {
    proofs::refuse_an_empty_proof(&SH);
}

#[test]
fn a_change_without_the_new_test_that_was_promised_goes_back() {
    proofs::refuse_a_missing_test(&SH);
}

#[test]
fn a_python_project_is_found_and_goes_from_red_to_green() {
    proofs::prove(&PYTHON);
}

#[test]
fn a_python_project_that_names_what_it_needs_is_found_and_set_up_in_a_folder_of_its_own() {
    if let Some(world) = proofs::project(&PYTHON_WITH_NEEDS) {
        world.write("requirements.txt", "# nothing but the standard library\n");
        world.git(&["add", "."]);
        world.git(&["commit", "--quiet", "-m", "needs"]);
        proofs::is_found(&world, &PYTHON_WITH_NEEDS);
    }
}

#[test]
fn a_node_project_is_found_set_up_and_goes_from_red_to_green() {
    proofs::prove(&NODE);
}

#[test]
fn a_rust_project_is_found_and_goes_from_red_to_green() {
    proofs::prove(&RUST);
}

#[test]
fn a_go_project_is_found_and_goes_from_red_to_green() {
    proofs::prove(&GO);
}
