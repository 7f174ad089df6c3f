//! What an agent is told: one Markdown text, made of the role's prompt and the facts of the run.

use std::fmt::Write as _;

use forge_core::{
    Run,
    id::CallId,
    item::Item,
    reading::{Reading, artifact_name},
    verdict::Finding,
};

use crate::catalog::Role;

/// The most findings that a brief lists in full. Others are counted.
const FINDINGS_MAX: usize = 40;

/// The brief of a call.
pub(crate) fn brief(run: &Run, call: &CallId, role: &Role, inbox: &[Reading]) -> String {
    let unit = run.unit(call.unit());
    let stage = run.stage(call.unit());
    let mut text = format!("{}\n", role.prompt);
    let start = &run.law().start;
    section(&mut text, "The request", &start.request);
    if let Some(item) = run.item(&call.unit().scope) {
        section(&mut text, "Your part of it", &item_in_words(item));
    }
    let names: Vec<&str> = inbox.iter().map(|reading| reading.name.as_str()).collect();
    section(
        &mut text,
        "What you may read",
        &match names.as_slice() {
            [] => "Nothing but this brief.".to_owned(),
            names => format!("In the folder `$FORGE_INBOX`:\n\n- `{}`", names.join("`\n- `")),
        },
    );
    if !unit.findings.is_empty() {
        section(&mut text, "What was found, and is to be dealt with", &findings(&unit.findings));
    }
    if !unit.words.is_empty() {
        let words: Vec<String> = unit.words.iter().map(|words| quoted(words)).collect();
        section(&mut text, "What the user said to you", &words.join("\n\n"));
    }
    let writes = match call {
        CallId::Attempt(_) => &stage.writes,
        CallId::Judgement(judgement) => {
            let gate = stage.gate(&judgement.gate).map(|position| &stage.gates[position]);
            gate.map_or(&stage.writes, |gate| &gate.writes)
        }
    };
    let mut leave = String::from("In the folder `$FORGE_OUTBOX`:\n");
    for name in writes {
        let _ = write!(leave, "\n- `{}`", artifact_name(name, &call.unit().scope));
    }
    let _ = write!(
        leave,
        "\n- `result.json`, at most 1 MiB, written last. `forge` is 1, `attempt` is \"{call}\", \
         `status` is \"done\", \"partial\" (then `summary` says what is left) or \"blocked\" (then \
         `blocker` says why), `summary` has at most 500 characters."
    );
    let mut must: Vec<&str> = role.must.iter().map(|key| key.name()).collect();
    if let (CallId::Attempt(_), Some(list)) = (call, &stage.list) {
        let _ = write!(
            leave,
            " The list `{list}` belongs into `lists`: \
             items with `id` (a letter or digit, then at most 39 letters, digits, `-` or `_`), `title`, \
             `after` (ids that come first), `writes` (paths that it may change; items with a common \
             path never run together, and an item without paths runs alone), `tags` and `must`."
        );
        must.retain(|key| *key != "lists");
    }
    if !must.is_empty() {
        let _ = write!(leave, " It must also have `{}`.", must.join("`, `"));
    }
    section(&mut text, "What you must leave", &leave);
    text
}

fn section(text: &mut String, title: &str, body: &str) {
    let _ = write!(text, "\n## {title}\n\n{}\n", body.trim());
}

fn item_in_words(item: &Item) -> String {
    let mut text = format!("`{}` {}", item.id, item.title);
    if !item.writes.is_empty() {
        let _ = write!(text, "\n\nIt may change: `{}`", item.writes.join("`, `"));
    }
    if !item.must.is_empty() {
        let _ = write!(text, "\n\nWhen it is done:\n\n- {}", item.must.join("\n- "));
    }
    text
}

fn findings(findings: &[Finding]) -> String {
    let mut lines: Vec<String> = findings
        .iter()
        .take(FINDINGS_MAX)
        .map(|finding| {
            let mut text =
                format!("- {} ({:?}) {}", finding.id, finding.severity, finding.in_words());
            if !finding.why.is_empty() {
                let _ = write!(text, "\n  Why: {}", finding.why);
            }
            match &finding.proof {
                Some(forge_core::verdict::Proof::Command { command, output }) => {
                    let _ = write!(text, "\n  `{command}` printed:\n\n```\n{output}\n```");
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

/// Words as they are, set off as a quotation.
fn quoted(words: &str) -> String {
    words.lines().map(|line| format!("> {line}")).collect::<Vec<String>>().join("\n")
}
