//! At the end of a run whose result is also for the user's branch: whether that can follow, and that it does.
//!
//! Not here: the asking. Nothing is done before a person said yes.

use forge_core::view::Standing;
use forge_driver::Error;
use forge_workspace::FastForward;

use crate::forge::Forge;

/// A result, and the branch that it is also for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FastForwardOffer {
    /// The run's own branch.
    pub branch: String,
    /// The user's branch.
    pub onto: String,
    /// The commit of the result.
    pub commit: String,
    /// Why the user's branch cannot follow just now, if it cannot.
    pub cannot: Option<String>,
    /// The command that does it by hand.
    pub by_hand: String,
}

impl Forge {
    /// Returns what a done run offers to the branch that it was started on, if it was started for that.
    pub fn offer_onto(&self, id: &str) -> Result<Option<FastForwardOffer>, Error> {
        let (run, _) = self.fold(id)?;
        let view = forge_core::view::RunView::new(id, &run);
        let start = &run.definition().start;
        let (Some(onto), Some(branch)) = (&start.onto, run.branch()) else { return Ok(None) };
        let (Standing::Done, Some(commit)) = (view.row.standing, &view.head) else {
            return Ok(None);
        };
        let cannot = match self.home.repository.fast_forward_status(onto, commit)? {
            FastForward::UpToDate => return Ok(None),
            FastForward::Possible => None,
            FastForward::Blocked { why } => Some(why),
        };
        Ok(Some(FastForwardOffer {
            by_hand: match cannot {
                None => format!("git merge --ff-only {branch}"),
                Some(_) => format!("git switch {onto} && git merge {branch}"),
            },
            branch: branch.to_owned(),
            onto: onto.clone(),
            commit: commit.clone(),
            cannot,
        }))
    }

    /// Lets the user's branch follow the result. Only for who was asked and said yes.
    pub fn fast_forward(&self, id: &str) -> Result<(), Error> {
        self.refuse_agents()?;
        match self.offer_onto(id)? {
            None => Ok(()),
            Some(offer) => Ok(self.home.repository.fast_forward(&offer.onto, &offer.commit)?),
        }
    }
}
