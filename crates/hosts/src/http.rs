//! One small blocking client: it asks, follows, waits and tries again, all within limits.
//!
//! What a status means for an issue is in `client`; here only limits and trouble on the way are errors.
//!
//! Invariant: a token goes to the origin it is for (scheme, host and port), and nowhere else, whatever the redirects say.
//! Invariant: time passes only through the `sleep` and `now` that were given.

use std::{cell::Cell, fmt, sync::Arc, time::Duration};

use ureq::{
    Agent, Proxy,
    http::{HeaderMap, Request},
    tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem},
};

use crate::{error::HostError, host_token::HostToken, limits, origin::WebOrigin};

/// The most bytes of one answer.
pub const ANSWER_BYTES_MAX: u64 = 10 * 1024 * 1024;
/// The most bytes of a bundle of certificates.
const CERTIFICATES_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How often a redirect is followed.
const REDIRECTS_MAX: usize = 5;
/// How long it is waited before a read is tried again. It is tried once more than there are pauses.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// How long it is waited for limits of hosts, all together.
const LIMIT_WAIT_MAX: Duration = Duration::from_secs(60);

/// How hosts are reached.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// The address of a proxy, maybe with a password.
    pub proxy: Option<String>,
    /// Hosts that are reached without it, separated by commas.
    pub no_proxy: Option<String>,
    /// A file with the certificates to trust instead of those of the system.
    pub certificates: Option<String>,
    /// How long a connection may take.
    pub connect_time: Duration,
    /// How long one request may take until its answer is read.
    pub total_time: Duration,
}

/// The client.
pub struct Http {
    agent: Agent,
    total_time: Duration,
    sleep: Box<dyn Fn(Duration)>,
    /// Seconds since 1970.
    now: Box<dyn Fn() -> i64>,
    waited: Cell<Duration>,
}

/// The method of a request, which says whether it can be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HttpMethod {
    Get,
    /// A question that is posted, as those of GraphQL, and changes nothing.
    Query,
    /// Makes something. Sent twice, it may be there twice.
    Post,
    /// Sets something. Sent twice, it is the same.
    Put,
    /// Sets a part of something. Sent twice, it is the same.
    Patch,
    /// Takes something away. Sent twice, it is gone.
    Delete,
}

/// A request to a host.
#[derive(Clone, Copy)]
pub(crate) struct HttpCall<'a> {
    pub(crate) method: HttpMethod,
    pub(crate) url: &'a str,
    pub(crate) headers: &'a [(&'static str, &'static str)],
    /// A token, with the origin that it is for.
    pub(crate) token: Option<(&'a HostToken, &'a WebOrigin)>,
    /// JSON to send.
    pub(crate) body: Option<&'a str>,
}

/// An answer of a host, read to its end.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl HttpMethod {
    const fn verb(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Query | Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Says whether a request may be sent again when it is not known whether it did something.
    const fn can_be_repeated(self) -> bool {
        match self {
            Self::Get | Self::Query | Self::Put | Self::Patch | Self::Delete => true,
            Self::Post => false,
        }
    }
}

