//! How a run begins: what was asked, settings, flow and roles are read, looked at and frozen.
//!
//! In this order: `request.rs` (as given), `validate_text.rs`, `issue.rs` and `params.rs` (whether it can be), `choices.rs`
//! with `effort.rs`, `flow_outline.rs` and `prompts.rs` (what a person still has to say), `triage.rs` (one light
//! look), and then the first record. `dry_run.rs` goes the same way and stops before the last two.
//!
//! Settings, flows, roles and instructions are read once, from the base commit plus the personal
//! layers. What lies in the checkout and is not committed would not be used, so it is refused
//! rather than passed over in silence.
//!
//! Invariant: everything that could be wrong is found out before anything is written.

mod architecture;
mod cast;
mod choices;
mod dry_run;
mod effort;
mod estimate;
mod flow_outline;
mod instructions;
mod issue;
mod params;
mod plan;
mod prompts;
mod ready;
pub(crate) mod record;
mod request;
mod triage;
mod validate_text;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use architecture::architecture_at;
pub(crate) use cast::help_to_install_agent;
use cast::{Cast, leave_out_missing, note_on_reviewers};
use choices::Chosen;
use flow_outline::EFFORT;
use forge_core::{
    Command, Input, Run, decide,
    event::{Blob, Coherence, Limits, OnOverlap, Start},
    flow::{Check, Delivery, FORMAT, Stage, Work},
    routing::{CallPlace, Tier},
    view::{Course, RunRow, short_commit, shorten},
};
use forge_driver::{
    Error,
    base_settings::settings_at,
    clock,
    person::person,
    refusal::refused,
    run_id::{new_run_id, short_id},
    run_loop::{Driver, Machine, Tell},
    secrets::{known_at_start, without_values},
    signals::Signals,
};
use forge_project::{
    bounded_read::read_text,
    catalog::{Catalog, FoundFlow, text_at},
    commit_files::CommitTree,
    detect,
    personal_dirs::state_dir,
    settings::{
        Claims, DeliveryTime, FILE, FILE_BYTES_MAX, Frozen, LOCAL_FILE, Settings, VerifyFrom,
    },
    suggest::nearest,
};
use forge_store::journal::Store;
use instructions::{INSTRUCTIONS, INSTRUCTIONS_BYTES_MAX, instructions_at};
use issue::RequestIssue;
use params::given_params;
use request::PR;
use validate_text::refuse_words;

use crate::{
    agents::list::Roster,
    forge::{Forge, RunOutcome},
    start::ready::{Ready, about_variables, find, may_hold},
};

pub use cast::Picked;
pub use dry_run::{ChecksFrom, DryCalls, DryCaps, DryGate, DryPlayer, DryRun, DryStage};
pub use estimate::Estimate;
pub use flow_outline::Runs;
pub use plan::{BudgetFrom, PlannedAgent, StartPlan};
pub use prompts::{AgentOffer, Allowed, AskCommands, Asks, BranchChoice, Nobody, Presence, Reply};
pub use request::{AboutRecord, Discussion, OnMissing, PullRequest, QUICK_FLOW, Request, quoted};

/// The parameter that says where a request comes from.
const SOURCE: &str = "source";
/// Of what is not in a run, this many files are named.
const LEFT_OUT_NAMED: usize = 5;
/// Of unfinished runs, this many are named.
const UNFINISHED_NAMED: usize = 3;
/// The most characters of a path that a refusal quotes.
const NAME_SHOWN: usize = 100;

/// A run that has begun: its first record is durable, and nothing is under way yet.
///
/// Dropping it leaves a run without a driver, which any process can resume.
pub struct StartedRun {
    pub run: String,
    pub plan: StartPlan,
    /// What a person should know before it goes on.
    pub notes: Vec<String>,
    driver: Driver,
    signals: Signals,
}

impl StartedRun {
    /// Drives it until it stops.
    pub fn drive(mut self, tell: Tell<'_>) -> Result<RunOutcome, Error> {
        self.driver.tell_first(tell)?;
        let how = self.driver.drive(&mut self.signals, tell)?;
        Ok(RunOutcome::from_driver(&mut self.driver, self.run, how))
    }

