//! Reads one agent's stream, live or from its transcript, and says what it came to.
//!
//! [`Listener`] takes pieces of any size and passes on [`Signal`]s; [`StreamSummary`] is the fold of them.
//! Which words mean which signal is in the file of each program.
//!
//! Not here: whether a result is valid, and what is to be done about an end.
//!
//! Invariant: memory is bounded, whatever is printed.
//! Invariant: without a clear last line (where the program has one) and exit code 0, nothing is done.

use std::io::{self, BufRead};

use forge_keeper::ExitReason;
use serde_json::Value;

use crate::agent::{Earlier, StreamReader};
use crate::line_reader::{LINE_BYTES_MAX, LIVE_LINE_BYTES_MAX, Lines};
use crate::prices::{self, ModelPrice};
use crate::registry::AgentKind;
use crate::signal::{
    AgentEnd, Ended, ErrorClass, Limit, NO_MODEL, Price, Signal, TokenCounts, UsageWindow, Use,
    WHAT_CHARACTERS_MAX, Watchdog, Word, add,
};

/// The most things that are remembered as asked for in vain.
const DENIED_MAX: usize = 50;
/// The most models that one stream is believed to use. The rest is one more.
const MODELS_MAX: usize = 50;

/// The fold over a whole stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamSummary {
    kind: AgentKind,
    /// The program's own name for the session.
    pub session: Option<String>,
    pub model: Option<String>,
    /// Of the program.
    pub version: Option<String>,
    /// The last thing it said.
    pub said_last: Option<String>,
    /// What it asked for and nobody could grant.
    pub denied: Vec<String>,
    /// The structured output of the vendor's schema option.
    pub answer: Option<Value>,
    /// How much of its account is used up, as it was said last.
    pub windows: Vec<UsageWindow>,
    /// The limit it stands before: nothing has come since.
    pub limit: Option<Limit>,
    /// What it said in its last line, if that was the last line.
    pub word: Option<Word>,
    /// Lines that were too long to be understood.
    pub skipped: u64,
    /// True once anything was read that shows the program at work.
    began: bool,
    /// From last lines: final.
    settled: Vec<Use>,
    /// Since the last of them: as far as it is known.
    open: Vec<Use>,
    /// Whether a last line said all that was used.
    is_settled: bool,
    /// What of it has a price, in millionths of a dollar: also where one without makes the sum unknown.
    settled_micros: u64,
    open_micros: u64,
}

impl StreamSummary {
    const fn nothing(kind: AgentKind) -> Self {
        Self {
            kind,
            session: None,
            model: None,
            version: None,
            said_last: None,
            denied: Vec::new(),
            answer: None,
            windows: Vec::new(),
            limit: None,
            word: None,
            skipped: 0,
            began: false,
            settled: Vec::new(),
            open: Vec::new(),
            is_settled: false,
            settled_micros: 0,
            open_micros: 0,
        }
    }

    fn apply(&mut self, signal: &Signal) {
        match signal {
            Signal::Began { session, model, version } => {
                // A new stream behind an old one: the end of the old one does not count.
                (self.began, self.word, self.answer) = (true, None, None);
                self.session = session.clone().or(self.session.take());
                self.model = model.clone().or(self.model.take());
                self.version = version.clone().or(self.version.take());
            }
            Signal::Said { text } => {
                self.goes_on();
                self.said_last = Some(text.clone());
            }
            Signal::UsedTool { .. } => self.goes_on(),
            Signal::Asked { what } => {
                if self.denied.len() < DENIED_MAX {
                    self.denied.push(what.clone());
                }
            }
            Signal::Spent(spent) => {
                // Who spends goes on, whatever it said of its end or of a limit before.
                self.goes_on();
                self.is_settled = false;
                self.spend(spent);
            }
            Signal::Windows(windows) => self.windows.clone_from(windows),
            Signal::Limit(limit) => self.limit = Some(limit.clone()),
            Signal::Ended(ended) => self.end_with(ended),
            Signal::Unknown => {}
        }
    }

