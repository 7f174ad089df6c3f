//! Which test shows which point from where: fifteen points, three places. A cell that cannot be says why.
//!
//! Not here: the points at which a run asks, which `answered.rs` answers in every way from everywhere. What such a question offers is
//! compared with its story there, and here with the table in docs/reference/feature-flow.md.

use std::{collections::BTreeSet, fs, path::Path};

use self::{By::Cannot, By::Tests, Place::Pipes, Place::Second, Place::Terminal};
use super::answered;

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// A real terminal, by keys.
    Terminal,
    /// No terminal: flags.
    Pipes,
    /// Another process.
    Second,
}

/// What shows it.
enum By {
    /// These, each of which gives all answers.
    Tests(&'static [&'static str]),
    /// Nothing: it cannot be.
    Cannot(&'static str),
}

/// The points before a run exists (1 to 6), those where nobody is asked (7 and 9), and the end.
const CELLS: &[(&[u8], Place, By)] = &[
    (
        &[1, 2, 3],
        Terminal,
        Tests(&[
            "chosen::at_a_terminal_what_is_no_request_is_refused_with_examples_and_the_terminal_is_as_it_was",
        ]),
    ),
    (
        &[1, 2, 3],
        Pipes,
        Tests(&[
            "begins::what_is_no_request_is_refused_with_examples_and_nothing_is_made",
            "begins::a_request_that_says_nothing_about_software_is_refused_with_the_reason_and_two_examples",
            "begins::an_address_that_is_of_no_issue_is_refused_and_a_saved_issue_is_taken",
        ]),
    ),
    (&[4, 5], Terminal, Tests(&["chosen::at_a_terminal_nothing_is_asked_about_branch_and_effort"])),
    (
        &[6],
        Terminal,
        Tests(&["chosen::at_a_terminal_each_answer_about_effort_l_with_auto_is_done"]),
    ),
    (
        &[4, 5],
        Pipes,
        Tests(&[
            "begins::on_another_branch_the_result_still_goes_to_a_branch_of_its_own",
            "begins::without_an_effort_the_detected_one_is_taken_and_shown",
        ]),
    ),
    (&[6], Pipes, Tests(&["chosen::without_a_terminal_each_printed_answer_about_auto_is_done"])),
    (&[1, 2, 3, 4, 5, 6], Second, Cannot("there is no run yet that another process could answer")),
    (
        &[7, 9],
        Terminal,
        Tests(&["chosen::at_a_terminal_automatic_approvals_leave_their_lines_behind"]),
    ),
    (
        &[7],
        Pipes,
        Tests(&["design::with_auto_a_design_that_its_reviewer_likes_is_approved_in_one_line"]),
    ),
    (
        &[9],
        Pipes,
        Tests(&[
            "tasks::in_a_flow_that_allows_it_checkpoint_b_passes_by_itself_with_one_line_of_its_own",
        ]),
    ),
    (
        &[15],
        Terminal,
        Tests(&[
            "terminal::at_a_terminal_checkpoint_a_is_asked_in_place_and_a_card_is_shown_at_the_end",
        ]),
    ),
    (&[15], Pipes, Tests(&["ending::the_whole_summary_is_what_the_run_keeps_and_shows"])),
    (&[7, 9, 15], Second, Cannot("nobody is asked, so nobody answers")),
];

/// Whether a test of this name is run.
fn is_there(test: &str) -> bool {
    let (module, test) = test.split_once("::").expect("a module and a test");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/points").join(module);
    let source = fs::read_to_string(path.with_extension("rs"));
    source.is_ok_and(|source| source.contains(&format!("#[test]\nfn {test}() {{")))
}

#[test]
fn every_point_is_shown_from_every_place_once() {
    let mut shown: Vec<(u8, Place)> = Vec::new();
    for (points, place, by) in CELLS {
        shown.extend(points.iter().map(|point| (*point, *place)));
        match by {
            Tests(tests) => {
                let missing = tests.iter().find(|test| !is_there(test));
                assert_eq!(missing, None, "{points:?}, {place:?}");
            }
            Cannot(why) => assert!(!why.is_empty()),
        }
    }
    let answered: BTreeSet<u8> = answered::POINTS.iter().map(|point| point.number).collect();
    shown.extend(
        answered.iter().flat_map(|point| [Terminal, Pipes, Second].map(|place| (*point, place))),
    );
    shown.sort_unstable();
    let all = (1..=15).flat_map(|point| [Terminal, Pipes, Second].map(|place| (point, place)));
    assert_eq!(shown, all.collect::<Vec<_>>());
}

#[test]
fn the_docs_name_the_same_answers() {
    let docs = include_str!("../../../../docs/reference/feature-flow.md");
    let answers = |point: u8| -> BTreeSet<&str> {
        let row = docs.lines().find(|line| line.starts_with(&format!("| {point} | ")));
        let row =
            row.unwrap_or_else(|| panic!("docs/reference/feature-flow.md has no point {point}"));
        let answers = row.trim_end_matches(" |").split(" | ").nth(4);
        let answers = answers.expect("it has a column for answers");
        if answers == "as 8" {
            return ["approve", "revise", "give-up"].into();
        }
        let commands = [
            ("approve", "approve"),
            ("revise", "revise"),
            ("retry", "retry"),
            ("override", "waive"),
            ("reject", "give-up"),
        ];
        let is_named = |(command, _): &(&str, &str)| answers.contains(&format!("`{command}"));
        commands.into_iter().filter(is_named).map(|(_, answer)| answer).collect()
    };
    for point in answered::POINTS {
        let same = answered::POINTS.iter().filter(|same| same.number == point.number);
        let known: BTreeSet<&str> = same.flat_map(|same| same.answers()).collect();
        assert_eq!(answers(point.number), known, "point {}", point.number);
    }
}
