//! Any agent that speaks the Agent Client Protocol: how a turn of one is started, and what its lines mean.
//!
//! ACP is a conversation, and a call has only an input and lines. So `forge __acp` stands between: it runs under the keeper,
//! starts the agent as its child, holds the conversation and prints one [`AcpLine`] for each thing that matters.
//!
//! `lines`: what it prints. `rpc`: JSON-RPC. `wire`: the messages of ACP that we know. `conversation`: what follows from what
//! the agent says, without any IO; `known_tools`: what it has told of its tools. `errors`: which of its words mean which class of error. `policy`: what it may do. `files` and
//! `terminals`: what it asks us to do for it. `process`: the process with its threads.
//!
//! Invariant: nothing outside of these files knows a word of ACP.
//! Invariant: what the agent says is bounded before it is held, and unknown messages are kept and ignored.

mod conversation;
mod errors;
mod files;
mod known_tools;
mod lines;
mod policy;
mod process;
mod rpc;
mod terminals;
mod wire;

pub use process::converse;

use forge_keeper::{Stderr, Stdout};

use crate::agent::{
    Agent, CodeAccess, Earlier, Launch, PASSED_TO_ALL, Session, StreamReader, TurnRequest,
};
use crate::prices;
use crate::program::is_session;
use crate::signal::{
    Ended, Limit, NO_MODEL, Price, Signal, TEXT_CHARACTERS_MAX, TokenCounts, Use,
    WHAT_CHARACTERS_MAX, Word, first_line, truncate,
};
use crate::variables::ACP_COMMAND;
pub(crate) use lines::AcpLine;

const PROVIDER: &str = "acp";

/// Any agent that speaks the Agent Client Protocol.
#[derive(Debug)]
pub(crate) struct AcpAgent;

impl Agent for AcpAgent {
    fn name(&self) -> &'static str {
        "acp"
    }

    fn description(&self) -> &'static str {
        "Any agent that speaks the Agent Client Protocol."
    }

    fn start(&self, turn: &TurnRequest<'_>) -> Launch {
        start(turn)
    }

    fn open_stream(&self, earlier: &Earlier) -> Box<dyn StreamReader> {
        Box::new(AcpStream::new(earlier))
    }

    fn spoken_to_by(&self) -> Option<&'static str> {
        Some(ACP_COMMAND)
    }

    /// Returns true: an agent that keeps no sessions tells us no name of one.
    fn can_resume(&self) -> bool {
        true
    }

    fn reports_session_totals(&self) -> bool {
        true
    }

    fn reports_end(&self) -> bool {
        true
    }

    fn reports_begin(&self) -> bool {
        true
    }

    fn has_readable_output(&self) -> bool {
        false
    }
}

/// Says how `forge __acp` is started: the arguments after those words.
pub(crate) fn start(turn: &TurnRequest<'_>) -> Launch {
    let mut argv = vec!["--access".to_owned(), word_for(turn.access).to_owned()];
    if let Some(model) = turn.model {
        argv.extend(["--model".to_owned(), model.to_owned()]);
    }
    match turn.session {
        // The agent names it.
        Session::New(_) => {}
        Session::Resume(id) => argv.extend(["--resume".to_owned(), id.to_owned()]),
    }
    argv.push("--".to_owned());
    argv.extend(turn.command.iter().cloned());
    let tmp = turn.tmp.map(|tmp| ("TMPDIR".to_owned(), tmp.to_string_lossy().into_owned()));
    Launch {
        argv,
        env: tmp.into_iter().collect(),
        pass: PASSED_TO_ALL.to_vec(),
        pass_with: &[],
        where_unset: &[],
        stdout: Stdout::Pipe,
        stderr: Stderr::Apart,
    }
}

const fn word_for(access: CodeAccess) -> &'static str {
    match access {
        CodeAccess::Writes => "writes",
        CodeAccess::Reads => "reads",
    }
}

/// State of the reader between two lines.
#[derive(Debug)]
pub(crate) struct AcpStream {
    model: String,
    /// The total of the session so far, in millionths of a dollar.
    total_micros: u64,
    /// Tokens have a price of their own only where no price is told.
    cost: CostTold,
    turn: TurnState,
}

#[derive(Debug, PartialEq, Eq)]
enum TurnState {
    /// No model was asked anything.
    Before,
    UnderWay,
}

#[derive(Debug, PartialEq, Eq)]
enum CostTold {
    Yes,
    No,
}

impl AcpStream {
    pub(crate) fn new(earlier: &Earlier) -> Self {
        let total_micros = earlier.uses.iter().filter_map(|one| one.cost.micros()).sum();
        Self {
            model: NO_MODEL.to_owned(),
            total_micros,
            cost: CostTold::No,
            turn: TurnState::Before,
        }
    }

