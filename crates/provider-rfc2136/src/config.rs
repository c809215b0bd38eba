//! Flags and secrets, parsed once.
//!
//! In: [`ProviderConfig`]. Out: [`Config`], or an error that names the flag and says what was expected. An instance that is
//! configured by an object gives server, zone and key as secrets instead; those beat the flags.

use std::sync::Arc;
use std::time::Duration;

use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use base64::{DecodeError, Engine as _};
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use zonewright_core::catalog::{FlagFeature, FlagKind, FlagSpec, ProviderConfig, Settings};
use zonewright_core::zone::InstanceId;
use zonewright_core::{DnsName, Error, ErrorKind, Ttl};

use crate::identity::Identity;
use crate::servers::Strategy;
use crate::stream::Tls;
use crate::tls::{self, TlsFiles};
use crate::tsig::{Algorithm, TsigKey};

/// The flags of this provider.
pub const FLAGS: &[FlagSpec] = &[
    FlagSpec::new("rfc2136-host", FlagKind::List, "DNS server to update and read, a name or an address; repeatable"),
    FlagSpec::new("rfc2136-port", FlagKind::Int, "Port of the DNS servers; 0 is 53, or 853 with --rfc2136-use-tls")
        .or("0"),
    FlagSpec::new("rfc2136-zone", FlagKind::List, "Zone to manage; repeatable, at least one"),
    FlagSpec::new("rfc2136-insecure", FlagKind::Bool, "Send unsigned requests").or("false"),
    FlagSpec::new("rfc2136-tsig-keyname", FlagKind::Text, "Name of the TSIG key"),
    FlagSpec::new("rfc2136-tsig-secret", FlagKind::Secret, "Secret of the TSIG key, base64"),
    FlagSpec::new(
        "rfc2136-tsig-secret-alg",
        FlagKind::Text,
        "Algorithm of the TSIG key: hmac-md5, hmac-sha1, hmac-sha224, hmac-sha256 (if unset), hmac-sha384 or hmac-sha512",
    ),
    FlagSpec::new("rfc2136-axfr", FlagKind::Bool, "Accepted for compatibility: zones are always read by transfer")
        .or("false"),
    FlagSpec::new("rfc2136-tsig-axfr", FlagKind::Bool, "Deprecated: use --rfc2136-axfr")
        .or("false")
        .renamed_to("rfc2136-axfr"),
    FlagSpec::new(
        "rfc2136-min-ttl",
        FlagKind::Duration,
        "Smallest TTL; smaller wanted ones are raised, unset ones become it",
    )
    .or("0s"),
    FlagSpec::new(
        "rfc2136-full-transfer-interval",
        FlagKind::Duration,
        "How often a zone is transferred as a whole though its SOA says that nothing changed, give or take a tenth; 0s is never",
    )
    .or("24h"),
    FlagSpec::new("rfc2136-gss-tsig", FlagKind::Bool, "Sign updates by Kerberos (GSS-TSIG)").or("false").needs(FlagFeature {
        name: "rfc2136-gss-tsig",
        is_built: cfg!(feature = "gss-tsig"),
        remedy: "use the image that deploy/Dockerfile makes with --target kerberos, or sign with a TSIG key",
    }),
    FlagSpec::new("rfc2136-kerberos-username", FlagKind::Text, "Kerberos user, without the realm"),
    FlagSpec::new("rfc2136-kerberos-password", FlagKind::Secret, "Kerberos password"),
    FlagSpec::new("rfc2136-kerberos-realm", FlagKind::Text, "Kerberos realm; taken in capitals"),
    FlagSpec::new(
        "rfc2136-batch-change-size",
        FlagKind::Int,
        "Most changes in one UPDATE message; unless it is given, up to 1000 that fit",
    )
    .or("50"),
    FlagSpec::new("rfc2136-use-tls", FlagKind::Bool, "Talk DNS over TLS").or("false"),
    FlagSpec::new("rfc2136-skip-tls-verify", FlagKind::Bool, "Do not check the server's certificate").or("false"),
    FlagSpec::new(
        "rfc2136-load-balancing-strategy",
        FlagKind::Choice(&["disabled", "round-robin", "random"]),
        "Which of several servers is asked first: the one that worked last, each in turn, or any",
    )
    .or("disabled"),
    FlagSpec::new("tls-ca", FlagKind::Text, "File with the certificate authorities to trust, PEM"),
    FlagSpec::new("tls-client-cert", FlagKind::Text, "File with the client certificate, PEM"),
    FlagSpec::new("tls-client-cert-key", FlagKind::Text, "File with the client certificate's private key, PEM"),
];

