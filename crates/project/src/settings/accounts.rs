//! The accounts of agents: which there are, for which agent, and until when.
//!
//! Not here: which of them is used (`forge_driver::seats`).
//!
//! Invariant: the value of a key is nowhere in the settings, only the name of the variable that has it.

use std::path::Path;

use super::{
    resolve::Settings,
    values::{AccountValue, Day},
};

/// One of several accounts of a person with the provider of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    /// The name of the agent in the settings.
    pub agent: String,
    /// What it needs in its environment, by name.
    pub variables: Vec<(String, AccountValue)>,
    /// When its login is over, in milliseconds since 1970, if that is known.
    pub expires_ms: Option<u64>,
}

impl Settings {
    /// Returns the accounts that are valid longest first; those of which nobody said until when before all others.
    pub fn accounts(&self) -> Vec<Account> {
        let mut accounts: Vec<Account> = self
            .accounts
            .iter()
            .filter_map(|(name, table)| {
                let variables = table.env.iter().map(|variable| {
                    let (name, value) = variable.parts();
                    (name.to_owned(), value)
                });
                Some(Account {
                    name: (**name).to_owned(),
                    agent: table.agent.clone()?.into(),
                    variables: variables.collect(),
                    expires_ms: table.expires.as_ref().map(Day::end_ms),
                })
            })
            .collect();
        accounts.sort_by_key(|account| std::cmp::Reverse(account.expires_ms.unwrap_or(u64::MAX)));
        accounts
    }
}

impl Account {
    /// Returns its variables with their values; or the name of the variable that has no value.
    pub fn environment(
        &self,
        home: Option<&Path>,
        value_of: impl Fn(&str) -> Option<String>,
    ) -> Result<Vec<(String, String)>, String> {
        let value = |(name, value): &(String, AccountValue)| {
            let value = match value {
                AccountValue::Path(path) => path.clone(),
                AccountValue::InHome(path) => {
                    let home = home.ok_or_else(|| "HOME".to_owned())?;
                    home.join(path).to_string_lossy().into_owned()
                }
                AccountValue::Variable(other) => {
                    let value = value_of(other).filter(|value| !value.is_empty());
                    value.ok_or_else(|| other.clone())?
                }
            };
            Ok((name.clone(), value))
        };
        self.variables.iter().map(value).collect()
    }

    /// Returns the names of its variables that hold a secret.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().filter_map(|(name, value)| match value {
            AccountValue::Variable(_) => Some(name.as_str()),
            AccountValue::Path(_) | AccountValue::InHome(_) => None,
        })
    }
}
