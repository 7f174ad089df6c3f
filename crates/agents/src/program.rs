//! Any program as an agent: the brief on its standard input, exit code 0 when it is done.
//!
//! It may tell what it does in lines of JSON, which `PROGRAM.md` describes; it need not. The
//! scripted agent speaks the same words, and has to say `ended`.
//!
//! Not here: whether what it left is a valid result.
//!
//! Invariant: a line that is not of this protocol is not an error.
//! Invariant: who tells no price has none: it is missing, not zero.

use serde::Deserialize;

use forge_keeper::{Stderr, Stdout};

use crate::agent::{Agent, Earlier, Launch, PASSED_TO_ALL, StreamReader, TurnRequest};
use crate::prices;
use crate::signal::{
    Ended, ErrorClass, Limit, NO_MODEL, Price, Signal, TEXT_CHARACTERS_MAX, TokenCounts, Use,
    WHAT_CHARACTERS_MAX, Word, first_line, truncate,
};
use crate::variables::MODEL_VARIABLE;

/// The most models whose totals are remembered. The totals of others count in full.
const TOTALS_MAX: usize = 50;
/// The longest name of a session.
const SESSION_BYTES_MAX: usize = 128;

/// Any program that takes a brief on its standard input.
#[derive(Debug)]
pub(crate) struct AnyProgram;

impl Agent for AnyProgram {
    fn name(&self) -> &'static str {
        "program"
    }

    fn description(&self) -> &'static str {
        "Any program."
    }

    fn start(&self, turn: &TurnRequest<'_>) -> Launch {
        start(turn)
    }

    fn open_stream(&self, earlier: &Earlier) -> Box<dyn StreamReader> {
        Box::new(ProgramStream::new(self.provider(), earlier))
    }
}

