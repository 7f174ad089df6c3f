//! All that goes wrong in simulated runs.

/// What git says when work on a checkout cannot be done.
pub(crate) const OUT_OF_ORDER: &str = "git is out of order";
/// What one turn of an agent costs, in millionths of a dollar.
pub(crate) const TURN_MICROS: u64 = 1_000;

/// One kind of fault. Each happens at most once per entry in the list of a run, at a moment by chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// A call never ends by itself, and its keeper stops it.
    CallHangs,
    /// A keeper cannot be started at all.
    KeeperCannotStart,
    /// A keeper dies before it claims its folder.
    KeeperDiesEarly,
    /// A keeper dies in the middle of its step.
    KeeperDies,
    /// A step ends hours later, perhaps after its driver.
    EndsLate,
    /// The driver dies right after a step has ended, and the next one finds the ending again.
    EndsTwice,
    /// A program ends with an exit code that is not 0.
    ProgramFails,
    /// A program is killed.
    ProgramKilled,
    /// A program prints more than it may.
    TooMuchOutput,
    /// An agent leaves no result.
    NoResult,
    /// An agent leaves a result that is not one.
    BrokenResult,
    /// An agent leaves the result of another call.
    ForeignResult,
    /// The provider lets nobody in for an hour.
    Limited,
    /// A reviewer sends the work back.
    SentBack,
    /// Work on a checkout cannot be done.
    JobFails,
    /// Work on a checkout is killed.
    JobKilled,
    /// The keeper of work on a checkout dies.
    JobKeeperDies,
    /// The disk is full for one write.
    DiskFull,
    /// The disk fills up under an agent, until a person frees some space.
    NoRoom,
    /// One write fails.
    WriteFails,
    /// One sync fails.
    SyncFails,
    /// One rename fails.
    RenameFails,
    /// The driver dies before a write.
    CrashBeforeWrite,
    /// The driver dies after a write.
    CrashAfterWrite,
    /// The power goes: what was not synced is lost, all processes are gone.
    PowerLoss,
    /// The clock jumps ahead by a week.
    ClockAhead,
    /// The clock jumps back by a day.
    ClockBack,
    /// A second driver takes the run over while the first one lives.
    SecondDriver,
    /// A person presses Ctrl-C.
    Interrupt,
    /// The terminal is gone.
    HangUp,
    /// A person pauses the run from elsewhere.
    PausedElsewhere,
    /// Files lie where a call is to work.
    PlantedFiles,
    /// The project's checks are red at first.
    ChecksRed,
    /// The work of one agent does not go with that of others.
    RedTogether,
    /// An agent changes a file that its task does not name.
    StrayWrite,
    /// The branch that the run came from moves on.
    BaseMoves,
}

impl Fault {
    /// What can happen in any flow.
    pub(crate) const EVERYWHERE: [Fault; 32] = [
        Fault::CallHangs,
        Fault::KeeperCannotStart,
        Fault::KeeperDiesEarly,
        Fault::KeeperDies,
        Fault::EndsLate,
        Fault::EndsTwice,
        Fault::ProgramFails,
        Fault::ProgramKilled,
        Fault::TooMuchOutput,
        Fault::NoResult,
        Fault::BrokenResult,
        Fault::ForeignResult,
        Fault::Limited,
        Fault::SentBack,
        Fault::JobFails,
        Fault::JobKilled,
        Fault::JobKeeperDies,
        Fault::DiskFull,
        Fault::NoRoom,
        Fault::WriteFails,
        Fault::SyncFails,
        Fault::RenameFails,
        Fault::CrashBeforeWrite,
        Fault::CrashAfterWrite,
        Fault::PowerLoss,
        Fault::ClockAhead,
        Fault::ClockBack,
        Fault::SecondDriver,
        Fault::Interrupt,
        Fault::HangUp,
        Fault::PausedElsewhere,
        Fault::PlantedFiles,
    ];

    /// What needs code that lands.
    pub(crate) const WITH_CODE: [Fault; 4] =
        [Fault::ChecksRed, Fault::RedTogether, Fault::StrayWrite, Fault::BaseMoves];
}
