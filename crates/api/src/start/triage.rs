//! One light look at a request by an agent, before anything of its run is made.
//!
//! The call has a folder and a keeper, as every call has, in a temporary place outside the repository. It may
//! take little time and money, and reads the request and nothing else.
//!
//! Only a clear `block` refuses a request. A look that fails, is limited or says nothing that can be read is no
//! wall: it is said that nobody looked, and the run begins. It is advice before a run; what is made is
//! judged by the gates.
//!
//! Invariant: what it cost is paid by the run that begins, or reported and kept (`refused_requests.rs`) where none begins.
//! Invariant: nothing is written into the repository, and nothing of the call is left alive.

use std::path::Path;

use forge_agents::{AgentEnd, AgentKind, ErrorClass};
use forge_core::{
    event::{Coherence, TriageOutcome},
    flow::REQUEST,
    money::{Cost, Money, Spent, Used},
    result::{AgentResult, ReportedFinding, ReportedVerdict},
    routing::{CallPlace, Route},
    view::Amount,
};
use forge_driver::{
    Error,
    agent_call::usage::{model_use, spent},
    clock,
    seats::free_account,
    secrets::{redacted_text, without_values},
    setup::turn::BRIEF,
    signals::Signals,
};
use forge_keeper::AttemptFolder;
use forge_project::{
    catalog::Role,
    settings::{Account, AgentTable, Switch},
};
use forge_store::atomic_file::replace;

use crate::{
    agents::{
        list::command,
        one_shot::{CallFolder, OneShot, read_ended_call, run_to_its_end},
    },
    forge::Forge,
    refused_requests::keep_refused,
    start::{ready::Ready, validate_text::refused},
};

/// The name of the call.
const CALL: &str = "coherence#1";
/// The most that one triage call may cost.
const CAP: Money = Money(50_000);

/// Of what was found, this much is shown.
const FINDINGS_SHOWN: usize = 5;

/// The outcome of the triage call.
enum TriageResult {
    /// The request can be acted on.
    Passed(Coherence),
    /// Nobody could act on it, and why that is, with what it cost to find out, and what was found in words.
    Blocked(Coherence, Vec<String>),
    /// Nobody has looked, and why, with what that cost all the same.
    Unseen(Coherence),
    /// The person stopped before anything came of it, with what is known of its cost.
    Stopped(Coherence),
}

impl Forge {
    /// Lets the flow's agent look at the request. Gives what it cost, and what a person should know.
    pub(super) fn look_at_request(
        &self,
        ready: &Ready,
        budget: Option<Money>,
        signals: &mut Signals,
    ) -> Result<(Option<Coherence>, Option<String>), Error> {
        let Some(role) = ready.looker() else { return Ok((None, None)) };
        let (_, prompt) = ready.catalog.role_text(&ready.found, role)?;
        let Some(player) = ready.player(CallPlace::of_role(role), None) else {
            return Ok((None, None));
        };
        let accounts = ready.settings.accounts();
        let look = TriageCall {
            name: &player.agent.name,
            table: &ready.settings.agents[&player.agent.name],
            account: free_account(&accounts, &player.agent.name, clock::now()),
            model: player.agent.model.as_deref(),
            route: player.route,
            role,
            prompt: &prompt,
            scenario: ready.scenario.as_ref().map(|(text, _)| text.as_str()),
            top: self.home.repository.top.as_deref(),
            cap: cap(ready, budget),
        };
        let place = CallFolder::make()?;
        let looked = look.call(&place, &without_values(&ready.text, &ready.secrets), signals);
        place.remove();
        match looked? {
            TriageResult::Passed(coherence) => Ok((Some(coherence), None)),
            TriageResult::Blocked(coherence, found) => {
                keep_refused(&self.home, role, &coherence)?;
                let (why, paid) = (coherence.summary.trim(), paid(&coherence.spent));
                let mut what = format!("the request is not clear enough to act on: {why}");
                for found in &found {
                    what.push_str("\n- ");
                    what.push_str(found);
                }
                Err(refused(what + &paid))
            }
            TriageResult::Stopped(coherence) => {
                keep_refused(&self.home, role, &coherence)?;
                let paid = paid(&coherence.spent);
                let what = format!("stopped before the run started; nothing was created{paid}");
                Err(Error { kind: forge_project::error::Kind::Interrupted, what, next: None })
            }
            TriageResult::Unseen(coherence) => {
                let note = format!("the request was not checked: {}", coherence.summary.trim());
                // Nothing is said of a look that cost nothing, as if there had been none.
                let is_free = coherence.spent == Spent::NOTHING;
                let paid = (!is_free).then(|| Coherence { summary: note.clone(), ..coherence });
                Ok((paid, Some(note)))
            }
        }
    }
}