/// Says how to start a program that takes a brief on its standard input.
pub(crate) fn start(turn: &TurnRequest<'_>) -> Launch {
    let mut env = Vec::new();
    if let Some(model) = turn.model {
        env.push((MODEL_VARIABLE.to_owned(), model.to_owned()));
    }
    if let Some(tmp) = turn.tmp.and_then(|tmp| tmp.to_str()) {
        env.push(("TMPDIR".to_owned(), tmp.to_owned()));
    }
    Launch {
        argv: turn.command.to_vec(),
        env,
        pass: PASSED_TO_ALL.to_vec(),
        pass_with: &[],
        where_unset: &[],
        stdout: Stdout::Pipe,
        stderr: Stderr::Together,
    }
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ProtocolLine {
    Began {
        session: Option<String>,
        model: Option<String>,
        version: Option<String>,
    },
    Said {
        text: String,
    },
    UsedTool {
        name: String,
        #[serde(default)]
        about: String,
    },
    Asked {
        what: String,
    },
    Spent(ReportedUse),
    Limited(Limited),
    Ended {
        ok: Option<bool>,
        what: Option<String>,
    },
}

#[derive(Deserialize)]
struct ReportedUse {
    provider: Option<String>,
    model: Option<String>,
    #[serde(flatten)]
    tokens: TokenCounts,
    cost_micros: Option<u64>,
    /// Whether these are totals of the session.
    #[serde(default)]
    cumulative: bool,
}

#[derive(Deserialize)]
struct Limited {
    kind: Option<LimitedKind>,
    until_ms: Option<u64>,
    delay_ms: Option<u64>,
    what: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum LimitedKind {
    Rate,
    Usage,
}

/// State of the reader between two lines.
#[derive(Debug)]
pub(crate) struct ProgramStream {
    /// The provider of a use that names none.
    provider: &'static str,
    /// The last totals, for each model.
    totals: Vec<Use>,
    /// The last words, for an ending that says nothing.
    said: Option<String>,
}

impl ProgramStream {
    pub(crate) fn new(provider: &'static str, earlier: &Earlier) -> Self {
        Self { provider, totals: earlier.uses.clone(), said: None }
    }

    fn signal(&mut self, line: ProtocolLine) -> Signal {
        match line {
            ProtocolLine::Began { session, model, version } => {
                let short = |text: Option<String>| text.map(|text| first_line(&text));
                let (model, version) = (short(model), short(version));
                Signal::Began { session: session.filter(|id| is_session(id)), model, version }
            }
            ProtocolLine::Said { text } => {
                let text = truncate(&text, TEXT_CHARACTERS_MAX);
                self.said = Some(first_line(&text)).filter(|text| !text.is_empty());
                Signal::Said { text }
            }
            ProtocolLine::UsedTool { name, about } => {
                Signal::UsedTool { name: first_line(&name), about: first_line(&about) }
            }
            ProtocolLine::Asked { what } => Signal::Asked { what: first_line(&what) },
            ProtocolLine::Spent(spent) => Signal::Spent(self.spent(spent)),
            ProtocolLine::Limited(limited) => Signal::Limit(limit(limited)),
            ProtocolLine::Ended { ok, what } => Signal::Ended(Box::new(Ended {
                word: word(ok, what.or_else(|| self.said.take())),
                uses: None,
                answer: None,
                session: None,
            })),
        }
    }

    fn spent(&mut self, spent: ReportedUse) -> Use {
        let name = |given: Option<String>| given.map(|given| first_line(&given));
        let model = name(spent.model);
        let provider = name(spent.provider).unwrap_or_else(|| self.provider.to_owned());
        let cost = match (spent.cost_micros, &model) {
            (Some(micros), _) => Price::Reported(micros),
            (None, Some(model)) => prices::estimate(model, spent.tokens),
            (None, None) => Price::Missing,
        };
        let model = model.unwrap_or_else(|| NO_MODEL.to_owned());
        let new = Use { provider, model, tokens: spent.tokens, cost };
        if spent.cumulative { self.since_the_last(new) } else { new }
    }

    /// Subtracts the last total.
    fn since_the_last(&mut self, total: Use) -> Use {
        let Some(last) = self.totals.iter_mut().find(|last| last.is_like(&total)) else {
            if self.totals.len() < TOTALS_MAX {
                self.totals.push(total.clone());
            }
            return total;
        };
        let new = Use {
            tokens: total.tokens.minus(last.tokens),
            cost: total.cost.minus(last.cost),
            ..total.clone()
        };
        *last = total;
        new
    }
}

impl StreamReader for ProgramStream {
    fn understand(&mut self, line: &str, signals: &mut Vec<Signal>) {
        let signal = match serde_json::from_str(line) {
            Ok(line) => self.signal(line),
            Err(_) => Signal::Unknown,
        };
        signals.push(signal);
    }
}

/// Returns true if a text can be the name of a session: it stands on command lines and in facts.
pub(crate) fn is_session(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= SESSION_BYTES_MAX
        && !id.starts_with('-')
        && id.bytes().all(|byte| byte.is_ascii_graphic())
}

fn limit(limited: Limited) -> Limit {
    let kind = limited.kind.unwrap_or(LimitedKind::Rate);
    let class = match kind {
        LimitedKind::Rate => ErrorClass::RateLimit,
        LimitedKind::Usage => ErrorClass::UsageWindow,
    };
    let what = limited.what.map(|what| first_line(&what));
    let what = what.unwrap_or_else(|| match kind {
        LimitedKind::Usage => "the usage limit is reached".to_owned(),
        LimitedKind::Rate => "rate-limited by the provider".to_owned(),
    });
    Limit { class, until_ms: limited.until_ms, delay_ms: limited.delay_ms, what }
}

/// Returns who does not say how it ended has ended well: its exit code is looked at, too.
fn word(ok: Option<bool>, what: Option<String>) -> Word {
    match ok {
        None | Some(true) => Word::Well,
        Some(false) => {
            let what = what.map(|what| truncate(&what, WHAT_CHARACTERS_MAX));
            let what = what.unwrap_or_else(|| "it reported a failure".to_owned());
            Word::Badly(Limit { class: ErrorClass::Unknown, until_ms: None, delay_ms: None, what })
        }
    }
}
