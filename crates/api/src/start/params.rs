//! What a person gave by flags, put together and held against the flow. Every refusal has its reason and two
//! commands that would be taken: the same one, said so that it can be.
//!
//! Not here: what nobody gave (`choices.rs`), and the words of the request (`validate_text.rs`).
//!
//! Invariant: nothing is asked and nothing is written here.

use std::collections::BTreeMap;

use forge_core::flow::Flow;
use forge_driver::Error;

use crate::start::{
    flow_outline::EFFORT,
    ready::PULL_REQUEST,
    request::{NO_PR, PullRequest, Request},
    validate_text::examples,
};

/// An effort of which people ask and that no flow has.
const TOO_SMALL: &str = "XS";
/// The flow that knows efforts and offers pull requests.
const FEATURE: &str = "feature";

/// Returns the parameters that a person gave, by whichever flag.
pub(super) fn given_params(
    request: &Request,
    flow: &Flow,
) -> Result<BTreeMap<String, String>, Error> {
    let mut params = request.params.clone();
    if let Some(effort) = &request.effort {
        if params.contains_key(EFFORT) {
            return Err(with_efforts(
                "the effort is given twice, by `--effort` and by `--param`".to_owned(),
                request,
                flow,
            ));
        }
        params.insert(EFFORT.to_owned(), known_effort(effort, request, flow)?);
    }
    match request.pull_request {
        PullRequest::AsFlowSays => {}
        PullRequest::Never => {
            if flow.accepts(PULL_REQUEST, "no").is_err() {
                return Err(Error::usage(
                    format!(
                        "the flow `{}` offers no pull request that `--no-pr` could leave out",
                        flow.name
                    ),
                    examples(&[
                        &request.said_again(&[("--flow", FEATURE)], &[]),
                        &request.said_again(&[], &[NO_PR]),
                    ]),
                ));
            }
            params.insert(PULL_REQUEST.to_owned(), "no".to_owned());
        }
    }
    for (name, value) in &params {
        flow.accepts(name, value).map_err(|problem| with_params(problem, name, request, flow))?;
    }
    Ok(params)
}

/// Returns the effort as the flow writes it: `m` is M.
fn known_effort(effort: &str, request: &Request, flow: &Flow) -> Result<String, Error> {
    let Some(param) = flow.params.get(EFFORT) else {
        return Err(Error::usage(
            format!("the flow `{}` knows no effort that could be chosen", flow.name),
            examples(&[
                &request.said_again(&[], &["--effort"]),
                &request.said_again(&[("--flow", FEATURE)], &[]),
            ]),
        ));
    };
    if let Some(known) = param.values.iter().find(|known| known.eq_ignore_ascii_case(effort)) {
        return Ok(known.clone());
    }
    let what = if effort.eq_ignore_ascii_case(TOO_SMALL) {
        let smallest = param.values.first().map_or("", String::as_str);
        format!(
            "there is no effort XS: what needs no design and no review is sooner done by hand; {smallest} is the smallest"
        )
    } else {
        format!("`effort` can be {}, not `{effort}`", param.values.join(", "))
    };
    Err(with_efforts(what, request, flow))
}

/// Returns a refusal with the same command in two efforts.
fn with_efforts(what: String, request: &Request, flow: &Flow) -> Error {
    let values = flow.params.get(EFFORT).map(|param| param.values.as_slice()).unwrap_or_default();
    let said = |value: Option<&String>| match value {
        Some(value) => request.said_again(&[("--effort", value)], &[]),
        None => request.said_again(&[], &["--effort"]),
    };
    Error::usage(what, examples(&[&said(values.first()), &said(values.get(1))]))
}

/// Returns a refusal with two choices that the flow offers, where it offers some.
fn with_params(what: String, name: &str, request: &Request, flow: &Flow) -> Error {
    let named = flow.params.get_key_value(name).or_else(|| flow.params.iter().next());
    let said = |value: Option<&String>| match (named, value) {
        (Some((name, _)), Some(value)) => {
            request.said_again(&[("--param", &format!("{name}={value}"))], &[])
        }
        (Some(_), None) | (None, _) => request.said_again(&[], &["--param"]),
    };
    let values = named.map(|(_, param)| param.values.as_slice()).unwrap_or_default();
    let commands = examples(&[&said(values.first()), &said(values.get(1))]);
    Error::usage(what, format!("{commands}\n   all of them: forge flow show {}", flow.name))
}