    /// Leaves it to somebody else. The files that show it are there when this returns.
    pub fn let_go(mut self) -> Result<String, Error> {
        self.driver.tell_first(&mut |_, _| {})?;
        self.driver.show();
        Ok(self.run)
    }

    /// Returns the driver, with the signals that came since before the first record.
    pub fn into_parts(self) -> (String, Driver, Signals) {
        (self.run, self.driver, self.signals)
    }
}

/// The choices and the triage with which a run begins.
struct Begin {
    chosen: Chosen,
    coherence: Option<Coherence>,
    signals: Signals,
}

impl Forge {
    /// Begins a run, up to and with its first record. Who drives it is for the caller to say.
    pub fn begin(&self, request: &Request, asks: &mut dyn Asks) -> Result<StartedRun, Error> {
        self.refuse_agents()?;
        let request = &self.with_record(request)?;
        let ready = self.ready(request, asks)?;
        if let Some(left_out) = &ready.left_out {
            asks.know(left_out);
        }
        if let Some(unset) = about_variables(&ready.settings) {
            asks.know(&unset);
        }
        // First of all: whoever does not allow them has answered nothing else in vain.
        self.ask_about_commands(&ready.settings, &ready.found, asks)?;
        let top = self.home.repository.top.clone();
        let roster = Roster { settings: ready.settings.clone(), top, trust: None };
        let roles = ready.found.flow.roles();
        roster.refuse_too_old(ready.settings.cast(&roles).into_iter())?;
        if ready.settings.workspace.root.is_none() {
            // Where the checkouts will lie.
            state_dir()?;
        }
        let mut signals = Signals::listen()?;
        let look = |asks: &mut dyn Asks, signals: &mut Signals| {
            let looker =
                ready.looker().and_then(|role| ready.player(CallPlace::of_role(role), None));
            if let Some(agent) = looker.map(|player| player.agent.name) {
                asks.wait(&format!("checking the request with {agent} (at most 2m) ..."));
            }
            self.look_at_request(&ready, request.budget, signals)
        };
        // Nobody answers questions about what nobody can act on, and nothing is paid where an answer is missing.
        let (mut chosen, (coherence, note)) = match asks.presence() {
            Presence::Here => {
                let looked = look(asks, &mut signals)?;
                (signals.while_unheard(|| ready.choose(request, asks))?, looked)
            }
            Presence::Nobody => (ready.choose(request, asks)?, look(asks, &mut signals)?),
        };
        chosen.notes.extend(chosen.without_auto.take());
        chosen.notes.extend(note);
        self.write_down(request, ready, Begin { chosen, coherence, signals })
    }

    /// Names the runs whose results may conflict with that of a new one.
    fn unfinished_note(&self) -> Result<Option<String>, Error> {
        let (rows, _) = self.rows_to_list()?;
        let open: Vec<&RunRow> = rows.iter().filter(|row| !row.claims.is_empty()).collect();
        let named = open.iter().take(UNFINISHED_NAMED).map(|row| {
            let state = match row.standing.course() {
                Course::Driven if !self.is_driven(&row.run) => "not running",
                Course::Driven | Course::Asking | Course::Held | Course::Failed | Course::Over => {
                    row.standing.label()
                }
            };
            format!("{} ({state})", short_id(&row.run))
        });
        let mut named: Vec<String> = named.collect();
        let more = open.len() - named.len();
        named.extend((more > 0).then(|| format!("{more} more")));
        Ok(match named.as_slice() {
            [] => None,
            [one] => Some(format!("{one} is unfinished; its result may conflict with this run")),
            [others @ .., last] => Some(format!(
                "{} and {last} are unfinished; their results may conflict with this run",
                others.join(", ")
            )),
        })
    }

