//! One test's key on the server: its URL, its requests and barriers, and what was wrong.
//!
//! A test must end with [`ModelKey::finish`], which fails if a request differed from the recorded shape, came to a wrong
//! path, or found no step. Keys share nothing with each other.

use std::{sync::Arc, time::Duration};

use crate::{
    connections::ServerState,
    log::ModelRequest,
    player::{PlayerState, ScriptPlayer},
    shape::RequestShape,
};

/// How long a test waits for something that must happen.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// A test's place on the server.
#[must_use = "a key that is not finished fails its test"]
pub struct ModelKey {
    url: String,
    board: Arc<ScriptPlayer>,
    server: Arc<ServerState>,
    care: DropPolicy,
}

/// The reaction to a key that is dropped.
#[derive(Clone, Copy)]
enum DropPolicy {
    MustFinish,
    IsDone,
}

impl ModelKey {
    pub(crate) fn new(url: String, board: Arc<ScriptPlayer>, server: Arc<ServerState>) -> Self {
        Self { url, board, server, care: DropPolicy::MustFinish }
    }

    /// Returns the base URL for the program.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns all requests until now.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.board.lock().requests.clone()
    }

    /// Returns everything that was wrong so far.
    pub fn flaws(&self) -> Vec<String> {
        self.board.lock().flaws.clone()
    }

    /// Returns the shape of the requests until now.
    pub fn observed_shape(&self) -> RequestShape {
        self.board.lock().seen.clone()
    }

    /// Returns the first request after the given number of them, if it comes in time.
    pub fn request_after(&self, number: usize, patience: Duration) -> Option<ModelRequest> {
        self.board.wait(patience, |state| state.requests.get(number).cloned())
    }

    /// Waits until there were this many requests.
    #[track_caller]
    pub fn wait_for_requests(&self, count: usize) -> Vec<ModelRequest> {
        let enough =
            |state: &PlayerState| (state.requests.len() >= count).then(|| state.requests.clone());
        match self.board.wait(WAIT_MAX, enough) {
            Some(requests) => requests,
            None => panic!("{count} requests did not come: {}", self.summary()),
        }
    }

    /// Waits until a request stands at this barrier.
    #[track_caller]
    pub fn wait_until_reached(&self, barrier: &str) {
        let there = |state: &PlayerState| state.reached.contains(barrier).then_some(());
        assert!(
            self.board.wait(WAIT_MAX, there).is_some(),
            "nobody came to the barrier `{barrier}`: {}",
            self.summary()
        );
    }

    /// Opens this barrier for good.
    pub fn release(&self, barrier: &str) {
        self.board.lock().released.insert(barrier.to_owned());
        self.board.changed.notify_all();
    }

    /// Ends the test's use of the key, and gives all requests. Panics if anything was wrong.
    #[track_caller]
    pub fn finish(mut self) -> Vec<ModelRequest> {
        self.care = DropPolicy::IsDone;
        let flaws = self.flaws();
        assert!(flaws.is_empty(), "{}:\n{}", self.summary(), flaws.join("\n"));
        self.requests()
    }

    /// Ends the use of the key, and gives what was wrong.
    pub fn finish_with_flaws(mut self) -> Vec<String> {
        self.care = DropPolicy::IsDone;
        self.flaws()
    }

    /// Summarizes the requests in one line, for a failure message.
    fn summary(&self) -> String {
        let requests = self.requests();
        let played: Vec<String> =
            requests.iter().map(|request| format!("{:?}", request.played)).collect();
        format!("key `{}` had {} requests [{}]", self.board.name, played.len(), played.join(", "))
    }
}

impl Drop for ModelKey {
    fn drop(&mut self) {
        self.server.forget(&self.board.name);
        match self.care {
            DropPolicy::IsDone => {}
            DropPolicy::MustFinish if std::thread::panicking() => {}
            DropPolicy::MustFinish => {
                panic!("the key `{}` was dropped without `finish`", self.board.name)
            }
        }
    }
}
