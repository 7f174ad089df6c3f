//! What all parts share: the printed line with its bound, running a program, counting what it does, and a repository.
//!
//! Not here: the figures themselves.

use std::{
    cell::RefCell,
    fmt, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// The result of a measurement, or why there is none.
pub(crate) type Measured<T = ()> = Result<T, String>;

/// How much is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// Enough to see that every part can be measured.
    Small,
    Full,
}

/// A bound that was promised, if one was.
#[derive(Clone, Copy)]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
    /// It is there to be compared with.
    None,
}

/// The unit of a figure.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Ms,
    Seconds,
    Micros,
    /// The same on every machine and at every size.
    Count,
    /// So is this one.
    PerStage,
    PerSecond,
    Mib,
    Percent,
    Times,
}

/// What is measured, with what, and which bounds were missed.
pub(crate) struct Bench {
    pub(crate) forge: PathBuf,
    pub(crate) size: Size,
    /// The program of Spec Kit, if it is installed.
    pub(crate) spec_kit: Option<PathBuf>,
    missed: RefCell<Vec<String>>,
}

impl Unit {
    fn text(self, value: f64) -> String {
        match self {
            Self::Ms => format!("{value:.2} ms"),
            Self::Seconds => format!("{value:.2} s"),
            Self::Micros => format!("{value:.1} µs"),
            Self::Count | Self::PerSecond => format!("{value:.0}"),
            Self::PerStage => format!("{value:.2}"),
            Self::Mib => format!("{value:.1} MiB"),
            Self::Percent => format!("{value:.1} %"),
            Self::Times => format!("{value:.2} x"),
        }
    }
}

impl Bench {
    pub(crate) fn new(forge: PathBuf, size: Size, spec_kit: Option<PathBuf>) -> Self {
        Self { forge, size, spec_kit, missed: RefCell::default() }
    }

    /// Returns the number for this size.
    pub(crate) fn sized<T>(&self, small: T, full: T) -> T {
        match self.size {
            Size::Small => small,
            Size::Full => full,
        }
    }

    /// Prints a figure beside its bound and what it is compared with. At the small size only what is counted has one.
    pub(crate) fn figure(
        &self,
        what: &str,
        value: f64,
        unit: Unit,
        bound: Bound,
        compared: impl fmt::Display,
    ) {
        let is_exact = matches!(unit, Unit::Count | Unit::PerStage);
        let bound = if is_exact { bound } else { self.sized(Bound::None, bound) };
        let (is_held, held_to) = match bound {
            Bound::AtMost(most) => (value <= most, format!("at most {}", unit.text(most))),
            Bound::AtLeast(least) => (value >= least, format!("at least {}", unit.text(least))),
            Bound::None => (true, String::new()),
        };
        let figure = unit.text(value);
        let mark = if is_held { "" } else { "NOT HELD" };
        say(&format!("{what:<56} {figure:>12} {mark:<8} {held_to:<20} {compared}"));
        if !is_held {
            self.missed.borrow_mut().push(what.to_owned());
        }
    }

    /// Returns the figures that are not what they are held to.
    pub(crate) fn missed(&self) -> Vec<String> {
        self.missed.take()
    }

    /// Returns a call of Forge in a folder.
    pub(crate) fn forge(&self, folder: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(&self.forge);
        command.args(words).current_dir(folder);
        command
    }

    /// Makes a repository with these files, committed, and allows what its flow runs: a run reads both from the commit.
    pub(crate) fn project(
        &self,
        flow: &str,
        files: &[(&str, &str)],
    ) -> Measured<tempfile::TempDir> {
        let folder = repository()?;
        write_files(folder.path(), files)?;
        commit(folder.path())?;
        spend(&mut self.forge(folder.path(), &["config", "allow", "--flow", flow]), 0)?;
        Ok(folder)
    }
}

#[expect(clippy::print_stdout, reason = "figures are for the person who started it")]
pub(crate) fn say(text: &str) {
    println!("{text}");
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
pub(crate) fn float(n: u64) -> f64 {
    n as f64
}

pub(crate) fn in_ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

pub(crate) fn median(
    times: usize,
    mut measure: impl FnMut() -> Measured<Duration>,
) -> Measured<Duration> {
    let mut all = (0..times).map(|_| measure()).collect::<Measured<Vec<Duration>>>()?;
    all.sort();
    Ok(all[all.len() / 2])
}

/// Returns how long a program takes that ends with this exit status.
pub(crate) fn spend(command: &mut Command, expected: i32) -> Measured<Duration> {
    let began = Instant::now();
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let time = began.elapsed();
    match status {
        Ok(status) if status.code() == Some(expected) => Ok(time),
        Ok(status) => Err(format!("{command:?} ended with {status}, not with {expected}")),
        Err(error) => Err(format!("{command:?} cannot be started: {error}")),
    }
}

/// Returns a repository of its own.
pub(crate) fn repository() -> Measured<tempfile::TempDir> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    spend(Command::new("git").args(["init", "--quiet"]).current_dir(folder.path()), 0)?;
    Ok(folder)
}

/// Writes files, and the folders that they are in.
pub(crate) fn write_files(folder: &Path, files: &[(&str, &str)]) -> Measured {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("it is in the folder"))
            .and_then(|()| fs::write(path, text))
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Commits what is in the folder of a repository.
pub(crate) fn commit(folder: &Path) -> Measured {
    let git = |words: &[&str]| {
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        spend(Command::new("git").args(who).args(words).current_dir(folder), 0)
    };
    git(&["add", "."])?;
    git(&["commit", "--quiet", "-m", "what is measured"])?;
    Ok(())
}

/// Returns the time that our children, and theirs, have spent so far.
pub(crate) fn children_cpu() -> Duration {
    // The fields after the name, which is in brackets; a tick is 10 ms.
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let rest = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    let fields: Vec<u64> = rest.split_whitespace().map(|text| text.parse().unwrap_or(0)).collect();
    Duration::from_millis(fields.get(13..15).map_or(0, |ticks| ticks.iter().sum::<u64>() * 10))
}

/// What a command and all that it started did.
pub(crate) struct Counted {
    pub(crate) programs: u64,
    /// Those that started a program.
    pub(crate) processes: u64,
    pub(crate) syncs: u64,
}

/// Counts what a command does. Its time says nothing meanwhile.
pub(crate) fn counted(command: &Command) -> Measured<Counted> {
    let failed = |error: std::io::Error| error.to_string();
    let folder = tempfile::tempdir().map_err(failed)?;
    let (counter, figures) = (folder.path().join("count"), folder.path().join("figures"));
    let source = folder.path().join("count.c");
    fs::write(&source, include_str!("count.c")).map_err(failed)?;
    spend(Command::new("cc").args(["-O2", "-o"]).args([&counter, &source]), 0)?;
    let mut traced = Command::new(&counter);
    traced.arg(&figures).arg(command.get_program()).args(command.get_args());
    traced.current_dir(command.get_current_dir().unwrap_or(Path::new(".")));
    traced.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    spend(&mut traced, 0)?;
    let text = fs::read_to_string(&figures).map_err(failed)?;
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match numbers[..] {
        [programs, processes, syncs] => Ok(Counted { programs, processes, syncs }),
        _ => Err(format!("the counter printed {text:?}")),
    }
}
