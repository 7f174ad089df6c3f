//! The only clock of the driver.

use std::time::{SystemTime, UNIX_EPOCH};

use forge_core::Time;

/// Reads the time, in milliseconds since 1970, UTC.
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
