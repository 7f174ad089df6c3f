//! The ways in which a person answers a question of a run: by keys at the terminal on which it is driven, by commands after it
//! was left, and from a second process, while a terminal shows the question or while nobody does.
//!
//! Start with [`Seat`]: the same words in each way. Not here: what is asked, and what must follow (`answered.rs`).

use forge_core::id::UnitId;

use super::{
    project::{Project, short_id},
    world::{DONE, FAILED, Said, WAITS, has, pty::Person, until_or},
};

pub(crate) const ENTER: &str = "\r";
pub(crate) const CTRL_D: &str = "\x04";

/// From where a question is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// By keys, at the terminal on which the run is driven.
    Keys,
    /// Without any terminal: the run is left with its question, answered, and taken up again.
    Pipes,
    /// By another process, while a terminal has the question on its screen.
    Elsewhere,
    /// By another process, of a run that was detached from the first moment on.
    Detached,
}

/// What a person can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    Approve,
    Revise(&'static str),
    Retry,
    Waive { gate: &'static str, why: &'static str },
    GiveUp,
}

impl Says {
    /// The word of it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Revise(_) => "revise",
            Self::Retry => "retry",
            Self::Waive { .. } => "waive",
            Self::GiveUp => "give-up",
        }
    }

    /// The words that come with it.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Revise(words) | Self::Waive { why: words, .. } => words,
            Self::Approve | Self::Retry | Self::GiveUp => "",
        }
    }

    /// As a command takes it.
    fn as_arguments(self) -> Vec<&'static str> {
        match self {
            Self::Revise(words) => vec!["revise", words],
            Self::Waive { gate, why } => vec!["waive", gate, why],
            Self::Approve | Self::Retry | Self::GiveUp => vec![self.word()],
        }
    }
}

/// A person with a run, and one way to answer it.
pub(crate) struct Seat<'a> {
    project: &'a Project,
    way: Way,
    pub(crate) run: String,
    /// Where there is a terminal.
    person: Option<Person>,
    /// Where there is none: how the run was left last.
    said: Option<Said>,
    /// How much of what a detached driver said is known already.
    logged: usize,
    /// What was answered last.
    last: Option<Says>,
}

impl<'a> Seat<'a> {
    /// Starts the flow. It asks a question about this unit before anything else.
    pub(crate) fn begin(project: &'a Project, way: Way, words: &[&str], about: &str) -> Self {
        let world = &project.world;
        let mut seat = Self {
            project,
            way,
            run: String::new(),
            person: None,
            said: None,
            logged: 0,
            last: None,
        };
        match way {
            Way::Keys | Way::Elsewhere => seat.person = Some(Person::at(world, words)),
            Way::Pipes => seat.said = Some(world.forge(words)),
            Way::Detached => {
                let said = world.ok(&[words, &["--detach"]].concat());
                has(&said, &["is running in the background", "forge attach "]);
            }
        }
        if let Some(person) = &seat.person {
            person.until_sees(&format!("Q1 · {}", label(about)));
        }
        seat.run = world.latest();
        seat.asks(1, about);
        seat
    }

    /// Takes a run up again that had ended.
    pub(crate) fn resume(&mut self) {
        let (world, run) = (&self.project.world, self.run.as_str());
        match self.way {
            Way::Keys | Way::Elsewhere => self.person = Some(Person::at(world, &["resume", run])),
            Way::Pipes => self.said = Some(world.forge(&["resume", run])),
            Way::Detached => {
                world.ok(&["resume", run, "--detach"]);
            }
        }
    }

    /// Waits until this question is asked.
    pub(crate) fn asks(&mut self, question: usize, about: &str) {
        let wanted = format!("Q{question} · {}", label(about));
        let on_card = format!("  {:<8}{}", format!("Q{question}"), label(about));
        match self.way {
            Way::Keys | Way::Elsewhere => {
                let person = self.person.as_ref().expect("there is a terminal");
                let screen = person.until_sees(&wanted);
                assert!(person.is_on_its_own_screen(), "{screen}");
            }
            Way::Pipes => {
                let said = self.said.as_ref().expect("it was left");
                assert_eq!(said.code, WAITS, "{said}");
                // Where an answer led to the next question, there is nothing to resume before that is answered.
                if said.err.contains("needs an answer first") {
                    has(&self.project.world.ok(&["status", &self.run]), &[&wanted]);
                } else {
                    has(&said.out, &[&on_card]);
                }
            }
            Way::Detached => has(&self.until_logged(), &[&on_card]),
        }
    }

