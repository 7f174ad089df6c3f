//! `cargo xtask test`: everything that must hold before a change lands, step by step, each with its time.
//!
//! A step that fails ends it; the test programs all run even if one fails. Time is shown beside the budget and fails nothing.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use crate::{
    agents, bench,
    command::{cargo, say},
    families::{self, Claude},
    memory, mutants, programs,
    repository::root,
    seed, tidy, tools,
};

/// What all of it may take with everything built, and with nothing built.
const BUDGET_WARM: Duration = Duration::from_mins(8);
const BUDGET_COLD: Duration = Duration::from_mins(14);
/// So many of the slowest test programs are named at the end.
const SLOWEST: usize = 10;

/// How much is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// Samples of large families, and of what has changed only.
    Sample,
    /// All of it.
    Full,
}

/// One run of the gate.
struct Gate {
    seed: u64,
    size: Size,
    began: Instant,
    steps: Vec<(&'static str, Duration)>,
    slowest: Vec<(String, Duration)>,
    /// Tests that could not run here, and why.
    not_proved: Vec<String>,
}

/// Runs the gate.
pub(crate) fn run(size: Size, seed: Option<u64>) -> ExitCode {
    let seed = seed.unwrap_or_else(seed::from_commit);
    say(&format!("== seed {seed}; the same samples again: cargo xtask test --seed {seed}"));
    let (began, steps, slowest) = (Instant::now(), Vec::new(), Vec::new());
    let mut gate = Gate { seed, size, began, steps, slowest, not_proved: Vec::new() };
    let result = gate.all();
    gate.tell_times();
    match result {
        Ok(()) => {
            for what in &gate.not_proved {
                say(&format!("== {what}"));
            }
            say("== all good");
            ExitCode::SUCCESS
        }
        Err(step) => {
            say(&format!("== {step}: failed"));
            ExitCode::FAILURE
        }
    }
}

impl Gate {
    /// All steps. The error is the name of the one that failed.
    fn all(&mut self) -> Result<(), &'static str> {
        let agents = self.step("agents", |_| agents::bring().map_err(|what| say(&what)).ok())?;
        agents.warn();
        self.passes("tools", |_| tools::bring())?;
        self.passes("formatting", |_| cargo(&["fmt", "--all", "--check"]))?;
        self.passes("tidiness", |_| tidy::run())?;
        self.passes("mutants apply", |_| mutants::check())?;
        let clippy = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
        self.passes("clippy", |_| cargo(&clippy))?;
        let programs = self.step("building tests", |_| {
            let programs = programs::build().and_then(families::complete);
            programs.map_err(|what| say(&what)).ok()
        })?;
        let claude = self.claude();
        let mut variables = agents.variables();
        let folder = memory::Folder::make();
        match &folder {
            Some(folder) => variables.push(("TMPDIR".to_owned(), folder.path().into())),
            None => say("temporary files are on the disk: there is too little memory for them"),
        }
        let tasks = families::ci(&programs, self.seed, claude, &variables);
        self.step("tests", |gate| gate.programs(tasks))?;
        if folder.is_some() {
            let tasks = families::on_disk(&programs, self.seed);
            self.step("tests on the disk", |gate| gate.programs(tasks))?;
        }
        let documented = programs::packages_with_doc_tests(&programs);
        if !documented.is_empty() {
            // Of the whole workspace: with other features than the tests, all would be compiled again.
            let args = ["test", "--doc", "--workspace", "--quiet"];
            self.passes("tests in comments", |_| cargo(&args))?;
        }
        self.passes("every figure can be measured", |_| bench::small())?;
        let (seed, size) = (self.seed, self.size);
        self.passes("mutants", |_| match size {
            Size::Sample => mutants::sample_if_changed(seed),
            Size::Full => mutants::all(),
        })?;
        if self.size == Size::Full {
            for family in families::FAMILIES {
                self.passes(family.name, |gate| full(family.name, gate.seed))?;
            }
        }
        agents.warn();
        Ok(())
    }

    /// Does one step, which gives nothing if it fails, and notes its time.
    fn step<T>(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Result<T, &'static str> {
        say(&format!("== {name}"));
        let began = Instant::now();
        let result = work(self);
        let took = began.elapsed();
        self.steps.push((name, took));
        say(&format!("== {name}: {:.1} s", took.as_secs_f32()));
        result.ok_or(name)
    }

    fn passes(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&mut Self) -> ExitCode,
    ) -> Result<(), &'static str> {
        self.step(name, |gate| (work(gate) == ExitCode::SUCCESS).then_some(()))
    }

    /// Runs test programs and keeps their times.
    fn programs(&mut self, tasks: Vec<programs::Task>) -> Option<()> {
        let ended = programs::run(tasks);
        let failed: Vec<&str> =
            ended.iter().filter(|ended| !ended.is_good).map(|ended| ended.name.as_str()).collect();
        if !failed.is_empty() {
            say(&format!("failed: {}", failed.join(", ")));
        }
        let is_good = failed.is_empty();
        self.not_proved.extend(ended.iter().flat_map(|ended| ended.not_proved.iter().cloned()));
        self.slowest.extend(ended.into_iter().map(|ended| (ended.name, ended.took)));
        is_good.then_some(())
    }

    /// How much is run with the real Claude Code.
    fn claude(&self) -> Claude {
        if self.size == Size::Sample && agents::CLAUDE.is_proved(&root()) {
            say("Claude Code: its adapter is the one that passed all tests, so only some run");
            return Claude::Smoke;
        }
        say("Claude Code: all tests; `cargo xtask test --full claude` records that they passed");
        Claude::All
    }

    fn tell_times(&mut self) {
        say("== times");
        for (name, took) in &self.steps {
            say(&format!("{:>7.1} s  {name}", took.as_secs_f32()));
        }
        self.slowest.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
        say("the slowest test programs:");
        for (name, took) in self.slowest.iter().take(SLOWEST) {
            say(&format!("{:>7.1} s  {name}", took.as_secs_f32()));
        }
        let (warm, cold) = (BUDGET_WARM.as_secs(), BUDGET_COLD.as_secs());
        let total = self.began.elapsed().as_secs();
        say(&format!("{total:>5} s    in all; the budget is {warm} s warm, {cold} s cold"));
    }
}

/// Runs one family in full, and records what only a full run proves.
pub(crate) fn full(name: &str, seed: u64) -> ExitCode {
    if ![families::CLAUDE, families::PROGRAMS].contains(&name) {
        return families::full(name, seed);
    }
    let agents = match agents::bring() {
        Ok(agents) => agents,
        Err(what) => {
            say(&what);
            return ExitCode::FAILURE;
        }
    };
    agents.warn();
    let code = families::full(name, seed);
    let has_tested = agents.has("claude-code");
    if code == ExitCode::SUCCESS
        && name == families::CLAUDE
        && has_tested
        && let Err(error) = agents::CLAUDE.record(&root())
    {
        say(&format!("it passed, but that cannot be recorded: {error}"));
    }
    code
}
