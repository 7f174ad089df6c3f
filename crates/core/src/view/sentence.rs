//! Facts and reasons as sentences, for people who read a log.

use crate::{
    Time,
    event::{
        Approval, Before, Call, Colour, Edit, End, Event, Evidence, Hold, Outcome, Person,
        ProofStart, Question, QuestionReason, ResultChange, Ruling, SentBack, SettingsChange,
        Waiver,
    },
    failure::{FaultClass, main_line},
    id::{AttemptId, CallId, JudgementId, UnitId, gate_does, gate_label},
    money::{Cost, Spent},
    routing::{AgentOrigin, Successor, Wish},
    run::items_left,
    verdict::{BlockerClass, Finding, Verdict, VerdictWord},
};

use super::{
    format::{first_line, moment, shorten, span},
    log_level::LONG_MS,
};

/// The names of units and calls in a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// As on screens: `T2`.
    Short,
    /// As in the journal: `build.T2/implement#1`.
    Exact,
}

impl Names {
    pub(super) fn unit(self, unit: &UnitId) -> String {
        match self {
            Self::Short => unit.label(),
            Self::Exact => unit.to_string(),
        }
    }

    /// Returns a unit, or a gate of it.
    fn place(self, unit: &UnitId, gate: Option<&str>) -> String {
        match gate {
            None => self.unit(unit),
            Some(gate) => format!("{}: {}", self.unit(unit), self.gate(gate)),
        }
    }

    fn attempt(self, attempt: &AttemptId) -> String {
        match self {
            Self::Short => attempt.label(),
            Self::Exact => attempt.to_string(),
        }
    }

    fn judgement(self, judgement: &JudgementId) -> String {
        match self {
            Self::Short => judgement.label(),
            Self::Exact => judgement.to_string(),
        }
    }

    fn gate(self, gate: &str) -> &str {
        match self {
            Self::Short => gate_label(gate),
            Self::Exact => gate,
        }
    }

    /// Returns the first findings. Their ids are unique only in their unit, so screens leave them out.
    fn findings(self, findings: &[Finding]) -> String {
        let words = findings.iter().map(|finding| {
            let before = if finding.is_red_at_base() { ", as it did before the run" } else { "" };
            match self {
                Self::Short => format!("{}{before}", finding.to_line()),
                Self::Exact => format!("{} {}{before}", finding.id, finding.to_line()),
            }
        });
        lines(&words.collect::<Vec<String>>())
    }

    fn call(self, call: &CallId) -> String {
        match self {
            Self::Short => call.label(),
            Self::Exact => call.to_string(),
        }
    }
}