    /// Reads all that a run depends on, and refuses what cannot be. Nothing is written.
    fn ready(&self, request: &Request, asks: &mut dyn Asks) -> Result<Ready, Error> {
        if request.issue.is_none() {
            refuse_path(&request.text)?;
        }
        let repository = &self.home.repository;
        let base = repository.head();
        let mut settings = self.settings_at(base.as_deref())?;
        let issue = match &request.issue {
            Some(path) => Some(RequestIssue::read(path, &settings.effort.story_points)?),
            None => RequestIssue::fetch(&request.text, &settings, repository, asks).transpose()?,
        };
        if issue.is_none() {
            refuse_words(request)?;
        }
        let catalog = Catalog::from_commit(repository, base.as_deref());
        let catalog = catalog.with_pipelines(&settings.pipelines);
        let name = request.flow.as_ref().map_or(&*settings.flow, String::as_str).to_owned();
        let found = self.committed_flow(&catalog, &name).map_err(|error| {
            let names = catalog.names().unwrap_or_default();
            let others = names.iter().map(String::as_str).filter(|other| *other != name);
            // Only a name that nothing has is misspelt.
            let is_unknown = self.catalog().text(&name).is_err() && request.flow.is_some();
            let near = nearest(&name, others).filter(|_| is_unknown);
            error.with_better_help(near.map(|near| request.said_again(&[("--flow", near)], &[])))
        })?;
        self.refuse_uncommitted(base.as_deref(), &catalog, &found)?;
        let mut params = given_params(request, &found.flow)?;
        self.refuse_unready(&found, base.as_deref())?;
        let mut why = BTreeMap::new();
        let mut notes: Vec<String> = issue.iter().filter_map(|issue| issue.note.clone()).collect();
        notes.extend(self.look_at_pull_request(request, &mut settings, &found, &params)?);
        if let (Some(_), Some(effort)) = (&request.effort, params.get(EFFORT)) {
            why.insert(EFFORT.to_owned(), format!("set by --effort {effort}"));
        }
        if let Some(tracker) = issue.as_ref().map(|issue| issue.tracker.as_str())
            && found.flow.accepts(SOURCE, tracker).is_ok()
            && !params.contains_key(SOURCE)
            && settings.pull_request.comment == DeliveryTime::AtEnd
        {
            if let Some(issue) = &issue {
                self.check_comment_token(&issue.source)?;
            }
            params.insert(SOURCE.to_owned(), tracker.to_owned());
            why.insert(SOURCE.to_owned(), "from the issue".to_owned());
        }
        let tier = run_tier(request)?;
        let mut heads = BTreeMap::new();
        for role in found.flow.roles() {
            heads.insert(role.to_owned(), catalog.role_text(&found, role)?.1.hints);
        }
        let Cast { scenario, picked } = self.cast(request, &mut settings, &found, asks)?;
        let roles: Vec<&str> = found.flow.roles().into_iter().collect();
        notes.extend(leave_out_missing(&mut settings));
        let frozen = settings.freeze_cast(&roles, None);
        notes.extend(note_on_reviewers(&settings, &frozen));
        let secrets = known_at_start(repository.top.as_deref(), &frozen);
        refuse_secrets(&frozen, &secrets)?;
        let instructions = match &base {
            Some(base) => instructions_at(repository, base, settings.agents_md)?,
            None => None,
        };
        let architecture = match &base {
            Some(base) => {
                architecture_at(repository, base, settings.architecture.iter().map(|path| &**path))?
            }
            None => None,
        };
        let routing = settings.routing(tier, heads);
        let is_land = |_: &Stage, check: Option<&Check>| check == Some(&Check::Land);
        Ok(Ready {
            text: issue.as_ref().map_or_else(|| request.text.clone(), |issue| issue.text.clone()),
            lands: base.is_some() && find(&found.flow.stages, &is_land).is_some(),
            branch: base.as_ref().and_then(|_| repository.branch()),
            default_branch: repository.default_branch(),
            left_out: base.as_ref().and_then(|base| self.left_out(request, &settings, base)),
            base,
            settings,
            catalog,
            found,
            name,
            scenario,
            picked,
            routing,
            secrets,
            instructions,
            architecture,
            issue,
            params,
            why,
            notes,
        })
    }

