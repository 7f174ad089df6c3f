//! An agent that speaks ACP, well or badly: `agent_program __peer MODE`.
//!
//! `good` does its turn by all means of the protocol. `rubbish`, `old`, `twice`, `giant`, `outside`, `login`, `deaf` and `patient` misbehave
//! in their way; `dies-N` and `mute-N` do so at the message with that number.

use std::env;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};

/// Runs one in this mode.
pub(crate) fn peer(mode: &str) -> ExitCode {
    let mut peer = Peer { mode: mode.to_owned(), heard: 0, asked: 0 };
    if mode == "rubbish" {
        (0..400).for_each(|_| say("this is not the Agent Client Protocol"));
    }
    if mode == "banner" {
        say("Welcome! Listening.");
    }
    peer.serve();
    ExitCode::SUCCESS
}

struct Peer {
    mode: String,
    heard: u32,
    asked: u32,
}

fn say(line: &str) {
    let mut out = io::stdout().lock();
    // Who is no longer heard ends when its input does.
    let _nobody_listens = writeln!(out, "{line}").and_then(|()| out.flush());
}

impl Peer {
    fn serve(&mut self) {
        while let Some(message) = self.hear() {
            let (id, params) = (message["id"].clone(), &message["params"]);
            match message["method"].as_str().unwrap_or_default() {
                "initialize" => {
                    let version = i32::from(self.mode != "old");
                    self.answer(&id, &json!({"protocolVersion": version,
                        "agentCapabilities": {"loadSession": true}, "agentInfo": {"version": "7.1"},
                        "authMethods": [{"id": "k", "name": "Key", "description": "set PEER_KEY"}]}));
                }
                "session/new" if self.mode == "login" => {
                    Self::fail(&id, -32000, "Authentication required");
                }
                "session/new" => self.answer(&id, &json!({"sessionId": "s-1"})),
                "session/load" if params["sessionId"] == "s-1" => self.answer(&id, &Value::Null),
                "session/load" => Self::fail(&id, -32002, "no such session"),
                "session/prompt" => {
                    self.turn(&id, params["prompt"][0]["text"].as_str().unwrap_or_default());
                }
                _ => {}
            }
        }
    }

    /// Waits for the next message that is for this mode.
    fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line).ok()? == 0 {
            return None;
        }
        self.heard += 1;
        if self.mode == format!("dies-{}", self.heard) {
            eprintln!("peer: cannot go on");
            std::process::exit(3);
        }
        if self.mode == format!("mute-{}", self.heard) {
            return self.hear();
        }
        serde_json::from_str(&line).ok()
    }

    fn answer(&self, id: &Value, result: &Value) {
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
        say(&answer);
        if self.mode == "twice" {
            say(&answer);
        }
    }

    fn fail(id: &Value, code: i64, message: &str) {
        say(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
            .to_string());
    }

    fn update(update: &Value) {
        let params = json!({"sessionId": "s-1", "update": update});
        say(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}).to_string());
    }

    fn text(text: &str) {
        let content = json!({"type": "text", "text": text});
        Self::update(&json!({"sessionUpdate": "agent_message_chunk", "content": content}));
    }

    /// Asks the client for something; its answer.
    fn ask(&mut self, method: &str, mut params: Value) -> Value {
        params["sessionId"] = json!("s-1");
        self.asked += 1;
        let id = format!("ask-{}", self.asked);
        say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        loop {
            let Some(message) = self.hear() else { return Value::Null };
            if message["id"] == json!(id) {
                return message;
            }
        }
    }

    fn turn(&mut self, id: &Value, prompt: &str) {
        let place = |name: &str| env::var(name).unwrap_or_default();
        let (inbox, outbox) = (place("FORGE_INBOX"), place("FORGE_OUTBOX"));
        let checkout = env::current_dir().unwrap().to_string_lossy().into_owned();
        match self.mode.as_str() {
            "giant" => say(&"x".repeat(9 * 1024 * 1024)),
            "deaf" => {
                // It asks for much and reads nothing.
                std::fs::write(format!("{checkout}/big"), "x".repeat(8_000_000)).unwrap();
                for number in 0..20 {
                    let params = json!({"sessionId": "s-1", "path": format!("{checkout}/big")});
                    say(&json!({"jsonrpc": "2.0", "id": number, "method": "fs/read_text_file", "params": params}).to_string());
                }
                std::thread::park();
            }
            "patient" => {
                // As some do: the signal of its keeper is not what ends its turn.
                let came = Arc::default();
                signal_hook::flag::register(signal_hook::consts::SIGTERM, came).unwrap();
                Self::text("I wait.");
                while let Some(message) = self.hear() {
                    if message["method"] == "session/cancel" {
                        Self::update(
                            &json!({"sessionUpdate": "usage_update", "cost": {"amount": 0.25, "currency": "USD"}}),
                        );
                        self.answer(id, &json!({"stopReason": "cancelled"}));
                    }
                }
            }
            "outside" => {
                for (method, path) in [
                    ("fs/read_text_file", "/etc/hostname".to_owned()),
                    ("fs/read_text_file", format!("{checkout}/../attempt/spec.json")),
                    ("fs/write_text_file", format!("{inbox}/x")),
                    ("fs/write_text_file", format!("{checkout}/../x")),
                ] {
                    let said = self.ask(method, json!({"path": path, "content": "x"}));
                    Self::text(&format!("{} ", said["error"]["code"]));
                }
                let said = self.ask("terminal/create", json!({"command": "pwd", "cwd": "/"}));
                Self::text(&format!("{}", said["error"]["code"]));
                self.answer(id, &json!({"stopReason": "end_turn"}));
            }
            _ => {
                Self::text(&format!("I got {} words. ", prompt.split_whitespace().count()));
                let file =
                    self.ask("fs/read_text_file", json!({"path": format!("{inbox}/request.md")}));
                Self::text(file["result"]["content"].as_str().unwrap_or("no request"));
                let call = json!({"toolCallId": "w", "title": "Write made.txt", "kind": "edit",
                    "locations": [{"path": format!("{checkout}/made.txt")}]});
                let mut told = call.clone();
                told["sessionUpdate"] = json!("tool_call");
                Self::update(&told);
                let options = json!([{"optionId": "no", "name": "No", "kind": "reject_once"},
                    {"optionId": "yes", "name": "Yes", "kind": "allow_once"}]);
                let said = self.ask(
                    "session/request_permission",
                    json!({"toolCall": call, "options": options}),
                );
                if said["result"]["outcome"]["optionId"] == "yes" {
                    let written =
                        json!({"path": format!("{checkout}/made.txt"), "content": "made\n"});
                    self.ask("fs/write_text_file", written);
                }
                let terminal =
                    self.ask("terminal/create", json!({"command": "echo $((20 + 22)); ls"}));
                let terminal = json!({"terminalId": terminal["result"]["terminalId"]});
                self.ask("terminal/wait_for_exit", terminal.clone());
                let output = self.ask("terminal/output", terminal.clone());
                self.ask("terminal/release", terminal);
                let seen = output["result"]["output"].as_str().unwrap_or("nothing").to_owned();
                self.ask(
                    "fs/write_text_file",
                    json!({"path": format!("{outbox}/seen.txt"), "content": seen}),
                );
                Self::update(&json!({"sessionUpdate": "usage_update", "used": 5, "size": 9,
                    "cost": {"amount": 0.5, "currency": "USD"}}));
                self.answer(
                    id,
                    &json!({"stopReason": "end_turn",
                    "usage": {"inputTokens": 30, "outputTokens": 4, "totalTokens": 34}}),
                );
            }
        }
    }
}
