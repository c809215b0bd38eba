//! Claims as TXT records, as external-dns keeps them.
//!
//! The claim on a record stands at a name made from the record's name and type (`affix`), and says who owns it and
//! for which resource (`value`). For a record in a zone the registry looks at these places (`view`):
//!
//! 1. the typed name, in the record's own zone. It is where claims are written;
//! 2. where the typed name falls outside the zone (the apex of `ex.com` without an affix that ends in a dot:
//!    `a-ex.com`), that name in any zone of the instance, and `a-_apex.ex.com`, which takes over as the place to write;
//! 3. the old-format name without a type, unless the record is an AAAA or external-dns would read that name as typed;
//! 4. for an A record that is a provider alias, the typed name of a CNAME, as external-dns named it before 0.22.
//!
//! Claims on a name inside the zone count only if they stand in that zone: with several zones of one name (split horizon)
//! each keeps its own, and a claim in one gives no right in another.
//!
//! Claims that former settings put elsewhere are read as well and moved (`former`): today's is written, and once both have been
//! read back the former goes.
//!
//! Claims of a former owner (`--migrate-from-txt-owner`) are ours as well. They are rewritten where an object asks for their
//! record, and until then their record is retained: who else went by that name cannot be determined.
//!
//! An *intent* (`intents`) is a write that was begun: it speaks only for the record that it announced, exactly as announced.
//!
//! A TXT record that an object asked for, with a claim of its own, is never read as a claim, whatever it says (`record`).
//!
//! A TXT set may hold a claim beside other texts. It counts as a claim, and only our own member of it is ever replaced or
//! withdrawn; the rest of the set stays as it was read.

mod affix;
mod anomaly;
mod apex;
mod assign;
mod cipher;
mod claims;
mod decorate;
pub mod flags;
mod former;
mod intents;
mod ledger;
mod record;
mod rewrite;
mod rules;
mod stale;
mod upgrade;
mod value;
mod view;

use std::collections::BTreeSet;

use secrecy::SecretString;
use zonewright_core::change::Group;
use zonewright_core::claim::{Claim, OwnerId};
use zonewright_core::error::{Error, ErrorKind, Retry};
use zonewright_core::in_set::{ITEM_LABEL, set_id_of};
use zonewright_core::record::SetId;
use zonewright_core::registry::{
    ClaimAnomaly, ClaimFormat, Dropped, KeptInZones, OwnershipChange, Published, StaleClaims,
};
use zonewright_core::zone::Zone;
use zonewright_core::{DnsName, RData, RecordKey, RecordSet, RecordType, Result};

use affix::Affixes;
use cipher::Cipher;
use rules::Rules;
use value::{Codec, Heritage};
use view::View;

/// Where claims stood by former settings: `--txt-former-prefix` and the flags like it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormerNames {
    /// The former `--txt-prefix`.
    pub prefix: String,
    /// The former `--txt-suffix`; never both.
    pub suffix: String,
    /// The former `--txt-wildcard-replacement`.
    pub wildcard_replacement: String,
}

/// Settings of the TXT registry.
#[derive(Debug, Clone)]
pub struct TxtConfig {
    /// `--txt-owner-id`: who we are.
    pub owner: OwnerId,
    /// `--txt-prefix`: put before the first label; may hold `%{record_type}` and dots.
    pub prefix: String,
    /// `--txt-suffix`: put after the first label; may hold `%{record_type}` and dots.
    pub suffix: String,
    /// `--txt-wildcard-replacement`: stands for a first label `*`; empty keeps the `*`.
    pub wildcard_replacement: String,
    /// `--txt-encrypt-enabled`: claims are written so that only a holder of the key can read them.
    pub encrypt: bool,
    /// `--txt-encrypt-aes-key`: 32 bytes, or their standard base64. With a key, sealed claims are read whether or not
    /// such are written.
    pub aes_key: Option<SecretString>,
    /// `--migrate-from-txt-owner`: who we were. Claims of that owner are ours and are rewritten.
    pub migrate_from: Option<OwnerId>,
    /// Where claims stood formerly. Claims found there are ours and are moved.
    pub former: Vec<FormerNames>,
    /// `--txt-move-old-format`: claims that external-dns would leave where they are for ever (without a type, of before 2022;
    /// under the name of a CNAME; `_apex`) go as well once today's stands.
    pub move_old_format: bool,
}

impl TxtConfig {
    /// Claims of `owner` without affixes, the default.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] if `owner` is empty.
    pub fn new(owner: &str) -> Result<Self> {
        let owner = OwnerId::new(owner).ok_or_else(|| refused("owner id cannot be empty".to_owned()))?;
        Ok(Self {
            owner,
            prefix: String::new(),
            suffix: String::new(),
            wildcard_replacement: String::new(),
            encrypt: false,
            aes_key: None,
            migrate_from: None,
            former: Vec::new(),
            move_old_format: false,
        })
    }
}

/// The registry of `--registry=txt`.
#[derive(Debug, Clone)]
pub struct TxtRegistry(Rules);

