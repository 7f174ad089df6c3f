//! Names of what is outside: persons, and texts that are kept by their hash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The content hash of data that is stored outside the journal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Blob(pub String);

/// A person, and the user interface that they used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Person {
    /// A name, as the system knows it.
    pub who: String,
    /// `cli`, `tui`, `web`, …
    #[serde(rename = "door")]
    pub channel: String,
}
