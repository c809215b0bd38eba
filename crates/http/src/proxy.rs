//! Which proxy a request takes, by `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`.
//!
//! The rules are those of Go's `golang.org/x/net/http/httpproxy`, which external-dns follows: the variable goes by the
//! scheme of the request, upper case before lower case; `localhost` and loopback addresses are never reached by a proxy.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use url::{Host, Url};
use zonewright_core::{Error, ErrorKind, Result};

/// Schemes of proxies: CONNECT (or absolute requests for `http`) over TCP or TLS, and SOCKS 5.
const SCHEMES: [&str; 4] = ["http", "https", "socks5", "socks5h"];

/// The proxies of a process. `Debug` shows no credentials.
#[derive(Clone, Default)]
pub struct Proxies {
    https: Option<Url>,
    http: Option<Url>,
    except: Vec<Exception>,
}

/// An entry of `NO_PROXY`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Exception {
    /// `*`
    All,
    /// `192.0.2.0/24`
    Net(IpNet),
    /// `192.0.2.1`, `192.0.2.1:8443`
    Address(IpAddr, Option<u16>),
    /// `example.com` with all names below it, `.example.com` without the name itself.
    Domain { name: String, below_only: bool, port: Option<u16> },
}

impl Proxies {
    /// No proxy.
    pub fn none() -> Self {
        Self::default()
    }

    /// The proxies that the environment of this process names.
    ///
    /// # Errors
    /// As [`Proxies::of`].
    pub fn from_env() -> Result<Self> {
        Self::of(|name| std::env::var(name).ok())
    }

    /// The proxies that these variables name.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] with the variable, and without its value, if that is no address of a proxy.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let value = |name: &str| {
            [name.to_owned(), name.to_lowercase()].iter().filter_map(|n| variable(n)).find(|v| !v.is_empty())
        };
        let proxy = |name: &str| value(name).map(|text| parsed(name, text.trim())).transpose();
        let except = value("NO_PROXY").unwrap_or_default();
        let except = except.split(',').filter_map(Exception::parse).collect();
        Ok(Self { https: proxy("HTTPS_PROXY")?, http: proxy("HTTP_PROXY")?, except })
    }

    /// The proxy for an address, if it takes one.
    pub fn proxy_for(&self, url: &Url) -> Option<&Url> {
        let proxy = if url.scheme() == "https" { self.https.as_ref() } else { self.http.as_ref() }?;
        let host = url.host()?;
        let port = url.port_or_known_default();
        let direct = is_loopback(&host) || self.except.iter().any(|exception| exception.covers(&host, port));
        (!direct).then_some(proxy)
    }

    /// Whether there is no proxy at all.
    pub(crate) fn is_none(&self) -> bool {
        self.https.is_none() && self.http.is_none()
    }
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |url: &Option<Url>| url.as_ref().map(crate::redact::shown);
        f.debug_struct("Proxies")
            .field("https", &shown(&self.https))
            .field("http", &shown(&self.http))
            .field("except", &self.except)
            .finish()
    }
}

/// An address of a proxy; `http` where no scheme is given.
fn parsed(name: &str, text: &str) -> Result<Url> {
    let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let url = Url::parse(&whole).ok().filter(|url| url.has_host() && SCHEMES.contains(&url.scheme()));
    url.ok_or_else(|| {
        let context = format!(
            "{name}: expected the address of a proxy such as http://proxy.example.com:3128 (one of {})",
            SCHEMES.join(", ")
        );
        Error::new(ErrorKind::Configuration, "read the proxies of the environment", context)
    })
}

fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => name.trim_end_matches('.').eq_ignore_ascii_case("localhost"),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

impl Exception {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_lowercase();
        if text.is_empty() {
            return None;
        }
        if text == "*" {
            return Some(Self::All);
        }
        if let Ok(net) = text.parse() {
            return Some(Self::Net(net));
        }
        let bare = |text: &str| text.trim_matches(['[', ']']).parse::<IpAddr>().ok();
        if let Some(address) = bare(&text) {
            return Some(Self::Address(address, None));
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().ok()?)),
            None => (text.as_str(), None),
        };
        if let Some(address) = bare(host) {
            return Some(Self::Address(address, port));
        }
        let host = host.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(host);
        let name = host.trim_start_matches('.').trim_end_matches('.').to_owned();
        let below_only = host.starts_with('.');
        (!name.is_empty()).then_some(Self::Domain { name, below_only, port })
    }

    fn covers(&self, host: &Host<&str>, port: Option<u16>) -> bool {
        let address = match host {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(IpAddr::V4(*address)),
            Host::Ipv6(address) => Some(IpAddr::V6(*address)),
        };
        let same_port = |wanted: &Option<u16>| wanted.is_none() || *wanted == port;
        match (self, host) {
            (Self::All, _) => true,
            (Self::Net(net), _) => address.is_some_and(|address| net.contains(&address)),
            (Self::Address(given, wanted), _) => address == Some(*given) && same_port(wanted),
            (Self::Domain { name, below_only, port: wanted }, Host::Domain(host)) => {
                same_port(wanted) && is_in(&host.trim_end_matches('.').to_lowercase(), name, *below_only)
            }
            (Self::Domain { .. }, _) => false,
        }
    }
}

