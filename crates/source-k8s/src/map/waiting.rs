//! What an object asks for and is not known now: names, targets, or some of the targets of a name.
//!
//! In come names and reasons, out go pending names and what is not known. What must hold: a name without targets waits by itself; of one
//! that has some, and may have had others, nothing that is published under the object's label is taken away for the grace.

use std::collections::BTreeMap;
use std::sync::Arc;

use zonewright_core::endpoint::{Endpoint, Pending, Sharing, Unknown};
use zonewright_core::{DnsName, RData};

use super::{INVALID_TARGET, Mapping};

impl Mapping<'_> {
    /// Notes that the object asks for something that cannot be determined now; what is published under its label stays.
    pub(crate) fn cannot_determine(&mut self, labels: impl IntoIterator<Item = Option<Arc<str>>>, reason: &str) {
        let unknown = |resource| Unknown { resource, reason: reason.to_owned(), passing: false };
        self.unknown.extend(labels.into_iter().map(unknown));
    }

    /// Asks for records of which the names, or some of the targets, are not known now: what is published under the object's label stays
    /// for the grace.
    #[cfg(any(feature = "gateway", feature = "istio"))]
    pub(crate) fn wait_by_label(&mut self, reason: &str) {
        let resource = self.settings.resource.clone();
        keep_for_grace(&mut self.unknown, resource, reason.to_owned());
    }

    /// Asks for what one of several places gives to `name`; where that is nothing, what is published under the object's label
    /// beside the targets of the others stays for the grace.
    #[cfg(any(feature = "gateway", feature = "istio"))]
    pub(crate) fn want_part(&mut self, name: &DnsName, targets: &[RData], sharing: Sharing, reason: &str) {
        if targets.is_empty() {
            self.wait_for_part(name, reason);
        } else {
            self.want(name, targets, sharing);
        }
    }

    /// Asks for targets of `name` that are not known now, whether or not there are others.
    #[cfg(any(feature = "gateway", feature = "istio"))]
    pub(crate) fn wait_for_part(&mut self, name: &DnsName, reason: &str) {
        let resource = self.settings.resource.clone();
        let pending = || Pending { name: name.clone(), resource, reason: reason.to_owned() };
        self.partly.entry(name.clone()).or_insert_with(pending);
    }

    /// An alias of itself never resolves; some controllers write an object's own host into its status.
    pub(super) fn refuse_self(&mut self, name: &DnsName) {
        self.warn(INVALID_TARGET, format!("{name} would be an alias of itself; expected another host or an address"));
        self.wait(name, "its only target is the name itself");
    }

    /// Asks for records at `name` whose targets are not known now.
    pub(crate) fn wait(&mut self, name: &DnsName, reason: &str) {
        let resource = self.settings.resource.clone();
        let pending = || Pending { name: name.clone(), resource, reason: reason.to_owned() };
        self.pending.entry(name.clone()).or_insert_with(pending);
    }

    /// Asks for `targets`, or waits if there are none.
    pub(crate) fn want_or_wait(&mut self, name: &DnsName, targets: &[RData], sharing: Sharing, reason: &str) {
        if targets.is_empty() {
            self.wait(name, reason);
        } else {
            self.want(name, targets, sharing);
        }
    }
}

/// Names of which some targets are not known: where there are others, what is published under the label stays for the grace, else the
/// name is pending.
pub(super) fn settle(
    partly: BTreeMap<DnsName, Pending>,
    endpoints: &[Endpoint],
    pending: &mut BTreeMap<DnsName, Pending>,
    unknown: &mut Vec<Unknown>,
) {
    for (name, part) in partly {
        if endpoints.binary_search_by(|endpoint| endpoint.name.cmp(&name)).is_ok() {
            keep_for_grace(unknown, part.resource, part.reason);
        } else {
            pending.entry(name).or_insert(part);
        }
    }
}

/// What is published under a label stays for the grace; the first reason is as good as any.
fn keep_for_grace(unknown: &mut Vec<Unknown>, resource: Option<Arc<str>>, reason: String) {
    if !unknown.iter().any(|known| known.passing && known.resource == resource) {
        unknown.push(Unknown { resource, reason, passing: true });
    }
}
