//! The attempt folder and the files in it.
//!
//! ```text
//! attempt.json   what to run; written by the driver, before anything starts
//! claim          who runs it, or that nobody ever may (see `claim`)
//! inbox/         what the agent may read
//! outbox/        what the agent leaves
//! transcript     what it printed, redacted
//! stderr         what it wrote to its standard error, if that is kept apart; redacted
//! ending.json    how it ended; written last, by the keeper
//! ending.unreadable   what lay in the place of an ending and was none, kept for people
//! keeper.log     what the keeper itself had to complain about
//! ```
//!
//! Not here: what these files say about the attempt as a whole; that is [`crate::attempt::status`].
//!
//! Invariant: the environment is in none of them; a [`Spec`] names variables, never values.
//! Invariant: making a folder costs no fsync; it gets its name on the disk with its ending.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of `attempt.json` and `ending.json` which this crate reads and writes.
pub const FORMAT: u32 = 1;

/// The least room on the disk with which a step is started, in bytes. Its keeper takes some of it for
/// the ending before anything else; where there is none, it would wait for it and say nothing.
pub const ROOM_BYTES_MIN: u64 = 64 * 1024;
/// `attempt.json`, `ending.json` and `claim` are refused when they are larger.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// An ending may have a result in it, which names every file of a change.
const ENDING_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// So many things are put aside; then the next one stays where it is.
const ASIDE_MAX: u32 = 100;
/// How long an agent may clean up after a gentle stop.
pub const GRACE_MS_DEFAULT: u64 = 10_000;

/// Where one attempt lies. Any path is fine, but it should be absolute: children get it as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttemptFolder {
    pub path: PathBuf,
}

/// The order to a keeper: which process, with which limits. `attempt.json`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Always [`FORMAT`].
    pub forge: u32,
    /// The name of the call, such as `build.T2/implement#3`. Opaque here.
    pub call: String,
    /// Program and arguments. A program without a slash is looked up in `PATH`.
    pub argv: Vec<String>,
    /// The working directory of the child.
    pub dir: PathBuf,
    /// The file which the child reads as its standard input; nothing otherwise.
    pub stdin: Option<PathBuf>,
    /// What the child writes its output and errors into.
    pub stdout: Stdout,
    pub limits: StepLimits,
    /// Names of environment variables whose values never reach the transcript.
    pub secrets: Vec<String>,
    /// From asking the child to end until killing it.
    #[serde(default = "grace_ms_default")]
    pub grace_ms: u64,
    /// Where its standard error goes.
    #[serde(default, skip_serializing_if = "Stderr::is_together")]
    pub stderr: Stderr,
    /// The folder whose inbox and outbox the child is given, if not this one: a second turn works
    /// in the folder of its call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boxes: Option<PathBuf>,
    /// The settings of the monitor that reads the output while the child runs; opaque here.
    #[serde(rename = "listen", default, skip_serializing_if = "Option::is_none")]
    pub monitor: Option<Value>,
    /// Whether the child is told which call it is part of.
    #[serde(default, skip_serializing_if = "CallVariables::is_told")]
    pub variables: CallVariables,
}

fn grace_ms_default() -> u64 {
    GRACE_MS_DEFAULT
}

/// What a child sees as its standard output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdout {
    Pipe,
    /// A file without a name, for programs which lose their last lines in a pipe.
    UnnamedFile,
}

/// What a child learns from its environment about the call that it is part of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallVariables {
    /// Its name, and its folder with inbox and outbox.
    #[default]
    Told,
    /// Nothing: it runs code that is judged by how it ends.
    Untold,
}

impl CallVariables {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    fn is_told(&self) -> bool {
        *self == Self::Told
    }
}

/// Where a child's standard error goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stderr {
    /// Into the transcript, in the order in which it is written.
    #[default]
    Together,
    /// Into a file of its own, so that the transcript is a stream that can be understood.
    Apart,
}

impl Stderr {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    fn is_together(&self) -> bool {
        *self == Self::Together
    }
}

