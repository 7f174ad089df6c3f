//! Which keys of a result a call may give beside those that it must, and which mean nothing there.

use forge_core::{id::CallId, result::ResultKey};

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

/// Keys that have no effect in the result of a call: no schema that an agent's own program checks has them.
pub fn unused_result_keys(call: &CallId, required: &[ResultKey]) -> Vec<ResultKey> {
    let is_known =
        |key: &ResultKey| required.contains(key) || optional_result_keys(call).contains(key);
    ResultKey::ALL.into_iter().filter(|key| !is_known(key)).collect()
}
