//! Deno: its task `test`, or `deno test` where there are test files.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::project_folder::{Findings, ProjectFolder};
use crate::path_names::base_name;

const NAMES: &[&str] = &["deno.json", "deno.jsonc"];

pub(super) fn detect(place: &ProjectFolder) -> Findings {
    let mut findings = Findings::default();
    let Some(file) = place.first_existing(NAMES) else { return findings };
    let text = place.read(file).unwrap_or_default();
    let Ok(settings) = serde_json::from_str::<Value>(&without_comments(&text)) else {
        findings.add_note(format!("{file} cannot be read as JSON"));
        return findings;
    };
    let task = settings.get("tasks").and_then(|tasks| tasks.get("test"));
    let task = task.and_then(|task| task.as_str().or_else(|| task.get("command")?.as_str()));
    if let Some(task) = task {
        let why = format!("{file} has a task `test`");
        let does = task.to_owned();
        findings.add_wrapping_check("deno task test", &why, file, &[&["deno", "test"]], does);
    } else if let Some(test) = place.own_paths().find(|path| is_test(path)) {
        let why = format!("there is a {file}, and tests such as {test}");
        findings.add_check("deno test", &why, file, &[&["deno", "test"]]);
    } else {
        findings.add_note(format!("there is a {file}, but no tests were found"));
    }
    findings
}

/// Tells whether the top names a folder as its member.
pub(super) fn covers(top: &ProjectFolder, folder: &str) -> bool {
    let text = top.first_existing(NAMES).and_then(|file| top.read(file)).unwrap_or_default();
    let settings: Value = serde_json::from_str(&without_comments(&text)).unwrap_or_default();
    let members = settings.get("workspace").and_then(|value| value.get("members").or(Some(value)));
    let mut members = members.and_then(Value::as_array).into_iter().flatten();
    members.any(|member| {
        let member = member.as_str().unwrap_or_default();
        member.trim_start_matches("./").trim_end_matches('/') == folder
    })
}

fn is_test(path: &str) -> bool {
    let Some((stem, "ts" | "tsx" | "js" | "mjs" | "jsx")) = base_name(path).rsplit_once('.') else {
        return false;
    };
    stem.rsplit(['_', '.']).next() == Some("test")
}

/// Returns JSON without comments and without commas before a closing bracket.
fn without_comments(text: &str) -> String {
    static COMMENT: LazyLock<Regex> =
        LazyLock::new(|| regex(r#"(?s)("(?:\\.|[^"\\])*"?)|//[^\n]*|/\*.*?(?:\*/|\z)"#));
    static LAST_COMMA: LazyLock<Regex> =
        LazyLock::new(|| regex(r#"(?s)("(?:\\.|[^"\\])*"?)|,(\s*[\]}])"#));
    let text = COMMENT.replace_all(text, "$1");
    LAST_COMMA.replace_all(&text, "$1$2").into_owned()
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("our own pattern is valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_last_commas_are_taken_away_but_not_from_strings() {
        let text = "{ // a\n \"a\": \"//x, ]\\\"\", /* b */ \"c\": [1, ], }";
        let value: Value = serde_json::from_str(&without_comments(text)).unwrap();
        assert_eq!(value["a"], "//x, ]\"");
        assert_eq!(value["c"][0], 1);
        assert_eq!(without_comments("/* open").trim(), "");
    }
}