/// How much of everything an attempt may use. Zero means no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepLimits {
    /// From start to end.
    pub wall_ms: u64,
    /// From one byte of output to the next.
    pub silence_ms: u64,
    pub output_bytes: u64,
}

/// How an attempt ended, and what it took.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ending {
    /// Always [`FORMAT`].
    pub forge: u32,
    /// The call of the [`Spec`]; empty if that could not be read.
    pub call: String,
    pub how: ExitReason,
    /// UTC.
    pub started_at_ms: u64,
    /// UTC.
    pub ended_at_ms: u64,
    /// Bytes the child printed and the keeper took in, before redaction.
    pub output_bytes: u64,
    /// Descendants killed after the main child had ended.
    pub swept: u32,
    /// Why the transcript is not whole, if it is not.
    pub transcript_cut: Option<String>,
    /// Descendants which the kernel could not kill, and which may still be there.
    #[serde(default, skip_serializing_if = "is_nobody")]
    pub left_over: u32,
    /// Whether a disk that it wrote to was full when it ended. By the time somebody reads this, there
    /// may be room again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disk_full: bool,
    /// Small files that it left. They are not synced themselves: after a loss of power they are made again from here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Box<KeptFiles>>,
    /// What a step of the driver's own made, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Over all of the above; see `ending_signature`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// Small files that a step left, whole.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KeptFiles {
    /// Between which two starts of the machine they were written.
    pub boot: String,
    pub files: Vec<KeptFile>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KeptFile {
    pub path: PathBuf,
    pub text: String,
}

/// Tells two starts of the machine apart; nothing where the system cannot say.
pub(crate) fn boot() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

impl Ending {
    /// Makes files again that were lost if the machine went down since they were written: once, because whoever works there
    /// afterwards may change them.
    pub fn restore_files(&self, folder: &AttemptFolder) -> io::Result<()> {
        let Some(kept) = &self.kept else { return Ok(()) };
        let (now, mark) = (boot().unwrap_or_default(), folder.path.join("restored"));
        if kept.boot == now || fs::read_to_string(&mark).is_ok_and(|last| last == now) {
            return Ok(());
        }
        for KeptFile { path, text } in &kept.files {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            let mut beside = path.clone().into_os_string();
            beside.push(".restored");
            // Whatever lies there, nothing is written through a link.
            let _nothing_may_be_there = fs::remove_file(&beside);
            let mut file = OpenOptions::new().write(true).create_new(true).open(&beside)?;
            file.write_all(text.as_bytes())?;
            fs::rename(beside, path)?;
        }
        fs::write(mark, now)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_nobody(count: &u32) -> bool {
    *count == 0
}

/// All the ways in which a child can end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ExitReason {
    Exited {
        code: i32,
    },
    Signalled {
        signal: i32,
    },
    /// It took longer than `wall_ms`.
    TimedOut,
    /// It printed nothing for `silence_ms`.
    Silent,
    /// It printed more than `output_bytes`.
    TooMuchOutput,
    /// What it told of its use was worth more than its cap.
    OverBudget,
    /// The keeper was told to stop it.
    Interrupted,
    /// There never was a child.
    NotStarted {
        why: String,
    },
}

impl AttemptFolder {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Makes the folder with everything a keeper needs. Twice is fine if the call is the same: who
    /// died before a keeper came may have been a Forge that lay elsewhere.
    pub fn create(path: &Path, spec: &Spec) -> io::Result<Self> {
        let folder = Self::at(path);
        let mut folders = DirBuilder::new();
        folders.recursive(true).mode(0o700).create(path)?;
        // Whoever is told of no boxes, or of others, needs none here.
        if spec.variables == CallVariables::Told && spec.boxes.is_none() {
            folders.create(folder.inbox())?;
            folders.create(folder.outbox())?;
        }
        match folder.spec() {
            Ok(there) if there.call != spec.call => {
                return Err(folder.already("holds another attempt"));
            }
            // A keeper that came first works from what it found.
            Ok(there) if there == *spec || folder.claim().exists() => {}
            Ok(_) => folder.write_spec(spec)?,
            // Nobody can have begun to read what was never there.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !folder.claim().exists() => {
                let mut file =
                    OpenOptions::new().write(true).create_new(true).open(folder.attempt())?;
                file.write_all(&serde_json::to_vec(spec)?)?;
            }
            // Half a file is what a crash of a driver left; nobody can have started from it.
            Err(_) if !folder.claim().exists() => folder.write_spec(spec)?,
            Err(_) => return Err(folder.already("is claimed, but its attempt.json is unreadable")),
        }
        Ok(folder)
    }