/// The keys of a Secret that holds server, zone and TSIG key: the spelling of Gardener's DNS controller manager, and that
/// of its community extension.
pub const SECRET_KEYS: &[&str] = &[
    "Server",
    "Zone",
    "TSIGKeyName",
    "TSIGSecret",
    "TSIGSecretAlgorithm",
    "server",
    "zone",
    "tsigKeyName",
    "tsigSecret",
    "algorithm",
];

/// Refuses flags that contradict each other, in the words of external-dns.
///
/// # Errors
/// The first contradiction.
pub(crate) fn check(settings: &Settings) -> Result<(), String> {
    let kerberos = settings.bool("rfc2136-gss-tsig");
    let complete = !settings.text("rfc2136-kerberos-realm").is_empty()
        && !settings.text("rfc2136-kerberos-username").is_empty()
        && settings.secret("rfc2136-kerberos-password").is_some();
    let problem = if settings.is_negative("rfc2136-min-ttl") {
        NEGATIVE_TTL
    } else if settings.bool("rfc2136-insecure") && kerberos {
        "--rfc2136-insecure and --rfc2136-gss-tsig are mutually exclusive arguments"
    } else if kerberos && !complete {
        "--rfc2136-gss-tsig needs --rfc2136-kerberos-realm, --rfc2136-kerberos-username and --rfc2136-kerberos-password"
    } else if settings.int("rfc2136-batch-change-size") < 1 {
        SMALL_BATCH
    } else {
        return Ok(());
    };
    Err(problem.to_owned())
}

const NEGATIVE_TTL: &str = "TTL specified for rfc2136 is negative";
const SMALL_BATCH: &str = "batch size specified for rfc2136 cannot be less than 1";

/// Changes in one message where no number is given; the length of the message mostly ends it sooner.
pub(crate) const USUAL_BATCH: usize = 1_000;

/// What secrets are written in.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// A parsed configuration.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) instance: InstanceId,
    pub(crate) hosts: Vec<Host>,
    pub(crate) zones: Vec<DnsName>,
    pub(crate) identity: Identity,
    pub(crate) min_ttl: Ttl,
    /// How often zones are transferred as a whole; zero is never.
    pub(crate) period: Duration,
    pub(crate) batch: usize,
    pub(crate) strategy: Strategy,
}

/// Where a server is.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) port: u16,
    pub(crate) tls: Option<Tls>,
}

impl Config {
    /// Parses flags and secrets.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] with the flag's name.
    pub(crate) fn parse(from: &ProviderConfig) -> Result<Self, Error> {
        let settings = &from.settings;
        Ok(Self {
            instance: from.instance.clone(),
            hosts: hosts(from)?,
            zones: zones(from)?,
            identity: identity(from)?,
            min_ttl: min_ttl(settings)?,
            period: period(settings)?,
            batch: batch(settings)?,
            strategy: strategy(settings)?,
        })
    }
}

fn wrong(context: impl Into<String>) -> Error {
    Error::new(ErrorKind::Configuration, "configure rfc2136", context)
}

/// Who this host is to the servers.
fn identity(from: &ProviderConfig) -> Result<Identity, Error> {
    match (from.settings.bool("rfc2136-gss-tsig"), from.settings.bool("rfc2136-insecure")) {
        (true, true) => Err(wrong("--rfc2136-insecure and --rfc2136-gss-tsig are mutually exclusive arguments")),
        (true, false) => kerberos(&from.settings),
        (false, true) => Ok(Identity::Nobody),
        (false, false) => key(from).map(Identity::TsigKey),
    }
}

#[cfg(feature = "gss-tsig")]
fn kerberos(settings: &Settings) -> Result<Identity, Error> {
    use crate::gss::{Kerberos, Login};
    let [realm, user] = ["rfc2136-kerberos-realm", "rfc2136-kerberos-username"].map(|flag| settings.text(flag).trim());
    let password = settings.secret("rfc2136-kerberos-password");
    let (false, false, Some(password)) = (realm.is_empty(), user.is_empty(), password) else {
        return Err(wrong(
            "--rfc2136-gss-tsig needs --rfc2136-kerberos-realm, --rfc2136-kerberos-username and \
             --rfc2136-kerberos-password",
        ));
    };
    let login = Login::new(realm, user, password.clone());
    Ok(Identity::Kerberos(Kerberos::new(Arc::new(login))))
}

