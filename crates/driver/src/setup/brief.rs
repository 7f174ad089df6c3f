//! The brief of an agent: one Markdown text, made of the role's prompt and the facts of the run.

use std::fmt::Write as _;

use forge_core::result::ResultKey;
use forge_core::{
    Run,
    event::{Answer, Colour, SentBack, Waiver},
    flow::{Check, Gate, Stage, TagRule},
    friction::FrictionKind,
    id::{CallId, Scope, UnitId},
    inbox::{InboxEntry, artifact_name},
    item::Item,
    needs::artifact_bytes_min,
    run::{Occasion, Said, TableStatus},
    verdict::{Doubt, Finding, Proof},
    view::{RemainingFinding, open_findings, short_commit, shorten_start},
};
use forge_project::catalog::{Code, Role};

use forge_agents::CodeAccess;

use super::brief_blocks::{BriefBlocks, position_in_words, quoted, request_in_words};
use crate::optional_keys::optional_result_keys;

/// The most findings that a brief lists in full. Others are counted.
const FINDINGS_MAX: usize = 40;

/// The most characters of what a failed call left, which may be the end of its stream.
const FAULT_CHARS_MAX: usize = 1_200;

/// What somebody who does not review may report.
const OWN_FINDINGS: &str = "[{severity, what, path?, line?}]: faults of your own work that are left when you are done; \
    severity is \"critical\", \"major\" or \"minor\"; about the first two a person is asked";

/// Where an agent that was sent back finds what it left last time, in its inbox.
pub(crate) const LAST: &str = "last";

/// What changed since a review last looked, in the inbox of the next look.
pub(crate) const SINCE: &str = "since.diff";

/// The change under review, in the inbox of a reviewer, or that of the whole run.
pub(crate) use forge_core::flow::CHANGE;

/// The most other tasks that a brief names.
const OTHERS_MAX: usize = 20;

/// The most changed files that a brief names.
const FILES_MAX: usize = 100;

/// What an agent hears first when it goes on.
const GO_ON: &str = "You began this work in this session and were interrupted; you did nothing \
                     wrong. Your files are as you left them, also those in your outbox, except \
                     for `result.json`: write it again. See what is there already, then continue \
                     from it. The brief follows again: the name of the attempt and the folders \
                     are new, everything else is as it was.";

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
    /// The change under review, or of the run so far, if the diff is in the inbox.
    pub change: Option<ChangedFiles>,
    /// The commit in which the agent finds its own earlier change.
    pub own_commit: Option<&'a str>,
}

/// The files of a change.
pub struct ChangedFiles {
    /// The commit without the change.
    pub before: String,
    pub files: Vec<String>,
    /// Those whose change is too large for the diff.
    pub unshown: Vec<String>,
}

/// All that is put together for one call.
pub struct Given<'a> {
    pub inbox: &'a [InboxEntry],
    /// The names of what it left itself, if it was sent back.
    pub left_before: &'a [String],
    /// The names of what it left itself and finds in its outbox, because only the form of its result was wrong.
    pub handed_back: &'a [String],
    /// Whether there is a diff since the last look.
    pub since: SinceLastLook,
    /// The architecture, summaries, records, skills and the role's text, as far as the flow wants them.
    pub blocks: &'a BriefBlocks,
    /// The code.
    pub code: CodeBrief<'a>,
}