/// Returns one fact, as a sentence.
#[expect(clippy::too_many_lines, reason = "one arm for each kind of fact")]
pub fn sentence(event: &Event, names: Names) -> String {
    match event {
        Event::RunStarted(start) => {
            let shown = |(name, value): (&String, &String)| match (names, name.as_str()) {
                (Names::Short, "effort") => Some(format!("size {value}")),
                // How it is delivered and where it came from is in the dry run.
                (Names::Short, "pr" | "source") => None,
                (Names::Short | Names::Exact, _) => Some(format!("{name} {value}")),
            };
            let params: Vec<String> = start.params.iter().filter_map(shown).collect();
            let with =
                if params.is_empty() { String::new() } else { format!(", {}", params.join(", ")) };
            format!("{} started the run, flow `{}`{with}", start.by.who, start.flow)
        }
        Event::RunHeld { hold: reason } => hold(reason),
        Event::RunResumed { by } => format!("{} resumed the run", by.who),
        Event::BudgetRaised { budget, by } => {
            format!("{} set the budget to {}", by.who, budget.to_short_text())
        }
        Event::SettingsChanged { change, by } => settings_changed(change, by),
        Event::ItemsListed { list, items, .. } => {
            let ids: Vec<&str> = items.iter().take(10).map(|item| item.id.as_str()).collect();
            let more = if items.len() > 10 { ", …" } else { "" };
            match items.len() {
                0 => format!("no {list}"),
                1 => format!("{list}: {}", ids.join(", ")),
                n => format!("{n} {list}: {}{more}", ids.join(", ")),
            }
        }
        Event::ItemsLeft { unit, items } => {
            format!("{}: {}", names.unit(unit), items_left(items))
        }
        Event::NeedsAsked { unit, gate } => {
            format!("{}: looking at what it needs", names.place(unit, gate.as_deref()))
        }
        Event::NeedsMet { unit, gate } => {
            format!("{} has what it needs", names.place(unit, gate.as_deref()))
        }
        Event::UnitSkipped { unit } => format!("{} skipped", names.unit(unit)),
        Event::GateSkipped { unit, gate } => {
            format!("{}: {} skipped", names.unit(unit), names.gate(gate))
        }
        Event::PathsWanted { unit } => {
            format!("{} looks whether its paths are free", names.unit(unit))
        }
        Event::PathsTaken { unit, what } => format!("{} waits: {}", names.unit(unit), line(what)),
        Event::PathsClaimed { unit } => format!("{} has its paths", names.unit(unit)),
        Event::AttemptStarted { attempt, call } => {
            format!("{} started{}", names.attempt(attempt), wishes(call.as_ref()))
        }
        Event::AttemptEnded { attempt, outcome, receipt } => {
            let attempt = names.attempt(attempt);
            let cost = receipt.as_ref().map(|receipt| cost(&receipt.spent)).unwrap_or_default();
            let said = receipt.as_ref().map_or("", |receipt| receipt.summary.as_str());
            match outcome {
                Outcome::Done if said.is_empty() => format!("{attempt} finished{cost}"),
                Outcome::Done => format!("{attempt} finished{cost}: {}", line(said)),
                Outcome::Partial { note } => {
                    format!("{attempt} partly done{cost}; left: {}", line(note))
                }
                Outcome::Blocked { what, .. } => {
                    format!("{attempt} blocked{cost}: {}", line(what))
                }
                Outcome::Fault { class: class @ FaultClass::Secret, what } => {
                    format!(
                        "{attempt} left a secret in its change{cost}, so nothing was committed: {}",
                        fault(*class, what)
                    )
                }
                Outcome::Fault { class, what } if class.is_about_form() => {
                    format!("{attempt} left no usable result{cost}: {}", fault(*class, what))
                }
                Outcome::Fault { class, what } => {
                    format!("{attempt} failed without a result{cost}: {}", fault(*class, what))
                }
                Outcome::Limited { until, what } => {
                    format!("{attempt} {}", limit(*until, &cost, what))
                }
                Outcome::Deferred { what, .. } => {
                    format!("{attempt} waits: {}", line(what))
                }
                Outcome::Lost => format!("{attempt} was lost{cost}: how it ended is unknown"),
                Outcome::Interrupted => format!("{attempt} was interrupted{cost}"),
            }
        }
        Event::JudgementStarted { judgement, call } => {
            format!("{} started{}", names.judgement(judgement), wishes(Some(call)))
        }
        Event::CallAssigned { call, to } => {
            let account = to.account.as_ref();
            let account = account.map(|name| format!(" with the account `{name}`"));
            let why = match to.why {
                AgentOrigin::Settings => String::new(),
                AgentOrigin::OtherVendor
                | AgentOrigin::Limit
                | AgentOrigin::TooLong
                | AgentOrigin::Refused => format!(", {}", to.why.as_words()),
            };
            let account = account.unwrap_or_default();
            format!("{} goes to {}{account}{why}", names.call(call), to.agent)
        }
        Event::WorkPassedOn { call, class, to } => {
            let why = match class {
                BlockerClass::ModelRefusal => "the model refused",
                BlockerClass::ContextOverflow
                | BlockerClass::ScopeExceeded
                | BlockerClass::ToolingFailure
                | BlockerClass::ExternalDependency
                | BlockerClass::NoAccess
                | BlockerClass::Unknown => "it was too long for the model",
            };
            let to = match to {
                Successor::Tier(tier) => format!("a model of the tier `{}`", tier.as_str()),
                Successor::Agent(agent) => format!("`{agent}`"),
            };
            format!("{}: {why}; {to} takes over", names.call(call))
        }
        Event::Judged { judgement: id, ruling, receipt } => {
            let judgement = names.judgement(id);
            let spent = cost(&receipt.spent);
            let cost = format!("{spent}{}", proved(&receipt.evidence));
            match ruling {
                Ruling::Verdict(Verdict::Pass { findings }) if findings.is_empty() => {
                    let is_silent = receipt.evidence.is_empty() && spent.is_empty();
                    let took = match receipt.took_ms {
                        ms if is_silent && ms >= LONG_MS => format!(" in {}", span(ms)),
                        _ => String::new(),
                    };
                    format!("{judgement} passed{took}{cost}")
                }
                Ruling::Verdict(Verdict::Pass { findings })
                    if findings.iter().any(Finding::is_serious) =>
                {
                    format!(
                        "{judgement} passed{cost}, but left serious findings: {}",
                        names.findings(findings)
                    )
                }
                Ruling::Verdict(Verdict::Pass { findings }) => {
                    format!("{judgement} passed{cost} with notes: {}", names.findings(findings))
                }
                // What failed is what was found.
                Ruling::Verdict(Verdict::Revise { findings }) => match (names, id.gate.as_str()) {
                    (Names::Short, "verify") => {
                        format!("{}{spent}: {}", id.attempt.label(), names.findings(findings))
                    }
                    (Names::Short | Names::Exact, _) => {
                        format!("{judgement} did not pass{spent}: {}", names.findings(findings))
                    }
                },
                Ruling::Verdict(Verdict::Block { reason, .. }) => {
                    format!("{judgement} says it cannot be fixed{cost}: {}", line(reason))
                }
                Ruling::Fault { class, what } => {
                    format!("{judgement} gave no verdict{cost}: {}", fault(*class, what))
                }
                Ruling::Unverified { what, .. } => {
                    format!("{judgement} could not verify it{cost}: {}", line(what))
                }
                Ruling::Blocked { what, .. } => {
                    format!("{judgement} blocked{cost}: {}", line(what))
                }
                Ruling::Limited { until, what } => {
                    format!("{judgement} {}", limit(*until, &cost, what))
                }
                Ruling::Lost => format!("{judgement} was lost{cost}: how it ended is unknown"),
                Ruling::Interrupted => format!("{judgement}: interrupted{cost}"),
            }
        }
        Event::CallSettled { call, spent, .. } => {
            format!("{} stopped, no longer needed{}", names.call(call), cost(spent))
        }
        Event::GatePassed { unit, gate, by: Approval::Automatic, verdict } => {
            let what = match names {
                Names::Short => names.unit(unit),
                Names::Exact => format!("{unit}: {gate}"),
            };
            let because = match (verdict, names) {
                (None, _) => "--auto".to_owned(),
                (
                    Some(VerdictWord::ApproveWithNotes | VerdictWord::PassWithNotes),
                    Names::Short,
                ) => "the review passed with notes".to_owned(),
                (Some(_), Names::Short) => "the review passed".to_owned(),
                (Some(verdict), Names::Exact) => format!("--auto; review: {}", verdict.as_str()),
            };
            format!("{what} approved automatically ({because})")
        }
        Event::GatePassed { unit, gate, by: Approval::Person { question }, .. } => {
            format!(
                "{}: {} approved by the answer to {question}",
                names.unit(unit),
                names.gate(gate)
            )
        }
        Event::GateWaived { unit, gate, why } => {
            let because = match why {
                Waiver::Advisory => "is advisory; its findings are noted".to_owned(),
                Waiver::RoundsUsedUp => "has no revisions left; its findings are noted".to_owned(),
                Waiver::NotShrinking => {
                    "found as many problems as before, so it is not sent back again; its findings \
                     are noted"
                        .to_owned()
                }
                Waiver::NothingToRedo => {
                    "names no stage that could change something; its findings are noted".to_owned()
                }
                Waiver::Person { question } => format!("overridden by the answer to {question}"),
            };
            format!("{}: {} {because}", names.unit(unit), names.gate(gate))
        }
        Event::QuestionAsked(question) => asked(question, &question_text(question), names),
        Event::Answered { question, answer, words, by } => {
            let words = if words.is_empty() { String::new() } else { format!(": {}", line(words)) };
            format!("{} answered {question} ({}){words}", by.who, answer.choice().label())
        }
        Event::UnitReopened { unit, by, findings, words } => {
            let what = match (findings.is_empty(), words.is_empty()) {
                (true, true) => String::new(),
                (_, false) => format!(": {}", line(words)),
                (false, true) => format!(": {}", names.findings(findings)),
            };
            let unit = names.unit(unit);
            match by {
                // What a gate found was said right before.
                SentBack::Gate { gate, .. } => match names {
                    Names::Short => format!("{unit} sent back by {}", names.gate(gate)),
                    Names::Exact => format!("{unit} sent back by {gate}{what}"),
                },
                SentBack::Landing => {
                    format!("{unit} sent back, it conflicts with merged work{what}")
                }
                SentBack::Partial => format!("{unit} continues with what is left{what}"),
                SentBack::Person { question } => {
                    format!("{unit} sent back by the answer to {question}{what}")
                }
                SentBack::Resumed => format!("{unit} starts again"),
            }
        }
        Event::UnitAccepted { unit } => format!("{} done", names.unit(unit)),
        Event::UnitFailed { unit, reason, .. } => {
            format!("{} failed: {}", names.unit(unit), line(reason))
        }
        Event::Landed { unit, brings: ResultChange::Unchanged, .. } => {
            format!("{}: nothing to merge, the branch already has it", names.unit(unit))
        }
        Event::Landed { unit, commit, head, .. } => {
            let commit = short_commit(head.as_ref().unwrap_or(commit));
            format!("{} merged as {commit}", names.unit(unit))
        }
        Event::Noticed { unit, what } => format!("{}: {}", names.unit(unit), line(what)),
        Event::Edited { attempt, edit, by, why } => {
            let what = match edit {
                Edit::Artifact { name, .. } => format!("`{name}`"),
                Edit::Code { commit, .. } => format!("the code ({})", short_commit(commit)),
            };
            format!(
                "{} changed {what} of {} by hand: {}",
                by.who,
                names.unit(&attempt.unit),
                line(why)
            )
        }
        Event::RunRewound { from, unit, by, .. } => {
            let (who, at) = (&by.who, names.unit(unit));
            match names {
                Names::Short => {
                    let from = from.rsplit('-').next().unwrap_or(from);
                    format!("{who} started this run from {at} of {from}")
                }
                Names::Exact => {
                    format!("{who} rewound to {at} of {from}; the entries above are shared")
                }
            }
        }
        Event::EndingKeyAdded { .. } => "a new process runs it from here on".to_owned(),
        Event::EffectIntended { mark, .. } => format!("starting {mark}"),
        Event::EffectDone { mark, reference, .. } => format!("completed {mark}: {reference}"),
        Event::RunEnded { end } => match end {
            End::Done => "the run is done".to_owned(),
            End::Failed => "the run failed".to_owned(),
            End::Blocked => "the run is blocked".to_owned(),
            End::Abandoned => "the run was abandoned".to_owned(),
        },
    }
}

