//! What is asked of the service, with the permission of a token that it takes.
//!
//! <https://developers.cloudflare.com/fundamentals/api/reference/permissions/>

/// A kind of request, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Operation {
    /// A verb and what it is about.
    pub(crate) name: &'static str,
    /// The permission as the dashboard names it: scope, group and level.
    pub(crate) permission: &'static str,
}

const ZONE_READ: &str = "Zone / Zone / Read";
const DNS_READ: &str = "Zone / DNS / Read";
const DNS_EDIT: &str = "Zone / DNS / Edit";
const CERTIFICATES_READ: &str = "Zone / SSL and Certificates / Read";
const CERTIFICATES_EDIT: &str = "Zone / SSL and Certificates / Edit";

/// The name of whatever changes something.
pub(crate) const APPLY: &str = "apply changes";

pub(crate) const LIST_ZONES: Operation = Operation { name: "list zones", permission: ZONE_READ };
pub(crate) const READ_ZONE: Operation = Operation { name: "read zone", permission: ZONE_READ };
pub(crate) const LIST_RECORDS: Operation = Operation { name: "list records", permission: DNS_READ };
pub(crate) const WRITE_RECORDS: Operation = Operation { name: APPLY, permission: DNS_EDIT };
pub(crate) const LIST_HOSTNAMES: Operation =
    Operation { name: "list custom host names", permission: CERTIFICATES_READ };
pub(crate) const WRITE_HOSTNAMES: Operation = Operation { name: APPLY, permission: CERTIFICATES_EDIT };
pub(crate) const LIST_REGIONS: Operation = Operation { name: "list regional host names", permission: DNS_READ };
pub(crate) const WRITE_REGIONS: Operation = Operation { name: APPLY, permission: DNS_EDIT };