    fn goes_on(&mut self) {
        (self.began, self.limit, self.word) = (true, None, None);
    }

    fn spend(&mut self, spent: &Use) {
        self.open_micros = self.open_micros.saturating_add(spent.cost.micros().unwrap_or_default());
        if self.open.len() < MODELS_MAX || self.open.iter().any(|there| there.is_like(spent)) {
            add(&mut self.open, spent);
        } else {
            let last = self.open.last_mut().expect("there are many");
            last.tokens = last.tokens.plus(spent.tokens);
            last.cost = last.cost.plus(spent.cost);
        }
    }

    fn end_with(&mut self, ended: &Ended) {
        self.began = true;
        self.word = Some(ended.word.clone());
        self.answer.clone_from(&ended.answer);
        self.session = ended.session.clone().or(self.session.take());
        if let Some(uses) = &ended.uses {
            (self.open_micros, self.settled_micros) =
                (0, self.settled_micros.saturating_add(known(uses)));
            self.open.clear();
            uses.iter().take(MODELS_MAX).for_each(|one| add(&mut self.settled, one));
            self.is_settled = true;
        }
    }

    /// Returns what was used, one entry for each model. It is all there was: a part that nobody knows has the
    /// price [`Price::Missing`].
    pub fn uses(&self) -> Vec<Use> {
        let mut uses = self.settled.clone();
        self.open.iter().for_each(|one| add(&mut uses, one));
        if uses.is_empty() && !self.is_settled && !self.has_asked_no_model() {
            uses.push(Use {
                provider: self.kind.provider().to_owned(),
                model: self.model.clone().unwrap_or_else(|| NO_MODEL.to_owned()),
                tokens: TokenCounts::default(),
                cost: Price::Missing,
            });
        }
        uses
    }

    /// Takes the model that was asked for as the one that answered, where the program itself names none. What it used is
    /// then estimated, if that model has a price: one of the user's, or one that we know.
    pub fn assume_model(&mut self, asked_for: Option<&str>, prices: &[ModelPrice]) {
        let Some(asked_for) = asked_for.filter(|_| self.model.is_none()) else { return };
        self.model = Some(asked_for.to_owned());
        for (uses, micros) in
            [(&mut self.settled, &mut self.settled_micros), (&mut self.open, &mut self.open_micros)]
        {
            for one in uses.iter_mut().filter(|one| one.model == NO_MODEL) {
                asked_for.clone_into(&mut one.model);
                if one.cost == Price::Missing {
                    one.cost = match ModelPrice::find(prices, asked_for) {
                        Some(own) => Price::Estimated(own.micros(one.tokens)),
                        None => prices::estimate(asked_for, one.tokens),
                    };
                    *micros = micros.saturating_add(one.cost.micros().unwrap_or_default());
                }
            }
        }
    }

    /// Returns true if no model can have been asked yet.
    fn has_asked_no_model(&self) -> bool {
        self.kind.reports_begin() && !self.began
    }

    /// Returns what is known to be spent so far, in millionths of a dollar: at least this much.
    pub const fn spent_micros(&self) -> u64 {
        self.settled_micros.saturating_add(self.open_micros)
    }

