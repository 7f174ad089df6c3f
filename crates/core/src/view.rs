//! What a user interface may show. Made from a run, never turned back into one.
//!
//! These types are promises: `--json` prints them, and their schemas are published. Add optional
//! fields, and never change what an old one means. Facts as sentences are in `view/sentence.rs`.

mod diff;
mod earlier_work;
mod format;
mod friction;
mod log_level;
mod open_findings;
pub mod pages;
mod phase_events;
pub mod phases;
mod proof;
mod question_words;
mod remaining_finding;
mod remarks;
mod result;
mod run_row;
mod run_view;
mod sentence;
mod standing;
mod stats;
pub mod summary;

pub use diff::{ChangeKind, TextVersion, versions};
pub use earlier_work::earlier_summaries;
pub use format::{
    Amount, day, moment, sanitize, short_number, shorten, shorten_start, span, stamp,
};
pub use friction::{FrictionRow, FrictionView, friction, friction_markdown};
pub use log_level::LogLevel;
pub use open_findings::open_findings;
pub use phase_events::{
    PhaseAction, PhaseEvent, PhaseTotal, REQUEST_CHECK, STOPPED, TokenSource, phase_events,
    phase_total, statistics_markdown,
};
pub use phases::PhasesView;
pub use proof::{ProofState, WaivedView};
pub(crate) use question_words::question_text_in;
pub use question_words::{sentence_in, serious_counts};
pub use remaining_finding::{RemainingFinding, RemainingReason};
pub use remarks::RemarkView;
pub use result::{ArtifactView, LandedView, ResultView};
pub use run_row::RunRow;
pub use run_view::{
    AcceptedFindings, AnswerWords, ListView, ListedView, LogLine, OptionView, QuestionView,
    RunLine, RunView, UnitState, UnitView, VerdictView, describe_call,
};
pub use sentence::{Names, capitalized, sentence, short_commit};
pub use standing::{Course, Standing};
pub use stats::{
    Axis, CallEnd, Spending, StatsRow, StatsView, refused, spendings, stage_label, stats,
};
pub use summary::SummaryView;