#[cfg(not(feature = "gss-tsig"))]
fn kerberos(_: &Settings) -> Result<Identity, Error> {
    Err(wrong(
        "--rfc2136-gss-tsig is not compiled into this build: build it with the Cargo feature rfc2136-gss-tsig, or use the \
         image's target `kerberos`; or use a TSIG key (--rfc2136-tsig-keyname and others)",
    ))
}

/// The secret of the first of `keys` that holds one.
fn secret<'a>(from: &'a ProviderConfig, keys: &[&str]) -> Option<&'a SecretString> {
    keys.iter().filter_map(|key| from.credentials.get(*key)).find(|secret| !secret.expose_secret().trim().is_empty())
}

/// A credential that is no secret, or else the value of a text flag.
fn text(from: &ProviderConfig, keys: &[&str], flag: &str) -> String {
    let given = secret(from, keys).map(|secret| secret.expose_secret().trim().to_owned());
    given.unwrap_or_else(|| from.settings.text(flag).trim().to_owned())
}

fn hosts(from: &ProviderConfig) -> Result<Vec<Host>, Error> {
    let settings = &from.settings;
    let given = match secret(from, &["Server", "server"]) {
        Some(server) => vec![server.expose_secret().trim().to_owned()],
        None => settings.nonempty("rfc2136-host"),
    };
    if given.is_empty() {
        return Err(wrong("--rfc2136-host is not given; expected the name or address of a DNS server"));
    }
    let connector = if settings.bool("rfc2136-use-tls") {
        let files = TlsFiles {
            ca: settings.text("tls-ca"),
            certificate: settings.text("tls-client-cert"),
            key: settings.text("tls-client-cert-key"),
            skip_verify: settings.bool("rfc2136-skip-tls-verify"),
        };
        Some(tls::connector(&files).map_err(wrong)?)
    } else {
        None
    };
    let default = match settings.int("rfc2136-port") {
        0 if connector.is_some() => 853,
        0 => 53,
        port => u16::try_from(port).map_err(|_| wrong(format!("--rfc2136-port {port}; expected 1 to 65535")))?,
    };
    let host = |text: &String| {
        let (name, port) = host_and_port(text, default)?;
        let with_name = |connector| tls::server_name(&name).map(|name| Tls { connector, name });
        Ok(Host { tls: connector.clone().map(with_name).transpose().map_err(wrong)?, name, port })
    };
    given.iter().map(host).collect()
}

/// Parts `host`, `host:port`, `[address]` and `[address]:port`; a bare IPv6 address has no port.
fn host_and_port(text: &str, default: u16) -> Result<(String, u16), Error> {
    let bad = || wrong(format!("--rfc2136-host {text:?}; expected a name or an address, with :PORT if needed"));
    let text = text.trim();
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, tail) = rest.split_once(']').ok_or_else(bad)?;
            (address, if tail.is_empty() { None } else { Some(tail.strip_prefix(':').ok_or_else(bad)?) })
        }
        None => match text.split_once(':') {
            Some((name, port)) if !port.contains(':') => (name, Some(port)),
            _ => (text, None),
        },
    };
    let is_ok = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '/');
    let port = port.map_or(Ok(default), |port| port.parse().map_err(|_| bad()))?;
    if is_ok && port > 0 { Ok((name.trim_end_matches('.').to_owned(), port)) } else { Err(bad()) }
}

/// Each zone once. Unlike external-dns, no zone at all does not mean the root: nothing could be read then.
fn zones(from: &ProviderConfig) -> Result<Vec<DnsName>, Error> {
    let given = match secret(from, &["Zone", "zone"]) {
        Some(zone) => vec![zone.expose_secret().trim().to_owned()],
        None => from.settings.nonempty("rfc2136-zone"),
    };
    let mut zones: Vec<DnsName> = Vec::new();
    for text in given {
        let zone = DnsName::parse(text.trim()).map_err(|error| wrong(format!("--rfc2136-zone: {error}")))?;
        if !zone.is_root() && !zones.contains(&zone) {
            zones.push(zone);
        }
    }
    if zones.is_empty() {
        return Err(wrong("--rfc2136-zone is not given, or only the root; name each zone that is to be managed"));
    }
    Ok(zones)
}

