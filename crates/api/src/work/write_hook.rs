//! `forge hook`: checks what an agent's program is about to write into the file of a record, and lets a person allow one
//! write that is not checked.
//!
//! The edit is made in memory; what comes out is checked as if it were in the file (`files`). A program asks before each
//! use of a tool, with JSON on stdin: `tool_name`, `tool_input` and `cwd`.
//!
//! Invariant: about the file of a record, what cannot be read or is not known is refused, never passed. Paths that are no
//! files of records are of no interest.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use forge_core::work::{
    FileOrigin, WorkAuthor, WorkCommand, WorkId, WorkKind, WorkRefusal, WorkRows, decide,
};
use forge_driver::{
    Error,
    clock::{file_time, now},
};
use forge_store::work::read_file;
use forge_workspace::CheckoutFile;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    files::{FOLDER, path},
    records::{Access, WorkRecords},
    refusals::{self, TypedChange},
    view::WorkView,
};
use crate::forge::Forge;

/// The most bytes of what a program sends.
pub const HOOK_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// More links than this are never followed on one path.
const LINKS_MAX: usize = 40;

/// Tools that change nothing.
const READERS: [&str; 5] = ["Read", "Glob", "Grep", "LS", "NotebookRead"];

/// What a program is about to do. Other fields are of no interest.
#[derive(Deserialize)]
struct ToolCall {
    tool_name: String,
    #[serde(default)]
    tool_input: Map<String, Value>,
    cwd: Option<PathBuf>,
}

/// One replacement of a text.
#[derive(Deserialize)]
struct TextEdit {
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

/// The file of a record in a checkout.
struct RecordPlace {
    forge: Forge,
    kind: WorkKind,
    /// The name of the file, without its end.
    name: String,
}

/// Allows what a program is about to do, or says why not.
pub fn check_tool_call(text: &str, folder: &Path) -> Result<(), Error> {
    let call: ToolCall = serde_json::from_str(text)
        .map_err(|error| refused("the hook's input", &format!("cannot be read: {error}")))?;
    if READERS.contains(&call.tool_name.as_str()) {
        return Ok(());
    }
    let folder = call.cwd.as_deref().unwrap_or(folder);
    let input = Value::Object(call.tool_input);
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let file = match (call.tool_name.as_str(), text("file_path")) {
        ("Write" | "Edit" | "MultiEdit", Some(path)) => match RecordPlace::find(folder, path)? {
            Some(file) => file,
            None => return Ok(()),
        },
        ("Write" | "Edit" | "MultiEdit", None) => {
            return Err(refused("tool_input.file_path", "is missing, so nothing can be checked"));
        }
        (tool, _) => return refuse_mention(folder, tool, &input),
    };
    let mut records = file.forge.work_to_read()?;
    if let Some(records) = &mut records
        && records.use_bypass(&file)?
    {
        return Ok(());
    }
    let content = match call.tool_name.as_str() {
        "Write" => text("content").map(str::to_owned).ok_or("`content` is missing".to_owned()),
        "Edit" => edited(file.text()?, std::slice::from_ref(&input)),
        _ => match input.get("edits").and_then(Value::as_array) {
            Some(edits) => edited(file.text()?, edits),
            None => Err("`edits` is missing".to_owned()),
        },
    };
    let content = content.map_err(|rule| file.refused(&rule))?;
    file.check(records.as_mut(), content.as_bytes())
}

/// Lets the next write of the file of a record pass without a check. Agents are refused.
pub fn allow_write(folder: &Path, path: &str, why: String) -> Result<WorkView, Error> {
    let Some(file) = RecordPlace::find(folder, path)? else {
        let what = format!("{path} is not the file of a record");
        return Err(Error::usage(what, "forge work check"));
    };
    let id = refusals::parse_id(file.kind, &file.name)?;
    let typed = TypedChange::known(file.kind, &id);
    let command = WorkCommand::AllowWrite { kind: file.kind, id, why };
    Ok(file.forge.work()?.change(&command, &typed)?.view)
}

impl RecordPlace {
    /// Finds the file of a record that a path means, whether it exists or not.
    fn find(folder: &Path, text: &str) -> Result<Option<Self>, Error> {
        let given = folder.join(text);
        // A program may resolve `..` before it follows links, or after.
        for path in [without_dots(&given), given] {
            let real =
                real_path(&path).ok_or_else(|| refused(text, "leads through too many links"))?;
            let names: Vec<&str> = real
                .components()
                .rev()
                .take(4)
                .filter_map(|part| part.as_os_str().to_str())
                .collect();
            let [file, kind, "work", ".forge"] = names.as_slice() else { continue };
            let Some(name) = file.strip_suffix(".json") else { continue };
            let Some(kind) = WorkKind::ALL.into_iter().find(|known| known.folder() == *kind) else {
                continue;
            };
            let Some(top) = real.ancestors().nth(4) else { continue };
            let forge = Forge::open(top)?;
            if forge.home.repository.top.as_deref() == Some(top) {
                return Ok(Some(Self { forge, kind, name: name.to_owned() }));
            }
        }
        Ok(None)
    }

