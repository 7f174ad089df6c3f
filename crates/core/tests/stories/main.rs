//! What the engine does, as stories in a simulated world. Start with `world`.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]
#![expect(clippy::disallowed_methods, reason = "the kept journals are files")]
#![expect(clippy::wildcard_enum_match_arm, reason = "a story looks at what it is about")]

mod invariants;
mod world;

mod briefs;
mod claims;
mod code;
mod deliveries;
mod edits;
mod failures;
mod feature;
mod flows;
mod followed;
mod given_lists;
mod holds;
mod journal;
mod landing;
mod lists;
mod milestone;
mod money;
mod needs;
mod pages;
mod paths;
mod people;
mod phase_events;
mod phases;
mod proofs;
mod reading;
mod refusals;
mod reviewers;
mod rewinds;
mod rounds;
mod routing;
mod sessions;
mod settings;
mod sprint;
mod stats;
mod stuck;
mod successors;
mod summaries;
mod time;
mod verdicts;
mod views;
mod waves;
