//! What a person gave by flags, put together and held against the flow. Every refusal has its reason and
//! the next command: the same one, said so that it can be.
//!
//! Not here: what nobody gave (`choices.rs`), and the words of the request (`validate_text.rs`).
//!
//! Invariant: nothing is asked and nothing is written here.

use std::collections::BTreeMap;

use forge_core::flow::{Check, Delivery, Flow, Stage, Work};
use forge_driver::Error;

use crate::start::{
    flow_outline::EFFORT,
    ready::{PULL_REQUEST, find},
    request::{NO_PR, PR, PullRequest, Request},
};

/// An effort of which people ask and that no flow has.
const TOO_SMALL: &str = "XS";

/// Returns the parameters that a person gave, by whichever flag.
pub(super) fn given_params(
    request: &Request,
    flow: &Flow,
) -> Result<BTreeMap<String, String>, Error> {
    let mut params = request.params.clone();
    if let Some(effort) = &request.effort {
        let effort = known_effort(effort, request, flow)?;
        if params.contains_key(EFFORT) {
            let what = "the effort is given twice, by `--effort` and by `--param`";
            return Err(Error::usage(what, request.said_again(&[("--effort", &effort)], &[])));
        }
        params.insert(EFFORT.to_owned(), effort);
    }
    match request.pull_request {
        PullRequest::AsSet => {}
        PullRequest::AtEnd => {
            let opens = |stage: &Stage, _: Option<&Check>| {
                stage.work == (Work::Deliver { what: Delivery::PullRequest })
            };
            if find(&flow.stages, &opens).is_none() {
                let what = format!(
                    "the flow `{}` opens no pull request; open it afterwards with: forge pr",
                    flow.name
                );
                return Err(Error::usage(what, request.said_again(&[], &[PR])));
            }
        }
        PullRequest::Never => {
            if flow.accepts(PULL_REQUEST, "no").is_err() {
                return Err(Error::usage(
                    format!(
                        "the flow `{}` has no pull request that `--no-pr` could skip",
                        flow.name
                    ),
                    request.said_again(&[], &[NO_PR]),
                ));
            }
            params.insert(PULL_REQUEST.to_owned(), "no".to_owned());
        }
    }
    for (name, value) in &params {
        let next = || format!("forge flow show {}", flow.name);
        flow.accepts(name, value).map_err(|problem| Error::usage(problem, next()))?;
    }
    Ok(params)
}

/// Returns the effort as the flow writes it: `m` is M.
fn known_effort(effort: &str, request: &Request, flow: &Flow) -> Result<String, Error> {
    let Some(param) = flow.params.get(EFFORT) else {
        return Err(Error::usage(
            format!("the flow `{}` takes no --effort", flow.name),
            request.said_again(&[], &["--effort"]),
        ));
    };
    if let Some(known) = param.values.iter().find(|known| known.eq_ignore_ascii_case(effort)) {
        return Ok(known.clone());
    }
    let (last, others) = param.values.split_last().expect("an effort has values");
    let sizes = format!("{} or {last}", others.join(", "));
    let smallest = param.values.first().unwrap_or(&param.default);
    let (what, instead) = if effort.eq_ignore_ascii_case(TOO_SMALL) {
        let what = format!(
            "`{effort}` is not a valid --effort; use {sizes} (--quick skips the design and the tasks)"
        );
        (what, smallest)
    } else {
        let what = format!("`{effort}` is not a valid --effort; use {sizes}");
        (what, &param.default)
    };
    Err(Error::usage(what, request.said_again(&[("--effort", instead)], &[])))
}
