//! Every refusal of a flow has a flow that triggers it, and a flow that is all but refused passes.
//!
//! The sentences of the files in `flow/` are read from their source, so that a new
//! one without a row here is seen.

use std::collections::BTreeMap;

use forge_core::flow::Flow;

/// A stage that verifies and lands.
const LANDS: &str = "[[stage]]\nname = \"make\"\nagent = \"m\"\ngates = [{ check = \"changes\" }, { verify = true }, { land = true }]\n";
const PARAM: &str = "[params]\np = { values = [\"a\", \"b\"], default = \"a\" }\n";

fn read(text: &str) -> Result<Flow, String> {
    let used = "name = \"used\"\n[[stage]]\nname = \"s\"\nflow = \"f\"\n";
    let deep = |name: &str, other: &str| {
        (
            name.to_owned(),
            format!("name = \"{name}\"\n[[stage]]\nname = \"s\"\nflow = \"{other}\"\n"),
        )
    };
    let texts: BTreeMap<String, String> = [
        ("f".to_owned(), text.to_owned()),
        ("used".to_owned(), used.to_owned()),
        ("a b".to_owned(), "name = \"a b\"\n".to_owned()),
        deep("d1", "d2"),
        deep("d2", "d3"),
        deep("d3", "d4"),
        (
            "pipelines/made".to_owned(),
            "name = \"made\"\n[[stage]]\nname = \"s\"\nagent = \"x\"\n".to_owned(),
        ),
        ("d4".to_owned(), "name = \"d4\"\n[[stage]]\nname = \"s\"\nagent = \"x\"\n".to_owned()),
    ]
    .into();
    Flow::parse("f", &texts).map_err(|error| error.to_string())
}

/// The same for what a project's pipelines are named in.
fn rows_of_pipelines() -> Vec<String> {
    let stage = |text: &str| format!("name = \"f\"\n[[stage]]\nname = \"s\"\n{text}\n");
    vec![
        stage("agent = \"x\"\nlist = \"t\"\ntags.k = { values = \"words\" }"),
        stage("agent = \"x\"\nlist = \"t\"\ntags.k = { values = 3 }"),
        stage(
            "agent = \"x\"\nlist = \"t\"\n[[stage]]\nname = \"e\"\neach = \"t\"\npipelines = \"k\"\n[[stage.stage]]\nname = \"made\"\nagent = \"x\"",
        ),
        format!("name = \"f\"\n{LANDS}[[stage]]\nname = \"s\"\ndeliver = \"pages\"\n"),
    ]
}

/// Keys of a call of an agent where there is none, or with other words than they have.
fn rows_of_calls() -> Vec<String> {
    let stage = |text: &str| format!("name = \"f\"\n[[stage]]\nname = \"s\"\n{text}\n");
    let gate = |text: &str| stage(&format!("agent = \"x\"\ngates = [{text}]"));
    vec![
        stage("agent = \"x\"\ncode = \"writes\""),
        stage("command = \"x\"\ncode = \"reads\""),
        stage("command = \"x\"\nmodel = \"m\""),
        stage("agent = \"x\"\nmodel = \"--option\""),
        stage("gates = [{ human = \"?\" }]\nbrief = {}"),
        stage("agent = \"x\"\nbrief = { without = [\"request\"] }"),
        stage("agent = \"x\"\nbrief = { role = \"none\" }"),
        gate("{ human = \"?\", model = \"m\" }"),
        gate("{ review = \"y\", model = \"\" }"),
    ]
}

