//! Gates as text: what must hold before a phase begins, and after its work, one directive a line.
//!
//! Blocks stand between fences in the Markdown of a role, or in the key `blocks` of a flow:
//!
//! ````text
//! ```gates phase=implement
//! artifact {engineering}/sprints/{sprint}/{task}/PLAN.md min=200
//! after review-plan = approved
//! forbid task.status in [blocked, escalated]
//! ```
//! ````
//!
//! Not here: whether a directive holds ([`crate::needs`]), and which stage a phase is (`flow/phases.rs`).
//!
//! Invariant: what is not understood is a flaw with its line. Nothing is passed over but blank lines and comments.

use std::fmt;

use super::directive::{Directive, FieldTest, RecordField};
use crate::{
    verdict::PhaseVerdict,
    work::{FieldRule, FieldShape, WorkKind, WorkState, rule},
};

/// The moment of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// Before the phase begins.
    Gates,
    /// After its work.
    Outputs,
}

/// A block of directives for one phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GateBlock {
    pub kind: BlockKind,
    pub phase: String,
    /// The line of its fence, counted from one.
    pub line: usize,
    pub directives: Vec<Directive>,
}

/// The reason why a text has no gates that could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BlockFlaw {
    /// Counted from one.
    pub line: usize,
    pub what: String,
}

/// The longest name of a phase.
const NAME_CHARS_MAX: usize = 40;
const FENCE: &str = "```";
/// Names between braces, which a path has values for.
pub(crate) const PLACEHOLDERS: [&str; 4] = ["engineering", "sprint", "task", "bug"];

impl BlockKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Gates => "gates",
            Self::Outputs => "outputs",
        }
    }
}

impl fmt::Display for BlockFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

/// Returns the blocks of a text.
pub(super) fn blocks(text: &str) -> Result<Vec<GateBlock>, BlockFlaw> {
    let mut found: Vec<GateBlock> = Vec::new();
    let mut place = LinePlace::Text;
    for (n, line) in text.lines().enumerate() {
        let number = n + 1;
        let flaw = |what: String| BlockFlaw { line: number, what };
        match &mut place {
            LinePlace::Text => place = LinePlace::after(line, number).map_err(flaw)?,
            LinePlace::Fence(fence) => {
                if closes(line, fence) {
                    place = LinePlace::Text;
                }
            }
            LinePlace::Block(block) if line.trim_end() == FENCE => {
                let GateBlock { kind, phase, .. } = &block;
                if found.iter().any(|other| other.kind == *kind && other.phase == *phase) {
                    let what =
                        format!("a second `{}` block for the phase `{phase}`", kind.as_str());
                    return Err(BlockFlaw { line: block.line, what });
                }
                found.push(block.clone());
                place = LinePlace::Text;
            }
            LinePlace::Block(block) => {
                let line = line.trim_matches([' ', '\t']);
                if !line.is_empty() && !line.starts_with('#') {
                    let directive = directive(line, block.kind).map_err(flaw)?;
                    block.directives.push(directive);
                }
            }
        }
    }
    match place {
        LinePlace::Text | LinePlace::Fence(_) => Ok(found),
        LinePlace::Block(block) => {
            Err(BlockFlaw { line: block.line, what: "the block is not closed by ```".to_owned() })
        }
    }
}

/// Returns the blocks of a text that has nothing else.
pub(super) fn blocks_alone(text: &str) -> Result<Vec<GateBlock>, BlockFlaw> {
    let found = blocks(text)?;
    let rest = without_blocks(text);
    match rest.lines().find(|line| !line.trim().is_empty()) {
        None => Ok(found),
        Some(other) => {
            let line = text.lines().position(|line| line == other).unwrap_or_default() + 1;
            let what =
                format!("only ```gates and ```outputs blocks can be here, not `{}`", other.trim());
            Err(BlockFlaw { line, what })
        }
    }
}

/// Returns a text without its blocks: what an agent is given of it.
pub fn without_blocks(text: &str) -> String {
    let mut kept = Vec::new();
    let mut place = LinePlace::Text;
    for line in text.lines() {
        match &place {
            LinePlace::Text => {
                place = LinePlace::after(line, 0).unwrap_or(LinePlace::Text);
                if !matches!(place, LinePlace::Block(_)) {
                    kept.push(line);
                }
            }
            LinePlace::Fence(fence) => {
                kept.push(line);
                if closes(line, fence) {
                    place = LinePlace::Text;
                }
            }
            LinePlace::Block(_) => {
                if line.trim_end() == FENCE {
                    place = LinePlace::Text;
                }
            }
        }
    }
    kept.join("\n").trim_end().to_owned()
}

