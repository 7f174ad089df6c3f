//! Decisions and memory of the third predecessor, as small Markdown files below `.forge/knowledge/`.
//!
//! Forge reads them nowhere yet. They are kept so that nothing is lost, and because a person can read them.
//!
//! Invariant: no name of another system is in the name of a file. It is a kind and the sum of the text, so that the same note
//! has the same file, and another note another one.

use super::{
    draft::{ImportDraft, KnowledgeNote},
    front_matter::{self, FrontValue},
    source_folder::SourceFolder,
    workspaces::list_entry,
};

const DECISION: &str = "decision";
const MEMORY: &str = "memory";
const NOTE: &str = "note";

/// The columns of a table of decisions after its number.
const DECISION_COLUMNS: [&str; 6] =
    ["when", "scope", "decision", "choice", "rationale", "revisable"];

/// Reads all of it. Files that each hold a part are read instead of the one that is made from them.
pub(super) fn read(folder: &SourceFolder, below: &str, draft: &mut ImportDraft) {
    parts_or_whole(folder, below, ("decisions", &decision_part), ("DECISIONS.md", &table), draft);
    let memory = |text: &str| Ok(listed(MEMORY, text));
    parts_or_whole(folder, below, ("memory", &memory_part), ("AUTO-MEMORY.md", &memory), draft);
    one_file(folder, &format!("{below}/KNOWLEDGE.md"), draft, &|text| Ok(listed(NOTE, text)));
}

/// Reads the files of a folder, or else the one that is made from them.
fn parts_or_whole(
    folder: &SourceFolder,
    below: &str,
    (of_parts, read_part): (&str, &ReadNotes),
    (whole, read_whole): (&str, &ReadNotes),
    draft: &mut ImportDraft,
) {
    let whole = format!("{below}/{whole}");
    let parts = parts(folder, &format!("{below}/{of_parts}"), draft);
    if parts.is_empty() {
        one_file(folder, &whole, draft, read_whole);
    } else if folder.may_have(&whole) {
        let path = folder.shown(&whole);
        draft
            .notes
            .push(format!("{path} is left out: the files below {of_parts}/ are read instead"));
    }
    for path in parts {
        one_file(folder, &path, draft, read_part);
    }
}

/// Returns the Markdown files of a folder.
fn parts(folder: &SourceFolder, path: &str, draft: &mut ImportDraft) -> Vec<String> {
    let entries = folder.entries(path);
    let Some(entries) = draft.keep(folder.shown(path), entries) else { return Vec::new() };
    for name in entries.other {
        draft.finding(folder.shown(&format!("{path}/{name}")), "is not a regular file or folder");
    }
    let files = entries.files.iter().filter(|name| name.strip_suffix(".md").is_some());
    files.map(|name| format!("{path}/{name}")).collect()
}

/// A kind of note, and its text.
type Notes = Vec<(&'static str, String)>;

/// Reads the notes of a file.
type ReadNotes = dyn Fn(&str) -> Result<Notes, String>;

fn one_file(folder: &SourceFolder, path: &str, draft: &mut ImportDraft, read: &ReadNotes) {
    let source = folder.shown(path);
    let text = folder.text(path);
    let Some(Some(text)) = draft.keep(source.clone(), text) else { return };
    let notes = read(&text.replace("\r\n", "\n"));
    if notes.as_ref().is_ok_and(Vec::is_empty) && !text.trim().is_empty() {
        draft.notes.push(format!("{source} has nothing in the form that is read, and is left out"));
    }
    for (kind, text) in draft.keep(source.clone(), notes).unwrap_or_default() {
        let text = format!("{}\n\nSource: {source}\n", text.trim());
        draft.knowledge.push(KnowledgeNote { source: source.clone(), kind, text });
    }
}

/// Reads a file with the decisions of one milestone or task.
fn decision_part(text: &str) -> Result<Notes, String> {
    let (head, _) = front_matter::parse(text)?;
    let wrong = "`decisions` must be a list of objects with a `decision`";
    let decisions = head.get("decisions").and_then(FrontValue::list).ok_or(wrong)?;
    let note = |entry: &FrontValue| decision(&|column| entry.text(column)).ok_or(wrong.to_owned());
    decisions.iter().map(note).collect()
}

/// Reads a table of decisions.
fn table(text: &str) -> Result<Notes, String> {
    let mut notes = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let Some(row) = line.trim().strip_prefix('|') else { continue };
        let row = row.replace("\\|", "\u{0}");
        let cells: Vec<String> = row
            .trim_end_matches('|')
            .split('|')
            .map(|cell| cell.replace('\u{0}', "|").trim().to_owned())
            .collect();
        let is_rule = cells.iter().all(|cell| cell.chars().all(|c| matches!(c, '-' | ':')));
        let is_head = cells.first().is_some_and(|cell| cell == "#");
        if is_rule || is_head {
            continue;
        }
        if cells.len() != DECISION_COLUMNS.len() + 1 {
            let columns = DECISION_COLUMNS.len() + 1;
            return Err(format!("line {number}: has {} columns, not {columns}", cells.len()));
        }
        let cell = |column: &str| {
            let at = DECISION_COLUMNS.iter().position(|known| *known == column)?;
            Some(cells[at + 1].as_str()).filter(|cell| !cell.is_empty())
        };
        let Some(note) = decision(&cell) else {
            return Err(format!("line {number}: has an empty column `decision`"));
        };
        notes.push(note);
    }
    Ok(notes)
}