    /// Everything that could be wrong was looked at: from here on, things are written. First the
    /// journal: where that cannot be written, nothing else is.
    fn write_down(
        &self,
        request: &Request,
        ready: Ready,
        begin: Begin,
    ) -> Result<StartedRun, Error> {
        let Begin { chosen, coherence, signals } = begin;
        let Ready { base, settings, catalog, found, name, scenario, secrets, .. } = ready;
        let store = Store::open(&self.home.dir)?;
        let blobs = self.blobs()?;
        let put = |bytes: &[u8]| -> Result<Blob, Error> {
            let blob = blobs.add(bytes);
            let blob = blob.map_err(|error| Error::file(&self.home.dir.join("blobs"), &error))?;
            Ok(Blob(blob.as_str().to_owned()))
        };
        let roles_of_flow: Vec<&str> = found.flow.roles().into_iter().collect();
        let script = match scenario {
            Some((text, sessions)) => Some((put(text.as_bytes())?, sessions)),
            None => None,
        };
        let mut frozen = settings.freeze_cast(&roles_of_flow, script.as_ref());
        if let Some(base) = &base {
            self.fill_in(&mut frozen, &settings, base)?;
        }
        let mut roles = BTreeMap::new();
        for role in found.flow.roles() {
            let (text, _) = catalog.role_text(&found, role)?;
            roles.insert(role.to_owned(), put(text.as_bytes())?);
        }
        let mut skills = BTreeMap::new();
        for (name, text) in catalog.skills(&found)? {
            skills.insert(name, put(text.as_bytes())?);
        }
        let text = serde_json::to_vec(&frozen).expect("settings can be written");
        // From here on nobody knows the secrets of a request any more, and no name is made of them.
        let text_of_request = without_values(&chosen.text, &secrets);
        let has_secret = text_of_request != chosen.text;
        let id = new_run_id(&text_of_request);
        let older = request.older.as_ref().map(|folder| folder.display().to_string());
        let start = Start {
            request: text_of_request,
            flow: name,
            texts: found.texts.clone(),
            format: FORMAT,
            params: chosen.params,
            approvals: chosen.approvals,
            limits: limits(request, &settings, &frozen),
            settings: Some(put(&text)?),
            roles,
            skills,
            architecture: ready.architecture.map(|text| put(text.as_bytes())).transpose()?,
            instructions: ready.instructions.map(|text| put(text.as_bytes())).transpose()?,
            base_branch: ready.branch,
            branch: ready.lands.then(|| frozen.branch_of(&id)),
            onto: chosen.onto,
            chosen: chosen.why,
            source: ready.issue.map(|issue| issue.source).or(older),
            detail: request.detail,
            coherence,
            base,
            on_overlap: Some(match frozen.claims {
                Claims::Warn => OnOverlap::Warn,
                Claims::Defer => OnOverlap::Defer,
                Claims::Block => OnOverlap::Block,
            }),
            routing: Some(ready.routing),
            about: request.about.as_ref().map(|about| Box::new(about.subject.clone())),
            lists: request.about.as_ref().map(|about| about.lists.clone()).unwrap_or_default(),
            ending_key: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            by: person(),
        };
        let budget_from = match request.budget {
            Some(_) => BudgetFrom::Flag,
            None if settings.is_shipped("limits.budget") => BudgetFrom::Default,
            None => BudgetFrom::Settings,
        };
        let mut notes = settings.notes();
        if has_secret {
            notes.push("what looks like a secret in your request was taken out of it".to_owned());
        }
        notes.extend(chosen.notes);
        notes.extend(request.about.iter().flat_map(|about| about.notes.clone()));
        notes.extend(settings.notes_on_roles(&roles_of_flow));
        if ready.lands && frozen.claims == Claims::Warn {
            notes.extend(self.unfinished_note()?);
        }
        let plan = self.plan(&found.flow, &start, &frozen, ready.picked, budget_from);
        if start.about.is_some() {
            // A run that cannot begin takes nothing on.
            let begins = Input::Command(Command::Start(Box::new(start.clone())));
            decide(&Run::new(), clock::now(), &begins).map_err(|refusal| refused(&id, &refusal))?;
            self.take_records(&start, &id)?;
        }
        let driver = {
            let machine = Machine::local(&self.home)?;
            Driver::begin(&self.home, machine, Box::new(store), &id, start, frozen)?
        };
        Ok(StartedRun { run: id, plan, notes, driver, signals })
    }

    /// Returns what is set for a run that starts from this commit.
    pub fn settings_at(&self, base: Option<&str>) -> Result<Settings, Error> {
        settings_at(&self.home.repository, base)
    }

