//! The command lines that a repository, and not the person, makes Forge run, each as one line that a person can
//! approve: commands of `forge.toml`, and of a local file that git has.

use sha2::{Digest as _, Sha256};

use super::{
    resolve::Settings,
    types::AgentTable,
    values::{Value, shown_url},
};

/// A way to notify that the settings can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotifierKind {
    Command,
    Webhook,
}

impl NotifierKind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Command, Self::Webhook];
}

impl Settings {
    /// Returns the commands, with the agents that play one of these roles.
    pub fn commands_of_repository(&self, roles: &[&str]) -> Vec<String> {
        let mut commands = Vec::new();
        for path in ["workspace.setup", "verify.commands"] {
            if let Some(Value::List(list)) = self.value_of_repository(path) {
                commands.extend(list.iter().cloned());
            }
        }
        if let Some(Value::List(names)) = self.value_of_repository("verify.pass")
            && !names.is_empty()
        {
            commands.push(format!("# the project's commands get ${}", names.join(", $")));
        }
        // An agent that does not play is not started.
        commands
            .extend(self.cast(roles).into_iter().filter_map(|name| self.agent_of_repository(name)));
        let notifiers = NotifierKind::ALL.into_iter();
        commands.extend(notifiers.filter_map(|notifier| self.notifier_of_repository(notifier)));
        commands
    }

    /// Returns an agent that the repository starts on this machine, or to which it hands something of the
    /// person's environment, whether or not it plays. Nothing, if it is the person's own.
    pub fn agent_of_repository(&self, name: &str) -> Option<String> {
        let path = |word: &&str| format!("agents.{name}.{word}");
        let is_of_repository = ["like", "command", "acp", "pass"]
            .iter()
            .any(|word| self.value_of_repository(&path(word)).is_some());
        is_of_repository.then(|| agent_line(name, &self.agents[name]))
    }

    /// Returns a notifier that the repository names. Nothing, if it names none, or another layer wins.
    pub fn notifier_of_repository(&self, notifier: NotifierKind) -> Option<String> {
        let path = match notifier {
            NotifierKind::Command => "notify.command",
            NotifierKind::Webhook => "notify.webhook",
        };
        match self.value_of_repository(path)? {
            Value::List(words) => Some(format!("{}  # runs when a run stops", line(words))),
            // What is approved is this address and no other, and it is not shown.
            Value::Text(url) => {
                let sum = forge_core::hex::hex(&Sha256::digest(url.as_bytes())[..8]);
                Some(format!("POST to {} (sha256 {sum})", shown_url(url)))
            }
            Value::Count(_) => unreachable!("a notifier is no number"),
        }
    }

    /// Returns the value that counts, if it came with the repository.
    fn value_of_repository(&self, path: &str) -> Option<&Value> {
        let winner = self.layers.winner(path)?;
        winner.layer.is_of_repository(self.local_is).then_some(&winner.value)
    }
}

/// Shows an agent as one line: what is started, and what it gets of the person's.
fn agent_line(name: &str, table: &AgentTable) -> String {
    let default: Vec<String> =
        table.like.default_command().map(str::to_owned).into_iter().collect();
    let keys = table.like.passed_keys().map(str::to_owned);
    let words = line(table.command.as_ref().unwrap_or(&default));
    let gets: Vec<String> =
        keys.into_iter().chain(table.pass.iter().map(|name| format!("${name}"))).collect();
    let gets =
        if gets.is_empty() { String::new() } else { format!(", which gets {}", gets.join(", ")) };
    format!("{words}  # the agent {name}{gets}")
}

/// Writes a program and its arguments as one line.
fn line(words: &[String]) -> String {
    words.iter().map(|word| for_shell(word)).collect::<Vec<String>>().join(" ")
}

/// Writes a word as in a shell, so that no two commands look the same.
fn for_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
