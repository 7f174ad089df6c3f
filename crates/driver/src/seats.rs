//! The seats that calls of agents are given: an agent with one of a person's accounts, or with the login that it has anyway.
//!
//! Where a person has several accounts, or agents that take over, it is decided before each call which seat it gets: the first that no
//! limit keeps from working, and of which not too much is used up. What is known of a seat lies in a file of its own, for all runs of a
//! person: `~/.local/state/forge/limits/account-NAME.json` or `agent-NAME.json`.
//!
//! Not here: giving a call its seat (`admission`), and which agent the settings, a review or a successor want (`casting`).
//!
//! Invariant: what is known of a seat is only ever a reason to take another one or to wait. A file that cannot be read says nothing.

use std::{
    cell::OnceCell,
    path::{Path, PathBuf},
};

use forge_agents::UsageWindow;
use forge_core::{Run, id::CallId};
use forge_project::{personal_dirs, settings::Account};
use forge_store::{
    atomic_file::replace_on,
    disk::{Disk, RealDisk},
};
use serde::{Deserialize, Serialize};

use crate::Error;

/// Reads the accounts of a person, for a run that starts from this commit.
type ReadAccounts = dyn Fn(Option<&str>) -> Result<Vec<Account>, Error>;

/// What a run knows of a person's accounts.
pub struct Seats {
    /// Read when the first agent is called.
    accounts: OnceCell<Vec<Account>>,
    read: Box<ReadAccounts>,
    /// Where it is kept what is known of their limits.
    pub(crate) folder: Option<PathBuf>,
}

/// An agent with one of its accounts, or with the login that it has anyway.
#[derive(Clone, Debug)]
pub struct Seat<'s> {
    /// The name of the agent in the settings.
    pub agent: &'s str,
    pub account: Option<&'s Account>,
}

/// How much of a seat is used up, as it was told last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SeatState {
    /// UTC. Until when it is used up, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
    /// How much of it is used up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<UsageWindow>,
    /// UTC. When it was last used.
    pub used_at_ms: u64,
    /// The run that used it last.
    pub run: String,
}

impl Seats {
    /// Those of a person, with what is known of them in this folder, if there is one.
    pub fn new(
        folder: Option<PathBuf>,
        read: impl Fn(Option<&str>) -> Result<Vec<Account>, Error> + 'static,
    ) -> Self {
        Self { accounts: OnceCell::new(), read: Box::new(read), folder }
    }

    fn accounts(&self, run: &Run) -> Result<&[Account], Error> {
        if let Some(known) = self.accounts.get() {
            return Ok(known);
        }
        // An agent may be one of the repository.
        let read = (self.read)(run.definition().start.base.as_deref())?;
        Ok(self.accounts.get_or_init(|| read))
    }

    /// Returns the account of a call under way, if it has one of several.
    pub fn account_of(&self, run: &Run, call: &CallId) -> Result<Option<&Account>, Error> {
        let Some(name) = run.assignment(call).and_then(|to| to.account.as_deref()) else {
            return Ok(None);
        };
        let Some(found) = self.accounts(run)?.iter().find(|account| account.name == name) else {
            let what = format!("the account `{name}` of {call} is not in your settings any more");
            let next = format!("forge config set accounts.{name}.agent AGENT --user");
            return Err(Error::surroundings(what, next));
        };
        // Without its key, the program would use another account.
        check_key(found).map(|()| Some(found))
    }

    /// Returns the seats of an agent, the one to take first before all others.
    pub(crate) fn of_agent<'s>(
        &'s self,
        run: &Run,
        agent: &'s str,
        now: u64,
    ) -> Result<Vec<Seat<'s>>, Error> {
        let own = self.accounts(run)?.iter().filter(|account| account.agent == agent);
        let all: Vec<&Account> = own.collect();
        if all.is_empty() {
            return Ok(vec![Seat { agent, account: None }]);
        }
        let valid = all.into_iter().filter(|account| is_valid(account, now));
        Ok(valid.map(|account| Seat { agent, account: Some(account) }).collect())
    }

    pub(crate) fn state(&self, disk: &dyn Disk, seat: &Seat<'_>) -> SeatState {
        let folder = self.folder.as_ref();
        folder.map(|folder| read_state(folder, disk, seat)).unwrap_or_default()
    }
}