impl Ready {
    /// Returns the role that looks at the request, if anybody does.
    pub(super) fn looker(&self) -> Option<&str> {
        match self.settings.coherence {
            Switch::Off => return None,
            Switch::On => {}
        }
        let role = self.found.flow.coherence.as_deref()?;
        let agent = self.settings.agents.get(self.settings.agent_for(role)?)?;
        if !agent.like.plays_scenario() {
            return Some(role);
        }
        // A scenario that does not name the role plays a run without triage.
        let (text, _) = self.scenario.as_ref()?;
        let scenario = forge_agents::scripted::Scenario::parse(text).ok()?;
        let plays = scenario.play.iter().any(|play| play.role.as_deref() == Some(role));
        plays.then_some(role)
    }
}

/// Returns what was found, one line each. More than a person would read is only counted.
fn finding_lines(findings: &[ReportedFinding]) -> Vec<String> {
    let line = |finding: &ReportedFinding| {
        let why = finding.why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        let text = redacted_text(&format!("{}{why}", finding.what));
        text.split_whitespace().collect::<Vec<&str>>().join(" ")
    };
    let mut lines: Vec<String> = findings.iter().take(FINDINGS_SHOWN).map(line).collect();
    if findings.len() > FINDINGS_SHOWN {
        lines.push(format!("and {} more", findings.len() - FINDINGS_SHOWN));
    }
    lines
}

/// Phrases the cost of a triage call that no run pays for.
fn paid(spent: &Spent) -> String {
    let amount = match spent.cost {
        Cost::Known(Money(0)) => return String::new(),
        Cost::Known(known) => Amount { known, ..Amount::default() },
        Cost::Estimated(estimated) => Amount { estimated, ..Amount::default() },
        Cost::Unknown => return "\nthe cost of this check is unknown".to_owned(),
    };
    format!("\nthis check cost {}", amount.to_text())
}

/// Returns what the look may cost: no more than any other call, and no more than the run.
fn cap(ready: &Ready, budget: Option<Money>) -> Money {
    let limits = &ready.settings.limits;
    let caps = [limits.call_budget(), budget.or(limits.budget())];
    caps.into_iter().flatten().fold(CAP, Money::min)
}

/// A look at one request.
struct TriageCall<'a> {
    name: &'a str,
    table: &'a AgentTable,
    /// The account that it uses, if it is one of several.
    account: Option<&'a Account>,
    model: Option<&'a str>,
    route: Option<Route>,
    role: &'a str,
    prompt: &'a Role,
    scenario: Option<&'a str>,
    top: Option<&'a Path>,
    cap: Money,
}

