//! What agents wanted others to know, besides their findings: decisions, work for later, notes, what they could not meet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{event::Remark, run::History};

/// Something that an agent wanted others to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemarkView {
    pub unit: String,
    pub remark: Remark,
}

/// Returns all remarks of a run, once each. What was settled is no longer open, and needs no words.
pub(super) fn remarks(history: &History) -> Vec<RemarkView> {
    let mut all: Vec<RemarkView> = Vec::new();
    for (unit, remark) in history.remarks.iter() {
        let view = RemarkView { unit: unit.to_string(), remark: remark.clone() };
        if !all.contains(&view) && !matches!(remark, Remark::Settled(_)) {
            all.push(view);
        }
    }
    all
}
