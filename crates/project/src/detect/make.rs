//! `make test` and `make check`.
//!
//! The targets are read as make reads them, but for conditionals (all branches count), patterns and
//! functions. A target that is also the name of a file or folder and is not phony runs nothing, so
//! it is not a check.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    project_folder::{CommandWords, Findings, ProjectFolder},
    recipe_text::{Recipe, text_of_recipe},
};

const NAMES: &[&str] = &["GNUmakefile", "makefile", "Makefile"];
/// Targets that are checks, and how others call them.
const TARGETS: &[(&str, &[CommandWords])] =
    &[("check", &[&["make", "check"]]), ("test", &[&["make", "test"]])];
/// The most files that one makefile includes.
const INCLUDES_MAX: usize = 8;
/// How often a variable is looked up inside another.
const EXPANSIONS_MAX: usize = 4;
/// The longest line after its variables are filled in.
const LINE_BYTES_MAX: usize = 64 * 1024;

pub(super) fn detect(place: &ProjectFolder) -> Findings {
    let mut findings = Findings::default();
    let Some(file) = place.first_existing(NAMES) else { return findings };
    let Some(text) = place.read(file) else {
        findings.add_note(format!("{file} cannot be read"));
        return findings;
    };
    let mut made = Makefile::default();
    made.read(&text);
    for path in std::mem::take(&mut made.includes).into_iter().take(INCLUDES_MAX) {
        if let Some(text) = place.is_listed(&path).then(|| place.read(&path)) {
            made.read(&text.unwrap_or_default());
        }
    }
    for (target, signs) in TARGETS {
        if !made.rules.contains_key(*target) {
            continue;
        }
        let inside = format!("{target}/");
        let exists = place.paths.iter().any(|path| path == target || path.starts_with(&inside));
        if exists && !made.phony.contains(*target) {
            findings.add_note(format!(
                "`make {target}` runs nothing: `{target}` exists, and {file} does not call it .PHONY"
            ));
            continue;
        }
        let does = text_of_recipe(target, &made.rules, "make", place);
        let why = format!("{file} has a target `{target}`");
        findings.add_wrapping_check(&format!("make {target}"), &why, file, signs, does);
    }
    findings
}

/// The rules and variables of a makefile.
#[derive(Debug, Default)]
struct Makefile {
    rules: BTreeMap<String, Recipe>,
    phony: BTreeSet<String>,
    variables: BTreeMap<String, String>,
    includes: Vec<String>,
}

impl Makefile {
    fn read(&mut self, text: &str) {
        let mut targets: Vec<String> = Vec::new();
        let mut in_define = false;
        for line in whole_lines(text) {
            let first = line.split_whitespace().next().unwrap_or_default();
            if in_define {
                in_define = first != "endef";
            } else if let Some(recipe) = line.strip_prefix('\t') {
                let recipe = self.expanded(recipe.trim().trim_start_matches(['@', '-', '+']));
                for target in &targets {
                    let lines = &mut self.rules.entry(target.clone()).or_default().lines;
                    lines.push(recipe.clone());
                }
            } else if first == "define" {
                in_define = true;
            } else if matches!(first, "include" | "-include" | "sinclude") {
                self.includes.extend(line.split_whitespace().skip(1).map(str::to_owned));
            } else if let Some(rule) = self.rule_or_variable(&line) {
                targets = rule;
            }
        }
    }

