//! The person who uses this program, by the name that the system knows.

use std::fs;

use forge_core::event::Person;

/// Names the user as the system does.
pub fn person() -> Person {
    let known = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    let uid = rustix::process::getuid().as_raw();
    let who = known.filter(|who| !who.is_empty()).or_else(|| user_name(uid));
    Person { who: who.unwrap_or_else(|| format!("uid {uid}")), channel: "cli".to_owned() }
}

fn user_name(uid: u32) -> Option<String> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let mut fields = users.lines().map(|line| line.split(':').collect::<Vec<&str>>());
    let user = fields.find(|fields| fields.get(2) == Some(&uid.to_string().as_str()))?;
    user.first().map(|name| (*name).to_owned())
}
