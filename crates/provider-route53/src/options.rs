//! The options of a record set, as objects state them: `aws/weight` by the annotation `aws-weight`.

use zonewright_core::options::{OptionKind, OptionSpec, OptionTable};

/// Which health check decides whether the set is answered.
pub(crate) const HEALTH_CHECK: &str = "aws/health-check-id";
/// The collection of a set with CIDR routing; read only.
pub(crate) const CIDR_COLLECTION: &str = "aws/cidr-collection-id";
/// The location of a set with CIDR routing; read only.
pub(crate) const CIDR_LOCATION: &str = "aws/cidr-location-name";
/// The traffic policy that manages a set; read only.
pub(crate) const TRAFFIC_POLICY: &str = "aws/traffic-policy-instance-id";

const fn option(key: &'static str, kind: OptionKind, default: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec { key, kind, default, doc }
}

/// What an object can state.
pub const OPTIONS: OptionTable = OptionTable {
    specs: &[
        option("aws/weight", OptionKind::Int { min: 0, max: 255 }, "none", "Share of this set among those of its name"),
        option("aws/region", OptionKind::Text, "none", "AWS region of the resource, for routing by latency"),
        option("aws/failover", OptionKind::Choice(&["PRIMARY", "SECONDARY"]), "none", "Role in a failover"),
        option(
            "aws/multi-value-answer",
            OptionKind::Text,
            "none",
            "Any value but `false`: up to eight healthy answers",
        ),
        option("aws/geolocation-continent-code", OptionKind::Text, "none", "Clients of this continent, such as `EU`"),
        option("aws/geolocation-country-code", OptionKind::Text, "none", "Clients of this country; `*` for all others"),
        option("aws/geolocation-subdivision-code", OptionKind::Text, "none", "Clients of this part of the country"),
        option(
            "aws/geoproximity-region",
            OptionKind::Text,
            "none",
            "AWS region of the resource, for routing by distance",
        ),
        option("aws/geoproximity-local-zone-group", OptionKind::Text, "none", "Local Zone group of the resource"),
        option(
            "aws/geoproximity-coordinates",
            OptionKind::Text,
            "none",
            "Latitude and longitude, such as `49.22,-74.01`",
        ),
        option(
            "aws/geoproximity-bias",
            OptionKind::Int { min: -99, max: 99 },
            "0",
            "Grows or shrinks the resource's area",
        ),
        option(HEALTH_CHECK, OptionKind::Text, "none", "Health check that decides whether the set is answered"),
        option(
            "aws/evaluate-target-health",
            OptionKind::Bool,
            "--aws-evaluate-target-health",
            "An alias follows the health of its target",
        ),
        option(
            "aws/target-hosted-zone",
            OptionKind::Text,
            "by the target's name",
            "Hosted zone that an alias points into",
        ),
        option(
            "aws/hosted-zone-id",
            OptionKind::Text,
            "every zone that fits",
            "The only hosted zone that the record goes to",
        ),
    ],
    ..OptionTable::NONE
};
