//! The accounts of a person: which there are, what is known of their limits, and whether one works.
//!
//! Not here: which one a call gets (`forge_driver::seats`).
//!
//! Invariant: no value of a key is read but to be handed to the program that it is for.

use std::path::{Path, PathBuf};

use forge_agents::UsageWindow;
use forge_core::{Time, view::Course};
use forge_driver::{
    Error,
    clock::now,
    seats::{Seat, SeatState, check_key, environment, folder, forget_limit, read_state},
};
use forge_project::{settings::Account, suggest::nearest};
use forge_store::disk::RealDisk;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    agents::{
        check::{CheckPlan, ProbeState, Probed},
        list::Roster,
    },
    forge::Forge,
    start::AskCommands,
};

/// An account and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AccountRow {
    /// Its name in the settings.
    pub name: String,
    /// The name of the agent that is used with it.
    pub agent: String,
    pub state: AccountState,
    /// When its login is over.
    pub expires: Option<Time>,
    /// Until when it is used up, if it is.
    pub until: Option<Time>,
    /// How much of it is used up, as its provider said last.
    pub windows: Vec<WindowRow>,
    /// When a call with it ended last.
    pub used_at: Option<Time>,
    /// The run of that call.
    pub used_by: Option<String>,
    /// Calls of this repository that use it now, each with its run.
    pub calls: Vec<String>,
    /// The problem, in one sentence.
    pub wrong: Option<String>,
    /// The next command.
    pub next: Option<String>,
}

/// A time in which an account may use only so much.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WindowRow {
    /// The provider's name for it.
    pub name: String,
    pub used_percent: u32,
    /// When it begins anew, if the provider said.
    pub resets_at: Option<Time>,
}

/// The state of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccountState {
    /// Calls use it, the account before it in the list first.
    Ready,
    /// So much of it is used up that another account takes over, if there is one.
    NearlyUsedUp,
    /// Its limit is reached.
    UsedUp,
    /// Its login is over.
    Expired,
    /// The variable with its key is not set.
    WithoutKey,
}

impl AccountState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::NearlyUsedUp => "nearly used up",
            Self::UsedUp => "used up",
            Self::Expired => "expired",
            Self::WithoutKey => "has no key",
        }
    }
}

/// The accounts of one person, as somebody in this folder sees them.
pub struct Accounts {
    roster: Roster,
    all: Vec<Account>,
    here: PathBuf,
}

impl Accounts {
    /// Returns the accounts of the person who stands in this folder. It need not be in a repository.
    pub fn open(here: &Path) -> Result<Self, Error> {
        let roster = Roster::open(here)?;
        let all = roster.settings.accounts();
        Ok(Self { roster, all, here: here.to_owned() })
    }

    /// Returns all accounts, in the order in which calls take them.
    pub fn rows(&self) -> Result<Vec<AccountRow>, Error> {
        let (folder, now) = (folder()?, now());
        let calls = self.calls()?;
        let threshold: u32 = self.roster.settings.limits.handoff_threshold.into();
        let row = |account: &Account| {
            let seat = Seat { agent: &account.agent, account: Some(account) };
            let state = read_state(&folder, &RealDisk, &seat);
            let mut row = row(account, &state, threshold, now);
            let own = calls.iter().filter(|(name, _)| *name == account.name);
            row.calls = own.map(|(_, call)| call.clone()).collect();
            row
        };
        Ok(self.all.iter().map(row).collect())
    }

    /// Makes one tiny call with an account, after telling what will be run.
    pub fn check(
        &self,
        name: &str,
        ask: AskCommands<'_>,
        tell: &mut dyn FnMut(&CheckPlan),
    ) -> Result<Probed, Error> {
        let Some(account) = self.all.iter().find(|account| account.name == name) else {
            let near = nearest(name, self.all.iter().map(|account| account.name.as_str()));
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(Error::usage(format!("unknown account `{name}`{near}"), "forge accounts"));
        };
        check_key(account)?;
        let probed = self.roster.check_with(&account.agent, Some(account), None, ask, tell)?;
        if probed.state == ProbeState::Ready {
            forget_limit(account)?;
        }
        Ok(probed)
    }

    /// Returns the names of all accounts.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|account| account.name.as_str())
    }

    /// Returns which accounts the calls under way in this repository use.
    fn calls(&self) -> Result<Vec<(String, String)>, Error> {
        // Outside of a repository there are no runs.
        let Ok(forge) = Forge::open(&self.here) else { return Ok(Vec::new()) };
        let mut calls = Vec::new();
        for row in forge.rows_to_list()?.0 {
            if row.standing.course() != Course::Driven {
                continue;
            }
            let run = forge.caught_up(&row.run)?;
            for call in run.calls().keys() {
                if let Some(account) = run.assignment(call).and_then(|to| to.account.clone()) {
                    calls.push((account, format!("{} of {}", call.unit().label(), row.run)));
                }
            }
        }
        Ok(calls)
    }
}

fn row(account: &Account, known: &SeatState, threshold: u32, now: Time) -> AccountRow {
    let missing = environment(account).err();
    let is_over = account.expires_ms.is_some_and(|until| until <= now);
    let nearly = known.tightest(now).is_some_and(|window| window.used_percent >= threshold);
    let state = match (&missing, known.until(now)) {
        (Some(_), _) => AccountState::WithoutKey,
        (None, _) if is_over => AccountState::Expired,
        (None, Some(_)) => AccountState::UsedUp,
        (None, None) if nearly => AccountState::NearlyUsedUp,
        (None, None) => AccountState::Ready,
    };
    let (wrong, next) = match (state, missing) {
        (AccountState::WithoutKey, Some(variable)) => (
            Some(format!("the variable {variable} is not set")),
            Some(format!("export {variable}=…")),
        ),
        (AccountState::Expired, _) => {
            let next = format!(
                "log in again, then forge config set accounts.{}.expires DAY --user",
                account.name
            );
            (Some("its login is over".to_owned()), Some(next))
        }
        (_, _) => (None, None),
    };
    let window = |window: &UsageWindow| WindowRow {
        name: window.name.clone(),
        used_percent: window.used_percent,
        resets_at: window.resets_at_ms,
    };
    AccountRow {
        name: account.name.clone(),
        agent: account.agent.clone(),
        state,
        expires: account.expires_ms,
        until: known.until(now),
        windows: known.windows.iter().map(window).collect(),
        used_at: (known.used_at_ms > 0).then_some(known.used_at_ms),
        used_by: (!known.run.is_empty()).then(|| known.run.clone()),
        calls: Vec::new(),
        wrong,
        next,
    }
}