fn is_in(host: &str, domain: &str, below_only: bool) -> bool {
    match host.strip_suffix(domain) {
        Some("") => !below_only,
        Some(rest) => rest.ends_with('.'),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn proxies(variables: &[(&str, &str)]) -> Result<Proxies> {
        Proxies::of(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    fn choice(variables: &[(&str, &str)], url: &str) -> Option<String> {
        let proxies = proxies(variables).unwrap();
        proxies.proxy_for(&url.parse().unwrap()).map(ToString::to_string)
    }

    #[test]
    fn the_variable_goes_by_the_scheme_and_upper_case_first() {
        let both = [("HTTPS_PROXY", "http://s:1"), ("HTTP_PROXY", "p:2"), ("https_proxy", "http://lower:3")];
        for (variables, url, expected) in [
            (&both[..], "https://a.example/x", Some("http://s:1/")),
            (&both, "http://a.example/x", Some("http://p:2/")),
            (&[("https_proxy", "socks5://lower:3")], "https://a.example", Some("socks5://lower:3")),
            (&[("HTTPS_PROXY", ""), ("https_proxy", "lower:3")], "https://a.example", Some("http://lower:3/")),
            (&[("HTTP_PROXY", "p:2")], "https://a.example", None),
            (&[("ALL_PROXY", "p:2")], "https://a.example", None),
            (&both, "https://localhost:8443", None),
            (&both, "http://LOCALHOST.:80", None),
            (&both, "http://127.0.0.9", None),
            (&both, "http://[::1]:8888/", None),
            (&both, "http://127.0.0.1.example/", Some("http://p:2/")),
        ] {
            assert_eq!(choice(variables, url).as_deref(), expected, "{variables:?} {url}");
        }
    }

    #[test]
    fn exceptions() {
        for (except, direct, proxied) in [
            ("example.com", &["http://example.com", "http://a.b.EXAMPLE.com."][..], &["http://badexample.com"][..]),
            (".example.com", &["http://a.example.com"], &["http://example.com"]),
            ("*.example.com", &["http://a.example.com"], &["http://example.com"]),
            ("example.com:8443", &["https://example.com:8443"], &["https://example.com", "http://example.com:80"]),
            ("example.com:443", &["https://example.com"], &["http://example.com"]),
            ("10.0.0.0/8, fd00::/8", &["http://10.1.2.3", "http://[fd00::1]"], &["http://11.0.0.1", "http://ten"]),
            ("192.0.2.1", &["http://192.0.2.1:99"], &["http://192.0.2.2"]),
            ("192.0.2.1:99", &["http://192.0.2.1:99"], &["http://192.0.2.1"]),
            ("2001:db8::1", &["http://[2001:db8::1]"], &["http://[2001:db8::2]"]),
            ("[2001:db8::1]:80", &["http://[2001:db8::1]"], &["https://[2001:db8::1]"]),
            ("*", &["http://a", "http://192.0.2.1"], &[]),
            (" , ,x:y,.", &[], &["http://x", "http://y"]),
        ] {
            let variables = [("HTTPS_PROXY", "p"), ("HTTP_PROXY", "p"), ("no_proxy", except)];
            for url in direct {
                assert_eq!(choice(&variables, url), None, "{except} {url}");
            }
            for url in proxied {
                assert!(choice(&variables, url).is_some(), "{except} {url}");
            }
        }
    }

    #[test]
    fn what_is_no_proxy_is_reported_without_its_password() {
        for value in ["ftp://me:s3cret@p", "http://me:s3cret@", "me:s3cret@p:port", "socks4://p"] {
            let error = proxies(&[("HTTPS_PROXY", value)]).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Configuration);
            assert!(error.context.contains("HTTPS_PROXY") && !error.chain().contains("s3cret"), "{error}");
        }
        let shown = format!("{:?}", proxies(&[("HTTPS_PROXY", "http://me:s3cret@p")]).unwrap());
        assert!(shown.contains("http://p/") && !shown.contains("s3cret"), "{shown}");
    }

    proptest! {
        #[test]
        fn any_environment_gives_an_answer(https in ".{0,30}", except in ".{0,40}", host in "[a-z0-9.:\\[\\]]{1,20}") {
            if let Ok(proxies) = proxies(&[("HTTPS_PROXY", &https), ("NO_PROXY", &except)])
                && let Ok(url) = Url::parse(&format!("https://{host}/")) {
                let _ = proxies.proxy_for(&url);
            }
        }
    }
}
