//! The folders of one person: settings for all repositories, and what Forge remembers for them.

use std::{ffi::OsString, path::PathBuf};

use crate::Error;

/// Returns what one person sets for all repositories: `$XDG_CONFIG_HOME/forge`, or `~/.config/forge`.
pub fn config_dir() -> Result<PathBuf, Error> {
    personal_dir("XDG_CONFIG_HOME", ".config", |name| std::env::var_os(name))
}

/// Returns what Forge remembers for one person: `$XDG_STATE_HOME/forge`, or `~/.local/state/forge`.
pub fn state_dir() -> Result<PathBuf, Error> {
    personal_dir("XDG_STATE_HOME", ".local/state", |name| std::env::var_os(name))
}

/// Returns a path that is not absolute counts as none, as the XDG rules say.
fn personal_dir(
    variable: &str,
    below_home: &str,
    value: impl Fn(&str) -> Option<OsString>,
) -> Result<PathBuf, Error> {
    let absolute = |name: &str| value(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let dir = absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(below_home)));
    dir.map(|dir| dir.join("forge")).ok_or_else(|| {
        let what = format!("neither {variable} nor HOME is set to an absolute path");
        Error::surroundings(what, "set HOME to your home folder")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_a_person_are_absolute_and_named_by_xdg_or_home() {
        let dir = |xdg: Option<&str>, home: Option<&str>| {
            personal_dir("XDG_STATE_HOME", ".local/state", |name| match name {
                "XDG_STATE_HOME" => xdg.map(OsString::from),
                "HOME" => home.map(OsString::from),
                other => panic!("nobody needs {other}"),
            })
        };
        let path = |path: &str| Some(PathBuf::from(path));
        assert_eq!(dir(Some("/s"), Some("/h")).ok(), path("/s/forge"));
        assert_eq!(dir(None, Some("/h")).ok(), path("/h/.local/state/forge"));
        for relative in ["", "s", "./s"] {
            assert_eq!(dir(Some(relative), Some("/h")).ok(), path("/h/.local/state/forge"));
            let trouble = dir(Some(relative), Some(relative)).unwrap_err();
            assert_eq!(trouble.what, "neither XDG_STATE_HOME nor HOME is set to an absolute path");
            assert!(trouble.next.is_some());
        }
        assert!(dir(None, None).is_err());
    }
}