/// Returns what a call wants of its agent, as the rest of a sentence.
fn wishes(call: Option<&Call>) -> String {
    call.and_then(|call| call.wish).map(Wish::to_words).unwrap_or_default()
}

/// Returns why a run is held, as a sentence.
pub(super) fn hold(hold: &Hold) -> String {
    match hold {
        Hold::Paused { by } => format!("{} paused the run", by.who),
        Hold::Interrupted { by } => format!("{} pressed Ctrl-C", by.who),
        Hold::Stopped { by } => format!("{} stopped the run", by.who),
        Hold::OutOfBudget { .. } => {
            format!("out of budget: {}", held_because(hold))
        }
        Hold::Escalated { .. } | Hold::Unfinished { .. } => {
            format!("needs attention: {}", held_because(hold))
        }
    }
}

/// Returns why a run is held, beside the word for how it stands.
pub(super) fn held_because(held: &Hold) -> String {
    match held {
        Hold::Paused { .. } | Hold::Interrupted { .. } | Hold::Stopped { .. } => hold(held),
        Hold::OutOfBudget { what } | Hold::Escalated { what } => what.clone(),
        Hold::Unfinished { unit, note } => {
            format!(
                "{} is only partly done and has no attempts left; left: {}",
                unit.label(),
                line(note)
            )
        }
    }
}

