//! The only clock of the driver.

use std::time::{SystemTime, UNIX_EPOCH};

use forge_core::Time;

/// Reads the time, in milliseconds since 1970, UTC.
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Returns a time as files have it: `2026-01-31T12:00:00Z`.
pub fn file_time(at: Time) -> String {
    let time = i64::try_from(at).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    time.unwrap_or_default().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
