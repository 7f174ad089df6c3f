//! What the turns of a call used up, from what their programs printed.

use std::io::BufReader;

use forge_agents::{AgentKind, Earlier, Price, StreamSummary, Use, read_transcript};
use forge_core::{
    Run,
    id::CallId,
    money::{Cost, ModelUse, Money, Spent, Tokens},
};
use forge_keeper::AttemptFolder;
use forge_project::settings::Frozen;

use crate::{executor::Executor, outcome};

/// Reads what a turn printed. `asked_for` is the model that it was to use.
pub fn listen(
    executor: &dyn Executor,
    kind: AgentKind,
    asked_for: Option<&str>,
    folder: &AttemptFolder,
    earlier: &Earlier,
) -> StreamSummary {
    let mut summary = match executor.open_output(&folder.transcript()) {
        Ok(file) => read_transcript(kind, BufReader::new(file), earlier),
        Err(_) => read_transcript(kind, &b""[..], earlier),
    };
    summary.assume_model(asked_for, &earlier.prices);
    summary
}

/// Returns what the session in which a call goes on had used in the calls before it, if programs of this kind report totals
/// of sessions; and the user's prices.
pub fn used_before(run: &Run, call: &CallId, kind: AgentKind, frozen: &Frozen) -> Earlier {
    let prices = frozen.prices.clone();
    let Some(session) = run.session(call).filter(|_| kind.reports_session_totals()) else {
        return Earlier { prices, uses: Vec::new() };
    };
    let same = run.history().calls.iter().filter(|ended| ended.session.as_deref() == Some(session));
    let models = same.filter_map(|ended| ended.used.as_ref()).flat_map(|used| &used.models);
    Earlier { prices, uses: models.map(to_use).collect() }
}

fn to_use(one: &ModelUse) -> Use {
    let Tokens { input, output, cache_read, cache_write } = one.tokens;
    Use {
        provider: one.provider.clone(),
        model: one.model.clone(),
        tokens: forge_agents::TokenCounts { input, output, cache_read, cache_write },
        cost: match one.cost {
            Cost::Known(money) => Price::Reported(money.0),
            Cost::Estimated(money) => Price::Estimated(money.0),
            Cost::Unknown => Price::Missing,
        },
    }
}

/// Adds up what all models used.
pub fn spent(uses: &[Use]) -> Spent {
    let price = uses.iter().map(|one| one.cost).reduce(Price::plus);
    let mut tokens = Tokens::default();
    for one in uses {
        tokens += model_use(one).tokens;
    }
    // Who was heard of and said nothing of money is of unknown cost; who never began cost nothing.
    Spent { cost: price.map_or(Cost::Known(Money(0)), cost), tokens, at_least: Money(0) }
}

pub fn model_use(one: &Use) -> ModelUse {
    let forge_agents::TokenCounts { input, output, cache_read, cache_write } = one.tokens;
    ModelUse {
        provider: one.provider.clone(),
        model: one.model.clone(),
        tokens: Tokens { input, output, cache_read, cache_write },
        cost: cost(one.cost),
    }
}

pub const fn cost(price: Price) -> Cost {
    match price {
        Price::Reported(micros) => Cost::Known(Money(micros)),
        Price::Estimated(micros) => Cost::Estimated(Money(micros)),
        Price::Missing => Cost::Unknown,
    }
}

/// The tail of what a program wrote to its standard error.
pub fn errors(executor: &dyn Executor, folder: &AttemptFolder) -> String {
    outcome::tail_of(executor, &folder.stderr(), ERRORS_BYTES).unwrap_or_default()
}

/// The most of what a program wrote to its standard error that is looked at.
pub const ERRORS_BYTES: u64 = 16 * 1024;