    fn path(&self) -> String {
        format!("{FOLDER}/{}/{}.json", self.kind.folder(), self.name)
    }

    fn refused(&self, rule: &str) -> Error {
        refused(&self.path(), rule)
    }

    /// Reads the file as it is. What is missing is empty.
    fn text(&self) -> Result<String, Error> {
        match self.forge.home.repository.checkout_file(&self.path())? {
            CheckoutFile::Missing => Ok(String::new()),
            CheckoutFile::Content(content) => {
                String::from_utf8(content).map_err(|_| self.refused("is not UTF-8 text"))
            }
            CheckoutFile::Blocked => Err(self.refused("a link or something else is in its place")),
        }
    }

    /// Checks what would be in the file, as `forge work check` would.
    fn check(&self, records: Option<&mut WorkRecords<'_>>, content: &[u8]) -> Result<(), Error> {
        let id: WorkId = self.name.parse().map_err(|error| self.refused(&format!("{error}")))?;
        let Some(records) = records else {
            return self.decide(&WorkRows::default(), None, &id, content);
        };
        if records.row(&id)?.is_some() && records.is_written(&id, content)? {
            return Ok(());
        }
        let first = self.check_now(records, &id, content);
        if first.is_err() {
            // It may name what is in a file only, until that is taken in.
            records.note_findings()?;
            return self.check_now(records, &id, content);
        }
        first
    }

    fn check_now(
        &self,
        records: &WorkRecords<'_>,
        id: &WorkId,
        content: &[u8],
    ) -> Result<(), Error> {
        let rows = records.all()?.into_iter().map(|row| (row.record.id.clone(), row.record));
        let rows = WorkRows { records: rows.collect(), ids: Vec::new() };
        self.decide(&rows, Some(records), id, content)
    }