    pub(crate) fn signal(&mut self, line: AcpLine) -> Signal {
        match line {
            AcpLine::Began { session, model, version, paid_micros } => {
                self.turn = TurnState::UnderWay;
                let short = |text: Option<String>| text.map(|text| first_line(&text));
                let (model, version) = (short(model), short(version));
                self.model = model.clone().unwrap_or_else(|| NO_MODEL.to_owned());
                self.total_micros = paid_micros.unwrap_or(self.total_micros);
                Signal::Began { session: session.filter(|id| is_session(id)), model, version }
            }
            AcpLine::Said { text } => Signal::Said { text: truncate(&text, TEXT_CHARACTERS_MAX) },
            AcpLine::UsedTool { name, about } => {
                Signal::UsedTool { name: first_line(&name), about: first_line(&about) }
            }
            AcpLine::Denied { what } => Signal::Asked { what: first_line(&what) },
            AcpLine::Paid { total_micros } => {
                self.cost = CostTold::Yes;
                // Who counts from the beginning of its process has a smaller total than before.
                let new = total_micros.checked_sub(self.total_micros).unwrap_or(total_micros);
                self.total_micros = total_micros;
                self.spent(Price::Reported(new), None)
            }
            AcpLine::Tokens { tokens } => {
                let cost = match self.cost {
                    // It is told apart.
                    CostTold::Yes => Price::Reported(0),
                    CostTold::No => prices::estimate(&self.model, tokens),
                };
                self.spent(cost, Some(tokens))
            }
            AcpLine::Alive | AcpLine::Added { .. } | AcpLine::Kept { .. } => Signal::Unknown,
            AcpLine::Ended { class, what } => {
                let word = match class {
                    None => Word::Well,
                    Some(class) => {
                        let what = truncate(&what, WHAT_CHARACTERS_MAX);
                        Word::Badly(Limit { class, until_ms: None, delay_ms: None, what })
                    }
                };
                let uses = match self.turn {
                    TurnState::Before => Some(Vec::new()),
                    TurnState::UnderWay => None,
                };
                Signal::Ended(Box::new(Ended { word, uses, answer: None, session: None }))
            }
        }
    }

    fn spent(&self, cost: Price, tokens: Option<TokenCounts>) -> Signal {
        Signal::Spent(Use {
            provider: PROVIDER.to_owned(),
            model: self.model.clone(),
            tokens: tokens.unwrap_or_default(),
            cost,
        })
    }
}

impl StreamReader for AcpStream {
    fn understand(&mut self, line: &str, signals: &mut Vec<Signal>) {
        let signal = match serde_json::from_str(line) {
            Ok(line) => self.signal(line),
            Err(_) => Signal::Unknown,
        };
        signals.push(signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::ErrorClass;

    /// Reads lines as a stream.
    fn signals(earlier: &Earlier, lines: &[AcpLine]) -> Vec<Signal> {
        let mut stream = AcpStream::new(earlier);
        let mut signals = Vec::new();
        for line in lines {
            stream.understand(&serde_json::to_string(line).unwrap(), &mut signals);
        }
        signals
    }

    fn began(model: Option<&str>, paid_micros: Option<u64>) -> AcpLine {
        let session = Some("-s".to_owned());
        AcpLine::Began { session, model: model.map(str::to_owned), version: None, paid_micros }
    }

    fn costs(earlier: &[Price], lines: &[AcpLine]) -> Vec<Price> {
        let one = |cost: &Price| Use {
            provider: PROVIDER.to_owned(),
            model: "m".to_owned(),
            tokens: TokenCounts::default(),
            cost: *cost,
        };
        let spent = |signal: Signal| {
            if let Signal::Spent(spent) = signal { Some(spent.cost) } else { None }
        };
        let earlier = Earlier { uses: earlier.iter().map(one).collect(), ..Earlier::default() };
        signals(&earlier, lines).into_iter().filter_map(spent).collect()
    }

    #[test]
    fn of_a_session_that_goes_on_only_what_is_new_counts() {
        let paid = |total_micros| AcpLine::Paid { total_micros };
        let new = [began(None, None), paid(700), paid(1_000)];
        assert_eq!(costs(&[], &new), [Price::Reported(700), Price::Reported(300)]);
        let before = [Price::Reported(400), Price::Missing, Price::Estimated(100)];
        assert_eq!(costs(&before, &new), [Price::Reported(200), Price::Reported(300)]);
        // It began to count anew.
        assert_eq!(costs(&[Price::Reported(5_000)], &new)[0], Price::Reported(700));
        // What the agent said itself while it opened the session is better.
        let told = [began(None, Some(600)), paid(700)];
        assert_eq!(costs(&before, &told), [Price::Reported(100)]);
    }

    #[test]
    fn tokens_without_a_price_are_estimated_where_the_model_has_one() {
        let tokens = TokenCounts { input: 1_000_000, ..TokenCounts::default() };
        let lines = |model| [began(Some(model), None), AcpLine::Tokens { tokens }];
        assert_eq!(costs(&[], &lines("nobody-knows")), [Price::Missing]);
        let known = costs(&[], &lines("claude-sonnet-4-5"));
        assert!(matches!(known[..], [Price::Estimated(1..)]), "{known:?}");
        let told = [AcpLine::Paid { total_micros: 5 }, AcpLine::Tokens { tokens }];
        assert_eq!(costs(&[], &told), [Price::Reported(5), Price::Reported(0)]);
    }

    #[test]
    fn a_name_that_is_none_is_no_session_and_an_end_before_the_prompt_cost_nothing() {
        let class = Some(ErrorClass::Unusable);
        let ended = AcpLine::Ended { class, what: "old".to_owned() };
        let uses = |lines: &[AcpLine]| {
            let last = signals(&Earlier::default(), lines).pop();
            let Some(Signal::Ended(ended)) = last else { panic!("{last:?}") };
            ended.uses
        };
        assert_eq!(uses(std::slice::from_ref(&ended)), Some(Vec::new()));
        assert_eq!(uses(&[began(None, None), ended]), None);
        let first = signals(&Earlier::default(), &[began(None, None)]).remove(0);
        assert!(matches!(first, Signal::Began { session: None, .. }), "it would be an option");
    }
}
