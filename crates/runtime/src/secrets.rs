//! What must not be written down: a text without its secrets, and the guard who looks at what a
//! commit would add.
//!
//! Known are the values of this process's environment whose names tell, and everything that looks
//! like a secret. What is redacted, and how, is in `forge_agents::redact`.
//!
//! Invariant: no message has a secret in it, not even as the name of a file.

use forge_agents::{
    Redactor, known_secrets,
    redact::{Finder, Found},
};
use forge_workspace::{Added, Part, shown};

/// The text without its secrets.
pub(crate) fn redacted(bytes: &[u8]) -> Vec<u8> {
    let mut redactor = Redactor::new(known_secrets(std::env::vars_os(), &[]));
    let mut clean = Vec::with_capacity(bytes.len());
    redactor.push(bytes, &mut clean);
    redactor.finish(&mut clean);
    clean
}

/// The same for a text of a person or an agent.
pub(crate) fn redacted_text(text: &str) -> String {
    String::from_utf8_lossy(&redacted(text.as_bytes())).into_owned()
}

/// A guard for commits, who lets pass whatever lies at a path that is allowed.
pub(crate) fn guard(is_allowed: impl Fn(&str) -> bool) -> impl FnMut(&Added<'_>) -> Vec<String> {
    let mut finder = Finder::new(known_secrets(std::env::vars_os(), &[]));
    move |added: &Added<'_>| {
        let path = shown(added.path);
        if is_allowed(&path) {
            return Vec::new();
        }
        let found = finder.find(added.text).into_iter();
        let mut flaws: Vec<String> = found
            .filter_map(|Found { family, line, last_line }| {
                let line = added.first_new(line..=last_line)?;
                let path = redacted_text(&path);
                let place = match added.part {
                    Part::Name => format!("the name `{path}`"),
                    Part::Aim => format!("the link `{path}`"),
                    Part::Lines => format!("`{path}` line {line}"),
                    Part::Piece => format!("`{path}`"),
                };
                Some(format!(
                    "{place} holds what looks like {family}; take it out, or allow the path in \
                     `secrets.allow`"
                ))
            })
            .collect();
        flaws.dedup();
        flaws
    }
}
