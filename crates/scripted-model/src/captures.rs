//! `${name}` in a step: text of the request, found by a rule without patterns.
//!
//! A rule says what stands before the text and what stands after it. The texts of the request that
//! the model did not say itself are searched, newest message first and the system text last, so that
//! a resumed session finds the most recent text. A name that is not found is a flaw.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The text that stands between two others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextBetween {
    /// The text before it.
    pub after: String,
    /// The text after it.
    pub before: String,
    /// How it ends: others between the same two are passed over.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ends_with: String,
}

impl TextBetween {
    /// Returns the last text between these two.
    pub fn new(after: &str, before: &str) -> Self {
        Self { after: after.to_owned(), before: before.to_owned(), ends_with: String::new() }
    }

    /// Returns the last text between these two that ends so.
    pub fn ending_with(after: &str, before: &str, end: &str) -> Self {
        Self { ends_with: end.to_owned(), ..Self::new(after, before) }
    }

    /// Finds the last match in one text: a later instruction replaces an earlier one.
    fn find<'a>(&self, text: &'a str) -> Option<&'a str> {
        let starts = text.match_indices(&self.after).map(|(at, after)| at + after.len());
        let found = starts.filter_map(|start| {
            let rest = &text[start..];
            rest.find(&self.before).map(|end| &rest[..end])
        });
        found.filter(|found| !found.is_empty() && found.ends_with(&self.ends_with)).last()
    }
}

/// Returns the rules that every script has, by the words of Claude Code and of a Forge brief.
pub(crate) fn built_in_captures() -> BTreeMap<String, TextBetween> {
    let folder = |end: &str| TextBetween::ending_with("\n  - ", "\n", end);
    [
        ("cwd", TextBetween::new(" - Primary working directory: ", "\n")),
        ("outbox", folder("/outbox")),
        ("inbox", folder("/inbox")),
        ("attempt", TextBetween::new("\nattempt  \"", "\"")),
    ]
    .map(|(name, rule)| (name.to_owned(), rule))
    .into()
}

/// Text with every `${name}` of a known rule replaced. A `${` of another name stays as it is, because
/// commands for a shell have them too.
pub(crate) fn substitute(
    text: &str,
    rules: &BTreeMap<String, TextBetween>,
    input_texts: &[String],
) -> Result<String, String> {
    let mut done = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        done.push_str(before);
        let name = from.find('}').map(|end| &from[2..end]);
        if let Some((name, rule)) = name.and_then(|name| rules.get_key_value(name)) {
            let found = input_texts.iter().find_map(|text| rule.find(text));
            let TextBetween { after, before, .. } = rule;
            done.push_str(found.ok_or_else(|| {
                format!("`${{{name}}}` is not in it: nothing between {after:?} and {before:?}")
            })?);
            rest = &from[name.len() + 3..];
        } else {
            done.push_str("${");
            rest = &from[2..];
        }
    }
    done.push_str(rest);
    Ok(done)
}

/// Returns the same for every text inside a value.
pub(crate) fn substitute_value(
    value: &Value,
    rules: &BTreeMap<String, TextBetween>,
    input_texts: &[String],
) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => Value::String(substitute(text, rules, input_texts)?),
        Value::Array(items) => {
            let items = items.iter().map(|item| substitute_value(item, rules, input_texts));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| {
                Ok((key.clone(), substitute_value(value, rules, input_texts)?))
            });
            Value::Object(fields.collect::<Result<_, String>>()?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_folders_and_the_name_of_an_attempt_are_found_in_the_request() {
        let input_texts = [
            "attempt\n\nattempt  \"build/implement#2\"\n".to_owned(),
            " - Primary working directory: /w/a\n - Additional working directories:\n  - /r/1/inbox\n  - /r/1/outbox\n - Platform: x\n".to_owned(),
        ];
        let text = "${cwd} ${inbox} ${outbox} ${attempt} ${HOME} ${ $x";
        let filled = substitute(text, &built_in_captures(), &input_texts).unwrap();
        assert_eq!(filled, "/w/a /r/1/inbox /r/1/outbox build/implement#2 ${HOME} ${ $x");
        let value =
            substitute_value(&json!({"a": ["${cwd}/x", 1]}), &built_in_captures(), &input_texts)
                .unwrap();
        assert_eq!(value, json!({"a": ["/w/a/x", 1]}));
    }

    #[test]
    fn the_newest_text_wins_and_what_is_missing_is_said() {
        let rules = BTreeMap::from([("task".to_owned(), TextBetween::new("Task: ", "."))]);
        let input_texts = ["Task: new.".to_owned(), "Task: old.".to_owned()];
        assert_eq!(substitute("${task}", &rules, &input_texts).unwrap(), "new");
        let in_one = ["Task: old. Task: new. Task: ".to_owned()];
        assert_eq!(substitute("${task}", &rules, &in_one).unwrap(), "new");
        let missing = substitute("a ${task}", &rules, &[]).unwrap_err();
        assert!(missing.contains("`${task}` is not in it"), "{missing}");
    }
}
