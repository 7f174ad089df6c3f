//! How true endings of calls are known: by a signature, from the first key of a driver on.
//!
//! Not here: signatures. A key is a text here.

/// The public keys of the drivers of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct EndingKeys {
    keys: Vec<String>,
    /// Calls up to this one were begun before there was any.
    unsigned: u32,
}

impl EndingKeys {
    /// Adds a key, after so many calls.
    pub(super) fn add(&mut self, key: &str, n_calls: u32) {
        if self.keys.is_empty() {
            self.unsigned = n_calls;
        }
        self.keys.push(key.to_owned());
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|known| known == key)
    }

    /// Returns the keys for a call, unless it was begun before there was any.
    pub(super) fn get(&self, ordinal: u32) -> Option<&[String]> {
        (!self.keys.is_empty() && ordinal > self.unsigned).then_some(&self.keys)
    }
}