    fn write_spec(&self, spec: &Spec) -> io::Result<()> {
        let temporary = self.path.join("attempt.tmp");
        fs::write(&temporary, serde_json::to_vec(spec)?)?;
        fs::rename(temporary, self.attempt())
    }

    fn already(&self, what: &str) -> io::Error {
        let message = format!("`{}` {what}", self.path.display());
        io::Error::new(io::ErrorKind::AlreadyExists, message)
    }

    pub fn attempt(&self) -> PathBuf {
        self.path.join("attempt.json")
    }

    pub fn claim(&self) -> PathBuf {
        self.path.join("claim")
    }

    pub fn inbox(&self) -> PathBuf {
        self.path.join("inbox")
    }

    pub fn outbox(&self) -> PathBuf {
        self.path.join("outbox")
    }

    pub fn transcript(&self) -> PathBuf {
        self.path.join("transcript")
    }

    /// There only if the standard error is kept apart.
    pub fn stderr(&self) -> PathBuf {
        self.path.join("stderr")
    }

    pub fn ending(&self) -> PathBuf {
        self.path.join("ending.json")
    }

    pub fn keeper_log(&self) -> PathBuf {
        self.path.join("keeper.log")
    }

    /// Reads `attempt.json`.
    pub fn spec(&self) -> io::Result<Spec> {
        let spec: Spec = read_json(&self.attempt(), FILE_BYTES_MAX)?;
        of_our_format(spec.forge, &self.attempt())?;
        Ok(spec)
    }

    /// Reads `ending.json`; `None` if there is none yet. One that makes no sense is an error.
    pub fn read_ending(&self) -> io::Result<Option<Ending>> {
        match read_json::<Ending>(&self.ending(), ENDING_BYTES_MAX) {
            Ok(ending) => {
                of_our_format(ending.forge, &self.ending())?;
                Ok(Some(ending))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Where an ending is written before it gets its name.
    pub(crate) fn unnamed_ending(&self) -> PathBuf {
        self.path.join("ending.tmp")
    }

    /// Reads an ending that was written and synced, and whose name was lost with the power.
    pub(crate) fn read_unnamed_ending(&self) -> Option<Ending> {
        let ending: Ending = read_json(&self.unnamed_ending(), ENDING_BYTES_MAX).ok()?;
        (ending.forge == FORMAT).then_some(ending)
    }

    /// Puts what lies in the place of an ending out of the way, and keeps it for people.
    pub(crate) fn put_aside(&self, path: &Path) -> io::Result<()> {
        for number in 0..ASIDE_MAX {
            let mut aside = self.path.join("ending.unreadable");
            if number > 0 {
                aside.set_extension(format!("unreadable.{number}"));
            }
            if fs::symlink_metadata(&aside).is_err() {
                return fs::rename(path, aside);
            }
        }
        Err(self.already("has too many unreadable endings"))
    }
}

/// Opens a regular file, and nothing else: an agent can put anything into its folder, and opening a
/// pipe would wait for good.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(invalid(path, "is a symbolic link"));
        }
        // A socket.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            return Err(invalid(path, "is not a regular file"));
        }
        other => other?,
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(invalid(path, "is not a regular file")) }
}

fn of_our_format(forge: u32, path: &Path) -> io::Result<()> {
    if forge == FORMAT {
        return Ok(());
    }
    Err(invalid(path, &format!("has format {forge}, and this Forge reads {FORMAT}")))
}

