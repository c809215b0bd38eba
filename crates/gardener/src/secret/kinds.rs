//! The types of DNSRecords, each with its keys.

use std::collections::BTreeMap;
use std::path::Path;

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use zonewright_core::catalog::FlagValue;

use super::identity::Identity;
use super::{Login, SecretValues, ZoneScope, subscription_of};

/// Region of Route 53 where neither spec nor Secret says one, as with Gardener's own extension.
const AWS_REGION: &str = "us-west-2";

/// A type of DNSRecords.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProviderKind {
    /// Amazon Route 53.
    Route53,
    /// Google Cloud DNS.
    CloudDns,
    /// Azure DNS.
    AzureDns,
    /// Azure Private DNS.
    AzurePrivateDns,
    /// Cloudflare.
    Cloudflare,
    /// Servers that take dynamic updates.
    Rfc2136,
}

/// What a spec says beside the Secret.
#[derive(Debug, Clone, Copy, Default)]
pub struct SpecHints<'a> {
    /// `spec.region`.
    pub region: Option<&'a str>,
    /// `spec.zone`, else `status.zone`; or a zone that records were sent to before.
    pub zone: Option<&'a str>,
    /// Whether that zone is asked for by itself, so that the service answers for it and no list does in its place.
    pub alone: bool,
    /// Where tokens of workload identities are kept, and whose Secret this is: its namespace and name.
    pub tokens: Option<(&'a Path, &'a str)>,
}

impl ProviderKind {
    /// Every type that is handled.
    pub const ALL: [Self; 6] =
        [Self::Route53, Self::CloudDns, Self::AzureDns, Self::AzurePrivateDns, Self::Cloudflare, Self::Rfc2136];

    /// `spec.type`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Route53 => "aws-route53",
            Self::CloudDns => "google-clouddns",
            Self::AzureDns => "azure-dns",
            Self::AzurePrivateDns => "azure-private-dns",
            Self::Cloudflare => "cloudflare-dns",
            Self::Rfc2136 => "rfc2136",
        }
    }

    /// The type of this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// The provider's name in the catalogue.
    pub fn provider(self) -> &'static str {
        match self {
            Self::Route53 => "aws",
            Self::CloudDns => "google",
            Self::AzureDns => "azure",
            Self::AzurePrivateDns => "azure-private-dns",
            Self::Cloudflare => "cloudflare",
            Self::Rfc2136 => "rfc2136",
        }
    }

    /// Whether zones of this type are private.
    pub fn is_private(self) -> bool {
        self == Self::AzurePrivateDns
    }

    /// Whether it is one of Azure's.
    pub fn is_azure(self) -> bool {
        matches!(self, Self::AzureDns | Self::AzurePrivateDns)
    }

    /// What the provider is built from.
    ///
    /// # Errors
    /// Which key is missing or cannot be used, without its value.
    pub fn login(self, secret: &SecretValues, wanted: SpecHints<'_>) -> Result<Login, String> {
        let login = match self {
            Self::Route53 => route53(secret, wanted),
            Self::CloudDns => clouddns(secret, wanted),
            Self::AzureDns | Self::AzurePrivateDns => azure(secret, wanted),
            Self::Cloudflare => cloudflare(secret, wanted),
            Self::Rfc2136 => rfc2136(secret, wanted),
        };
        login.map_err(|problem| format!("{problem}; it is needed for records of type {}", self.as_str()))
    }
}

fn text(value: &str) -> FlagValue {
    FlagValue::Text(value.to_owned())
}

fn route53(secret: &SecretValues, wanted: SpecHints<'_>) -> Result<Login, String> {
    const ID: &[&str] = &["accessKeyID", "accessKeyId", "AWS_ACCESS_KEY_ID"];
    const KEY: &[&str] = &["secretAccessKey", "AWS_SECRET_ACCESS_KEY"];
    let region = wanted.region.or_else(|| secret.first(&["region", "AWS_REGION"])).unwrap_or(AWS_REGION);
    let region = ("region".to_owned(), SecretString::from(region));
    if secret.first(ID).is_none()
        && let Some(identity) = Identity::of(secret, wanted)?
    {
        return identity.route53(region);
    }
    let mut credentials = BTreeMap::from([
        ("accessKeyID".to_owned(), secret.needed(ID)?),
        ("secretAccessKey".to_owned(), secret.needed(KEY)?),
        region,
    ]);
    let others = [("sessionToken", &["sessionToken", "AWS_SESSION_TOKEN"][..]), ("roleARN", &["roleARN"][..])];
    for (key, names) in others {
        credentials.extend(secret.secret(names).map(|value| (key.to_owned(), value)));
    }
    Ok(Login { credentials, ..Login::default() })
}

fn clouddns(secret: &SecretValues, wanted: SpecHints<'_>) -> Result<Login, String> {
    const KEY: &str = "serviceaccount.json";
    if secret.first(&[KEY]).is_none()
        && let Some(identity) = Identity::of(secret, wanted)?
    {
        return identity.clouddns(wanted);
    }
    let credentials = secret.needed(&[KEY])?;
    let parsed = json_of(KEY, credentials.expose_secret())?;
    match parsed["type"].as_str().unwrap_or_default() {
        "service_account" => {}
        // It names a file or an address that is to be read, and whoever writes the Secret must not say which.
        "external_account" => {
            return Err(format!(
                "{KEY}: credentials of type external_account stand under credentialsConfig or config, beside the token"
            ));
        }
        _ => return Err(format!("{KEY}: expected type service_account")),
    }
    in_project(credentials, wanted, parsed["project_id"].as_str(), &format!("{KEY} has no project_id"))
}

