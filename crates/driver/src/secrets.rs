//! What must not be written down: a text without its secrets, and the guard who looks at what a
//! commit would add.
//!
//! Known are the values of this process's environment whose names tell, and everything that looks
//! like a secret. What is redacted, and how, is in `forge_keeper::redact`.
//!
//! Invariant: no message has a secret in it, not even as the name of a file.

use std::{
    fs::{self, File},
    io::Read as _,
    path::Path,
};

use forge_core::{Command, Run};
use forge_keeper::{
    Redactor, known_secrets,
    redact::{Finder, SecretMatch},
    secrets_in_file,
};
use forge_project::settings::{Frozen, SecretsTable};
use forge_workspace::{AddedContent, ContentPart, encode_path};

/// What a person can do about a secret that is none.
pub const NO_SECRET: &str = "if it is not a secret, say so with the answer: forge retry -m 'allow \
                             PATH'";

/// The beginning of words by which a person lets paths pass.
const ALLOW: &str = "allow ";

/// More of a file of secrets is not read, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What is set about secrets, with the files that hold them where they lie: those that are named,
/// and those that are copied into checkouts. Paths are allowed by the settings that the run began with, and
/// by what persons said in answers: facts that no agent can change.
pub fn table(top: Option<&Path>, frozen: &Frozen, run: &Run) -> SecretsTable {
    let named = frozen.secrets.files.iter().chain(&frozen.copy);
    let files = top.into_iter().flat_map(|top| named.clone().map(|name| top.join(name)));
    let files = files.filter_map(|path| path.into_os_string().into_string().ok()).collect();
    let mut allow = frozen.secrets.allow.clone();
    let answers = run.history().asked.iter().filter_map(|asked| asked.answer.as_ref());
    let lines = answers.flat_map(|answer| answer.words.lines());
    let paths = lines.filter_map(|line| line.trim().strip_prefix(ALLOW));
    allow.extend(paths.flat_map(str::split_whitespace).map(str::to_owned));
    SecretsTable { files, allow }
}

/// All values that are known to be secret in a run that has not begun: also those that agents are given.
pub fn known_at_start(top: Option<&Path>, frozen: &Frozen) -> Vec<Vec<u8>> {
    let named: Vec<String> =
        frozen.agents.values().flat_map(|agent| &agent.pass).cloned().collect();
    let mut known = known(&table(top, frozen, &Run::default()));
    known.extend(known_secrets(std::env::vars_os(), &named));
    known
}

/// All values that are known to be secret.
pub fn known(table: &SecretsTable) -> Vec<Vec<u8>> {
    let mut known = known_secrets(std::env::vars_os(), &[]);
    for path in &table.files {
        let is_file = fs::metadata(path).is_ok_and(|found| found.is_file());
        let Ok(file) = File::open(path) else { continue };
        let mut text = Vec::new();
        // One that cannot be read is not there for an agent either.
        if is_file && file.take(FILE_BYTES_MAX).read_to_end(&mut text).is_ok() {
            known.extend(secrets_in_file(&text));
        }
    }
    known
}

/// What a person gave us without its secrets, as far as the environment and its look tell.
pub fn redacted(bytes: &[u8]) -> Vec<u8> {
    Redactor::new(known_secrets(std::env::vars_os(), &[])).clean(bytes)
}

/// A text without these values, and without what looks like a secret.
pub fn without_values(text: &str, values: &[Vec<u8>]) -> String {
    let clean = Redactor::new(values.iter().cloned()).clean(text.as_bytes());
    String::from_utf8_lossy(&clean).into_owned()
}

/// The same for words.
pub fn redacted_text(text: &str) -> String {
    String::from_utf8_lossy(&redacted(text.as_bytes())).into_owned()
}

/// A command of a person, whose words have no secrets in them.
pub fn without_secrets(mut command: Command) -> Command {
    if let Command::Answer { words: text, .. } | Command::Edit { why: text, .. } = &mut command {
        *text = redacted_text(text);
    }
    command
}

/// A guard for commits, who lets pass whatever lies at a path that is allowed.
pub fn guard(table: &SecretsTable) -> impl FnMut(&AddedContent<'_>) -> Vec<String> {
    let known = known(table);
    let mut finder = Finder::new(known.iter().cloned());
    let mut redactor = Redactor::new(known);
    let allowed = table.allowed_paths();
    move |added: &AddedContent<'_>| {
        let path = encode_path(added.path);
        if allowed.has(&path) {
            return Vec::new();
        }
        let found = finder.find(added.text).into_iter();
        let mut flaws: Vec<String> = found
            .filter_map(|SecretMatch { family, line, last_line }| {
                let line = added.first_new(line..=last_line)?;
                let path = redactor.clean(path.as_bytes());
                let path = String::from_utf8_lossy(&path);
                let place = match added.part {
                    ContentPart::Name => format!("the name `{path}`"),
                    ContentPart::LinkTarget => format!("the link `{path}`"),
                    ContentPart::Lines => format!("`{path}` line {line}"),
                    ContentPart::Piece => format!("`{path}`"),
                };
                Some(format!("{place} contains what looks like {family}; remove it"))
            })
            .collect();
        flaws.dedup();
        flaws
    }
}
