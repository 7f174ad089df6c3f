//! Every kind of step, and requests that are no requests, by a client that knows only TCP.

#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    time::Duration,
};

use scripted_model::{
    AnswerEnding, ModelKey, PlayedAnswer, RequestShape, Script, ScriptStep, Server, TextBetween,
    TokenUsage, ToolCall,
};
use serde_json::{Value, json};

/// A test that waits longer than this hangs.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// What came back.
#[derive(Debug, Default)]
struct Response {
    code: u16,
    head: String,
    body: String,
    /// Whether the body came to its promised end.
    is_whole: bool,
}

impl Response {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The data of all events.
    fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    fn event_types(&self) -> Vec<String> {
        self.events().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    }
}

fn connect(server: &Server) -> TcpStream {
    let socket = TcpStream::connect(server.address()).unwrap();
    socket.set_read_timeout(Some(WAIT_MAX)).unwrap();
    socket
}

/// Reads one answer.
fn receive(socket: &mut TcpStream) -> Response {
    let mut response = Response { head: head(socket), ..Response::default() };
    let Some(code) = response.head.split(' ').nth(1) else { return response };
    response.code = code.parse().unwrap();
    if response.head.contains("transfer-encoding: chunked") {
        loop {
            let size = line(socket);
            let Ok(size) = usize::from_str_radix(size.trim(), 16) else { return response };
            let mut chunk = vec![0; size + 2];
            if socket.read_exact(&mut chunk).is_err() {
                return response;
            }
            chunk.truncate(size);
            response.body.push_str(&String::from_utf8(chunk).unwrap());
            if size == 0 {
                response.is_whole = true;
                return response;
            }
        }
    }
    let length = response.head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: u64 = length.unwrap().trim().parse().unwrap();
    let read = socket.take(length).read_to_string(&mut response.body).unwrap();
    response.is_whole = read as u64 == length;
    response
}

fn head(socket: &mut TcpStream) -> String {
    let mut head = String::new();
    loop {
        let line = line(socket);
        head.push_str(&line);
        if line.trim().is_empty() {
            return head;
        }
    }
}

fn line(socket: &mut TcpStream) -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    while !line.ends_with(b"\n") && socket.read(&mut byte).is_ok_and(|read| read == 1) {
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}

/// Sends a request of Claude's format.
fn ask(socket: &mut TcpStream, key: &ModelKey, body: &Value) {
    let path = key.url().find("/k/").map(|at| &key.url()[at..]).unwrap();
    let body = body.to_string();
    let length = body.len();
    let head = format!(
        "POST {path}/v1/messages?beta=true HTTP/1.1\r\nHost: x\r\nX-Api-Key: sk-canary\r\ncontent-length: {length}\r\n\r\n"
    );
    socket.write_all((head + &body).as_bytes()).unwrap();
}

