//! One test's key on the server: its URL, its requests and barriers, and what was wrong.
//!
//! A test must end with [`Key::finish`], which fails if a request differed from the recorded shape, came to a wrong
//! path, or found no step. Keys share nothing with each other.

use std::{sync::Arc, time::Duration};

use crate::{
    connections::Shared,
    log::Request,
    player::{Board, State},
    shape::Shape,
};

/// How long a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// A test's place on the server.
#[must_use = "a key that is not finished fails its test"]
pub struct Key {
    url: String,
    board: Arc<Board>,
    server: Arc<Shared>,
    care: Care,
}

/// Whether a dropped key is a mistake.
#[derive(Clone, Copy)]
enum Care {
    MustFinish,
    IsDone,
}

impl Key {
    pub(crate) fn new(url: String, board: Arc<Board>, server: Arc<Shared>) -> Self {
        Self { url, board, server, care: Care::MustFinish }
    }

    /// The base URL for the program.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// All requests until now.
    pub fn requests(&self) -> Vec<Request> {
        self.board.lock().requests.clone()
    }

    /// What was wrong until now.
    pub fn flaws(&self) -> Vec<String> {
        self.board.lock().flaws.clone()
    }

    /// The shape of the requests until now.
    pub fn seen(&self) -> Shape {
        self.board.lock().seen.clone()
    }

    /// The first request after the given number of them, if it comes in time.
    pub fn request_after(&self, number: usize, patience: Duration) -> Option<Request> {
        self.board.wait(patience, |state| state.requests.get(number).cloned())
    }

    /// Waits until there were this many requests.
    #[track_caller]
    pub fn wait_for_requests(&self, count: usize) -> Vec<Request> {
        let enough =
            |state: &State| (state.requests.len() >= count).then(|| state.requests.clone());
        match self.board.wait(PATIENCE, enough) {
            Some(requests) => requests,
            None => panic!("{count} requests did not come: {}", self.story()),
        }
    }

    /// Waits until a request stands at this barrier.
    #[track_caller]
    pub fn reached(&self, barrier: &str) {
        let there = |state: &State| state.reached.contains(barrier).then_some(());
        assert!(
            self.board.wait(PATIENCE, there).is_some(),
            "nobody came to the barrier `{barrier}`: {}",
            self.story()
        );
    }

    /// Opens this barrier for good.
    pub fn release(&self, barrier: &str) {
        self.board.lock().released.insert(barrier.to_owned());
        self.board.changed.notify_all();
    }

    /// Ends the test's use of the key, and gives all requests. Panics if anything was wrong.
    #[track_caller]
    pub fn finish(mut self) -> Vec<Request> {
        self.care = Care::IsDone;
        let flaws = self.flaws();
        assert!(flaws.is_empty(), "{}:\n{}", self.story(), flaws.join("\n"));
        self.requests()
    }

    /// Ends the use of the key, and gives what was wrong.
    pub fn finish_with_flaws(mut self) -> Vec<String> {
        self.care = Care::IsDone;
        self.flaws()
    }

    /// What happened, in one line.
    fn story(&self) -> String {
        let requests = self.requests();
        let played: Vec<String> =
            requests.iter().map(|request| format!("{:?}", request.played)).collect();
        format!("key `{}` had {} requests [{}]", self.board.name, played.len(), played.join(", "))
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.server.forget(&self.board.name);
        match self.care {
            Care::IsDone => {}
            Care::MustFinish if std::thread::panicking() => {}
            Care::MustFinish => {
                panic!("the key `{}` was dropped without `finish`", self.board.name)
            }
        }
    }
}