/// Whether a reviewer gets what changed since the last look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinceLastLook {
    /// It does.
    Given,
    /// It is the first look, or nothing changed.
    None,
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
    let Given { left_before, handed_back, since, blocks, code, .. } = given;
    let unit = run.unit(call.unit());
    // An agent that left no result was not only interrupted, also where its session continues.
    let mut text = match (hearing, blocks.retry) {
        (_, Some(retry)) => format!("{retry}\n\n"),
        (Hearing::Again, None) => format!("{GO_ON}\n\n"),
        (Hearing::First, None) => String::new(),
    };
    let _ = writeln!(text, "{}", blocks.role);
    let said = run.said_about(call.unit());
    if !said.is_empty() {
        let said: Vec<String> = said.iter().map(|said| said_in_words(said, call)).collect();
        let title = "What the user said about this work";
        let body =
            format!("It is newer than the request, and takes precedence.\n\n{}", said.join("\n\n"));
        section(&mut text, title, &body);
    }
    let start = &run.definition().start;
    section(&mut text, "The request", &request_in_words(start));
    task_sections(&mut text, run, call);
    add_block(&mut text, "The records of work around this", blocks.index.as_ref());
    list_so_far(&mut text, run, call);
    add_block(&mut text, "What the phases before this one say", blocks.summaries.as_ref());
    if let Some(instructions) = code.instructions {
        section(&mut text, "The project's rules", instructions);
    }
    if let Some(architecture) = &blocks.architecture {
        let body = format!(
            "Documents of the project, with how each begins. Read in the checkout what your work touches.\n\n{architecture}"
        );
        section(&mut text, "The project's architecture", &body);
    }
    if code.has_checkout {
        section(&mut text, "The code", &code_in_words(run, code, call));
    }
    section(&mut text, "What you may read", &may_read(given, places));
    add_block(&mut text, "Your skills", blocks.skills.as_ref());
    own_files(&mut text, left_before, handed_back);
    if *since == SinceLastLook::Given {
        let body = format!(
            "This work was reviewed before. What changed since then is `$FORGE_INBOX/{SINCE}`: \
             begin with it and with the earlier findings, then look once more at the whole."
        );
        section(&mut text, "What changed since the last review", &body);
    }
    let position = run.review_position(call).map(|position| position_in_words(&position));
    add_block(&mut text, "Where this review stands", position.as_ref());
    let claim = unit.receipt.as_ref().map(|receipt| receipt.summary.trim()).unwrap_or_default();
    if matches!(call, CallId::Judgement(_)) && !claim.is_empty() {
        section(&mut text, "What its author says about it", &quoted(claim));
    }
    if !unit.findings.is_empty() {
        let title = match call {
            CallId::Attempt(_) => "Findings to deal with",
            CallId::Judgement(_) => "Findings of the previous attempt",
        };
        // A review is told its position in any case.
        let which = match call {
            CallId::Attempt(_) => iteration(run, call.unit()),
            CallId::Judgement(_) => String::new(),
        };
        let body = which + &findings(&unit.findings);
        section(&mut text, title, &body);
    }
    let open = open_findings(run);
    if !open.is_empty() && sees_whole_change(call, run.stage(call.unit())) {
        section(&mut text, "Open notes", &open_notes(&open));
    }
    if !unit.left_to_do.is_empty() {
        section(&mut text, "What is left to do", &quoted(&unit.left_to_do));
    }
    let title = match call {
        CallId::Attempt(_) => "Why the previous attempt did not count",
        CallId::Judgement(_) => "Why your previous review did not count",
    };
    if let Some((_, what)) = run.fault_before(call) {
        // How it ended is said last.
        section(&mut text, title, &quoted(&shorten_start(what, FAULT_CHARS_MAX)));
    }
    section(&mut text, "What you must leave", &must_leave(run, call, role, places));
    text
}

/// Adds the item that the work is about, and those that others work on.
fn task_sections(text: &mut String, run: &Run, call: &CallId) {
    if let Some(item) = run.item(&call.unit().scope) {
        let title = match call {
            CallId::Attempt(_) => "Your task",
            CallId::Judgement(_) => "The task under review",
        };
        section(text, title, &item_in_words(item, call));
        let others = other_items(run, &call.unit().scope);
        if !others.is_empty() {
            let body = format!(
                "Others build these, now or later, and their work is not in this checkout:\n\n{}",
                others.join("\n")
            );
            section(text, "Tasks that others work on", &body);
        }
    }
}