fn question(text: &str) -> Value {
    let tools: Vec<Value> = ["Write", "Read", "Edit", "Bash", "StructuredOutput"]
        .into_iter()
        .map(|name| json!({"name": name, "description": "d", "input_schema": {}}))
        .collect();
    json!({"model": "m", "max_tokens": 1, "stream": true, "tools": tools,
        "system": [{"type": "text", "text": "You are a test. Dir: /w/x."}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": text}]}]})
}

fn in_one(mut question: Value) -> Value {
    question["stream"] = json!(false);
    question
}

/// One question to a script, and its answer.
fn answer_to(script: Script, question: &Value) -> Response {
    let server = Server::start().unwrap();
    let key = server.key_without_shape("one", script);
    let mut socket = connect(&server);
    ask(&mut socket, &key, question);
    let response = receive(&mut socket);
    assert_eq!(key.finish().len(), 1);
    response
}

fn answer(step: ScriptStep) -> Response {
    answer_to(Script::new([step]), &question("x"))
}

#[test]
fn text_thoughts_and_calls_come_as_events_with_their_price() {
    let usage = TokenUsage { input: 7, output: 8, cache_read: 9, cache_write: 10 };
    let response = answer(
        ScriptStep::call(ToolCall::bash("ls")).saying("Looking.").thinking("Where?").usage(usage),
    );
    assert!(response.is_whole && response.head.contains("text/event-stream"));
    let types = response.event_types();
    assert_eq!(types.first().unwrap(), "message_start");
    assert_eq!(&types[types.len() - 2..], ["message_delta", "message_stop"]);
    let events = response.events();
    assert_eq!(events[0]["message"]["usage"]["input_tokens"], 7);
    assert_eq!(events[0]["message"]["usage"]["output_tokens"], 1);
    let end = &events[events.len() - 2];
    assert_eq!(end["delta"]["stop_reason"], "tool_use");
    assert_eq!(
        end["usage"],
        json!({"input_tokens": 7, "output_tokens": 8, "cache_read_input_tokens": 9, "cache_creation_input_tokens": 10})
    );
    let deltas: Vec<&Value> = events.iter().filter_map(|event| event.get("delta")).collect();
    assert_eq!(deltas[0]["thinking"], "Where?");
    assert_eq!(deltas[2]["text"], "Looking.");
    assert_eq!(deltas[3]["partial_json"], "{\"command\":\"ls\"}");
}

#[test]
fn the_same_answer_comes_as_one_document_when_no_events_are_wanted() {
    let step = ScriptStep::call(ToolCall::raw("Other", json!({"a": 1}))).saying("Now.");
    let response = answer_to(Script::new([step]), &in_one(question("x")));
    let message = response.json();
    assert_eq!(message["stop_reason"], "tool_use");
    assert_eq!(message["content"][0], json!({"type": "text", "text": "Now."}));
    assert_eq!(message["content"][1]["name"], "Other");
    assert_eq!(message["usage"]["output_tokens"], 50);
}

#[test]
fn neutral_calls_become_the_tools_that_are_offered() {
    let step = ScriptStep::call(ToolCall::write("/a", "b"))
        .and_call(ToolCall::read("/a"))
        .and_call(ToolCall::edit("/a", "b", "c"))
        .and_call(ToolCall::answer(json!({"ok": true})));
    let response = answer_to(Script::new([step]), &in_one(question("x")));
    let calls: Vec<Value> = response.json()["content"].as_array().unwrap().clone();
    let calls: Vec<(&Value, &Value)> =
        calls.iter().map(|call| (&call["name"], &call["input"])).collect();
    assert_eq!(calls[0], (&json!("Write"), &json!({"file_path": "/a", "content": "b"})));
    assert_eq!(calls[1], (&json!("Read"), &json!({"file_path": "/a"})));
    let edit = json!({"file_path": "/a", "old_string": "b", "new_string": "c"});
    assert_eq!(calls[2], (&json!("Edit"), &edit));
    assert_eq!(calls[3], (&json!("StructuredOutput"), &json!({"ok": true})));
}

#[test]
fn refusal_and_length_are_reasons_to_stop() {
    for (ending, reason) in
        [(AnswerEnding::Refusal, "refusal"), (AnswerEnding::MaxTokens, "max_tokens")]
    {
        let events = answer(ScriptStep::say("I").ending(ending)).events();
        assert_eq!(events[events.len() - 2]["delta"]["stop_reason"], reason);
    }
}

#[test]
fn every_status_has_its_kind_of_error_and_its_headers() {
    for (code, kind) in [
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ] {
        let response = answer(ScriptStep::status(code, "so it is").header("retry-after", "7"));
        assert_eq!((response.code, response.is_whole), (code, true));
        assert!(response.head.contains("\r\nretry-after: 7\r\n"), "{}", response.head);
        assert_eq!(response.json()["error"], json!({"type": kind, "message": "so it is"}));
    }
    let plain = answer(ScriptStep::status(429, "slow"));
    assert!(!plain.head.contains("retry-after") && !plain.head.contains("unified"));
}

#[test]
fn a_usage_window_says_until_when_in_headers() {
    let response = answer(ScriptStep::usage_window("five_hour", 1_800_000_000));
    assert_eq!(response.code, 429);
    for header in [
        "unified-status: rejected",
        "unified-reset: 1800000000",
        "unified-representative-claim: five_hour",
        "unified-5h-reset: 1800000000",
    ] {
        assert!(response.head.contains(header), "{header} in {}", response.head);
    }
}

#[test]
fn a_prompt_that_is_too_long_is_refused_in_the_words_of_the_provider() {
    let response = answer(ScriptStep::overflow(210_000, 200_000));
    assert_eq!(response.code, 400);
    let message = "prompt is too long: 210000 tokens > 200000 maximum";
    assert_eq!(
        response.json()["error"],
        json!({"type": "invalid_request_error", "message": message})
    );
}

#[test]
fn an_error_in_mid_stream_comes_after_half_of_the_answer() {
    let response = answer(ScriptStep::say("Half.").ending(AnswerEnding::MidstreamError));
    let types = response.event_types();
    assert_eq!(types, ["message_start", "content_block_start", "content_block_delta", "error"]);
    let whole = Script::new([ScriptStep::say("Half.").ending(AnswerEnding::MidstreamError)]);
    assert_eq!(answer_to(whole, &in_one(question("x"))).code, 500);
}

#[test]
fn a_cut_answer_never_comes_to_its_end() {
    let step = ScriptStep::say("Half.").ending(AnswerEnding::Cut);
    let response = answer(step.clone());
    assert_eq!(
        response.event_types(),
        ["message_start", "content_block_start", "content_block_delta"]
    );
    assert!(!response.is_whole);
    let response = answer_to(Script::new([step]), &in_one(question("x")));
    assert!(response.code == 200 && !response.is_whole && !response.body.is_empty());
}

#[test]
fn a_stalled_answer_ends_with_the_server_and_leaves_nothing() {
    for (ending, starts) in
        [(AnswerEnding::Stall, "HTTP/1.1 200"), (AnswerEnding::StallBeforeHeaders, "")]
    {
        let server = Server::start().unwrap();
        let address = server.address();
        let key =
            server.key_without_shape("one", Script::new([ScriptStep::say("x").ending(ending)]));
        let mut socket = connect(&server);
        ask(&mut socket, &key, &question("x"));
        key.wait_for_requests(1);
        if !starts.is_empty() {
            assert!(head(&mut socket).starts_with(starts));
        }
        key.finish();
        drop(server);
        let mut rest = String::new();
        socket.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "");
        TcpListener::bind(address).expect("the port is free again");
    }
}

#[test]
fn a_delayed_answer_comes_whole() {
    let step = ScriptStep::say("Late.").after(Duration::from_millis(30));
    let began = std::time::Instant::now();
    assert!(answer(step).is_whole);
    assert!(began.elapsed() >= Duration::from_millis(30));
}

#[test]
fn a_barrier_holds_the_answer_until_it_is_released() {
    let server = Server::start().unwrap();
    let key = server.key_without_shape("one", Script::new([ScriptStep::say("x").wait_for("go")]));
    let mut socket = connect(&server);
    ask(&mut socket, &key, &question("x"));
    key.wait_until_reached("go");
    socket.set_nonblocking(true).unwrap();
    assert!(socket.peek(&mut [0]).is_err(), "nothing is said yet");
    socket.set_nonblocking(false).unwrap();
    key.release("go");
    assert!(receive(&mut socket).is_whole);
    key.finish();
}

#[test]
fn a_server_stops_while_a_request_stands_at_a_barrier() {
    let server = Server::start().unwrap();
    let key =
        server.key_without_shape("one", Script::new([ScriptStep::say("x").wait_for("never")]));
    let mut socket = connect(&server);
    ask(&mut socket, &key, &question("x"));
    key.wait_until_reached("never");
    key.finish();
    drop(server);
}

#[test]
fn steps_are_played_in_order_and_the_last_one_again() {
    let server = Server::start().unwrap();
    let key =
        server.key_without_shape("one", Script::new([ScriptStep::say("a"), ScriptStep::say("b")]));
    let mut socket = connect(&server);
    let mut said = Vec::new();
    for _ in 0..3 {
        ask(&mut socket, &key, &in_one(question("x")));
        said.push(receive(&mut socket).json()["content"][0]["text"].clone());
    }
    assert_eq!(said, ["a", "b", "b"]);
    let played: Vec<PlayedAnswer> =
        key.finish().into_iter().map(|request| request.played).collect();
    assert_eq!(played, [PlayedAnswer::Step(0), PlayedAnswer::Step(1), PlayedAnswer::Step(1)]);
}

#[test]
fn a_script_that_ends_refuses_what_comes_after() {
    let server = Server::start().unwrap();
    let key =
        server.key_without_shape("one", Script::new([ScriptStep::say("a")]).fail_after_last());
    let mut socket = connect(&server);
    for code in [200, 403] {
        ask(&mut socket, &key, &question("x"));
        assert_eq!(receive(&mut socket).code, code);
    }
    let flaws = key.finish_with_flaws();
    assert_eq!(flaws, ["request 2 cannot be answered: the script has no more steps for it"]);
}

#[test]
fn conditions_choose_the_step_and_sessions_have_their_own_place() {
    let script = Script::new([
        ScriptStep::say("review 1").when_talk_contains("a reviewer"),
        ScriptStep::say("review 2").when_talk_contains("a reviewer"),
        ScriptStep::say("again").when_contains("try again"),
        ScriptStep::say("build"),
    ])
    .for_each_session();
    let server = Server::start().unwrap();
    let key = server.key_without_shape("one", script);
    let path = "/k/one/v1/messages";
    let mut said = Vec::new();
    let asked = [
        ("A", "You are a reviewer"),
        ("B", "You build"),
        ("C", "You are a reviewer"),
        ("A", "You are a reviewer, still"),
        ("B", "try again"),
        ("B", "on"),
    ];
    for (session, text) in asked {
        let body = in_one(question(text)).to_string();
        let length = body.len();
        let mut socket = connect(&server);
        let head = format!(
            "POST {path} HTTP/1.1\r\nX-Claude-Code-Session-Id: {session}\r\nContent-Length: {length}\r\n\r\n"
        );
        socket.write_all((head + &body).as_bytes()).unwrap();
        said.push(receive(&mut socket).json()["content"][0]["text"].clone());
    }
    assert_eq!(said, ["review 1", "build", "review 1", "review 2", "again", "build"]);
    key.finish();
}

#[test]
fn a_step_takes_text_of_the_request() {
    let script = Script::new([ScriptStep::say("in ${dir}, not ${HOME}")])
        .capture("dir", TextBetween::new("Dir: ", "."));
    let response = answer_to(script, &in_one(question("x")));
    assert_eq!(response.json()["content"][0]["text"], "in /w/x, not ${HOME}");
}

#[test]
fn what_is_not_in_the_request_and_a_tool_that_is_not_offered_are_flaws() {
    for (step, what) in [
        (ScriptStep::say("${outbox}"), "`${outbox}` is not in it"),
        (ScriptStep::call(ToolCall::bash("x")), "the tool Bash is not offered"),
    ] {
        let server = Server::start().unwrap();
        let key = server.key_without_shape("one", Script::new([step]));
        let mut question = question("x");
        question["tools"] = json!([{"name": "Other"}]);
        let mut socket = connect(&server);
        ask(&mut socket, &key, &question);
        assert_eq!(receive(&mut socket).code, 403);
        let flaws = key.finish_with_flaws();
        assert!(flaws.len() == 1 && flaws[0].contains(what), "{flaws:?}");
    }
}

#[test]
fn a_request_without_tools_and_one_for_the_length_use_no_step() {
    let server = Server::start().unwrap();
    let key = server.key_without_shape("one", Script::new([ScriptStep::say("main")]));
    let mut socket = connect(&server);
    let mut title = in_one(question("x"));
    title["tools"] = json!([]);
    ask(&mut socket, &key, &title);
    assert_eq!(receive(&mut socket).json()["content"][0]["text"], "Scripted");
    let body = question("x").to_string();
    let length = body.len();
    let head = format!(
        "POST /k/one/v1/messages/count_tokens HTTP/1.1\r\ncontent-length: {length}\r\n\r\n"
    );
    socket.write_all((head + &body).as_bytes()).unwrap();
    assert_eq!(receive(&mut socket).json()["input_tokens"], length / 4);
    let played: Vec<PlayedAnswer> =
        key.finish().into_iter().map(|request| request.played).collect();
    assert_eq!(played, [PlayedAnswer::Aux, PlayedAnswer::Count]);
}

#[test]
fn the_log_has_what_was_asked_and_no_credential() {
    let server = Server::start().unwrap();
    let key = server.key_without_shape("one", Script::new([ScriptStep::say("x")]));
    let mut socket = connect(&server);
    ask(&mut socket, &key, &question("Hello there"));
    receive(&mut socket);
    let client: SocketAddr = socket.local_addr().unwrap();
    let requests = key.finish();
    let request = &requests[0];
    assert_eq!((request.number, request.path.as_str()), (1, "/v1/messages?beta=true"));
    assert_eq!((request.model.as_str(), request.stream), ("m", true));
    assert_eq!(request.tools, ["Write", "Read", "Edit", "Bash", "StructuredOutput"]);
    assert_eq!(request.system, "You are a test. Dir: /w/x.");
    assert_eq!(request.last, "Hello there");
    assert_eq!(request.client, client.to_string());
    assert_eq!(request.headers["x-api-key"], "(present)");
    assert!(!serde_json::to_string(&requests).unwrap().contains("canary"));
}

#[test]
fn an_unknown_key_and_an_unknown_path_are_answered_404_and_noted() {
    let server = Server::start().unwrap();
    let key = server.key_without_shape("one", Script::new([ScriptStep::say("x")]));
    let mut socket = connect(&server);
    for path in ["/k/two/v1/messages", "/k/one/v1/other", "/elsewhere"] {
        let request = format!("POST {path} HTTP/1.1\r\ncontent-length: 2\r\n\r\n{{}}");
        socket.write_all(request.as_bytes()).unwrap();
        assert_eq!(receive(&mut socket).code, 404, "{path}");
    }
    assert_eq!(key.finish_with_flaws(), ["POST /k/one/v1/other is not served"]);
    assert_eq!(
        server.strays(),
        ["POST /k/two/v1/messages is not served", "POST /elsewhere is not served"]
    );
}

#[test]
fn programs_that_look_whether_somebody_is_there_find_somebody() {
    let server = Server::start().unwrap();
    let key = server.key_without_shape("one", Script::new([ScriptStep::say("x")]));
    let mut socket = connect(&server);
    for request in ["GET / HTTP/1.1", "HEAD /k/one HTTP/1.1", "HEAD / HTTP/1.1"] {
        socket.write_all(format!("{request}\r\n\r\n").as_bytes()).unwrap();
        assert_eq!(receive(&mut socket).code, 200, "{request}");
    }
    assert!(key.finish().is_empty() && server.strays().is_empty());
}

#[test]
fn malformed_requests_are_answered_and_harm_nobody() {
    let server = Server::start().unwrap();
    let key = server.key_without_shape("one", Script::new([ScriptStep::say("x")]));
    let large = 65 << 20;
    for (sent, code) in [
        ("nonsense\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/2\r\n\r\n".to_owned(), 505),
        ("GET / HTTP/1.1\r\nno colon\r\n\r\n".to_owned(), 400),
        ("POST / HTTP/1.1\r\ncontent-length: many\r\n\r\n".to_owned(), 400),
        (format!("POST / HTTP/1.1\r\ncontent-length: {large}\r\n\r\n"), 413),
        (format!("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n{large:x}\r\n"), 413),
        ("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n".to_owned(), 400),
        (format!("GET / HTTP/1.1\r\n{}", "a".repeat(256 << 10)), 431),
    ] {
        let mut socket = connect(&server);
        let _ = socket.write_all(sent.as_bytes());
        let shown: String = sent.chars().take(60).collect();
        assert_eq!(receive(&mut socket).code, code, "{shown}");
    }
    for half in ["POST /k/one/v1/mess", "POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\nab"] {
        let mut socket = connect(&server);
        socket.write_all(half.as_bytes()).unwrap();
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        let mut rest = String::new();
        socket.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "a half request has no answer");
    }
    let mut socket = connect(&server);
    ask(&mut socket, &key, &question("x"));
    assert_eq!(receive(&mut socket).code, 200);
    key.finish();
}

#[test]
fn a_body_in_chunks_is_read_and_one_that_is_no_json_is_a_flaw() {
    let server = Server::start().unwrap();
    let key = server.key_without_shape("one", Script::new([ScriptStep::say("x")]));
    let mut socket = connect(&server);
    let body = question("in chunks").to_string();
    let (left, right) = body.split_at(10);
    let head = "POST /k/one/v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunks = format!("a;x=y\r\n{left}\r\n{:x}\r\n{right}\r\n0\r\n\r\n", right.len());
    socket.write_all((head.to_owned() + &chunks).as_bytes()).unwrap();
    assert_eq!(receive(&mut socket).code, 200);
    assert_eq!(key.requests()[0].last, "in chunks");
    for body in ["{", "{}", "{\"messages\":[]}"] {
        let length = body.len();
        let head = format!("POST /k/one/v1/messages HTTP/1.1\r\ncontent-length: {length}\r\n\r\n");
        socket.write_all((head + body).as_bytes()).unwrap();
        assert_eq!(receive(&mut socket).code, 400);
    }
    assert_eq!(key.finish_with_flaws().len(), 3);
}

#[test]
fn a_request_of_another_shape_fails_its_test() {
    let server = Server::start().unwrap();
    let key = server.key("one", Script::new([ScriptStep::say("x")]));
    let mut socket = connect(&server);
    ask(&mut socket, &key, &question("x"));
    assert_eq!(receive(&mut socket).code, 200, "it is answered all the same");
    let flaws = key.flaws();
    for flaw in ["the header `x-app` is missing", "`body` has no `metadata`"] {
        assert!(flaws.contains(&format!("request 1: {flaw}")), "{flaws:?}");
    }
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| key.finish()));
    assert!(failed.is_err(), "a key with flaws cannot be finished");
}

#[test]
fn a_key_that_is_not_finished_fails_its_test() {
    let server = Server::start().unwrap();
    let key = server.key_without_shape("one", Script::new([ScriptStep::say("x")]));
    let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(key)));
    assert!(dropped.is_err());
    let shape = RequestShape::from_claude_code();
    assert!(shape.program.starts_with("claude-code-"), "{}", shape.program);
}

#[test]
fn keys_play_at_the_same_time_and_share_nothing() {
    let server = Server::start().unwrap();
    std::thread::scope(|scope| {
        for number in 0..16 {
            let server = &server;
            scope.spawn(move || {
                let name = format!("key-{number}");
                let steps = (0..20).map(|step| ScriptStep::say(&format!("{number}.{step}")));
                let key = server.key_without_shape(&name, Script::new(steps).fail_after_last());
                let mut socket = connect(server);
                for step in 0..20 {
                    ask(&mut socket, &key, &in_one(question("x")));
                    let said = receive(&mut socket).json()["content"][0]["text"].clone();
                    assert_eq!(said, format!("{number}.{step}"));
                }
                assert_eq!(key.finish().len(), 20);
            });
        }
    });
    assert!(server.strays().is_empty());
}
