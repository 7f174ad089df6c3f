//! How a host says that it is asked too much, and how long it wants to be left alone.
//!
//! Waiting is in [`crate::http`].

use std::time::Duration;

use jiff::{Timestamp, fmt::rfc2822::DateTimeParser};
use ureq::http::HeaderMap;

/// How long it is waited where a host does not say it; GitHub asks for a minute at least.
const PAUSE_UNSAID: Duration = Duration::from_secs(60);

/// How GitHub says in words that its second limit is reached, in case no header does.
const SECOND_LIMIT: &[u8] = b"secondary rate limit";

/// Headers with the time at which there is more again, in seconds since 1970.
const RESETS: [&str; 2] = ["x-ratelimit-reset", "ratelimit-reset"];

/// Returns how long to wait, if an answer is a limit.
pub(crate) fn pause(status: u16, headers: &HeaderMap, body: &[u8], now: i64) -> Option<Duration> {
    let retry = header(headers, "retry-after").map(|value| retry_after(value, now));
    let is_used_up = ["x-ratelimit-remaining", "ratelimit-remaining"]
        .iter()
        .any(|name| header(headers, name) == Some("0"));
    let is_limit = match status {
        429 => true,
        // What GitHub's limits of both kinds look like; any other 403 is about rights.
        403 => retry.is_some() || is_used_up || is_second_limit(body),
        // A host under maintenance may say when it is back.
        503 => retry.is_some(),
        _ => false,
    };
    let reset = RESETS.iter().find_map(|name| header(headers, name)?.parse::<i64>().ok());
    let until_reset = reset.filter(|_| is_used_up || retry.is_none()).map(|at| seconds(at, now));
    is_limit.then(|| retry.flatten().or(until_reset).unwrap_or(PAUSE_UNSAID))
}

fn is_second_limit(body: &[u8]) -> bool {
    body.windows(SECOND_LIMIT.len()).any(|words| words == SECOND_LIMIT)
}

/// Reads seconds, or a date.
fn retry_after(value: &str, now: i64) -> Option<Duration> {
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date: Timestamp = DateTimeParser::new().parse_timestamp(value).ok()?;
    Some(seconds(date.as_second(), now))
}

fn seconds(at: i64, now: i64) -> Duration {
    Duration::from_secs(u64::try_from(at.saturating_sub(now)).unwrap_or(0))
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        all.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_limit_says_how_long_in_seconds_as_a_date_or_by_its_reset() {
        let now = 784_111_770; // Sun, 06 Nov 1994 08:49:30 GMT
        for (status, all, seconds) in [
            (429, &[("retry-after", "7")][..], Some(7)),
            (429, &[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], Some(7)),
            (429, &[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")], Some(0)),
            (429, &[("retry-after", "soon")], Some(60)),
            (429, &[], Some(60)),
            (429, &[("ratelimit-remaining", "0"), ("ratelimit-reset", "784111779")], Some(9)),
            (403, &[("retry-after", "60")], Some(60)),
            (403, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "784111775")], Some(5)),
            (403, &[("x-ratelimit-remaining", "12")], None),
            (403, &[], None),
            (503, &[("retry-after", "3")], Some(3)),
            (503, &[], None),
            (200, &[("x-ratelimit-remaining", "0")], None),
        ] {
            let found = pause(status, &headers(all), b"", now).map(|pause| pause.as_secs());
            assert_eq!(found, seconds, "{status} {all:?}");
        }
        let words = b"You have exceeded a secondary rate limit.";
        assert_eq!(pause(403, &headers(&[]), words, now), Some(PAUSE_UNSAID));
        assert_eq!(pause(200, &headers(&[]), words, now), None);
    }
}
