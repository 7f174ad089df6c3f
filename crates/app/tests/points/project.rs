//! A small project with one task to do, a good play of every role in it, and how its questions are
//! answered.
//!
//! Not here: what is asserted. A test that wants somebody to act otherwise puts its plays first: the
//! first one that matches a call wins.

use std::fmt::Write as _;

use serde_json::Value;

use super::world::{Said, WAITS, WRONG, World, has};

/// What a person asks for.
pub(crate) const REQUEST: &str = "Add a greeting to the program, with its test";

/// What Forge verifies with.
pub(crate) const CHECKS: &str = "[verify]\ncommands = [\"sh check.sh\"]\n";

/// Red if something in the code says that it is broken, or somebody put a file `red` into the home of the
/// world.
const CHECK_SH: &str = "if [ -e ~/red ] || grep -rq broken src; then\n\
                        echo 'not ok 1 - something is broken'; exit 1; fi\n";

/// One task instead of two; all else is played as in the tests of the whole flow.
const GOOD: &str = concat!(
    r##"
[[play]]
role = "architect"
artifacts = { "design.md" = "# Design\n\nOne file.\n" }
result = { summary = "one file", shown = { approach = "a file of its own", key_changes = ["src/greet is new", "README names it"], risk = "medium" } }
[[play]]
role = "task-decomposer"
artifacts = { "tasks.md" = "# Tasks\n\nT1\n" }
result = { summary = "one task", shown = { approach = "one at a time", risk = "low" }, lists = { tasks = [{ id = "T1", title = "Greet people", writes = ["src/greet"] }] } }
[[play]]
role = "comprehensive-reviewer"
artifacts = { "comprehensive-review.md" = "All is good.\n" }
result = { summary = "good", findings = [], commit = "none" }
"##,
    include_str!("../feature/good.toml")
);

/// Two tasks that have nothing to do with each other.
pub(crate) const TWO_TASKS: &str = r##"
[[play]]
role = "task-decomposer"
artifacts = { "tasks.md" = "# Tasks\n\nT1, T2\n" }
[play.result]
summary = "two tasks"
shown = { approach = "one at a time", risk = "low" }
[play.result.lists]
tasks = [
  { id = "T1", title = "Greet people", writes = ["src/greet"] },
  { id = "T2", title = "Say goodbye", writes = ["src/part"] },
]
"##;

/// Nobody splits the design: a run that comes this far stops here, and a test saves time.
pub(crate) const STOPS_HERE: &str = r#"
[[play]]
role = "task-decomposer"
result = { status = "blocked", summary = "no", blocker = { class = "unknown", what = "so far and no further" }, shown = { approach = "none", risk = "low" }, lists = { tasks = [] } }
artifacts = { "tasks.md" = "none\n" }
"#;

/// A repository with the project in it, and its scenario.
pub(crate) struct Project {
    pub(crate) world: World,
}

/// A run of the project that was left, and what was said last.
pub(crate) struct Left<'a> {
    world: &'a World,
    pub(crate) run: String,
    pub(crate) said: Said,
}

impl Project {
    /// The project with its check. Some plays come before the good ones.
    pub(crate) fn new(first: &str) -> Self {
        Self::with(first, CHECKS)
    }

    /// The project with other settings.
    pub(crate) fn with(first: &str, settings: &str) -> Self {
        let world = World::new();
        world.write("check.sh", CHECK_SH);
        world.write("src/main", "a program\n");
        world.write("play.toml", format!("scenario = 1\n{first}\n{GOOD}"));
        let agents = "[agents.scripted]\nscenario = \"play.toml\"\n";
        world.write("forge.toml", format!("{settings}{agents}"));
        world.git(&["add", "."]);
        world.git(&["commit", "--quiet", "-m", "the project"]);
        Self { world }
    }

    /// How the flow is started with this effort.
    pub(crate) fn words<'a>(effort: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        [&["run", "--flow", "feature", "--effort", effort, REQUEST], more].concat()
    }

    /// Runs the flow.
    pub(crate) fn run(&self, effort: &str, more: &[&str]) -> Left<'_> {
        let said = self.world.forge(&Self::words(effort, more));
        assert_ne!(said.code, WRONG, "{said}");
        Left { world: &self.world, run: self.world.latest(), said }
    }

    /// Runs the flow until it asks its first question.
    pub(crate) fn asks(&self, effort: &str, more: &[&str]) -> Left<'_> {
        let left = self.run(effort, more);
        left.waits_for(1);
        left
    }
}

/// How a run is called on screens.
pub(crate) fn short_id(run: &str) -> &str {
    run.rsplit('-').next().expect("a run has a name")
}

