//! Commands that other processes give to a run's driver, and their outcomes.
//!
//! A user interface inserts one, the driver answers it: in the transaction of the facts that follow,
//! or alone if none do. Each command is answered once. Invariant: what a driver obeys is byte for
//! byte what was inserted, so every command carries a mark. A mark can be computed by anybody; who stands behind a
//! command is told by `command_lock`.

use rusqlite::{OptionalExtension as _, Row, Transaction, params};

use super::command_lock::{CommandLock, CommandSender, sender};
use super::connection::{Store, expect_one_row, integer, unsigned};
use super::error::{JournalFault, StoreError};
use super::hash_chain::seal;
use super::projection::last_projected;
use super::reader::{find_row, refuse_shorter};

/// The number of a command. It is never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub i64);

/// A command that the driver of its run has not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingCommand {
    /// Grows in order of arrival.
    pub id: CommandId,
    pub run: String,
    /// UTC milliseconds at which it was inserted.
    pub at: u64,
    /// The user interface that it came from.
    pub interface: String,
    /// The person who gave it.
    pub person: String,
    /// JSON that the journal does not interpret.
    pub body: String,
}

/// A row of the commands of a run that is not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandRow {
    Whole(PendingCommand),
    /// One that Forge did not insert, or that was changed since: it is answered, never obeyed.
    Foreign(CommandId),
}

impl Store {
    /// Inserts a command for the driver of a run. This process stands behind it as long as the store is open.
    pub fn insert_command(
        &mut self,
        run: &str,
        at: u64,
        interface: &str,
        person: &str,
        body: &str,
    ) -> Result<CommandId, StoreError> {
        let projected = last_projected(self.dir(), run).unwrap_or(0);
        let dir = self.dir().to_owned();
        let (id, lock) = self.write(Some(run), |transaction| {
            let Some(row) = find_row(transaction, run)? else {
                return Err(StoreError::NoSuchRun { run: run.to_owned(), nearest: None }.into());
            };
            refuse_shorter(&row, projected)?;
            expect_one_row(transaction.execute(
                "INSERT INTO commands (run, at, door, who, body, mark)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    run,
                    integer(at),
                    interface,
                    person,
                    body,
                    mark(run, at, interface, person, body)
                ],
            )?)?;
            let id = CommandId(transaction.last_insert_rowid());
            // Before anybody can see the row.
            let lock = CommandLock::take(&dir, id.0);
            Ok((id, lock.map_err(|error| StoreError::refused(&dir, error))?))
        })?;
        self.sent.push(lock);
        Ok(id)
    }

    /// Finds the process that stands behind a command.
    pub fn command_sender(&self, command: &PendingCommand) -> Result<CommandSender, StoreError> {
        sender(self.dir(), command.id.0).map_err(|error| StoreError::refused(self.dir(), error))
    }

    /// Reads the commands of a run that are not answered, in order of arrival.
    pub fn open_commands(&self, run: &str) -> Result<Vec<CommandRow>, StoreError> {
        self.snapshot(Some(run), |snapshot| {
            let mut statement = snapshot.prepare(
                "SELECT id, at, door, who, body, mark FROM commands
                 WHERE run = ?1 AND outcome IS NULL ORDER BY id",
            )?;
            let rows = statement.query_map([run], |row| {
                let id = CommandId(row.get(0)?);
                // A value of the wrong kind is not ours either, and must not keep anybody from the other rows.
                Ok(whole(run, id, row).map_or(CommandRow::Foreign(id), CommandRow::Whole))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Reads the outcome of a command; `None` while it is not answered.
    pub fn command_outcome(&self, id: CommandId) -> Result<Option<String>, StoreError> {
        self.snapshot(None, |snapshot| {
            let sql = "SELECT outcome FROM commands WHERE id = ?1";
            Ok(snapshot.query_row(sql, [id.0], |row| row.get(0)).optional()?.flatten())
        })
    }
}

/// Answers an open command.
pub(super) fn answer(
    transaction: &Transaction<'_>,
    run: &str,
    id: CommandId,
    outcome: &str,
) -> Result<(), JournalFault> {
    let changed = transaction.execute(
        "UPDATE commands SET outcome = ?3 WHERE id = ?1 AND run = ?2 AND outcome IS NULL",
        params![id.0, run, outcome],
    )?;
    if changed == 1 {
        return Ok(());
    }
    Err(StoreError::NoOpenCommand { run: run.to_owned(), id: id.0 }.into())
}

/// Reads a command if its row is as it was inserted.
fn whole(run: &str, id: CommandId, row: &Row<'_>) -> Option<PendingCommand> {
    let at = unsigned(row, 1).ok()?;
    let (interface, person, body): (String, String, String) =
        (row.get(2).ok()?, row.get(3).ok()?, row.get(4).ok()?);
    let written: String = row.get(5).ok()?;
    if mark(run, at, &interface, &person, &body) != written {
        return None;
    }
    Some(PendingCommand { id, run: run.to_owned(), at, interface, person, body })
}

fn mark(run: &str, at: u64, interface: &str, person: &str, body: &str) -> String {
    seal(&["command", run, &at.to_string(), interface, person, body])
}