    /// Returns the flow as it is committed, or why it cannot be used.
    fn committed_flow(&self, catalog: &Catalog, name: &str) -> Result<FoundFlow, Error> {
        catalog.flow(name).map_err(|error| {
            let is_here = self.catalog().text(name).is_ok();
            if is_here && catalog.text(name).is_err() {
                uncommitted(&[Uncommitted::New(format!("the flow `{name}`"))])
            } else {
                error.into()
            }
        })
    }

    /// Refuses uncommitted changes that the run would not use.
    fn refuse_uncommitted(
        &self,
        base: Option<&str>,
        catalog: &Catalog,
        found: &FoundFlow,
    ) -> Result<(), Error> {
        let Some(top) = &self.home.repository.top else { return Ok(()) };
        let mut differ = Vec::new();
        for (file, most) in [(FILE, FILE_BYTES_MAX), (INSTRUCTIONS, INSTRUCTIONS_BYTES_MAX)] {
            let committed = match base {
                Some(base) => text_at(&self.home.repository, base, file, most)?,
                None => None,
            };
            if read_text(&top.join(file), most)? != committed {
                let state = match committed {
                    None => Uncommitted::New,
                    Some(_) => Uncommitted::Changed,
                };
                differ.push(state(file.to_owned()));
            }
        }
        let checkout = self.catalog();
        for (name, text) in &found.texts {
            if checkout.text(name).is_ok_and(|(here, _)| here != *text) {
                differ.push(Uncommitted::Changed(format!("the flow `{name}`")));
            }
        }
        for role in found.flow.roles() {
            let (committed, _) = catalog.role_text(found, role)?;
            if checkout.role_text(found, role).is_ok_and(|(here, _)| here != committed) {
                differ.push(Uncommitted::Changed(format!("the role `{role}`")));
            }
        }
        let (committed, here) =
            (catalog.skills(found)?, checkout.skills(found).unwrap_or_default());
        let changed = committed
            .iter()
            .filter(|(name, text)| here.get(*name).is_some_and(|here| here != *text));
        differ.extend(changed.map(|(name, _)| Uncommitted::Changed(format!("the skill `{name}`"))));
        if differ.is_empty() {
            return Ok(());
        }
        // A file that is wrong is not to be committed.
        self.settings()?;
        Err(uncommitted(&differ))
    }

    /// Returns what was changed in the checkout and is not committed, in words: a run starts from a commit. Issues and
    /// scenarios are read where they lie.
    fn left_out(&self, request: &Request, settings: &Settings, base: &str) -> Option<String> {
        let repository = &self.home.repository;
        let top = repository.top.as_deref()?;
        let scenario = settings.scenario().map(|scenario| top.join(scenario));
        let read = [request.issue.clone(), request.scenario.clone(), scenario];
        let read: Vec<PathBuf> =
            read.into_iter().flatten().filter_map(|path| path.canonicalize().ok()).collect();
        let is_read = |path: &String| {
            let path = top.join(path).canonicalize();
            path.is_ok_and(|path| read.contains(&path))
        };
        // Git will say itself what is wrong with a repository that it cannot read.
        let mut changed = repository.uncommitted_paths().unwrap_or_default();
        // Records of work are no part of any run: it knows them from their store.
        let is_record = |path: &String| {
            let only_records = || {
                let inside = std::fs::read_dir(top.join(path)).into_iter().flatten().flatten();
                inside.map(|entry| entry.file_name()).all(|name| name == "work")
            };
            path.starts_with(".forge/work/") || (path == ".forge/" && only_records())
        };
        changed.retain(|path| path != LOCAL_FILE && !is_read(path) && !is_record(path));
        let few: Vec<&str> = changed.iter().take(LEFT_OUT_NAMED).map(String::as_str).collect();
        let more = if changed.len() > few.len() { ", ..." } else { "" };
        let (files, are) = match changed.len() {
            0 => return None,
            1 => ("1 changed file".to_owned(), "is"),
            n => (format!("{n} changed files"), "are"),
        };
        Some(format!(
            "the run starts from {}; {files} in your checkout {are} not in it ({}{more})",
            short_commit(base),
            few.join(", ")
        ))
    }