    /// Reads a line without indentation; returns the targets if it begins a rule.
    fn rule_or_variable(&mut self, line: &str) -> Option<Vec<String>> {
        let line = strip_comment(line);
        let line = line.strip_prefix("export ").unwrap_or(line);
        let assignment = line.find('=');
        let colon = line.find(':');
        if let Some(at) = assignment
            && colon.is_none_or(|colon| at < colon || line[colon..at].trim_matches(':').is_empty())
        {
            let name = line[..at].trim_end_matches(['?', '+', ':', '!']).trim();
            let value = line[at + 1..].trim();
            self.variables.insert(name.to_owned(), value.to_owned());
            return None;
        }
        let colon = colon?;
        let targets: Vec<String> =
            self.expanded(&line[..colon]).split_whitespace().map(str::to_owned).collect();
        let rest = line[colon..].trim_start_matches(':');
        if rest.contains('=') {
            return None;
        }
        let (needs, recipe) = rest.split_once(';').unwrap_or((rest, ""));
        let needs = self.expanded(needs);
        let needs = needs.split_whitespace().filter(|word| *word != "|").map(str::to_owned);
        let needs: Vec<String> = needs.collect();
        let recipe = self.expanded(recipe.trim());
        for target in &targets {
            if target == ".PHONY" {
                self.phony.extend(needs.iter().cloned());
                continue;
            }
            let rule = self.rules.entry(target.clone()).or_default();
            rule.needs.extend(needs.iter().cloned());
            rule.lines.extend((!recipe.is_empty()).then(|| recipe.clone()));
        }
        Some(targets)
    }

    /// Expands variables. One that is not set becomes its own name: `$(CARGO)` is `cargo`.
    fn expanded(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for _ in 0..EXPANSIONS_MAX {
            if !text.contains("$(") && !text.contains("${") {
                break;
            }
            let mut filled = String::with_capacity(text.len());
            let mut rest = text.as_str();
            while let Some(at) = rest.find('$').filter(|_| filled.len() <= LINE_BYTES_MAX) {
                filled.push_str(&rest[..at]);
                let after = &rest[at + 1..];
                let closing = match after.as_bytes().first() {
                    Some(b'(') => ')',
                    Some(b'{') => '}',
                    Some(_) | None => {
                        filled.push('$');
                        rest = after;
                        continue;
                    }
                };
                let Some(end) = after.find(closing) else {
                    filled.push('$');
                    rest = after;
                    continue;
                };
                let name = &after[1..end];
                match self.variables.get(name) {
                    Some(value) => filled.push_str(value),
                    None => filled.push_str(&name.to_ascii_lowercase()),
                }
                rest = &after[end + 1..];
            }
            filled.push_str(rest);
            if filled.len() > LINE_BYTES_MAX {
                break;
            }
            text = filled;
        }
        text
    }
}

/// Returns the lines, with those joined that end in a backslash.
fn whole_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut whole = String::new();
    for line in text.lines() {
        if let Some(more) = line.strip_suffix('\\') {
            whole.push_str(more);
            whole.push(' ');
        } else {
            whole.push_str(line);
            lines.push(std::mem::take(&mut whole));
        }
    }
    lines.push(whole);
    lines
}

fn strip_comment(line: &str) -> &str {
    match line.find('#') {
        Some(at) if at == 0 || !line[..at].ends_with('\\') => &line[..at],
        Some(_) | None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Makefile {
        let mut made = Makefile::default();
        made.read(text);
        made
    }

    #[test]
    fn targets_are_told_from_variables_and_comments() {
        let made = read(
            "# test: no\nTEST := x:y\ncheck_a?=1\nexport B = c:d\nURL=http://x\n\
             a b: c d | e # f\n\trun $(TEST)\ntest: export X=1\n.PHONY: test \\\n  all\n\
             define check\nlint:\nendef\nall:: ; echo $${HOME} $(CARGO) test\n%.o: %.c\n\tcc\n",
        );
        let names: Vec<&str> = made.rules.keys().map(String::as_str).collect();
        assert_eq!(names, ["%.o", "a", "all", "b"]);
        assert_eq!(made.rules["a"].needs, ["c", "d", "e"]);
        assert_eq!(made.rules["b"].lines, ["run x:y"]);
        assert!(made.rules["all"].lines[0].ends_with("cargo test"), "{:?}", made.rules["all"]);
        assert!(made.phony.contains("test") && made.phony.contains("all"));
    }

    #[test]
    fn variables_that_name_themselves_end() {
        let made = read("A = $(A)$(A)$(A)\ntest:\n\t$(A)\n");
        assert!(made.rules["test"].lines[0].len() < LINE_BYTES_MAX);
        assert_eq!(read("test:\n\t$(X ${Y $\n").rules["test"].lines, ["$(X ${Y $"]);
    }
}
