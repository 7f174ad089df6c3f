//! A host of issues on 127.0.0.1, which answers as a test says, and remembers what it was asked.
//!
//! It is also an HTTP proxy that leads to itself.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::Value;

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) path: String,
    /// The head in small letters but for values.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

/// One answer.
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    fate: Fate,
}

/// What becomes of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Sent,
    /// It never comes.
    Hangs,
    /// The connection breaks before it.
    Lost,
}

/// The host.
pub(crate) struct Host {
    /// Its name with its port.
    pub(crate) name: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), fate: Fate::Sent }
    }

    pub(crate) fn json(value: &Value) -> Self {
        Self::new(200, value.to_string()).with("content-type", "application/json")
    }

    /// Never answers. The connection stays until the other side leaves.
    pub(crate) fn hanging() -> Self {
        Self { fate: Fate::Hangs, ..Self::new(200, "") }
    }

    /// Leaves without an answer, whatever was done.
    pub(crate) fn lost() -> Self {
        Self { fate: Fate::Lost, ..Self::new(200, "") }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl Host {
    /// Starts a host. What it is asked counts from 0.
    pub(crate) fn start(answer: impl Fn(usize, &Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let name = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (all, answer) = (Arc::clone(&asked), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (all, answer) = (Arc::clone(&all), Arc::clone(&answer));
                thread::spawn(move || serve(stream, &all, &*answer));
            }
        });
        Self { name, asked }
    }

    /// Starts a host with one answer to everything.
    pub(crate) fn always(answer: impl Fn() -> Reply + Send + Sync + 'static) -> Self {
        Self::start(move |_, _| answer())
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Returns the paths that it was asked, in order.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.path).collect()
    }
}

/// Answers what comes over one connection: one request, or one after it became a tunnel.
fn serve(
    mut stream: TcpStream,
    all: &Mutex<Vec<Asked>>,
    answer: &dyn Fn(usize, &Asked) -> Reply,
) -> Option<()> {
    loop {
        let asked = read(&stream)?;
        let number = {
            let mut all = all.lock().unwrap();
            all.push(asked.clone());
            all.len() - 1
        };
        if asked.method == "CONNECT" {
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").ok()?;
            continue;
        }
        let reply = answer(number, &asked);
        match reply.fate {
            Fate::Sent => {}
            Fate::Lost => return None,
            Fate::Hangs => {
                let _left = stream.read(&mut [0]);
                return None;
            }
        }
        let mut head = format!("HTTP/1.1 {} X\r\nconnection: close\r\n", reply.status);
        for (name, value) in &reply.headers {
            head = format!("{head}{name}: {value}\r\n");
        }
        head = format!("{head}content-length: {}\r\n\r\n", reply.body.len());
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(&reply.body).ok()?;
        return None;
    }
}

/// Reads one request.
fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|n| *n > 0).map(|_| line.trim_end().to_owned())
    };
    let first = line()?;
    let (method, rest) = first.split_once(' ')?;
    let path = rest.split(' ').next()?.to_owned();
    let mut headers = Vec::new();
    while let Some((name, value)) = line()?.split_once(':') {
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut asked = Asked { method: method.to_owned(), path, headers, body: String::new() };
    let n_bytes = asked.header("content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut body = vec![0; n_bytes];
    reader.read_exact(&mut body).ok()?;
    asked.body = String::from_utf8_lossy(&body).into_owned();
    Some(asked)
}
