//! The server: a port of 127.0.0.1, a thread for each connection, keys below `/k/`.
//!
//! When it is dropped, its port is closed and every thread has ended. The answer to a request is
//! chosen by the player of its key.

use std::{
    collections::BTreeMap,
    io::{self, BufReader, Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, atomic::Ordering},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::{
    connections::{OpenConnection, ServerState, is_gone, lock},
    http::{self, HttpRequest, IncomingRequest},
    key::ModelKey,
    play::{AfterAnswer, HttpAnswer, document},
    player::{ArrivedRequest, ScriptPlayer},
    script::Script,
    shape::RequestShape,
    wire::format_for_path,
};

/// Connections at once. One more is closed at once.
const CONNECTIONS_MAX: usize = 256;

/// A model server that plays scripts.
pub struct Server {
    address: SocketAddr,
    shared: Arc<ServerState>,
    acceptor: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts one on a port of the system's choice.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(ServerState::default());
        let for_acceptor = Arc::clone(&shared);
        let acceptor = thread::spawn(move || accept(&listener, &for_acceptor));
        Ok(Self { address, shared, acceptor: Some(acceptor) })
    }

    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns a key whose requests must look like those of Claude Code.
    pub fn key(&self, name: &str, script: Script) -> ModelKey {
        self.add(name, script, Some(RequestShape::from_claude_code()))
    }

    /// Returns a key whose requests may have any shape.
    pub fn key_without_shape(&self, name: &str, script: Script) -> ModelKey {
        self.add(name, script, None)
    }

    /// Requests that belong to no key.
    pub fn strays(&self) -> Vec<String> {
        lock(&self.shared.strays).clone()
    }

    fn add(&self, name: &str, script: Script, shape: Option<RequestShape>) -> ModelKey {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        assert!(!name.is_empty() && name.chars().all(is_plain), "`{name}` is no name for a key");
        let board = Arc::new(ScriptPlayer::new(name, script, shape));
        let before = lock(&self.shared.keys).insert(name.to_owned(), Arc::clone(&board));
        assert!(before.is_none(), "there is a key `{name}` already");
        let url = format!("http://{}/k/{name}", self.address);
        ModelKey::new(url, board, Arc::clone(&self.shared))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        // A connection wakes the acceptor, which then sees that it must stop.
        if TcpStream::connect(self.address).is_ok()
            && let Some(acceptor) = self.acceptor.take()
        {
            let _ = acceptor.join();
        }
        let connections = std::mem::take(&mut *lock(&self.shared.connections));
        for connection in &connections {
            let _ = connection.socket.shutdown(Shutdown::Both);
        }
        for connection in connections {
            let _ = connection.thread.join();
        }
    }
}

/// Takes connections until the server stops.
fn accept(listener: &TcpListener, shared: &Arc<ServerState>) {
    for socket in listener.incoming() {
        if shared.is_stopping.load(Ordering::SeqCst) {
            return;
        }
        let Ok(socket) = socket else { continue };
        let mut connections = lock(&shared.connections);
        connections.retain(|connection| !connection.thread.is_finished());
        let Ok(second) = socket.try_clone() else { continue };
        if connections.len() >= CONNECTIONS_MAX {
            shared.stray(format!("more than {CONNECTIONS_MAX} connections"));
            continue;
        }
        let for_connection = Arc::clone(shared);
        let thread = thread::spawn(move || serve(socket, &for_connection));
        connections.push(OpenConnection { socket: second, thread });
    }
}

/// Answers the requests of one connection.
fn serve(socket: TcpStream, shared: &ServerState) {
    // An answer in pieces must not wait for the client's word about the piece before.
    let _ = socket.set_nodelay(true);
    let client = socket.peer_addr().map_or_else(|_| "?".to_owned(), |address| address.to_string());
    let mut reader = BufReader::new(socket);
    let mut next = AfterAnswer::Listen;
    while next == AfterAnswer::Listen {
        next = match http::read(&mut reader) {
            IncomingRequest::Gone => AfterAnswer::Close,
            IncomingRequest::Bad(code, what) => {
                shared.stray(format!("{code}: {what}"));
                let body = serde_json::json!({"error": what}).to_string();
                let answer = document(code, &BTreeMap::new(), &body);
                let _ = send(reader.get_mut(), &answer);
                AfterAnswer::Close
            }
            IncomingRequest::Request(request) => {
                respond(reader.get_mut(), request, client.clone(), shared)
                    .unwrap_or(AfterAnswer::Close)
            }
        };
    }
    match next {
        AfterAnswer::Silence => silence(reader.get_mut()),
        AfterAnswer::Listen | AfterAnswer::Close => {}
    }
    let _ = reader.get_ref().shutdown(Shutdown::Both);
}

/// Answers one request.
fn respond(
    socket: &mut TcpStream,
    mut request: HttpRequest,
    client: String,
    shared: &ServerState,
) -> io::Result<AfterAnswer> {
    for name in ["authorization", "x-api-key", "x-goog-api-key"] {
        if let Some(value) = request.headers.get_mut(name) {
            "(present)".clone_into(value);
        }
    }
    let path = request.path.clone();
    let below = path.strip_prefix("/k/").unwrap_or_default();
    let (name, rest) = below.find('/').map_or((below, ""), |at| below.split_at(at));
    let asked = rest.split('?').next().unwrap_or_default();
    let board = lock(&shared.keys).get(name).cloned();
    match (request.method.as_str(), board, format_for_path(asked)) {
        // Programs check that the server is up.
        ("GET" | "HEAD", board, _) if board.is_some() || path == "/" => {
            let answer = match request.method.as_str() {
                "HEAD" => document(200, &BTreeMap::new(), ""),
                _ => document(200, &BTreeMap::new(), "{}"),
            };
            send(socket, &answer)
        }
        ("POST", Some(board), Some((format, purpose))) => {
            let (headers, body) = (&request.headers, request.body.as_slice());
            let arrived = ArrivedRequest { path: rest, headers, body, client, format, purpose };
            let plan = board.take(&arrived);
            let mut is_gone = || is_gone(socket);
            if let Some(barrier) = &plan.wait_for {
                board.pass(barrier, &mut is_gone);
            }
            pause(plan.delay, &mut is_gone);
            send(socket, &plan.answer)
        }
        (method, board, _) => {
            let what = format!("{method} {path} is not served");
            match board {
                Some(board) => board.flaw(what.clone()),
                None => shared.stray(what.clone()),
            }
            let body = serde_json::json!({"type": "error", "error": {"type": "not_found_error", "message": what}});
            send(socket, &document(404, &BTreeMap::new(), &body.to_string()))
        }
    }
}

fn send(socket: &mut TcpStream, answer: &HttpAnswer) -> io::Result<AfterAnswer> {
    for piece in &answer.pieces {
        socket.write_all(piece.as_bytes())?;
        socket.flush()?;
    }
    Ok(answer.then)
}

/// Does nothing until the client goes or the server stops.
fn silence(socket: &mut TcpStream) {
    let mut ignored = [0; 4096];
    while socket.read(&mut ignored).is_ok_and(|bytes| bytes > 0) {}
}

/// Does nothing for a while, or until the client is gone.
fn pause(delay: Duration, is_gone: &mut impl FnMut() -> bool) {
    const POLL_INTERVAL: Duration = Duration::from_millis(20);
    let until = Instant::now() + delay;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        if left.is_zero() || is_gone() {
            return;
        }
        thread::sleep(left.min(POLL_INTERVAL));
    }
}