    /// Returns where the run will open its pull request, if it is to. What it would fail by is found out now.
    fn look_at_pull_request(
        &self,
        request: &Request,
        settings: &mut Settings,
        found: &FoundFlow,
        params: &BTreeMap<String, String>,
    ) -> Result<Option<String>, Error> {
        let set = &mut settings.pull_request.open;
        match (request.pull_request, *set) {
            (PullRequest::Never, _) | (PullRequest::AsSet, DeliveryTime::OnRequest) => {
                return Ok(None);
            }
            (PullRequest::AtEnd, _) => *set = DeliveryTime::AtEnd,
            (PullRequest::AsSet, DeliveryTime::AtEnd) => {}
        }
        let opens = |stage: &Stage, _: Option<&Check>| {
            stage.work == (Work::Deliver { what: Delivery::PullRequest })
                && may_hold(&found.flow, params, &stage.when)
        };
        if find(&found.flow.stages, &opens).is_none() {
            return Ok(Some(format!(
                "the flow `{}` opens no pull request; afterwards: forge pr",
                found.flow.name
            )));
        }
        let place = match self.place_to_come(request.said_again(&[], &[PR]), settings) {
            // A setting is for many repositories, and not each of them is at a host.
            Err(error) if request.pull_request == PullRequest::AsSet => {
                settings.pull_request.open = DeliveryTime::OnRequest;
                return Ok(Some(format!("no pull request will be opened: {}", error.what)));
            }
            place => place?,
        };
        place.check_token()?;
        Ok(Some(format!(
            "the branch is pushed, and its pull request opened at {}",
            place.sentence()
        )))
    }

    /// Flows may need more than there is. That is found out before anything is created.
    fn refuse_unready(&self, found: &FoundFlow, base: Option<&str>) -> Result<(), Error> {
        let Some(base) = base else {
            let needs = find(&found.flow.stages, &|_, check| {
                matches!(check, Some(Check::Verify | Check::Land | Check::BuiltIn { .. }))
            });
            return match needs {
                None => Ok(()),
                Some(_) => Err(Error::usage(
                    "this repository has no commit yet; a run starts from a commit",
                    "git add . && git commit -m \"first\"",
                )),
            };
        };
        match self.home.repository.unmet_preconditions(base)?.as_slice() {
            [] => Ok(()),
            unsuited => Err(Error::surroundings(
                unsuited.join("\n"),
                "do that, then run the same command again",
            )),
        }
    }

    /// Detects the checks in the project where none are set.
    fn fill_in(&self, frozen: &mut Frozen, settings: &Settings, base: &str) -> Result<(), Error> {
        if settings.verify.commands.is_some() {
            return Ok(());
        }
        let files = CommitTree::open(&self.home.repository, base)?;
        let found = detect::detect(&files);
        let commands = |found: &[detect::DetectedCommand]| -> Vec<String> {
            found.iter().map(|found| found.command.clone()).collect()
        };
        frozen.verify.commands = commands(&found.verify);
        frozen.verify.from =
            if found.verify.is_empty() { VerifyFrom::Nothing } else { VerifyFrom::Found };
        if frozen.setup.is_empty() && frozen.cache.is_empty() {
            frozen.setup = commands(&found.setup);
            frozen.setup_inputs = found.setup_inputs;
            frozen.cache = found.cache;
        }
        Ok(())
    }

    /// Commands that came with the repository are run only if a person has seen them.
    fn ask_about_commands(
        &self,
        settings: &Settings,
        found: &FoundFlow,
        asks: &mut dyn Asks,
    ) -> Result<(), Error> {
        let commands = self.unapproved(settings, found)?;
        if commands.is_empty() {
            return Ok(());
        }
        match asks.commands(&commands) {
            Allowed::Once => Ok(()),
            Allowed::FromNowOn => self.approve(settings, &commands),
            Allowed::No => Err(Error::person(
                "you have not allowed the commands that this repository wants to run",
                format!("forge config allow --flow {}", found.flow.name),
            )),
        }
    }
}

