//! Refuses what only a person may change, when an agent asks for it.

use crate::Error;

/// Fails inside an attempt: agents change neither runs nor settings.
pub fn refuse_agents() -> Result<(), Error> {
    if let Err(flaw) = forge_keeper::caller::check_proc() {
        return Err(Error::usage(
            format!("this command is refused: {flaw}"),
            "run it outside of that namespace",
        ));
    }
    match forge_keeper::inside_attempt() {
        None => Ok(()),
        Some(attempt) => Err(Error::usage(
            format!("this is inside an attempt ({attempt}), and agents do not change runs"),
            "leave what you have to say in result.json",
        )),
    }
}
