//! What doors ask of a run, and what they are told.
//!
//! A door inserts, the driver answers: with the facts that follow, in their transaction, or alone if
//! none do. Each command is answered once. Must stay true: what a driver obeys is byte for byte what
//! a door wrote, so every command carries a mark.

use rusqlite::{OptionalExtension as _, Transaction, params};

use super::error::{Fault, StoreError};
use super::hash_chain::seal;
use super::reader::{find_row, positive};
use super::writer::{Store, exactly_one, number};

/// The number of a command. Never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub i64);

/// What a door asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Its number, in order of arrival.
    pub id: CommandId,
    /// The run it is about.
    pub run: String,
    /// When the door wrote it.
    pub at: u64,
    /// Which way in it came.
    pub door: String,
    /// Who asked.
    pub who: String,
    /// JSON that means nothing here.
    pub body: String,
}

impl Store {
    /// Asks something of a run.
    pub fn insert_command(
        &mut self,
        run: &str,
        at: u64,
        door: &str,
        who: &str,
        body: &str,
    ) -> Result<CommandId, StoreError> {
        self.write(Some(run), |transaction| {
            if find_row(transaction, run)?.is_none() {
                return Err(StoreError::NoSuchRun { run: run.to_owned(), nearest: None }.into());
            }
            exactly_one(transaction.execute(
                "INSERT INTO commands (run, at, door, who, body, mark)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![run, number(at), door, who, body, mark(run, at, door, who, body)],
            )?)?;
            Ok(CommandId(transaction.last_insert_rowid()))
        })
    }

    /// The commands of a run that nobody has answered, in order of arrival.
    pub fn open_commands(&self, run: &str) -> Result<Vec<Command>, StoreError> {
        self.look(Some(run), |snapshot| {
            let mut statement = snapshot.prepare(
                "SELECT id, at, door, who, body, mark FROM commands
                 WHERE run = ?1 AND outcome IS NULL ORDER BY id",
            )?;
            let found = statement.query_map([run], |row| {
                let (id, at) = (CommandId(row.get(0)?), positive(row, 1)?);
                let (door, who, body) = (row.get(2)?, row.get(3)?, row.get(4)?);
                let mark: String = row.get(5)?;
                Ok((Command { id, run: run.to_owned(), at, door, who, body }, mark))
            })?;
            let mut commands = Vec::new();
            for found in found {
                let (command, written) = found?;
                let Command { id, run, at, door, who, body } = &command;
                if mark(run, *at, door, who, body) != written {
                    let what = format!("command {} does not fit its mark", id.0);
                    return Err(Fault::damage(run, None, what));
                }
                commands.push(command);
            }
            Ok(commands)
        })
    }

    /// What a command was answered; `None` while nobody has.
    pub fn command_outcome(&self, id: CommandId) -> Result<Option<String>, StoreError> {
        self.look(None, |snapshot| {
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
) -> Result<(), Fault> {
    let changed = transaction.execute(
        "UPDATE commands SET outcome = ?3 WHERE id = ?1 AND run = ?2 AND outcome IS NULL",
        params![id.0, run, outcome],
    )?;
    if changed == 1 {
        return Ok(());
    }
    Err(StoreError::NoOpenCommand { run: run.to_owned(), id: id.0 }.into())
}

fn mark(run: &str, at: u64, door: &str, who: &str, body: &str) -> String {
    seal(&["command", run, &at.to_string(), door, who, body])
}
