//! What a run knows of the code: where the work of a scope stands, what landed, what was proved.

use std::sync::Arc;

use super::{
    fold::KnownResult,
    fold::Run,
    history::CallEnding,
    tree::{AllReviewsClean, Authorship, CommittedCode, FilesState, State, TableStatus, position},
};
use crate::{
    event::{
        CheckFailure, Colour, Edit, Evidence, ProofStart, Receipt, ResultChange, Ruling, Waiver,
    },
    flow::{BuiltIn, Check, Work, followers},
    id::{AttemptId, CallId, QuestionId, Scope, UnitId},
    verdict::{Shown, Subject, Verdict, VerdictWord},
};

impl Run {
    /// Applies a person's change as an attempt that is done: its gates look at it, and what came after
    /// begins again.
    pub(super) fn edited(&mut self, attempt: &AttemptId, edit: &Edit) {
        let definition = Arc::clone(self.definition_arc());
        let shut = self.closed_scopes(&attempt.unit.scope);
        self.reopen_outer(&attempt.unit.scope);
        let stages = definition.flow.table(&attempt.unit.scope);
        let position = position(stages, &attempt.unit.stage);
        let (now, arrived) = (self.now, self.n_facts);
        let table = self.table_mut(&attempt.unit.scope);
        for follower in followers(stages, position) {
            table.units[follower].serious.clear();
            if follower != position {
                table.units[follower].reset(&stages[follower]);
            }
        }
        if let Edit::Code { commit, tree } = edit {
            table.code = Some(CommittedCode { commit: commit.clone(), tree: tree.clone() });
        }
        let unit = &mut table.units[position];
        unit.attempt = attempt.number;
        unit.since = now;
        unit.misses = 0;
        unit.setbacks = 0;
        unit.not_before = 0;
        unit.fault = None;
        unit.reviews_clean = AllReviewsClean::Yes;
        unit.found.clear();
        unit.accepted.clear();
        unit.review_tallies.clear();
        unit.waived.clear();
        unit.files = FilesState::Committed;
        if let Edit::Artifact { name, content } = edit {
            unit.replace_artifacts(&[(name.clone(), content.clone())].into());
        }
        unit.authorship = Authorship::PersonToo;
        // What the agent said of its work need not hold for what a person made of it. It is still called the same.
        if let Some(shown) =
            unit.receipt.as_mut().map(Arc::make_mut).and_then(|receipt| receipt.shown.as_mut())
        {
            *shown = Shown { title: std::mem::take(&mut shown.title), ..Shown::default() };
        }
        unit.come_to_gate(&stages[position], 0, arrived);
        for scope in &shut {
            self.wait_for_its_turn(scope);
        }
        // A person who changes something has looked: failures there are counted from zero.
        let place = attempt.unit.place();
        Arc::make_mut(&mut self.failures).retain(|(failed, _, _), _| *failed != place);
        self.forget_questions();
    }

    /// Returns the items on the way to a scope that are not open. Those that are open now may write the
    /// same paths.
    fn closed_scopes(&self, scope: &Scope) -> Vec<Scope> {
        let way = std::iter::successors(Some(scope.clone()), Scope::parent);
        let items = way.filter(|scope| !scope.is_root());
        items.filter(|scope| self.table(scope).1.standing() != TableStatus::Open).collect()
    }

    /// Reopens what is around a scope, and resets what came after that: items
    /// that waited for this one, and rows after the table.
    fn reopen_outer(&mut self, scope: &Scope) {
        let definition = Arc::clone(self.definition_arc());
        let now = self.now;
        let mut inside = scope.clone();
        while let Some((outer, group)) = inside.origin() {
            let stages = definition.flow.table(&outer);
            let row = position(stages, &group);
            let table = self.table_mut(&outer);
            for follower in followers(stages, row) {
                table.units[follower].serious.clear();
                if follower != row {
                    table.units[follower].reset(&stages[follower]);
                }
            }
            let each = &mut table.units[row];
            each.inner.reset_after(inside.item().unwrap_or_default(), stages[row].inner());
            // Its own gates looked at this attempt already, so it needs a new one.
            if each.state != State::Working {
                each.state = State::Waiting;
                each.since = now;
                each.setbacks = 0;
                each.not_before = 0;
            }
            inside = outer;
        }
    }

