//! `${name}` in a step: text of the request, found by a rule without patterns.
//!
//! A rule says what stands before the text and what stands after it. The texts of the request that
//! the model did not say itself are searched, newest message first and the system text last, so that
//! a resumed session finds what it was told most recently. A name that is not found is a flaw.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The text that stands between two others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Between {
    /// What stands before it.
    pub after: String,
    /// What stands after it.
    pub before: String,
    /// How it ends: others between the same two are passed over.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ends_with: String,
}

impl Between {
    /// The last text between these two.
    pub fn new(after: &str, before: &str) -> Self {
        Self { after: after.to_owned(), before: before.to_owned(), ends_with: String::new() }
    }

    /// The last text between these two that ends so.
    pub fn that_ends_with(after: &str, before: &str, end: &str) -> Self {
        Self { ends_with: end.to_owned(), ..Self::new(after, before) }
    }

    /// What the rule finds in one text: the last one, because what was told twice was told anew.
    fn find<'a>(&self, text: &'a str) -> Option<&'a str> {
        let starts = text.match_indices(&self.after).map(|(at, after)| at + after.len());
        let found = starts.filter_map(|start| {
            let rest = &text[start..];
            rest.find(&self.before).map(|end| &rest[..end])
        });
        found.filter(|found| !found.is_empty() && found.ends_with(&self.ends_with)).last()
    }
}

/// The rules that every script has, by the words of Claude Code and of a Forge brief.
pub(crate) fn always() -> BTreeMap<String, Between> {
    let folder = |end: &str| Between::that_ends_with("\n  - ", "\n", end);
    [
        ("cwd", Between::new(" - Primary working directory: ", "\n")),
        ("outbox", folder("/outbox")),
        ("inbox", folder("/inbox")),
        ("attempt", Between::new("\nattempt  \"", "\"")),
    ]
    .map(|(name, rule)| (name.to_owned(), rule))
    .into()
}

/// Text with every `${name}` of a known rule replaced. A `${` of another name stays as it is, because
/// commands for a shell have them too.
pub(crate) fn filled(
    text: &str,
    rules: &BTreeMap<String, Between>,
    told: &[String],
) -> Result<String, String> {
    let mut done = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        done.push_str(before);
        let name = from.find('}').map(|end| &from[2..end]);
        if let Some((name, rule)) = name.and_then(|name| rules.get_key_value(name)) {
            let found = told.iter().find_map(|text| rule.find(text));
            let Between { after, before, .. } = rule;
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

/// The same for every text inside a value.
pub(crate) fn filled_value(
    value: &Value,
    rules: &BTreeMap<String, Between>,
    told: &[String],
) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => Value::String(filled(text, rules, told)?),
        Value::Array(items) => {
            let items = items.iter().map(|item| filled_value(item, rules, told));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| Ok((key.clone(), filled_value(value, rules, told)?)));
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
        let told = [
            "attempt\n\nattempt  \"build/implement#2\"\n".to_owned(),
            " - Primary working directory: /w/a\n - Additional working directories:\n  - /r/1/inbox\n  - /r/1/outbox\n - Platform: x\n".to_owned(),
        ];
        let text = "${cwd} ${inbox} ${outbox} ${attempt} ${HOME} ${ $x";
        let filled = filled(text, &always(), &told).unwrap();
        assert_eq!(filled, "/w/a /r/1/inbox /r/1/outbox build/implement#2 ${HOME} ${ $x");
        let value = filled_value(&json!({"a": ["${cwd}/x", 1]}), &always(), &told).unwrap();
        assert_eq!(value, json!({"a": ["/w/a/x", 1]}));
    }

    #[test]
    fn the_newest_text_wins_and_what_is_missing_is_said() {
        let rules = BTreeMap::from([("task".to_owned(), Between::new("Task: ", "."))]);
        let told = ["Task: new.".to_owned(), "Task: old.".to_owned()];
        assert_eq!(filled("${task}", &rules, &told).unwrap(), "new");
        let in_one = ["Task: old. Task: new. Task: ".to_owned()];
        assert_eq!(filled("${task}", &rules, &in_one).unwrap(), "new");
        let missing = filled("a ${task}", &rules, &[]).unwrap_err();
        assert!(missing.contains("`${task}` is not in it"), "{missing}");
    }
}
