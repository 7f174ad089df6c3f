//! What a unit waits for before it starts: paths that other work has, and what its gates as text ask for.

/// How a unit stands with the paths that its work may change, in a run that waits where others work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PathsState {
    #[default]
    Unclaimed,
    /// It may start as soon as they are claimed for it.
    Wanted,
    /// Other work has them.
    Taken { what: String },
    /// They are its own until its work lands, or is given up.
    Claimed,
}

/// How a unit stands with what must hold before it, or its next gate, begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NeedsState {
    #[default]
    Unasked,
    /// It begins as soon as that holds.
    Asked,
    /// It holds, as it was last seen.
    Met,
}
