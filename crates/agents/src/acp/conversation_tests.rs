//! Conversations with agents that behave, and with those that do not.

use std::path::PathBuf;

use super::super::known_tools::TOOLS_MAX;
use super::super::wire::{PermissionOption, ToolKind};
use super::*;

fn task() -> AcpTask {
    AcpTask {
        prompt: "do it".to_owned(),
        cwd: "/work".to_owned(),
        folders: vec!["/in".to_owned(), "/out".to_owned()],
        resume: None,
        model: None,
    }
}

fn able() -> Value {
    json!({"protocolVersion": 1, "agentInfo": {"name": "x", "version": "1.2"},
        "agentCapabilities": {"loadSession": true, "sessionCapabilities": {"additionalDirectories": {}}}})
}

fn session() -> Value {
    json!({"sessionId": "s1", "configOptions": [{"id": "model", "category": "model", "type": "select",
        "currentValue": "small", "options": [{"group": "g", "options": [{"value": "small"}]}, {"value": "large"}]}]})
}

/// A conversation under test, and what it did so far.
struct Told {
    conversation: AcpConversation,
    sent: Vec<Value>,
    printed: Vec<AcpLine>,
    served: Vec<(Value, ClientRequest)>,
    ends: usize,
}

impl Told {
    fn new(task: AcpTask) -> Self {
        let conversation = AcpConversation::new(task);
        let (sent, printed, served) = (Vec::new(), Vec::new(), Vec::new());
        let mut told = Self { conversation, sent, printed, served, ends: 0 };
        let acts = told.conversation.begin();
        told.take(acts);
        told
    }

    /// One whose prompt is under way.
    fn prompted(task: AcpTask) -> Self {
        let mut told = Self::new(task);
        told.answer(able());
        told.answer(session());
        assert_eq!(told.sent.last().unwrap()["method"], "session/prompt", "{:?}", told.printed);
        told
    }

    fn take(&mut self, acts: Vec<AcpAct>) {
        for act in acts {
            match act {
                AcpAct::Send(message) => self.sent.push(message),
                AcpAct::Print(line) => self.printed.push(line),
                AcpAct::Serve(id, request) => self.served.push((id, request)),
                AcpAct::End => self.ends += 1,
            }
        }
    }

    fn hear(&mut self, message: &Value) {
        let acts = self.conversation.hear(message.to_string().as_bytes());
        self.take(acts);
    }

    /// Answers our last request.
    #[expect(clippy::needless_pass_by_value, reason = "it is written where it is passed")]
    fn answer(&mut self, result: Value) {
        let id = self.sent.last().unwrap()["id"].clone();
        self.hear(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    fn refuse(&mut self, code: i64, message: &str) {
        let id = self.sent.last().unwrap()["id"].clone();
        self.hear(&json!({"id": id, "error": {"code": code, "message": message}}));
    }

    #[expect(clippy::needless_pass_by_value, reason = "it is written where it is passed")]
    fn update(&mut self, update: Value) {
        self.hear(
            &json!({"method": "session/update", "params": {"sessionId": "s1", "update": update}}),
        );
    }

    /// The last line: a class and why.
    fn ended(&self) -> (Option<ErrorClass>, &str) {
        assert_eq!(self.ends, 1, "{:?}", self.printed);
        let Some(AcpLine::Ended { class, what }) = self.printed.last() else {
            panic!("{:?}", self.printed)
        };
        (*class, what)
    }
}

#[test]
fn a_turn_goes_from_the_version_over_a_session_to_its_end() {
    let mut told = Told::prompted(task());
    let methods: Vec<&Value> = told.sent.iter().map(|message| &message["method"]).collect();
    assert_eq!(methods, ["initialize", "session/new", "session/prompt"]);
    assert_eq!(told.sent[0]["params"]["protocolVersion"], 1);
    assert_eq!(
        told.sent[1]["params"],
        json!({"cwd": "/work", "mcpServers": [], "additionalDirectories": ["/in", "/out"]})
    );
    let prompt = json!({"sessionId": "s1", "prompt": [{"type": "text", "text": "do it"}]});
    assert_eq!(told.sent[2]["params"], prompt);
    told.update(
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "I "}}),
    );
    told.update(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "look."}}));
    told.update(
        json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}}),
    );
    told.update(
        json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Edit", "kind": "edit"}),
    );
    told.update(
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "title": "Edit a.txt",
        "rawInput": {"path": "a.txt"}}),
    );
    told.update(
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"}),
    );
    told.update(json!({"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": 0.5, "currency": "USD"}}));
    told.answer(json!({"stopReason": "end_turn", "usage": {"inputTokens": 3, "outputTokens": 4,
        "cachedReadTokens": 5, "cachedWriteTokens": null}}));
    let lines: Vec<&AcpLine> =
        told.printed.iter().filter(|line| **line != AcpLine::Alive).collect();
    let tokens = TokenCounts { input: 3, output: 4, cache_read: 5, cache_write: 0 };
    let text = str::to_owned;
    assert_eq!(
        lines,
        [
            &AcpLine::Began {
                session: Some(text("s1")),
                model: Some(text("small")),
                version: Some(text("1.2")),
                paid_micros: None
            },
            &AcpLine::Said { text: text("I look.") },
            &AcpLine::UsedTool { name: text("edit"), about: text("Edit a.txt") },
            &AcpLine::Paid { total_micros: 500_000 },
            &AcpLine::Tokens { tokens },
            &AcpLine::Ended { class: None, what: String::new() },
        ]
    );
    assert_eq!(told.ends, 1);
}