/// Returns only the blocks of a text, as they are written, each followed by an empty line.
pub fn only_blocks(text: &str) -> String {
    let mut kept = String::new();
    let mut place = LinePlace::Text;
    for line in text.lines() {
        let was_block = matches!(place, LinePlace::Block(_));
        match &place {
            LinePlace::Text => {
                if let Ok(next) = LinePlace::after(line, 0) {
                    place = next;
                } else {
                    // The reader of the blocks finds the flaw.
                    kept.push_str(line);
                    kept.push('\n');
                }
            }
            LinePlace::Fence(fence) if closes(line, fence) => place = LinePlace::Text,
            LinePlace::Block(_) if line.trim_end() == FENCE => place = LinePlace::Text,
            LinePlace::Fence(_) | LinePlace::Block(_) => {}
        }
        if was_block || matches!(place, LinePlace::Block(_)) {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// The place of a line in a text.
enum LinePlace {
    Text,
    /// In a block of something else, which ends with this fence.
    Fence(String),
    Block(GateBlock),
}

impl LinePlace {
    /// Returns where the next line is, after a line of text.
    fn after(line: &str, number: usize) -> Result<Self, String> {
        for kind in [BlockKind::Gates, BlockKind::Outputs] {
            let head = format!("{FENCE}{}", kind.as_str());
            let Some(rest) = line.strip_prefix(&head) else { continue };
            if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
                continue;
            }
            let phase = rest.trim().strip_prefix("phase=").filter(|name| is_name(name));
            let phase = phase.ok_or_else(|| {
                format!("`{}` is not ```{} phase=NAME", line.trim_end(), kind.as_str())
            })?;
            let (phase, directives) = (phase.to_owned(), Vec::new());
            return Ok(Self::Block(GateBlock { kind, phase, line: number, directives }));
        }
        let begins = line.trim_start_matches(' ');
        let is_indented = line.len() - begins.len() > 3;
        for mark in ['`', '~'] {
            let length = begins.chars().take_while(|c| *c == mark).count();
            if length < FENCE.len() {
                continue;
            }
            if is_meant_as_block(&begins[length..]) {
                let line = line.trim_end();
                return Err(format!("`{line}` is not ```gates phase=NAME at the first column"));
            }
            if !is_indented {
                return Ok(Self::Fence(begins[..length].to_owned()));
            }
        }
        Ok(Self::Text)
    }
}

/// Returns true if the words after a fence can only mean a block of gates: one that is silently none would let everything pass.
fn is_meant_as_block(info: &str) -> bool {
    let info = info.to_ascii_lowercase();
    let word = info.split_whitespace().next().unwrap_or_default();
    matches!(word, "gates" | "outputs")
        || (matches!(word, "gate" | "output") && info.contains("phase"))
}

/// Returns true if a line ends what a fence began.
fn closes(line: &str, fence: &str) -> bool {
    let line = line.trim();
    line.starts_with(fence) && line.chars().all(|c| fence.starts_with(c))
}

/// Returns true for a name of a phase.
fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !text.is_empty() && text.len() <= NAME_CHARS_MAX && text.chars().all(is_plain)
}

fn directive(line: &str, kind: BlockKind) -> Result<Directive, String> {
    let (word, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    let rest = rest.trim();
    match (word, kind) {
        ("artifact", _) => artifact(rest),
        ("require", _) => {
            let (field, test) = predicate(rest)?;
            Ok(Directive::Require { field, test })
        }
        ("forbid", BlockKind::Gates) => {
            let (field, test) = predicate(rest)?;
            Ok(Directive::Forbid { field, test })
        }
        ("after", BlockKind::Gates) => after(rest),
        ("forbid" | "after", BlockKind::Outputs) => {
            Err(format!("`{word}` is not possible in an `outputs` block: artifact, require"))
        }
        (_, _) => Err(format!("unknown directive `{word}`: artifact, require, forbid, after")),
    }
}

fn artifact(rest: &str) -> Result<Directive, String> {
    let (path, bytes_min) = match rest.rsplit_once([' ', '\t']) {
        Some((path, last)) if last.starts_with("min=") => {
            let number = &last["min=".len()..];
            let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            let bytes = number.parse().ok().filter(|_| is_number);
            (path.trim(), bytes.ok_or_else(|| format!("`{last}` is not min=NUMBER"))?)
        }
        Some(_) | None => (rest, 0),
    };
    if path.is_empty() || path.starts_with("min=") {
        return Err("`artifact` needs a path".to_owned());
    }
    // A path can have spaces and signs, but no word that looks like another limit.
    if let Some(limit) = path.split([' ', '\t']).skip(1).find(|word| is_limit(word)) {
        return Err(format!("`{limit}` is not understood after a path: min=NUMBER, once and last"));
    }
    if path.starts_with('/') || path.contains('\\') {
        return Err(format!("`{path}` is not a path inside the project"));
    }
    if path.split('/').any(|part| part.is_empty() || part == "." || part == "..") {
        return Err(format!("`{path}` is not a plain path inside the project"));
    }
    let mut open = path;
    while let Some((before, after)) = open.split_once('{') {
        let named = after.split_once('}').filter(|(name, _)| PLACEHOLDERS.contains(name));
        let Some((_, rest)) = named.filter(|_| !before.contains('}')) else {
            let known = PLACEHOLDERS.map(|name| format!("{{{name}}}")).join(", ");
            return Err(format!("`{path}` has an unknown placeholder; possible: {known}"));
        };
        open = rest;
    }
    Ok(Directive::Artifact { path: path.to_owned(), bytes_min })
}

/// Returns true for `WORD=NUMBER`, and for `min=` with anything.
fn is_limit(word: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase());
    word.split_once('=').is_some_and(|(name, value)| {
        is_name(name) && (name == "min" || value.bytes().all(|b| b.is_ascii_digit()))
    })
}

fn after(rest: &str) -> Result<Directive, String> {
    let parts = rest.split_once('=').map(|(phase, verdict)| (phase.trim(), verdict.trim()));
    let Some((phase, word)) = parts.filter(|(phase, _)| is_name(phase)) else {
        return Err(format!("`after {rest}` is not `after PHASE = VERDICT`"));
    };
    let verdict = PhaseVerdict::parse(word)
        .ok_or_else(|| format!("`{word}` is not a verdict: approved, revision, n/a"))?;
    Ok(Directive::After { phase: phase.to_owned(), verdict })
}

/// Reads `FIELD OP VALUE`.
fn predicate(rest: &str) -> Result<(RecordField, FieldTest), String> {
    let form =
        || format!("`{rest}` is not `FIELD == VALUE`, `FIELD != VALUE` or `FIELD in [VALUE, …]`");
    let (name, rest_of) = rest.split_once([' ', '\t']).ok_or_else(form)?;
    let (field, known) = record_field(name)?;
    let rest_of = rest_of.trim();
    let (operator, value) = rest_of.split_once([' ', '\t']).unwrap_or((rest_of, ""));
    let (operator, value) = match rest_of.strip_prefix("in[") {
        Some(_) => ("in", rest_of["in".len()..].trim()),
        None => (operator, value.trim()),
    };
    let accepts = |value: String| {
        if known.is_empty() || known.contains(&value.as_str()) {
            return Ok(value);
        }
        Err(format!("`{name}` cannot be `{value}`: {}", known.join(", ")))
    };
    let test = match operator {
        "==" => FieldTest::Is(accepts(one_value(value)?)?),
        "!=" => FieldTest::IsNot(accepts(one_value(value)?)?),
        "in" => {
            let inside = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            let inside = inside.ok_or_else(form)?.trim();
            if inside.is_empty() {
                return Err(format!("`{rest}` names no value, so it can never hold"));
            }
            FieldTest::IsIn(several(inside)?.into_iter().map(accepts).collect::<Result<_, _>>()?)
        }
        _ => return Err(form()),
    };
    Ok((field, test))
}

/// Reads values between commas. A comma between quotes belongs to its value.
fn several(text: &str) -> Result<Vec<String>, String> {
    let (mut values, mut current, mut is_quoted) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            ',' if !is_quoted => values.push(one_value(&std::mem::take(&mut current))?),
            '"' => {
                is_quoted = !is_quoted;
                current.push(c);
            }
            _ => current.push(c),
        }
    }
    values.push(one_value(&current)?);
    Ok(values)
}

