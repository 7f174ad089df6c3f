//! `result.json`: what is accepted fulfils the schema that agents are given, is bounded, and is the same when it is written and read again.

use std::sync::LazyLock;

use forge_agents::{parse_result, result_schema};
use forge_core::result::{
    FINDINGS_MAX, ResultError, ResultKey, SUMMARY_CHARACTERS_MAX, Status, TEXT_CHARACTERS_MAX,
};
use forge_fuzz::FuzzTarget;
use serde_json::Value;

const CALL: &str = "build.T2/implement#3";
const ALL_KEYS: &[ResultKey] = &[ResultKey::Verdict, ResultKey::Must, ResultKey::Shown];

static SCHEMA: LazyLock<jsonschema::Validator> =
    LazyLock::new(|| jsonschema::validator_for(&result_schema(CALL, &[], &[])).unwrap());

#[test]
fn what_is_accepted_as_a_result_fulfils_the_schema_and_is_bounded() {
    let tokens = &[
        "\"forge\":1,",
        "\"status\":\"done\"",
        "partial",
        "blocked",
        "\"verdict\":\"revise\"",
        "findings",
        "severity",
        "must",
        "shown",
        "lists",
        "blocker",
        "class",
        "tags",
        "proof",
        "command",
        "quote",
        "null",
        "path",
        "line",
        "unknown_key",
        "\"memory\":[\"x\"]",
    ];
    FuzzTarget { name: "agent-result", check, tokens, bytes_max: 32 * 1024 }.run();
}

fn check(input: &[u8]) {
    // Seeds are of many attempts; the one that a file names is the one that is asked for.
    let value = serde_json::from_slice::<Value>(input).ok();
    let call = value.as_ref().and_then(|value| value["attempt"].as_str()).unwrap_or(CALL);
    let strict = parse_result(input, call, ALL_KEYS);
    let result = match parse_result(input, call, &[]) {
        Ok(result) => result,
        Err(error) => {
            assert!(strict.is_err(), "more required keys cannot make it acceptable: {error}");
            let text = error.to_string();
            assert!(text.len() < 2_000, "an error is short: {} bytes", text.len());
            return;
        }
    };
    let mut value = value.clone().expect("what is accepted is JSON");
    value["attempt"] = CALL.into();
    complete_proofs(&mut value);
    assert!(SCHEMA.is_valid(&value), "accepted against the schema: {value}");
    let missing = ALL_KEYS.iter().any(|key| value.get(key.as_str()).is_none());
    let is_refused = matches!(strict, Err(ResultError::MissingKey { .. }));
    assert_eq!(is_refused, missing && result.status == Status::Done);
    assert_eq!(result.attempt, call);
    assert!(result.summary.chars().count() <= SUMMARY_CHARACTERS_MAX);
    assert!(result.findings.len() <= FINDINGS_MAX);
    for finding in &result.findings {
        assert!(finding.what.chars().count() <= TEXT_CHARACTERS_MAX);
        let parts = finding.path.iter().flat_map(|path| path.split('/'));
        assert!(parts.into_iter().all(|part| !matches!(part, "" | "." | "..")), "{finding:?}");
    }
    let written = serde_json::to_vec(&result).unwrap();
    assert_eq!(parse_result(&written, call, &[]).as_ref(), Ok(&result));
}

/// Adds what the reader forgives and the schema demands: the output of a command that proves a finding.
fn complete_proofs(value: &mut Value) {
    let findings = value.get_mut("findings").and_then(Value::as_array_mut).into_iter().flatten();
    for proof in findings.filter_map(|finding| finding.get_mut("proof")) {
        if proof["command"].is_string() && proof["output"].is_null() {
            proof["output"] = "".into();
        }
    }
}
