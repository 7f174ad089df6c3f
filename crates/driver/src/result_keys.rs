//! Which keys a role must leave in its result.

use forge_core::result::ResultKey;
use forge_core::{Run, id::CallId};

use crate::{Error, context::RunContext};

/// Keys that the result of a call must have: what its role says, and what its row needs.
pub fn required_result_keys(
    context: &RunContext<'_>,
    run: &Run,
    call: &CallId,
    role: &str,
) -> Result<Vec<ResultKey>, Error> {
    let mut must = context.role(run, call, role)?.must;
    match call {
        CallId::Attempt(attempt) => {
            if run.stage(&attempt.unit).list.is_some() {
                must.push(ResultKey::Lists);
            }
        }
        CallId::Judgement(_) => must.push(ResultKey::Verdict),
    }
    Ok(must)
}