#[test]
fn another_version_of_the_protocol_is_refused_before_anything_is_paid() {
    for version in [json!(2), json!(0), json!("1"), Value::Null] {
        let mut told = Told::new(task());
        told.answer(json!({"protocolVersion": version}));
        let (class, what) = told.ended();
        assert_eq!(class, Some(ErrorClass::Unusable));
        assert!(what.contains(&version.to_string()), "{what}");
        assert_eq!(told.sent.len(), 1);
    }
    let mut told = Told::new(task());
    told.answer(json!("hello"));
    assert_eq!(told.ended().0, Some(ErrorClass::Unusable));
}

#[test]
fn a_session_is_loaded_where_that_is_possible_and_what_it_repeats_is_not_said_again() {
    let resume = AcpTask { resume: Some("old".to_owned()), ..task() };
    let mut told = Told::new(resume.clone());
    told.answer(able());
    assert_eq!(told.sent[1]["method"], "session/load");
    assert_eq!(told.sent[1]["params"]["sessionId"], "old");
    told.update(
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "old"}}),
    );
    told.update(json!({"sessionUpdate": "tool_call", "toolCallId": "t", "status": "completed"}));
    told.update(json!({"sessionUpdate": "usage_update", "cost": {"amount": 2, "currency": "USD"}}));
    // It has no name of its own, and some answer with nothing at all.
    told.answer(Value::Null);
    assert_eq!(told.sent[2]["params"]["sessionId"], "old");
    let began = AcpLine::Began {
        session: Some("old".to_owned()),
        model: None,
        version: Some("1.2".to_owned()),
        paid_micros: Some(2_000_000),
    };
    assert_eq!(told.printed, [began]);

    let mut told = Told::new(resume.clone());
    told.answer(json!({"protocolVersion": 1}));
    assert_eq!(told.ended().0, Some(ErrorClass::NoSession));
    // Who needs a login for it is told so of a new one, if that needs it, too.
    for (code, why) in [(-32002, "no such session"), (-32000, "Authentication required")] {
        let mut told = Told::new(resume.clone());
        told.answer(able());
        told.refuse(code, why);
        assert_eq!(told.ended(), (Some(ErrorClass::NoSession), why));
    }
}

#[test]
fn a_session_that_cannot_be_loaded_again_has_no_name_for_us() {
    let mut told = Told::new(task());
    told.answer(json!({"protocolVersion": 1}));
    assert!(told.sent[1]["params"].get("additionalDirectories").is_none());
    told.answer(json!({"sessionId": "s1"}));
    assert!(matches!(&told.printed[0], AcpLine::Began { session: None, .. }));
}

