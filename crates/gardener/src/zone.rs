//! Which zone an object's records are in.
//!
//! In: `spec.zone`, `status.zone`, the account. Out: the zone, and how the status writes it. What must hold: what the spec says
//! counts before what the status says, and that before a search; a zone that is known is not searched for again, but for a
//! restore and where it is gone; a zone of another project or subscription than the account's is never taken for that of the same name in
//! it.
//!
//! | type | zone in the status | zone in the mark |
//! |---|---|---|
//! | `google-clouddns` | `project/zone` | the same |
//! | `azure-dns`, `azure-private-dns` | `resourceGroup/zone` | the whole id, with the subscription |
//! | others | the provider's id | the same |

use std::cmp::Reverse;

use zonewright_core::zone::{Visibility, ZoneId};
use zonewright_core::{DnsName, Zone};

use crate::accounts::ProviderAccount;
use crate::failure::OperationFailure;
use crate::secret::{ProviderKind, ZoneScope, subscription_of};
use crate::types::DnsRecord;

/// Whether a zone, as specs and statuses write it, is where an account looks: in its project or subscription, where the text names one,
/// since elsewhere the same id is another zone; among the zones of a server that its login names, since the server is asked for no others.
pub fn is_within(scope: &ZoneScope, text: &str) -> bool {
    match scope {
        ZoneScope::Project(own) => {
            let stated = text.split_once('/').map(|(project, _)| project.trim()).filter(|project| !project.is_empty());
            stated.is_none_or(|project| project == own)
        }
        ZoneScope::Subscription(own) => {
            subscription_of(text).is_none_or(|subscription| subscription.eq_ignore_ascii_case(own.trim()))
        }
        ZoneScope::Named(zones) => zones.contains(&id_of(ProviderKind::Rfc2136, scope, text).to_string()),
        ZoneScope::Whole => true,
    }
}

/// The provider's id of a zone as specs and statuses write it; the zone has to be [within](is_within) the account.
pub fn id_of(kind: ProviderKind, scope: &ZoneScope, text: &str) -> ZoneId {
    let text = text.trim();
    let resource = if kind == ProviderKind::AzurePrivateDns { "privatednszones" } else { "dnszones" };
    let id = match (kind, scope) {
        (ProviderKind::Route53, _) => text.strip_prefix("/hostedzone/").unwrap_or(text).to_owned(),
        // The whole text is the id of no zone.
        (ProviderKind::CloudDns, scope) if !is_within(scope, text) => text.to_owned(),
        (ProviderKind::CloudDns, _) => text.rsplit('/').next().unwrap_or(text).to_owned(),
        (ProviderKind::AzureDns | ProviderKind::AzurePrivateDns, ZoneScope::Subscription(subscription)) => {
            match text.split_once('/') {
                Some((group, zone)) if !group.is_empty() => format!(
                    "/subscriptions/{subscription}/resourcegroups/{group}/providers/microsoft.network/{resource}/{zone}"
                )
                .to_ascii_lowercase(),
                _ => text.to_ascii_lowercase(),
            }
        }
        (ProviderKind::Rfc2136, _) => text.trim_end_matches('.').to_ascii_lowercase(),
        _ => text.to_owned(),
    };
    ZoneId::from(id.as_str())
}

/// A zone's id as the status writes it.
pub fn text_of(kind: ProviderKind, scope: &ZoneScope, id: &ZoneId) -> String {
    match (kind, scope) {
        (ProviderKind::CloudDns, ZoneScope::Project(project)) => format!("{project}/{id}"),
        (ProviderKind::AzureDns | ProviderKind::AzurePrivateDns, _) => {
            let parts: Vec<&str> = id.as_str().trim_start_matches('/').split('/').collect();
            match parts.as_slice() {
                [_, _, _, group, _, _, _, zone] => format!("{group}/{zone}"),
                _ => id.to_string(),
            }
        }
        _ => id.to_string(),
    }
}

/// Whether two texts may name one zone, for what is told without an account at hand: where one of them names the project or the group and
/// the other does not, they may; subscriptions are not compared.
pub fn is_same_text(provider: &str, one: &str, other: &str) -> bool {
    let Some(kind) = ProviderKind::parse(provider) else { return one == other };
    let text = |text: &str| match kind {
        _ if kind.is_azure() => {
            text_of(kind, &ZoneScope::Whole, &ZoneId::from(text.trim().to_ascii_lowercase().as_str()))
        }
        ProviderKind::CloudDns => text.trim().to_owned(),
        _ => id_of(kind, &ZoneScope::Whole, text).to_string(),
    };
    let (one, other) = (text(one), text(other));
    let is_end = |whole: &str, end: &str| whole.strip_suffix(end).is_some_and(|rest| rest.ends_with('/'));
    let has_parts = kind.is_azure() || kind == ProviderKind::CloudDns;
    one == other || has_parts && (is_end(&one, &other) || is_end(&other, &one))
}

