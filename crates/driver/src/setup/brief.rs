//! The brief of an agent: one Markdown text, made of the role's prompt and the facts of the run.

use std::fmt::Write as _;

use forge_core::result::ResultKey;
use forge_core::{
    Run,
    event::{Answer, Colour, Waiver},
    flow::Stage,
    id::{CallId, UnitId},
    inbox::{InboxEntry, artifact_name},
    item::Item,
    run::{Occasion, Said},
    verdict::Finding,
};
use forge_project::{bounded_text::start_of, catalog::Role};

use forge_agents::CodeAccess;

/// The most findings that a brief lists in full. Others are counted.
const FINDINGS_MAX: usize = 40;

/// The most bytes of its own earlier work that a brief repeats.
const LEFT_BYTES_MAX: usize = 48 * 1024;

/// The change under review, in the inbox of a reviewer, or that of the whole run.
pub(crate) use forge_core::flow::CHANGE;

/// The most changed files that a brief names.
const FILES_MAX: usize = 100;

/// What an agent hears first when it goes on.
const GO_ON: &str = "You began this work in this session and were stopped in the middle of it, which was nobody's \
    fault. Files are as you left them. See what is there already, then go on from it. The brief follows again: the \
    name of the attempt and the folders are new, everything else is as it was.";

/// The part of a brief about the code.
pub struct CodeBrief<'a> {
    pub access: CodeAccess,
    /// False for flows without code.
    pub has_checkout: bool,
    /// Whether the project's set-up ran in the checkout.
    pub is_set_up: bool,
    /// The project's checks, as Forge runs them.
    pub checks: &'a [String],
    /// The code tree that the run started from.
    pub base_tree: Option<&'a str>,
    /// Files with conflict markers.
    pub conflicts: &'a [String],
    /// The project's own rules for agents.
    pub instructions: Option<&'a str>,
    /// Files of the change under review, or of the run so far, if the diff is in the inbox.
    pub change: Option<Vec<String>>,
}

/// Something that the agent wrote at an earlier attempt and may not read again as a file.
pub struct LeftBefore {
    /// Its name.
    pub name: String,
    pub text: String,
}

/// All that is put together for one call.
pub struct Given<'a> {
    pub inbox: &'a [InboxEntry],
    /// What it left itself, if it was sent back.
    pub left_before: &'a [LeftBefore],
    /// The code.
    pub code: CodeBrief<'a>,
}

/// Whether an agent hears of its work for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hearing {
    /// It does.
    First,
    /// It was stopped in the middle, and goes on in the same session.
    Again,
}

/// How an agent hands over its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// As a file in the outbox.
    File,
    /// As its last answer, in the form that its program asks it for.
    Answer,
}

/// Where an agent reads and writes, and how it hands over its result.
pub struct Places {
    pub inbox: String,
    pub outbox: String,
    pub leaves: Leaves,
}

/// The brief of a call.
pub fn brief(
    run: &Run,
    call: &CallId,
    role: &Role,
    given: &Given<'_>,
    hearing: Hearing,
    places: &Places,
) -> String {
    let Given { inbox, left_before, code } = given;
    let unit = run.unit(call.unit());
    let mut text = match hearing {
        Hearing::First => String::new(),
        Hearing::Again => format!("{GO_ON}\n\n"),
    };
    let _ = writeln!(text, "{}", role.prompt);
    let said = run.said_about(call.unit());
    if !said.is_empty() {
        let said: Vec<String> = said.iter().map(|said| said_in_words(said, call)).collect();
        let title = "What the user said about this work";
        let body =
            format!("It is newer than the request, and counts more.\n\n{}", said.join("\n\n"));
        section(&mut text, title, &body);
    }
    let start = &run.definition().start;
    section(&mut text, "The request", &start.request);
    if let Some(item) = run.item(&call.unit().scope) {
        section(&mut text, "Your part of it", &item_in_words(item));
    }
    if let Some(instructions) = code.instructions {
        section(&mut text, "The project's rules", instructions);
    }
    if code.has_checkout {
        section(&mut text, "The code", &code_in_words(run, code, call));
    }
    let mut names: Vec<&str> = inbox.iter().map(|reading| reading.name.as_str()).collect();
    if code.change.is_some() {
        names.push(CHANGE);
    }
    let checkout = if code.has_checkout { ", the checkout with its history" } else { "" };
    section(
        &mut text,
        "What you may read",
        &match names.as_slice() {
            [] => format!("This brief{checkout}."),
            names => format!(
                "This brief{checkout}, and in the folder `{}` (`$FORGE_INBOX`):\n\n- `{}`",
                places.inbox,
                names.join("`\n- `")
            ),
        },
    );
    if !left_before.is_empty() {
        section(&mut text, "What you left last time", &left_in_words(left_before));
    }
    if !unit.findings.is_empty() {
        let title = match call {
            CallId::Attempt(_) => "What was found, and is to be dealt with",
            CallId::Judgement(_) => "What was found at the attempt before",
        };
        section(&mut text, title, &findings(&unit.findings));
    }
    if !unit.left_to_do.is_empty() {
        section(&mut text, "What is left to do of this work", &quoted(&unit.left_to_do));
    }
    if let Some(fault) = &unit.fault {
        let title = "Why the attempt before this one did not count";
        section(&mut text, title, &quoted(&fault.what));
    }
    section(&mut text, "What you must leave", &must_leave(run, call, role, places));
    text
}

