//! Flags, parsed once.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use zonewright_core::catalog::{FlagKind, FlagSpec, ProviderConfig, Settings};
use zonewright_core::filter::DomainFilter;
use zonewright_core::zone::InstanceId;
use zonewright_core::{Error, ErrorKind};
use zonewright_http::Rate;

use crate::credentials::{Access, EMAIL, Found, KEY, TOKEN};

/// The flags of this provider.
pub const FLAGS: &[FlagSpec] = &[
    FlagSpec::new("cloudflare-proxied", FlagKind::Bool, "Proxy records whose object does not say"),
    FlagSpec::new("cloudflare-custom-hostnames", FlagKind::Bool, "Manage custom host names"),
    FlagSpec::new(
        "cloudflare-custom-hostnames-min-tls-version",
        FlagKind::Choice(&["1.0", "1.1", "1.2", "1.3"]),
        "Least TLS version of custom host names",
    )
    .or("1.0"),
    FlagSpec::new(
        "cloudflare-custom-hostnames-certificate-authority",
        FlagKind::Choice(&["google", "ssl_com", "lets_encrypt", "none"]),
        "Authority of their certificates; none: Cloudflare's choice",
    )
    .or("none"),
    FlagSpec::new(
        "cloudflare-dns-records-per-page",
        FlagKind::Int,
        "Records on one page of a listing, at most 5000; 0: Cloudflare's choice",
    )
    // External-dns asks for 100: fifty times the requests for a large zone.
    .or("5000"),
    FlagSpec::new("cloudflare-regional-services", FlagKind::Bool, "Manage regional host names"),
    FlagSpec::new("cloudflare-region-key", FlagKind::Text, "Region of records whose object does not say"),
    FlagSpec::new("cloudflare-record-comment", FlagKind::Text, "Comment of records whose object does not say"),
    FlagSpec::new("cloudflare-api-qps", FlagKind::Int, "Requests a second to the service, of one user; 0: no limit")
        .or("4"),
    FlagSpec::new("batch-change-size", FlagKind::Int, "Maximum number of changes in one batch").or("200"),
    FlagSpec::new("batch-change-interval", FlagKind::Duration, "Pause between batches of one zone").or("1s"),
    FlagSpec::new("zone-id-filter", FlagKind::List, "Only the zones with these ids; repeatable"),
];

/// Keys of a Secret: a token, or a key and its user's address; another address of the service.
pub const SECRET_KEYS: &[&str] = &["apiToken", "apiKey", "email", "endpoint"];

/// Where the service is.
const BASE: &str = "https://api.cloudflare.com/client/v4";
/// The variable that names another place, as in the vendor's own clients.
const BASE_VARIABLE: &str = "CLOUDFLARE_BASE_URL";
/// Most records on a page that a flag can ask for.
const LARGEST_PAGE: i64 = 5_000;
/// The time over which the service counts requests, in seconds.
const WINDOW: u32 = 300;

/// What is done of custom host names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hostnames {
    /// The least TLS version, such as `1.2`.
    pub(crate) min_tls: String,
    /// The authority of certificates, where one is chosen.
    pub(crate) authority: Option<String>,
}

/// What holds where objects say nothing, and what is done beside records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Defaults {
    pub(crate) proxied: bool,
    pub(crate) comment: String,
    /// Absent where custom host names are not managed.
    pub(crate) hostnames: Option<Hostnames>,
    /// The region of records whose object does not say, maybe empty; absent where regions are not managed.
    pub(crate) region: Option<String>,
}

/// A parsed configuration.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) instance: InstanceId,
    pub(crate) access: Arc<Access>,
    /// The service's address.
    pub(crate) base: String,
    /// Zones by their ids, in place of a list of all.
    pub(crate) ids: Vec<String>,
    pub(crate) filter: DomainFilter,
    /// Records on a page, where it is said.
    pub(crate) page: Option<u64>,
    pub(crate) pace: Pace,
    pub(crate) defaults: Defaults,
}

/// How much at once, and how fast.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Changes in a batch, as far as the plan allows.
    pub(crate) batch: usize,
    /// From one batch to the next.
    pub(crate) interval: Duration,
    /// Requests a second; 0 is without limit.
    pub(crate) qps: u32,
}

impl Pace {
    /// The service counts requests over five minutes: a twelfth of them may go at once, the rest is spread evenly, so that no
    /// window of five minutes has more than the whole.
    pub(crate) fn rate(self) -> Option<Rate> {
        let all = self.qps.saturating_mul(WINDOW);
        let burst = NonZeroU32::new(all / 12)?;
        let requests = NonZeroU32::new(all - burst.get())?;
        Some(Rate { requests, period: Duration::from_secs(u64::from(WINDOW)), burst })
    }

