//! The catalog entry: flags, their checks, and the settings that they make.

use std::sync::Arc;

use zonewright_core::Result;
use zonewright_core::catalog::{FlagKind, FlagSpec, RegistryEntry, Settings};
use zonewright_core::claim::OwnerId;

use super::{FormerNames, TxtConfig, TxtRegistry};

/// `--txt-prefix`, for every registry that reads claims as TXT records.
pub const PREFIX: FlagSpec =
    FlagSpec::new("txt-prefix", FlagKind::Text, "Text before the name of a claim; may hold %{record_type}");
/// `--txt-suffix`, likewise.
pub const SUFFIX: FlagSpec = FlagSpec::new(
    "txt-suffix",
    FlagKind::Text,
    "Text after the first label of a claim's name; may hold %{record_type}",
);
/// `--txt-wildcard-replacement`, likewise.
pub const WILDCARD_REPLACEMENT: FlagSpec =
    FlagSpec::new("txt-wildcard-replacement", FlagKind::Text, "Text in place of a leading * in a claim's name");
/// `--txt-cache-interval`: how long external-dns keeps what it read.
pub const CACHE_INTERVAL: FlagSpec = FlagSpec::new(
    "txt-cache-interval",
    FlagKind::Duration,
    "How long rows of a DynamoDB table count as read; no effect on TXT records",
)
.or("0s");
/// `--txt-encrypt-aes-key`, for every registry that reads claims as TXT records.
pub const AES_KEY: FlagSpec =
    FlagSpec::new("txt-encrypt-aes-key", FlagKind::Secret, "Key of encrypted claims: 32 bytes, or their base64");

/// The catalog entry of `--registry=txt`.
pub const ENTRY: RegistryEntry = RegistryEntry {
    page: "docs/registries/txt.md",
    flags: FLAGS,
    check: check_affixes,
    ..RegistryEntry::new("txt", "Claims as TXT records beside the records, as external-dns keeps them", |config| {
        Box::pin(async move { Ok(Arc::new(TxtRegistry::new(whole(&config.settings)?)?) as Arc<_>) })
    })
};

const FLAGS: &[FlagSpec] = &[
    PREFIX,
    SUFFIX,
    WILDCARD_REPLACEMENT,
    CACHE_INTERVAL,
    AES_KEY,
    FlagSpec::new("txt-encrypt-enabled", FlagKind::Bool, "Encrypt claims"),
    FlagSpec::new("migrate-from-txt-owner", FlagKind::Text, "Take over the claims of this owner"),
    FlagSpec::new(
        "txt-former-prefix",
        FlagKind::List,
        "A former --txt-prefix: claims found there are ours and are moved; empty: they had none; repeatable",
    ),
    FlagSpec::new("txt-former-suffix", FlagKind::List, "A former --txt-suffix, likewise; repeatable"),
    FlagSpec::new(
        "txt-former-wildcard-replacement",
        FlagKind::List,
        "A former --txt-wildcard-replacement, likewise; empty: the * was kept; repeatable",
    ),
    FlagSpec::new(
        "txt-move-old-format",
        FlagKind::Bool,
        "Move claims also from names without a type (before 2022), of a CNAME for aliases, _apex, and from plain to encrypted or back",
    ),
];

/// Refuses a prefix beside a suffix, in the words of external-dns.
///
/// # Errors
/// Both are given.
pub fn check_affixes(settings: &Settings) -> Result<(), String> {
    let both = ["txt-prefix", "txt-suffix"].into_iter().all(|flag| !settings.text(flag).is_empty());
    if both { Err("txt-prefix and txt-suffix are mutual exclusive".to_owned()) } else { Ok(()) }
}

impl TxtConfig {
    /// How claims as TXT records are named and read, by the flags of this module and `--txt-owner-id`; for registries that take
    /// over from them.
    ///
    /// # Errors
    /// The owner id is empty.
    pub fn readable(settings: &Settings) -> Result<Self> {
        Ok(Self {
            prefix: settings.text("txt-prefix").to_owned(),
            suffix: settings.text("txt-suffix").to_owned(),
            wildcard_replacement: settings.text("txt-wildcard-replacement").to_owned(),
            aes_key: settings.secret("txt-encrypt-aes-key").cloned(),
            ..Self::new(settings.text("txt-owner-id"))?
        })
    }
}

fn whole(settings: &Settings) -> Result<TxtConfig> {
    Ok(TxtConfig {
        encrypt: settings.bool("txt-encrypt-enabled"),
        migrate_from: OwnerId::new(settings.text("migrate-from-txt-owner")),
        former: former_names(settings),
        move_old_format: settings.bool("txt-move-old-format"),
        ..TxtConfig::readable(settings)?
    })
}

/// Where claims may have stood: every mixture of a former prefix or suffix, or today's, with a former wildcard replacement, or
/// today's. An empty value counts: there was none.
fn former_names(settings: &Settings) -> Vec<FormerNames> {
    let today = (settings.text("txt-prefix").to_owned(), settings.text("txt-suffix").to_owned());
    let prefixes = settings.list("txt-former-prefix").iter().map(|prefix| (prefix.clone(), String::new()));
    let suffixes = settings.list("txt-former-suffix").iter().map(|suffix| (String::new(), suffix.clone()));
    let affixes: Vec<(String, String)> = [today].into_iter().chain(prefixes).chain(suffixes).collect();
    let former = settings.list("txt-former-wildcard-replacement");
    let replacements =
        || [settings.text("txt-wildcard-replacement").to_owned()].into_iter().chain(former.iter().cloned());
    let with = |(prefix, suffix): (String, String)| {
        replacements().map(move |wildcard_replacement| FormerNames {
            prefix: prefix.clone(),
            suffix: suffix.clone(),
            wildcard_replacement,
        })
    };
    // The first is today's.
    affixes.into_iter().flat_map(with).skip(1).collect()
}

#[cfg(test)]
mod tests {
    use zonewright_core::catalog::FlagValue;

    use super::*;

    fn settings(texts: &[(&'static str, &str)], lists: &[(&'static str, &[&str])]) -> Settings {
        let mut settings = Settings::default();
        settings.set("txt-owner-id", FlagValue::Text("me".to_owned()), true);
        for (name, text) in texts {
            settings.set(name, FlagValue::Text((*text).to_owned()), true);
        }
        for (name, list) in lists {
            settings.set(name, FlagValue::List(list.iter().map(|text| (*text).to_owned()).collect()), true);
        }
        settings
    }

    #[test]
    fn a_prefix_beside_a_suffix_is_refused() {
        assert!(check_affixes(&settings(&[("txt-prefix", "a"), ("txt-suffix", "b")], &[])).is_err());
        assert!(check_affixes(&settings(&[("txt-prefix", "a"), ("txt-suffix", "")], &[])).is_ok());
    }

    #[test]
    fn former_names_are_every_mixture_but_that_of_today() {
        let settings = settings(
            &[("txt-prefix", "now-")],
            &[("txt-former-prefix", &["", "old-"]), ("txt-former-wildcard-replacement", &["any"])],
        );
        let names: Vec<String> = former_names(&settings)
            .iter()
            .map(|name| format!("{}|{}|{}", name.prefix, name.suffix, name.wildcard_replacement))
            .collect();
        assert_eq!(names, ["now-||any", "||", "||any", "old-||", "old-||any"]);
    }
}
