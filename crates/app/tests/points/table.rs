//! Which test answers which point from where, in which way: fifteen points, three places, every answer. A cell that cannot
//! be says why.
//!
//! Invariant: every cell is here once, and every test that it names exists. What a question offers is compared with the
//! stories in `answered.rs`, and the answers here with the table in docs/feature.md.

use std::{collections::BTreeSet, fs, path::Path};

use self::{By::Cannot, By::Tests, Place::Pipes, Place::Second, Place::Terminal};

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A real terminal, by keys.
    Terminal,
    /// No terminal: flags, or `forge answer` and `forge resume`.
    Pipes,
    /// Another process, while a terminal shows the question, and while the run is detached.
    Second,
}

/// What shows it.
enum By {
    /// These, each of which gives all answers of the row.
    Tests(&'static [&'static str]),
    /// Nothing: it cannot be.
    Cannot(&'static str),
}

/// Every point, and how it can be answered. What is asked before a run exists can also be stopped, and taken as detected.
const POINTS: &[(u8, &[&str])] = &[
    (1, &["refused"]),
    (2, &["refused"]),
    (3, &["refused"]),
    (4, &["new", "current", "taken", "stop"]),
    (5, &["S", "M", "L", "taken", "stop"]),
    (6, &["go on", "less effort", "stop"]),
    (7, &["passes"]),
    (8, &["approve", "revise", "give-up"]),
    (9, &["passes"]),
    (10, &["approve", "revise", "give-up"]),
    (11, &["approve", "revise", "give-up"]),
    (12, &["retry", "give-up", "approve", "revise"]),
    (13, &["revise", "waive", "give-up"]),
    (14, &["revise", "waive", "give-up"]),
    (15, &["shown"]),
];

