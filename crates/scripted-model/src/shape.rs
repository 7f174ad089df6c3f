//! The shape of requests: which keys an object has in which place, and the types of their values.
//!
//! A shape is learnt from real requests and later held against others. A place is the path of keys to an
//! object, with its `type` or `role` behind a colon: `messages:user.content:tool_result`. What a key
//! holds is not looked at, only its type. Headers are one more place; how a client proves who it is
//! is one header, `credential`, and its value never comes here.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The requests of Claude Code, recorded with `scripted-model record`.
const CLAUDE_CODE: &str = include_str!("../shapes/claude-code-2.1.325.json");

/// Limit on the flaws reported for one request.
const FLAWS_MAX: usize = 40;

/// Headers that belong to the connection and not to the program.
const CONNECTION_HEADERS: &[&str] =
    &["accept-encoding", "connection", "content-length", "expect", "host", "transfer-encoding"];

/// The shape of a program's requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestShape {
    /// The program and version it was learnt from.
    pub program: String,
    /// Headers that every request had.
    headers: BTreeSet<String>,
    /// The objects of the body, by place.
    places: BTreeMap<String, ObjectFields>,
}

/// The keys of the objects in one place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ObjectFields {
    /// In every object, with the types they had.
    always: BTreeMap<String, BTreeSet<String>>,
    /// In some objects.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    sometimes: BTreeMap<String, BTreeSet<String>>,
}

impl RequestShape {
    /// Returns the shape of Claude Code's requests, as recorded.
    pub fn from_claude_code() -> Self {
        serde_json::from_str(CLAUDE_CODE).expect("the recorded shape is one")
    }

    /// Learns one more request.
    pub(crate) fn learn(
        &mut self,
        headers: &BTreeMap<String, String>,
        body: &Value,
        opaque: &[&str],
    ) {
        let seen = own_headers(headers);
        if self.places.is_empty() {
            self.headers = seen;
        } else {
            self.headers.retain(|name| seen.contains(name));
        }
        each_object("body", body, opaque, &mut |place, object| {
            let types =
                object.iter().map(|(key, value)| (key.clone(), BTreeSet::from([kind(value)])));
            let one = ObjectFields { always: types.collect(), sometimes: BTreeMap::new() };
            match self.places.get_mut(place) {
                Some(fields) => fields.join(one),
                None => {
                    self.places.insert(place.to_owned(), one);
                }
            }
        });
    }

    /// Learns all that another shape has learnt.
    pub fn join(&mut self, other: Self) {
        if self.places.is_empty() {
            self.headers = other.headers;
        } else if !other.places.is_empty() {
            self.headers.retain(|name| other.headers.contains(name));
        }
        for (place, fields) in other.places {
            match self.places.get_mut(&place) {
                Some(known) => known.join(fields),
                None => {
                    self.places.insert(place, fields);
                }
            }
        }
    }

    /// Returns how a request differs from what was learnt.
    pub(crate) fn flaws(
        &self,
        headers: &BTreeMap<String, String>,
        body: &Value,
        opaque: &[&str],
    ) -> Vec<String> {
        let seen = own_headers(headers);
        let missing = self.headers.iter().filter(|name| !seen.contains(*name));
        let mut flaws: BTreeSet<String> =
            missing.map(|name| format!("the header `{name}` is missing")).collect();
        each_object("body", body, opaque, &mut |place, object| match self.places.get(place) {
            Some(fields) => flaws.extend(fields.flaws(place, object)),
            None => {
                flaws.insert(format!("`{place}` was never seen"));
            }
        });
        flaws.into_iter().take(FLAWS_MAX).collect()
    }
}

impl ObjectFields {
    /// Learns more objects of the same place.
    fn join(&mut self, other: Self) {
        let (always, sometimes) = (std::mem::take(&mut self.always), &mut self.sometimes);
        for (key, mut types) in always {
            match other.always.get(&key) {
                Some(more) => {
                    types.extend(more.iter().cloned());
                    self.always.insert(key, types);
                }
                None => sometimes.entry(key).or_default().extend(types),
            }
        }
        for (key, types) in other.always.into_iter().chain(other.sometimes) {
            if !self.always.contains_key(&key) {
                self.sometimes.entry(key).or_default().extend(types);
            }
        }
    }

    fn flaws(&self, place: &str, object: &Map<String, Value>) -> Vec<String> {
        let missing = self.always.keys().filter(|key| !object.contains_key(*key));
        let mut flaws: Vec<String> =
            missing.map(|key| format!("`{place}` has no `{key}`")).collect();
        for (key, value) in object {
            let Some(types) = self.always.get(key).or_else(|| self.sometimes.get(key)) else {
                flaws.push(format!("`{place}` has an unknown key `{key}`"));
                continue;
            };
            let kind = kind(value);
            let is_empty_list =
                kind == "list" && types.iter().any(|known| known.starts_with("list"));
            if !types.contains(&kind) && !is_empty_list {
                let known: Vec<&str> = types.iter().map(String::as_str).collect();
                let known = known.join(" or ");
                flaws.push(format!("`{key}` in `{place}` is {kind}, and was {known}"));
            }
        }
        flaws
    }
}

