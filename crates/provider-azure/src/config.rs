//! Flags and `azure.json`, parsed once; credentials are read anew from the file later.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use zonewright_core::catalog::{FlagKind, FlagSpec, ProviderConfig, Settings};
use zonewright_core::filter::DomainFilter;
use zonewright_core::zone::InstanceId;
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_http::oauth::TokenWay;

use crate::arm::Kind;
use crate::credentials::{Access, READ, Source};
use crate::file;
use crate::identity::{Variables, read};
use crate::token::Issuers;
use crate::zones::Selection;

/// The flags of this provider.
pub const FLAGS: &[FlagSpec] = &[
    FlagSpec::new("azure-config-file", FlagKind::Text, "Path of azure.json").or("/etc/kubernetes/azure.json"),
    FlagSpec::new(
        "azure-resource-group",
        FlagKind::Text,
        "Resource group in place of the file's; *: every one of the subscription",
    ),
    FlagSpec::new("azure-subscription-id", FlagKind::Text, "Subscription in place of the file's"),
    FlagSpec::new("azure-user-assigned-identity-client-id", FlagKind::Text, "Client id of the managed identity"),
    FlagSpec::new("azure-zones-cache-duration", FlagKind::Duration, "How long the list of zones is kept").or("0s"),
    FlagSpec::new("azure-maxretries-count", FlagKind::Int, "Repeats of a failed call; negative: none").or("3"),
    FlagSpec::new(
        "azure-api-qps",
        FlagKind::Int,
        "Writes a second, of one principal; reads 2.5 times that; 0: no limit",
    )
    .or("10"),
    FlagSpec::new("zone-id-filter", FlagKind::List, "Only zones whose id or name ends like this; repeatable"),
    FlagSpec::new("zone-name-filter", FlagKind::List, "Also zones of these names, whatever the other filters say"),
];

/// Keys of a Secret: the text of `azure.json`, or a token; another address of the service.
pub const SECRET_KEYS: &[&str] = &["azure.json", "accessToken", "endpoint"];

/// Repeats of a failed call where the flag says 0, as the vendor's own clients have it.
const REPEATS: i64 = 3;

/// A parsed configuration.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) instance: InstanceId,
    pub(crate) kind: Kind,
    pub(crate) access: Arc<Access>,
    /// Where requests go.
    pub(crate) endpoint: String,
    pub(crate) subscription: String,
    pub(crate) group: String,
    pub(crate) selection: Selection,
    /// How long the list of zones is kept.
    pub(crate) cache: Duration,
    /// Most attempts of a request.
    pub(crate) attempts: usize,
    /// Writes a second; 0 is without limit.
    pub(crate) qps: u32,
}

/// Checks flags before anything is built.
///
/// # Errors
/// A sentence that names the flag.
pub(crate) fn check(settings: &Settings) -> Result<(), String> {
    if settings.text("azure-config-file").trim().is_empty() {
        return Err("no Azure config file specified; expected --azure-config-file=PATH".to_owned());
    }
    let qps = settings.int("azure-api-qps");
    if qps < 0 {
        return Err(format!("--azure-api-qps={qps}: expected 0 or more"));
    }
    filter(settings).map(drop)
}

