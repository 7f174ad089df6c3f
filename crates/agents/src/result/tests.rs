//! The contract, held against what agents write.

use std::fs;
use std::os::unix::fs::symlink;

use forge_core::result::{ReportedVerdict, Status};
use forge_core::verdict::Proof;

use super::*;

const CALL: &str = "build.T2/implement#3";

/// Returns a result with these keys besides the four that every result has.
fn with(keys: &str) -> String {
    format!(r#"{{"forge":1,"attempt":"{CALL}","status":"done","summary":"did it"{keys}}}"#)
}

fn flaw(text: &str, must: &[ResultKey]) -> String {
    parse_result(text.as_bytes(), CALL, must).unwrap_err().to_string()
}

#[test]
fn the_result_of_the_handbook_is_understood() {
    let text = with(
        r#","verdict":"revise",
        "findings":[{"severity":"major","path":"src/a.rs","line":12,"what":"w","why":"y",
          "proof":{"command":"cargo test","output":"1 failed"},"was":"F3"},
          {"severity":"minor","what":"typo","proof":{"quote":"teh"}}],
        "lists":{"tasks":[{"id":"T1","title":"t","after":[],"writes":["src"],"tags":{"size":"S"},"must":["m"]}]},
        "must":[{"id":"M1","state":"met","proof":"p"}],
        "shown":{"approach":"a","key_changes":["k"],"risk":"low"},
        "commit":"c","decisions":["d"],"follow_ups":["f"],"memory":["m"]"#,
    );
    let all = [
        ResultKey::Verdict,
        ResultKey::Findings,
        ResultKey::Lists,
        ResultKey::Must,
        ResultKey::Shown,
        ResultKey::Commit,
    ];
    let result = parse_result(text.as_bytes(), CALL, &all).unwrap();
    assert_eq!(result.verdict, Some(ReportedVerdict::Revise));
    assert_eq!(result.findings[1].proof, Some(Proof::Quote { quote: "teh".to_owned() }));
    assert_eq!(result.lists["tasks"][0].tags["size"], "S");
    let again = serde_json::to_vec(&result).unwrap();
    assert_eq!(parse_result(&again, CALL, &all).unwrap(), result);
}

#[test]
fn every_flaw_has_its_sentence() {
    let blocked = format!(r#"{{"forge":1,"attempt":"{CALL}","status":"blocked","summary":""}}"#);
    let cases = [
        (
            "{\"forge\":1,\n nope".to_owned(),
            "`result.json` is not JSON: key must be a string, in line 2, column 2",
        ),
        (
            String::new(),
            "`result.json` is not JSON: EOF while parsing a value, in line 1, column 0",
        ),
        (
            "all good, PASS".to_owned(),
            "`result.json` is not JSON: expected value, in line 1, column 1",
        ),
        ("[]".to_owned(), "`result.json` is not a JSON object"),
        (r#"{"verdict":"pass"}"#.to_owned(), "the key `forge` is missing"),
        ("{}".to_owned(), "the key `forge` is missing"),
        (r#"{"forge":2,"new":1}"#.to_owned(), "`forge` is 2, and must be 1"),
        (r#"{"forge":1}"#.to_owned(), "the key `attempt` is missing"),
        (
            r#"{"forge":1,"attempt":"build.T2/implement#2"}"#.to_owned(),
            "`attempt` is `build.T2/implement#2`, and this attempt is `build.T2/implement#3`",
        ),
        (blocked, "`status` is blocked, but `blocker` does not say by what"),
        (
            with("").replace("done", "finished"),
            "`result.json` is not valid: unknown variant `finished`, expected one of `done`, `partial`, `blocked`, in line 1, column 63",
        ),
        (
            with(r#","commit":7"#),
            "`result.json` is not valid: invalid type: integer `7`, expected a string, in line 1, column 89",
        ),
        (
            with(
                r#","findings":[{"severity":"minor","what":"","proof":{"quote":"","command":""}}]"#,
            ),
            "`result.json` is not valid: a proof is either `command` and `output`, or `quote`, in line 1, column 155",
        ),
        (
            with(r#","findings":[{"severity":"minor","what":"","path":"../a"}]"#),
            "`findings[0].path` is `../a`, which is not a relative path inside the tree",
        ),
        (
            with(r#","findings":[{"severity":"minor","what":"","path":"/etc/passwd"}]"#),
            "`findings[0].path` is `/etc/passwd`, which is not a relative path inside the tree",
        ),
    ];
    for (text, sentence) in cases {
        assert_eq!(flaw(&text, &[]), sentence);
    }
    assert_eq!(flaw(&with(""), &[ResultKey::Verdict]), "the key `verdict` is missing");
    assert_eq!(
        flaw(&with(r#","findings":[]"#), &[ResultKey::Findings, ResultKey::Must]),
        "the key `must` is missing"
    );
}

#[test]
fn a_complaint_about_a_key_of_any_length_is_short_and_names_only_keys_that_anybody_may_use() {
    let long = "k".repeat(100_000);
    let sentence = flaw(&with(&format!(r#","{long}":1"#)), &[]);
    assert!(sentence.len() < 700, "{} bytes", sentence.len());
    assert!(sentence.contains("unknown field `kkk"), "{sentence}");
    // Which keys of a result a role has is in its brief.
    assert!(!sentence.contains("`follow_ups`"), "{sentence}");
    let sentence = flaw(&with(&format!(r#","findings":[{{"{long}":1}}]"#)), &[]);
    assert!(sentence.len() < 700 && sentence.contains("`severity`"), "{sentence}");
}

#[test]
fn only_work_that_is_done_owes_its_keys() {
    let of = |status: &str, keys: &str| {
        let text = with(keys).replace(r#""done""#, &format!("{status:?}"));
        parse_result(text.as_bytes(), CALL, &[ResultKey::Verdict, ResultKey::Lists])
    };
    assert_eq!(of("done", ""), Err(ResultError::MissingKey { key: "verdict" }));
    assert_eq!(of("partial", "").unwrap().status, Status::Partial);
    assert_eq!(of("blocked", ""), Err(ResultError::NoBlocker));
    let blocker = r#","blocker":{"class":"model_refusal","what":"no"}"#;
    assert_eq!(of("blocked", blocker).unwrap().status, Status::Blocked);
}

#[test]
fn a_missing_or_unknown_key_is_named() {
    let text = format!(r#"{{"forge":1,"attempt":"{CALL}","status":"done"}}"#);
    assert!(flaw(&text, &[]).contains("missing field `summary`"));
    assert!(flaw(&with(r#","verdit":"pass""#), &[]).contains("unknown field `verdit`"));
    assert!(flaw(&with(r#","verdict":"fine""#), &[]).contains("unknown variant `fine`"));
}

#[test]
fn every_limit_can_be_reached() {
    let long = "ä".repeat(501);
    let text = format!(r#"{{"forge":1,"attempt":"{CALL}","status":"done","summary":"{long}"}}"#);
    let summary = parse_result(text.as_bytes(), CALL, &[]).unwrap().summary;
    assert_eq!(summary.chars().count(), 500, "what is longer is cut");
    assert!(summary.ends_with("ä… (cut)"), "{summary}");
    let finding = r#"{"severity":"minor","what":""}"#;
    let many = vec![finding; 201].join(",");
    assert_eq!(
        flaw(&with(&format!(r#","findings":[{many}]"#)), &[]),
        "there are 201 findings; at most 200 are allowed"
    );
    let text = "x".repeat(4_001);
    assert_eq!(
        flaw(&with(&format!(r#","memory":["","{text}"]"#)), &[]),
        "`memory[1]` has 4001 characters; at most 4000 are allowed"
    );
    let many = vec!["\"\""; 3_001].join(",");
    assert_eq!(
        flaw(&with(&format!(r#","decisions":[{many}]"#)), &[]),
        "`decisions` has 3001 entries; at most 3000 are allowed"
    );
    let huge = " ".repeat(1024 * 1024 + 1);
    assert_eq!(flaw(&huge, &[]), "`result.json` is larger than 1048576 bytes");
    // Deep nesting is an error, and not the end of our stack.
    let deep = with(&format!(r#","memory":{}{}"#, "[".repeat(100_000), "]".repeat(100_000)));
    for text in ["[".repeat(1_000_000), r#"{"a":"#.repeat(100_000), deep] {
        let flaw = flaw(&text, &[]);
        assert!(flaw.starts_with("`result.json` is not JSON: recursion limit exceeded"), "{flaw}");
    }
    let flaw = parse_result(b"\xff\xfe", CALL, &[]).unwrap_err().to_string();
    assert_eq!(flaw, "`result.json` is not JSON: expected value, in line 1, column 1");
}

#[test]
fn a_result_is_read_only_if_it_is_a_file_in_the_outbox() {
    let home = tempfile::tempdir().unwrap();
    let read = || read_result(home.path(), CALL, &[]);
    let file = home.path().join(RESULT_FILE);
    assert_eq!(read().unwrap_err().to_string(), "no `result.json` in the outbox");
    fs::write(home.path().join("real.json"), with("")).unwrap();
    symlink("real.json", &file).unwrap();
    assert_eq!(read().unwrap_err().to_string(), "`result.json` is not a regular file");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(read().unwrap_err().to_string(), "`result.json` is not a regular file");
    fs::remove_dir(&file).unwrap();
    for elsewhere in ["/dev/zero", "/nowhere/at/all", RESULT_FILE] {
        symlink(elsewhere, &file).unwrap();
        assert_eq!(read().unwrap_err(), ResultError::NotAFile, "{elsewhere}");
        fs::remove_file(&file).unwrap();
    }
    fs::write(&file, vec![b' '; 1024 * 1024 + 1]).unwrap();
    assert_eq!(read().unwrap_err(), ResultError::TooLarge);
    fs::write(&file, with("")).unwrap();
    assert_eq!(read().unwrap().summary, "did it");
    // The same result, in an outbox that is a link or gone.
    let link = home.path().join("link");
    symlink(home.path(), &link).unwrap();
    assert_eq!(read_result(&link, CALL, &[]).unwrap_err(), ResultError::NotAFile);
    let gone = home.path().join("gone");
    assert_eq!(read_result(&gone, CALL, &[]).unwrap_err(), ResultError::Missing);
}

#[test]
fn the_schema_describes_every_key_in_words() {
    let schema = serde_json::to_value(schemars::schema_for!(AgentResult)).unwrap();
    for (key, value) in schema["properties"].as_object().unwrap() {
        assert!(value["description"].is_string(), "{key} has no description");
    }
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn the_schema_of_a_call_is_complete_in_itself_and_names_the_call() {
    let schema =
        result_schema(CALL, &[ResultKey::Verdict, ResultKey::Findings, ResultKey::Verdict], &[]);
    let text = schema.to_string();
    for word in ["$ref", "$defs", "$schema"] {
        assert!(!text.contains(word), "{word} in {text}");
    }
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["properties"]["attempt"]["const"], CALL);
    let required = ["attempt", "findings", "forge", "status", "summary", "verdict"];
    assert_eq!(schema["required"], serde_json::json!(required));
    assert!(text.len() < 16_000, "it goes on a command line: {}", text.len());
}
