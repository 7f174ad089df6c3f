//! A number in a flow: written there, or the value of a parameter.
//!
//! It is settled when the flow is read for a run, so that everything after that sees numbers only.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::table::Param;

#[derive(Clone, Deserialize)]
#[serde(untagged, expecting = "a whole number, or { param = \"…\" }")]
pub(super) enum RawCount {
    Number(u32),
    Param(RawCountParam),
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCountParam {
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
            Self::Param(RawCountParam { param }) => param,
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
