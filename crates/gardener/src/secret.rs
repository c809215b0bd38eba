//! From a Secret to what a provider is built from. Pure.
//!
//! In: the type of a DNSRecord, its Secret, what its spec says of region and zone. Out: credentials under the keys of the
//! provider's catalogue entry, the values of a few of its flags, and a digest that distinguishes accounts. What must hold: the
//! names of Gardener's extensions count before those of its DNS controller manager, where a Secret has both; blanks around a
//! value do not count; no value of a Secret appears in an error.

mod identity;
mod kinds;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use zonewright_core::catalog::FlagValue;

use crate::types::SecretObject;

pub use kinds::{ProviderKind, SpecHints};

/// Distinguishes accounts: a digest of type, credentials and settings. It does not show what they are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountId(String);

impl AccountId {
    /// The digest in hexadecimal.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// An account of one's own naming, for tests.
    #[cfg(test)]
    pub(crate) fn named(name: &str) -> Self {
        Self(name.to_owned())
    }
}

/// What a provider is built from.
#[derive(Debug, Clone, Default)]
pub struct Login {
    /// Credentials by the keys of the provider's entry.
    pub credentials: BTreeMap<String, SecretString>,
    /// Flags that have another value than their default.
    pub flags: Vec<(&'static str, FlagValue)>,
    /// What precedes a zone's own id in `spec.zone`, and what the ids of the provider are made of.
    pub scope: ZoneScope,
    /// The token of a workload identity, which the provider reads from its file. It does not distinguish accounts: it changes.
    pub token: Option<WorkloadToken>,
}

/// A token of a workload identity, and the file in which its provider finds it.
#[derive(Debug, Clone)]
pub struct WorkloadToken {
    /// The file from which the provider reads the token.
    pub path: PathBuf,
    /// The token as the Secret has it.
    pub text: SecretString,
}

impl WorkloadToken {
    /// Writes the file, unless it is so already. Only this user can read it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&self) -> std::io::Result<()> {
        let text = self.text.expose_secret();
        if std::fs::read_to_string(&self.path).is_ok_and(|kept| kept == text) {
            return Ok(());
        }
        // Whoever reads it meanwhile finds the former one or this one, and nothing in between.
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        std::io::Write::write_all(&mut file, text.as_bytes())?;
        file.persist(&self.path)?;
        Ok(())
    }
}

/// Where zones are, where their ids alone do not say it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ZoneScope {
    /// Ids say it.
    #[default]
    Whole,
    /// A project of Google.
    Project(String),
    /// A subscription of Azure.
    Subscription(String),
    /// These zones of a server, by their names, and no others.
    Named(Vec<String>),
}

impl ZoneScope {
    /// What distinguishes zones of one id. A server's address does not: one zone may be written at several.
    pub fn home(&self) -> Option<String> {
        match self {
            Self::Project(project) => Some(project.clone()),
            Self::Subscription(subscription) => Some(subscription.to_ascii_lowercase()),
            Self::Whole | Self::Named(_) => None,
        }
    }
}

/// The subscription of a zone of Azure that is named by its whole id.
pub fn subscription_of(text: &str) -> Option<&str> {
    let mut parts = text.trim().strip_prefix('/')?.split('/');
    parts.next().filter(|first| first.eq_ignore_ascii_case("subscriptions"))?;
    parts.next().map(str::trim).filter(|subscription| !subscription.is_empty())
}

impl Login {
    /// The digest.
    pub fn id(&self, kind: ProviderKind) -> AccountId {
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hash.update(bytes.len().to_le_bytes());
            hash.update(bytes);
        };
        part(kind.as_str().as_bytes());
        for (key, value) in &self.credentials {
            part(key.as_bytes());
            part(value.expose_secret().as_bytes());
        }
        for (flag, value) in &self.flags {
            part(flag.as_bytes());
            part(text_of(value).as_bytes());
        }
        AccountId(hex(&hash.finalize()))
    }
}

/// The beginning of a digest, in hexadecimal.
fn hex(digest: &[u8]) -> String {
    digest.iter().take(16).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A value of a flag that is no secret, for the digest.
fn text_of(value: &FlagValue) -> String {
    match value {
        FlagValue::Text(text) => text.clone(),
        FlagValue::List(list) => list.join("\n"),
        FlagValue::Secret(_) => String::new(),
        other => format!("{other:?}"),
    }
}

/// The values of a Secret, decoded.
#[derive(Debug, Default)]
pub struct SecretValues(BTreeMap<String, SecretString>);

impl SecretValues {
    /// Decodes a Secret. Values that are no text are left out: no credential is such.
    pub fn of(secret: &SecretObject) -> Self {
        let text = |value: &SecretString| {
            let bytes = STANDARD.decode(value.expose_secret()).ok()?;
            String::from_utf8(bytes).ok().map(SecretString::from)
        };
        Self(secret.data.iter().filter_map(|(key, value)| Some((key.clone(), text(value)?))).collect())
    }

    /// The value of the first of these keys that says something.
    fn first(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().filter_map(|key| self.0.get(*key)).map(|value| value.expose_secret().trim()).find(|v| !v.is_empty())
    }

    /// The same, as a credential.
    fn secret(&self, keys: &[&str]) -> Option<SecretString> {
        self.first(keys).map(SecretString::from)
    }

    /// A value that must be there.
    fn needed(&self, keys: &[&str]) -> Result<SecretString, String> {
        self.secret(keys).ok_or_else(|| format!("the Secret has no {}", keys.join(" or ")))
    }
}

#[cfg(test)]
#[path = "secret/tests.rs"]
mod tests;
