//! Texts that several commands and the live screen share.

pub(crate) mod agent_event;
pub(crate) mod answer_text;
pub(crate) mod end_card;
pub(crate) mod fact_line;
pub(crate) mod plan_text;
pub(crate) mod question_text;
pub(crate) mod result_text;
pub(crate) mod run_list;
pub(crate) mod state_words;
pub(crate) mod status_text;