/// Returns where it is kept what is known of limits.
pub fn folder() -> Result<PathBuf, Error> {
    Ok(personal_dirs::state_dir()?.join("limits"))
}

/// Reads what is known of a seat.
pub fn read_state(folder: &Path, disk: &dyn Disk, seat: &Seat<'_>) -> SeatState {
    let bytes = disk.read(&folder.join(seat.file())).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Returns the account that a call outside of a run gets, if its agent has any: the first that can be used, and best one that is not used up.
pub fn free_account<'a>(accounts: &'a [Account], agent: &'a str, now: u64) -> Option<&'a Account> {
    let folder = folder().ok()?;
    let is_own = |account: &&Account| account.agent == agent && is_valid(account, now);
    let is_free = |account: &&Account| {
        let seat = Seat { agent, account: Some(account) };
        read_state(&folder, &RealDisk, &seat).until(now).is_none()
    };
    let own = || accounts.iter().filter(is_own);
    own().find(is_free).or_else(|| own().next())
}

/// Refuses an account whose key is in a variable that is not set.
pub fn check_key(account: &Account) -> Result<(), Error> {
    let Err(variable) = environment(account) else { return Ok(()) };
    let name = &account.name;
    let what = format!("the account `{name}` needs the variable {variable}, which is not set");
    Err(Error::surroundings(what, format!("export {variable}=…")))
}

/// Forgets that an account is used up: a call with it was answered.
pub fn forget_limit(account: &Account) -> Result<(), Error> {
    let folder = folder()?;
    let seat = Seat { agent: &account.agent, account: Some(account) };
    let state = read_state(&folder, &RealDisk, &seat);
    if state.until_ms.is_none() {
        return Ok(());
    }
    keep_state(&folder, &RealDisk, &seat, &SeatState { until_ms: None, ..state })
}

/// Keeps what is known of a seat.
pub(crate) fn keep_state(
    folder: &Path,
    disk: &dyn Disk,
    seat: &Seat<'_>,
    state: &SeatState,
) -> Result<(), Error> {
    let path = folder.join(seat.file());
    let text = serde_json::to_vec(state).expect("numbers and texts can be written as JSON");
    replace_on(disk, &path, &text).map_err(|error| Error::file(&path, &error))
}

/// Returns true if an account can be used: its login is not over, and its keys are here.
pub fn is_valid(account: &Account, now: u64) -> bool {
    account.expires_ms.is_none_or(|until| until > now) && environment(account).is_ok()
}

/// Returns the variables of an account with their values; or the name of the variable that has none.
pub fn environment(account: &Account) -> Result<Vec<(String, String)>, String> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    account.environment(home.as_deref(), |name| std::env::var(name).ok())
}

impl Seat<'_> {
    /// Returns its name, which the facts of a run have.
    pub fn name(&self) -> &str {
        self.account.map_or(self.agent, |account| account.name.as_str())
    }

    fn file(&self) -> String {
        let kind = if self.account.is_some() { "account" } else { "agent" };
        format!("{kind}-{}.json", self.name())
    }

    pub(crate) fn words(&self) -> String {
        match self.account {
            Some(account) => format!("the account `{}`", account.name),
            None => format!("`{}`", self.agent),
        }
    }
}

impl SeatState {
    /// Returns until when it is used up, if it is.
    pub fn until(&self, now: u64) -> Option<u64> {
        self.until_ms.filter(|until| *until > now)
    }

    /// Returns the window of which most is used up, among those that have not begun anew.
    pub fn tightest(&self, now: u64) -> Option<&UsageWindow> {
        let current = |window: &&UsageWindow| window.resets_at_ms.is_none_or(|at| at > now);
        self.windows.iter().filter(current).max_by_key(|window| window.used_percent)
    }
}

