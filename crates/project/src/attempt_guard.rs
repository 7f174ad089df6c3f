//! Refuses what only a person may change, when an agent asks for it.

use crate::Error;

/// Fails inside an attempt: agents change neither runs nor settings.
pub fn refuse_agents() -> Result<(), Error> {
    match forge_keeper::inside_attempt() {
        None => Ok(()),
        Some(attempt) => Err(Error::usage(
            format!("this is inside an attempt ({attempt}), and agents do not change runs"),
            "leave what you have to say in result.json",
        )),
    }
}