impl TxtRegistry {
    /// A registry that writes and reads claims by `config`.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] if the key is none or is missing where claims shall be encrypted, if prefix and suffix are
    /// both set, if no claim could ever stand at the names that they make, or if the owner id cannot be written into a
    /// claim.
    pub fn new(config: TxtConfig) -> Result<Self> {
        let codec = codec(config.aes_key.as_ref(), config.encrypt)?;
        let TxtConfig { owner, prefix, suffix, wildcard_replacement, migrate_from, .. } = config;
        if !prefix.is_empty() && !suffix.is_empty() {
            return Err(refused("txt-prefix and txt-suffix are mutual exclusive".to_owned()));
        }
        let affixes = Affixes::new(&prefix, &suffix, &wildcard_replacement);
        check_names(&affixes, "")?;
        let mut earlier: Vec<Affixes> = Vec::new();
        for names in config.former {
            let other = Affixes::new(&names.prefix, &names.suffix, &names.wildcard_replacement);
            if !names.prefix.is_empty() && !names.suffix.is_empty() {
                return Err(refused("a former txt-prefix and a former txt-suffix are mutual exclusive".to_owned()));
            }
            check_names(&other, "former ")?;
            if other != affixes && !earlier.contains(&other) {
                earlier.push(other);
            }
        }
        if !Heritage::new(&owner, None, &[]).is_expressible() {
            return Err(refused(format!(
                "txt-owner-id {:?} cannot be written into an ownership record; expected no comma, and no quote at the end",
                owner.as_str()
            )));
        }
        let former = migrate_from.filter(|former| *former != owner);
        Ok(Self(Rules { owner, former, affixes, earlier, moves_old: config.move_old_format, codec }))
    }

    fn view<'a>(&'a self, zone: &'a Zone, published: &'a dyn Published) -> View<'a> {
        View { rules: &self.0, zone, published }
    }
}

/// Refuses affixes under which no claim could ever stand.
fn check_names(affixes: &Affixes, which: &str) -> Result<()> {
    for sample in ["host.example", "*.example"].into_iter().filter_map(|text| DnsName::parse(text).ok()) {
        affixes.typed(&sample, RecordType::A).map_err(|error| {
            let flags = affixes.flags(&sample).join(", ");
            refused(format!("{which}{flags}: the ownership record of {sample} A cannot be named: {error}"))
        })?;
    }
    Ok(())
}

/// How claims are written and read by the flags for encryption.
fn codec(key: Option<&SecretString>, encrypt: bool) -> Result<Codec> {
    const LENGTH: &str = "the AES Encryption key must be 32 bytes long, in either plain text or base64-encoded format (txt-encrypt-aes-key)";
    const MISSING: &str =
        "the AES Encryption key must be set when TXT record encryption is enabled (txt-encrypt-aes-key)";
    match key.map(Cipher::new) {
        Some(Ok(cipher)) => Ok(Codec::sealed(cipher, encrypt)),
        Some(Err(_)) => Err(refused(LENGTH.to_owned())),
        None if encrypt => Err(refused(MISSING.to_owned())),
        None => Ok(Codec::default()),
    }
}

fn refused(context: String) -> Error {
    Error::new(ErrorKind::Configuration, "configure the txt registry", context).retry(Retry::Never)
}

impl ClaimFormat for TxtRegistry {
    fn owner(&self) -> Option<&OwnerId> {
        Some(&self.0.owner)
    }

    fn is_claim(&self, set: &RecordSet) -> bool {
        !self.0.heritages(set).is_empty() || intents::holds_intent(set)
    }

    fn is_record(&self, zone: &Zone, set: &RecordSet, published: &dyn Published) -> bool {
        record::is_record(&self.view(zone, published), &zone.key, set)
    }

    fn claims(&self, zone: &Zone, key: &RecordKey, published: &dyn Published) -> Vec<Claim> {
        let mut claims = self.view(zone, published).marked_claims(key);
        for claim in &mut claims {
            self.0.retain_former(claim);
        }
        claims
    }

    fn item_of(&self, data: &RData) -> Option<SetId> {
        let RData::Txt(txt) = data else { return None };
        let heritage = self.0.codec.read(txt).filter(|heritage| self.0.is_ours(heritage))?;
        let label = heritage.further().into_iter().find(|(key, _)| **key == *ITEM_LABEL)?.1;
        set_id_of(&label)
    }

    fn claim_names(&self, zone: &Zone, key: &RecordKey) -> BTreeSet<DnsName> {
        view::places(&self.0, zone, key).into_iter().map(|place| place.name).collect()
    }

    fn record_names(&self, zone: &Zone, claim: &DnsName) -> BTreeSet<DnsName> {
        anomaly::record_names(&self.0, zone, claim)
    }

    fn decorate(
        &self,
        zone: &Zone,
        groups: Vec<Group>,
        published: &dyn Published,
    ) -> Vec<Result<Group, (Group, Dropped)>> {
        decorate::decorate(&self.view(zone, published), groups)
    }

    fn upgrade(&self, zone: &Zone, record: &RecordSet, published: &dyn Published) -> Option<Group> {
        upgrade::upgrade(&self.view(zone, published), record)
    }

    fn is_moving(&self) -> bool {
        self.0.is_moving()
    }

    fn anomaly(&self, zone: &Zone, set: &RecordSet, published: &dyn Published) -> Option<ClaimAnomaly> {
        anomaly::anomaly(&self.view(zone, published), set)
    }

    fn makes_way(&self, zone: &Zone, set: &RecordSet, key: &RecordKey, published: &dyn Published) -> bool {
        decorate::makes_way(&self.view(zone, published), set, key)
    }

    fn collect_stale_claims(
        &self,
        zone: &Zone,
        set: &RecordSet,
        what: StaleClaims,
        published: &dyn Published,
    ) -> Option<Group> {
        stale::collect_stale_claims(&self.view(zone, published), set, what)
    }

    fn assign(
        &self,
        zone: &Zone,
        record: &RecordSet,
        change: &OwnershipChange,
        published: &dyn Published,
    ) -> Result<Option<Group>, Dropped> {
        assign::assign(&self.view(zone, published), record, change)
    }
}

impl KeptInZones for TxtRegistry {}