#[test]
fn a_model_is_set_where_the_agent_has_a_choice_and_refused_before_it_is_paid_where_not() {
    let wants = |model: &str| AcpTask { model: Some(model.to_owned()), ..task() };
    let mut told = Told::new(wants("large"));
    told.answer(able());
    told.answer(session());
    assert_eq!(told.sent[2]["method"], "session/set_config_option");
    let params = json!({"sessionId": "s1", "configId": "model", "value": "large"});
    assert_eq!(told.sent[2]["params"], params);
    let mut set = session();
    set["configOptions"][0]["currentValue"] = json!("large-2");
    told.answer(set);
    assert_eq!(told.sent[3]["method"], "session/prompt");
    assert!(
        matches!(&told.printed[0], AcpLine::Began { model: Some(model), .. } if model == "large-2")
    );

    let told = Told::prompted(wants("small"));
    assert_eq!(told.sent.len(), 3, "it is the model already");

    let mut told = Told::new(wants("huge"));
    told.answer(able());
    told.answer(session());
    told.refuse(-32602, "unknown value");
    assert_eq!(
        told.ended(),
        (Some(ErrorClass::NoModel), "unknown value; the agent has: small, large")
    );

    let mut told = Told::new(wants("large"));
    told.answer(able());
    told.answer(json!({"sessionId": "s1"}));
    assert_eq!(told.ended().0, Some(ErrorClass::NoModel));
}

#[test]
fn every_reason_to_stop_has_its_class() {
    for (reason, class) in [
        ("end_turn", None),
        ("max_tokens", Some(ErrorClass::Overflow)),
        ("max_turn_requests", Some(ErrorClass::OutOfBudget)),
        ("refusal", Some(ErrorClass::Refusal)),
        ("cancelled", Some(ErrorClass::Stopped)),
        ("whatever", Some(ErrorClass::Unknown)),
        ("", Some(ErrorClass::Unknown)),
    ] {
        let mut told = Told::prompted(task());
        told.answer(json!({"stopReason": reason}));
        assert_eq!(told.ended().0, class, "{reason}");
    }
}

#[test]
fn what_an_agent_adds_in_its_own_words_is_passed_on_unless_it_is_long() {
    let added = |meta: Value| {
        let mut told = Told::prompted(task());
        told.answer(json!({"stopReason": "end_turn", "_meta": meta}));
        let added = |line| if let AcpLine::Added { meta } = line { Some(meta) } else { None };
        told.printed.into_iter().find_map(added)
    };
    assert_eq!(added(json!({"quota": 3})), Some(json!({"quota": 3})));
    assert_eq!(added(Value::Null), None);
    assert_eq!(added(json!({"long": "x".repeat(META_BYTES_MAX)})), None);
}

#[test]
fn who_is_not_logged_in_is_told_what_the_agent_knows_of_it() {
    let methods =
        json!([{"id": "a", "name": "Key", "description": "Set X_KEY"}, {"name": "Web"}, 7]);
    for step in 0..2 {
        let mut told = Told::new(task());
        let mut able = able();
        able["authMethods"] = methods.clone();
        told.answer(able);
        if step == 1 {
            told.answer(session());
        }
        told.refuse(-32000, "Authentication required");
        let (class, what) = told.ended();
        assert_eq!(class, Some(ErrorClass::Auth));
        assert!(what.starts_with("Authentication required: log in with"), "{what}");
        // A list with something odd in it is as good as none.
        assert!(
            !what.contains("Web") || what.ends_with("it knows: Key (Set X_KEY); Web"),
            "{what}"
        );
    }
}