/// A zone that was found, as it is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneText {
    /// In `status.zone`, whose form is that of Gardener's own controllers.
    pub status: String,
    /// In the mark, with everything that distinguishes it from zones of the same name.
    pub mark: String,
}

impl ZoneText {
    /// A zone of this id.
    pub fn of(kind: ProviderKind, scope: &ZoneScope, id: &ZoneId) -> Self {
        let status = text_of(kind, scope, id);
        let mark = if kind.is_azure() { id.to_string() } else { status.clone() };
        Self { status, mark }
    }
}

/// The zone that holds a name: the longest; of one name the public one, or the private one for a type that is private, then that
/// of the least id.
pub fn choose<'z>(zones: &'z [Zone], name: &DnsName, private: bool) -> Option<&'z Zone> {
    let wanted = if private { Visibility::Private } else { Visibility::Public };
    let fitting = zones.iter().filter(|zone| zone.covers(name));
    fitting.min_by_key(|zone| (Reverse(zone.name.label_count()), zone.visibility != wanted, zone.key.clone()))
}

/// What is known of a zone before it is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// What the status says counts.
    Trusting,
    /// It is found anew: the object comes from another seed, or its zone is gone.
    Anew,
}

/// The zone of a name.
///
/// # Errors
/// [`OperationFailure::NoZone`] if there is none; what keeps it from being known.
pub async fn find(
    account: &ProviderAccount,
    record: &DnsRecord,
    name: &DnsName,
    search: Search,
) -> Result<Zone, OperationFailure> {
    if let Some(stated) = record.stated_zone() {
        return stated_zone(account, stated, name).await;
    }
    if let (Search::Trusting, Some(known)) = (search, record.known_zone()) {
        let id = id_of(account.kind, &account.scope, known);
        let found = account.zone(&id).await.map_err(OperationFailure::Provider)?;
        if let Some(zone) = found.filter(|zone| zone.covers(name)) {
            return Ok(zone);
        }
    }
    // The zone of the status, if it is gone, must not come out of a list of before.
    let gone = record.known_zone().is_some();
    let (mut zones, fresh) = account.zones(gone || search == Search::Anew).await.map_err(OperationFailure::Provider)?;
    if choose(&zones, name, account.kind.is_private()).is_none() && !fresh {
        (zones, _) = account.zones(true).await.map_err(OperationFailure::Provider)?;
    }
    let Some(zone) = choose(&zones, name, account.kind.is_private()) else {
        let text = format!("no zone of this account holds {name}; it has {}", listed(&zones));
        return Err(OperationFailure::NoZone(text));
    };
    account.keep(zone);
    Ok(zone.clone())
}

async fn stated_zone(account: &ProviderAccount, stated: &str, name: &DnsName) -> Result<Zone, OperationFailure> {
    if account.kind.is_azure() && !stated.contains('/') {
        return Err(OperationFailure::NoZone(format!("spec.zone {stated:?}: expected resourceGroup/zone")));
    }
    let id = id_of(account.kind, &account.scope, stated);
    let found = account.zone(&id).await.map_err(OperationFailure::Provider)?;
    let Some(zone) = found else {
        return Err(OperationFailure::NoZone(format!("spec.zone {stated:?}: this account has no such zone")));
    };
    if !zone.covers(name) {
        let text = format!("spec.name {name} is outside of zone {} (spec.zone {stated:?})", zone.name);
        return Err(OperationFailure::Configuration(text));
    }
    Ok(zone)
}

/// The first names of the zones, for a sentence.
fn listed(zones: &[Zone]) -> String {
    const SHOWN: usize = 5;
    let names: Vec<&str> = zones.iter().take(SHOWN).map(|zone| zone.name.as_str()).collect();
    match (zones.len(), names.join(", ")) {
        (0, _) => "none".to_owned(),
        (all, names) if all > SHOWN => format!("{names} and {} more", all - SHOWN),
        (_, names) => names,
    }
}

#[cfg(test)]
#[path = "zone_tests.rs"]
mod tests;