    fn decide(
        &self,
        rows: &WorkRows,
        records: Option<&WorkRecords<'_>>,
        id: &WorkId,
        content: &[u8],
    ) -> Result<(), Error> {
        let (kind, known) = (self.kind, rows.records.get(id));
        if let Some(known) =
            known.filter(|known| known.kind != kind || known.id.as_str() != self.name)
        {
            let (other, own) = (known.kind, &known.id);
            return Err(
                self.refused(&format!("`{own}` is a {other}; its file is {}", path(other, own)))
            );
        }
        let read = read_file(kind, content).map_err(|flaw| self.refused(&flaw.to_string()))?;
        if read.id.as_str() != self.name {
            return Err(self.refused(&format!(
                "`{}` is `{}`, unlike the name of the file",
                kind.id_key(),
                read.id
            )));
        }
        let mut file = read.file;
        // Whatever it says of itself: it is not from another clone.
        file.origin = FileOrigin::Edit;
        let base = match (records, file.rev) {
            (Some(records), Some(rev)) if known.is_some() => {
                let base = records.store.at_revision(id, rev);
                base.map_err(|error| refusals::store(&error))?
            }
            (Some(_) | None, Some(_) | None) => None,
        };
        let command = WorkCommand::TakeFile { kind, id: id.clone(), file, base };
        let decided = decide(rows, &command, &file_time(now()));
        decided.map(|_| ()).map_err(|refusal: WorkRefusal| self.refused(&refusal.to_string()))
    }
}

impl WorkRecords<'_> {
    /// Uses up what a person allowed for this record. False if there is nothing.
    fn use_bypass(&mut self, file: &RecordPlace) -> Result<bool, Error> {
        let Ok(id) = file.name.parse::<WorkId>() else { return Ok(false) };
        let is_allowed = self.row(&id)?.is_some_and(|row| row.record.allowed.is_some());
        if !is_allowed || self.access == Access::Look {
            return Ok(false);
        }
        let by = WorkAuthor::File { who: self.who(), commit: None };
        let command = WorkCommand::UseBypass { kind: file.kind, id, path: file.path() };
        // Of two writers at the same time only one finds it.
        let used = self.submit(&by, &command);
        used.map(|(_, is_used)| is_used).map_err(|error| file.refused(&error.to_string()))
    }
}

fn refused(place: &str, rule: &str) -> Error {
    Error::usage(
        format!("{place}: {rule}"),
        "correct the record, or let a person change it: forge task set, or forge task move",
    )
}

/// Refuses a tool whose input cannot be understood if it names the file of a record.
fn refuse_mention(folder: &Path, tool: &str, input: &Value) -> Result<(), Error> {
    match input {
        Value::String(text) => {
            let is_path = !text.contains('\n') && text.len() < 4096;
            if text.contains(&format!("{FOLDER}/"))
                || (is_path && RecordPlace::find(folder, text)?.is_some())
            {
                let rule = format!(
                    "the tool {tool} cannot be checked; use Write or Edit, or forge task set"
                );
                return Err(refused(FOLDER, &rule));
            }
            Ok(())
        }
        Value::Array(all) => all.iter().try_for_each(|one| refuse_mention(folder, tool, one)),
        Value::Object(all) => all.values().try_for_each(|one| refuse_mention(folder, tool, one)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// Makes the edits of a text, one after the other.
fn edited(mut text: String, edits: &[Value]) -> Result<String, String> {
    for edit in edits {
        let TextEdit { old_string: old, new_string: new, replace_all } =
            TextEdit::deserialize(edit)
                .map_err(|error| format!("an edit cannot be read: {error}"))?;
        let found = if old.is_empty() { 0 } else { text.matches(&old).count() };
        text = match found {
            0 if old.is_empty() && text.is_empty() => new,
            0 => return Err("`old_string` is not in the file".to_owned()),
            1 => text.replacen(&old, &new, 1),
            _ if replace_all => text.replace(&old, &new),
            many => return Err(format!("`old_string` is {many} times in the file")),
        };
    }
    Ok(text)
}

/// Returns a path without `.` and `..`, as if no name in it were a link.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

/// Follows all links of a path, also where its end does not exist. Nothing if there are too many.
fn real_path(path: &Path) -> Option<PathBuf> {
    let (mut at, mut rest) = (path.to_owned(), Vec::new());
    for _ in 0..LINKS_MAX {
        loop {
            if let Ok(real) = at.canonicalize() {
                return Some(rest.iter().rev().fold(real, |path, name| path.join(name)));
            }
            if let Ok(target) = fs::read_link(&at) {
                at = at.parent().unwrap_or(Path::new("/")).join(target);
                break;
            }
            let Some(name) = at.file_name() else {
                return Some(rest.iter().rev().fold(at, |path, name| path.join(name)));
            };
            rest.push(name.to_owned());
            at.pop();
        }
    }
    None
}