impl HttpSettings {
    /// Reads the variables that every program knows.
    pub fn from_env(env: &dyn Fn(&str) -> Option<String>) -> Self {
        let first = |names: &[&str]| {
            names.iter().find_map(|name| env(name).filter(|value| !value.trim().is_empty()))
        };
        Self {
            proxy: first(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]),
            no_proxy: first(&["NO_PROXY", "no_proxy"]),
            certificates: first(&["SSL_CERT_FILE"]),
            connect_time: Duration::from_secs(10),
            total_time: Duration::from_secs(30),
        }
    }

    fn proxy(&self) -> Result<Option<Proxy>, HostError> {
        let Some(address) = &self.proxy else { return Ok(None) };
        // The value may hold a password, so it is not shown.
        let wrong = || HostError::Unreachable {
            host: "the proxy".to_owned(),
            why: "HTTPS_PROXY or ALL_PROXY is not the address of an HTTP proxy".to_owned(),
        };
        let proxy = Proxy::new(address.trim()).map_err(|_| wrong())?;
        let mut builder = Proxy::builder(proxy.protocol()).host(proxy.host()).port(proxy.port());
        if let Some(name) = proxy.username() {
            builder = builder.username(name);
        }
        if let Some(password) = proxy.password() {
            builder = builder.password(password);
        }
        for host in self.no_proxy.iter().flat_map(|hosts| hosts.split(',')).map(str::trim) {
            let bare = host.trim_start_matches("*.").trim_start_matches('.');
            // A name means its subdomains as well, as it does to everybody else.
            builder = builder.no_proxy(bare).no_proxy(&format!(".{bare}"));
        }
        builder.build().map(Some).map_err(|_| wrong())
    }

    fn roots(&self) -> Result<RootCerts, HostError> {
        let certificates: Vec<Certificate<'static>> = if let Some(path) = &self.certificates {
            bundle(path).map_err(|why| HostError::Unreachable {
                host: "any host".to_owned(),
                why: format!("SSL_CERT_FILE is {path}: {why}"),
            })?
        } else {
            let found = rustls_native_certs::load_native_certs().certs;
            found.iter().map(|der| Certificate::from_der(der).to_owned()).collect()
        };
        // A bare container has none; those of the browsers are as good.
        let is_bare = certificates.is_empty();
        Ok(if is_bare { RootCerts::WebPki } else { RootCerts::Specific(Arc::new(certificates)) })
    }
}

impl fmt::Debug for HttpSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSettings")
            .field("proxy", &self.proxy.as_ref().map(|_| "***"))
            .field("no_proxy", &self.no_proxy)
            .field("certificates", &self.certificates)
            .field("connect_time", &self.connect_time)
            .field("total_time", &self.total_time)
            .finish()
    }
}

impl Http {
    /// Makes a client that waits with `sleep` and reads the seconds since 1970 from `now`.
    pub fn new(
        settings: &HttpSettings,
        sleep: impl Fn(Duration) + 'static,
        now: impl Fn() -> i64 + 'static,
    ) -> Result<Self, HostError> {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            // Redirects are followed here, where it is known whose the token is.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(settings.proxy()?)
            .tls_config(TlsConfig::builder().root_certs(settings.roots()?).build())
            .timeout_connect(Some(settings.connect_time))
            .timeout_global(Some(settings.total_time))
            .user_agent("forge")
            .build()
            .into();
        let total_time = settings.total_time;
        let (sleep, now) = (Box::new(sleep), Box::new(now));
        Ok(Self { agent, total_time, sleep, now, waited: Cell::new(Duration::ZERO) })
    }

    /// Asks, follows redirects, waits for limits, and tries again what may be better the next time. What makes something
    /// is tried again only where the host says that it did nothing.
    pub(crate) fn ask(&self, call: &HttpCall<'_>) -> Result<Response, HostError> {
        let mut pauses = PAUSES.iter();
        loop {
            let answer = self.follow(call);
            if let Ok(response) = &answer
                && (call.method.can_be_repeated() || response.status != 503)
                && let Some(pause) =
                    limits::pause(response.status, &response.headers, &response.body, (self.now)())
            {
                self.wait_for_limit(call.url, pause)?;
                continue;
            }
            let may_be_better = match &answer {
                Ok(response) => matches!(response.status, 502..=504),
                Err(error) => matches!(error, HostError::Timeout { .. }),
            };
            match pauses.next() {
                Some(pause) if may_be_better && call.method.can_be_repeated() => {
                    (self.sleep)(*pause);
                }
                _ => return answer,
            }
        }
    }

    /// Waits before something is looked at again.
    pub(crate) fn wait(&self, pause: Duration) {
        (self.sleep)(pause);
    }

    /// Says that a host does not answer for some seconds.
    pub(crate) fn limited(&self, url: &str, seconds: i64) -> HostError {
        HostError::Limited { host: host_of(url), until: (self.now)().saturating_add(seconds) }
    }

    /// Waits as a host wants it, while that is within what is waited at all. Each wait is a second at least, so they end.
    fn wait_for_limit(&self, url: &str, pause: Duration) -> Result<(), HostError> {
        let pause = pause.max(Duration::from_secs(1));
        let waited = self.waited.get().saturating_add(pause);
        if waited > LIMIT_WAIT_MAX {
            let seconds = i64::try_from(pause.as_secs()).unwrap_or(i64::MAX);
            return Err(self.limited(url, seconds));
        }
        self.waited.set(waited);
        (self.sleep)(pause);
        Ok(())
    }

