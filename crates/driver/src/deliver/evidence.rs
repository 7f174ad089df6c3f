//! Whether the code that is about to be offered is proved, from the facts alone.
//!
//! Every change was proved when it landed. This looks once more, at the exact tree, right before
//! the result leaves the run.
//!
//! Invariant: an empty list of checks proves nothing.
//! Invariant: a waiver speaks only for the code that landed with it.

use std::collections::BTreeMap;

use forge_core::{
    event::{Colour, Event, Evidence, Waiver},
    id::{QuestionId, UnitId},
    view::WaivedView,
};

/// The evidence for a code tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CodeProof {
    /// What Forge ran on exactly this tree, and what came of it last.
    pub evidence: Vec<Evidence>,
    /// The proofs that a person let it go without, by name. None if it is green.
    pub waived: Vec<WaivedView>,
}

/// What speaks for a code tree, or why it must not be offered. `verifies` says whether a gate of a
/// unit is one that proves.
pub(super) fn find(
    facts: &[Event],
    verifies: impl Fn(&UnitId, &str) -> bool,
    tree: &str,
    commands: &[String],
) -> Result<CodeProof, String> {
    let mut found = FactsOfTree::default();
    for fact in facts {
        found.hear(fact, &verifies, tree);
    }
    let FactsOfTree { evidence, landed_with, .. } = found;
    let colour = |command: &String| evidence.get(command).map(|one| one.colour);
    let is_green = !commands.is_empty()
        && commands.iter().all(|command| colour(command) == Some(Colour::Green));
    if is_green || !landed_with.is_empty() {
        let waived = if is_green { Vec::new() } else { landed_with };
        return Ok(CodeProof { evidence: evidence.into_values().collect(), waived });
    }
    let is_red = |command: &&String| colour(command) == Some(Colour::Red);
    let red: Vec<&str> = commands.iter().filter(is_red).map(String::as_str).collect();
    Err(match (commands, red.as_slice()) {
        ([], _) => {
            "the project has no checks, and they were not overridden for this code".to_owned()
        }
        (_, []) => "the code of the result is not the code that was verified".to_owned(),
        (_, red) => format!("`{}` fails on the code of the result", red.join("`, `")),
    })
}

/// What the facts tell about one code tree, in their order.
#[derive(Default)]
struct FactsOfTree {
    evidence: BTreeMap<String, Evidence>,
    answers: BTreeMap<QuestionId, (String, String)>,
    /// Proofs that were waived for the latest attempt at a unit.
    waived: BTreeMap<UnitId, Vec<WaivedView>>,
    /// What was waived when the tree became the result.
    landed_with: Vec<WaivedView>,
}

