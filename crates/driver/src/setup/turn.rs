//! One turn of an agent: its program, its brief and its inbox.

use std::{collections::BTreeSet, ffi::OsString, path::Path};

use forge_agents::{REPAIR_TURN, RESUME_TURN, Session, TURN_VARIABLE, result_schema, session_id};
use forge_core::{
    Run,
    id::CallId,
    inbox::{self, ComposedText, InboxEntry, InboxSource, artifact_name},
    result::RESULT_FILE,
    run::{CallKind, Due, EndedCall},
    view::{friction, friction_markdown, statistics_markdown},
};
use forge_keeper::{AttemptFolder, Spec};
use forge_project::settings::{FrozenAgent, Player};
use forge_store::{atomic_file::replace_on, blobs::BlobId};
use forge_workspace::Diff;

use crate::{
    Error,
    agent_call::{
        output::{ARTIFACT_BYTES_MAX, declared_artifacts},
        usage::used_before,
    },
    checkouts::{DIFF_BYTES_MAX, judged_commit, own_commit, scope_of, shown_change, so_far, span},
    checks::checks_at,
    context::{RunContext, damaged, read_file_text},
    optional_keys::unused_result_keys,
    plan::step::Turn,
    result_keys::required_result_keys,
    setup::{
        brief::{
            CHANGE, ChangedFiles, CodeBrief, Given, Hearing, LAST, Leaves, Places, SINCE,
            SinceLastLook, brief, repair,
        },
        environment::agent_git_config,
        launch::AgentLaunch,
    },
    work_pages::run_phases,
};

/// The most files that are brought from one outbox to another.
const OUTBOX_FILES_MAX: usize = 200;

/// What an agent is told, in the folder of each of its turns.
pub const BRIEF: &str = "brief.md";

/// In whose memory a turn goes on.
enum Kept {
    New(String),
    Resume(String),
}