    fn follow(&self, call: &HttpCall<'_>) -> Result<Response, HostError> {
        let mut url = call.url.to_owned();
        for _ in 0..=REDIRECTS_MAX {
            let response = self.send(call, &url)?;
            let is_redirect = matches!(response.status, 301 | 302 | 303 | 307 | 308);
            let location = response.headers.get("location").and_then(|value| value.to_str().ok());
            let (true, Some(location)) = (is_redirect, location) else { return Ok(response) };
            let unexpected =
                |why: &str| HostError::Unexpected { host: host_of(&url), why: why.to_owned() };
            match call.method {
                HttpMethod::Get => {}
                HttpMethod::Query => return Err(unexpected("it redirects what was posted")),
                // What a redirect means for a change is said where it is known what was changed.
                HttpMethod::Post | HttpMethod::Put | HttpMethod::Patch | HttpMethod::Delete => {
                    return Ok(response);
                }
            }
            let next = WebOrigin::follow(&url, location)
                .ok_or_else(|| unexpected("it redirects to what is not a web address"))?;
            if url.starts_with("https://") && !next.starts_with("https://") {
                return Err(unexpected("it redirects from https to http"));
            }
            url = next;
        }
        let why = format!("it redirects more than {REDIRECTS_MAX} times");
        Err(HostError::Unexpected { host: host_of(call.url), why })
    }

    fn send(&self, call: &HttpCall<'_>, url: &str) -> Result<Response, HostError> {
        let trouble = |error: &ureq::Error| self.trouble(&host_of(url), error);
        let mut request = Request::builder().method(call.method.verb()).uri(url);
        for (name, value) in call.headers {
            request = request.header(*name, *value);
        }
        let token = call.token.filter(|(_, own)| WebOrigin::of_url(url).as_ref() == Some(*own));
        if let Some((token, _)) = token {
            request = request.header("authorization", token.authorization());
        }
        let answer = match call.body {
            Some(body) => {
                let request = request.header("content-type", "application/json");
                request.body(body).map_err(ureq::Error::from).and_then(|all| self.agent.run(all))
            }
            None => request.body(()).map_err(ureq::Error::from).and_then(|all| self.agent.run(all)),
        };
        let mut answer = answer.map_err(|error| trouble(&error))?;
        let body = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
        let body = body.map_err(|error| trouble(&error))?;
        Ok(Response { status: answer.status().as_u16(), headers: answer.headers().clone(), body })
    }

    fn trouble(&self, host: &str, error: &ureq::Error) -> HostError {
        let host = host.to_owned();
        let unreachable = |why: String| HostError::Unreachable { host: host.clone(), why };
        let text = error.to_string();
        #[expect(clippy::wildcard_enum_match_arm, reason = "the errors of another crate grow")]
        match error {
            ureq::Error::Timeout(_) => HostError::Timeout { host, after: self.total_time },
            ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => {
                HostError::Timeout { host, after: self.total_time }
            }
            ureq::Error::BodyExceedsLimit(bytes_max) => {
                HostError::TooLarge { text: format!("an answer of {host}"), bytes_max: *bytes_max }
            }
            ureq::Error::Http(_) | ureq::Error::BadUri(_) => {
                unreachable("its address is not valid".to_owned())
            }
            ureq::Error::HostNotFound => unreachable("its name is not known".to_owned()),
            _ => unreachable(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        }
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("waited", &self.waited).finish_non_exhaustive()
    }
}

fn host_of(url: &str) -> String {
    WebOrigin::of_url(url).map_or_else(|| "the host".to_owned(), |origin| origin.host().to_owned())
}

/// Reads a bundle of certificates.
fn bundle(path: &str) -> Result<Vec<Certificate<'static>>, String> {
    use std::io::Read as _;
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut pem = Vec::new();
    file.take(CERTIFICATES_BYTES_MAX).read_to_end(&mut pem).map_err(|error| error.to_string())?;
    let certificates: Vec<_> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            Ok(_) | Err(_) => None,
        })
        .collect();
    let is_empty = certificates.is_empty();
    if is_empty { Err("it holds no certificate".to_owned()) } else { Ok(certificates) }
}