impl FactsOfTree {
    fn hear(&mut self, fact: &Event, verifies: &impl Fn(&UnitId, &str) -> bool, of: &str) {
        let receipt = if let Event::AttemptEnded { receipt, .. } = fact {
            receipt.as_ref()
        } else if let Event::Judged { receipt, .. } = fact {
            Some(receipt)
        } else {
            None
        };
        for one in receipt.iter().flat_map(|receipt| &receipt.evidence).filter(|one| one.tree == of)
        {
            self.evidence.insert(one.command.clone(), one.clone());
        }
        if let Event::Answered { question, words, by, .. } = fact {
            self.answers.insert(*question, (by.who.clone(), words.clone()));
        }
        if let Event::AttemptStarted { attempt, .. } = fact {
            self.waived.remove(&attempt.unit);
        }
        if let Event::GateWaived { unit, gate, why: Waiver::Person { question } } = fact
            && verifies(unit, gate)
        {
            let (who, words) = self.answers.get(question).cloned().unwrap_or_default();
            let view = WaivedView { unit: unit.to_string(), gate: gate.clone(), who, words };
            self.waived.entry(unit.clone()).or_default().push(view);
        }
        if let Event::Landed { unit, tree, .. } = fact
            && tree == of
            && let Some(waived) = self.waived.get(unit)
        {
            self.landed_with.clone_from(waived);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forge_core::{
        event::{Answer, Outcome, Person, ProofStart, Receipt, ResultChange},
        money::Spent,
    };

    fn unit() -> UnitId {
        "verify".parse().expect("it is the name of a unit")
    }

    fn ran(command: &str, tree: &str, colour: Colour) -> Event {
        let evidence = vec![Evidence {
            command: command.to_owned(),
            tree: tree.to_owned(),
            colour,
            took_ms: None,
            start: ProofStart::Cached,
            failure: None,
        }];
        let receipt = Some(Receipt { evidence, ..Receipt::from_spent(Spent::NOTHING) });
        Event::AttemptEnded { attempt: unit().attempt(1), outcome: Outcome::Done, receipt }
    }

    fn landed(tree: &str) -> Event {
        let (commit, tree) = ("c".to_owned(), tree.to_owned());
        Event::Landed {
            unit: unit(),
            commit,
            tree,
            head: None,
            brings: ResultChange::Unchanged,
            branch: None,
        }
    }

    fn waived(gate: &str) -> [Event; 2] {
        let question = QuestionId(1);
        let answer = Answer::Waive { gate: gate.to_owned() };
        let by = Person { who: "ada".to_owned(), channel: "cli".to_owned() };
        let words = "it is only text".to_owned();
        let (unit, gate, why) = (unit(), gate.to_owned(), Waiver::Person { question });
        [Event::Answered { question, answer, words, by }, Event::GateWaived { unit, gate, why }]
    }

    fn looked(facts: &[Event], commands: &[&str]) -> Result<CodeProof, String> {
        let commands: Vec<String> = commands.iter().map(|&command| command.to_owned()).collect();
        find(facts, |_, gate| gate == "verify", "t1", &commands)
    }

    #[test]
    fn green_on_the_exact_tree_is_proof() {
        let facts = [ran("make", "t1", Colour::Green), landed("t1")];
        let proof = looked(&facts, &["make"]).unwrap();
        assert_eq!(proof.evidence.len(), 1);
        assert!(proof.waived.is_empty());
    }

    #[test]
    fn green_on_another_tree_or_by_another_command_proves_nothing() {
        let other = [ran("make", "t2", Colour::Green), ran("cargo test", "t1", Colour::Green)];
        let why = looked(&other, &["make"]).unwrap_err();
        assert!(why.contains("not the code that was verified"), "{why}");
    }

    #[test]
    fn what_was_green_and_is_red_now_is_not_offered() {
        let facts = [ran("make", "t1", Colour::Green), ran("make", "t1", Colour::Red)];
        let why = looked(&facts, &["make"]).unwrap_err();
        assert!(why.contains("`make` fails"), "{why}");
    }

    #[test]
    fn without_checks_only_a_waiver_by_name_lets_it_through() {
        let why = looked(&[landed("t1")], &[]).unwrap_err();
        assert!(why.contains("not overridden"), "{why}");
        let facts = [&waived("verify")[..], &[landed("t1")]].concat();
        let proof = looked(&facts, &[]).unwrap();
        assert_eq!(proof.waived.len(), 1);
        assert_eq!((&*proof.waived[0].who, &*proof.waived[0].words), ("ada", "it is only text"));
    }

    #[test]
    fn a_waiver_speaks_for_no_other_code_gate_or_attempt() {
        let other_code = [&waived("verify")[..], &[landed("t2")]].concat();
        let other_gate = [&waived("review")[..], &[landed("t1")]].concat();
        let again = Event::AttemptStarted { attempt: unit().attempt(2), call: None };
        let other_attempt = [&waived("verify")[..], &[again, landed("t1")]].concat();
        for facts in [other_code, other_gate, other_attempt] {
            looked(&facts, &["make"]).unwrap_err();
        }
    }
}
