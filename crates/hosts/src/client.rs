//! A host's interface, asked about one issue or repository: JSON, or what the answer means for that.
//!
//! Redirects, limits and tries are in [`crate::http`]; paths and fields are in the files of the trackers.
//!
//! Invariant: what a host says is cleaned of the token before it is in an error.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{
    document::within_range,
    error::{HostError, NotJsonForm, TokenHelp, TokenUse},
    host_token::HostToken,
    http::{Http, HttpCall, HttpMethod, Response},
    origin::WebOrigin,
};

/// The most characters of an answer that an error shows.
const WORDS_CHARS_MAX: usize = 120;

/// The interface of one host, for one issue or repository.
pub(crate) struct Client<'a> {
    pub(crate) http: &'a Http,
    /// Where the interface begins, without a slash at the end.
    pub(crate) api: String,
    pub(crate) token: Option<&'a HostToken>,
    pub(crate) headers: &'a [(&'static str, &'static str)],
    /// The issue or repository as errors name it.
    pub(crate) subject: String,
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

/// The answer of a host to a change.
pub(crate) enum Changed {
    /// With what the host answered, if it said something.
    Done(Value),
    /// The host did nothing, and says why.
    Rejected(Rejection),
}

/// Why a host did not change something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    pub(crate) status: u16,
    pub(crate) words: String,
}

impl Changed {
    /// Returns the answer, or a rejection as an error that shows the host's words.
    pub(crate) fn or_invalid(self, client: &Client<'_>) -> Result<Value, HostError> {
        match self {
            Self::Done(value) => Ok(value),
            Self::Rejected(rejection) => Err(client.invalid(rejection)),
        }
    }
}

