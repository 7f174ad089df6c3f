//! Makes at a host what must not be there twice, also where the answer is lost after the effect.
//!
//! Invariant: nothing is made before it was looked for, nor made again before it was looked for again.

use std::time::Duration;

use crate::{error::HostError, http::Http};

/// How long it is waited before something is looked for again whose answer was lost. It is made once more than that.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];

/// Something that is there now, and since when.
pub(crate) enum Once<T> {
    /// It was there before.
    Found(T),
    Made(T),
}

/// Looks for something, and makes it if it is not there.
pub(crate) fn once<T>(
    http: &Http,
    look: &dyn Fn() -> Result<Option<T>, HostError>,
    create: &dyn Fn() -> Result<T, HostError>,
) -> Result<Once<T>, HostError> {
    if let Some(found) = look()? {
        return Ok(Once::Found(found));
    }
    let mut pauses = PAUSES.iter();
    loop {
        let error = match create() {
            Ok(made) => return Ok(Once::Made(made)),
            Err(error) => error,
        };
        match pauses.next() {
            Some(pause) if error.is_unclear() => http.wait(*pause),
            _ => return Err(error),
        }
        if let Some(made) = look()? {
            return Ok(Once::Made(made));
        }
    }
}
