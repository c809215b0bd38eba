//! Flags, parsed once.
//!
//! In: [`ProviderConfig`]. Out: [`Config`], or an error that names the flag and says what was expected.

use std::time::Duration;

use secrecy::ExposeSecret as _;
use zonewright_core::catalog::{FlagKind, FlagSpec, ProviderConfig, Settings};
use zonewright_core::zone::InstanceId;
use zonewright_core::{Error, ErrorKind};
use zonewright_http::{Fixed, RequestTimes, Url};

/// The flags of this provider.
pub const FLAGS: &[FlagSpec] = &[
    FlagSpec::new("webhook-provider-url", FlagKind::Text, "Address of the webhook provider, http or https")
        .or("http://localhost:8888"),
    FlagSpec::new(
        "webhook-provider-read-timeout",
        FlagKind::Duration,
        "Maximum wait for an answer of the webhook provider; a request takes at most this plus the write time-out",
    )
    .or("5s"),
    FlagSpec::new(
        "webhook-provider-write-timeout",
        FlagKind::Duration,
        "Maximum time to send a request to the webhook provider; also for connecting",
    )
    .or("10s"),
    FlagSpec::new(
        "webhook-provider-max-body-size",
        FlagKind::Int64,
        "Maximum size of an answer of the webhook provider in bytes; 0 or less: no limit",
    )
    .or("33554432"),
    FlagSpec::new("tls-ca", FlagKind::Text, "File with the certificate authorities to trust, PEM"),
];

/// Key of a Secret that holds the address, with user and password where the peer asks for them.
pub const SECRET_KEYS: &[&str] = &["url"];

/// A parsed configuration.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) instance: InstanceId,
    pub(crate) peer: Peer,
    /// Longest time to connect.
    pub(crate) connect: Duration,
    /// Longest time for one request with its answer.
    pub(crate) total: Duration,
    /// Most bytes in an answer.
    pub(crate) limit: Option<usize>,
    /// File with the authorities to trust; empty is the system's.
    pub(crate) ca: String,
    /// Where the duration of requests is counted.
    pub(crate) times: RequestTimes,
}

/// Where the peer is.
#[derive(Debug)]
pub(crate) struct Peer {
    /// The address as given, without user and password.
    pub(crate) base: Url,
    /// The user and password, as basic authentication.
    pub(crate) credentials: Fixed,
}

impl Config {
    /// Parses flags and secrets; the address in a secret beats the flag.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] with the flag's name.
    pub(crate) fn parse(from: &ProviderConfig) -> Result<Self, Error> {
        let settings = &from.settings;
        let secret = from.credentials.get("url").map(|url| url.expose_secret().trim());
        let text = secret.unwrap_or_else(|| settings.text("webhook-provider-url").trim());
        let (read, write) = (
            positive(settings, "webhook-provider-read-timeout")?,
            positive(settings, "webhook-provider-write-timeout")?,
        );
        Ok(Self {
            instance: from.instance.clone(),
            peer: Peer::parse(text)?,
            connect: write,
            total: read + write,
            limit: usize::try_from(settings.int("webhook-provider-max-body-size")).ok().filter(|bytes| *bytes > 0),
            ca: settings.text("tls-ca").to_owned(),
            times: RequestTimes::clone(&from.shared.get()),
        })
    }
}

fn positive(settings: &Settings, flag: &'static str) -> Result<Duration, Error> {
    let value = settings.duration(flag);
    if value.is_zero() { Err(bad(format!("--{flag}: expected a time above 0, such as 5s"))) } else { Ok(value) }
}

impl Peer {
    /// Parses an address. No part of it is in the error: it may hold a password.
    fn parse(text: &str) -> Result<Self, Error> {
        let expected =
            "--webhook-provider-url: expected an address such as http://localhost:8888 or https://dns.example.com/path";
        let (scheme, rest) = text.split_once("://").ok_or_else(|| bad(expected.to_owned()))?;
        let scheme = scheme.to_ascii_lowercase();
        if !matches!(scheme.as_str(), "http" | "https") {
            return Err(bad(format!("{expected}; {scheme:?} is neither http nor https")));
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
        let path = path.split('#').next().unwrap_or_default();
        let slash = if path.starts_with('/') { "" } else { "/" };
        let base: Url = format!("{scheme}://{host}{slash}{path}").parse().map_err(|_| bad(expected.to_owned()))?;
        let credentials = user.map_or_else(|| Ok(Fixed::none()), basic)?;
        Ok(Self { base, credentials })
    }
}

/// Basic authentication (RFC 7617) of `user:password`, each percent-encoded.
fn basic(user: &str) -> Result<Fixed, Error> {
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    Fixed::basic(&decoded(name), &decoded(password))
}

/// Resolves `%XX`; what is no such escape stands for itself.
fn decoded(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let escaped = if first == b'%' { hex(tail) } else { None };
        out.push(escaped.unwrap_or(first));
        rest = tail.get(if escaped.is_some() { 2 } else { 0 }..).unwrap_or_default();
    }
    out
}

/// The byte of the two hexadecimal digits at the start.
fn hex(text: &[u8]) -> Option<u8> {
    let digit = |at: usize| text.get(at).and_then(|digit| char::from(*digit).to_digit(16));
    u8::try_from(digit(0)? * 16 + digit(1)?).ok()
}

pub(crate) fn bad(context: String) -> Error {
    Error::new(ErrorKind::Configuration, "configure the webhook provider", context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn addresses() {
        for (text, base, authorization) in [
            ("http://localhost:8888", "http://localhost:8888/", None),
            ("HTTPS://dns.example.com/a/b/", "https://dns.example.com/a/b/", None),
            ("http://[::1]:80?tenant=a#top", "http://[::1]/?tenant=a", None),
            ("http://me:p%40ss@host/x", "http://host/x", Some("Basic bWU6cEBzcw==")),
            ("http://me@host", "http://host/", Some("Basic bWU6")),
        ] {
            let peer = Peer::parse(text).unwrap();
            let headers = zonewright_http::Credentials::headers(&peer.credentials).await.unwrap();
            let given = headers.first().map(|(_, value)| value.expose_secret().to_owned());
            assert_eq!((peer.base.to_string().as_str(), given.as_deref()), (base, authorization), "{text}");
            assert!(!format!("{peer:?}").contains("bWU6"), "a secret is printed");
        }
    }

    #[test]
    fn bad_addresses_are_reported_without_their_passwords() {
        for text in ["localhost:8888", "", "ftp://me:secret@host", "http://", "http://me:secret@", "http://ho st"] {
            let error = Peer::parse(text).expect_err(text).to_string();
            assert!(error.contains("--webhook-provider-url") && !error.contains("secret"), "{text}: {error}");
        }
    }

    #[test]
    fn percent_escapes() {
        for (text, expected) in
            [("a%20b", "a b"), ("%", "%"), ("%4", "%4"), ("%+4", "%+4"), ("%zz", "%zz"), ("%41%42", "AB")]
        {
            assert_eq!(decoded(text), expected.as_bytes(), "{text}");
        }
    }
}
