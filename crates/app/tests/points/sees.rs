//! What a person can look at before they answer (points 8, 10, 11, 12): a text and what changed in it since the version
//! before, a change of code, what an agent did. In pipes by commands that the question names, at a terminal by a key.

use std::{ffi::OsString, fs, path::PathBuf};

use super::{
    project::{Left, Project, REQUEST, TWO_TASKS, at, joined, short_id, task_review},
    world::{WAITS, has, pty::Person, until, until_or},
};

/// The architect says something else at its second attempt.
fn no_file() -> String {
    at(
        2,
        "[[play]]\nrole = \"architect\"\nartifacts = { \"design.md\" = \"# Design\\n\\nNo file.\\n\" }\n\
         result = { summary = \"no file\", shown = { approach = \"in place\", key_changes = [\"src/main greets\"], risk = \"high\" } }\n",
    )
}

const DESIGN_DIFF: &str = "diff --git a/design.md b/design.md\n--- a/design.md\n+++ b/design.md\n\
                           @@ -1,3 +1,3 @@\n # Design\n \n-One file.\n+No file.\n";

/// The commands to look at something that a question names.
fn named(left: &Left<'_>) -> Vec<String> {
    let status = left.status();
    let beginning = format!("forge show {} ", short_id(&left.run));
    let named = status.lines().filter_map(|line| line.split_once(&beginning));
    named.map(|(_, name)| name.to_owned()).collect()
}

#[test]
fn at_checkpoint_a_the_design_is_named_and_after_a_revise_also_what_changed_in_it() {
    let project = Project::new(&no_file());
    let world = &project.world;
    let left = project.asks("S", &[]);
    let run = left.run.clone();
    assert_eq!(named(&left), ["design.md", "review-design.md"], "{}", left.said);
    // Nobody has seen another version: the change is the whole text.
    let whole = "# Design\n\nOne file.\n";
    assert_eq!(world.ok(&["show", &run, "design.md"]), whole);
    assert_eq!(world.ok(&["show", &run, "--diff", "design"]), whole);
    assert_eq!(left.open()[0]["change"], "new-texts");
    assert_eq!(left.open()[0].get("diff"), None);

    let left = left.answer(&["Q1", "revise", "in place"]);
    left.waits_for(2);
    assert_eq!(named(&left), ["design.md", "review-design.md", "--diff design"]);
    assert_eq!(world.ok(&["show", &run, "--diff", "design"]), DESIGN_DIFF);
    assert_eq!(world.ok(&["show", &run, "design.md"]), "# Design\n\nNo file.\n");
    // Programs have it, too.
    assert_eq!(left.open()[0]["change"], "changed-texts");
    assert_eq!(left.open()[0]["diff"], DESIGN_DIFF);

    // Once more, with the same words: there is nothing to see, and it says so.
    let left = left.answer(&["Q2", "revise", "really?"]);
    left.waits_for(3);
    let said = world.ok(&["show", &run, "--diff", "design"]);
    has(&said, &["-No file.", "+One file."]);
    let left = left.answer(&["Q3", "revise", "no, as it was"]);
    left.waits_for(4);
    let said = world.ok(&["show", &run, "--diff", "design"]);
    assert_eq!(said, "no changes since the previous version: design.md\n");
    assert_eq!(left.open()[0].get("diff"), None);
}

#[test]
fn at_checkpoint_b_after_a_revise_what_changed_in_the_tasks_is_shown() {
    let project = Project::new(&at(2, TWO_TASKS));
    let left = project.asks("L", &[]).answer(&["Q1", "approve"]);
    left.waits_for(2);
    assert_eq!(named(&left), ["review-tasks.md", "tasks.md"], "{}", left.said);
    let left = left.answer(&["Q2", "revise", "one more for the farewell"]);
    left.waits_for(3);
    assert!(named(&left).iter().any(|command| command.starts_with("--diff split")));
    let said = project.world.ok(&["show", &left.run, "--diff", "split"]);
    has(&said, &["--- a/tasks.md\n+++ b/tasks.md\n", "\n-T1\n+T1, T2\n"]);
    assert_eq!(left.open()[0]["diff"], said);
}

#[test]
fn an_agent_that_left_nothing_can_be_watched_and_there_is_nothing_else_to_see() {
    let project = Project::new("[[play]]\nrole = \"situation-analyst\"\nno_result = true\n");
    let left = project.asks("S", &[]);
    let watch = format!("forge watch {} analyse", short_id(&left.run));
    has(&joined(&left.said.out), &[&watch]);
    assert_eq!(named(&left), Vec::<String>::new());
    has(&project.world.ok(&["watch", &left.run, "analyse"]), &["analyse (attempt 2) · scripted"]);
    let refused = project.world.refused(&["show", &left.run, "--diff", "analyse"]);
    has(&refused, &["`analyse` has changed nothing yet"]);
    let mut person = Person::at(&project.world, &["resume", &left.run]);
    let asked = person.until_sees("Esc later");
    assert!(!asked.contains(" v ") && !asked.contains("forge watch"), "{asked}");
    person.press("q");
    assert_eq!(person.end(), WAITS, "{}", person.screen());
}

