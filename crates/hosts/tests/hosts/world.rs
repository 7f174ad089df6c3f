//! A client whose time is given, and addresses at hosts of a test.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
    time::Duration,
};

use forge_hosts::{
    Address, HostError, HostTokens, Http, HttpSettings, Issue, Kind, Known, TokenCommand, fetch,
};

use crate::loopback::Host;

/// The token of all tests.
pub(crate) const TOKEN: &str = "s3cr3t-t0k3n-0f-the-tests";
/// The field of Jira with points.
pub(crate) const POINTS: &str = "customfield_10016";
/// When all tests begin.
pub(crate) const NOW: i64 = 1_800_000_000;

/// A client, and what it waited.
pub(crate) struct World {
    pub(crate) http: Http,
    pub(crate) slept: Rc<RefCell<Vec<u64>>>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(&settings())
    }

    pub(crate) fn with(settings: &HttpSettings) -> Self {
        let slept = Rc::new(RefCell::new(Vec::new()));
        let now = Rc::new(Cell::new(NOW));
        let (all, clock) = (Rc::clone(&slept), Rc::clone(&now));
        let sleep = move |time: Duration| {
            clock.set(clock.get() + i64::try_from(time.as_secs()).expect("it is a few seconds"));
            all.borrow_mut().push(time.as_secs());
        };
        let http = Http::new(settings, sleep, move || now.get()).expect("the settings work");
        Self { http, slept }
    }

    /// Fetches the issue at a path of a host, with a token.
    pub(crate) fn fetch(&self, host: &Host, kind: Kind, path: &str) -> Result<Issue, HostError> {
        let address = address(host, kind, path);
        fetch(&address, &tokens(&address), &self.http, POINTS)
    }

    /// Fetches it without one.
    pub(crate) fn fetch_bare(
        &self,
        host: &Host,
        kind: Kind,
        path: &str,
    ) -> Result<Issue, HostError> {
        fetch(&address(host, kind, path), &HostTokens::none(), &self.http, POINTS)
    }
}

/// Settings with one certificate instead of those of the system, which take their time.
pub(crate) fn settings() -> HttpSettings {
    HttpSettings::from_env(&certificates)
}

pub(crate) fn certificates(name: &str) -> Option<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hosts/authority/certificate.pem");
    (name == "SSL_CERT_FILE").then(|| path.to_owned())
}

pub(crate) fn kinds(host: &str, kind: Kind) -> BTreeMap<String, Kind> {
    [(host.to_owned(), kind)].into()
}

/// Returns the address at a path of a host, whose kind is a setting.
pub(crate) fn address(host: &Host, kind: Kind, path: &str) -> Address {
    let known = Known { kinds: kinds(&host.name, kind), ..Known::default() };
    let url = format!("http://{}{path}", host.name);
    Address::parse(&url, &known).expect("it is an issue").expect("it can be read")
}

/// Returns the token of all tests, from whichever variable the tracker wants.
pub(crate) fn tokens(address: &Address) -> HostTokens {
    HostTokens::find(address, &variables, &no_program)
}

pub(crate) fn variables(name: &str) -> Option<String> {
    let is_token = name.ends_with("_TOKEN") || name == "LINEAR_API_KEY";
    is_token.then(|| TOKEN.to_owned())
}

pub(crate) fn no_program(_: &TokenCommand) -> Option<String> {
    None
}

/// Says that neither the token nor what is made of it is in any form of an error.
pub(crate) fn assert_hides_the_token(error: &HostError) {
    let all = format!("{error:?} {error:#?} {error} {} {}", error.what(), error.next());
    // The second is the token in base64 behind a name of five letters.
    for part in [TOKEN, "t0k3n", "s3cr3t", "czNjcjN0"] {
        assert!(!all.contains(part), "{all}");
    }
}