/// What is wrong with a flow that says this about itself, and has this stage `s`.
fn rows() -> Vec<String> {
    let stage = |text: &str| format!("name = \"f\"\n[[stage]]\nname = \"s\"\n{text}\n");
    let gates = |text: &str| {
        format!(
            "name = \"f\"\n[[stage]]\nname = \"s\"\nagent = \"x\"\ngates = [{text}]\n[[stage]]\nname = \"later\"\nagent = \"y\"\n"
        )
    };
    let each = |inner: &str| {
        format!(
            "name = \"f\"\n{PARAM}[[stage]]\nname = \"plan\"\nagent = \"x\"\nlist = \"l\"\n{LANDS}[[stage]]\nname = \"each\"\neach = \"l\"\n[[stage.stage]]\nname = \"s\"\n{inner}\n"
        )
    };
    let head = |text: &str| format!("name = \"f\"\n{text}\n{PARAM}{LANDS}");
    let after = |text: &str| format!("name = \"f\"\n{LANDS}[[stage]]\nname = \"s\"\n{text}\n");
    let when = |text: &str| {
        format!("name = \"f\"\n{PARAM}[[stage]]\nname = \"s\"\nagent = \"x\"\nwhen = {text}\n")
    };
    let rows = vec![
        // The flow itself.
        "name = \"g\"\n".to_owned(),
        "name = \"f\"\n".to_owned(),
        "name = \"f\"\nformat = 2\n".to_owned(),
        "name = \"f\"\nnonsense".to_owned(),
        stage("flow = \"none\""),
        stage("flow = \"used\""),
        stage("flow = \"a b\""),
        stage("flow = \"d1\""),
        "name = \"f\"\n[params]\n\"a b\" = { values = [\"x\"], default = \"x\" }\n[[stage]]\nname = \"s\"\nagent = \"x\"".to_owned(),
        "name = \"f\"\n[params]\np = { values = [\"x\"], default = \"y\" }\n[[stage]]\nname = \"s\"\nagent = \"x\"".to_owned(),
        head("manual = { param = \"q\", is = [\"a\"] }"),
        head("manual = { param = \"p\", is = [\"c\"] }"),
        head("manual = { item = \"risk\", is = [\"high\"] }"),
        head("manual = { param = \"p\", is = [] }"),
        head("coherence = \"a b\""),
        head("lists = [\"l\"]"),
        // Stages.
        stage("agnet = \"x\""),
        "name = \"f\"\n[[stage]]\nname = \"a.b\"\nagent = \"x\"".to_owned(),
        after("agent = \"x\"\n[[stage]]\nname = \"s\"\nagent = \"x\""),
        stage(""),
        stage("agent = \"x\"\ncommand = \"y\""),
        stage("agent = \"x y\""),
        stage("deliver = \"pr\""),
        stage("agent = \"x\"\nat_once = 2"),
        stage("each = \"l\""),
        stage("each = \"l\"\nat_once = 0"),
        stage("each = \"l\"\nitems_max = 3001"),
        stage("each = \"l\"\nitems_max = 3\nitems_min = 4"),
        stage("each = \"l\"\n[[stage.stage]]\nname = \"t\"\nagent = \"x\""),
        stage("each = \"l\"\norder = \"none\"\n[[stage.stage]]\nname = \"t\"\nagent = \"x\""),
        stage("each = \"l\"\norder = 3"),
        stage("each = \"l\"\nstuck = { param = \"nope\" }\n[[stage.stage]]\nname = \"t\"\nagent = \"x\""),
        format!("name = \"f\"\n{PARAM}[[stage]]\nname = \"s\"\neach = \"l\"\nstuck = {{ param = \"p\" }}"),
        stage("agent = \"x\"\nrounds = 21"),
        stage("agent = \"x\"\nmisses = 0"),
        stage("agent = \"x\"\nbudget = \"two\""),
        stage("agent = \"x\"\nbudget = 2.5"),
        stage("agent = \"x\"\ngates_first = true"),
        stage("agent = \"x\"\nafter = [\"y\"]"),
        stage("gates = [{ human = \"?\" }]\nlist = \"l\""),
        // Conditions.
        when("3"),
        when("{ param = \"p\", is = [] }"),
        when("{ is = [\"a\"] }"),
        when("{ param = \"q\", is = [\"a\"] }"),
        when("{ param = \"p\", is = [\"c\"] }"),
        when("{ item = \"risk\", is = [\"high\"] }"),
        when("[{ param = \"p\", is = [\"a\"] }, { param = \"p\", is = [\"b\"] }]"),
        each("agent = \"x\"\nwhen = [{ item = \"t\", is = [\"a\"] }, { item = \"t\", is = [\"b\"] }]"),
        // Artifacts.
        stage("agent = \"x\"\nreads = [\"y.md\"]"),
        stage("agent = \"x\"\nreads = [\"../y.md\"]"),
        stage("agent = \"x\"\nwrites = [\"/y.md\"]"),
        stage("agent = \"x\"\nwrites = [\"request.md\"]"),
        stage("agent = \"x\"\nwrites = [\"request.md/y.md\"]"),
        stage("agent = \"x\"\nreads = [\"change.diff\"]"),
        gates("{ review = \"r\", reads = [\"change.diff\"] }"),
        // Tags.
        stage("agent = \"x\"\ntags.route = { values = [\"A\"] }"),
        stage("agent = \"x\"\nlist = \"l\"\ntags.\"a b\" = { values = [\"A\"] }"),
        stage("agent = \"x\"\nlist = \"l\"\ntags.route = { values = [] }"),
        stage("agent = \"x\"\nlist = \"l\"\ntags.route = { values = [\"A\"], default = \"B\" }"),
        "name = \"f\"\n[[stage]]\nname = \"s\"\nagent = \"x\"\nlist = \"l\"\ntags.route = { values = [\"A\"] }\n[[stage]]\nname = \"t\"\neach = \"l\"\n[[stage.stage]]\nname = \"u\"\nagent = \"x\"\nwhen = { item = \"route\", is = [\"B\"] }\n".to_owned(),
        // Gates.
        gates("{ name = \"x\" }"),
        gates("{ check = \"none\" }"),
        gates("{ name = \"a b\", verify = true }"),
        gates("{ name = \"a\", review = \"../x\" }"),
        gates("{ verify = true, auto = true }"),
        gates("{ human = \"?\", advisory = true }"),
        gates("{ human = \"?\", rounds = 1 }"),
        gates("{ review = \"a\", rounds = 21 }"),
        gates("{ review = \"a\", rounds = { param = \"nope\" } }"),
        format!("name = \"f\"\n{PARAM}[[stage]]\nname = \"s\"\nagent = \"x\"\nrounds = {{ param = \"p\" }}"),
        gates("{ review = \"a\", rounds = { param = \"p\", is = 1 } }"),
        gates("{ review = \"a\" }, { review = \"a\" }"),
        gates("{ artifact = \"x.md\" }"),
        gates("{ review = \"a\", redo = \"later\" }"),
        gates("{ land = true }, { verify = true }"),
        // Deliveries.
        stage("deliver = \"pull-request\""),
        stage("deliver = \"commit\""),
        "name = \"f\"\n[[stage]]\nname = \"make\"\nagent = \"m\"\ngates = [{ verify = true }]\n[[stage]]\nname = \"s\"\ndeliver = \"pull-request\"".to_owned(),
        after("after = []\ndeliver = \"pull-request\""),
        each("deliver = \"summary\""),
        each("deliver = \"pull-request\""),
    ];
    [rows, rows_of_calls(), rows_of_pipelines()].concat()
}