/// Reads a bare word, or a text between quotes.
fn one_value(text: &str) -> Result<String, String> {
    let text = text.trim();
    let quoted = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    if let Some(inside) = quoted.filter(|inside| !inside.contains('"')) {
        return Ok(inside.to_owned());
    }
    let is_bare = |c: char| !c.is_whitespace() && !matches!(c, ',' | '[' | ']' | '"' | '=');
    if text.is_empty() || !text.chars().all(is_bare) {
        return Err(format!("`{text}` is not a value: write one word, or a text in \"quotes\""));
    }
    Ok(text.to_owned())
}

/// Reads the name of a field, with the values that it can have, if those are known.
fn record_field(name: &str) -> Result<(RecordField, Vec<&'static str>), String> {
    let mut parts = name.split('.');
    let first = parts.next().unwrap_or_default();
    let kind = WorkKind::ALL.into_iter().find(|kind| kind.as_str() == first);
    let Some(kind) = kind else {
        return Err(format!("`{name}` does not begin with task, bug, sprint or feature"));
    };
    let path: Vec<String> = parts.map(str::to_owned).collect();
    let known = known_values(kind, &path)
        .ok_or_else(|| format!("a {kind} has no field `{}`", path.join(".")))?;
    Ok((RecordField { kind, path }, known))
}