    /// Waits until the run has ended with this exit code; the terminal is as it was before.
    pub(crate) fn ends(&mut self, code: i32) {
        match self.way {
            Way::Keys | Way::Elsewhere => {
                let mut person = self.person.take().expect("there is a terminal");
                assert_eq!(person.end(), code, "{}", person.screen());
                person.is_left_sane();
                if [DONE, FAILED].contains(&code) {
                    has(&person.text(), &["  Next    forge "]);
                }
            }
            // It was ended by the answer itself.
            Way::Pipes | Way::Detached if self.last == Some(Says::GiveUp) => {}
            Way::Pipes => {
                let said = self.said.as_ref().expect("it was left");
                assert_eq!(said.code, code, "{said}");
            }
            // Nobody sees its exit code.
            Way::Detached => drop(self.until_logged()),
        }
    }

    /// Leaves the question that is open now, for later.
    pub(crate) fn leaves(&mut self) {
        if let Some(mut person) = self.person.take() {
            person.press("q");
            assert_eq!(person.end(), WAITS, "{}", person.screen());
            person.is_left_sane();
            has(&person.bytes(), &[&format!("forge reject {}", short_id(&self.run))]);
        }
    }

    /// Answers, and lets the run go on if it can.
    pub(crate) fn says(&mut self, question: usize, says: Says) {
        self.last = Some(says);
        match self.way {
            Way::Keys => by_keys(self.person.as_mut().expect("there is a terminal"), says),
            Way::Elsewhere => self.by_command(question, says),
            Way::Pipes | Way::Detached => {
                self.by_command(question, says);
                // Whoever gives up ends it there and then.
                if says != Says::GiveUp {
                    self.resume();
                }
            }
        }
    }

    /// Answers from a process of its own.
    fn by_command(&self, question: usize, says: Says) {
        let question = format!("Q{question}");
        let words = [&["answer", &self.run, &question], says.as_arguments().as_slice()].concat();
        has(&self.project.world.ok(&words), &[&format!("{question} is answered")]);
    }

    /// Waits until a detached driver has said how it leaves the run, and gives what it said since it was looked at last.
    fn until_logged(&mut self) -> String {
        let log = self.project.world.place().join("runs").join(&self.run).join("driver.log");
        let read = || std::fs::read_to_string(&log).unwrap_or_default();
        // Its last line is one of these.
        let last = ["\n  Answer  ", "\n  Next    "];
        let printed = || {
            let text = read();
            let is_left = last.iter().any(|last| text[self.logged..].contains(last));
            (is_left && text.ends_with('\n')).then_some(text)
        };
        let text = until_or("the driver to leave", printed, read);
        let said = text[self.logged..].to_owned();
        self.logged = text.len();
        said
    }
}

/// Presses a key for an answer and confirms it.
pub(crate) fn choose(person: &mut Person, key: &str, word: &str) {
    person.press(key);
    person.until_sees(&format!("Enter {word}"));
    person.press(ENTER);
}

/// Answers at the question that is on the screen. Words are pasted, as a terminal does it.
fn by_keys(person: &mut Person, says: Says) {
    match says {
        Says::Approve => choose(person, "a", "approve"),
        Says::Retry => choose(person, "t", "retry"),
        Says::GiveUp => choose(person, "x", "reject"),
        Says::Revise(words) => {
            person.press("r");
            person.until_sees("What should change?");
            write(person, words);
        }
        Says::Waive { gate, why } => {
            person.press("o");
            person.until_sees("Why do you override it?");
            write(person, why);
            let check = match gate {
                "verify" => "the checks".to_owned(),
                "land" => "the merge".to_owned(),
                other => format!("`{other}`"),
            };
            person.until_sees(&format!("Override {check} in your name?"));
            person.press(ENTER);
        }
    }
}

/// Pastes words and sends them.
fn write(person: &mut Person, words: &str) {
    person.press(&format!("\x1b[200~{}\x1b[201~", words.replace('\n', "\r")));
    person.press(CTRL_D);
}

/// The name of a unit on screens.
fn label(unit: &str) -> String {
    unit.parse::<UnitId>().unwrap().label()
}