/// The seat that a call gets now.
pub(crate) enum Pick<'s> {
    Seat(Seat<'s>),
    /// All are used up; this one is the first that is not any more.
    Later(Seat<'s>, u64),
    /// None can be used at all.
    None,
}

/// Chooses among seats: the first of which little enough is used up, or else the first that is not used up.
pub(crate) fn pick<'s>(seats: Vec<(Seat<'s>, SeatState)>, threshold: u32, now: u64) -> Pick<'s> {
    let is_free = |state: &SeatState| state.until(now).is_none();
    let is_fresh = |state: &SeatState| {
        state.tightest(now).is_none_or(|window| window.used_percent < threshold)
    };
    let fresh = seats.iter().position(|(_, state)| is_free(state) && is_fresh(state));
    let found = fresh.or_else(|| seats.iter().position(|(_, state)| is_free(state)));
    if let Some(found) = found {
        let mut seats = seats;
        return Pick::Seat(seats.swap_remove(found).0);
    }
    let until = |(seat, state): (Seat<'s>, SeatState)| Some((state.until(now)?, seat));
    let first = seats.into_iter().filter_map(until).min_by_key(|(until, _)| *until);
    first.map_or(Pick::None, |(until, seat)| Pick::Later(seat, until))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(until: Option<u64>, used: &[(u32, Option<u64>)]) -> SeatState {
        let window = |(used_percent, resets_at_ms): &(u32, Option<u64>)| UsageWindow {
            name: "five_hour".to_owned(),
            used_percent: *used_percent,
            resets_at_ms: *resets_at_ms,
        };
        SeatState {
            until_ms: until,
            windows: used.iter().map(window).collect(),
            ..SeatState::default()
        }
    }

    /// The number of the seat that is taken at this time, and until when it is waited for.
    fn taken(states: &[SeatState], now: u64) -> Option<(String, Option<u64>)> {
        let names: Vec<String> = (0..states.len()).map(|n| n.to_string()).collect();
        let seat = |name: &'static str| Seat { agent: name, account: None };
        let seats = names.into_iter().zip(states);
        let seats = seats.map(|(name, state)| (seat(name.leak()), state.clone())).collect();
        match pick(seats, 90, now) {
            Pick::Seat(seat) => Some((seat.agent.to_owned(), None)),
            Pick::Later(seat, until) => Some((seat.agent.to_owned(), Some(until))),
            Pick::None => None,
        }
    }

    #[test]
    fn the_first_seat_of_which_little_enough_is_used_up_is_taken() {
        let fresh = || state(None, &[]);
        let nearly = |until| state(None, &[(40, None), (90, until)]);
        assert_eq!(taken(&[fresh(), fresh()], 5), Some(("0".to_owned(), None)));
        assert_eq!(taken(&[nearly(Some(9)), fresh()], 5), Some(("1".to_owned(), None)));
        assert_eq!(
            taken(&[nearly(Some(9)), fresh()], 9),
            Some(("0".to_owned(), None)),
            "it is new"
        );
        assert_eq!(taken(&[state(None, &[(89, None)]), fresh()], 5), Some(("0".to_owned(), None)));
        // Where all are nearly used up, what is left of them is used.
        assert_eq!(taken(&[nearly(None), nearly(None)], 5), Some(("0".to_owned(), None)));
        assert_eq!(taken(&[state(Some(9), &[]), nearly(None)], 5), Some(("1".to_owned(), None)));
    }

    #[test]
    fn where_all_are_used_up_the_first_that_is_free_again_is_waited_for() {
        let all = [state(Some(20), &[]), state(Some(10), &[])];
        assert_eq!(taken(&all, 5), Some(("1".to_owned(), Some(10))));
        assert_eq!(taken(&all, 10), Some(("1".to_owned(), None)));
        assert_eq!(taken(&all, 20), Some(("0".to_owned(), None)));
        assert_eq!(taken(&[], 5), None);
    }
}