/// A person whose pager keeps what it is given.
struct Reader {
    person: Person,
    got: PathBuf,
}

impl Reader {
    fn at(project: &Project, more: &[&str]) -> Self {
        let got = project.world.beside("pages");
        fs::write(&got, "").unwrap();
        let pager = format!("PAGER=cat >>'{}'", got.display());
        let person = with_pager(project, &[&pager], more);
        Self { person, got }
    }

    /// Presses a key that opens the pager, waits for the end of what it shows, and is back at the question.
    fn reads(&mut self, key: &str, end: &str) -> String {
        fs::write(&self.got, "").unwrap();
        self.person.press(key);
        let got = || fs::read_to_string(&self.got).ok().filter(|text| text.contains(end));
        let text = until_or(end, got, || self.person.screen());
        until("the question again", || self.person.is_on_its_own_screen().then_some(()));
        text
    }
}

fn with_pager(project: &Project, pager: &[&str], more: &[&str]) -> Person {
    let words = [&["run", "--flow", "feature", "--effort", "S", REQUEST], more].concat();
    let forge = project.world.command(&words);
    let mut words: Vec<OsString> = vec!["env".into()];
    words.extend(pager.iter().map(Into::into));
    words.push(forge.get_program().to_owned());
    words.extend(forge.get_args().map(ToOwned::to_owned));
    Person::with(&project.world, &words)
}

/// A text without the codes of its colours.
fn plain(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn at_a_terminal_a_key_shows_the_design_and_after_a_revise_first_the_lines_that_changed() {
    let project = Project::new(&no_file());
    let mut reader = Reader::at(&project, &[]);
    let asked = reader.person.until_sees("Esc later");
    has(&asked, &["Q1 · design", "v see it  "]);
    let read = plain(&reader.reads("v", "One file."));
    assert!(read.contains("Design") && !read.contains("diff --git"), "{read}");
    // All of the question can be read in the same way.
    let read = reader.reads("f", "verdict");
    has(&read, &["Q1 · design: Build it like this?", "approach  a file of its own"]);

    reader.person.until_sees("Esc later");
    reader.person.press("r");
    reader.person.until_sees("What should change?");
    reader.person.press("in place\r");
    let asked = reader.person.until("the next question", |screen| {
        screen.contains("Q2 · design") && screen.contains("Esc later")
    });
    has(&asked, &["v see changes"]);
    let read = plain(&reader.reads("v", "all of design.md"));
    assert!(read.starts_with(DESIGN_DIFF.trim_end()), "{read}");
    assert_eq!(read.matches("No file.").count(), 2, "the line, and the whole text: {read}");
    // The question is where it was, and can be answered.
    reader.person.until_sees("v see changes");
    reader.person.press("x");
    reader.person.until_sees("Enter reject");
    reader.person.press("\r");
    assert_ne!(reader.person.end(), WAITS, "{}", reader.person.screen());
}

#[test]
fn at_a_terminal_a_key_shows_the_change_of_a_task_in_the_pager_that_is_set_and_in_less() {
    let first: String = (1..=3).map(|n| at(n, &task_review("revise", &["major"]))).collect();
    let project = Project::new(&first);
    let mut reader = Reader::at(&project, &["--auto"]);
    let asked = reader.person.until_sees("Esc later");
    has(&asked, &["Q1 · T1", "v see changes"]);
    let read = plain(&reader.reads("v", "+hello"));
    assert!(read.starts_with("diff --git a/src/greet b/src/greet\n"), "{read}");
    reader.person.until_sees("v see changes");
    reader.person.press("q");
    assert_eq!(reader.person.end(), WAITS, "{}", reader.person.screen());

    // Where no pager is named, it is less; a machine without it has `more`, which ends by itself.
    let run = project.world.latest();
    let forge = project.world.command(&["resume", run.as_str()]);
    let mut words: Vec<OsString> = ["env", "-u", "PAGER"].map(Into::into).into();
    words.push(forge.get_program().to_owned());
    words.extend(forge.get_args().map(ToOwned::to_owned));
    let mut person = Person::with(&project.world, &words);
    let before = person.until_sees("v see changes");
    person.press("v");
    person.until_sees("+hello");
    person.press("q");
    let after = person.until_sees("v see changes");
    let without_times = |screen: &str| screen.lines().skip(2).collect::<Vec<_>>().join("\n");
    assert_eq!(without_times(&before), without_times(&after), "it is unharmed");
    person.press("q");
    assert_eq!(person.end(), WAITS, "{}", person.screen());
}
