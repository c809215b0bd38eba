//! Flags, parsed once.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::ExposeSecret as _;
use tracing::warn;
use zonewright_aws::{AccessConfig, AccessKeys, flags};
use zonewright_core::capability::Batch;
use zonewright_core::catalog::{FlagKind, FlagSpec, FlagValue, ProviderConfig, Settings};
use zonewright_core::filter::DomainFilter;
use zonewright_core::zone::{InstanceId, ZoneId};
use zonewright_core::{Error, ErrorKind};

use crate::adjust::CHARACTERS;
use crate::interpret::bare;
use crate::service::Pace;
use crate::zones::Select;

/// The flags of this provider.
pub const FLAGS: &[FlagSpec] = &[
    FlagSpec::new("aws-zone-type", FlagKind::Choice(&["", "public", "private"]), "Kind of hosted zones; empty: both"),
    FlagSpec::new(
        "aws-zone-tags",
        FlagKind::List,
        "Only zones with this tag, key or key=value; repeatable, all must be there",
    ),
    FlagSpec::new("aws-zone-vpc", FlagKind::List, "Only private zones of this VPC, as region/vpc-id; repeatable"),
    FlagSpec::new(
        "aws-zone-role",
        FlagKind::Map,
        "Role to assume for one hosted zone, as zone-id=role-arn; repeatable",
    ),
    FlagSpec::new("aws-profile", FlagKind::List, "Credentials profile; repeatable, one account each"),
    flags::ROLE,
    flags::EXTERNAL_ID,
    FlagSpec::new("aws-batch-change-size", FlagKind::Int, "Maximum number of changes in one batch").or("1000"),
    FlagSpec::new("aws-batch-change-size-bytes", FlagKind::Int, "Maximum number of characters of values in one batch")
        .or("32000"),
    FlagSpec::new("aws-batch-change-size-values", FlagKind::Int, "Maximum number of values in one batch").or("1000"),
    FlagSpec::new("aws-batch-change-interval", FlagKind::Duration, "Pause between batches of one zone").or("1s"),
    FlagSpec::new("aws-evaluate-target-health", FlagKind::Bool, "Alias records follow the health of their target")
        .or("true"),
    flags::RETRIES,
    FlagSpec::new("aws-api-qps", FlagKind::Int, "Requests a second to the service, of one account; 0: no limit")
        .or("5"),
    FlagSpec::new("aws-prefer-cname", FlagKind::Bool, "CNAME in place of alias records"),
    FlagSpec::new("aws-zones-cache-duration", FlagKind::Duration, "How long the list of zones is kept").or("0s"),
    FlagSpec::new("aws-zone-match-parent", FlagKind::Bool, "Also zones above a domain filter"),
    FlagSpec::new("zone-id-filter", FlagKind::List, "Only zones whose id ends like this; repeatable"),
];

/// Keys of a Secret: a pair of access keys, the token of temporary ones, a region, a role, and the address of a private link.
pub const SECRET_KEYS: &[&str] =
    &["accessKeyID", "secretAccessKey", "sessionToken", "region", "roleARN", "webIdentityTokenFile", "endpoint"];

/// The service's own limits of one request, and the pause that external-dns makes.
pub(crate) const LARGEST: Batch = Batch {
    values: Some(VALUES),
    size: Some(CHARACTERS),
    update: 2,
    interval: Duration::from_secs(1),
    ..Batch::of(CHANGES)
};
const CHANGES: usize = 1_000;
const VALUES: usize = 1_000;
/// How fast the service takes requests, of one account: its quota.
/// <https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/DNSLimitations.html>
pub(crate) const PACE: Pace = Pace { qps: 5, attempts: 3 };
/// Where `--aws-api-retries=0` asks for attempts without end.
const MANY: usize = 10;

/// A parsed configuration.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) instance: InstanceId,
    /// One access for each account.
    pub(crate) accounts: Vec<AccessConfig>,
    /// Zones that are served by a role of their own.
    pub(crate) zone_roles: BTreeMap<ZoneId, AccessConfig>,
    pub(crate) select: Select,
    /// How long the list of zones is kept.
    pub(crate) cache: Duration,
    pub(crate) batch: Batch,
    pub(crate) prefer_cname: bool,
    pub(crate) evaluate_health: bool,
    pub(crate) pace: Pace,
}

/// Checks flags before anything is built.
///
/// # Errors
/// A sentence that names the flag.
pub(crate) fn check(settings: &Settings) -> Result<(), String> {
    for flag in ["aws-batch-change-size", "aws-batch-change-size-bytes", "aws-batch-change-size-values"] {
        if settings.int(flag) < 1 {
            return Err(format!("--{flag}={}: expected at least 1", settings.int(flag)));
        }
    }
    for flag in ["aws-api-retries", "aws-api-qps"] {
        if settings.int(flag) < 0 {
            return Err(format!("--{flag}={}: expected 0 or more", settings.int(flag)));
        }
    }
    for vpc in settings.nonempty("aws-zone-vpc") {
        vpc_of(&vpc)?;
    }
    for (zone, role) in zone_roles(settings) {
        if zone.trim().is_empty() || !role.starts_with("arn:") {
            return Err(format!("--aws-zone-role={zone}={role}: expected zone-id=arn:..."));
        }
    }
    filter(settings).map(drop)
}

