//! What the data of an agent means, and what an artifact must be like.

use super::*;

fn result(text: &str) -> AgentResult {
    let text = format!(r#"{{"forge":1,"attempt":"a#1/judge#1","summary":"I looked",{text}}}"#);
    serde_json::from_str(&text).expect("it is a result")
}

#[test]
fn the_verdict_of_a_reviewer_is_its_data_and_only_if_it_is_done() {
    let finding = r#""findings":[{"severity":"major","path":"a","what":"x"}]"#;
    let pass = verdict_of(result(r#""status":"done","verdict":"pass""#));
    assert_eq!(pass, Ruling::Verdict(Verdict::Pass { findings: Vec::new() }));
    let revise = verdict_of(result(&format!(r#""status":"done","verdict":"revise",{finding}"#)));
    assert!(
        matches!(&revise, Ruling::Verdict(Verdict::Revise { findings }) if findings.len() == 1),
        "{revise:?}"
    );
    let block = verdict_of(result(r#""status":"done","verdict":"block""#));
    assert_eq!(
        block,
        Ruling::Verdict(Verdict::Block { reason: "I looked".to_owned(), findings: vec![] })
    );
    let fault = |what: &str| Ruling::Fault { class: FaultClass::NoResult, what: what.to_owned() };
    let half = verdict_of(result(r#""status":"partial","verdict":"pass""#));
    assert_eq!(half, fault("the review is only partly done: I looked"));
    let blocker = r#""blocker":{"class":"unknown","what":"no key"}"#;
    let stuck = verdict_of(result(&format!(r#""status":"blocked","verdict":"pass",{blocker}"#)));
    assert_eq!(stuck, fault("the reviewer says it is blocked: no key"));
}

#[test]
fn the_form_of_an_artifact_is_held_against_the_end_of_its_name() {
    let deep = "[".repeat(100_000);
    let table = [
        ("x.json", "{}", None),
        ("x.json", "{", Some("it is not JSON: EOF while parsing an object at line 1 column 1")),
        ("x.json", &*deep, Some("it is not JSON: recursion limit exceeded at line 1 column 128")),
        ("y.toml", "a = 1", None),
        ("y.toml", "a = [[[[", Some("it is not TOML: unclosed array, expected `]`")),
        ("z.md", "{", None),
        ("z.md", " \n", Some("it is empty")),
    ];
    for (name, text, wanted) in table {
        assert_eq!(form_flaw(name, text.as_bytes()).as_deref(), wanted, "{name}: {text:.9}");
    }
    let nested = format!("a = {deep}");
    let said = form_flaw("y.toml", nested.as_bytes()).expect("nobody reads that");
    assert!(said.starts_with("it is not TOML: "), "{said}");
    assert_eq!(form_flaw("z.md", b"\xff").as_deref(), Some("it is not UTF-8"));
}

#[test]
fn headings_for_items_and_the_list_of_items_say_the_same() {
    let items: Vec<Item> = ["T1", "T2"]
        .map(|id| serde_json::from_value(serde_json::json!({ "id": id, "title": "x" })).unwrap())
        .to_vec();
    let flaw = |text: &str| heading_flaw(text.as_bytes(), &items);
    for fine in ["## T1: a\n\n## T2: b\n", "# Tasks\nT1 and T2\n", "## How it is split: by file\n"]
    {
        assert_eq!(flaw(fine), None, "{fine}");
    }
    let missing = "it has no heading for `T2`, which the list has";
    assert_eq!(flaw("## T1: a\n").as_deref(), Some(missing));
    let unlisted = "it has a heading for `T3`, which is not in the list";
    assert_eq!(flaw("## T1: a\n## T2: b\n## T3: c\n").as_deref(), Some(unlisted));
}