/// The brief of an agent whose work is done and whose result cannot be used.
pub fn repair(run: &Run, call: &CallId, role: &Role, flaw: &str, places: &Places) -> String {
    let mut text = format!(
        "Your work on `{call}` has ended, but what you left cannot be used:\n\n{}\n\n\
         Mend exactly that, and nothing else: the work itself is not to be done again. \
         This is the only chance; what is still wrong afterwards counts as no result.\n",
        quoted(flaw)
    );
    section(&mut text, "What you must leave", &must_leave(run, call, role, places));
    text
}

/// Artifacts and the result, in words.
fn must_leave(run: &Run, call: &CallId, role: &Role, places: &Places) -> String {
    let stage = run.stage(call.unit());
    let writes = match call {
        CallId::Attempt(_) => &stage.writes,
        CallId::Judgement(judgement) => {
            let gate = stage.gate(&judgement.gate).map(|position| &stage.gates[position]);
            gate.map_or(&stage.writes, |gate| &gate.writes)
        }
    };
    let mut leave = String::new();
    if places.leaves == Leaves::File || !writes.is_empty() {
        let _ = writeln!(leave, "In the folder `{}` (`$FORGE_OUTBOX`):", places.outbox);
    }
    for name in writes {
        let _ = write!(leave, "\n- `{}`", artifact_name(name, &call.unit().scope));
    }
    match places.leaves {
        Leaves::File => leave.push_str(
            "\n- `result.json`, at most 1 MiB, written last: one JSON object with these keys (`forge` is the \
             number 1). A key that is not named here is refused; `blocker` is left out unless you are blocked, and so may \
             be what has a `?`.",
        ),
        Leaves::Answer => leave.push_str(
            "\n\nThen your answer, once, as the structured output that you are asked for, with these keys and \
             no others. (If there is no such tool, write the same as `result.json` into `$FORGE_OUTBOX`.)",
        ),
    }
    let _ = write!(
        leave,
        "\n\n\
         ```text\n\
         forge    1\n\
         attempt  \"{call}\"\n\
         status   \"done\", or \"partial\" (summary says what is left), or \"blocked\" (blocker says why)\n\
         summary  at most 500 characters\n\
         blocker  {{class, what}}, only if blocked; class is context_overflow, scope_exceeded,\n\
         \u{20}        model_refusal, tooling_failure, external_dependency or unknown\n"
    );
    for (key, form) in keys(role, call, stage) {
        let _ = writeln!(leave, "{key:<8} {form}");
    }
    leave.push_str("```");
    leave
}

/// The other keys that a result must have, and their form.
fn keys(role: &Role, call: &CallId, stage: &Stage) -> Vec<(&'static str, String)> {
    let mut keys: Vec<ResultKey> = role.must.clone();
    match call {
        CallId::Attempt(_) if stage.list.is_some() => keys.push(ResultKey::Lists),
        CallId::Attempt(_) => {}
        CallId::Judgement(_) => keys.extend([ResultKey::Verdict, ResultKey::Findings]),
    }
    keys.sort();
    keys.dedup();
    let form = |key: ResultKey| match key {
        ResultKey::Verdict => "\"pass\", \"revise\" or \"block\"".to_owned(),
        ResultKey::Findings => {
            let which = match call {
                CallId::Attempt(_) => "only what is left when you are done",
                CallId::Judgement(_) => {
                    "was is an earlier finding such as \"F3\"; a pass may have minor ones"
                }
            };
            format!(
                "[{{severity, what, path?, line?, why?, proof?, was?}}]; severity is \"critical\", \
                 \"major\" or \"minor\"; path is from the top of the checkout, or a file of the inbox; \
                 proof is {{quote}} or {{command, output}}; one with neither path nor proof is only noted; \
                 {which}; [] if there are none"
            )
        }
        ResultKey::Lists => {
            let list = stage.list.as_deref().unwrap_or("NAME");
            format!(
                "{{\"{list}\": [{{id, title, after, writes, tags, must}}]}}; id is a letter or digit, then \
                 at most 39 letters, digits, - or _; after: ids that come first, or []; writes: paths from the \
                 top that it may change or make (two with a common path never run together, one without paths \
                 runs alone); tags: {{}} or {{name: text}}; must: sentences that are true when it is done"
            )
        }
        ResultKey::Must => "[{id, state, proof}]; state is \"met\" or \"unmet\"".to_owned(),
        ResultKey::Shown => {
            "{approach, key_changes: [texts], risk}; risk is \"low\", \"medium\" or \"high\""
                .to_owned()
        }
        ResultKey::Commit => "a commit message".to_owned(),
    };
    keys.into_iter().map(|key| (key.as_str(), form(key))).collect()
}

