//! Listens to what the child costs while it runs.
//!
//! Not here: what it cost in the end; that is read from the transcript.
//!
//! Invariant: who has said its last word is not stopped any more, whatever it cost.
//! Invariant: memory is bounded by one line.

use forge_keeper::Monitor;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::Earlier;
use crate::registry::AgentKind;
use crate::signal::Signal;
use crate::stream::Listener;

/// The budget monitor of a running agent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listen {
    pub kind: AgentKind,
    /// What this attempt may cost, in millionths of a dollar.
    pub cap_micros: u64,
    /// What its session had used before, for programs that report totals.
    #[serde(default)]
    pub earlier: Earlier,
}

impl Listen {
    /// Serializes it for [`forge_keeper::Spec::monitor`].
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("names, numbers and lists can be written as JSON")
    }
}

/// Makes the monitor that an attempt asks for.
pub fn open_monitor(settings: &Value) -> Result<Box<dyn Monitor>, String> {
    match Listen::deserialize(settings) {
        Ok(listen) => Ok(Box::new(BudgetMonitor::new(&listen))),
        Err(error) => Err(format!("cannot listen to the child: {error}")),
    }
}

/// Adds up what a child reports to have used.
struct BudgetMonitor {
    listener: Listener,
    cap_micros: u64,
    /// How often the child reported a use.
    turns: u64,
}

impl BudgetMonitor {
    fn new(listen: &Listen) -> Self {
        let listener = Listener::live(listen.kind, &listen.earlier);
        Self { listener, cap_micros: listen.cap_micros, turns: 0 }
    }
}

impl Monitor for BudgetMonitor {
    fn push(&mut self, bytes: &[u8]) {
        let turns = &mut self.turns;
        self.listener.push(bytes, |signal| {
            if let Signal::Spent(_) = signal {
                *turns += 1;
            }
        });
    }

    fn turns(&self) -> u64 {
        self.turns
    }

    fn is_over_budget(&self) -> bool {
        let summary = self.listener.summary();
        summary.word.is_none() && summary.spent_micros() > self.cap_micros
    }
}