impl RunContext<'_> {
    /// How a turn of an agent is run, and with which environment.
    pub(super) fn turn_spec(
        &self,
        run: &Run,
        call: &CallId,
        path: &Path,
        turn: &Turn,
        dir: &Path,
        role: &str,
    ) -> Result<(Spec, Vec<(OsString, OsString)>), Error> {
        let Player { agent, route } = self.player(run, call);
        let account = self.seats.account_of(run, call)?;
        let wish = route.map(|route| route.wish);
        let kind = agent.like;
        let under_way = &run.calls()[call];
        let boxes = self.boxes(under_way.ordinal);
        let ordinal = under_way.ordinal.to_string();
        let new = |names: &[&str]| session_id(&[&[self.id, &ordinal], names].concat());
        let interrupted = run.session(call).filter(|_| agent.can_resume());
        let before = match turn {
            Turn::First => used_before(run, call, kind, self.frozen),
            Turn::Anew | Turn::Repair { .. } => self.frozen_prices(),
        };
        let earlier = match turn {
            Turn::First | Turn::Anew => &before,
            Turn::Repair { earlier, .. } => earlier,
        };
        let (session, word, spent) = match turn {
            Turn::First => match interrupted {
                Some(session) => (Kept::Resume(session.to_owned()), Some(RESUME_TURN), 0),
                None => (Kept::New(new(&[])), None, 0),
            },
            Turn::Anew => (Kept::New(new(&["anew"])), None, 0),
            Turn::Repair { session, spent_micros, .. } => {
                (Kept::Resume(session.clone()), Some(REPAIR_TURN), *spent_micros)
            }
        };
        let cap_micros = under_way.reserved.map(|held| held.0.saturating_sub(spent));
        let schema = if kind.has_native_schema() {
            let required = required_result_keys(self, run, call, role)?;
            let unused = unused_result_keys(call, &required);
            Some(result_schema(&call.to_string(), &required, &unused))
        } else {
            None
        };
        let inbox_and_outbox = (boxes.inbox(), boxes.outbox());
        let launch = AgentLaunch {
            call: call.to_string(),
            role,
            kind,
            turn: forge_agents::TurnRequest {
                command: &agent.command,
                model: agent.model.as_deref(),
                effort: wish.and_then(|wish| wish.effort).map(|effort| effort.is),
                thinking: wish.and_then(|wish| wish.thinking).map(|thinking| thinking.is),
                session: match &session {
                    Kept::New(session) => Session::New(session),
                    Kept::Resume(session) => Session::Resume(session),
                },
                access: self.code_access(run, call)?,
                dir,
                inbox: &inbox_and_outbox.0,
                outbox: &inbox_and_outbox.1,
                tmp: None,
                schema: schema.as_ref(),
                cap_micros,
            },
            pass: &agent.pass,
            account,
            earlier,
            own_program: self.own_program()?,
            scenario: kind.plays_scenario().then(|| self.scripted(&agent)).transpose()?,
            dir: dir.to_owned(),
            brief: path.join(BRIEF),
            limits: self.limits(),
            boxes: Some(boxes.path),
        };
        let (spec, mut env) = launch.to_spec();
        env.extend(word.map(|word| (TURN_VARIABLE.into(), word.into())));
        env.push(("FORGE_RUN".into(), self.id.into()));
        self.protect_git_config(&mut env)?;
        Ok((spec, env))
    }

    /// Gives an agent a git configuration of its own: what it sets in git for good stays in that file.
    fn protect_git_config(&self, env: &mut Vec<(OsString, OsString)>) -> Result<(), Error> {
        if self.disk.list(&self.checkouts).is_ok() {
            let path = self.checkouts.join("gitconfig");
            let text = agent_git_config(&self.home.repository);
            replace_on(self.disk, &path, text.as_bytes())
                .map_err(|error| Error::file(&path, &error))?;
            env.push(("GIT_CONFIG_GLOBAL".into(), path.into()));
            env.push(("GIT_TERMINAL_PROMPT".into(), "0".into()));
        }
        Ok(())
    }

    /// Puts into the inbox what a call may read, and says what that is.
    pub(super) fn fill_inbox(
        &self,
        run: &Run,
        call: &CallId,
        folder: &AttemptFolder,
    ) -> Result<Vec<InboxEntry>, Error> {
        let readings = inbox::entries(run, call.unit(), call.gate());
        for reading in &readings {
            let path = folder.inbox().join(&reading.name);
            let bytes = match &reading.source {
                InboxSource::Request => run.definition().start.request.clone().into_bytes(),
                InboxSource::Blob(blob) => self.blob(blob)?,
                InboxSource::Composed(text) => self.composed(*text)?.into_bytes(),
            };
            replace_on(self.disk, &path, &bytes).map_err(|error| Error::file(&path, &error))?;
        }
        Ok(readings)
    }

    /// A text that is composed from what happened in the run so far.
    fn composed(&self, text: ComposedText) -> Result<String, Error> {
        let events = run_phases(self.journal, self.id)?;
        Ok(match text {
            ComposedText::Statistics => statistics_markdown(&events),
            ComposedText::Friction => friction_markdown(&friction(&events)),
        })
    }

    /// Writes down what an agent is told in a turn, and gives it what it may read.
    pub(super) fn tell(
        &self,
        run: &Run,
        call: &CallId,
        folder: &AttemptFolder,
        turn: &Turn,
        conflicts: &[String],
    ) -> Result<(), Error> {
        let CallKind::Agent { role } = run.call_kind(call) else {
            unreachable!("only agents have turns")
        };
        let agent = self.player(run, call).agent;
        let leaves = if agent.like.has_native_schema() { Leaves::Answer } else { Leaves::File };
        let role = self.role(run, call, &role)?;
        let boxes = self.boxes(run.calls()[call].ordinal);
        let places = Places {
            inbox: read_file_text(boxes.inbox())?,
            outbox: read_file_text(boxes.outbox())?,
            leaves,
        };
        let mut handed_back = Vec::new();
        if *turn == Turn::First {
            let made = self.executor.make_boxes(&boxes);
            made.map_err(|error| Error::file(&boxes.path, &error))?;
            let goes_on = run.session(call).is_some() && agent.can_resume();
            let mut before = calls_before(run, call);
            let is_form_error = before.next().is_some_and(|ended| {
                ended.ending.is_form_error() && is_about_same_work(&ended.call, call)
            });
            if goes_on || is_form_error {
                handed_back = self.refill_outbox(run, call, &boxes)?;
            }
        }
        let text = match turn {
            Turn::Repair { flaw, .. } => repair(run, call, &role, flaw, &places),
            Turn::First | Turn::Anew => {
                let readings = self.fill_inbox(run, call, &boxes)?;
                let stage = run.stage(call.unit());
                let change = match call {
                    CallId::Attempt(_) if !stage.reads.iter().any(|name| name == CHANGE) => None,
                    CallId::Attempt(_) | CallId::Judgement(_) => self.change(run, call, &boxes)?,
                };
                let left_before = self.left_before(run, call, &readings, &boxes)?;
                let since = self.since_last_look(run, call, &readings, &boxes)?;
                let instructions = match &run.definition().start.instructions {
                    Some(blob) => Some(String::from_utf8_lossy(&self.blob(blob)?).into_owned()),
                    None => None,
                };
                let checks = match run.head() {
                    Some(head) => checks_at(self.frozen, run, self.code, head)?.known(),
                    None => Vec::new(),
                };
                let base = run.definition().start.base.as_deref();
                let base_tree = base.map(|base| self.code.code_tree(base)).transpose()?;
                let code = CodeBrief {
                    is_set_up: !self.frozen.setup.is_empty(),
                    base_tree: base_tree.as_deref(),
                    instructions: instructions.as_deref(),
                    access: self.code_access(run, call)?,
                    has_checkout: run.definition().start.base.is_some(),
                    checks: &checks,
                    conflicts,
                    change,
                    own_commit: match call {
                        CallId::Attempt(attempt) if attempt.number > 1 => {
                            // What is in the result is everybody's.
                            own_commit(run, &scope_of(run, call.unit()))
                                .filter(|commit| run.head() != Some(*commit))
                        }
                        CallId::Attempt(_) | CallId::Judgement(_) => None,
                    },
                };
                let goes_on = *turn == Turn::First && agent.can_resume();
                let hearing = match run.session(call).filter(|_| goes_on) {
                    Some(_) => Hearing::Again,
                    None => Hearing::First,
                };
                // Who goes on in its session hears of its outbox first of all.
                let handed_back = match hearing {
                    Hearing::First => handed_back.as_slice(),
                    Hearing::Again => &[],
                };
                let given = Given {
                    inbox: &readings,
                    left_before: &left_before,
                    handed_back,
                    since,
                    blocks: &self.blocks(run, call, &role, &boxes)?,
                    code,
                };
                brief(run, call, &role, &given, hearing, &places)
            }
        };
        let path = folder.path.join(BRIEF);
        replace_on(self.disk, &path, text.as_bytes()).map_err(|error| Error::file(&path, &error))
    }

    /// Puts into the outbox of a call that goes on in a session, or whose result had a flaw, what the call before it had left in
    /// its own; returns the names. Not the result: that names the other call.
    fn refill_outbox(
        &self,
        run: &Run,
        call: &CallId,
        boxes: &AttemptFolder,
    ) -> Result<Vec<String>, Error> {
        let mut outboxes = calls_before(run, call).map(|ended| self.boxes(ended.ordinal).outbox());
        // A call that made way has none.
        let Some(before) = outboxes.find(|outbox| self.disk.list(outbox).is_ok()) else {
            return Ok(Vec::new());
        };
        let entries = self.executor.entries(&before).into_iter().take(OUTBOX_FILES_MAX);
        let entries = entries.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
        let mut names: BTreeSet<String> = entries.collect();
        names.extend(declared_artifacts(run, call));
        names.remove(RESULT_FILE);
        let mut put = Vec::new();
        for name in names {
            // What cannot be read as a file is the agent's to write again.
            let Ok(bytes) = self.executor.collect(&before, &name, ARTIFACT_BYTES_MAX) else {
                continue;
            };
            let path = boxes.outbox().join(&name);
            replace_on(self.disk, &path, &self.redacted(&bytes))
                .map_err(|error| Error::file(&path, &error))?;
            put.push(name);
        }
        Ok(put)
    }

    /// Gives the agent of a unit that was sent back what it wrote itself and does not find in its inbox; returns the names.
    pub(super) fn left_before(
        &self,
        run: &Run,
        call: &CallId,
        inbox: &[InboxEntry],
        folder: &AttemptFolder,
    ) -> Result<Vec<String>, Error> {
        let unit = run.unit(call.unit());
        let mut left = Vec::new();
        match (call, unit.due) {
            (CallId::Attempt(_), Due::Again) => {}
            (CallId::Attempt(_), Due::Fresh) | (CallId::Judgement(_), _) => return Ok(left),
        }
        for name in &run.stage(call.unit()).writes {
            let name = artifact_name(run, name, &call.unit().scope);
            let is_given = inbox.iter().any(|reading| reading.name == name);
            if let Some(blob) = unit.artifacts.get(&name).filter(|_| !is_given) {
                let name = format!("{LAST}/{name}");
                let path = folder.inbox().join(&name);
                replace_on(self.disk, &path, &self.blob(blob)?)
                    .map_err(|error| Error::file(&path, &error))?;
                left.push(name);
            }
        }
        Ok(left)
    }

    /// Gives a reviewer what changed since a review last looked at this work.
    pub(super) fn since_last_look(
        &self,
        run: &Run,
        call: &CallId,
        inbox: &[InboxEntry],
        folder: &AttemptFolder,
    ) -> Result<SinceLastLook, Error> {
        let CallId::Judgement(judgement) = call else { return Ok(SinceLastLook::None) };
        let unit = run.unit(call.unit());
        let mut diff = Vec::new();
        // Other gates may have sent it back before this one looked at all.
        if calls_before(run, call).any(|before| !is_about_same_work(&before.call, call)) {
            for (name, before) in &unit.replaced {
                let now = unit.artifacts.get(name).filter(|now| *now != before);
                let now = now.filter(|_| inbox.iter().any(|entry| entry.name == *name));
                let Some(now) = now else { continue };
                let (before, now) = (self.blob(before)?, self.blob(now)?);
                let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
                let (before, now) = (text(&before), text(&now));
                let changes = similar::TextDiff::from_lines(&before, &now);
                let changes = changes.unified_diff().header(name, name).to_string();
                diff.extend(changes.into_bytes());
            }
        }
        if let Some(before) = unit.looked_at.get(&judgement.gate) {
            let now = judged_commit(run, call.unit());
            if *before != now && self.code.resolve_commit(before).is_some() {
                // What others merged meanwhile is not under review.
                let span = span(self.code, run, call.unit())?;
                let own = self.code.changes(&span.from, &span.to)?;
                let own: Vec<String> = own.into_iter().map(|change| change.path).collect();
                if !own.is_empty() {
                    diff.extend(self.code.diff(before, &now, &own, DIFF_BYTES_MAX)?.text);
                }
            }
        }
        if diff.is_empty() {
            return Ok(SinceLastLook::None);
        }
        let path = folder.inbox().join(SINCE);
        replace_on(self.disk, &path, &self.redacted(&diff))
            .map_err(|error| Error::file(&path, &error))?;
        Ok(SinceLastLook::Given)
    }

    /// The change under review, or that of the whole run, beside what the agent may read.
    pub(super) fn change(
        &self,
        run: &Run,
        call: &CallId,
        folder: &AttemptFolder,
    ) -> Result<Option<ChangedFiles>, Error> {
        if run.definition().start.base.is_none() {
            return Ok(None);
        }
        let repository = self.code;
        let span = match call {
            CallId::Attempt(attempt) if attempt.unit.scope.is_root() => so_far(run, call.unit()),
            CallId::Attempt(_) | CallId::Judgement(_) => {
                shown_change(repository, run, call.unit())?
            }
        };
        let changes = repository.changes(&span.from, &span.to)?;
        if changes.is_empty() {
            return Ok(None);
        }
        let Diff { text, unshown } = repository.diff(&span.from, &span.to, &[], DIFF_BYTES_MAX)?;
        let path = folder.inbox().join(CHANGE);
        replace_on(self.disk, &path, &self.redacted(&text))
            .map_err(|error| Error::file(&path, &error))?;
        let files = changes.into_iter().map(|change| change.path).collect();
        Ok(Some(ChangedFiles { before: span.from, files, unshown }))
    }

    /// What the scripted agent plays with: our own program, the scenario, the log.
    pub(super) fn scripted(&self, agent: &FrozenAgent) -> Result<[String; 3], Error> {
        let scenario = agent.scenario.as_ref().expect("the scripted agent plays from a scenario");
        let id: BlobId = scenario.0.parse().map_err(|_| damaged(&scenario.0))?;
        let log = self.home.attempts(self.id).join("scripted.log");
        Ok([self.own_program()?, read_file_text(self.blobs.path(&id))?, read_file_text(log)?])
    }
}

/// The calls for the same work or look that ended before, the last one first.
fn calls_before<'a>(run: &'a Run, call: &'a CallId) -> impl Iterator<Item = &'a EndedCall> {
    let is_same = |other: &CallId| other.unit() == call.unit() && other.gate() == call.gate();
    run.history().calls.iter().rev().filter(move |ended| is_same(&ended.call))
}

/// Whether both are attempts, or looks at the same attempt.
fn is_about_same_work(one: &CallId, other: &CallId) -> bool {
    match (one, other) {
        (CallId::Judgement(one), CallId::Judgement(other)) => one.attempt == other.attempt,
        (CallId::Attempt(_), CallId::Attempt(_)) => true,
        (CallId::Judgement(_), CallId::Attempt(_)) | (CallId::Attempt(_), CallId::Judgement(_)) => {
            false
        }
    }
}