fn read_json<T: DeserializeOwned>(path: &Path, bytes_max: u64) -> io::Result<T> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(invalid(path, &format!("is larger than {bytes_max} bytes")));
    }
    serde_json::from_slice(&bytes).map_err(|error| invalid(path, &error.to_string()))
}

fn invalid(path: &Path, what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("`{}`: {what}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(call: &str) -> Spec {
        Spec {
            forge: FORMAT,
            call: call.to_owned(),
            argv: vec!["true".to_owned()],
            dir: PathBuf::from("/"),
            stdin: None,
            stdout: Stdout::Pipe,
            limits: StepLimits { wall_ms: 0, silence_ms: 0, output_bytes: 0 },
            secrets: Vec::new(),
            grace_ms: GRACE_MS_DEFAULT,
            stderr: Stderr::Together,
            boxes: None,
            monitor: None,
            variables: CallVariables::Told,
        }
    }

    #[test]
    fn creating_twice_is_fine_for_the_same_call_and_refused_for_another() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a/b/0001");
        let folder = AttemptFolder::create(&path, &spec("one#1")).unwrap();
        AttemptFolder::create(&path, &spec("one#1")).unwrap();
        let error = AttemptFolder::create(&path, &spec("two#1")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(folder.spec().unwrap(), spec("one#1"));
        // Until somebody has claimed it, what is to be run can still be mended.
        let elsewhere = |program: &str| Spec { argv: vec![program.to_owned()], ..spec("one#1") };
        AttemptFolder::create(&path, &elsewhere("/new/forge")).unwrap();
        assert_eq!(folder.spec().unwrap(), elsewhere("/new/forge"));
        fs::write(folder.claim(), "").unwrap();
        AttemptFolder::create(&path, &spec("one#1")).unwrap();
        assert_eq!(folder.spec().unwrap(), elsewhere("/new/forge"), "it is under way");
        fs::remove_file(folder.claim()).unwrap();
        // A torn attempt.json of a crashed driver is mended as long as nobody claimed it.
        fs::write(folder.attempt(), "{\"forge\":").unwrap();
        AttemptFolder::create(&path, &spec("one#1")).unwrap();
        assert_eq!(folder.spec().unwrap(), spec("one#1"));
    }

    #[test]
    fn an_unknown_key_in_a_spec_is_an_error_which_names_the_file() {
        let home = tempfile::tempdir().unwrap();
        let folder = AttemptFolder::create(&home.path().join("1"), &spec("one#1")).unwrap();
        fs::write(folder.attempt(), r#"{"forge":1,"env":{}}"#).unwrap();
        let error = folder.spec().unwrap_err().to_string();
        assert!(error.contains("attempt.json") && error.contains("`env`"), "{error}");
    }

    #[test]
    fn endings_are_written_in_words_which_stay() {
        let how = |how: ExitReason| serde_json::to_string(&how).unwrap();
        assert_eq!(how(ExitReason::Exited { code: 3 }), r#"{"kind":"exited","code":3}"#);
        assert_eq!(how(ExitReason::TooMuchOutput), r#"{"kind":"too_much_output"}"#);
        let why = "no".to_owned();
        assert_eq!(how(ExitReason::NotStarted { why }), r#"{"kind":"not_started","why":"no"}"#);
        // An ending from before there was `left_over` left nobody, and says so without the word.
        let old = r#"{"forge":1,"call":"c","how":{"kind":"silent"},"started_at_ms":1,"ended_at_ms":2,"output_bytes":3,"swept":4,"transcript_cut":null}"#;
        let mut ending: Ending = serde_json::from_str(old).unwrap();
        assert_eq!(serde_json::to_string(&ending).unwrap(), old);
        ending.left_over = 2;
        let text = serde_json::to_string(&ending).unwrap();
        assert!(text.ends_with(r#","left_over":2}"#), "{text}");
    }
}
