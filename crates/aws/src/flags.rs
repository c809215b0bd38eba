//! The flags that every AWS service shares, and what they say.

use zonewright_core::catalog::{FlagKind, FlagSpec, Settings};

use crate::AccessConfig;

/// `--aws-assume-role`.
pub const ROLE: FlagSpec = FlagSpec::new("aws-assume-role", FlagKind::Text, "ARN of the role to assume");
/// `--aws-assume-role-external-id`.
pub const EXTERNAL_ID: FlagSpec =
    FlagSpec::new("aws-assume-role-external-id", FlagKind::Secret, "External id for assuming the role");
/// `--aws-api-retries`.
pub const RETRIES: FlagSpec =
    FlagSpec::new("aws-api-retries", FlagKind::Int, "Number of times that a throttled call is made in all").or("3");

/// The access that the shared flags describe, without a profile.
pub fn access(settings: &Settings) -> AccessConfig {
    AccessConfig {
        role: Some(settings.text(ROLE.name).trim().to_owned()).filter(|role| !role.is_empty()),
        external_id: settings.secret(EXTERNAL_ID.name).cloned(),
        ..AccessConfig::default()
    }
}
