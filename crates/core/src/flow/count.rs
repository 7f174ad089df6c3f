//! A number or a word in a flow: written there, or the value of a parameter.
//!
//! It is settled when the flow is read for a run, so that everything after that sees numbers and words only.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::table::{ItemOrder, Param, StuckItems};

#[derive(Clone, Deserialize)]
#[serde(untagged, expecting = "a whole number, or { param = \"…\" }")]
pub(super) enum RawCount {
    Number(u32),
    Param(RawParamName),
}

#[derive(Clone, Deserialize)]
#[serde(untagged, expecting = "a word, or { param = \"…\" }")]
pub(super) enum RawWord {
    Word(String),
    Param(RawParamName),
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawParamName {
    param: String,
}

/// The parameters of a flow, and what was chosen for a run.
pub(super) struct CountValues<'a> {
    pub(super) params: &'a BTreeMap<String, Param>,
    /// Empty where no run is meant: then the defaults count.
    pub(super) chosen: &'a BTreeMap<String, String>,
}

impl RawCount {
    /// Returns the number, which is between these, whatever may be chosen.
    pub(super) fn settle(
        &self,
        key: &str,
        (least, most): (u32, u32),
        values: &CountValues<'_>,
    ) -> Result<u32, String> {
        let in_bounds = |number: u32| (least..=most).contains(&number).then_some(number);
        let name = match self {
            Self::Number(number) => {
                return in_bounds(*number).ok_or_else(|| {
                    format!("has {key} = {number}, which is not between {least} and {most}")
                });
            }
            Self::Param(RawParamName { param }) => param,
        };
        let Some(param) = values.params.get(name) else {
            return Err(format!(
                "takes {key} from the parameter `{name}`, which the flow does not have"
            ));
        };
        let number = |value: &String| value.parse().ok().and_then(in_bounds);
        if let Some(value) = param.values.iter().find(|value| number(value).is_none()) {
            return Err(format!(
                "takes {key} from the parameter `{name}`, whose value `{value}` is not a number between {least} and {most}"
            ));
        }
        // What is chosen for a run is one of the values.
        let chosen = values.chosen.get(name).and_then(number);
        Ok(chosen.or_else(|| number(&param.default)).unwrap_or(least))
    }
}

/// The words of a key.
pub(super) trait Words: Copy + 'static {
    /// All of them, the first one where none is written.
    const ALL: &'static [(&'static str, Self)];
}

impl Words for ItemOrder {
    const ALL: &'static [(&'static str, Self)] = &[("paths", Self::Paths), ("waves", Self::Waves)];
}

impl Words for StuckItems {
    const ALL: &'static [(&'static str, Self)] =
        &[("fail", Self::Fail), ("pass-with-notes", Self::PassWithNotes), ("hold", Self::Hold)];
}

/// Returns what a word stands for. Each value of a parameter that it is taken from is such a word.
pub(super) fn word<T: Words>(
    word: Option<&RawWord>,
    key: &str,
    values: &CountValues<'_>,
) -> Result<T, String> {
    let find =
        |word: &str| T::ALL.iter().find(|(known, _)| *known == word).map(|(_, value)| *value);
    let known = || T::ALL.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ");
    let name = match word {
        None => return Ok(T::ALL[0].1),
        Some(RawWord::Word(word)) => {
            return find(word)
                .ok_or_else(|| format!("has {key} = \"{word}\"; possible: {}", known()));
        }
        Some(RawWord::Param(RawParamName { param })) => param,
    };
    let Some(param) = values.params.get(name) else {
        return Err(format!(
            "takes {key} from the parameter `{name}`, which the flow does not have"
        ));
    };
    if let Some(value) = param.values.iter().find(|value| find(value).is_none()) {
        return Err(format!(
            "takes {key} from the parameter `{name}`, whose value `{value}` is not one of {}",
            known()
        ));
    }
    let chosen = values.chosen.get(name).and_then(|value| find(value));
    Ok(chosen.or_else(|| find(&param.default)).unwrap_or(T::ALL[0].1))
}
