//! What can happen in a run. Names are in the past tense, because an event is a fact.
//!
//! These types are the format of the journal: add variants and optional fields, and never
//! change what an old one means. One journal of every released version is kept as a test.

mod fact;
mod outcome;
mod question;
mod receipt;
mod reference;
mod start;
mod unmet_need;

pub use fact::{Event, Record};
pub use outcome::{End, FailureKind, Hold, Outcome, Ruling};
pub use question::{Answer, Approval, Choice, Question, QuestionReason, SentBack, Waiver};
pub use receipt::{
    Call, CheckFailure, Colour, Edit, Evidence, ProofStart, Receipt, Remark, ResultChange,
};
pub use reference::{Blob, Person};
pub use start::{
    Approvals, Before, Coherence, Detail, Limits, OnOverlap, PlannedTaskIds, RunSubject,
    SettingsChange, Start, TriageOutcome,
};
pub use unmet_need::{UnmetKind, UnmetNeed};