impl Config {
    /// Parses flags, file and secrets. `variable` reads the environment.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] with the flag's, file's or field's name.
    pub(crate) fn parse(from: &ProviderConfig, kind: Kind, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let settings = &from.settings;
        let secret = |key: &str| from.credentials.get(key).filter(|text| !text.expose_secret().trim().is_empty());
        let source = if let Some(token) = secret("accessToken") {
            let token = SecretString::from(token.expose_secret().trim());
            zonewright_http::Fixed::bearer(&token)
                .map_err(|_| bad("the Secret's accessToken has characters that a header cannot have".to_owned()))?;
            Source::Token(token)
        } else if let Some(text) = secret("azure.json") {
            Source::Text(text.clone())
        } else {
            check(settings).map_err(bad)?;
            Source::File(PathBuf::from(settings.text("azure-config-file").trim()))
        };
        let origin = source.origin();
        let unread = |why: String| bad(format!("failed to read Azure config file '{origin}': {why}"));
        let text = source.text().map_err(unread)?;
        let mut file = file::parse(text.expose_secret()).map_err(unread)?;
        if matches!(source, Source::Text(_)) && !file.names_cloud && settings.given("azure-config-file") {
            // A Secret without a cloud is of the cloud that the configuration of the process names.
            let path = settings.text("azure-config-file").trim();
            let unread = |why: String| bad(format!("failed to read Azure config file '{path}': {why}"));
            let text = read(Path::new(path)).map_err(unread)?;
            let of_process = file::parse(text.expose_secret()).map_err(unread)?;
            (file.cloud, file.names_cloud) = (of_process.cloud, of_process.names_cloud);
        }
        let stated = |flag: &str| Some(settings.text(flag).trim().to_owned()).filter(|text| !text.is_empty());
        let needed = |flag: &str, field: &str, of_file: Option<String>| {
            let text = stated(flag).or(of_file);
            text.ok_or_else(|| bad(format!("{field} is missing: expected --{flag}, or {field} in {origin}")))
        };
        let subscription = needed("azure-subscription-id", "subscriptionId", file.subscription)?;
        let group = needed("azure-resource-group", "resourceGroup", file.group)?;
        let variables = Variables::read(variable);
        let authority = variables.authority.clone().filter(|_| !file.names_cloud);
        let endpoint = secret("endpoint").map(|url| url.expose_secret().trim().trim_end_matches('/').to_owned());
        let endpoint = endpoint.unwrap_or_else(|| file.cloud.endpoint.clone());
        let metadata = variables.metadata.clone();
        let issuers = Issuers { cloud: file.cloud, authority, metadata, way: TokenWay::of(&from.shared)? };
        let assigned = stated("azure-user-assigned-identity-client-id");
        let access = Access::new(source, variables, assigned, issuers)
            .map_err(|why| Error::new(ErrorKind::Configuration, READ, why))?;
        Ok(Self {
            instance: from.instance.clone(),
            kind,
            access: Arc::new(access),
            endpoint,
            subscription,
            group,
            selection: Selection {
                ids: settings.nonempty("zone-id-filter").iter().map(|id| id.trim().to_ascii_lowercase()).collect(),
                filter: filter(settings).map_err(bad)?,
                names: names(settings).map_err(bad)?,
            },
            cache: settings.duration("azure-zones-cache-duration"),
            attempts: attempts(settings.int("azure-maxretries-count")),
            qps: u32::try_from(settings.int("azure-api-qps")).unwrap_or(u32::MAX),
        })
    }
}

/// Most attempts of a request, by the flag.
fn attempts(flag: i64) -> usize {
    let repeats = if flag == 0 { REPEATS } else { flag.max(0) };
    usize::try_from(repeats).unwrap_or(usize::MAX).saturating_add(1)
}

fn filter(settings: &Settings) -> Result<DomainFilter, String> {
    let (include, exclude) = (settings.list("domain-filter"), settings.list("exclude-domains"));
    let (regex, regex_exclude) = (settings.text("regex-domain-filter"), settings.text("regex-domain-exclusion"));
    DomainFilter::new(include, exclude, regex, regex_exclude).map_err(|error| error.to_string())
}

/// The zones that are named themselves, if any are.
fn names(settings: &Settings) -> Result<Option<DomainFilter>, String> {
    let names = settings.nonempty("zone-name-filter");
    if names.is_empty() {
        return Ok(None);
    }
    DomainFilter::new(settings.list("zone-name-filter"), &[], "", "").map(Some).map_err(|error| error.to_string())
}

fn bad(context: String) -> Error {
    Error::new(ErrorKind::Configuration, "configure the azure provider", context)
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
