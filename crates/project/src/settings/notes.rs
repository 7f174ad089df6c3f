//! What a person should know about the settings, in whole sentences.

use super::{
    layers::Layer,
    resolve::Settings,
    sources::{FILE, LOCAL_FILE, LocalFile},
    values::{ID_MARK, RUN_MARK, Value},
};
use crate::suggest::nearest;

impl Settings {
    /// Returns what a person should know before a run starts.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend(self.local_in_git().map(|(what, next)| format!("{what}: `{next}`")));
        notes.extend(self.checks_left_out());
        if self.verify.commands.as_ref().is_some_and(Vec::is_empty) {
            let winner = self.layers.winner("verify.commands");
            let place = winner.map(|winner| winner.place.clone());
            notes.push(format!(
                "verify.commands is empty ({}): no checks run, so every result is unverified",
                place.unwrap_or_default()
            ));
        }
        if ![RUN_MARK, ID_MARK].iter().any(|mark| self.land.branch.contains(mark)) {
            notes.push(format!(
                "land.branch is \"{}\" for every run; with {ID_MARK} in it, each run has its own",
                &*self.land.branch
            ));
        }
        notes
    }

    /// Returns a note if the local file is in git, and the command that removes it from there.
    pub fn local_in_git(&self) -> Option<(String, String)> {
        (self.local_is == LocalFile::InGit).then(|| {
            let what = format!("{LOCAL_FILE} is in git, so it is shared and treated like {FILE}");
            (what, format!("git rm --cached {LOCAL_FILE}"))
        })
    }

    /// Names the checks of the repository that a personal layer leaves out.
    fn checks_left_out(&self) -> Option<String> {
        let values = self.layers.values("verify.commands");
        let repo = values.iter().rfind(|value| value.layer == Layer::Repo)?;
        let winner = values.last().filter(|winner| winner.layer > Layer::Repo)?;
        let (Value::List(asked), Value::List(kept)) = (&repo.value, &winner.value) else {
            unreachable!("commands are a list");
        };
        let left_out: Vec<String> = asked
            .iter()
            .filter(|command| !kept.contains(command))
            .map(|command| format!("`{command}`"))
            .collect();
        (!left_out.is_empty()).then(|| {
            format!(
                "{} leaves out {} of verify.commands, which {} asks for",
                winner.place,
                left_out.join(", "),
                repo.place
            )
        })
    }

    /// Returns what a person should know about tables of roles that a flow does not have.
    pub fn notes_on_roles(&self, of_the_flow: &[&str]) -> Vec<String> {
        let mut notes = Vec::new();
        for name in self.roles.keys().map(|name| &**name).filter(|name| !of_the_flow.contains(name))
        {
            let path = |word| format!("roles.{name}.{word}");
            let winner = ["agent", "model"].iter().find_map(|word| self.layers.winner(&path(word)));
            // Another flow may have it.
            let Some(near) = nearest(name, of_the_flow.iter().copied()) else { continue };
            let place = winner.map(|winner| format!(" ({})", winner.place)).unwrap_or_default();
            notes.push(format!(
                "roles.{name}{place} is set, and no stage of this flow has that role; did you mean `{near}`?"
            ));
        }
        notes
    }
}
