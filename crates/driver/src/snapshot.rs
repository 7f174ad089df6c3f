//! The settings that a run started with, from its journal.

use forge_core::Run;
use forge_project::settings::{AgentChoice, Frozen};
use forge_store::blobs::Blobs;

use crate::Error;

/// Reads the settings that the run started with.
pub fn frozen(run: &Run, blobs: &Blobs) -> Result<Frozen, Error> {
    let missing = |what: String| Error::surroundings(what, "forge doctor");
    let Some(blob) = &run.definition().start.settings else {
        return Ok(forge_project::settings::Settings::default().freeze(AgentChoice::Nobody));
    };
    let id = blob.0.parse().map_err(|_| missing(format!("`{}` is not a blob", blob.0)))?;
    let bytes = blobs.get(&id).map_err(|error| missing(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| missing(format!("frozen settings: {error}")))
}
