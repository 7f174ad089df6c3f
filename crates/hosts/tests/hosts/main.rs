//! Issues of every tracker, from a host on 127.0.0.1.

#![expect(clippy::unwrap_used, reason = "what surrounds a test fails as the test does")]

mod addresses;
mod comments;
mod loopback;
mod saved;
mod tls;
mod tokens;
mod trackers;
mod trouble;
mod world;
