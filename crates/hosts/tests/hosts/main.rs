//! Issues of every tracker, from a host on 127.0.0.1.

mod addresses;
mod comments;
mod loopback;
mod saved;
mod tls;
mod tokens;
mod trackers;
mod trouble;
mod world;