/// Returns the names of the program's own headers.
fn own_headers(headers: &BTreeMap<String, String>) -> BTreeSet<String> {
    let own = headers.keys().filter(|name| !CONNECTION_HEADERS.contains(&name.as_str()));
    own.map(|name| match name.as_str() {
        "authorization" | "x-api-key" => "credential".to_owned(),
        name => name.to_owned(),
    })
    .collect()
}

/// Shows every object to `visit`, with its place.
fn each_object(
    place: &str,
    value: &Value,
    opaque: &[&str],
    visit: &mut impl FnMut(&str, &Map<String, Value>),
) {
    match value {
        Value::Object(object) => {
            let tag = ["type", "role"].into_iter().find_map(|key| object.get(key)?.as_str());
            let tagged = tag.map(|tag| format!("{place}:{tag}"));
            let place = tagged.as_deref().unwrap_or(place);
            visit(place, object);
            for (key, value) in object.iter().filter(|(key, _)| !opaque.contains(&key.as_str())) {
                let below = match place {
                    "body" => key.clone(),
                    place => format!("{place}.{key}"),
                };
                each_object(&below, value, opaque, visit);
            }
        }
        Value::Array(items) => {
            for item in items {
                each_object(place, item, opaque, visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns the type of a value, in words.
fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "boolean".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "text".to_owned(),
        Value::Object(_) => "object".to_owned(),
        Value::Array(items) => {
            let kinds: BTreeSet<String> = items.iter().map(kind).collect();
            let kinds: Vec<String> = kinds.into_iter().collect();
            if kinds.is_empty() {
                "list".to_owned()
            } else {
                format!("list of {}", kinds.join(" and "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn headers(names: &[&str]) -> BTreeMap<String, String> {
        names.iter().map(|name| ((*name).to_owned(), String::new())).collect()
    }

    fn learnt() -> RequestShape {
        let mut shape = RequestShape::default();
        let names = headers(&["x-app", "x-api-key", "host"]);
        let first = json!({"model": "m", "stream": true, "messages": [
            {"role": "user", "content": [{"type": "text", "text": "t"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "input": {"any": 1}}]}]});
        let second = json!({"model": "m", "messages": [{"role": "user", "content": "t"}]});
        shape.learn(&names, &first, &["input"]);
        shape.learn(&headers(&["x-app", "authorization", "x-more"]), &second, &["input"]);
        shape
    }

    fn flaws(body: &Value) -> Vec<String> {
        learnt().flaws(&headers(&["x-app", "authorization"]), body, &["input"])
    }

    #[test]
    fn a_request_as_learnt_has_no_flaw() {
        let body = json!({"model": "m", "messages": [
            {"role": "user", "content": "t"}, {"role": "user", "content": []},
            {"role": "assistant", "content": [{"type": "tool_use", "input": {"other": []}}]}]});
        assert_eq!(flaws(&body), [] as [&str; 0]);
    }

    #[test]
    fn a_missing_key_an_extra_key_a_wrong_type_and_a_new_kind_are_flaws() {
        let body = json!({"stream": 1, "more": 1, "messages": [{"role": "user", "content": [
            {"type": "text", "text": "t"}, {"type": "image", "source": {}}]}]});
        assert_eq!(
            flaws(&body),
            [
                "`body` has an unknown key `more`",
                "`body` has no `model`",
                "`messages:user.content:image.source` was never seen",
                "`messages:user.content:image` was never seen",
                "`stream` in `body` is number, and was boolean",
            ]
        );
        let no_headers =
            learnt().flaws(&headers(&["host"]), &json!({"model": "m", "messages": []}), &[]);
        assert_eq!(
            no_headers,
            ["the header `credential` is missing", "the header `x-app` is missing"]
        );
    }

    #[test]
    fn two_shapes_joined_know_what_both_learnt() {
        let mut left = RequestShape::default();
        left.learn(&headers(&["a", "b"]), &json!({"x": 1, "y": 1}), &[]);
        let mut right = RequestShape::default();
        right.learn(&headers(&["b"]), &json!({"x": "t", "z": null}), &[]);
        left.join(right);
        assert_eq!(
            left.flaws(&headers(&["b"]), &json!({"x": "t", "y": 1, "z": null}), &[]),
            [] as [&str; 0]
        );
        assert_eq!(left.flaws(&headers(&["b"]), &json!({"y": null}), &[]).len(), 2);
    }

    #[test]
    fn the_number_of_flaws_that_are_told_is_bounded() {
        let body: Map<String, Value> =
            (0..FLAWS_MAX * 2).map(|number| (format!("k{number}"), json!(1))).collect();
        assert_eq!(flaws(&Value::Object(body)).len(), FLAWS_MAX);
    }
}
