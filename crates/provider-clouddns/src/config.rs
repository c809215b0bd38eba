//! Flags, parsed once.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use secrecy::ExposeSecret as _;
use zonewright_core::catalog::{FlagKind, FlagSpec, ProviderConfig, Settings};
use zonewright_core::filter::DomainFilter;
use zonewright_core::zone::{InstanceId, Visibility};
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_http::Rate;
use zonewright_http::oauth::TokenWay;

use crate::credentials::Access;
use crate::metadata::Metadata;
use crate::zones::Selection;

/// The flags of this provider.
pub const FLAGS: &[FlagSpec] = &[
    FlagSpec::new("google-project", FlagKind::Text, "Project of the zones; empty: as the metadata server says"),
    FlagSpec::new("google-batch-change-size", FlagKind::Int, "Maximum number of changes in one batch; 0: no limit")
        .or("1000"),
    FlagSpec::new("google-batch-change-interval", FlagKind::Duration, "Pause between batches of one zone").or("1s"),
    FlagSpec::new(
        "google-zone-visibility",
        FlagKind::Choice(&["", "public", "private"]),
        "Visibility of the zones; empty: both",
    ),
    FlagSpec::new("google-api-qps", FlagKind::Int, "Requests a second to the service, of one user; 0: no limit")
        .or("10"),
    FlagSpec::new("zone-id-filter", FlagKind::List, "Only zones whose id or name ends like this; repeatable"),
];

/// Keys of a Secret: a key file of any kind, or a token; another address of the service.
pub const SECRET_KEYS: &[&str] = &["credentials", "accessToken", "endpoint"];

/// Where the service is.
const ROOT: &str = "https://dns.googleapis.com";
/// The variable that names another place, as in the vendor's own tool.
const ROOT_VARIABLE: &str = "CLOUDSDK_API_ENDPOINT_OVERRIDES_DNS";
/// The version of the interface.
const VERSION: &str = "dns/v1";
/// Changes of a batch where the flag sets no limit: the project's own does.
const UNLIMITED: usize = 100_000;

/// A parsed configuration.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) instance: InstanceId,
    pub(crate) access: Arc<Access>,
    pub(crate) metadata: Arc<Metadata>,
    /// The service's address, with its version.
    pub(crate) base: String,
    /// The project, where it is stated.
    pub(crate) project: Option<String>,
    pub(crate) selection: Selection,
    pub(crate) pace: Pace,
}

/// How much at once, and how fast.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Changes in a batch, as far as the project allows.
    pub(crate) batch: usize,
    /// From one batch to the next.
    pub(crate) interval: Duration,
    /// Requests a second; 0 is without limit.
    pub(crate) qps: u32,
}

impl Default for Pace {
    /// As the flags have it.
    fn default() -> Self {
        Self { batch: 1_000, interval: Duration::from_secs(1), qps: 10 }
    }
}

impl Pace {
    /// The service counts the requests of a minute: a twelfth of them may go at once, the rest is spread evenly.
    pub(crate) fn rate(self) -> Option<Rate> {
        let all = self.qps.saturating_mul(60);
        let burst = NonZeroU32::new(all / 12)?;
        let requests = NonZeroU32::new(all - burst.get())?;
        Some(Rate { requests, period: Duration::from_mins(1), burst })
    }
}

/// Checks flags before anything is built.
///
/// # Errors
/// A sentence that names the flag.
pub(crate) fn check(settings: &Settings) -> Result<(), String> {
    for flag in ["google-batch-change-size", "google-api-qps"] {
        let number = settings.int(flag);
        if number < 0 {
            return Err(format!("--{flag}={number}: expected 0 or more"));
        }
    }
    let project = settings.text("google-project").trim();
    let is_project = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:".contains(&byte);
    if !project.bytes().all(is_project) {
        return Err(format!("--google-project={project:?}: expected the id of a project, such as my-project-123"));
    }
    filter(settings).map(drop)
}

impl Config {
    /// Parses flags and secrets. `variable` reads the environment.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] with the flag's or variable's name.
    pub(crate) fn parse(from: &ProviderConfig, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let settings = &from.settings;
        check(settings).map_err(bad)?;
        let given = |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let root = given(from.credentials.get("endpoint").map(|url| url.expose_secret().to_owned()))
            .or_else(|| given(variable(ROOT_VARIABLE)))
            .unwrap_or_else(|| ROOT.to_owned());
        let way = TokenWay::of(&from.shared)?;
        let metadata = Arc::new(Metadata::new(given(variable(crate::metadata::HOST)), way.clone()));
        let batch = usize::try_from(settings.int("google-batch-change-size")).ok().filter(|size| *size > 0);
        Ok(Self {
            instance: from.instance.clone(),
            access: Arc::new(Access::find(&from.credentials, variable, way, metadata.clone())?),
            metadata,
            base: format!("{}/{VERSION}", root.trim_end_matches('/')),
            project: given(Some(settings.text("google-project").to_owned())),
            selection: Selection {
                ids: settings.nonempty("zone-id-filter").iter().map(|id| id.trim().to_owned()).collect(),
                visibility: match settings.text("google-zone-visibility") {
                    "public" => Some(Visibility::Public),
                    "private" => Some(Visibility::Private),
                    _ => None,
                },
                filter: filter(settings).map_err(bad)?,
            },
            pace: Pace {
                batch: batch.unwrap_or(UNLIMITED),
                interval: settings.duration("google-batch-change-interval"),
                qps: u32::try_from(settings.int("google-api-qps")).unwrap_or(u32::MAX),
            },
        })
    }
}

fn filter(settings: &Settings) -> Result<DomainFilter, String> {
    let (include, exclude) = (settings.list("domain-filter"), settings.list("exclude-domains"));
    let (regex, regex_exclude) = (settings.text("regex-domain-filter"), settings.text("regex-domain-exclusion"));
    DomainFilter::new(include, exclude, regex, regex_exclude).map_err(|error| error.to_string())
}

fn bad(context: String) -> Error {
    Error::new(ErrorKind::Configuration, "configure the google provider", context)
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