    /// Keeps a call's report about the code: the commit of its scope, and what was proved.
    pub(super) fn keep_code(&mut self, unit: &UnitId, receipt: &Receipt) {
        // What landed is where it was; the tree of its receipt is that of the run's result.
        if let (Some(commit), Some(tree), None) = (&receipt.commit, &receipt.tree, &receipt.head) {
            let code = CommittedCode { commit: commit.clone(), tree: tree.clone() };
            self.table_mut(&unit.scope).code = Some(code);
        }
        if !receipt.changed.is_empty() && self.has(unit) {
            self.unit_without_opening(unit).1.changed.clone_from(&receipt.changed);
        }
        if !receipt.evidence.is_empty() || !receipt.trials.is_empty() {
            let known = Arc::make_mut(&mut self.evidence);
            let all = receipt.trials.iter().chain(&receipt.evidence);
            for Evidence { command, tree, colour, took_ms, start, failure } in all {
                let (colour, took_ms, start) = (*colour, *took_ms, *start);
                let result = KnownResult { colour, took_ms, start, failure: failure.clone() };
                known.insert((tree.clone(), command.clone()), result);
            }
        }
    }

    /// Returns the commit that is the run's result so far: what landed last, or what it started from.
    pub fn head(&self) -> Option<&str> {
        match &self.head {
            Some(head) => Some(head),
            None => {
                self.definition.as_ref().and_then(|definition| definition.start.base.as_deref())
            }
        }
    }

    /// Returns the branch that the run's result lands on.
    pub fn branch(&self) -> Option<&str> {
        self.branch.as_deref()
    }

    /// Returns true if something is part of the run's result already.
    pub fn has_landed(&self) -> bool {
        self.head.is_some()
    }

    /// Returns true if the run has a branch for its result, and no work brought anything to it. Forge's own last commit
    /// is no work.
    pub fn changed_nothing(&self) -> bool {
        let is_work = |unit: &UnitId| {
            self.has(unit) && !matches!(self.stage(unit).work, Work::Deliver { .. })
        };
        let mut landed = self.history().landed.iter();
        self.branch().is_some()
            && !landed.any(|landed| landed.brings == ResultChange::Changed && is_work(&landed.unit))
    }

    /// Returns the commit that the work of a scope stands at, once Forge has made one.
    pub fn code(&self, scope: &Scope) -> Option<&CommittedCode> {
        self.table(scope).1.code.as_ref()
    }

    /// Returns what the next thing that lands is added to: the result so far, or the code that the run began with.
    pub(crate) fn code_before(&self) -> Option<&str> {
        self.head().or(self.definition().start.base.as_deref())
    }

    /// Returns the code tree of the run's result, once something has landed.
    pub fn tree(&self) -> Option<&str> {
        self.history.landed.newest().map(|landing| landing.tree.as_str())
    }

    /// Returns what Forge itself ran on a code tree, and what came of it last.
    pub fn proofs(&self, tree: &str) -> Vec<(&str, Colour)> {
        let own = self.evidence.iter().filter(|((of, _), _)| of == tree);
        own.map(|((_, command), known)| (command.as_str(), known.colour)).collect()
    }

    /// Returns what the work of a unit is, for its judges.
    pub fn subject(&self, unit: &UnitId) -> Subject {
        // A stage that changes code has this gate; `changes` is what it looks at.
        let changes = Check::BuiltIn { check: BuiltIn::Changes };
        let is_writer = self.stage(unit).gates.iter().any(|gate| gate.check == changes);
        let receipt = self.unit(unit).receipt.as_ref();
        if is_writer || receipt.is_some_and(|receipt| receipt.commit.is_some()) {
            Subject::Code
        } else {
            Subject::Document
        }
    }

    /// Returns what the reviews of a unit's current attempt say together: the worst of it.
    pub fn verdict_word(&self, unit: &UnitId) -> Option<VerdictWord> {
        let worst = self.unit(unit).review_tallies.iter().map(|opinion| opinion.says).max();
        worst.map(|says| says.to_word(self.subject(unit)))
    }