impl Config {
    /// Parses flags and secrets.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] with the flag's name.
    pub(crate) fn parse(from: &ProviderConfig) -> Result<Self, Error> {
        let settings = &from.settings;
        check(settings).map_err(bad)?;
        let size = |flag, most| usize::try_from(settings.int(flag)).unwrap_or(1).clamp(1, most);
        let batch = Batch {
            changes: size("aws-batch-change-size", CHANGES),
            values: Some(size("aws-batch-change-size-values", VALUES)),
            size: Some(size("aws-batch-change-size-bytes", CHARACTERS)),
            interval: settings.duration("aws-batch-change-interval"),
            ..LARGEST
        };
        let base = access(from);
        let profiles = settings.nonempty("aws-profile");
        let accounts: Vec<AccessConfig> = match profiles.as_slice() {
            [] => vec![base.clone()],
            profiles => {
                let of = |profile: &String| AccessConfig { profile: Some(profile.trim().to_owned()), ..base.clone() };
                profiles.iter().map(of).collect()
            }
        };
        let own = accounts.first().unwrap_or(&base).clone();
        let role = |(zone, role): (String, String)| {
            (ZoneId::from(bare(&zone)), AccessConfig { role: Some(role.trim().to_owned()), ..own.clone() })
        };
        let zone_roles: BTreeMap<ZoneId, AccessConfig> = zone_roles(settings).into_iter().map(role).collect();
        if base.external_id.is_some() && base.role.is_none() && zone_roles.is_empty() {
            warn!("--aws-assume-role-external-id: there is no role that asks for it; it is not used");
        }
        let retries = usize::try_from(settings.int("aws-api-retries")).unwrap_or(1);
        Ok(Self {
            instance: from.instance.clone(),
            accounts,
            zone_roles,
            select: select(settings).map_err(bad)?,
            cache: settings.duration("aws-zones-cache-duration"),
            batch,
            prefer_cname: settings.bool("aws-prefer-cname"),
            evaluate_health: settings.bool("aws-evaluate-target-health"),
            pace: Pace {
                qps: u32::try_from(settings.int("aws-api-qps")).unwrap_or(u32::MAX),
                attempts: if retries == 0 { MANY } else { retries },
            },
        })
    }
}

/// The access of flags, with what a Secret says in their place.
fn access(from: &ProviderConfig) -> AccessConfig {
    let given = |key: &str| {
        let text = from.credentials.get(key).map(|text| text.expose_secret().trim().to_owned());
        text.filter(|text| !text.is_empty())
    };
    let plain = flags::access(&from.settings);
    let keys = given("accessKeyID").zip(given("secretAccessKey")).map(|(id, secret)| AccessKeys {
        id,
        secret: secret.into(),
        token: given("sessionToken").map(Into::into),
    });
    let (region, endpoint) = (given("region"), given("endpoint"));
    let web_identity = given("webIdentityTokenFile").map(PathBuf::from);
    AccessConfig { keys, web_identity, region, endpoint, role: given("roleARN").or(plain.role), ..plain }
}

fn select(settings: &Settings) -> Result<Select, String> {
    let (tags, nameless) = tags(&settings.nonempty("aws-zone-tags"));
    for said in nameless {
        warn!("{said}");
    }
    Ok(Select {
        private: match settings.text("aws-zone-type") {
            "public" => Some(false),
            "private" => Some(true),
            _ => None,
        },
        ids: settings.nonempty("zone-id-filter").iter().map(|id| bare(id).to_owned()).collect(),
        tags,
        vpcs: settings.nonempty("aws-zone-vpc").iter().map(|vpc| vpc_of(vpc)).collect::<Result<_, _>>()?,
        filter: filter(settings)?,
        match_parent: settings.bool("aws-zone-match-parent"),
    })
}

/// The tags that a zone must have, with what is demanded of their values, and what the log has to say of entries that name none. As in
/// external-dns an empty value demands nothing of it, of several values of one tag the last one counts, and an entry without a tag
/// narrows nothing.
fn tags(texts: &[String]) -> (BTreeMap<String, Option<String>>, Vec<String>) {
    let (mut tags, mut nameless) = (BTreeMap::new(), Vec::new());
    for text in texts {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        let (key, value) = (key.trim(), value.trim());
        if key.is_empty() {
            nameless.push(text);
        } else {
            tags.insert(key.to_owned(), Some(value.to_owned()).filter(|value| !value.is_empty()));
        }
    }
    let all = if tags.is_empty() { "; without another tag every zone is taken, whatever its tags" } else { "" };
    let said = |text: &String| format!("--aws-zone-tags={text} names no tag, so it narrows nothing{all}");
    (tags, nameless.into_iter().map(said).collect())
}

fn filter(settings: &Settings) -> Result<DomainFilter, String> {
    let (include, exclude) = (settings.list("domain-filter"), settings.list("exclude-domains"));
    let (regex, regex_exclude) = (settings.text("regex-domain-filter"), settings.text("regex-domain-exclusion"));
    DomainFilter::new(include, exclude, regex, regex_exclude).map_err(|error| error.to_string())
}

/// Region and id of a VPC.
fn vpc_of(text: &str) -> Result<(String, String), String> {
    let parts = text.trim().split_once('/').filter(|(region, id)| !region.is_empty() && id.starts_with("vpc-"));
    let (region, id) =
        parts.ok_or_else(|| format!("--aws-zone-vpc={text}: expected region/vpc-id, such as eu-west-1/vpc-0a1b2c"))?;
    Ok((region.to_owned(), id.to_owned()))
}

fn zone_roles(settings: &Settings) -> BTreeMap<String, String> {
    match settings.value("aws-zone-role") {
        Some(FlagValue::Map(roles)) => roles.clone(),
        _ => BTreeMap::new(),
    }
}

fn bad(context: String) -> Error {
    Error::new(ErrorKind::Configuration, "configure the aws provider", context)
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
