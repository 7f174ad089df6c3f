//! Everything that strangers write, mutated: each file is one target, with the promise that must hold for any bytes.
//!
//! The target of Markdown and control characters is in `crates/app/src/document/tests.rs`.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

mod agent_result;
mod agent_stream;
mod flow_file;
mod redactor;
mod salvage;
mod settings_file;
mod test_output;
mod toml_text;