/// All cells, several answers in a row where the same tests give them.
const CELLS: &[(u8, Place, &[&str], By)] = &[
    (1, Terminal, &["refused"], Tests(REFUSED_AT_A_TERMINAL)),
    (2, Terminal, &["refused"], Tests(REFUSED_AT_A_TERMINAL)),
    (3, Terminal, &["refused"], Tests(REFUSED_AT_A_TERMINAL)),
    (
        1,
        Pipes,
        &["refused"],
        Tests(&["begins::what_is_no_request_is_refused_with_two_examples_and_nothing_is_made"]),
    ),
    (
        2,
        Pipes,
        &["refused"],
        Tests(&[
            "begins::a_request_that_says_nothing_about_software_is_refused_with_the_reason_and_two_examples",
        ]),
    ),
    (
        3,
        Pipes,
        &["refused"],
        Tests(&[
            "begins::the_address_of_an_issue_is_refused_with_how_to_save_it_and_the_saved_one_is_taken",
        ]),
    ),
    (1, Second, &["refused"], Cannot(NO_RUN)),
    (2, Second, &["refused"], Cannot(NO_RUN)),
    (3, Second, &["refused"], Cannot(NO_RUN)),
    (
        4,
        Terminal,
        &["new", "current", "taken", "stop"],
        Tests(&["chosen::at_a_terminal_each_answer_about_the_branch_is_done"]),
    ),
    (
        5,
        Terminal,
        &["S", "M", "L", "taken", "stop"],
        Tests(&["chosen::at_a_terminal_each_answer_about_the_effort_is_done"]),
    ),
    (
        6,
        Terminal,
        &["go on", "stop"],
        Tests(&["chosen::at_a_terminal_each_answer_about_effort_l_with_auto_is_done"]),
    ),
    (6, Terminal, &["less effort"], Cannot("it was said by a flag: stop, and say another one")),
    (
        4,
        Pipes,
        &["new", "current", "taken"],
        Tests(&[
            "begins::on_a_branch_that_is_not_the_main_one_a_person_chooses_where_the_result_goes",
            CHOSEN_BY_PIPES,
        ]),
    ),
    (5, Pipes, &["S", "M", "L", "taken"], Tests(&[CHOSEN_BY_PIPES])),
    (6, Pipes, &["go on", "less effort"], Tests(&[CHOSEN_BY_PIPES])),
    (4, Pipes, &["stop"], Cannot(STOPPED_ALREADY)),
    (5, Pipes, &["stop"], Cannot(STOPPED_ALREADY)),
    (6, Pipes, &["stop"], Cannot(STOPPED_ALREADY)),
    (4, Second, &["new", "current", "taken", "stop"], Cannot(NO_RUN)),
    (5, Second, &["S", "M", "L", "taken", "stop"], Cannot(NO_RUN)),
    (6, Second, &["go on", "less effort", "stop"], Cannot(NO_RUN)),
    (7, Terminal, &["passes"], Tests(PASSES_AT_A_TERMINAL)),
    (
        7,
        Pipes,
        &["passes"],
        Tests(&["design::with_auto_a_design_that_its_reviewer_likes_is_approved_in_one_line"]),
    ),
    (7, Second, &["passes"], Cannot(NOBODY_ASKED)),
    (9, Terminal, &["passes"], Tests(PASSES_AT_A_TERMINAL)),
    (
        9,
        Pipes,
        &["passes"],
        Tests(&[
            "tasks::in_a_flow_that_allows_it_checkpoint_b_passes_by_itself_with_one_line_of_its_own",
        ]),
    ),
    (9, Second, &["passes"], Cannot(NOBODY_ASKED)),
    (
        8,
        Terminal,
        &["approve", "revise", "give-up"],
        Tests(&[
            "answered::checkpoint_a_is_answered_in_every_way_by_keys",
            "terminal::at_a_terminal_effort_and_checkpoint_a_are_asked_in_place_and_the_summary_is_shown_at_the_end",
        ]),
    ),
    (
        8,
        Pipes,
        &["approve"],
        Tests(&[
            "design::who_approves_the_design_lets_it_be_built",
            "answered::checkpoint_a_is_answered_in_every_way_by_pipes",
        ]),
    ),
    (
        8,
        Pipes,
        &["revise"],
        Tests(&[
            "design::who_revises_the_design_is_asked_again_about_the_new_one_and_it_was_reviewed_anew",
            "words::words_of_every_kind_reach_the_next_brief_as_they_were_said",
        ]),
    ),
    (
        8,
        Pipes,
        &["give-up"],
        Tests(&["design::who_gives_the_design_up_ends_the_run_which_can_still_be_taken_up_again"]),
    ),
    (
        8,
        Second,
        &["approve", "revise", "give-up"],
        Tests(&[
            "answered::checkpoint_a_is_answered_in_every_way_from_elsewhere",
            "answered::checkpoint_a_is_answered_in_every_way_while_detached",
        ]),
    ),
    (
        10,
        Terminal,
        &["approve", "revise", "give-up"],
        Tests(&["answered::checkpoint_b_is_answered_in_every_way_by_keys"]),
    ),
    (
        10,
        Pipes,
        &["approve", "revise", "give-up"],
        Tests(&["answered::checkpoint_b_is_answered_in_every_way_by_pipes"]),
    ),
    (
        10,
        Second,
        &["approve", "revise", "give-up"],
        Tests(&[
            "answered::checkpoint_b_is_answered_in_every_way_from_elsewhere",
            "answered::checkpoint_b_is_answered_in_every_way_while_detached",
        ]),
    ),
    (
        11,
        Terminal,
        &["approve", "revise", "give-up"],
        Tests(&["answered::a_task_that_fails_its_review_is_answered_in_every_way_by_keys"]),
    ),
    (
        11,
        Pipes,
        &["approve", "revise", "give-up"],
        Tests(&["answered::a_task_that_fails_its_review_is_answered_in_every_way_by_pipes"]),
    ),
    (
        11,
        Second,
        &["approve", "revise", "give-up"],
        Tests(&[
            "answered::a_task_that_fails_its_review_is_answered_in_every_way_from_elsewhere",
            "answered::a_task_that_fails_its_review_is_answered_in_every_way_while_detached",
        ]),
    ),
    (
        12,
        Terminal,
        &["retry", "give-up"],
        Tests(&[
            "answered::an_agent_without_a_result_is_answered_in_every_way_by_keys",
            "answered::a_review_without_a_verdict_is_answered_in_every_way_by_keys",
        ]),
    ),
    (
        12,
        Terminal,
        &["approve", "revise"],
        Tests(&["answered::a_review_without_a_verdict_is_answered_in_every_way_by_keys"]),
    ),
    (
        12,
        Pipes,
        &["retry", "give-up"],
        Tests(&[
            "building::an_agent_that_leaves_nothing_of_use_twice_is_for_a_person",
            "answered::an_agent_without_a_result_is_answered_in_every_way_by_pipes",
            "answered::a_review_without_a_verdict_is_answered_in_every_way_by_pipes",
        ]),
    ),
    (
        12,
        Pipes,
        &["approve", "revise"],
        Tests(&["answered::a_review_without_a_verdict_is_answered_in_every_way_by_pipes"]),
    ),
    (
        12,
        Second,
        &["retry", "give-up"],
        Tests(&[
            "answered::an_agent_without_a_result_is_answered_in_every_way_from_elsewhere",
            "answered::an_agent_without_a_result_is_answered_in_every_way_while_detached",
            "answered::a_review_without_a_verdict_is_answered_in_every_way_from_elsewhere",
            "answered::a_review_without_a_verdict_is_answered_in_every_way_while_detached",
        ]),
    ),
    (
        12,
        Second,
        &["approve", "revise"],
        Tests(&[
            "answered::a_review_without_a_verdict_is_answered_in_every_way_from_elsewhere",
            "answered::a_review_without_a_verdict_is_answered_in_every_way_while_detached",
        ]),
    ),
    (
        13,
        Terminal,
        &["revise", "waive", "give-up"],
        Tests(&["answered::a_red_task_is_answered_in_every_way_by_keys"]),
    ),
    (
        13,
        Pipes,
        &["revise", "waive", "give-up"],
        Tests(&["answered::a_red_task_is_answered_in_every_way_by_pipes"]),
    ),
    (
        13,
        Second,
        &["revise", "waive", "give-up"],
        Tests(&[
            "answered::a_red_task_is_answered_in_every_way_from_elsewhere",
            "answered::a_red_task_is_answered_in_every_way_while_detached",
        ]),
    ),
    (
        14,
        Terminal,
        &["revise", "waive", "give-up"],
        Tests(&["answered::a_red_end_is_answered_in_every_way_by_keys"]),
    ),
    (
        14,
        Pipes,
        &["revise", "waive", "give-up"],
        Tests(&["answered::a_red_end_is_answered_in_every_way_by_pipes"]),
    ),
    (
        14,
        Second,
        &["revise", "waive", "give-up"],
        Tests(&[
            "answered::a_red_end_is_answered_in_every_way_from_elsewhere",
            "answered::a_red_end_is_answered_in_every_way_while_detached",
        ]),
    ),
    (
        15,
        Terminal,
        &["shown"],
        Tests(&[
            "terminal::at_a_terminal_effort_and_checkpoint_a_are_asked_in_place_and_the_summary_is_shown_at_the_end",
        ]),
    ),
    (
        15,
        Pipes,
        &["shown"],
        Tests(&["ending::at_the_end_the_whole_summary_is_shown_and_is_what_the_run_keeps"]),
    ),
    (15, Second, &["shown"], Cannot(NOBODY_ASKED)),
];

