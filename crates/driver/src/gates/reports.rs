//! Reports of the gates that Forge looks through itself.

use forge_core::{
    Report,
    event::{Receipt, Ruling},
    id::CallId,
    money::Spent,
};

use crate::plan::Plan;

impl Plan<'_> {
    /// Reports what a gate of Forge's own comes to.
    pub fn judged(&self, ruling: Ruling, receipt: Receipt) -> Report {
        let CallId::Judgement(judgement) = self.call else { unreachable!("only gates judge") };
        Report::Judged { judgement: judgement.clone(), ruling, receipt }
    }

    /// The receipt of a look at a commit. A scope that made none of its own stands for none.
    pub fn receipt_at(&self, took_ms: u64) -> Receipt {
        let mut receipt = Receipt { took_ms, ..Receipt::from_spent(Spent::NOTHING) };
        if let Some(code) = self.run.code(&self.call.unit().scope) {
            receipt.commit = Some(code.commit.clone());
            receipt.tree = Some(code.tree.clone());
        }
        receipt
    }
}
