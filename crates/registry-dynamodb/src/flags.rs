//! The catalog entry: flags, and the settings that they make.

use std::sync::Arc;

use secrecy::ExposeSecret as _;
use zonewright_core::Result;
use zonewright_core::catalog::{FlagKind, FlagSpec, RegistryEntry, Settings};
use zonewright_registry::txt::TxtConfig;
use zonewright_registry::txt::flags::{AES_KEY, CACHE_INTERVAL, PREFIX, SUFFIX, WILDCARD_REPLACEMENT, check_affixes};

use crate::{DynamoConfig, DynamoRegistry};

/// The catalog entry of `--registry=dynamodb`.
pub const ENTRY: RegistryEntry = RegistryEntry {
    feature: "registry-dynamodb",
    page: "docs/registries/dynamodb.md",
    flags: FLAGS,
    check: check_affixes,
    ..RegistryEntry::new("dynamodb", "Claims in a DynamoDB table, as external-dns keeps them", |config| {
        Box::pin(async move { Ok(Arc::new(DynamoRegistry::connect(read(&config.settings)?).await?) as Arc<_>) })
    })
};

const FLAGS: &[FlagSpec] = &[
    PREFIX,
    SUFFIX,
    WILDCARD_REPLACEMENT,
    CACHE_INTERVAL,
    AES_KEY,
    FlagSpec::new("dynamodb-region", FlagKind::Text, "AWS region of the table; empty: what the environment says"),
    FlagSpec::new("dynamodb-table", FlagKind::Text, "Name of the table, or its ARN").or("external-dns"),
    FlagSpec::new("aws-assume-role", FlagKind::Text, "ARN of the role to assume"),
    FlagSpec::new("aws-assume-role-external-id", FlagKind::Secret, "External id for assuming the role"),
    FlagSpec::new("aws-api-retries", FlagKind::Int, "Number of times that a throttled call is made in all").or("3"),
];

fn read(settings: &Settings) -> Result<DynamoConfig> {
    let given = |flag: &str| Some(settings.text(flag).to_owned()).filter(|text| !text.is_empty());
    let external_id = settings.secret("aws-assume-role-external-id");
    Ok(DynamoConfig {
        table: settings.text("dynamodb-table").to_owned(),
        region: given("dynamodb-region"),
        role: given("aws-assume-role"),
        external_id: external_id.map(|id| id.expose_secret().to_owned()),
        attempts: u32::try_from(settings.int("aws-api-retries")).unwrap_or(1),
        cache: settings.duration("txt-cache-interval"),
        ..DynamoConfig::new(TxtConfig::readable(settings)?)
    })
}