/// The files that the agent may read, in words.
fn may_read(given: &Given<'_>, places: &Places) -> String {
    let Given { inbox, left_before, since, blocks, code, .. } = given;
    let mut names: Vec<&str> = inbox.iter().map(|reading| reading.name.as_str()).collect();
    if code.change.is_some() {
        names.push(CHANGE);
    }
    if *since == SinceLastLook::Given {
        names.push(SINCE);
    }
    names.extend(left_before.iter().map(String::as_str));
    names.extend(blocks.files.iter().map(String::as_str));
    let checkout = if code.has_checkout { ", the checkout with its history" } else { "" };
    match names.as_slice() {
        [] if code.has_checkout => "This brief and the checkout with its history.".to_owned(),
        [] => "This brief.".to_owned(),
        names => format!(
            "This brief{checkout}, and in the folder `{}` (`$FORGE_INBOX`):\n\n- `{}`",
            places.inbox,
            names.join("`\n- `")
        ),
    }
}

/// Adds the list that was reported last, which is in the result and in no file.
fn list_so_far(text: &mut String, run: &Run, call: &CallId) {
    let Some(list) = &run.stage(call.unit()).list else { return };
    let title = match call {
        CallId::Attempt(_) => format!("Your last list of {list}"),
        CallId::Judgement(_) => format!("The list of {list} under review"),
    };
    let items = run.items(call.unit(), list).unwrap_or_default();
    let items: Vec<String> = items.iter().map(listed_in_words).collect();
    if !items.is_empty() {
        section(text, &title, &items.join("\n"));
    }
}

/// Names what the agent itself left at an attempt before, and where that is.
fn own_files(text: &mut String, left_before: &[String], handed_back: &[String]) {
    // What is in the outbox is newer.
    if !left_before.is_empty() && handed_back.is_empty() {
        let body = format!(
            "It is in your inbox: `{}`. Copy it into the outbox and change it there; line numbers \
             in findings about it refer to it.",
            left_before.join("`, `")
        );
        section(text, "What you left last time", &body);
    }
    if !handed_back.is_empty() {
        let body = format!(
            "The files of your previous attempt are already in your outbox, as you left them: \
             `{}`. Keep what is right in them; write the result again.",
            handed_back.join("`, `")
        );
        section(text, "What is in your outbox already", &body);
    }
}

/// The brief of an agent whose work is done and whose result cannot be used.
pub fn repair(run: &Run, call: &CallId, role: &Role, flaw: &str, places: &Places) -> String {
    let mut text = format!(
        "Your work on `{call}` has ended, but what you left cannot be used:\n\n{}\n\nFix exactly \
         that, and nothing else: do not do the work itself again. This is the only chance; if it \
         is still wrong afterwards, it counts as no result.\n",
        quoted(flaw)
    );
    section(&mut text, "What you must leave", &must_leave(run, call, role, places));
    text
}

/// The artifacts, with the size that a gate demands of them.
fn artifacts_to_leave(run: &Run, call: &CallId, stage: &Stage, places: &Places) -> String {
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
        let _ = write!(leave, "\n- `{}`", artifact_name(run, name, &call.unit().scope));
        match artifact_bytes_min(stage, name) {
            0 => {}
            bytes => {
                let _ = write!(leave, ", at least {bytes} bytes");
            }
        }
    }
    leave
}

