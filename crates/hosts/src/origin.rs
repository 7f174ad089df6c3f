//! The origin of an address: scheme, host and port. What tokens are bound to.
//!
//! No address is looked up here.
//!
//! Invariant: an origin is `https`, or a loopback host, so that no token crosses a network in the open.

/// Scheme, host and port, in small letters and without the usual port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WebOrigin {
    scheme: &'static str,
    host: String,
}

impl WebOrigin {
    /// Returns the origin of a host that is known by name only.
    pub(crate) fn of_host(host: &str) -> Option<Self> {
        let host = host.to_ascii_lowercase();
        is_host(&host).then_some(Self { scheme: "https", host })
    }

    /// Returns the origin of an address, unless it is one that nothing is sent to.
    pub(crate) fn of_url(url: &str) -> Option<Self> {
        let (scheme, rest) = split_scheme(url)?;
        let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
        let host = authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
        let usual = if scheme == "https" { ":443" } else { ":80" };
        let host = host.strip_suffix(usual).unwrap_or(&host).to_owned();
        let is_sent_to = is_host(&host) && (scheme == "https" || is_loopback(&host));
        is_sent_to.then_some(Self { scheme, host })
    }

    /// Returns the address that a redirect leads to, without names and passwords in it.
    pub(crate) fn follow(url: &str, location: &str) -> Option<String> {
        let location = location.split('#').next().unwrap_or_default();
        if location.chars().any(|c| c.is_control() || c == ' ') {
            return None;
        }
        let own = Self::of_url(url)?;
        if let Some(rest) = location.strip_prefix("//") {
            return Self::follow(url, &format!("{}://{rest}", own.scheme));
        }
        if location.starts_with('/') {
            return Some(format!("{}{location}", own.base()));
        }
        if split_scheme(location).is_some() {
            // Also over http to wherever: the caller refuses to come from https, and no token goes there.
            let (scheme, rest) = split_scheme(location)?;
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            let host = rest[..end].rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
            return is_host(&host).then(|| format!("{scheme}://{host}{}", &rest[end..]));
        }
        let path = url.split(['?', '#']).next().unwrap_or_default();
        let (folder, _) = path.rsplit_once('/')?;
        (!location.contains(':') && folder.len() >= own.base().len())
            .then(|| format!("{folder}/{location}"))
    }

    /// Returns the host, with its port if that is not the usual one.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Returns the address of its root, without a slash at the end.
    pub(crate) fn base(&self) -> String {
        format!("{}://{}", self.scheme, self.host)
    }
}

fn split_scheme(url: &str) -> Option<(&'static str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let known = ["https", "http"].into_iter().find(|known| scheme.eq_ignore_ascii_case(known))?;
    Some((known, rest))
}

fn is_host(host: &str) -> bool {
    let (name, port) = host.rsplit_once(':').unwrap_or((host, "1"));
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_whole = !name.starts_with(['.', '-']) && !name.ends_with('.') && !name.contains("..");
    !name.is_empty() && name.chars().all(is_name) && is_whole && is_port
}

fn is_loopback(host: &str) -> bool {
    matches!(host.split(':').next(), Some("127.0.0.1" | "localhost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(url: &str) -> Option<String> {
        WebOrigin::of_url(url).map(|origin| origin.base())
    }

    #[test]
    fn an_origin_is_https_or_loopback_in_small_letters_without_the_usual_port() {
        for (url, origin) in [
            ("https://GitHub.com/o/r", Some("https://github.com")),
            ("https://h.example:443/x", Some("https://h.example")),
            ("https://h.example:8443?x", Some("https://h.example:8443")),
            ("https://me:secret@h.example/x", Some("https://h.example")),
            ("http://127.0.0.1:99/x", Some("http://127.0.0.1:99")),
            ("http://h.example/x", None),
            ("http://127.0.0.1.evil.example/x", None),
            ("https://", None),
            ("https://a b/x", None),
            ("https://h:port/x", None),
            ("ftp://h/x", None),
            ("h.example/x", None),
        ] {
            assert_eq!(shown(url).as_deref(), origin, "{url}");
        }
    }

    #[test]
    fn a_redirect_leads_to_an_address_without_names_and_passwords() {
        let url = "https://h.example/a/b?c";
        for (location, to) in [
            ("/x?y#z", Some("https://h.example/x?y")),
            ("x", Some("https://h.example/a/x")),
            ("//o.example/x", Some("https://o.example/x")),
            ("https://me:secret@O.example/x", Some("https://o.example/x")),
            ("http://o.example", Some("http://o.example")),
            ("javascript:x", None),
            ("https://a b/", None),
            ("/x\r\ny", None),
        ] {
            assert_eq!(WebOrigin::follow(url, location).as_deref(), to, "{location:?}");
        }
    }
}