/// A login at Cloud DNS; a zone of another project is named with it.
pub(super) fn in_project(
    credentials: SecretString,
    wanted: SpecHints<'_>,
    own: Option<&str>,
    missing: &str,
) -> Result<Login, String> {
    let of_zone =
        wanted.zone.and_then(|zone| zone.split_once('/')).map(|(project, _)| project).filter(|p| !p.is_empty());
    let project = of_zone.or(own).unwrap_or_default().trim().to_owned();
    if project.is_empty() {
        return Err(missing.to_owned());
    }
    Ok(Login {
        credentials: BTreeMap::from([("credentials".to_owned(), credentials)]),
        flags: vec![("google-project", text(&project))],
        scope: ZoneScope::Project(project),
        token: None,
    })
}

fn azure(secret: &SecretValues, wanted: SpecHints<'_>) -> Result<Login, String> {
    let cloud = match secret.first(&["azureCloud", "AZURE_CLOUD"]).unwrap_or_default().to_ascii_lowercase().as_str() {
        "" => None,
        "azurepublic" => Some("AzurePublicCloud"),
        "azurechina" => Some("AzureChinaCloud"),
        "azuregovernment" => Some("AzureUSGovernmentCloud"),
        _ => return Err("azureCloud: expected AzurePublic, AzureChina or AzureGovernment".to_owned()),
    };
    if secret.first(&["clientSecret", "AZURE_CLIENT_SECRET"]).is_none()
        && let Some(identity) = Identity::of(secret, wanted)?
    {
        return identity.azure(cloud, wanted);
    }
    let needed = |keys: &[&str]| secret.needed(keys).map(|value| value.expose_secret().to_owned());
    let subscription = of_zone(wanted, needed(SUBSCRIPTION)?);
    let file = json!({
        "cloud": cloud,
        "subscriptionId": subscription,
        "tenantId": needed(TENANT)?,
        "aadClientId": needed(CLIENT)?,
        "aadClientSecret": needed(&["clientSecret", "AZURE_CLIENT_SECRET"])?,
    });
    Ok(in_subscription(&file, subscription))
}

pub(super) const SUBSCRIPTION: &[&str] = &["subscriptionID", "AZURE_SUBSCRIPTION_ID"];
pub(super) const TENANT: &[&str] = &["tenantID", "AZURE_TENANT_ID"];
pub(super) const CLIENT: &[&str] = &["clientID", "AZURE_CLIENT_ID"];

/// The subscription in which zones are looked for: a zone of another one is named with it.
pub(super) fn of_zone(wanted: SpecHints<'_>, own: String) -> String {
    wanted.zone.and_then(subscription_of).filter(|named| !named.eq_ignore_ascii_case(&own)).map_or(own, str::to_owned)
}

/// A login at Azure by this `azure.json`, for the zones of all resource groups.
pub(super) fn in_subscription(file: &Value, subscription: String) -> Login {
    Login {
        credentials: BTreeMap::from([("azure.json".to_owned(), file.to_string().into())]),
        flags: vec![("azure-resource-group", text("*"))],
        scope: ZoneScope::Subscription(subscription),
        token: None,
    }
}

/// A value that is JSON. The message of `serde_json` may quote it, so it is not shown.
pub(super) fn json_of(key: &str, value: &str) -> Result<Value, String> {
    serde_json::from_str(value)
        .map_err(|error| format!("{key} is no JSON (line {} column {})", error.line(), error.column()))
}

/// A login at Cloudflare. Its provider looks for a zone that the token may not see in the list of those that it may, unless the zone is
/// selected by its id.
fn cloudflare(secret: &SecretValues, wanted: SpecHints<'_>) -> Result<Login, String> {
    let token = secret.needed(&["apiToken", "CLOUDFLARE_API_TOKEN"])?;
    let credentials = BTreeMap::from([("apiToken".to_owned(), token)]);
    let zone = wanted.zone.filter(|_| wanted.alone).map(|zone| zone.trim().to_owned());
    let flags = zone.map(|zone| ("zone-id-filter", FlagValue::List(vec![zone]))).into_iter().collect();
    Ok(Login { credentials, flags, ..Login::default() })
}

fn rfc2136(secret: &SecretValues, wanted: SpecHints<'_>) -> Result<Login, String> {
    let server = secret.needed(&["server", "Server"])?;
    let zones: Vec<&str> = [secret.first(&["zone", "Zone"]), wanted.zone].into_iter().flatten().collect();
    let mut zones: Vec<String> = zones.iter().map(|zone| zone.trim_end_matches('.').to_ascii_lowercase()).collect();
    zones.sort();
    zones.dedup();
    if zones.is_empty() {
        return Err("the Secret has no Zone, and spec.zone names none".to_owned());
    }
    if zones.iter().any(String::is_empty) {
        return Err(
            "the zone \".\" in the Secret or in spec.zone: the root is not served; expected a zone below it".to_owned()
        );
    }
    let mut credentials = BTreeMap::from([
        ("server".to_owned(), server),
        ("tsigKeyName".to_owned(), secret.needed(&["tsigKeyName", "TSIGKeyName"])?),
        ("tsigSecret".to_owned(), secret.needed(&["tsigSecret", "TSIGSecret"])?),
    ]);
    let algorithm = secret.secret(&["algorithm", "TSIGSecretAlgorithm"]);
    credentials.extend(algorithm.map(|name| ("algorithm".to_owned(), name)));
    let flags = vec![("rfc2136-zone", FlagValue::List(zones.clone()))];
    Ok(Login { credentials, flags, scope: ZoneScope::Named(zones), token: None })
}