impl Client<'_> {
    /// Gets what is at a path of the interface.
    pub(crate) fn get(&self, path: &str) -> Result<Page, HostError> {
        let response = self.ask(HttpMethod::Get, path, None)?;
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

    /// Changes something at a path of the interface. A change that a host rejects is an answer, which is read in its file.
    pub(crate) fn change(
        &self,
        method: HttpMethod,
        path: &str,
        body: &Value,
    ) -> Result<Changed, HostError> {
        // What is taken away needs no words.
        let text = (!body.is_null()).then(|| body.to_string());
        let response = self.ask(method, path, text.as_deref())?;
        let words = || self.first_words(&all_words(&response.body));
        match response.status {
            200..=299 if response.body.trim_ascii().is_empty() => Ok(Changed::Done(Value::Null)),
            200..=299 => self.json(&response).map(Changed::Done),
            301..=308 => Err(self.renamed(None)),
            status @ (400 | 405 | 406 | 409 | 412 | 422) => {
                Ok(Changed::Rejected(Rejection { status, words: words() }))
            }
            403 if sso_of(&response).is_none() => {
                let (subject, help) = (self.subject.clone(), self.help.clone());
                Err(HostError::Forbidden { subject, help, words: words() })
            }
            401 | 403 | 404 | 410 => Err(self.refusal(&response)),
            status => {
                let host = self.help.host.clone();
                Err(HostError::Failed { host, status, words: words() })
            }
        }
    }

    /// Takes away what is at a path of the interface. What is gone already is no trouble.
    pub(crate) fn delete(&self, path: &str) -> Result<(), HostError> {
        match self.change(HttpMethod::Delete, path, &Value::Null) {
            Ok(changed) => changed.or_invalid(self).map(|_| ()),
            Err(HostError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns a name of the user whose token it is, if the host tells it to this token: those of apps have no user.
    pub(crate) fn own_user(
        &self,
        ask: impl FnOnce(&Self) -> Result<Value, HostError>,
        name: impl FnOnce(&Value) -> Option<String>,
    ) -> Result<Option<String>, HostError> {
        match ask(self) {
            Ok(user) => Ok(name(&user)),
            Err(
                HostError::Refused { .. }
                | HostError::Forbidden { .. }
                | HostError::NotFound { .. },
            ) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the same for another interface of the host.
    pub(crate) fn at(&self, api: &str) -> Self {
        let (subject, help) = (self.subject.clone(), self.help.clone());
        Self { api: api.to_owned(), subject, help, ..*self }
    }

    /// Says that a repository has another name now.
    pub(crate) fn renamed(&self, to: Option<&str>) -> HostError {
        let to = to.map(|to| self.first_words(to));
        HostError::Renamed { subject: self.subject.clone(), to }
    }

    /// Posts a question or a change of GraphQL. Its errors are in the answer, whatever the status.
    pub(crate) fn query(
        &self,
        method: HttpMethod,
        path: &str,
        body: &Value,
    ) -> Result<(u16, Value), HostError> {
        let response = self.ask(method, path, Some(&body.to_string()))?;
        match response.status {
            200..=299 | 400 => Ok((response.status, self.json(&response)?)),
            _ => Err(self.refusal(&response)),
        }
    }

    /// Says that it is not there, or not for this token.
    pub(crate) fn not_found(&self) -> HostError {
        let (subject, help) = (self.subject.clone(), self.help.clone());
        HostError::NotFound { subject, help, token: self.token_use() }
    }

    /// Says that it is not for this token.
    pub(crate) fn refused(&self, status: u16, sso: Option<String>) -> HostError {
        let (subject, help) = (self.subject.clone(), self.help.clone());
        HostError::Refused { subject, status, help, token: self.token_use(), sso }
    }

    /// Says that a host does not take what it was given.
    pub(crate) fn invalid(&self, rejection: Rejection) -> HostError {
        HostError::Invalid { subject: self.subject.clone(), words: rejection.words }
    }

    /// Says that the host does not answer for some seconds.
    pub(crate) fn limited(&self, seconds: i64) -> HostError {
        self.http.limited(&self.api, seconds)
    }

    /// Says that an answer is not what the interface promises.
    pub(crate) fn unexpected(&self, why: &str) -> HostError {
        HostError::Unexpected { host: self.help.host.clone(), why: self.first_words(why) }
    }

    fn ask(
        &self,
        method: HttpMethod,
        path: &str,
        body: Option<&str>,
    ) -> Result<Response, HostError> {
        let url = format!("{}{path}", self.api);
        let origin = WebOrigin::of_url(&self.api);
        let token = self.token.zip(origin.as_ref());
        self.http.ask(&HttpCall { method, url: &url, headers: self.headers, token, body })
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
                let clean = |url: &str| self.first_words(url);
                self.refused(status, sso_of(response).map(clean))
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

/// Returns a text as one part of a path or a query.
pub(crate) fn encoded(text: &str) -> String {
    let mut all = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            all.push(char::from(byte));
        } else {
            let _ = write!(all, "%{byte:02X}");
        }
    }
    all
}

/// Returns where single sign-on allows a token, if that is what an answer wants.
fn sso_of(response: &Response) -> Option<&str> {
    let header = response.headers.get("x-github-sso")?.to_str().ok()?;
    header.split_once("url=").map(|(_, url)| url.trim()).filter(|url| url.starts_with("https://"))
}

/// Returns all that JSON says, wherever it says it, or the words of a page.
fn all_words(body: &[u8]) -> String {
    fn collect(value: &Value, all: &mut Vec<String>) {
        match value {
            Value::String(text) if !text.starts_with("https://") => all.push(text.clone()),
            Value::Array(values) => values.iter().for_each(|value| collect(value, all)),
            Value::Object(values) => values.values().for_each(|value| collect(value, all)),
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let text = String::from_utf8_lossy(body);
    let mut all = Vec::new();
    match serde_json::from_str(&text) {
        Ok(value) => collect(&value, &mut all),
        Err(_) => all.push(without_tags(&text)),
    }
    all.join("; ")
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
