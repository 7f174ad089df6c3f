//! Which keys a role must leave in its result, and which mean nothing there.

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
    let mut must = context.role(run, role)?.must;
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

/// Keys that a call may give, beside those that it must.
pub fn optional_result_keys(call: &CallId) -> &'static [ResultKey] {
    match call {
        CallId::Attempt(_) => &[
            ResultKey::Findings,
            ResultKey::Must,
            ResultKey::Shown,
            ResultKey::Commit,
            ResultKey::Settled,
        ],
        CallId::Judgement(_) => &[ResultKey::Findings],
    }
}

/// Keys that mean nothing in the result of a call, and are refused there.
pub fn refused_result_keys(call: &CallId, required: &[ResultKey]) -> Vec<ResultKey> {
    let is_known =
        |key: &ResultKey| required.contains(key) || optional_result_keys(call).contains(key);
    ResultKey::ALL.into_iter().filter(|key| !is_known(key)).collect()
}
