//! Which contents were proved in full: a few committed ids, so that what has not changed need not be proved again.
//!
//! An id is git's hash over the names and contents of the files as they are in the working tree. `xtask/proved/NAME` has the
//! id for which everything passed; only the task that proves everything writes it. Without git nothing counts as proved.

use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Something that is expensive to prove.
pub(crate) struct Subject {
    /// The name of its file.
    pub(crate) name: &'static str,
    /// Patterns of git for all files that it depends on.
    pub(crate) files: &'static [&'static str],
    /// Another thing that it depends on, as a text.
    pub(crate) more: &'static str,
}

impl Subject {
    /// Whether everything was proved for what is in the working tree.
    pub(crate) fn is_proved(&self, root: &Path) -> bool {
        let recorded = fs::read_to_string(self.record_path(root)).unwrap_or_default();
        self.id(root).is_ok_and(|id| recorded.trim() == id)
    }

    /// Records that everything was proved for what is in the working tree.
    pub(crate) fn record(&self, root: &Path) -> io::Result<()> {
        let path = self.record_path(root);
        fs::create_dir_all(path.parent().expect("a record is in a folder"))?;
        fs::write(path, self.id(root)? + "\n")
    }

    fn record_path(&self, root: &Path) -> PathBuf {
        root.join("xtask/proved").join(self.name)
    }

    fn id(&self, root: &Path) -> io::Result<String> {
        let list = ["ls-files", "--cached", "--others", "--exclude-standard", "--"];
        let names = git(root, &[&list, self.files].concat(), "")?;
        let mut names: Vec<&str> = names.lines().filter(|name| root.join(name).is_file()).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            return Err(io::Error::other(format!("{}: no file is there", self.name)));
        }
        let names = names.join("\n");
        let contents = git(root, &["hash-object", "--no-filters", "--stdin-paths"], &names)?;
        let all = format!("{names}\n{contents}{}", self.more);
        Ok(git(root, &["hash-object", "--stdin"], &all)?.trim().to_owned())
    }
}

/// Runs git with this text as its input, and returns its output.
fn git(root: &Path, args: &[&str], input: &str) -> io::Result<String> {
    let mut command = Command::new("git");
    command.args(args).current_dir(root).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn()?;
    let mut stdin = child.stdin.take().expect("it is piped");
    let input = input.to_owned();
    // Git answers while it reads.
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output()?;
    writer.join().expect("writing does not panic")?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(io::Error::other(format!("git {args:?} ended with {}", output.status)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBJECT: Subject = Subject { name: "x", files: &["code", "src/claude*"], more: "v1" };

    #[test]
    fn only_the_recorded_content_is_proved() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let write = |name: &str, text: &str| {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), text).unwrap();
        };
        write("code/a.rs", "a");
        assert!(!SUBJECT.is_proved(root), "without git nothing is");
        git(root, &["init", "--quiet"], "").unwrap();
        assert!(!SUBJECT.is_proved(root), "nothing is recorded");
        SUBJECT.record(root).unwrap();
        assert!(SUBJECT.is_proved(root));
        assert!(!Subject { more: "v2", ..SUBJECT }.is_proved(root));
        write("src/other.rs", "it is not one of the files");
        assert!(SUBJECT.is_proved(root));
        write("src/claude/stream.rs", "s");
        assert!(!SUBJECT.is_proved(root), "a new file counts");
        SUBJECT.record(root).unwrap();
        write("code/a.rs", "b");
        assert!(!SUBJECT.is_proved(root), "a changed file counts");
        write("code/a.rs", "a");
        assert!(SUBJECT.is_proved(root), "the same content is the same");
    }
}
