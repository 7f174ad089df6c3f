//! A token, which is only ever shown to the host it was found for.
//!
//! Invariant: no `Debug` and no `Display` has it, and a text of a host is cleaned of it before anybody sees that text.

use std::fmt;

/// How sure it is that a token is one of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenGiver {
    /// A variable or a program of the host gave it.
    Host,
    /// Git has it for pushing, and it may be a password that the interface does not take.
    Git,
}

/// A token and what is made of it for the header `Authorization`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct HostToken {
    token: String,
    authorization: String,
    source: TokenGiver,
}

impl HostToken {
    /// Takes a token, unless it could not stand in a header.
    pub(crate) fn new(
        token: &str,
        source: TokenGiver,
        authorize: impl Fn(&str) -> String,
    ) -> Option<Self> {
        let token = token.trim();
        let is_sound = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        let authorization = || authorize(token);
        is_sound.then(|| Self { token: token.to_owned(), authorization: authorization(), source })
    }

    /// Returns the value of the header `Authorization`.
    pub(crate) fn authorization(&self) -> &str {
        &self.authorization
    }

    pub(crate) fn source(&self) -> TokenGiver {
        self.source
    }

    /// Returns a text without the token in any form in which it was sent.
    pub(crate) fn clean(&self, text: &str) -> String {
        let value = self.authorization.rsplit(' ').next().unwrap_or_default();
        text.replace(&self.authorization, "***").replace(value, "***").replace(&self.token, "***")
    }
}

impl fmt::Debug for HostToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostToken(***)")
    }
}
