//! State that all threads of a server share: its keys and its open connections.

use std::{
    collections::BTreeMap,
    io::ErrorKind,
    net::TcpStream,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
    thread::JoinHandle,
};

use crate::player::ScriptPlayer;

/// Requests without a key that are remembered.
const STRAYS_MAX: usize = 200;

/// State that all threads of a server share.
#[derive(Default)]
pub(crate) struct ServerState {
    pub(crate) keys: Mutex<BTreeMap<String, Arc<ScriptPlayer>>>,
    pub(crate) strays: Mutex<Vec<String>>,
    pub(crate) connections: Mutex<Vec<OpenConnection>>,
    pub(crate) is_stopping: AtomicBool,
}

/// One connection and its thread.
pub(crate) struct OpenConnection {
    pub(crate) socket: TcpStream,
    pub(crate) thread: JoinHandle<()>,
}

impl ServerState {
    /// Stops serving a key.
    pub(crate) fn forget(&self, name: &str) {
        lock(&self.keys).remove(name);
    }

    /// Remembers a request that belongs to no key.
    pub(crate) fn stray(&self, what: String) {
        let mut strays = lock(&self.strays);
        if strays.len() < STRAYS_MAX {
            strays.push(what);
        }
    }
}

/// Tells whether the other side has closed the connection, or the server stops.
pub(crate) fn is_gone(socket: &TcpStream) -> bool {
    let mut ignored = [0; 1];
    let _ = socket.set_nonblocking(true);
    let seen = socket.peek(&mut ignored);
    let _ = socket.set_nonblocking(false);
    match seen {
        Ok(bytes) => bytes == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
