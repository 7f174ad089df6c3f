//! Pipelines by name: the phases of `[pipelines.NAME]` as a flow.
//!
//! A phase that produces becomes a stage, a review a gate of the nearest producer above it, or of the one that it sends back
//! to. Code is checked and merged as in the flows that come with Forge, whatever a pipeline says.
//!
//! Not here: which pipeline a task takes (`core/src/flow/parse.rs`, `api/src/start/record.rs`).
//!
//! Invariant: a phase that is not known, a review above every producer, and a target that is not above are refused with the names
//! that are possible.

use std::{collections::BTreeSet, fmt::Write as _};

use crate::{error::Error, settings::PipelinePhase, suggest::nearest};

/// A phase that Forge knows.
struct KnownPhase {
    name: &'static str,
    does: PhaseWork,
}

/// The work of a known phase, with the role of its agent and the document that it leaves.
enum PhaseWork {
    /// An agent writes a document.
    Plan { role: &'static str, writes: &'static str },
    /// An agent changes the code.
    Code { role: &'static str, writes: &'static str },
    /// An agent judges what a producer left.
    Review { role: &'static str, writes: &'static str },
    /// An agent tries what the code producer left. What others said of it must not decide what is tried.
    Trial { role: &'static str, writes: &'static str },
    /// The change is merged.
    Commit,
    /// Pages about the records are written. In a sprint that is done once, for all tasks.
    WriteBack,
}

const KNOWN: [KnownPhase; 8] = [
    KnownPhase { name: "plan", does: PhaseWork::Plan { role: "engineer-plan", writes: "PLAN.md" } },
    KnownPhase {
        name: "review-plan",
        does: PhaseWork::Review { role: "supervisor-plan", writes: "PLAN_REVIEW.md" },
    },
    KnownPhase {
        name: "implement",
        does: PhaseWork::Code { role: "engineer", writes: "PROGRESS.md" },
    },
    KnownPhase {
        name: "review-code",
        does: PhaseWork::Review { role: "supervisor", writes: "CODE_REVIEW.md" },
    },
    KnownPhase {
        name: "validate",
        does: PhaseWork::Trial { role: "qa-engineer", writes: "VALIDATION_REPORT.md" },
    },
    KnownPhase {
        name: "approve",
        does: PhaseWork::Review { role: "architect", writes: "ARCHITECT_APPROVAL.md" },
    },
    KnownPhase { name: "write-back", does: PhaseWork::WriteBack },
    KnownPhase { name: "commit", does: PhaseWork::Commit },
];

/// The stage that writes pages, as in the flows that come with Forge.
const WRITE_BACK: &str = r#"[[stage]]
name = "write-back"
when = { param = "pages", is = ["yes"] }
deliver = "pages"
rounds = 0
gates = [{ verify = true }, { land = true }]
"#;
/// The revisions that a review may ask for, if its phase does not say it: three looks.
const ITERATIONS_DEFAULT: u32 = 3;

/// The flow that a pipeline is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineUse {
    /// The whole of a task.
    Task,
    /// One task of a sprint.
    SprintTask,
}

/// A stage in the making.
struct Producer<'p> {
    name: &'p str,
    role: &'p str,
    model: Option<&'p str>,
    writes: &'static str,
    changes_code: bool,
    gates: Vec<String>,
    /// Documents of its reviews, in their order.
    reviews: Vec<&'static str>,
    review_names: Vec<&'static str>,
}

/// Returns the text of the flow that a pipeline is.
pub fn pipeline_flow(
    name: &str,
    phases: &[PipelinePhase],
    used: PipelineUse,
) -> Result<String, Error> {
    let wrong = |what: String| {
        Error::usage(format!("pipelines.{name}: {what}"), "forge config edit".to_owned())
    };
    let mut producers: Vec<Producer<'_>> = Vec::new();
    let (mut commits, mut writes_back, mut seen) = (false, false, BTreeSet::new());
    for phase in phases {
        let known = KNOWN.iter().find(|known| known.name == phase.phase());
        let Some(known) = known else {
            let names = KNOWN.map(|known| known.name);
            let near = nearest(phase.phase(), names.into_iter());
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let names = names.join(", ");
            return Err(wrong(format!(
                "unknown phase `{}`{near} (phases: {names})",
                phase.phase()
            )));
        };
        if !seen.insert(known.name) {
            return Err(wrong(format!("the phase `{}` is there twice", known.name)));
        }
        if commits {
            return Err(wrong(format!("`{}` comes after `commit`", known.name)));
        }
        let role = |own: &'static str| phase.role().unwrap_or(own);
        match known.does {
            PhaseWork::Plan { role: own, writes } | PhaseWork::Code { role: own, writes } => {
                let changes_code = matches!(known.does, PhaseWork::Code { .. });
                producers.push(Producer {
                    name: known.name,
                    role: role(own),
                    model: phase.model(),
                    writes,
                    changes_code,
                    gates: Vec::new(),
                    reviews: Vec::new(),
                    review_names: Vec::new(),
                });
            }
            PhaseWork::Review { role: own, writes } | PhaseWork::Trial { role: own, writes } => {
                let tries = matches!(known.does, PhaseWork::Trial { .. });
                let target = phase.on_revision();
                let at = match target {
                    None => producers.len().checked_sub(1),
                    Some(target) => producers.iter().position(|above| above.name == target),
                };
                let Some(at) = at else {
                    return Err(wrong(match target {
                        None => {
                            format!("`{}` has no phase above it that it could review", known.name)
                        }
                        Some(target) => {
                            format!(
                                "`{}` sends back to `{target}`, which does not produce anything above it",
                                known.name
                            )
                        }
                    }));
                };
                let last = producers.len() - 1;
                let redo = if at == last {
                    String::new()
                } else {
                    format!(", redo = \"{}\"", producers[at].name)
                };
                let rounds = phase.iterations_max().unwrap_or(ITERATIONS_DEFAULT).saturating_sub(1);
                let model =
                    phase.model().map(|model| format!(", model = \"{model}\"")).unwrap_or_default();
                let seen = if tries { Reviews::Hidden } else { Reviews::Shown };
                let reads = reads(used, &producers, seen);
                let brief = if tries { ", brief = { without = [\"architecture\"] }" } else { "" };
                producers[last].gates.push(format!(
                    "{{ name = \"{}\", review = \"{}\", reads = [{reads}], writes = [\"{writes}\"], rounds = {rounds}{redo}{model}{brief} }}",
                    known.name,
                    role(own),
                ));
                producers[last].reviews.push(writes);
                producers[last].review_names.push(known.name);
            }
            PhaseWork::Commit => commits = true,
            PhaseWork::WriteBack => writes_back = true,
        }
    }
    if !producers.iter().any(|producer| producer.changes_code) {
        return Err(wrong("it has no phase `implement`".to_owned()));
    }
    if !commits {
        return Err(wrong("it does not end with `commit`, so nothing would come of it".to_owned()));
    }
    let pages = if writes_back && used == PipelineUse::Task { WRITE_BACK } else { "" };
    Ok(text(name, &producers, used, pages))
}

