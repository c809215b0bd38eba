//! The options of a record set, as objects state them: `google/weight` by the annotation `google-weight`.

use zonewright_core::options::{OptionKind, OptionSpec, OptionTable};

use crate::policy::WEIGHT as MOST;

/// The kind of the routing policy.
pub(crate) const POLICY: &str = "google/routing-policy";
/// The share of an item.
pub(crate) const WEIGHT: &str = "google/weight";
/// The place of an item.
pub(crate) const LOCATION: &str = "google/location";

const fn option(key: &'static str, kind: OptionKind, default: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec { key, kind, default, doc }
}

/// What an object can state.
pub const OPTIONS: OptionTable = OptionTable {
    specs: &[
        option(
            POLICY,
            OptionKind::Choice(&["geo", "wrr"]),
            "by the other two",
            "How answers are chosen: by the client's place, or by weight",
        ),
        option(
            WEIGHT,
            OptionKind::Int { min: 0, max: MOST as i64 },
            "none",
            "Share of this item among those of its name",
        ),
        option(
            LOCATION,
            OptionKind::Text,
            "none",
            "Google Cloud region nearest to the clients, such as `europe-west3`",
        ),
    ],
    ..OptionTable::NONE
};
