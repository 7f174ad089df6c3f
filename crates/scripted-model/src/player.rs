//! A script that is played for one key: which step answers a request, what was asked, what was wrong.
//!
//! Nothing of HTTP is here. The view of a test is in `key`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    captures::{TextBetween, built_in_captures},
    log::{ModelRequest, PlayedAnswer},
    play::{HttpAnswer, answer, document},
    script::{AfterLastStep, Script, ScriptScope, ScriptStep},
    shape::RequestShape,
    wire::format::{ParsedRequest, ReplyDelivery, RequestPurpose, WireFormat},
};

/// How many requests a key takes. A program that asks more often runs wild.
const REQUESTS_MAX: usize = 5000;

/// How many flaws a key keeps.
const FLAWS_MAX: usize = 200;

/// A request on its way from the connection to the script.
pub(crate) struct ArrivedRequest<'a> {
    pub(crate) path: &'a str,
    pub(crate) headers: &'a BTreeMap<String, String>,
    pub(crate) body: &'a [u8],
    pub(crate) client: String,
    pub(crate) format: &'static dyn WireFormat,
    pub(crate) purpose: RequestPurpose,
}

/// An answer and when the connection must send it.
pub(crate) struct PlannedAnswer {
    /// Not before this barrier is released.
    pub(crate) wait_for: Option<String>,
    /// After this silence.
    pub(crate) delay: Duration,
    pub(crate) answer: HttpAnswer,
}

/// The script of one key and its progress, shared by the server and the test.
pub(crate) struct ScriptPlayer {
    pub(crate) name: String,
    script: Script,
    rules: BTreeMap<String, TextBetween>,
    shape: Option<RequestShape>,
    state: Mutex<PlayerState>,
    pub(crate) changed: Condvar,
}

/// Everything that has happened so far.
#[derive(Default)]
pub(crate) struct PlayerState {
    pub(crate) requests: Vec<ModelRequest>,
    pub(crate) flaws: Vec<String>,
    /// Steps played, in order, by session, or by `""` for the whole key.
    played: BTreeMap<String, Vec<usize>>,
    pub(crate) reached: BTreeSet<String>,
    pub(crate) released: BTreeSet<String>,
    pub(crate) seen: RequestShape,
}

impl ScriptPlayer {
    pub(crate) fn new(name: &str, script: Script, shape: Option<RequestShape>) -> Self {
        let mut rules = built_in_captures();
        rules.extend(script.captures.clone());
        let (state, changed) = (Mutex::default(), Condvar::new());
        Self { name: name.to_owned(), script, rules, shape, state, changed }
    }

    /// Locks what has happened so far.
    pub(crate) fn lock(&self) -> MutexGuard<'_, PlayerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes something that must not be.
    pub(crate) fn flaw(&self, what: String) {
        self.lock().flaw(what);
    }

    /// Takes a request, remembers it, and says what to do.
    pub(crate) fn take(&self, arrived: &ArrivedRequest) -> PlannedAnswer {
        let mut state = self.lock();
        let number = state.requests.len() + 1;
        let at_once = |answer| PlannedAnswer { wait_for: None, delay: Duration::ZERO, answer };
        let format = arrived.format;
        let refuse = |code: u16, what: &str| {
            at_once(document(code, &BTreeMap::new(), &format.failure(code, what)))
        };
        if number > REQUESTS_MAX {
            state.flaw(format!("there were more than {REQUESTS_MAX} requests"));
            return refuse(403, "too many requests for one key");
        }
        let body = serde_json::from_slice::<Value>(arrived.body).map_err(|error| error.to_string());
        let read = body.and_then(|body| format.ask(arrived.path, &body).map(|ask| (body, ask)));
        let (body, ask) = match read {
            Ok(read) => read,
            Err(what) => {
                state.flaw(format!("request {number} cannot be read: {what}"));
                return refuse(400, &what);
            }
        };
        let session = format.session(arrived.headers);
        let (played, plan) = match arrived.purpose {
            RequestPurpose::Count => {
                let count = format.count(arrived.body.len() / 4);
                (PlayedAnswer::Count, at_once(document(200, &BTreeMap::new(), &count)))
            }
            RequestPurpose::Answer => {
                state.seen.learn(arrived.headers, &body, format.opaque());
                if let Some(shape) = &self.shape {
                    for flaw in shape.flaws(arrived.headers, &body, format.opaque()) {
                        state.flaw(format!("request {number}: {flaw}"));
                    }
                }
                let id = format!("{}_{number}", self.name);
                self.plan(&mut state, session, &ask, format, &id).unwrap_or_else(|what| {
                    state.flaw(format!("request {number} cannot be answered: {what}"));
                    (PlayedAnswer::Nothing, refuse(403, &what))
                })
            }
        };
        if let Some(barrier) = &plan.wait_for {
            state.reached.insert(barrier.clone());
        }
        state.requests.push(ModelRequest {
            number,
            path: arrived.path.to_owned(),
            headers: arrived.headers.clone(),
            session: session.map(str::to_owned),
            model: ask.model,
            stream: ask.delivery == ReplyDelivery::Stream,
            tools: ask.tools,
            system: ask.system,
            messages: ask.messages,
            last: ask.last,
            played,
            client: arrived.client.clone(),
        });
        self.changed.notify_all();
        plan
    }

