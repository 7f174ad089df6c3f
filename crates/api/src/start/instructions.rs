//! What the project tells agents: `.forge/instructions.md`, `AGENTS.md` and `CLAUDE.md`, from the base commit.
//!
//! Not here: the rest of a brief (`forge_driver::setup`).
//!
//! Invariant: nothing is read from a checkout, so that no run tells its own agents what to do.

use forge_project::{bounded_text::start_of, catalog::text_at, settings::Switch};
use forge_workspace::{GitError, Repository};

use forge_driver::Error;

/// The project's own rules for agents.
pub(super) const INSTRUCTIONS: &str = ".forge/instructions.md";
/// The most bytes of them.
pub(super) const INSTRUCTIONS_BYTES_MAX: u64 = 256 * 1024;
/// The files in which projects tell the agents of all vendors, or one, about themselves.
const AGENT_FILES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// The most bytes of such a file that a brief repeats.
const AGENT_FILE_BYTES_MAX: usize = 32 * 1024;
/// A longer one is not even read.
const READ_BYTES_MAX: u64 = 1024 * 1024;

/// Reads what the project tells agents.
pub(super) fn instructions_at(
    repository: &Repository,
    base: &str,
    agents_md: Switch,
) -> Result<Option<String>, Error> {
    let own = text_at(repository, base, INSTRUCTIONS, INSTRUCTIONS_BYTES_MAX)?;
    let mut files = Vec::new();
    for name in AGENT_FILES.into_iter().filter(|_| agents_md == Switch::On) {
        match repository.file_at(base, name, READ_BYTES_MAX) {
            Ok(None) => {}
            Ok(Some(bytes)) => files.push((name, String::from_utf8_lossy(&bytes).into_owned())),
            Err(GitError::TooLarge { bytes, .. }) => {
                files.push((name, format!("(It has {bytes} bytes: read it in the checkout.)")));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(joined(own, &files))
}

/// Puts the texts together. A file that only leads to another one, or says the same, is not repeated.
fn joined(own: Option<String>, files: &[(&str, String)]) -> Option<String> {
    let leads_on = |text: &str| files.iter().any(|(other, _)| only_includes(text, other));
    let mut told: Vec<&str> = Vec::new();
    let mut parts: Vec<String> = own.into_iter().collect();
    for (name, text) in files {
        let text = text.trim();
        if text.is_empty() || told.contains(&text) || leads_on(text) {
            continue;
        }
        told.push(text);
        let start = start_of(text, AGENT_FILE_BYTES_MAX);
        let cut = if start.len() < text.len() {
            format!(
                "\n(Cut here, after {} of {} bytes: read the rest in the checkout.)",
                start.len(),
                text.len()
            )
        } else {
            String::new()
        };
        parts.push(format!(
            "From the project's `{name}`. If this brief contradicts it, follow the \
             brief.\n\n<project-file name=\"{name}\">\n{start}{cut}\n</project-file>"
        ));
    }
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// Returns true if a text says nothing but that another file is to be read. That is also the content of a symlink.
fn only_includes(text: &str, other: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let mut lines =
        lines.by_ref().filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
    let names_other = |line: &str| {
        let line = line.strip_prefix('@').unwrap_or(line);
        line.strip_prefix("./").unwrap_or(line) == other
    };
    lines.peek().is_some() && lines.all(names_other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(own: Option<&str>, files: &[(&str, &str)]) -> Option<String> {
        let files: Vec<(&str, String)> =
            files.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
        joined(own.map(str::to_owned), &files)
    }

    #[test]
    fn what_the_project_tells_agents_is_told_after_its_rules_and_nothing_twice() {
        assert_eq!(told(None, &[]), None);
        assert_eq!(told(Some("rules"), &[]).as_deref(), Some("rules"));
        let both = told(Some("rules"), &[("AGENTS.md", "use tabs\n"), ("CLAUDE.md", "be brief\n")]);
        let both = both.unwrap();
        let at = |text: &str| both.find(text).unwrap_or_else(|| panic!("{text}: {both}"));
        assert!(at("rules") < at("use tabs") && at("use tabs") < at("be brief"));
        at("<project-file name=\"CLAUDE.md\">\nbe brief\n</project-file>");
        for claude in ["@AGENTS.md\n", "# Claude\n\n@./AGENTS.md", "AGENTS.md", "use tabs", " "] {
            let told = told(None, &[("AGENTS.md", "use tabs\n"), ("CLAUDE.md", claude)]).unwrap();
            assert!(told.contains("use tabs") && !told.contains("CLAUDE.md"), "{claude}: {told}");
        }
        let other = told(None, &[("AGENTS.md", "CLAUDE.md"), ("CLAUDE.md", "be brief")]).unwrap();
        assert!(other.contains("be brief") && !other.contains("AGENTS.md"), "{other}");
    }

    #[test]
    fn a_long_file_is_cut_and_that_is_said() {
        let told = told(None, &[("CLAUDE.md", &"é".repeat(AGENT_FILE_BYTES_MAX))]).unwrap();
        assert!(told.len() < AGENT_FILE_BYTES_MAX + 400);
        assert!(
            told.contains("(Cut here, after 32768 of 65536 bytes: read the rest in the checkout.)")
        );
    }
}