    /// Returns why the run's result must not leave it, if something speaks against it: nothing proved it,
    /// or a check is red on exactly this code. A person's waiver by the name of the gate counts.
    pub(crate) fn reason_not_to_deliver(&self) -> Option<String> {
        let waived = self.history.waived.iter().any(|waived| {
            matches!(waived.why, Waiver::Person { .. }) && self.verifies(&waived.unit, &waived.gate)
        });
        if waived {
            return None;
        }
        let proofs = self.tree().map(|tree| self.proofs(tree)).unwrap_or_default();
        if let Some((command, _)) = proofs.iter().find(|(_, colour)| *colour == Colour::Red) {
            return Some(format!("`{command}` fails on exactly this code"));
        }
        let is_proved = self.history.calls.iter().any(|call| match (&call.call, &call.ending) {
            (
                CallId::Judgement(judgement),
                CallEnding::Look(Ruling::Verdict(Verdict::Pass { .. })),
            ) => self.verifies(&judgement.attempt.unit, &judgement.gate),
            (CallId::Judgement(_) | CallId::Attempt(_), _) => false,
        });
        if is_proved { None } else { Some("nothing was verified in this run".to_owned()) }
    }

    pub(super) fn verifies(&self, unit: &UnitId, gate: &str) -> bool {
        let gate = self.definition().flow.gate(unit, gate);
        gate.is_some_and(|gate| gate.check == Check::Verify)
    }

    /// Returns the answer by which a person waived all these failures of checks, if there is one for each.
    pub(crate) fn waiver_of(&self, red: &[&Evidence]) -> Option<QuestionId> {
        let waiver = |evidence: &&Evidence| {
            let mut known = self.waived_failures.iter().rev();
            known.find(|(_, before)| evidence.repeats(before)).map(|(question, _)| *question)
        };
        let waivers: Option<Vec<QuestionId>> = red.iter().map(waiver).collect();
        waivers?.pop()
    }

    /// Returns true if a person allowed a command that was not there when the run began.
    pub fn allows(&self, command: &str) -> bool {
        self.history.asked.iter().any(|asked| {
            let said = asked.answer.as_ref().map(|said| asked.question.allows(&said.answer));
            said.is_some_and(|allowed| allowed.iter().any(|one| one == command))
        })
    }

    /// Returns true if a command is one that Forge ran to prove code.
    pub(crate) fn is_check(&self, command: &str) -> bool {
        self.evidence.keys().any(|(_, known)| known == command)
    }

    /// Returns what came of a command that Forge ran on a code tree.
    pub fn evidence(&self, tree: &str, command: &str) -> Option<Colour> {
        self.evidence.get(&(tree.to_owned(), command.to_owned())).map(|known| known.colour)
    }

    /// Returns what the checkout of a code tree had in it when a command succeeded there.
    pub fn green_start(&self, tree: &str, command: &str) -> Option<ProofStart> {
        let known = self.evidence.get(&(tree.to_owned(), command.to_owned()))?;
        (known.colour == Colour::Green).then_some(known.start)
    }

    /// Returns how a command failed that Forge ran on a code tree.
    pub fn check_failure(&self, tree: &str, command: &str) -> Option<&CheckFailure> {
        self.evidence.get(&(tree.to_owned(), command.to_owned()))?.failure.as_ref()
    }

    /// Returns what came of all commands that Forge ran on the tree of the result.
    pub fn colours_on_result(&self) -> Vec<Colour> {
        let tree = self.tree();
        let own = self.evidence.iter().filter(|((of, _), _)| Some(of.as_str()) == tree);
        own.map(|(_, known)| known.colour).collect()
    }

    /// Returns all commands that Forge ran on the tree of the result, and what came of them.
    pub fn evidence_on_result(&self) -> Vec<Evidence> {
        let tree = self.tree();
        let own = self.evidence.iter().filter(|((of, _), _)| Some(of.as_str()) == tree);
        own.map(|((tree, command), known)| Evidence {
            command: command.clone(),
            tree: tree.clone(),
            colour: known.colour,
            took_ms: known.took_ms,
            start: known.start,
            failure: known.failure.clone(),
        })
        .collect()
    }
}
