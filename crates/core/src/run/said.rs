//! What persons said in a run, and whom it concerns: with an answer, whichever it was, or about a change by hand.
//!
//! Invariant: what was said about one item never reaches another beside it.

use crate::{
    event::{Answer, Edit},
    id::UnitId,
};

use super::{fold::Run, history::ManualEdit};

/// Words of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The unit that the person was asked about, or changed.
    pub unit: UnitId,
    pub occasion: Occasion,
    pub words: String,
}

/// The occasion on which a person said something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// An answer to a question.
    Answer(Answer),
    /// A change by hand.
    Edit,
}

impl Run {
    /// Returns what persons said that concerns a unit: about it, about the work around it, and about its items.
    pub fn said_about(&self, unit: &UnitId) -> Vec<Said> {
        let concerns =
            |about: &UnitId| unit.scope.within(&about.scope) || about.scope.within(&unit.scope);
        let history = self.history();
        let asked = history.asked.iter().filter_map(|asked| {
            let said = asked.answer.as_ref()?;
            let is_said = !said.words.trim().is_empty() && said.answer != Answer::GiveUp;
            is_said.then(|| Said {
                unit: asked.question.unit.clone(),
                occasion: Occasion::Answer(said.answer.clone()),
                words: said.words.clone(),
            })
        });
        let edited = history.edited.iter().map(edited);
        asked.chain(edited).filter(|said| concerns(&said.unit)).collect()
    }
}

/// The next worker must not take it for its own, and change it back.
fn edited(edited: &ManualEdit) -> Said {
    let what = match &edited.edit {
        Edit::Artifact { name, .. } => format!("`{name}`"),
        Edit::Code { .. } => "the code".to_owned(),
    };
    let why = if edited.why.is_empty() { String::new() } else { format!(" ({})", edited.why) };
    Said {
        unit: edited.unit.clone(),
        occasion: Occasion::Edit,
        words: format!("I changed {what} by hand{why}. What I wrote stays."),
    }
}