    /// Returns what the call comes to. `how` is how the process ended, as its keeper says; `None` if the
    /// keeper is gone. `errors` is the tail of what it wrote to its standard error.
    pub fn end(&self, how: Option<&ExitReason>, errors: &str) -> AgentEnd {
        let Some(how) = how else { return AgentEnd::Lost };
        match how {
            ExitReason::Exited { code: 0 } => match &self.word {
                // A program that holds its answer to a form has none, and nothing came after the provider
                // failed: its stream was cut.
                Some(Word::Well) if self.kind.has_native_schema() && self.answer.is_none() => {
                    self.standing_limit().map_or(AgentEnd::Done, AgentEnd::Limited)
                }
                Some(Word::Well) => AgentEnd::Done,
                Some(Word::Badly(why)) => ended_badly(why),
                None => match self.standing_limit() {
                    Some(limit) => AgentEnd::Limited(limit),
                    None if self.kind.reports_end() => {
                        self.without_a_word("it ended without a final message", errors)
                    }
                    None => AgentEnd::Done,
                },
            },
            ExitReason::Exited { code } => self.broke_off(&format!("exit code {code}"), errors),
            ExitReason::Signalled { signal } => {
                self.broke_off(&format!("killed by signal {signal}"), errors)
            }
            // Who waits for a provider has nothing to say, and takes long.
            ExitReason::TimedOut => self.stopped(Watchdog::Wall),
            ExitReason::Silent => self.stopped(Watchdog::Silence),
            ExitReason::TooMuchOutput => AgentEnd::Stopped(Watchdog::Output),
            ExitReason::OverBudget => {
                AgentEnd::OverBudget { what: "it spent more than its budget".to_owned() }
            }
            ExitReason::Interrupted => AgentEnd::Interrupted,
            ExitReason::NotStarted { why } => AgentEnd::NotStarted { why: why.clone() },
        }
    }

    fn stopped(&self, watchdog: Watchdog) -> AgentEnd {
        self.standing_limit().map_or(AgentEnd::Stopped(watchdog), AgentEnd::Limited)
    }

    fn broke_off(&self, how: &str, errors: &str) -> AgentEnd {
        match &self.word {
            Some(Word::Badly(why)) => ended_badly(why),
            Some(Word::Well) => {
                self.without_a_word(&format!("it reported success, but then: {how}"), errors)
            }
            None => match self.standing_limit() {
                Some(limit) => AgentEnd::Limited(limit),
                None => self.without_a_word(how, errors),
            },
        }
    }

    fn standing_limit(&self) -> Option<Limit> {
        self.limit.clone().filter(|limit| limit.class.passes())
    }

    /// Classifies an end without a last line by the standard error.
    fn without_a_word(&self, how: &str, errors: &str) -> AgentEnd {
        let errors = errors.trim();
        let class = self.kind.class_of_errors(errors);
        let mut what = how.to_owned();
        if !errors.is_empty() {
            let skip = errors.chars().count().saturating_sub(WHAT_CHARACTERS_MAX);
            what = format!("{what}\n{}", errors.chars().skip(skip).collect::<String>());
        }
        if self.skipped > 0 {
            what = format!("{what}\n{} lines were too long to be read", self.skipped);
        }
        let class = class.unwrap_or(ErrorClass::Unknown);
        ended_badly(&Limit { class, until_ms: None, delay_ms: None, what })
    }
}

/// Returns what has a price, in millionths of a dollar.
fn known(uses: &[Use]) -> u64 {
    uses.iter().filter_map(|one| one.cost.micros()).fold(0, u64::saturating_add)
}

fn ended_badly(why: &Limit) -> AgentEnd {
    let what = why.what.clone();
    match why.class {
        ErrorClass::RateLimit
        | ErrorClass::UsageWindow
        | ErrorClass::Network
        | ErrorClass::Server => AgentEnd::Limited(why.clone()),
        ErrorClass::Refusal => AgentEnd::Refused { what },
        ErrorClass::Overflow => AgentEnd::Overflowed { what },
        ErrorClass::OutOfBudget => AgentEnd::OverBudget { what },
        ErrorClass::NoSession => AgentEnd::SessionGone,
        ErrorClass::Stopped => AgentEnd::Interrupted,
        class @ (ErrorClass::Auth
        | ErrorClass::Tooling
        | ErrorClass::Unusable
        | ErrorClass::Permission
        | ErrorClass::NoModel
        | ErrorClass::Unknown) => AgentEnd::Failed { class, what },
    }
}