    /// Returns the step for a request, made into an answer.
    fn plan(
        &self,
        state: &mut PlayerState,
        session: Option<&str>,
        ask: &ParsedRequest,
        format: &dyn WireFormat,
        id: &str,
    ) -> Result<(PlayedAnswer, PlannedAnswer), String> {
        if ask.tools.is_empty() {
            let step = ScriptStep::say(self.script.aux.as_deref().unwrap_or("Scripted"));
            let answer = answer(&step, ask, format, &self.rules, id)?;
            return Ok((
                PlayedAnswer::Aux,
                PlannedAnswer { wait_for: None, delay: Duration::ZERO, answer },
            ));
        }
        let place = match self.script.places {
            ScriptScope::Key => "",
            ScriptScope::Session => session.unwrap_or_default(),
        };
        let played = state.played.entry(place.to_owned()).or_default();
        let number = self.choose(played, ask)?;
        let step = &self.script.steps[number];
        let plan = PlannedAnswer {
            wait_for: step.wait_for.clone(),
            delay: Duration::from_millis(step.delay_ms),
            answer: answer(step, ask, format, &self.rules, id)?,
        };
        Ok((PlayedAnswer::Step(number), plan))
    }

    /// Returns the number of the step for a request.
    fn choose(&self, played: &mut Vec<usize>, ask: &ParsedRequest) -> Result<usize, String> {
        let steps = &self.script.steps;
        let fresh = (0..steps.len())
            .find(|number| !played.contains(number) && conditions_hold(&steps[*number], ask));
        if let Some(number) = fresh {
            played.push(number);
            return Ok(number);
        }
        match self.script.end {
            AfterLastStep::Fail => Err("the script has no more steps for it".to_owned()),
            AfterLastStep::Repeat => {
                let again =
                    played.iter().rev().find(|number| conditions_hold(&steps[**number], ask));
                again.copied().ok_or_else(|| "no step of the script fits it".to_owned())
            }
        }
    }

    /// Waits for a barrier, or until the client is gone.
    pub(crate) fn pass(&self, barrier: &str, is_gone: &mut impl FnMut() -> bool) {
        const POLL_INTERVAL: Duration = Duration::from_millis(20);
        let mut state = self.lock();
        while !state.released.contains(barrier) && !is_gone() {
            let waited = self.changed.wait_timeout(state, POLL_INTERVAL);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until something is there, at most this long.
    pub(crate) fn wait<T>(
        &self,
        patience: Duration,
        look: impl Fn(&PlayerState) -> Option<T>,
    ) -> Option<T> {
        let deadline = Instant::now() + patience;
        let mut state = self.lock();
        loop {
            if let Some(found) = look(&state) {
                return Some(found);
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl PlayerState {
    fn flaw(&mut self, what: String) {
        if self.flaws.len() < FLAWS_MAX && !self.flaws.contains(&what) {
            self.flaws.push(what);
        }
    }
}

/// Tells whether the conditions of a step hold for a request.
fn conditions_hold(step: &ScriptStep, ask: &ParsedRequest) -> bool {
    let last = step.when_contains.as_ref().is_none_or(|text| ask.last.contains(text));
    let mut talk = ask.input_texts.iter().chain(&ask.model_texts);
    let anywhere = step.when_talk_contains.as_ref();
    last && anywhere.is_none_or(|text| talk.any(|part| part.contains(text)))
}