fn decision<'a>(column: &dyn Fn(&str) -> Option<&'a str>) -> Option<(&'static str, String)> {
    let mut text = format!("# {}\n", column("decision")?);
    for (name, label) in [
        ("choice", "Choice"),
        ("rationale", "Why"),
        ("when", "When"),
        ("scope", "Scope"),
        ("revisable", "Revisable"),
    ] {
        if let Some(value) = column(name) {
            text = format!("{text}\n{label}: {value}");
        }
    }
    Some((DECISION, text))
}

/// Reads a file with the facts of one unit. What was taken back there is left out.
fn memory_part(text: &str) -> Result<Notes, String> {
    let (head, _) = front_matter::parse(text)?;
    let wrong = "`facts` must be a list of objects with `mem_id` and `text`";
    let facts = head.get("facts").and_then(FrontValue::list).ok_or(wrong)?;
    let stats = head.get("stats").and_then(FrontValue::list).unwrap_or_default();
    let is_gone = |id: &str| {
        stats.iter().any(|stat| match stat.text("kind") {
            Some("prune") => stat.text("mem_id") == Some(id),
            Some("supersede") => stat.text("old_id") == Some(id),
            Some(_) | None => false,
        })
    };
    let mut notes = Vec::new();
    for fact in facts {
        let (Some(id), Some(text)) = (fact.text("mem_id"), fact.text("text")) else {
            return Err(wrong.to_owned());
        };
        if is_gone(id) {
            continue;
        }
        let mut note = text.to_owned();
        for (name, label) in
            [("category", "Category"), ("created_at", "Since"), ("source_unit", "From")]
        {
            if let Some(value) = fact.text(name) {
                note =
                    format!("{note}{}{label}: {value}", if note == text { "\n\n" } else { "\n" });
            }
        }
        notes.push((MEMORY, note));
    }
    Ok(notes)
}

/// Reads a file with lists below headings: each entry is a note, and so is the text below a heading without a list.
fn listed(kind: &'static str, text: &str) -> Notes {
    let mut notes: Notes = Vec::new();
    let (mut heading, mut block) = (String::new(), Block::Plain(String::new()));
    let mut end = |heading: &str, block: Block| match block {
        Block::Entry(text) if heading.is_empty() => notes.push((kind, text)),
        Block::Entry(text) => notes.push((kind, format!("{text}\n\nCategory: {heading}"))),
        Block::Plain(text) if text.trim().is_empty() || heading.is_empty() => {}
        Block::Plain(text) => notes.push((kind, format!("# {heading}\n\n{}", text.trim()))),
    };
    for line in text.lines() {
        if let Some(next) = line.strip_prefix("## ") {
            end(&heading, std::mem::replace(&mut block, Block::Plain(String::new())));
            next.trim().clone_into(&mut heading);
        } else if let Some(entry) = list_entry(line).filter(|_| line.starts_with(['-', '*'])) {
            end(&heading, std::mem::replace(&mut block, Block::Entry(entry.to_owned())));
        } else if line.is_empty() && matches!(block, Block::Entry(_)) {
            end(&heading, std::mem::replace(&mut block, Block::Plain(String::new())));
        } else {
            let (Block::Entry(text) | Block::Plain(text)) = &mut block;
            text.push('\n');
            text.push_str(line);
        }
    }
    end(&heading, block);
    notes
}

/// What is being read of a file with lists.
enum Block {
    Entry(String),
    Plain(String),
}