fn code_in_words(run: &Run, code: &CodeBrief<'_>, call: &CallId) -> String {
    let mut text = match code.access {
        CodeAccess::Writes => {
            "Your working directory is a private checkout of the project: change files there. \
            Forge makes the commits; do not push, and leave `forge.toml` and `.forge/` alone."
                .to_owned()
        }
        CodeAccess::Reads => {
            "Your working directory is a private checkout of the project, to read and to try \
            things in. What you change in it is discarded."
                .to_owned()
        }
    };
    if code.is_set_up {
        text.push_str(" The project's set-up has been run in it.");
    }
    let _ = write!(text, "\n\n{}", checks_in_words(run, code, call));
    if !code.conflicts.is_empty() {
        let _ = write!(
            text,
            "\n\nWhat landed meanwhile is merged into it. These files have conflict markers, which you \
             must resolve:\n\n- `{}`",
            code.conflicts.join("`\n- `")
        );
    }
    if let Some(files) = &code.change {
        let shown: Vec<&str> = files.iter().take(FILES_MAX).map(String::as_str).collect();
        let _ = write!(
            text,
            "\n\n{} is `$FORGE_INBOX/{CHANGE}`. Its files:\n\n- `{}`",
            match call {
                CallId::Attempt(_) => "All that the run has changed so far",
                CallId::Judgement(_) => "The change under review",
            },
            shown.join("`\n- `")
        );
        if files.len() > FILES_MAX {
            let _ = write!(text, "\n- and {} more", files.len() - FILES_MAX);
        }
    }
    text
}

/// The project's checks, and what they say of the code under review, from the evidence.
fn checks_in_words(run: &Run, code: &CodeBrief<'_>, call: &CallId) -> String {
    let unit = run.unit(call.unit());
    let is_judged = matches!(call, CallId::Judgement(_)) && code.change.is_some();
    let head = match (code.checks, is_judged, code.access) {
        ([], true, _) => {
            return "The project has no checks: nothing was run on this commit.".to_owned();
        }
        ([], false, _) => return "The project has no checks that Forge could run.".to_owned(),
        (_, true, _) => "The project's checks, as Forge ran them on exactly this commit:",
        (_, false, CodeAccess::Writes) => {
            "When you are done, Forge runs the project's checks on your change, in another checkout:"
        }
        (_, false, CodeAccess::Reads) => "The project's checks, which Forge runs on each change:",
    };
    let tree = run.code(&call.unit().scope).map(|code| code.tree.as_str()).filter(|_| is_judged);
    let waived = |command: &String| {
        let is_red = unit.red.iter().any(|red| red.command == *command);
        waiver(run, call.unit()).filter(|_| is_red).unwrap_or_default()
    };
    let line = |command: &String| {
        let here = tree.map(|tree| run.evidence(tree, command));
        let here = match here {
            Some(Some(Colour::Green)) => ": passed".to_owned(),
            Some(Some(Colour::Red)) => format!(": failed{}", waived(command)),
            Some(None) => ": not run on this commit".to_owned(),
            None => String::new(),
        };
        let base = code.base_tree.and_then(|tree| run.evidence(tree, command));
        let base = match base {
            Some(Colour::Red) => " (it failed where the run started, before any change)",
            Some(Colour::Green) | None => "",
        };
        format!("- `{command}`{here}{base}")
    };
    let lines: Vec<String> = code.checks.iter().map(line).collect();
    format!("{head}\n\n{}", lines.join("\n"))
}

/// Who waived the proof of a unit's latest attempt, and why.
fn waiver(run: &Run, unit: &UnitId) -> Option<String> {
    let history = run.history();
    let mut waivers = history.waived.iter().rev().filter(|waived| waived.unit == *unit);
    let question = waivers.find_map(|waived| match waived.why {
        Waiver::Person { question } => Some(question),
        Waiver::Advisory | Waiver::RoundsUsedUp | Waiver::NotShrinking | Waiver::NothingToRedo => {
            None
        }
    })?;
    let said = history.question(question)?.answer.as_ref()?;
    Some(format!(", and {} waived that: {:?}", said.by.who, said.words))
}