/// Artifacts and the result, in words.
fn must_leave(run: &Run, call: &CallId, role: &Role, places: &Places) -> String {
    let stage = run.stage(call.unit());
    let mut leave = artifacts_to_leave(run, call, stage, places);
    match places.leaves {
        Leaves::File => leave.push_str(
            "\n- `result.json`, at most 1 MiB, written last: one JSON object with these keys.",
        ),
        Leaves::Answer => leave.push_str(
            "\n\nThen your answer, once, as the structured output that you are asked for, with \
             these keys. (If you have no such tool, write the same as `result.json` into \
             `$FORGE_OUTBOX`.)",
        ),
    }
    let status = match call {
        CallId::Attempt(_) => {
            "\"done\", or \"partial\" (summary says what is left), or \"blocked\" (blocker says why)"
        }
        CallId::Judgement(_) => {
            "\"done\", whatever the verdict; \"blocked\" only if you could not review (blocker says why)"
        }
    };
    let _ = write!(
        leave,
        "\n\n\
         ```text\n\
         forge    1\n\
         attempt  \"{call}\"\n\
         status   {status}\n\
         summary  at most 500 characters\n\
         blocker  {{class, what}}, only if blocked; class is context_overflow, scope_exceeded,\n\
         \u{20}        model_refusal, tooling_failure, external_dependency or unknown\n"
    );
    let needed = needed_keys(role, call, stage);
    for key in &needed {
        let _ = writeln!(leave, "{:<8} {}", key.as_str(), key_in_words(*key, call, stage));
    }
    leave.push_str("```\n\n");
    leave.push_str(match call {
        CallId::Attempt(_) => {
            "All of these are required when you are done, except `blocker`. Where you have \
             something to say, you may add:"
        }
        CallId::Judgement(_) => {
            "All of these are required, except `blocker`. Where you have something to say, you \
             may add:"
        }
    });
    leave.push_str("\n\n```text\n");
    let may = |key: &&ResultKey| match key {
        ResultKey::Settled => sees_whole_change(call, stage),
        ResultKey::Must => {
            // Who only plans or reads has met nothing yet.
            let item = run.item(&call.unit().scope).filter(|_| role.code == Code::Writes);
            !needed.contains(key) && item.is_some_and(|item| !item.must.is_empty())
        }
        ResultKey::Shown => {
            let asks = |gate: &Gate| matches!(gate.check, Check::Human { .. });
            !needed.contains(key) && stage.gates.iter().any(asks)
        }
        ResultKey::Commit => !needed.contains(key) && role.code == Code::Writes,
        // Who only reads says in its document what it saw.
        ResultKey::Findings => {
            let is_review = matches!(call, CallId::Judgement(_));
            !needed.contains(key) && (is_review || role.code == Code::Writes)
        }
        ResultKey::Verdict | ResultKey::Lists => !needed.contains(key),
    };
    for key in optional_result_keys(call).iter().filter(may) {
        let words = match (key, call) {
            (ResultKey::Findings, CallId::Attempt(_)) => OWN_FINDINGS.to_owned(),
            _ => key_in_words(*key, call, stage),
        };
        let _ = writeln!(leave, "{:<8} {words}", key.as_str());
    }
    leave.push_str(
        "decisions, follow_ups, memory  each a list of texts: what you decided on the way, what \
         is left for later, what those who work on this later should know; people read \
         them\n",
    );
    let _ = writeln!(
        leave,
        "friction [{{kind, skill?, issue, evidence?}}]: what hindered you, if anything did; kind is {} or x_ \
         and a word of your own",
        FrictionKind::ALL.join(", ")
    );
    leave.push_str("```\n\nAdd no other key. Keys marked with `?` are optional.");
    leave
}

/// Whether a worker is given all that the run has changed so far, and so can say which notes are dealt with.
fn sees_whole_change(call: &CallId, stage: &Stage) -> bool {
    matches!(call, CallId::Attempt(_)) && stage.reads.iter().any(|name| name == CHANGE)
}

/// The other keys that a result must have.
fn needed_keys(role: &Role, call: &CallId, stage: &Stage) -> Vec<ResultKey> {
    let mut keys: Vec<ResultKey> = role.must.clone();
    match call {
        CallId::Attempt(_) if stage.list.is_some() => keys.push(ResultKey::Lists),
        CallId::Attempt(_) => {}
        CallId::Judgement(_) => keys.push(ResultKey::Verdict),
    }
    keys.sort();
    keys.dedup();
    keys
}

