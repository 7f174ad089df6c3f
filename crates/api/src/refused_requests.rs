//! What was paid for requests that were refused: no run began that could keep it.
//!
//! One line for each look, in a file of the person's own beside the checkouts, because a refusal makes nothing in
//! the repository. Not here: the look itself (`start/triage.rs`), and how it is added up (`spending.rs`).
//!
//! Invariant: a line that cannot be read is left out, and keeps nobody from reading the others.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
};

use forge_core::{
    Time,
    event::Coherence,
    money::{Cost, Money, Tokens},
    view::{Spending, refused},
};
use forge_driver::{Error, clock::now, layout::Home};
use forge_project::bounded_read::read_text;
use serde::{Deserialize, Serialize};

/// The file, below the folder of the repository.
const FILE: &str = "refused.jsonl";
/// The most bytes of it that are read.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// One look after which no run began.
#[derive(Debug, Serialize, Deserialize)]
struct RefusedRequest {
    at: Time,
    role: String,
    look: Coherence,
}

/// Keeps what a look cost that refused a request. One that is known to have used nothing is not kept.
pub(crate) fn keep_refused(home: &Home, role: &str, look: &Coherence) -> Result<(), Error> {
    let is_free = match look.spent.cost {
        Cost::Known(Money(0)) => look.spent.tokens == Tokens::default(),
        Cost::Known(_) | Cost::Estimated(_) | Cost::Unknown => false,
    };
    if is_free {
        return Ok(());
    }
    let folder = home.personal()?;
    let path = folder.join(FILE);
    // The text of the triage is shown once, and are not what is counted.
    let look = Coherence { summary: String::new(), ..look.clone() };
    let line = RefusedRequest { at: now(), role: role.to_owned(), look };
    let text = serde_json::to_string(&line).expect("a line can be written") + "\n";
    let written = fs::create_dir_all(&folder).and_then(|()| {
        OpenOptions::new().create(true).append(true).open(&path)?.write_all(text.as_bytes())
    });
    written.map_err(|error| Error::file(&path, &error))
}

/// Reads the cost of triage calls that refused a request.
pub(crate) fn refused_spending(home: &Home) -> Result<Vec<Spending>, Error> {
    let text = read_text(&home.personal()?.join(FILE), BYTES_MAX)?.unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<RefusedRequest>(line).ok());
    Ok((1..).zip(lines).flat_map(|(n, line)| refused(n, line.at, &line.role, &line.look)).collect())
}