/// Says who asks what.
pub(super) fn asked(question: &Question, text: &str, names: Names) -> String {
    format!("{} asks about {}: {text}", question.id, names.unit(&question.unit))
}

/// Returns a question, as a sentence.
pub(super) fn question_text(question: &Question) -> String {
    let gate = question.gate.as_deref().unwrap_or_default();
    match &question.why {
        QuestionReason::Checkpoint { text } => text.clone(),
        QuestionReason::RoundsUsedUp => {
            let does = capitalized(&gate_does(gate, "still does not pass", "still do not pass"));
            format!("{does}, and no revisions are left. What now?")
        }
        QuestionReason::NotShrinking => {
            let finds = capitalized(&gate_does(gate, "finds", "find"));
            format!("{finds} as many problems as before. What now?")
        }
        QuestionReason::NoResult { class, what } if gate.is_empty() => {
            let last = class.map_or_else(|| last_line(what), |class| fault(class, what));
            let last = last.trim_end_matches('.');
            match class {
                Some(FaultClass::Crashed) => format!("The work failed: {last}. What now?"),
                Some(_) | None => format!("No usable result: {last}. What now?"),
            }
        }
        // The work has a result, but its gate may not spend more.
        QuestionReason::NoResult { what, .. } => {
            let cannot = capitalized(&gate_does(gate, "cannot run", "cannot run"));
            format!("{cannot}: {}. What now?", last_line(what).trim_end_matches('.'))
        }
        QuestionReason::CapReached { cap } => {
            let cap = cap.map(|cap| format!(" of {}", cap.to_short_text())).unwrap_or_default();
            match gate {
                "" => format!("The budget{cap} was used up before there was a result. What now?"),
                gate => {
                    format!("`{gate}` reached its budget{cap} before it had a verdict. What now?")
                }
            }
        }
        QuestionReason::Setbacks { n } => {
            format!("The work was lost, interrupted or rate-limited {n} times in a row. What now?")
        }
        QuestionReason::NoVerdict { what } => {
            format!(
                "`{gate}` repeatedly gave no verdict: {}. What now?",
                last_line(what).replace(NOT_IN_OUTBOX, NOT_WRITTEN).trim_end_matches('.')
            )
        }
        QuestionReason::Blocked { class, what } => {
            blocked(*class, gate, line(what).trim_end_matches('.'))
        }
        QuestionReason::DoesNotLand => {
            "This change conflicted twice with work that was merged meanwhile. What now?".to_owned()
        }
        QuestionReason::NothingToRedo => {
            format!(
                "{}, and the flow names no stage that could fix it. What now?",
                capitalized(&gate_does(gate, "does not pass", "do not pass"))
            )
        }
        QuestionReason::Unverified { what, .. } => {
            format!("Nothing verifies this change: {}. What now?", line(what).trim_end_matches('.'))
        }
        QuestionReason::Guarded => {
            "This change touches protected files (tests, CI, settings). Accept it?".to_owned()
        }
        QuestionReason::Objected { what } => {
            format!(
                "`{gate}` says that no change can fix this: {}. What now?",
                line(what).trim_end_matches('.')
            )
        }
        QuestionReason::Doubted { what } => {
            let who =
                if gate.is_empty() { "The work is done" } else { "The work passed its review" };
            format!("{who}, but serious findings remain: {}. Continue anyway?", lines(what))
        }
        QuestionReason::NothingChanged => {
            "The work is done, and nothing changed. Is that right?".to_owned()
        }
        QuestionReason::Unfinished { what } => {
            format!(
                "The work is only partly done, and no attempts are left; left: {}. What now?",
                line(what).trim_end_matches('.')
            )
        }
        QuestionReason::NotReady { unmet } => {
            let who = if gate.is_empty() { "This stage".to_owned() } else { format!("`{gate}`") };
            let unmet: Vec<String> = unmet.iter().map(ToString::to_string).collect();
            format!("{who} cannot begin: {}. What now?", lines(&unmet))
        }
        QuestionReason::LandedAlready => {
            let does = capitalized(&gate_does(gate, "does not pass", "do not pass"));
            format!("{does}, but the work is already merged. What now?")
        }
    }
}

