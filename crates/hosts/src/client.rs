//! A host's interface, asked about one issue: JSON, or what the answer means for that issue.
//!
//! Redirects, limits and tries are in [`crate::http`]; paths and fields are in the files of the trackers.
//!
//! Invariant: what a host says is cleaned of the token before it is in an error.

use serde_json::Value;

use crate::{
    document::within_range,
    error::{HostError, NotJsonForm, TokenHelp, TokenUse},
    host_token::HostToken,
    http::{Http, HttpCall, Response},
    origin::WebOrigin,
};

/// The most characters of an answer that an error shows.
const WORDS_CHARS_MAX: usize = 120;

/// The interface of one host, for one issue.
pub(crate) struct Client<'a> {
    pub(crate) http: &'a Http,
    /// Where the interface begins, without a slash at the end.
    pub(crate) api: String,
    pub(crate) token: Option<&'a HostToken>,
    pub(crate) headers: &'a [(&'static str, &'static str)],
    /// The issue as errors name it.
    pub(crate) issue: String,
    pub(crate) help: Box<TokenHelp>,
}

/// JSON of a host, and what its headers say about pages.
pub(crate) struct Page {
    pub(crate) json: Value,
    pub(crate) has_next: HasNext,
}

/// A page is followed by another, or is the last.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HasNext {
    Yes,
    No,
}

impl Client<'_> {
    /// Gets what is at a path of the interface.
    pub(crate) fn get(&self, path: &str) -> Result<Page, HostError> {
        let response = self.ask(path, None)?;
        if !matches!(response.status, 200..=299) {
            return Err(self.refusal(&response));
        }
        let link = response.headers.get("link").and_then(|value| value.to_str().ok());
        let next = response.headers.get("x-next-page").and_then(|value| value.to_str().ok());
        let is_followed = link.is_some_and(|link| link.contains("rel=\"next\""))
            || next.is_some_and(|page| !page.trim().is_empty());
        let has_next = if is_followed { HasNext::Yes } else { HasNext::No };
        Ok(Page { json: self.json(&response)?, has_next })
    }

    /// Posts a question of GraphQL. Its errors are in the answer, whatever the status.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Result<(u16, Value), HostError> {
        let response = self.ask(path, Some(&body.to_string()))?;
        match response.status {
            200..=299 | 400 => Ok((response.status, self.json(&response)?)),
            _ => Err(self.refusal(&response)),
        }
    }

    /// Says that the issue is not there, or not for this token.
    pub(crate) fn not_found(&self) -> HostError {
        let (issue, help) = (self.issue.clone(), self.help.clone());
        HostError::NotFound { issue, help, token: self.token_use() }
    }

    /// Says that the issue is not for this token.
    pub(crate) fn refused(&self, status: u16, sso: Option<String>) -> HostError {
        let (issue, help) = (self.issue.clone(), self.help.clone());
        HostError::Refused { issue, status, help, token: self.token_use(), sso }
    }

    /// Says that the host does not answer for some seconds.
    pub(crate) fn limited(&self, seconds: i64) -> HostError {
        self.http.limited(&self.api, seconds)
    }

    /// Says that an answer is not what the interface promises.
    pub(crate) fn unexpected(&self, why: &str) -> HostError {
        HostError::Unexpected { host: self.help.host.clone(), why: self.first_words(why) }
    }

    fn ask(&self, path: &str, body: Option<&str>) -> Result<Response, HostError> {
        let url = format!("{}{path}", self.api);
        let origin = WebOrigin::of_url(&self.api);
        let token = self.token.zip(origin.as_ref());
        self.http.ask(&HttpCall { url: &url, headers: self.headers, token, body })
    }

    fn token_use(&self) -> TokenUse {
        if self.token.is_some() { TokenUse::Sent } else { TokenUse::Missing }
    }

    fn refusal(&self, response: &Response) -> HostError {
        let header = |name| response.headers.get(name).and_then(|value| value.to_str().ok());
        // Jira answers a wrong token as if there were none.
        let login = header("x-seraph-loginreason").unwrap_or_default();
        match response.status {
            status @ (401 | 403) => {
                let sso = header("x-github-sso").and_then(|value| value.split_once("url="));
                let sso = sso.map(|(_, url)| url.trim()).filter(|url| url.starts_with("https://"));
                let clean = |url: &str| self.first_words(url);
                self.refused(status, sso.map(clean))
            }
            404 if login.contains("AUTHENTICATED_FAILED") => self.refused(401, None),
            404 | 410 => self.not_found(),
            status => {
                let text = String::from_utf8_lossy(&response.body);
                self.unexpected(format!("{status} {text}").trim())
            }
        }
    }

    fn json(&self, response: &Response) -> Result<Value, HostError> {
        let text = String::from_utf8_lossy(&response.body);
        let kind = response.headers.get("content-type").and_then(|value| value.to_str().ok());
        let is_page = kind.is_some_and(|kind| kind.starts_with("text/html"))
            || text.trim_start().starts_with('<');
        let form = if is_page { NotJsonForm::Html } else { NotJsonForm::Broken };
        serde_json::from_str(&within_range(&text)).map_err(|_| HostError::NotJson {
            host: self.help.host.clone(),
            form,
            words: self.first_words(&if is_page { without_tags(&text) } else { text.into_owned() }),
        })
    }

    /// Returns the beginning of a text on one line, without the token.
    fn first_words(&self, text: &str) -> String {
        // Cut after it was cleaned, or half a token would stay.
        let clean = self.token.map_or_else(|| text.to_owned(), |token| token.clean(text));
        let line = clean.split_whitespace().collect::<Vec<_>>().join(" ");
        line.chars().filter(|c| !c.is_control()).take(WORDS_CHARS_MAX).collect()
    }
}

/// Returns the words of a page, roughly.
fn without_tags(page: &str) -> String {
    let mut words = String::new();
    for (position, part) in page.split('<').enumerate() {
        let (tag, text) =
            if position == 0 { ("", part) } else { part.split_once('>').unwrap_or((part, "")) };
        let tag = tag.to_ascii_lowercase();
        if !tag.starts_with("script") && !tag.starts_with("style") {
            words.push_str(text);
            words.push(' ');
        }
    }
    words
}