fn key(from: &ProviderConfig) -> Result<Arc<TsigKey>, Error> {
    let name = text(from, &["TSIGKeyName", "tsigKeyName"], "rfc2136-tsig-keyname");
    let secret = secret(from, &["TSIGSecret", "tsigSecret"]).or_else(|| from.settings.secret("rfc2136-tsig-secret"));
    let (false, Some(secret)) = (name.is_empty(), secret) else {
        return Err(wrong(
            "--rfc2136-tsig-keyname and --rfc2136-tsig-secret are needed, unless --rfc2136-insecure is given",
        ));
    };
    let algorithm = text(from, &["TSIGSecretAlgorithm", "algorithm"], "rfc2136-tsig-secret-alg");
    let algorithm = if algorithm.is_empty() { Some(Algorithm::Sha256) } else { Algorithm::parse(&algorithm) }
        .ok_or_else(|| {
            wrong(format!(
                "--rfc2136-tsig-secret-alg {algorithm:?} is not supported TSIG algorithm; expected {}",
                Algorithm::names()
            ))
        })?;
    let name = DnsName::parse(&name).map_err(|error| wrong(format!("--rfc2136-tsig-keyname: {error}")))?;
    // The cause is left out: it quotes bytes of the secret.
    let bytes = decode(secret).map_err(|_| wrong("--rfc2136-tsig-secret is not base64"))?;
    Ok(Arc::new(TsigKey { name, algorithm, secret: SecretSlice::from(bytes) }))
}

/// Reads base64 as Go does, and so external-dns: over line breaks (`openssl rand -base64` makes some) and whatever the last bits are.
fn decode(secret: &SecretString) -> Result<Vec<u8>, DecodeError> {
    let text: String = secret.expose_secret().trim().chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    BASE64.decode(SecretString::from(text).expose_secret())
}

fn min_ttl(settings: &Settings) -> Result<Ttl, Error> {
    if settings.is_negative("rfc2136-min-ttl") {
        return Err(wrong(format!("--rfc2136-min-ttl: {NEGATIVE_TTL}")));
    }
    let seconds = u32::try_from(settings.duration("rfc2136-min-ttl").as_secs()).ok().and_then(Ttl::from_secs);
    seconds.ok_or_else(|| wrong(format!("--rfc2136-min-ttl is longer than {} s", Ttl::MAX)))
}

fn period(settings: &Settings) -> Result<Duration, Error> {
    if settings.is_negative("rfc2136-full-transfer-interval") {
        return Err(wrong(
            "--rfc2136-full-transfer-interval is negative; expected a time such as 24h, or 0s for never",
        ));
    }
    Ok(settings.duration("rfc2136-full-transfer-interval"))
}

/// Messages as large as external-dns sends them make a start with many new names several times slower, so the default holds
/// only for those who ask for it.
fn batch(settings: &Settings) -> Result<usize, Error> {
    if !settings.given("rfc2136-batch-change-size") {
        return Ok(USUAL_BATCH);
    }
    let size = usize::try_from(settings.int("rfc2136-batch-change-size")).unwrap_or(0);
    if size < 1 {
        return Err(wrong(format!("--rfc2136-batch-change-size: {SMALL_BATCH}")));
    }
    Ok(size)
}

fn strategy(settings: &Settings) -> Result<Strategy, Error> {
    match settings.text("rfc2136-load-balancing-strategy") {
        "" | "disabled" => Ok(Strategy::Disabled),
        "round-robin" => Ok(Strategy::RoundRobin),
        "random" => Ok(Strategy::Random),
        other => {
            Err(wrong(format!("--rfc2136-load-balancing-strategy {other:?}; expected disabled, round-robin or random")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_read_as_external_dns_reads_them() {
        for (text, expected) in [
            ("c2VjcmV0", Some("secret")),
            (" c2VjcmV0\n", Some("secret")),
            ("c2Vj\ncmV0\n", Some("secret")),
            ("c2Vj\r\ncmV0\r\n", Some("secret")),
            ("c2VjcmV0cw==", Some("secrets")),
            ("c2VjcmV0cx==", Some("secrets")),
            ("c2VjcmV0cw", None),
            ("c2Vj cmV0", None),
            ("not base64!", None),
        ] {
            let bytes = decode(&SecretString::from(text)).ok();
            assert_eq!(bytes.as_deref(), expected.map(str::as_bytes), "{text:?}");
        }
    }
}