#[test]
fn every_row_is_refused_and_says_why() {
    let mut messages = String::new();
    for row in rows() {
        let refused = read(&row).expect_err(&row);
        messages.push_str(refused.split(", expected").next().unwrap().trim_end());
        messages.push('\n');
    }
    insta::assert_snapshot!("refusals", messages);
}

#[test]
fn every_sentence_of_the_source_is_said_by_some_row() {
    let messages: Vec<String> = rows().iter().map(|row| read(row).unwrap_err()).collect();
    let said = |sentence: &str| {
        messages.iter().any(|message| {
            let mut rest = message.as_str();
            fragments(sentence).iter().all(|part| match rest.find(part.as_str()) {
                Some(at) => {
                    rest = &rest[at + part.len()..];
                    true
                }
                None => false,
            })
        })
    };
    let sources = [
        include_str!("../../src/flow/brief_shape.rs"),
        include_str!("../../src/flow/parse.rs"),
        include_str!("../../src/flow/count.rs"),
        include_str!("../../src/flow/check.rs"),
    ];
    let sentences: Vec<String> = sources.iter().flat_map(|source| sentences(source)).collect();
    assert!(sentences.len() > 40, "only {} sentences were found", sentences.len());
    let unsaid: Vec<&String> = sentences.iter().filter(|sentence| !said(sentence)).collect();
    assert_eq!(unsaid, [] as [&String; 0], "no flow triggers these");
}

#[test]
fn what_is_all_but_refused_is_a_flow() {
    for text in [
        format!("name = \"f\"\nmanual = {{ param = \"p\", is = [\"a\"] }}\ncoherence = \"looker\"\n{PARAM}{LANDS}"),
        format!("name = \"f\"\n{LANDS}[[stage]]\nname = \"s\"\ndeliver = \"pull-request\"\n"),
        format!("name = \"f\"\n{LANDS}[[stage]]\nname = \"s\"\nagent = \"x\"\nreads = [\"change.diff\"]\n"),
        "name = \"f\"\n[[stage]]\nname = \"s\"\ndeliver = \"summary\"\n".to_owned(),
        "name = \"f\"\n[[stage]]\nname = \"s\"\nagent = \"x\"\ngates = [{ check = \"changes\" }, { review = \"r\", reads = [\"change.diff\"] }]\n".to_owned(),
    ] {
        assert!(read(&text).is_ok(), "{text}");
    }
}

/// What stands between the places of a format string.
fn fragments(sentence: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for c in sentence.chars() {
        match c {
            '{' => {
                depth += 1;
                parts.push(String::new());
            }
            '}' => depth -= 1,
            _ if depth == 0 => parts.last_mut().unwrap().push(c),
            _ => {}
        }
    }
    parts.into_iter().filter(|part| !part.trim().is_empty()).collect()
}

/// The texts of a source that are sentences, but for promises to ourselves.
fn sentences(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in joined(source).lines().filter(|line| !line.trim_start().starts_with("//")) {
        let mut rest = line;
        while let Some(start) = rest.find('"') {
            let before = &rest[..start];
            let Some((text, after)) = literal(&rest[start + 1..]) else { break };
            let is_promise = before.trim_end().ends_with("expect(");
            if !is_promise && text.split_whitespace().count() > 2 {
                found.push(text);
            }
            rest = after;
        }
    }
    found
}

/// A source in which no text goes over more than one line.
fn joined(source: &str) -> String {
    let mut lines = source.lines();
    let mut all = String::new();
    while let Some(line) = lines.next() {
        match line.strip_suffix('\\') {
            Some(begun) => {
                all.push_str(begun);
                all.push_str(lines.next().unwrap_or_default().trim_start());
            }
            None => all.push_str(line),
        }
        all.push('\n');
    }
    all
}

/// The text up to the next quote, and what comes after it.
fn literal(text: &str) -> Option<(String, &str)> {
    let mut found = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((found, &text[at + 1..])),
            '\\' => found.extend(chars.next().map(|(_, c)| c)),
            c => found.push(c),
        }
    }
    None
}
