//! Moments, as inputs and records carry them. Reading a clock is not here.

/// A moment: milliseconds since 1970, UTC. It arrives from outside and is only ever compared.
pub type Time = u64;
