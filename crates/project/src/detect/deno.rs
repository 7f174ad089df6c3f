//! Deno: its task `test`, or `deno test` where there are test files.

use serde_json::Value;

use super::place::{Part, Place};
use crate::path_names::base_name;

const NAMES: &[&str] = &["deno.json", "deno.jsonc"];

pub(super) fn detect(place: &Place) -> Part {
    let mut part = Part::default();
    let Some(file) = place.first(NAMES) else { return part };
    let text = place.read(file).unwrap_or_default();
    let Ok(settings) = serde_json::from_str::<Value>(&without_comments(&text)) else {
        part.note(format!("{file} cannot be read as JSON"));
        return part;
    };
    let task = settings.get("tasks").and_then(|tasks| tasks.get("test"));
    let task = task.and_then(|task| task.as_str().or_else(|| task.get("command")?.as_str()));
    if let Some(task) = task {
        let why = format!("{file} has a task `test`");
        let does = task.to_owned();
        part.wrapping("deno task test", &why, file, &[&["deno", "test"]], does);
    } else if let Some(test) = place.own().find(|path| is_test(path)) {
        let why = format!("there is a {file}, and tests such as {test}");
        part.check("deno test", &why, file, &[&["deno", "test"]]);
    } else {
        part.note(format!("there is a {file}, but no tests were found"));
    }
    part
}

/// Folders that the top names as its members.
pub(super) fn covers(top: &Place, folder: &str) -> bool {
    let text = top.first(NAMES).and_then(|file| top.read(file)).unwrap_or_default();
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

/// JSON out of JSON with comments and with commas before a closing bracket.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut in_string = false;
    while let Some(c) = rest.next() {
        if in_string {
            plain.push(c);
            match c {
                '\\' => plain.extend(rest.next()),
                '"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match (c, rest.peek()) {
            ('/', Some('/')) => while rest.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) => {
                let mut before = ' ';
                rest.next();
                for c in rest.by_ref() {
                    if before == '*' && c == '/' {
                        break;
                    }
                    before = c;
                }
            }
            (']' | '}', _) => {
                let end = plain.trim_end();
                if end.ends_with(',') {
                    plain.truncate(end.len() - 1);
                }
                plain.push(c);
            }
            _ => {
                in_string = c == '"';
                plain.push(c);
            }
        }
    }
    plain
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