/// Refuses the name of a file or folder in place of a request.
fn refuse_path(text: &str) -> Result<(), Error> {
    let path = Path::new(text.trim());
    if text.trim().contains(char::is_whitespace) || !path.exists() {
        return Ok(());
    }
    let name = quoted(text.trim());
    let (what, next) = if path.is_dir() {
        ("folder", format!("forge resume {name} (resumes the older run in it)"))
    } else if path.extension().is_some_and(|extension| extension == "json") {
        ("file", format!("forge run --issue {name}"))
    } else {
        ("file", format!("forge run -F {name}"))
    };
    let what = format!("`{}` is a {what}, not a request", shorten(text.trim(), NAME_SHOWN));
    Err(Error::usage(what, next))
}

/// Commands are written down, and run as they are written: a secret belongs into a variable.
fn refuse_secrets(frozen: &Frozen, secrets: &[Vec<u8>]) -> Result<(), Error> {
    let agents = frozen.agents.values();
    let agents = agents.map(|agent| (format!("agents.{}", agent.name), agent.command.join(" ")));
    let named = |key: &str, commands: &[String]| -> Vec<(String, String)> {
        commands.iter().map(|command| (key.to_owned(), command.clone())).collect()
    };
    let lines = named("workspace.setup", &frozen.setup).into_iter();
    let lines = lines.chain(named("verify.commands", &frozen.verify.commands)).chain(agents);
    for (key, command) in lines {
        if without_values(&command, secrets) != command {
            let what = format!("a command of `{key}` contains a secret, and commands are recorded");
            let next = "put the secret into an environment variable, use that in the command, and \
                        name it in `pass` of an agent";
            return Err(Error::usage(what, next));
        }
    }
    Ok(())
}

/// Returns the tier that was named for all calls.
fn run_tier(request: &Request) -> Result<Option<Tier>, Error> {
    let Some(word) = &request.tier else { return Ok(None) };
    Tier::parse(word).map(Some).ok_or_else(|| {
        let known: Vec<&str> = Tier::ALL.iter().map(|tier| tier.as_str()).collect();
        let near = nearest(word, known.iter().copied()).unwrap_or(Tier::Heavy.as_str());
        let what = format!("`{word}` is not a valid --tier; use {}", known.join(", "));
        Error::usage(what, request.said_again(&[("--tier", near)], &[]))
    })
}

/// Returns the limits of a run. Under the default budget, calls of agents that report no cost are counted instead.
fn limits(request: &Request, settings: &Settings, frozen: &Frozen) -> Limits {
    let is_default = request.budget.is_none() && settings.is_shipped("limits.budget");
    let is_counted = is_default && frozen.agents.values().any(|agent| !agent.like.reports_cost());
    Limits {
        budget: request.budget.or(settings.limits.budget()),
        call_budget: settings.limits.call_budget(),
        at_once: settings.limits.at_once.into(),
        unpriced_calls: is_counted.then(|| settings.limits.unpriced_calls.into()),
    }
}

/// A file, flow or role of the checkout that differs from the commit, by name.
enum Uncommitted {
    New(String),
    Changed(String),
}

fn uncommitted(what: &[Uncommitted]) -> Error {
    let name = |one: &Uncommitted| match one {
        Uncommitted::New(name) | Uncommitted::Changed(name) => name.clone(),
    };
    let names: Vec<String> = what.iter().map(name).collect();
    // Flows and roles are named, not their files.
    let mut files: Vec<&str> =
        names.iter().map(|one| if one.starts_with("the ") { ".forge" } else { one }).collect();
    files.sort_unstable();
    files.dedup();
    let files = files.join(" ");
    let is_new = what.iter().any(|one| matches!(one, Uncommitted::New(_)));
    let (state, title) = match (is_new, what.len()) {
        (true, 1) => ("is not committed", "Set up Forge"),
        (true, _) => ("are not committed", "Set up Forge"),
        (false, 1) => ("has uncommitted changes", "Change the settings of Forge"),
        (false, _) => ("have uncommitted changes", "Change the settings of Forge"),
    };
    let it = if what.len() == 1 { "it" } else { "them" };
    Error::usage(
        format!("{} {state}; a run reads {it} from the commit it starts from", names.join(", ")),
        format!("git add {files} && git commit -m \"{title}\" {files}"),
    )
}
