//! What tokens cost, as data with a date: `prices.toml`.
//!
//! Used only where a program does not say itself what it cost. Whatever comes from here is called
//! an estimate.
//!
//! Invariant: a model that is not in the list has no price.
//! Invariant: whole millionths of a dollar, rounded up.

use std::sync::OnceLock;

use serde::Deserialize;

pub use crate::signal::ModelPrice;
use crate::signal::{Price, TokenCounts};

const LIST: &str = include_str!("prices.toml");
/// Prices are for so many tokens.
const PER_TOKENS: u128 = 1_000_000;

/// The list that we ship.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// The day on which somebody last looked, `2026-11-15`.
    pub as_of: String,
    pub price: Vec<ModelPrice>,
}

impl Prices {
    /// Returns the list that comes with Forge.
    pub fn shipped() -> &'static Self {
        static SHIPPED: OnceLock<Prices> = OnceLock::new();
        SHIPPED.get_or_init(|| toml::from_str(LIST).expect("our own price list can be read"))
    }

    /// Finds the price of a model by the longest prefix of its name.
    pub fn find(&self, model: &str) -> Option<&ModelPrice> {
        ModelPrice::find(&self.price, model)
    }
}

impl ModelPrice {
    /// Finds the price of a model in a list, by the longest prefix of its name. Some programs name the provider before it:
    /// `openai/gpt-5`.
    pub fn find<'p>(list: &'p [Self], model: &str) -> Option<&'p Self> {
        let bare = model.rsplit('/').next().unwrap_or(model);
        let fits =
            |price: &&Self| model.starts_with(&price.prefix) || bare.starts_with(&price.prefix);
        list.iter().filter(fits).max_by_key(|price| price.prefix.len())
    }

    /// Returns what these tokens cost, in millionths of a dollar.
    pub fn micros(&self, tokens: TokenCounts) -> u64 {
        let parts = [
            (tokens.input, self.input),
            (tokens.output, self.output),
            (tokens.cache_read, self.cache_read),
            (tokens.cache_write, self.cache_write),
        ];
        let sum: u128 = parts.iter().map(|(n, price)| u128::from(*n) * u128::from(*price)).sum();
        u64::try_from(sum.div_ceil(PER_TOKENS)).unwrap_or(u64::MAX)
    }
}

/// Returns what these tokens of this model cost by the list.
pub(crate) fn estimate(model: &str, tokens: TokenCounts) -> Price {
    match Prices::shipped().find(model) {
        Some(price) => Price::Estimated(price.micros(tokens)),
        None => Price::Missing,
    }
}

/// Rounds floating dollars to the nearest millionth, but never to zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float becomes the nearest whole number, and the largest one where it is too large"
)]
pub(crate) fn micros(dollars: f64) -> u64 {
    let micros = (dollars * 1e6).round() as u64;
    if dollars > 0.0 { micros.max(1) } else { micros }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_read_has_a_date_and_names_its_sources() {
        let prices = Prices::shipped();
        assert_eq!(prices.as_of.len(), 10, "{}", prices.as_of);
        for price in &prices.price {
            assert!(!price.source.is_empty() && !price.prefix.is_empty());
            // Some give no rebate for what they have read before, or take nothing more for remembering it.
            assert!(price.cache_read <= price.input && price.input <= price.cache_write);
            assert!(price.cache_write < price.output);
        }
    }

    #[test]
    fn the_longest_prefix_wins_and_an_unknown_model_has_no_price() {
        let prices = Prices::shipped();
        assert_eq!(prices.find("claude-opus-4-5-20251101").unwrap().input, 5_000_000);
        assert_eq!(prices.find("claude-opus-4-1-20250805").unwrap().input, 15_000_000);
        assert_eq!(prices.find("claude-sonnet-4-5").unwrap().output, 15_000_000);
        let tokens = TokenCounts { input: 1, ..TokenCounts::default() };
        assert_eq!(estimate("some-model", tokens), Price::Missing);
        assert_eq!(estimate("", tokens), Price::Missing);
    }

    #[test]
    fn an_estimate_is_the_programs_own_figure_and_rounds_up() {
        // As Claude Code 2.1.325 itself reported it.
        let tokens = TokenCounts { input: 1000, output: 50, cache_read: 200, cache_write: 100 };
        assert_eq!(estimate("claude-sonnet-4-5", tokens), Price::Estimated(4185));
        let one = TokenCounts { cache_read: 1, ..TokenCounts::default() };
        assert_eq!(estimate("claude-sonnet-4-5", one), Price::Estimated(1));
        assert_eq!(estimate("claude-sonnet-4-5", TokenCounts::default()), Price::Estimated(0));
        let all = TokenCounts {
            input: u64::MAX,
            output: u64::MAX,
            cache_read: u64::MAX,
            cache_write: u64::MAX,
        };
        assert_eq!(estimate("claude-sonnet-4-5", all), Price::Estimated(u64::MAX));
    }
}