impl TriageCall<'_> {
    fn kind(&self) -> AgentKind {
        self.table.like
    }

    fn call(
        &self,
        place: &CallFolder,
        text: &str,
        signals: &mut Signals,
    ) -> Result<TriageResult, Error> {
        let error = |error: std::io::Error| Error::file(&place.path, &error);
        let (spec, env) = self.one_shot().prepare(place)?;
        let folder = AttemptFolder::create(&place.folder().path, &spec).map_err(error)?;
        replace(&folder.inbox().join(REQUEST), text.as_bytes()).map_err(error)?;
        replace(&folder.path.join(BRIEF), self.brief(&folder, text).as_bytes()).map_err(error)?;
        let ending = run_to_its_end(&folder, &env, signals)?;
        let asked_for = self.model.or(self.table.model.as_deref());
        let (stream, end) = read_ended_call(self.kind(), asked_for, &folder, ending.as_ref());
        let uses = stream.uses();
        let took = ending.map(|ending| ending.ended_at_ms.saturating_sub(ending.started_at_ms));
        let cost = |came_to: TriageOutcome, summary: &str| Coherence {
            spent: spent(&uses),
            used: Some(Used {
                agent: self.name.to_owned(),
                account: self.account.map(|account| account.name.clone()),
                asked_for: self.model.map(str::to_owned),
                models: uses.iter().map(model_use).collect(),
            }),
            took_ms: took.unwrap_or_default(),
            summary: redacted_text(summary),
            came_to,
        };
        // A run would only find out the same at its first stage.
        if let AgentEnd::Failed { class: ErrorClass::Auth, what } = &end {
            let name = self.name;
            let next = self.kind().how_to_log_in().map_or_else(
                || format!("log in with {name}, then run the same command again"),
                str::to_owned,
            );
            let what = redacted_text(what.trim());
            return Err(Error::surroundings(format!("{name} is not logged in: {what}"), next));
        }
        let result = match end {
            AgentEnd::Done => self.one_shot().result(&stream, &folder),
            AgentEnd::Interrupted => {
                return Ok(TriageResult::Stopped(cost(TriageOutcome::Nothing, "")));
            }
            AgentEnd::Limited(limit) => Err(limit.what),
            AgentEnd::Failed { what, .. }
            | AgentEnd::Refused { what }
            | AgentEnd::Overflowed { what }
            | AgentEnd::OverBudget { what } => Err(what),
            AgentEnd::SessionGone => Err("its session is gone".to_owned()),
            AgentEnd::Stopped(_) => Err("it took longer or printed more than allowed".to_owned()),
            AgentEnd::NotStarted { why } => Err(why),
            AgentEnd::Lost => Err("the process that ran it was killed".to_owned()),
        };
        Ok(match result {
            Err(why) => {
                TriageResult::Unseen(cost(TriageOutcome::Nothing, &format!("{}: {why}", self.name)))
            }
            Ok(AgentResult { verdict: Some(ReportedVerdict::Pass), summary, .. }) => {
                TriageResult::Passed(cost(TriageOutcome::Pass, &summary))
            }
            Ok(AgentResult {
                verdict: Some(ReportedVerdict::Block), summary, findings, ..
            }) => {
                let found = finding_lines(&findings);
                TriageResult::Blocked(cost(TriageOutcome::Block, &summary), found)
            }
            Ok(AgentResult { verdict: Some(ReportedVerdict::Revise) | None, .. }) => {
                TriageResult::Unseen(cost(
                    TriageOutcome::Nothing,
                    &format!("{} answered neither pass nor block", self.name),
                ))
            }
        })
    }

    fn one_shot(&self) -> OneShot<'_> {
        let mut words = command(self.table);
        // A path of the repository leads nowhere from where this works.
        if let (Some(program), Some(top)) = (words.first_mut(), self.top)
            && program.contains('/')
        {
            *program = top.join(&*program).to_string_lossy().into_owned();
        }
        OneShot {
            call: CALL,
            role: self.role,
            table: self.table,
            command: words,
            model: self.model,
            account: self.account,
            wish: self.route.map(|route| route.wish),
            must: &self.prompt.must,
            cap: self.cap,
            scenario: self.scenario.unwrap_or_default(),
        }
    }

    /// Writes the brief of the triage.
    fn brief(&self, folder: &AttemptFolder, text: &str) -> String {
        let how = if self.kind().has_native_schema() {
            "Your decision, as the structured output that you are asked for: one JSON object with these keys and no others (`forge` is the number 1).".to_owned()
        } else {
            let outbox = folder.outbox();
            format!(
                "Your decision, as the file `result.json` in `{}` (`$FORGE_OUTBOX`): one JSON object with these keys and no others (`forge` is the number 1).",
                outbox.display()
            )
        };
        format!(
            "{}\n\n## The request\n\n{text}\n\n## What you may read\n\n`{}`, which is the request above. Nothing else.\n\n\
             ## What you must leave\n\n{how}\n\n\
             ```text\n\
             forge    1\n\
             attempt  \"{CALL}\"\n\
             status   \"done\"\n\
             summary  at most 500 characters\n\
             verdict  \"pass\" or \"block\"\n\
             ```\n",
            self.prompt.prompt,
            folder.inbox().join(REQUEST).display()
        )
    }
}

#[cfg(test)]
mod tests {
    use forge_core::verdict::Severity;

    use super::*;

    #[test]
    fn a_refusal_shows_what_was_found_up_to_a_limit() {
        let finding = |what: String| ReportedFinding {
            severity: Severity::Major,
            path: None,
            line: None,
            what,
            why: Some("nobody\ncooks here".to_owned()),
            proof: None,
            was: None,
        };
        let found: Vec<ReportedFinding> = (0..7).map(|n| finding(format!("soup {n}"))).collect();
        assert_eq!(finding_lines(&[]), Vec::<String>::new());
        assert_eq!(finding_lines(&found[..1]), ["soup 0: nobody cooks here"]);
        assert_eq!(finding_lines(&found[..FINDINGS_SHOWN]).len(), FINDINGS_SHOWN);
        assert_eq!(finding_lines(&found).last().map(String::as_str), Some("and 2 more"));
    }

    #[test]
    fn a_refusal_tells_what_it_cost() {
        let of = |cost: Cost| paid(&Spent { cost, ..Spent::NOTHING });
        assert_eq!(of(Cost::Known(Money(0))), "");
        assert_eq!(of(Cost::Known(Money(40_000))), "\nthis check cost $0.04");
        assert_eq!(of(Cost::Estimated(Money(40_000))), "\nthis check cost about $0.04");
        assert_eq!(of(Cost::Unknown), "\nthe cost of this check is unknown");
    }
}
