//! Skills: short texts that say how a kind of work is done, named by the roles that have them.
//!
//! A skill is `.forge/skills/NAME.md`, or one that Forge ships. Its first sentence is in the brief; all of it is a file in the inbox.
//!
//! Not here: when it is given (`forge_driver::setup`).

use std::collections::BTreeMap;

use forge_core::id::is_plain_name;

use super::{Catalog, FoundFlow};
use crate::{Error, markdown::first_sentence, suggest::nearest};

/// Where the skills of a project lie.
const SKILLS: &str = ".forge/skills";
/// The most bytes of a skill. What is longer belongs into the project's documents, and its skill says where.
const SKILL_BYTES_MAX: usize = 16 * 1024;

/// The skills that come with Forge: names and texts.
const SHIPPED: &[(&str, &str)] = &[
    ("find-the-cause", include_str!("../../../../flows/skills/find-the-cause.md")),
    ("try-without-the-change", include_str!("../../../../flows/skills/try-without-the-change.md")),
];

impl Catalog {
    /// Returns the texts of the skills of all roles of a flow, by name.
    pub fn skills(&self, found: &FoundFlow) -> Result<BTreeMap<String, String>, Error> {
        let mut skills = BTreeMap::new();
        for role in found.flow.roles() {
            for name in self.role_text(found, role)?.1.skills {
                let text = self.skill_text(role, &name)?;
                skills.insert(name, text);
            }
        }
        Ok(skills)
    }

    /// Returns the text of a skill that a role names: the project's own, or a shipped one.
    fn skill_text(&self, role: &str, name: &str) -> Result<String, Error> {
        let path = format!("{SKILLS}/{name}.md");
        let own = if is_plain_name(name) { self.source.read(&path)? } else { None };
        let shipped = || SHIPPED.iter().find(|(shipped, _)| *shipped == name);
        let Some(text) = own.or_else(|| shipped().map(|(_, text)| (*text).to_owned())) else {
            let files = self.source.list(SKILLS)?;
            let own = files.iter().filter_map(|path| {
                path.strip_prefix(SKILLS)?.trim_start_matches('/').strip_suffix(".md")
            });
            let near = nearest(name, own.chain(SHIPPED.iter().map(|(shipped, _)| *shipped)));
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(Error::usage(
                format!("the role `{role}` has the skill `{name}`, but no file defines it{near}"),
                format!("create {path} (a short text in Markdown)"),
            ));
        };
        let wrong =
            |what: String| Error::usage(format!("{path}: {what}"), format!("$EDITOR {path}"));
        if text.len() > SKILL_BYTES_MAX {
            let what =
                format!("a skill has at most {SKILL_BYTES_MAX} bytes, and this has {}", text.len());
            return Err(wrong(what));
        }
        if first_sentence(&text).is_empty() {
            return Err(wrong(
                "a skill begins with a sentence that says what it is for".to_owned(),
            ));
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::SKILLS_MAX;

    /// What is wrong with the flow `f`, whose role `x` has this head, beside these skills.
    fn refused(head: &str, skills: &[(&str, &str)]) -> String {
        let top = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = top.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(".forge/flows/f.toml", "name = \"f\"\n[[stage]]\nname = \"s\"\nagent = \"x\"\n");
        write(".forge/roles/x.md", &format!("+++\n{head}\n+++\nWork.\n"));
        for (name, text) in skills {
            write(&format!("{SKILLS}/{name}.md"), text);
        }
        let catalog = Catalog::from_folder(Some(top.path()));
        let found = catalog.flow("f").and_then(|found| catalog.skills(&found));
        match found {
            Ok(skills) => format!("{:?}", skills.keys().collect::<Vec<_>>()),
            Err(error) => format!("{error}"),
        }
    }

    #[test]
    fn a_skill_is_the_projects_own_or_a_shipped_one() {
        let own = [("deploy", "# Deploy\nHow a release is made. Then more.\n")];
        let head = "skills = [\"deploy\", \"find-the-cause\"]";
        assert_eq!(refused(head, &own), "[\"deploy\", \"find-the-cause\"]");
    }

    #[test]
    fn a_skill_that_is_not_there_is_refused_with_the_nearest_one() {
        let own = [("deploy", "How a release is made.\n")];
        for (name, near) in [("deplyo", "deploy"), ("find-the-case", "find-the-cause")] {
            let refused = refused(&format!("skills = [\"{name}\"]"), &own);
            let what =
                format!("has the skill `{name}`, but no file defines it; did you mean `{near}`?");
            assert!(refused.contains(&what), "{refused}");
        }
        let outside = refused("skills = [\"../roles/x\"]", &own);
        assert!(outside.contains("no file defines it"), "{outside}");
    }

    #[test]
    fn a_skill_says_something_and_is_short_and_a_role_has_few() {
        let empty = refused("skills = [\"a\"]", &[("a", "# Title\n")]);
        assert!(empty.contains("begins with a sentence"), "{empty}");
        let long = "a ".repeat(SKILL_BYTES_MAX / 2 + 1);
        let long = refused("skills = [\"a\"]", &[("a", &long)]);
        assert!(long.contains("at most 16384 bytes, and this has 16386"), "{long}");
        let names: Vec<String> = (0..=SKILLS_MAX).map(|n| format!("\"s{n}\"")).collect();
        let many = refused(&format!("skills = [{}]", names.join(", ")), &[]);
        assert!(many.contains("at most 8 skills"), "{many}");
    }

    #[test]
    fn a_shipped_skill_is_short_and_begins_with_what_it_is_for() {
        for (name, text) in SHIPPED {
            assert!(text.len() < 2_000 && is_plain_name(name), "{name}");
            assert!((10..120).contains(&first_sentence(text).len()), "{name}");
        }
    }
}