/// Whether a phase reads what reviews before it said.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reviews {
    Shown,
    Hidden,
}

/// Returns the names of what a phase may read that comes after these, or is one of them, as in a list.
fn reads(used: PipelineUse, producers: &[Producer<'_>], seen: Reviews) -> String {
    let more: &[&str] = match used {
        PipelineUse::Task => &["request.md"],
        PipelineUse::SprintTask => &["request.md", "SPRINT_REQUIREMENTS.md", "SPRINT_PLAN.md"],
    };
    let reviews = |producer: &Producer<'_>| match seen {
        Reviews::Shown => producer.reviews.clone(),
        Reviews::Hidden => Vec::new(),
    };
    let documents = producers
        .iter()
        .flat_map(|producer| [producer.writes].into_iter().chain(reviews(producer)));
    let all = more.iter().copied().chain(documents).map(|name| format!("\"{name}\""));
    all.collect::<Vec<_>>().join(", ")
}

fn text(name: &str, producers: &[Producer<'_>], used: PipelineUse, pages: &str) -> String {
    let mut text = format!("name = \"{name}\"\ndescription = \"The pipeline {name}\"\n");
    let mut blocks = String::new();
    for producer in producers {
        let _ = write!(
            blocks,
            "```gates phase={}\nforbid task.status in [committed, abandoned, blocked, escalated]\n```\n\
             ```outputs phase={}\nartifact {{engineering}}/sprints/{{sprint}}/{{task}}/{} min=200\n```\n",
            producer.name, producer.name, producer.writes
        );
    }
    let last_review = producers.iter().flat_map(|producer| &producer.review_names).next_back();
    let after = last_review.map(|name| format!("after {name} = approved\n")).unwrap_or_default();
    let _ = write!(
        blocks,
        "```gates phase=commit\n{after}forbid task.status in [abandoned, blocked, escalated]\n```\n"
    );
    let _ = write!(text, "blocks = '''\n{blocks}'''\n");
    if used == PipelineUse::Task {
        text.push_str("[params]\npr = { values = [\"yes\", \"no\"], default = \"yes\" }\n");
        if !pages.is_empty() {
            text.push_str("pages = { values = [\"yes\", \"no\"], default = \"no\" }\n");
        }
    }
    let producer_of_code = producers.iter().rfind(|producer| producer.changes_code);
    for (n, producer) in producers.iter().enumerate() {
        let reads = reads(used, &producers[..=n], Reviews::Shown);
        let model =
            producer.model.map(|model| format!("model = \"{model}\"\n")).unwrap_or_default();
        let _ = write!(
            text,
            "[[stage]]\nname = \"{}\"\nagent = \"{}\"\n{model}reads = [{reads}]\nwrites = [\"{}\"]\nrounds = 2\ngates = [\n  {{ name = \"form\", artifact = \"{}\" }},\n",
            producer.name, producer.role, producer.writes, producer.writes
        );
        if producer.changes_code {
            text.push_str(
                "  { check = \"changes\" },\n  { verify = true },\n  { check = \"guarded\" },\n",
            );
        }
        for gate in &producer.gates {
            let _ = writeln!(text, "  {gate},");
        }
        text.push_str("]\n");
    }
    let redo = producer_of_code.map_or("implement", |producer| producer.name);
    let _ = write!(
        text,
        "[[stage]]\nname = \"commit\"\ngates = [{{ verify = true, redo = \"{redo}\" }}, {{ land = true, redo = \"{redo}\" }}]\n"
    );
    text.push_str(pages);
    if used == PipelineUse::Task {
        let reads = reads(used, producers, Reviews::Shown);
        let last = if pages.is_empty() { "commit" } else { "write-back" };
        let _ = write!(
            text,
            "[[stage]]\nname = \"offer\"\nwhen = {{ param = \"pr\", is = [\"yes\"] }}\ndeliver = \"pull-request\"\nreads = [{reads}]\n\
             [[stage]]\nname = \"record\"\nafter = [\"{last}\", \"offer\"]\ndeliver = \"commit\"\n"
        );
    }
    text
}