    /// From one request to the next, where many wait; nothing where there is no limit.
    pub(crate) fn turn(self) -> Duration {
        self.rate().and_then(|rate| rate.period.checked_div(rate.requests.get())).unwrap_or_default()
    }
}

/// Checks flags before anything is built.
///
/// # Errors
/// A sentence that names the flag.
pub(crate) fn check(settings: &Settings) -> Result<(), String> {
    let page = settings.int("cloudflare-dns-records-per-page");
    if page > LARGEST_PAGE {
        return Err(format!("--cloudflare-dns-records-per-page={page}: expected at most {LARGEST_PAGE}"));
    }
    let batch = settings.int("batch-change-size");
    if batch < 1 {
        return Err(format!("--batch-change-size={batch}: expected at least 1"));
    }
    let qps = settings.int("cloudflare-api-qps");
    if qps < 0 {
        return Err(format!("--cloudflare-api-qps={qps}: expected 0 or more"));
    }
    filter(settings).map(drop)
}

impl Config {
    /// Parses flags and secrets. `variable` reads the environment.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] with the flag's or variable's name.
    pub(crate) fn parse(from: &ProviderConfig, variable: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let settings = &from.settings;
        check(settings).map_err(bad)?;
        let base = from.credentials.get("endpoint").map(|url| url.expose_secret().trim().to_owned());
        let base = base.or_else(|| variable(BASE_VARIABLE)).filter(|url| !url.trim().is_empty());
        let region = settings.text("cloudflare-region-key").trim().to_owned();
        let regional = settings.bool("cloudflare-regional-services") || !region.is_empty();
        let hostnames = settings.bool("cloudflare-custom-hostnames").then(|| Hostnames {
            min_tls: settings.text("cloudflare-custom-hostnames-min-tls-version").to_owned(),
            authority: Some(settings.text("cloudflare-custom-hostnames-certificate-authority").to_owned())
                .filter(|authority| !matches!(authority.as_str(), "" | "none")),
        });
        Ok(Self {
            instance: from.instance.clone(),
            access: Arc::new(access(from, variable)?),
            base: base.unwrap_or_else(|| BASE.to_owned()),
            ids: settings.nonempty("zone-id-filter").iter().map(|id| id.trim().to_owned()).collect(),
            filter: filter(settings).map_err(bad)?,
            page: u64::try_from(settings.int("cloudflare-dns-records-per-page")).ok().filter(|page| *page > 0),
            pace: Pace {
                batch: usize::try_from(settings.int("batch-change-size")).unwrap_or(1).max(1),
                interval: settings.duration("batch-change-interval"),
                qps: u32::try_from(settings.int("cloudflare-api-qps")).unwrap_or(u32::MAX),
            },
            defaults: Defaults {
                proxied: settings.bool("cloudflare-proxied"),
                comment: settings.text("cloudflare-record-comment").to_owned(),
                hostnames,
                region: regional.then_some(region),
            },
        })
    }
}

/// Credentials of a Secret, else of the environment.
fn access(from: &ProviderConfig, variable: impl Fn(&str) -> Option<String>) -> Result<Access, Error> {
    let secret = |key: &str| from.credentials.get(key).cloned();
    let access = if from.credentials.keys().any(|key| key != "endpoint") {
        let found = Found { token: secret("apiToken"), key: secret("apiKey"), email: secret("email") };
        Access::of(found, ["the Secret's apiToken", "the Secret's apiKey", "the Secret's email"])?
    } else {
        let text = |name| variable(name).map(SecretString::from);
        Access::of(Found { token: text(TOKEN), key: text(KEY), email: text(EMAIL) }, [TOKEN, KEY, EMAIL])?
    };
    access.check()?;
    Ok(access)
}

fn filter(settings: &Settings) -> Result<DomainFilter, String> {
    let (include, exclude) = (settings.list("domain-filter"), settings.list("exclude-domains"));
    let (regex, regex_exclude) = (settings.text("regex-domain-filter"), settings.text("regex-domain-exclusion"));
    DomainFilter::new(include, exclude, regex, regex_exclude).map_err(|error| error.to_string())
}

fn bad(context: String) -> Error {
    Error::new(ErrorKind::Configuration, "configure the cloudflare provider", context)
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