/// The form of a key.
fn key_in_words(key: ResultKey, call: &CallId, stage: &Stage) -> String {
    match key {
        ResultKey::Verdict => "\"pass\", \"revise\" or \"block\"".to_owned(),
        ResultKey::Findings => {
            let (was, which) = match call {
                CallId::Attempt(_) => ("", "only what is left when you are done"),
                CallId::Judgement(_) => (
                    ", was?",
                    "was is an earlier finding such as \"F3\"; a pass may have minor ones",
                ),
            };
            format!(
                "[{{severity, what, path?, line?, why?, proof?{was}}}]; severity is \"critical\", \
                 \"major\" or \"minor\"; path is from the top of the checkout, or a file of the inbox; \
                 proof is {{quote}}, copied exactly from the file in path, where Forge looks it up, or \
                 {{command, output}}; one with neither path nor proof is only noted; {which}; [] if there \
                 are none"
            )
        }
        ResultKey::Lists => {
            let list = stage.list.as_deref().unwrap_or("NAME");
            let tags = match tags_in_words(stage) {
                asked if asked.is_empty() => "{name: text}, if you were asked for any".to_owned(),
                asked => asked,
            };
            format!(
                "{{\"{list}\": [{{id, title, after, writes, must, tags?}}]}}; id is a letter or digit, then \
                 at most 39 letters, digits, - or _; after: ids that come first, or []; writes: paths from the \
                 top that it may change or make (two with a common path never run together, one without paths \
                 runs alone); must: sentences that are true when it is done; tags: {tags}"
            )
        }
        ResultKey::Must => "[{id, state, proof}] for what must be true of your task; id is its sentence, state is \"met\" or \
             \"unmet\", proof is a text: the test or output that shows it; a person is asked about what is unmet"
            .to_owned(),
        ResultKey::Shown => {
            "{approach, key_changes: [texts], risk, title?}: what a person decides by; title is the change in one line of at most 72 characters; risk is \"low\", \"medium\" or \"high\""
                .to_owned()
        }
        ResultKey::Commit => "a commit message".to_owned(),
        ResultKey::Settled => {
            "[ids] of the open notes above that are dealt with now".to_owned()
        }
    }
}