#[test]
fn errors_of_a_prompt_have_the_class_that_they_tell() {
    for (code, message, class) in [
        (-32603, "Internal error: API Error: 529 Overloaded", ErrorClass::Server),
        (-32603, "Internal error", ErrorClass::Unknown),
        (429, "slow", ErrorClass::RateLimit),
    ] {
        let mut told = Told::prompted(task());
        told.refuse(code, message);
        assert_eq!(told.ended(), (Some(class), message));
    }
    let mut told = Told::new(task());
    told.refuse(-32601, "what?");
    assert_eq!(told.ended(), (Some(ErrorClass::Unusable), "the agent refuses: what?"));
}

#[test]
fn a_turn_that_is_stopped_is_cancelled_and_ends_when_the_agent_or_the_time_says_so() {
    let mut told = Told::prompted(task());
    let acts = told.conversation.stop();
    told.take(acts);
    assert_eq!(
        told.sent.last().unwrap(),
        &json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s1"}})
    );
    assert_eq!(told.conversation.time_max(), Some(CANCEL_TIME_MAX));
    let acts = told.conversation.stop();
    assert_eq!(acts, [], "once is enough");
    told.hear(&json!({"id": 3, "result": {"stopReason": "cancelled"}}));
    assert_eq!(told.ended().0, Some(ErrorClass::Stopped));

    for has_died in [false, true] {
        let mut told = Told::prompted(task());
        let acts = told.conversation.stop();
        told.take(acts);
        let it = &mut told.conversation;
        let acts = if has_died { it.closed("exit code 0", "") } else { it.overdue() };
        told.take(acts);
        assert_eq!(told.ended().0, Some(ErrorClass::Stopped));
    }
    let mut told = Told::new(task());
    let acts = told.conversation.stop();
    told.take(acts);
    assert_eq!(told.ended().0, Some(ErrorClass::Stopped));
}

#[test]
fn who_does_not_answer_or_dies_is_known_by_when() {
    for steps in 0..3 {
        let begin = || {
            let mut told = Told::new(task());
            for answer in [able(), session()].into_iter().take(steps) {
                told.answer(answer);
            }
            told
        };
        let mut told = begin();
        assert_eq!(told.conversation.time_max().is_some(), steps < 2, "a turn has its own limits");
        let acts = told.conversation.overdue();
        told.take(acts);
        let class = if steps < 2 { ErrorClass::Unusable } else { ErrorClass::Tooling };
        assert_eq!(told.ended().0, Some(class));

        let mut told = begin();
        let acts = told.conversation.closed("exit code 3", "boom");
        told.take(acts);
        let class = if steps < 2 { ErrorClass::Unusable } else { ErrorClass::Unknown };
        assert_eq!(told.ended().0, Some(class));
        assert!(told.ended().1.ends_with("exit code 3\nboom"), "{}", told.ended().1);

        let mut told = begin();
        let acts = told.conversation.closed("exit code 1", "please run x /login");
        told.take(acts);
        assert_eq!(told.ended().0, Some(ErrorClass::Auth));

        let mut told = begin();
        let acts = told.conversation.too_long(100);
        told.take(acts);
        assert!(told.ended().1.contains("more than 100 bytes"));
    }
}

#[test]
fn rubbish_and_unknown_messages_are_kept_and_ignored_up_to_a_limit() {
    let mut told = Told::prompted(task());
    let before = told.printed.len();
    for line in [
        "Debugger listening\n",
        r#"{"method":"session/update","params":{"sessionId":"s1"}}"#,
        r#"{"method":"_vendor/thing","params":{}}"#,
        r#"{"id":1,"result":{"protocolVersion":1}}"#,
        r#"{"id":"3","result":{"stopReason":"end_turn"}}"#,
        r#"{"id":99,"result":{}}"#,
    ] {
        let acts = told.conversation.hear(line.as_bytes());
        told.take(acts);
        assert!(matches!(told.printed.last(), Some(AcpLine::Kept { .. })), "{line}");
    }
    assert_eq!(told.printed.len(), before + 6);
    let long = vec![b'x'; 100_000];
    let acts = told.conversation.hear(&long);
    assert!(
        matches!(&acts[..], [AcpAct::Print(AcpLine::Kept { text })] if text.len() == KEPT_CHARACTERS_MAX)
    );
    assert_eq!(told.conversation.hear(b"  \n"), []);
    for _ in 0..RUBBISH_LINES_MAX {
        let acts = told.conversation.hear(b"x");
        told.take(acts);
    }
    let (class, what) = told.ended();
    assert_eq!(class, Some(ErrorClass::Tooling));
    assert!(what.ends_with("such as: x"), "{what}");
    told.answer(json!({"stopReason": "end_turn"}));
    assert_eq!(told.ends, 1, "nothing comes after the last line");
}

