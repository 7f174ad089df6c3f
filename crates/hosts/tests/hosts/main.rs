//! Issues and pull requests of every host, from one on 127.0.0.1.

#![expect(clippy::unwrap_used, reason = "what surrounds a test fails as the test does")]

mod addresses;
mod comments;
mod discussions;
mod forge_host;
mod loopback;
mod pull_requests;
mod saved;
mod tls;
mod tokens;
mod trackers;
mod trouble;
mod world;
