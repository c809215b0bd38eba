//! What the server is configured with, and the flags that say so.

use std::net::SocketAddr;
use std::path::PathBuf;

use zonewright_core::DnsName;
use zonewright_core::catalog::{FlagKind, FlagSpec, Settings};
use zonewright_core::error::{Error, ErrorKind, Result};
use zonewright_core::zone::InstanceId;

/// Where the server listens unless a flag says otherwise.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:5353";

/// The flags of this provider.
pub const FLAGS: &[FlagSpec] = &[
    FlagSpec::new("local-zone", FlagKind::List, "Zone to create; repeatable"),
    FlagSpec::new(
        "local-listen",
        FlagKind::Text,
        "Listen address of the DNS server, UDP and TCP; port 0 selects a free one",
    )
    .or(DEFAULT_LISTEN),
    FlagSpec::new("local-dir", FlagKind::Text, "Folder of the zone files (NAME.zone); empty: zones are kept in memory"),
    FlagSpec::new(
        "inmemory-zone",
        FlagKind::List,
        "Same as --local-zone, for compatibility with external-dns; repeatable",
    ),
];

/// What a [`crate::Local`] is started with.
#[derive(Debug, Clone)]
pub struct LocalConfig {
    /// Name of the provider instance.
    pub instance: InstanceId,
    /// Zones that exist from the start, beside those with a file in `dir`.
    pub zones: Vec<DnsName>,
    /// Where to answer questions, UDP and TCP; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The folder of the zone files; `None` keeps the zones in memory.
    pub dir: Option<PathBuf>,
    /// Most records that the history of a zone keeps; reads since an older state list the zone.
    pub journal: usize,
}

impl Default for LocalConfig {
    /// No zones, in memory, on a free port of the loopback interface.
    fn default() -> Self {
        Self {
            instance: InstanceId::from("default"),
            zones: Vec::new(),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            dir: None,
            journal: 100_000,
        }
    }
}

impl LocalConfig {
    /// A configuration with these zones, in memory, on a free port of the loopback interface; for tests.
    ///
    /// # Errors
    /// If a name does not parse.
    pub fn with_zones<'a>(zones: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let zones = zones.into_iter().map(|zone| parse_zone("zone", zone)).collect::<Result<_>>()?;
        Ok(Self { zones, ..Self::default() })
    }

    /// Reads the flags of [`FLAGS`].
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] names the flag and what was expected.
    pub fn from_settings(instance: InstanceId, settings: &Settings) -> Result<Self> {
        let mut zones = Vec::new();
        for flag in ["local-zone", "inmemory-zone"] {
            for text in settings.nonempty(flag) {
                zones.push(parse_zone(flag, &text)?);
            }
        }
        zones.sort();
        zones.dedup();
        let listen = Some(settings.text("local-listen")).filter(|text| !text.is_empty()).unwrap_or(DEFAULT_LISTEN);
        let listen = listen.parse().map_err(|_| {
            bad(format!("--local-listen={listen:?}: expected an address and a port, such as {DEFAULT_LISTEN}"))
        })?;
        let dir = Some(settings.text("local-dir")).filter(|text| !text.is_empty()).map(PathBuf::from);
        Ok(Self { instance, zones, listen, dir, ..Self::default() })
    }
}

fn parse_zone(flag: &str, text: &str) -> Result<DnsName> {
    let name = DnsName::parse(text.trim()).map_err(|error| bad(format!("--{flag}={text:?}: {error}")))?;
    if name.is_wildcard() {
        return Err(bad(format!("--{flag}={text:?}: a zone cannot be a wildcard")));
    }
    Ok(name)
}

fn bad(context: String) -> Error {
    Error::new(ErrorKind::Configuration, "configure local provider", context)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonewright_core::catalog::FlagValue;

    fn config(values: &[(&'static str, FlagValue)]) -> Result<LocalConfig> {
        let mut settings = Settings::default();
        for (name, value) in values {
            settings.set(name, value.clone(), true);
        }
        LocalConfig::from_settings(InstanceId::from("i"), &settings)
    }

    fn list(words: &[&str]) -> FlagValue {
        FlagValue::List(words.iter().map(|w| (*w).to_owned()).collect())
    }

    #[test]
    fn both_zone_flags_are_read() {
        let config = config(&[("local-zone", list(&["B.test.", "a.test"])), ("inmemory-zone", list(&["", "a.test"]))]);
        let config = config.unwrap();
        assert_eq!(config.zones.iter().map(DnsName::as_str).collect::<Vec<_>>(), ["a.test", "b.test"]);
        assert_eq!((config.listen.to_string().as_str(), config.dir), (DEFAULT_LISTEN, None));
    }

    #[test]
    fn wrong_values_are_reported_with_their_flag() {
        for (flag, value, part) in [
            ("local-listen", FlagValue::Text("localhost".to_owned()), "address and a port"),
            ("local-zone", list(&["a..b"]), "--local-zone=\"a..b\""),
            ("inmemory-zone", list(&["*.b.test"]), "wildcard"),
        ] {
            let error = config(&[(flag, value)]).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Configuration);
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
