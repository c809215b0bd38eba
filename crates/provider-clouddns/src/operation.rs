//! What is asked of the service, with the permission that it takes.
//!
//! <https://cloud.google.com/dns/docs/access-control#permissions>

pub(crate) const APPLY: &str = "apply changes";
pub(crate) const LIST_RECORDS: &str = "list records";
pub(crate) const LIST_ZONES: &str = "list zones";
pub(crate) const READ_CHANGE: &str = "read change";
pub(crate) const READ_PROJECT: &str = "read project";
pub(crate) const READ_ZONE: &str = "read zone";

const PERMISSIONS: &[(&str, &str)] = &[
    (APPLY, "dns.changes.create, and dns.resourceRecordSets.create, .update and .delete"),
    (LIST_RECORDS, "dns.resourceRecordSets.list"),
    (LIST_ZONES, "dns.managedZones.list"),
    (READ_CHANGE, "dns.changes.get"),
    (READ_PROJECT, "dns.projects.get"),
    (READ_ZONE, "dns.managedZones.get"),
];

/// What an identity has to be allowed for this operation.
pub(crate) fn permission(operation: &str) -> Option<&'static str> {
    PERMISSIONS.iter().find(|(of, _)| *of == operation).map(|(_, permission)| *permission)
}