#[test]
fn what_the_agent_asks_is_served_and_what_nobody_knows_is_refused() {
    let mut told = Told::prompted(task());
    told.update(
        json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Write a", "kind": "edit",
        "locations": [{"path": "/work/a", "line": 3}]}),
    );
    let options = json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"}]);
    told.hear(&json!({"id": "p", "method": "session/request_permission",
        "params": {"sessionId": "s1", "toolCall": {"toolCallId": "t"}, "options": options}}));
    let option = PermissionOption { option_id: "y".to_owned(), kind: "allow_once".to_owned() };
    let asked = PermissionRequest {
        kind: ToolKind::Edit,
        paths: vec!["/work/a".into()],
        title: "Write a".to_owned(),
        options: vec![option],
    };
    assert_eq!(told.served, [(json!("p"), ClientRequest::Permit(asked))]);
    told.served.clear();
    told.hear(&json!({"id": 8, "method": "session/request_permission", "params": {"toolCall":
        {"toolCallId": "u", "content": [{"type": "diff", "path": "/etc/x", "newText": ""}]}}}));
    let (_, ClientRequest::Permit(asked)) = &told.served[0] else { panic!("{:?}", told.served) };
    assert_eq!((asked.kind, &asked.paths), (ToolKind::Edit, &vec![PathBuf::from("/etc/x")]));
    told.served.clear();
    for (method, params) in [
        ("fs/read_text_file", json!({"path": "/a", "line": 1})),
        ("fs/write_text_file", json!({"path": "/a", "content": ""})),
        ("terminal/create", json!({"command": "ls", "env": [{"name": "A", "value": "B"}]})),
        ("terminal/output", json!({"terminalId": "t"})),
        ("terminal/wait_for_exit", json!({"terminalId": "t"})),
        ("terminal/kill", json!({"terminalId": "t"})),
        ("terminal/release", json!({"terminalId": "t"})),
    ] {
        told.hear(&json!({"id": 9, "method": method, "params": params}));
        assert_eq!(told.served.len(), 1, "{method}");
        told.served.clear();
        told.hear(&json!({"id": 9, "method": method, "params": {}}));
        assert_eq!(told.sent.last().unwrap()["error"]["code"], rpc::INVALID_PARAMS, "{method}");
    }
    told.hear(&json!({"id": 9, "method": "elicitation/create", "params": {}}));
    assert_eq!(told.sent.last().unwrap()["error"]["code"], METHOD_NOT_FOUND);
    assert!(told.served.is_empty());
}

#[test]
fn a_long_message_is_said_in_parts_and_tools_are_forgotten() {
    let mut told = Told::prompted(task());
    let text = "x".repeat(TEXT_CHARACTERS_MAX - 1);
    for _ in 0..4 {
        told.update(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}));
    }
    let said = told.printed.iter().filter(|line| matches!(line, AcpLine::Said { .. })).count();
    assert_eq!(said, 2);
    for number in 0..TOOLS_MAX + 10 {
        told.update(
            json!({"sessionUpdate": "tool_call", "toolCallId": number.to_string(), "title": "x"}),
        );
    }
    assert_eq!(told.conversation.tools.tools.len(), TOOLS_MAX);
    // Money of another kind is not counted, and money of a kind that nobody knows neither.
    for cost in [json!({"amount": 1, "currency": "EUR"}), json!({"amount": "x"}), json!(3)] {
        told.update(json!({"sessionUpdate": "usage_update", "cost": cost}));
        assert_eq!(told.printed.last(), Some(&AcpLine::Alive));
    }
}