const REFUSED_AT_A_TERMINAL: &[&str] = &[
    "chosen::at_a_terminal_what_is_no_request_is_refused_with_two_examples_and_the_terminal_is_as_it_was",
];
const PASSES_AT_A_TERMINAL: &[&str] =
    &["chosen::at_a_terminal_automatic_approvals_leave_their_lines_behind"];
const CHOSEN_BY_PIPES: &str =
    "chosen::without_a_terminal_each_printed_answer_about_branch_effort_and_auto_is_done";
const NO_RUN: &str = "there is no run yet that another process could answer";
const NOBODY_ASKED: &str = "nobody is asked, so nobody answers";
const STOPPED_ALREADY: &str = "without a terminal it has stopped when it asks";

/// The text of a module of these tests.
fn module(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/points").join(name);
    let path = path.with_extension("rs");
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Whether a test of this name is run.
fn is_there(test: &str) -> bool {
    let (name, test) = test.split_once("::").expect("a module and a test");
    let source = module(name);
    source.contains(&format!("#[test]\nfn {test}() {{"))
        || source.contains(&format!("    {test}: ")) && source.contains("macro_rules! stories")
}

#[test]
fn every_point_has_a_test_for_every_answer_from_every_place() {
    for (point, answers) in POINTS {
        for place in [Terminal, Pipes, Second] {
            for answer in *answers {
                let cell = |row: &&(u8, Place, &[&str], By)| {
                    row.0 == *point && row.1 == place && row.2.contains(answer)
                };
                let found = CELLS.iter().filter(cell).count();
                assert_eq!(found, 1, "point {point}, {place:?}, {answer}");
            }
        }
    }
    for (point, place, answers, by) in CELLS {
        let known = POINTS.iter().find(|known| known.0 == *point).expect("there is such a point");
        assert!(answers.iter().all(|answer| known.1.contains(answer)), "{point}: {answers:?}");
        match by {
            Tests(tests) => {
                assert!(!tests.is_empty(), "{point}, {place:?}");
                for test in *tests {
                    assert!(is_there(test), "point {point}, {place:?}: there is no test {test}");
                }
            }
            Cannot(why) => assert!(!why.is_empty(), "{point}, {place:?}"),
        }
    }
}

#[test]
fn every_story_stands_in_the_table() {
    let text = module("answered");
    let (_, stories) = text.split_once("\nstories! {\n").expect("there are stories");
    let (stories, _) = stories.split_once("\n}").expect("they end");
    let named = |row: &&'static (u8, Place, &[&str], By)| match row.3 {
        Tests(tests) => tests,
        Cannot(_) => &[],
    };
    let named: BTreeSet<&str> = CELLS.iter().flat_map(|row| named(&row)).copied().collect();
    for story in stories.lines().filter_map(|line| line.trim().split_once(": ")) {
        let name = format!("answered::{}", story.0);
        assert!(named.contains(name.as_str()), "{name} shows nothing that the table asks for");
    }
}

#[test]
fn the_docs_name_the_same_answers() {
    let docs = include_str!("../../../../docs/feature.md");
    let answers = |point: u8| -> BTreeSet<&str> {
        let row = docs.lines().find(|line| line.starts_with(&format!("| {point} | ")));
        let row = row.unwrap_or_else(|| panic!("docs/feature.md has no point {point}"));
        let answers = row.split(" | ").nth(4).expect("it has a column for answers");
        let word = |known: &&str| answers.contains(&format!("`{known}"));
        ["approve", "revise", "retry", "waive", "give-up"].into_iter().filter(word).collect()
    };
    for (point, known) in POINTS.iter().filter(|(point, _)| [8, 11, 12, 13, 14].contains(point)) {
        let known: BTreeSet<&str> = known.iter().copied().collect();
        assert_eq!(answers(*point), known, "point {point}");
    }
}