/// Words of a person, with whom they were said to.
fn said_in_words(said: &Said, call: &CallId) -> String {
    let Said { unit, occasion, words } = said;
    let is_own = matches!(call, CallId::Attempt(attempt) if attempt.unit == *unit);
    let to = if is_own { "To you".to_owned() } else { format!("To `{unit}`") };
    let when = match occasion {
        Occasion::Answer(Answer::Revise) => format!("{to}, sending the work back"),
        Occasion::Answer(Answer::Retry) => format!("{to}, wanting another try"),
        Occasion::Answer(Answer::Waive { gate }) => format!("At `{unit}`, waiving `{gate}`"),
        Occasion::Answer(Answer::Approve | Answer::GiveUp) => {
            format!("At `{unit}`, approving it, to all who come after")
        }
        Occasion::Edit => format!("At `{unit}`"),
    };
    format!("{when}:\n\n{}", quoted(words))
}

/// What the agent wrote before, whole as far as there is room.
fn left_in_words(left: &[LeftBefore]) -> String {
    let mut room = LEFT_BYTES_MAX;
    let mut parts = Vec::new();
    for LeftBefore { name, text } in left {
        let end = start_of(text, room).len();
        room -= end;
        let mut part = format!("`{name}`:\n\n{}", quoted(text[..end].trim_end()));
        if end < text.len() {
            let _ = write!(part, "\n\n(cut here: {} more bytes)", text.len() - end);
        }
        parts.push(part);
    }
    parts.join("\n\n")
}

fn section(text: &mut String, title: &str, body: &str) {
    let _ = write!(text, "\n## {title}\n\n{}\n", body.trim());
}

fn item_in_words(item: &Item) -> String {
    let mut text = format!("`{}` {}", item.id, set_in(&item.title));
    if !item.writes.is_empty() {
        let _ = write!(text, "\n\nIt may change: `{}`", set_in(&item.writes.join("`, `")));
    }
    if !item.must.is_empty() {
        let must: Vec<String> = item.must.iter().map(|must| set_in(must)).collect();
        let _ = write!(text, "\n\nWhen it is done:\n\n- {}", must.join("\n- "));
    }
    text
}

fn findings(findings: &[Finding]) -> String {
    let mut lines: Vec<String> = findings
        .iter()
        .take(FINDINGS_MAX)
        .map(|finding| {
            let (severity, what) = (finding.severity.as_str(), set_in(&finding.to_line()));
            let mut text = format!("- {} ({severity}) {what}", finding.id);
            if !finding.why.is_empty() {
                let _ = write!(text, "\n  Why: {}", set_in(&finding.why));
            }
            match &finding.proof {
                Some(forge_core::verdict::Proof::Command { command, output }) => {
                    let command = set_in(command);
                    let _ = write!(text, "\n  `{command}` printed:\n\n{}", quoted(output));
                }
                Some(forge_core::verdict::Proof::Quote { quote }) => {
                    let _ = write!(text, "\n{}", quoted(quote));
                }
                None => {}
            }
            text
        })
        .collect();
    if findings.len() > FINDINGS_MAX {
        lines.push(format!("- and {} more", findings.len() - FINDINGS_MAX));
    }
    lines.join("\n")
}

/// What an agent wrote, within a line that Forge writes. Its further lines are a quotation: none of them can pass for a
/// heading of the brief, or for words of the user.
fn set_in(text: &str) -> String {
    text.trim_end().replace('\n', "\n  > ")
}

/// Words as they are, set off as a quotation.
fn quoted(words: &str) -> String {
    words.lines().map(|line| format!("> {line}")).collect::<Vec<String>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_work_is_quoted_whole_as_far_as_there_is_room_and_says_where_it_is_cut() {
        let left = |name: &str, text: String| LeftBefore { name: name.to_owned(), text };
        let text = left_in_words(&[left("a.md", "one\ntwo\n".to_owned())]);
        assert_eq!(text, "`a.md`:\n\n> one\n> two");
        let long = "ä".repeat(LEFT_BYTES_MAX);
        let text =
            left_in_words(&[left("a.md", format!("x{long}")), left("b.md", "more".to_owned())]);
        assert!(text.len() < LEFT_BYTES_MAX + 200, "{}", text.len());
        let cut = 1 + long.len() - (LEFT_BYTES_MAX - 1);
        assert!(
            text.contains(&format!("(cut here: {cut} more bytes)")),
            "{}",
            &text[text.len() - 200..]
        );
        // There is one byte left, and what does not fit is counted.
        assert!(text.ends_with("`b.md`:\n\n> m\n\n(cut here: 3 more bytes)"));
    }
}
