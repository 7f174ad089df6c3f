//! A script that is played for one key: which step answers a request, what was asked, what was wrong.
//!
//! Nothing of HTTP is here. What a test does with it is in `key`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    captures::{Between, always},
    log::{Played, Request},
    play::{Answer, answer, document},
    script::{End, Places, Script, Step},
    shape::Shape,
    wire::format::{Ask, Delivery, Format, Purpose},
};

/// How many requests a key takes. A program that asks more often runs wild.
const REQUESTS_MAX: usize = 5000;

/// How many flaws a key keeps.
const FLAWS_MAX: usize = 200;

/// A request on its way from the connection to the script.
pub(crate) struct Arrived<'a> {
    pub(crate) path: &'a str,
    pub(crate) headers: &'a BTreeMap<String, String>,
    pub(crate) body: &'a [u8],
    pub(crate) client: String,
    pub(crate) format: &'static dyn Format,
    pub(crate) purpose: Purpose,
}

/// What the connection has to do for a request.
pub(crate) struct Plan {
    /// Not before this barrier is released.
    pub(crate) wait_for: Option<String>,
    /// After this silence.
    pub(crate) delay: Duration,
    /// This.
    pub(crate) answer: Answer,
}

/// What the server and the test know of a key together.
pub(crate) struct Board {
    pub(crate) name: String,
    script: Script,
    rules: BTreeMap<String, Between>,
    shape: Option<Shape>,
    state: Mutex<State>,
    pub(crate) changed: Condvar,
}

/// What has happened so far.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) requests: Vec<Request>,
    pub(crate) flaws: Vec<String>,
    /// Steps played, in order, by who has a place.
    played: BTreeMap<String, Vec<usize>>,
    pub(crate) reached: BTreeSet<String>,
    pub(crate) released: BTreeSet<String>,
    pub(crate) seen: Shape,
}

impl Board {
    pub(crate) fn new(name: &str, script: Script, shape: Option<Shape>) -> Self {
        let mut rules = always();
        rules.extend(script.captures.clone());
        let (state, changed) = (Mutex::default(), Condvar::new());
        Self { name: name.to_owned(), script, rules, shape, state, changed }
    }

    /// Locks what has happened so far.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes something that must not be.
    pub(crate) fn flaw(&self, what: String) {
        self.lock().flaw(what);
    }

    /// Takes a request, remembers it, and says what to do.
    pub(crate) fn take(&self, arrived: &Arrived) -> Plan {
        let mut state = self.lock();
        let number = state.requests.len() + 1;
        let at_once = |answer| Plan { wait_for: None, delay: Duration::ZERO, answer };
        let format = arrived.format;
        let refuse = |code: u16, what: &str| {
            at_once(document(code, &BTreeMap::new(), &format.failure(code, what)))
        };
        if number > REQUESTS_MAX {
            state.flaw(format!("there were more than {REQUESTS_MAX} requests"));
            return refuse(403, "too many requests for one key");
        }
        let body = serde_json::from_slice::<Value>(arrived.body).map_err(|error| error.to_string());
        let read = body.and_then(|body| format.ask(&body).map(|ask| (body, ask)));
        let (body, ask) = match read {
            Ok(read) => read,
            Err(what) => {
                state.flaw(format!("request {number} cannot be read: {what}"));
                return refuse(400, &what);
            }
        };
        let session = format.session(arrived.headers);
        let (played, plan) = match arrived.purpose {
            Purpose::Count => {
                let count = format.count(arrived.body.len() / 4);
                (Played::Count, at_once(document(200, &BTreeMap::new(), &count)))
            }
            Purpose::Answer => {
                state.seen.learn(arrived.headers, &body, format.opaque());
                if let Some(shape) = &self.shape {
                    for flaw in shape.flaws(arrived.headers, &body, format.opaque()) {
                        state.flaw(format!("request {number}: {flaw}"));
                    }
                }
                let id = format!("{}_{number}", self.name);
                self.plan(&mut state, session, &ask, format, &id).unwrap_or_else(|what| {
                    state.flaw(format!("request {number} cannot be answered: {what}"));
                    (Played::Nothing, refuse(403, &what))
                })
            }
        };
        if let Some(barrier) = &plan.wait_for {
            state.reached.insert(barrier.clone());
        }
        state.requests.push(Request {
            number,
            path: arrived.path.to_owned(),
            headers: arrived.headers.clone(),
            session: session.map(str::to_owned),
            model: ask.model,
            stream: ask.delivery == Delivery::Stream,
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

    /// The step for a request, made into an answer.
    fn plan(
        &self,
        state: &mut State,
        session: Option<&str>,
        ask: &Ask,
        format: &dyn Format,
        id: &str,
    ) -> Result<(Played, Plan), String> {
        if ask.tools.is_empty() {
            let step = Step::say(self.script.aux.as_deref().unwrap_or("Scripted"));
            let answer = answer(&step, ask, format, &self.rules, id)?;
            return Ok((Played::Aux, Plan { wait_for: None, delay: Duration::ZERO, answer }));
        }
        let place = match self.script.places {
            Places::Key => "",
            Places::Session => session.unwrap_or_default(),
        };
        let played = state.played.entry(place.to_owned()).or_default();
        let number = self.choose(played, ask)?;
        let step = &self.script.steps[number];
        let plan = Plan {
            wait_for: step.wait_for.clone(),
            delay: Duration::from_millis(step.delay_ms),
            answer: answer(step, ask, format, &self.rules, id)?,
        };
        Ok((Played::Step(number), plan))
    }

    /// The number of the step for a request.
    fn choose(&self, played: &mut Vec<usize>, ask: &Ask) -> Result<usize, String> {
        let steps = &self.script.steps;
        let fresh =
            (0..steps.len()).find(|number| !played.contains(number) && fits(&steps[*number], ask));
        if let Some(number) = fresh {
            played.push(number);
            return Ok(number);
        }
        match self.script.end {
            End::Fail => Err("the script has no more steps for it".to_owned()),
            End::Repeat => {
                let again = played.iter().rev().find(|number| fits(&steps[**number], ask));
                again.copied().ok_or_else(|| "no step of the script fits it".to_owned())
            }
        }
    }

    /// Waits for a barrier, or until the client is gone.
    pub(crate) fn pass(&self, barrier: &str, is_gone: &mut impl FnMut() -> bool) {
        const GLANCE: Duration = Duration::from_millis(20);
        let mut state = self.lock();
        while !state.released.contains(barrier) && !is_gone() {
            let waited = self.changed.wait_timeout(state, GLANCE);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until something is there, at most this long.
    pub(crate) fn wait<T>(
        &self,
        patience: Duration,
        look: impl Fn(&State) -> Option<T>,
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

impl State {
    fn flaw(&mut self, what: String) {
        if self.flaws.len() < FLAWS_MAX && !self.flaws.contains(&what) {
            self.flaws.push(what);
        }
    }
}

/// Whether the conditions of a step hold.
fn fits(step: &Step, ask: &Ask) -> bool {
    let last = step.when_contains.as_ref().is_none_or(|text| ask.last.contains(text));
    let mut talk = ask.told.iter().chain(&ask.said);
    let anywhere = step.when_talk_contains.as_ref();
    last && anywhere.is_none_or(|text| talk.any(|part| part.contains(text)))
}