/// A reader of an agent.s stream.
#[derive(Debug)]
pub struct Listener {
    lines: Lines,
    reader: Box<dyn StreamReader>,
    summary: StreamSummary,
    signals: Vec<Signal>,
    /// Prices of the user's.
    prices: Vec<ModelPrice>,
}

impl Listener {
    /// Opens a reader for a whole transcript.
    pub fn new(kind: AgentKind, earlier: &Earlier) -> Self {
        Self::with_line_max(kind, earlier, LINE_BYTES_MAX)
    }

    /// Opens a reader for the keeper of a running agent, which must stay small.
    pub fn live(kind: AgentKind, earlier: &Earlier) -> Self {
        Self::with_line_max(kind, earlier, LIVE_LINE_BYTES_MAX)
    }

    fn with_line_max(kind: AgentKind, earlier: &Earlier, max: usize) -> Self {
        let reader = kind.open_stream(earlier);
        let summary = StreamSummary::nothing(kind);
        let prices = earlier.prices.clone();
        Self { lines: Lines::new(max), reader, summary, signals: Vec::new(), prices }
    }

    /// Reads a piece of the stream, and passes on its signals.
    pub fn push(&mut self, bytes: &[u8], mut each: impl FnMut(&Signal)) {
        let Self { lines, reader, summary, signals, prices } = self;
        lines.push(bytes, |line| {
            understand(line, reader.as_mut(), summary, signals, prices, &mut each);
        });
        summary.skipped = lines.skipped();
    }

    /// Ends the stream.
    pub fn finish(mut self, mut each: impl FnMut(&Signal)) -> StreamSummary {
        let Self { lines, reader, summary, signals, prices } = &mut self;
        lines.finish(|line| {
            understand(line, reader.as_mut(), summary, signals, prices, &mut each);
        });
        summary.skipped = lines.skipped();
        self.summary
    }

    /// Returns the fold over all lines so far.
    pub const fn summary(&self) -> &StreamSummary {
        &self.summary
    }
}

fn understand(
    line: &[u8],
    reader: &mut dyn StreamReader,
    summary: &mut StreamSummary,
    signals: &mut Vec<Signal>,
    prices: &[ModelPrice],
    each: &mut impl FnMut(&Signal),
) {
    if line.iter().all(u8::is_ascii_whitespace) {
        return;
    }
    let line = String::from_utf8_lossy(line);
    reader.understand(&line, signals);
    for mut signal in signals.drain(..) {
        price(&mut signal, prices);
        summary.apply(&signal);
        each(&signal);
    }
}

/// Puts the user's prices in the place of those that we know. What the program itself says of costs counts.
fn price(signal: &mut Signal, prices: &[ModelPrice]) {
    let uses = match signal {
        Signal::Spent(spent) if !prices.is_empty() => std::slice::from_mut(spent),
        Signal::Ended(ended) if !prices.is_empty() => ended.uses.as_deref_mut().unwrap_or_default(),
        Signal::Spent(_)
        | Signal::Ended(_)
        | Signal::Began { .. }
        | Signal::Said { .. }
        | Signal::UsedTool { .. }
        | Signal::Asked { .. }
        | Signal::Windows(_)
        | Signal::Limit(_)
        | Signal::Unknown => return,
    };
    for one in uses.iter_mut().filter(|one| !matches!(one.cost, Price::Reported(_))) {
        if let Some(own) = ModelPrice::find(prices, &one.model) {
            one.cost = Price::Estimated(own.micros(one.tokens));
        }
    }
}

/// Reads a transcript. It stops where the transcript cannot be read any further.
pub fn read_transcript(
    kind: AgentKind,
    mut transcript: impl BufRead,
    earlier: &Earlier,
) -> StreamSummary {
    let mut listener = Listener::new(kind, earlier);
    loop {
        let bytes = match transcript.fill_buf() {
            Ok([]) => break,
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        listener.push(bytes, |_| {});
        let read = bytes.len();
        transcript.consume(read);
    }
    listener.finish(|_| {})
}