fn code_in_words(run: &Run, code: &CodeBrief<'_>, call: &CallId) -> String {
    let mut text = match code.access {
        CodeAccess::Writes => {
            "Your working directory is a private checkout of the project: change files there. \
            Forge makes the commits; do not push, and leave `forge.toml` and `.forge/` alone."
                .to_owned()
        }
        CodeAccess::Reads => {
            "Your working directory is a private checkout of the project, to read and to run \
             things in. Its files are read-only; what you add is discarded. To try something \
             with changed files, copy it to a temporary folder."
                .to_owned()
        }
    };
    if code.is_set_up {
        text.push_str(" The project's setup has been run in it.");
    }
    if let Some(commit) = code.own_commit {
        let _ = write!(
            text,
            "\n\nYour change of the previous attempt is already in it, as commit `{}`. What you \
             change now is added to it, and `commit` is the message for all of it.",
            short_commit(commit)
        );
    }
    let _ = write!(text, "\n\n{}", checks_in_words(run, code, call));
    if !code.conflicts.is_empty() {
        let _ = write!(
            text,
            "\n\nWhat was merged meanwhile is in it. These files have conflict markers, which you \
             must resolve:\n\n- `{}`",
            code.conflicts.join("`\n- `")
        );
    }
    if let Some(ChangedFiles { before, files, unshown }) = &code.change {
        let shown: Vec<&str> = files.iter().take(FILES_MAX).map(String::as_str).collect();
        let _ = write!(
            text,
            "\n\n{} is `$FORGE_INBOX/{CHANGE}`; the commit before it is `{}`. Its files:\n\n- `{}`",
            match call {
                CallId::Attempt(_) => "Everything the run has changed so far",
                CallId::Judgement(_) => "The change under review",
            },
            short_commit(before),
            shown.join("`\n- `")
        );
        if files.len() > FILES_MAX {
            let _ = write!(text, "\n- and {} more", files.len() - FILES_MAX);
        }
        if !unshown.is_empty() {
            let shown: Vec<&str> = unshown.iter().take(FILES_MAX).map(String::as_str).collect();
            let _ = write!(
                text,
                "\n\n{CHANGE} does not have all of it. The changes of {} files are too large for \
                 it; read them in your working directory:\n\n- `{}`",
                unshown.len(),
                shown.join("`\n- `")
            );
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
        ([], false, _) => return "The project has no checks that Forge can run.".to_owned(),
        (_, true, _) => "The project's checks, as Forge ran them on exactly this commit:",
        (_, false, CodeAccess::Writes) => {
            "When you are done, Forge runs the project's checks on your change, in another checkout:"
        }
        (_, false, CodeAccess::Reads) => {
            "How the project's checks are run in a checkout like this:"
        }
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
    Some(format!(", and {} overrode that: {:?}", said.by.who, said.words))
}

/// Words of a person, with whom they were said to.
fn said_in_words(said: &Said, call: &CallId) -> String {
    let Said { unit, occasion, words } = said;
    let is_own = matches!(call, CallId::Attempt(attempt) if attempt.unit == *unit);
    let to = if is_own { "To you".to_owned() } else { format!("To `{unit}`") };
    let is_done = call.unit() != unit;
    let since = if is_done { "; what it left since then takes it into account" } else { "" };
    let when = match occasion {
        Occasion::Answer(Answer::Revise) => format!("{to}, sending the work back{since}"),
        Occasion::Answer(Answer::Retry) => format!("{to}, asking for another attempt{since}"),
        Occasion::Answer(Answer::Waive { gate }) => format!("At `{unit}`, overriding `{gate}`"),
        Occasion::Answer(Answer::Approve | Answer::GiveUp) => {
            format!("At `{unit}`, approving it, for all later stages")
        }
        Occasion::Edit => format!("At `{unit}`"),
    };
    format!("{when}:\n\n{}", quoted(words))
}

/// Says which revision this is, how many there may be, and who asked for it.
fn iteration(run: &Run, unit: &UnitId) -> String {
    let last = run.history().sent_back.iter().rev().find(|reopened| reopened.unit == *unit);
    let Some(SentBack::Gate { unit: judged, gate }) = last.map(|last| &last.by) else {
        return String::new();
    };
    let own = run.definition().flow.gate(judged, gate).and_then(|gate| gate.rounds);
    let (n, most) = match own {
        Some(most) => (run.rounds_of_gate(unit, judged, gate), most),
        None => (run.unit(unit).round, run.stage(unit).rounds),
    };
    format!("Sent back by `{gate}`: revision {n} of at most {most}.\n\n")
}

fn add_block(text: &mut String, title: &str, body: Option<&String>) {
    if let Some(body) = body {
        section(text, title, body);
    }
}

fn section(text: &mut String, title: &str, body: &str) {
    let _ = write!(text, "\n## {title}\n\n{}\n", body.trim());
}

/// Tasks beside this one that have not landed, a line each.
fn other_items(run: &Run, scope: &Scope) -> Vec<String> {
    let Some(scope) = run.definition().flow.item_scope(scope) else { return Vec::new() };
    let Some((outer, group)) = scope.origin() else { return Vec::new() };
    let unit = run.unit(&outer.unit(&group));
    let others = unit.inner.members().filter(|(item, table)| {
        let is_open = matches!(table.standing(), TableStatus::Waiting | TableStatus::Open);
        is_open && Some(item.id.as_str()) != scope.item()
    });
    let line = |item: &Item| match item.writes.as_slice() {
        [] => format!("- `{}` {}", item.id, set_in(&item.title)),
        writes => {
            let writes = set_in(&writes.join("`, `"));
            format!("- `{}` {} (in `{writes}`)", item.id, set_in(&item.title))
        }
    };
    others.map(|(item, _)| line(item)).take(OTHERS_MAX).collect()
}

fn item_in_words(item: &Item, call: &CallId) -> String {
    let mut text = format!("`{}` {}", item.id, set_in(&item.title));
    if !item.writes.is_empty() {
        let may = match call {
            CallId::Attempt(_) => "It may change",
            CallId::Judgement(_) => "It is allowed to change",
        };
        let _ = write!(text, "\n\n{may}: `{}`", set_in(&item.writes.join("`, `")));
    }
    if !item.tags.is_empty() {
        let tags = item.tags.iter().map(|(name, value)| format!("`{name} = {}`", set_in(value)));
        let _ = write!(text, "\n\nTags: {}", tags.collect::<Vec<String>>().join(", "));
    }
    if !item.must.is_empty() {
        let must: Vec<String> = item.must.iter().map(|must| set_in(must)).collect();
        let _ = write!(text, "\n\nWhat must be true when it is done:\n\n- {}", must.join("\n- "));
    }
    text
}

/// The tags that items of a stage's list have, and what they can be.
fn tags_in_words(stage: &Stage) -> String {
    let tag = |(name, rule): (&String, &TagRule)| {
        let values: Vec<String> = rule.values.iter().map(|value| format!("\"{value}\"")).collect();
        let default = rule.default.as_ref();
        let default = default.map(|value| format!(" (\"{value}\" if you leave it out)"));
        format!("{name} is {}{}", values.join(" or "), default.unwrap_or_default())
    };
    stage.tags.iter().map(tag).collect::<Vec<String>>().join("; ")
}

/// An item of a list with all that was reported of it.
fn listed_in_words(item: &Item) -> String {
    let mut text = format!("- `{}` {}", item.id, set_in(&item.title));
    let mut add = |name: &str, values: &[String]| {
        let values = values.iter().map(|value| set_in(value)).collect::<Vec<String>>();
        let values = if values.is_empty() { "none".to_owned() } else { values.join(", ") };
        let _ = write!(text, "\n  - {name}: {values}");
    };
    add("after", &item.after);
    add("writes", &item.writes);
    let tags = item.tags.iter().map(|(name, value)| format!("{name} = {value}"));
    add("tags", &tags.collect::<Vec<String>>());
    if item.must.is_empty() {
        add("must", &[]);
    }
    // A sentence may have any sign in it.
    for must in &item.must {
        add("must", std::slice::from_ref(must));
    }
    text
}

fn findings(findings: &[Finding]) -> String {
    let mut lines: Vec<String> = findings
        .iter()
        .take(FINDINGS_MAX)
        .map(|finding| {
            let what = match &finding.proof {
                // The whole command follows.
                Some(Proof::Command { .. }) => finding.to_short_line(),
                Some(Proof::Quote { .. }) | None => finding.to_line(),
            };
            let (severity, what) = (finding.severity.as_str(), set_in(&what));
            let mut text = format!("- {} ({severity}) {what}", finding.id);
            if !finding.why.is_empty() {
                let _ = write!(text, "\n  Why: {}", set_in(&finding.why));
            }
            match &finding.proof {
                Some(Proof::Command { command, output }) => {
                    let who = match &finding.doubt {
                        Some(Doubt::Claimed) => "The reviewer ran this, Forge did not: ",
                        Some(Doubt::NotThere(_)) | None => "",
                    };
                    let command = set_in(command);
                    let _ = write!(text, "\n  {who}`{command}` printed:\n\n{}\n", quoted(output));
                }
                Some(Proof::Quote { quote }) => {
                    let _ = write!(text, "\n\n{}\n", quoted(quote));
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

/// What others found and nobody dealt with yet.
fn open_notes(open: &[RemainingFinding]) -> String {
    let note = |left: &RemainingFinding| {
        let (severity, what) = (left.finding.severity.as_str(), set_in(&left.finding.to_line()));
        format!("- `{}` ({severity}) {what}", left.id())
    };
    let mut lines: Vec<String> = open.iter().take(FINDINGS_MAX).map(note).collect();
    if open.len() > FINDINGS_MAX {
        lines.push(format!("- and {} more", open.len() - FINDINGS_MAX));
    }
    lines.join("\n")
}

/// What an agent wrote, within a line that Forge writes. Its further lines are a quotation: none of them can pass for a
/// heading of the brief, or for words of the user.
fn set_in(text: &str) -> String {
    text.trim_end().replace('\n', "\n  > ")
}