/// What an agent is told of a file that is missing, and a person.
const NOT_IN_OUTBOX: &str = " is not in the outbox";
const NOT_WRITTEN: &str = " was not written";

/// Returns a part of a sentence as its beginning.
pub fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Returns what stands in the way, and what a person can do about it.
fn blocked(class: BlockerClass, gate: &str, what: &str) -> String {
    let who = if gate.is_empty() { "The work".to_owned() } else { format!("`{gate}`") };
    match class {
        BlockerClass::NoAccess => format!(
            "The provider refuses access: {what}. Log in and retry, or switch model or agent. What now?"
        ),
        BlockerClass::ContextOverflow
        | BlockerClass::ScopeExceeded
        | BlockerClass::ModelRefusal
        | BlockerClass::ToolingFailure
        | BlockerClass::ExternalDependency
        | BlockerClass::Unknown => format!("{who} is blocked: {what}. What now?"),
    }
}

/// Returns when a limit is over, and which one it is.
fn limit(until: Time, cost: &str, what: &str) -> String {
    match line(what).as_str() {
        "" => format!("rate-limited until {}{cost}", moment(until)),
        // The reason may be another one, such as a network that is down.
        what => format!("waits until {}{cost}: {what}", moment(until)),
    }
}

/// Phrases the checks that Forge ran itself.
fn proved(evidence: &[Evidence]) -> String {
    // What it says where the run started is for the brief.
    let tree = evidence.first().map(|one| &one.tree);
    let words = evidence.iter().filter(|one| Some(&one.tree) == tree).map(|one| {
        let colour = match (one.colour, one.took_ms) {
            (Colour::Green, Some(_)) => "passed",
            (Colour::Green, None) => "passed before, on the same code",
            (Colour::Red, _) => "failed",
        };
        let place = match (one.colour, one.start) {
            (Colour::Green, ProofStart::Pristine) => ", in a clean checkout",
            (Colour::Green | Colour::Red, ProofStart::Cached | ProofStart::Pristine) => "",
        };
        format!("`{}` {colour}{place}", one.command)
    });
    let mut words: Vec<String> = words.collect();
    words.dedup();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

/// Returns a commit, as people write it.
pub fn short_commit(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

fn cost(spent: &Spent) -> String {
    match spent.cost {
        Cost::Known(money) | Cost::Estimated(money) if money.0 == 0 => String::new(),
        Cost::Known(money) => format!(" ({money})"),
        Cost::Estimated(money) => format!(" (about {money})"),
        Cost::Unknown if spent.at_least.0 > 0 => format!(" (at least {})", spent.at_least),
        Cost::Unknown => " (cost unknown)".to_owned(),
    }
}

/// Joins the first three of some lines.
fn lines(what: &[String]) -> String {
    let more = what.len().saturating_sub(3);
    let more = if more > 0 { format!("; {more} more") } else { String::new() };
    let words: Vec<String> =
        what.iter().take(3).map(|one| line(one).trim_end_matches('.').to_owned()).collect();
    format!("{}{more}", words.join("; "))
}

fn line(text: &str) -> String {
    first_line(text, WORDS_MAX)
}

/// Returns a failure, in one line.
pub(super) fn fault(class: FaultClass, what: &str) -> String {
    let (line, more) = main_line(class, what);
    let line = shorten(&line.replace(NOT_IN_OUTBOX, NOT_WRITTEN), WORDS_MAX);
    if more == 0 { line } else { format!("{line} and {more} more") }
}

fn last_line(text: &str) -> String {
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    shorten(last, WORDS_MAX)
}

/// The most characters of a text inside a sentence.
const WORDS_MAX: usize = 160;

/// Returns a change of the settings, with what it means for the evidence.
pub(super) fn settings_changed(change: &SettingsChange, by: &Person) -> String {
    let set: Vec<String> =
        change.set.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    let evidence = match change.evidence {
        Before::Kept => "",
        Before::Void => "; earlier evidence no longer counts",
    };
    format!("{} changed settings: {}{evidence}", by.who, set.join(", "))
}