/// The name of the state in fields, as in files.
pub(crate) const STATUS: &str = "status";

/// Returns the values that a field can have, none where any text can be one; nothing if there is no such field.
fn known_values(kind: WorkKind, path: &[String]) -> Option<Vec<&'static str>> {
    let (first, rest) = path.split_first()?;
    if rest.is_empty() && first == STATUS {
        return Some(kind.states().map(WorkState::as_str).collect());
    }
    if rest.is_empty() && first == kind.id_key() {
        return Some(Vec::new());
    }
    let mut found: &FieldRule = rule(kind, first)?;
    for name in rest {
        let FieldShape::Table(inner) = &found.shape else { return None };
        found = inner.iter().find(|rule| rule.name == name)?;
    }
    Some(if let FieldShape::Choice(known) = found.shape { known.to_vec() } else { Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(lines: &str) -> String {
        format!("```gates phase=plan\n{lines}\n```\n")
    }

    fn flaw(lines: &str) -> String {
        blocks(&block(lines)).expect_err(lines).to_string()
    }

    fn one(line: &str) -> Directive {
        let found = blocks(&block(line)).expect(line);
        found[0].directives[0].clone()
    }

    #[test]
    fn each_directive_is_read_in_its_forms() {
        let artifact = |path: &str, bytes_min| Directive::Artifact { path: path.into(), bytes_min };
        assert_eq!(one("artifact docs/a b.md min=200"), artifact("docs/a b.md", 200));
        assert_eq!(one("\tartifact {task}.md  "), artifact("{task}.md", 0));
        let field = RecordField { kind: WorkKind::Task, path: vec![STATUS.into()] };
        let require = |test| Directive::Require { field: field.clone(), test };
        assert_eq!(one("require task.status == draft"), require(FieldTest::Is("draft".into())));
        assert_eq!(one("require task.status != draft"), require(FieldTest::IsNot("draft".into())));
        let both = vec!["draft".to_owned(), "planned".to_owned()];
        for form in ["in [draft, planned]", "in[draft,planned]", "in [ \"draft\" ,planned ]"] {
            assert_eq!(
                one(&format!("require task.status {form}")),
                require(FieldTest::IsIn(both.clone()))
            );
        }
        let verdict = PhaseVerdict::NotApplicable;
        for form in ["after triage = n/a", "after triage=N/A"] {
            assert_eq!(one(form), Directive::After { phase: "triage".into(), verdict });
        }
    }

    #[test]
    fn what_is_not_understood_is_named_with_its_line() {
        for (line, what) in [
            ("Artifact x.md", "unknown directive `Artifact`"),
            ("need x", "unknown directive `need`"),
            ("artifact", "needs a path"),
            ("artifact min=3", "needs a path"),
            ("artifact a.md min=x", "not min=NUMBER"),
            ("artifact a.md min=", "not min=NUMBER"),
            ("artifact a.md max=3", "`max=3` is not understood"),
            ("artifact a.md min=3 min=4", "`min=3` is not understood"),
            ("artifact a.md min=3 max=", "`min=3` is not understood"),
            ("require task.status in []", "names no value"),
            ("forbid task.status in [ ]", "names no value"),
            ("artifact /etc/passwd", "not a path inside"),
            ("artifact ../x", "not a plain path"),
            ("artifact a//b", "not a plain path"),
            ("artifact {who}/x", "unknown placeholder"),
            ("artifact {task/x", "unknown placeholder"),
            ("require task.status", "is not `FIELD == VALUE`"),
            ("require task.status=draft", "is not `FIELD == VALUE`"),
            ("require task.status = draft", "is not `FIELD == VALUE`"),
            ("require task.status == ", "is not a value"),
            ("require task.status == two words", "is not a value"),
            ("require task.status == bananas", "cannot be `bananas`: draft, planned"),
            ("require task.colour == red", "a task has no field `colour`"),
            ("require task.summaries.plan.verdict == maybe", "cannot be `maybe`"),
            ("require task.title.x == a", "has no field"),
            ("require thing.x == a", "does not begin with task, bug, sprint or feature"),
            ("forbid task.status in draft", "is not `FIELD == VALUE`"),
            ("forbid task.status in [draft,,planned]", "is not a value"),
            ("after plan", "is not `after PHASE = VERDICT`"),
            ("after plan = perhaps", "is not a verdict"),
            ("after plan = unknown", "is not a verdict"),
        ] {
            let said = flaw(line);
            assert!(said.starts_with("line 2: ") && said.contains(what), "{line}: {said}");
        }
        assert!(blocks("```gates phase=plan\n").unwrap_err().what.contains("not closed"));
        assert!(blocks("```gates\n```").unwrap_err().what.contains("phase=NAME"));
        assert!(blocks("```gates phase=a b\n```").unwrap_err().what.contains("phase=NAME"));
        let twice = block("") + &block("");
        let second = blocks(&twice).unwrap_err();
        assert_eq!((second.line, second.what.contains("a second `gates` block")), (4, true));
        let outputs = "```outputs phase=plan\nforbid task.status == draft\n```";
        assert!(blocks(outputs).unwrap_err().what.contains("not possible in an `outputs` block"));
    }

    #[test]
    fn a_block_in_another_fence_is_text_and_line_ends_of_windows_are_line_ends() {
        let inner = block("nonsense");
        for text in [format!("````\n{inner}````\n"), format!("~~~\n{inner}~~~\n")] {
            assert_eq!(blocks(&text), Ok(Vec::new()), "{text}");
            assert_eq!(without_blocks(&text), text.trim_end());
            assert_eq!(only_blocks(&text), "");
        }
        let windows = block("# a comment\n\nafter a = approved").replace('\n', "\r\n");
        assert_eq!(blocks(&windows).unwrap()[0].directives.len(), 1);
    }

    #[test]
    fn what_can_only_be_meant_as_a_block_and_is_none_is_a_flaw() {
        for fence in [
            "    ```gates phase=plan",
            " ```gates phase=plan",
            "``` gates phase=plan",
            "~~~gates phase=plan",
            "````gates phase=plan",
            "```Gates phase=plan",
            "```gate phase=plan",
            "~~~ outputs",
        ] {
            let flaw = blocks(&format!("words\n{fence}\n")).unwrap_err();
            assert!(flaw.line == 2 && flaw.what.contains("```gates phase=NAME"), "{fence}: {flaw}");
            assert!(blocks(&only_blocks(&format!("words\n{fence}\n"))).is_err(), "{fence}");
        }
        for fence in ["```gateway phase", "```gate", "```text gates"] {
            assert_eq!(blocks(&format!("{fence}\n```\n")), Ok(Vec::new()), "{fence}");
        }
    }

    #[test]
    fn where_only_blocks_can_be_other_words_are_a_flaw() {
        assert_eq!(blocks_alone(&format!("\n{}\n", block("after a = approved"))).unwrap().len(), 1);
        let flaw = blocks_alone(&format!("{}\nafter b = approved\n", block(""))).unwrap_err();
        assert!(flaw.what.contains("not `after b = approved`"), "{flaw}");
    }

    #[test]
    fn a_text_divides_into_its_blocks_and_the_rest() {
        let text = format!("Do it.\n\n{}\nWell.\n", block("after a = approved"));
        assert_eq!(without_blocks(&text), "Do it.\n\n\nWell.");
        assert_eq!(only_blocks(&text), block("after a = approved"));
    }
}
