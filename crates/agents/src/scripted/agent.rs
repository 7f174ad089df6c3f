//! The scripted agent as one of the agent programs: it prints what any program may print, and has to say
//! `ended`.

use crate::agent::{Agent, Earlier, Launch, StreamReader, TurnRequest};
use crate::program::{ProgramStream, start};

/// The player of scenarios that is part of Forge.
#[derive(Debug)]
pub(crate) struct ScriptedAgent;

impl Agent for ScriptedAgent {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn description(&self) -> &'static str {
        "The scripted agent that comes with Forge."
    }

    fn start(&self, turn: &TurnRequest<'_>) -> Launch {
        start(turn)
    }

    fn open_stream(&self, earlier: &Earlier) -> Box<dyn StreamReader> {
        Box::new(ProgramStream::new(self.provider(), earlier))
    }

    fn plays_scenario(&self) -> bool {
        true
    }

    fn reports_cost(&self) -> bool {
        true
    }

    fn reports_end(&self) -> bool {
        true
    }
}
