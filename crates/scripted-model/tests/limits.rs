//! Every limit of the server is reached once. In a process of its own, because it opens many connections.

#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::{
    fmt::Write as _,
    io::{Read, Write},
    net::TcpStream,
    thread,
};

use scripted_model::{Script, ScriptStep, Server};

/// Sends all requests at once and counts the answers with this status.
fn count(server: &Server, requests: &str, status: &str) -> usize {
    let mut socket = TcpStream::connect(server.address()).unwrap();
    let mut writer = socket.try_clone().unwrap();
    let answers = thread::scope(|scope| {
        scope.spawn(move || {
            writer.write_all(requests.as_bytes()).unwrap();
            writer.shutdown(std::net::Shutdown::Write).unwrap();
        });
        let mut answers = String::new();
        socket.read_to_string(&mut answers).unwrap();
        answers
    });
    answers.matches(&format!("HTTP/1.1 {status} ")).count()
}

fn post(path: &str, body: &str) -> String {
    format!("POST {path} HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn a_program_that_runs_wild_is_refused_after_5000_requests() {
    let server = Server::start().unwrap();
    let key = server.key_without_shape("wild", Script::new([ScriptStep::say("x")]));
    let body = r#"{"model":"m","tools":[{"name":"T"}],"messages":[{"role":"user","content":"x"}]}"#;
    let requests = post("/k/wild/v1/messages", body).repeat(5002);
    assert_eq!(count(&server, &requests, "200"), 5000);
    assert_eq!(key.requests().len(), 5000);
    assert_eq!(key.finish_with_flaws(), ["there were more than 5000 requests"]);
}

#[test]
fn flaws_and_strays_are_remembered_up_to_a_limit() {
    let server = Server::start().unwrap();
    let key = server.key_without_shape("one", Script::new([ScriptStep::say("x")]));
    let mut requests = String::new();
    for number in 0..250 {
        let _ = write!(requests, "{}", post(&format!("/k/one/{number}"), ""));
        let _ = write!(requests, "{}", post(&format!("/k/none/{number}"), ""));
    }
    assert_eq!(count(&server, &requests, "404"), 500);
    assert_eq!((key.finish_with_flaws().len(), server.strays().len()), (200, 200));
}

#[test]
fn one_connection_too_many_is_closed_and_the_others_go_on() {
    let server = Server::start().unwrap();
    let greet = |socket: &mut TcpStream| {
        socket.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut first = [0; 12];
        socket.read_exact(&mut first).map(|()| first)
    };
    let mut open: Vec<TcpStream> =
        (0..256).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    for socket in &mut open {
        assert_eq!(&greet(socket).unwrap(), b"HTTP/1.1 200");
    }
    let mut late = TcpStream::connect(server.address()).unwrap();
    let mut said = Vec::new();
    let _ = late.read_to_end(&mut said);
    assert!(said.is_empty());
    assert_eq!(server.strays(), ["more than 256 connections"]);
}
