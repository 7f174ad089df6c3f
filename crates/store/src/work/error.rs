//! Errors of the work store, each with what to do next.

use forge_core::work::WorkRefusal;

use crate::journal::StoreError;

/// The reason why a record was not read or changed.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The command is not legal. Nothing was changed.
    #[error(transparent)]
    Refused(#[from] WorkRefusal),
    #[error("{}", sentence(.0))]
    Store(#[from] StoreError),
}

fn sentence(error: &StoreError) -> String {
    if let StoreError::Damaged(damage) = error { damage.to_string() } else { error.to_string() }
}

impl WorkError {
    /// Returns the command that a user should run next, or what to do first; nothing for a refusal, which has its own.
    pub fn next_step(&self) -> Option<String> {
        match self {
            Self::Refused(_) => None,
            Self::Store(StoreError::Damaged(damage)) => Some(format!(
                "move {0}, {0}-wal and {0}-shm away, then: forge work check (it reads .forge/work again)",
                damage.file.display()
            )),
            Self::Store(StoreError::Full { .. }) => {
                Some("free some space, then run the same command again".to_owned())
            }
            Self::Store(StoreError::Busy { .. }) => Some("run the same command again".to_owned()),
            Self::Store(error) => Some(error.next_step()),
        }
    }
}