impl Left<'_> {
    /// What it said, to be looked at.
    pub(crate) fn shows(&self, wanted: &[&str]) -> &Self {
        // The card has the question, and the status all of it.
        has(&format!("{}{}", self.said.out, self.status()), wanted);
        self
    }

    /// The run as `forge status` shows it, with its questions.
    pub(crate) fn status(&self) -> String {
        self.world.ok(&["status", &self.run])
    }

    /// What it did not say.
    pub(crate) fn hides(&self, unwanted: &[&str]) -> &Self {
        for unwanted in unwanted {
            assert!(!self.said.all().contains(unwanted), "`{unwanted}` in {}", self.said);
        }
        self
    }

    /// It ended with this exit code.
    pub(crate) fn ends(&self, code: i32) -> &Self {
        assert_eq!(self.said.code, code, "{}", self.said);
        self
    }

    /// It waits for a person, with this one question.
    pub(crate) fn waits_for(&self, question: u32) -> &Self {
        self.ends(WAITS);
        let open = self.open();
        assert_eq!(open.len(), 1, "{open:#?}");
        assert_eq!(open[0]["question"], format!("Q{question}"), "{}", self.said);
        self
    }

    /// What is open, as a program sees it.
    pub(crate) fn open(&self) -> Vec<Value> {
        self.world.view(&self.run)["asked"].as_array().cloned().unwrap_or_default()
    }

    /// Each way to answer is shown as an exact command with what it will do, and no other is.
    pub(crate) fn offers(&self, question: u32, wanted: &[(&str, &str)]) -> &Self {
        let shown = joined(&self.status());
        let mut left = shown.as_str();
        for (answer, does) in wanted {
            let command = format!("{} {does}", self.command(question, answer));
            let at = left.find(&command);
            let at = at.unwrap_or_else(|| panic!("no `{command}` in {}", self.said));
            left = &left[at + command.len()..];
        }
        let all = ["approve", "revise \"WORDS\"", "retry", "give-up", "waive "];
        let shown = all.iter().map(|answer| shown.matches(&self.command(question, answer)).count());
        assert_eq!(shown.sum::<usize>(), wanted.len(), "{}", self.said);
        self
    }

    /// The command that gives an answer, which names the question where there are several.
    fn command(&self, question: u32, answer: &str) -> String {
        let id = short_id(&self.run);
        let named =
            if self.open().len() > 1 { format!(" --question Q{question}") } else { String::new() };
        let (word, words) = answer.split_once(' ').unwrap_or((answer, ""));
        let optional = if words.is_empty() { "" } else { " [-m \"WORDS\"]" };
        match word {
            "approve" | "retry" => format!("forge {word} {id}{named}{optional}"),
            "revise" => format!("forge revise {id}{named} \"WORDS\""),
            "give-up" => format!("forge reject {id}{named}"),
            _ => {
                let words = words.replacen("verify", "checks", 1).replacen("land", "merge", 1);
                format!("forge override {id}{named} {words}")
            }
        }
    }

    /// Answers, which must be taken, and gives what was said about it.
    pub(crate) fn says(&self, words: &[&str]) -> String {
        let said = self.world.ok(&[&["answer", &self.run], words].concat());
        has(&said, &[&format!("{} is answered", words[0])]);
        said
    }

    /// Answers, and lets the run go on.
    pub(crate) fn answer(&self, words: &[&str]) -> Self {
        self.says(words);
        self.resume()
    }

    /// Gives up, which ends the run; it can be taken up again.
    pub(crate) fn gives_up(&self, question: u32) {
        let said = self.says(&[&format!("Q{question}"), "give-up", "too", "dear"]);
        let id = self.run.rsplit('-').next().unwrap();
        has(&said, &["the run is now failed", &format!("forge resume {id}")]);
        let view = self.world.view(&self.run);
        assert_eq!(view["standing"], "failed");
        has(&self.story(), &["rejected by ada: too dear", "the run failed"]);
    }

    /// Lets the run go on.
    pub(crate) fn resume(&self) -> Self {
        let said = self.world.forge(&["resume", &self.run]);
        Self { world: self.world, run: self.run.clone(), said }
    }

    /// Answers in a way that is refused with exit code 2 and these words, and changes nothing.
    pub(crate) fn refuses(&self, words: &[&str], wanted: &[&str]) -> &Self {
        let before = self.world.records(&self.run);
        let refused = self.world.refused(&[&["answer", &self.run], words].concat());
        has(&refused, &[&["error: ", "help: "], wanted].concat());
        assert_eq!(self.world.records(&self.run), before, "{refused}");
        self
    }

    /// How often a fact is in the journal.
    pub(crate) fn count(&self, fact: &str) -> usize {
        let facts = self.world.facts(&self.run);
        facts.iter().filter(|found| found.get(fact).is_some()).count()
    }

    /// The sentences of the run.
    pub(crate) fn story(&self) -> String {
        self.world.story(&self.run).join("\n")
    }

    /// The number of calls that a unit or gate had.
    pub(crate) fn tries(&self, call: &str) -> usize {
        let started = |line: &&String| {
            let line = line.strip_suffix(", with a simplified brief").unwrap_or(line);
            let call = line.strip_prefix(call).and_then(|rest| rest.strip_suffix(" started"));
            call.is_some_and(|number| number.starts_with('#') && !number.contains('/'))
        };
        self.world.story(&self.run).iter().filter(started).count()
    }
}

/// A text in one line, with one space between words: where it is wrapped does not matter.
pub(crate) fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// What a reviewer of a design says at its attempts from this one on.
pub(crate) fn design_review(verdict: &str, findings: &[&str]) -> String {
    review("role = \"design-reviewer\"", "review-design.md", verdict, findings)
}

/// What a reviewer of the first task says.
pub(crate) fn task_review(verdict: &str, findings: &[&str]) -> String {
    let who = "role = \"impl-reviewer\"\nunit = \"build.T1/implement\"";
    review(who, "review-T1.md", verdict, findings)
}

/// A play only for one attempt.
pub(crate) fn at(attempt: u32, play: &str) -> String {
    play.replacen("[[play]]\n", &format!("[[play]]\nattempt = {attempt}\n"), 1)
}

/// A play in which somebody judges: a finding of each of these severities.
pub(crate) fn review(who: &str, writes: &str, verdict: &str, findings: &[&str]) -> String {
    let mut found = String::new();
    for (n, severity) in (1..).zip(findings) {
        let _ = write!(
            found,
            "{{ severity = \"{severity}\", path = \"design.md\", line = {n}, what = \"{severity} thing {n}\", \
             why = \"because of {n}\" }}, "
        );
    }
    format!(
        "[[play]]\n{who}\nartifacts = {{ \"{writes}\" = \"Look at the data.\\n\" }}\n\
         result = {{ summary = \"I looked\", verdict = \"{verdict}\", findings = [{found}] }}\n"
    )
}
