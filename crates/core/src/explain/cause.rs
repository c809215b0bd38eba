//! The causes: one table, from which the sentences, the advice, the events, the metric labels and the page
//! `docs/troubleshooting.md` are taken.

use serde::{Deserialize, Serialize};

use crate::plan::Why;

/// What the table says of a cause. Sentence and advice have blanks such as `{name}`, which a
/// [`Finding`](super::Finding) fills in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CauseText {
    /// The cause as one word, in JSON too.
    pub word: &'static str,
    /// The sentence that names the cause.
    pub sentence: &'static str,
    /// The sentence that says what to do.
    pub advice: &'static str,
    /// The reason of the event on the object, and the label of the metric; `None` where there is no object for an event, or nothing
    /// wrong with it.
    pub event: Option<&'static str>,
}

macro_rules! causes {
    ($($(#[doc = $doc:literal])* $cause:ident { $event:expr, $sentence:literal, $advice:literal })*) => {
        /// Why a name is there, or is not. The order is that of the way from an object to the zone.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Cause {
            $($(#[doc = $doc])* $cause,)*
        }

        impl Cause {
            /// Every cause, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$cause,)*];

            /// What the table says of it.
            pub const fn row(self) -> CauseText {
                match self {
                    $(Self::$cause => CauseText {
                        word: stringify!($cause), sentence: $sentence, advice: $advice, event: $event,
                    },)*
                }
            }
        }
    };
}

causes! {
    /// It is published as it is asked for.
    Published { None,
        "{name} is published since {when}, by {by}.",
        "Nothing has to be done." }
    /// Planning has not begun.
    NotStarted { None,
        "Nothing is planned yet, since {detail} was not read to its end.",
        "Wait, or see what keeps it from being read in the log and at /readyz." }
    /// Objects of a kind cannot be read.
    KindUnread { None,
        "{name} was not found, and not everything could be read: {detail}.",
        "Give the daemon the rights that `zonewright rbac` prints, or mend what the message names." }
    /// Nobody asks for it.
    NotAsked { None,
        "No object that is read asks for {name}.",
        "Check the name in the object, and that its kind is named by --source and its namespace is not left out by --namespace: read are {detail}." }
    /// No such object is read.
    NoSuchObject { None,
        "{object} is not among the objects that are read.",
        "Check its kind, namespace and name, --namespace, and that --source names its kind: read are {detail}." }
    /// The object is there and asks for no name.
    NoNames { None,
        "{object} is read and asks for no name.",
        "Give it the annotation {expected}, or what else its source takes names from (docs/sources.md)." }
    /// An annotation with a key that nothing reads.
    MisspeltAnnotation { None,
        "{object} has the annotation {value}, which nothing reads.",
        "Rename the annotation to {expected}." }
    /// The object was written for another annotation prefix.
    OtherPrefix { Some("OtherAnnotationPrefix"),
        "{object} asks for {name} with annotations that begin with {value}, which is not in force.",
        "Start the daemon with --annotation-prefix={value} as well (the flag can be repeated), or rename the annotations so that they \
         begin with {expected}." }
    /// The annotation filter.
    AnnotationFilter { None,
        "{object} is passed over, since its annotations do not match {flag}.",
        "Give the object what the filter asks for, or change --annotation-filter." }
    /// The label filter.
    LabelFilter { None,
        "{object} is passed over, since its labels do not match {flag}.",
        "Give the object the labels that the filter asks for, or change --label-filter." }
    /// The namespace.
    Namespace { None,
        "{object} is passed over, since it is not in the namespace of {flag}.",
        "Take --namespace away or change it, or move the object; nothing else is known of objects of other namespaces." }
    /// The controller annotation names another one.
    OtherController { None,
        "{object} is passed over, since its annotation {value} leaves it to another controller.",
        "Take the annotation away, or set it to dns-controller." }
    /// The class of an Ingress.
    IngressClass { None,
        "{object} is passed over, since its class is not among those of {flag}.",
        "Add the class with --ingress-class, or give the Ingress one of those classes." }
    /// The type of a Service.
    ServiceType { None,
        "{object} is passed over, since its type is not among those of {flag}.",
        "Add the type with --service-type-filter, or change the type of the Service." }
    /// Gateways that do not count.
    GatewayFilter { None,
        "{object} is attached to no Gateway that {flag} lets through.",
        "Change --gateway-name, --gateway-namespace or --gateway-label-filter, or attach the route to another Gateway." }
    /// A place that the flags switch off.
    IgnoredField { None,
        "{object} states {name} where {flag} says that names are not taken from.",
        "Take the flag away, or state the name elsewhere." }
    /// A service with cluster addresses alone.
    InternalService { None,
        "{object} has addresses inside the cluster alone, which are not published.",
        "Start the daemon with --publish-internal-services, or use the annotation internal-hostname for names that lead there." }
    /// The text is no name.
    InvalidHostname { Some("InvalidHostname"),
        "{object} states a name that is none: {detail}.",
        "Mend the text in the object." }
    /// More names than an annotation may have.
    TooManyNames { Some("TooManyNames"),
        "{object} states more names than are taken: {detail}.",
        "Raise --max-names-per-annotation, or spread the names over several objects." }
    /// The object cannot be read.
    UnreadableObject { Some("UnreadableObject"),
        "{object} cannot be read: {detail}.",
        "Mend the field in the object; what is published for it stays until then." }
    /// A template failed.
    TemplateFailed { Some("TemplateFailed"),
        "It cannot be determined what {object} asks for: {detail}.",
        "Mend the template, or what the object lacks for it; what is published for it stays until then." }
    /// The object has no targets.
    PendingTargets { Some("PendingTargets"),
        "{object} asks for {name} and has no target for it: {detail}.",
        "See why the object has no address (for a load balancer, its controller); a record that stands is kept until {when}." }
    /// Its targets are none.
    InvalidTarget { Some("InvalidTarget"),
        "{object} asks for {name} with targets that are none: {detail}.",
        "Mend the target in the object: an IP address or a host name." }
    /// Network filters took all targets.
    TargetFiltered { Some("TargetFiltered"),
        "Every target that {object} has for {name} is dropped by {flag}.",
        "Change --target-net-filter or --exclude-target-net, or the target." }
    /// Outside of the domain filter.
    NameFiltered { Some("NameFiltered"),
        "{name} is outside of {flag}, so it is not published.",
        "Add the domain with --domain-filter, or change the filter that is named; another daemon may be meant to publish it." }
    /// Of a type that is not managed.
    TypeFiltered { Some("TypeFiltered"),
        "{record} is not published, since records of its type are not managed: {flag}.",
        "Add the type with --managed-record-types, or take it out of --exclude-record-types." }
    /// The zones cannot be listed.
    ZonesUnknown { Some("ZoneNotServed"),
        "It is not known which zones there are: {detail}.",
        "Mend what the provider's answer names; it is tried again by itself." }
    /// In no zone.
    NoMatchingZone { Some("NoMatchingZone"),
        "{name} lies in none of the zones that are managed: {detail}.",
        "Create the zone at the provider, let --zone-id-filter and its kin through to it, or change the name." }
    /// Another instance was chosen.
    UnknownProvider { Some("UnknownProvider"),
        "{object} names a provider instance that there is not: {detail}.",
        "Change the annotation zonewright.dev/provider to the name of an instance." }
    /// The name policy.
    Denied { Some("Denied"),
        "{object} may not ask for {name}: {detail}.",
        "Ask whoever decides who may have the name." }
    /// A text that reads as a claim.
    OwnershipText { Some("OwnershipText"),
        "{record} is refused, since its text would be read as a claim of ownership.",
        "Change the text: it must not contain heritage=external-dns." }
    /// Too many records.
    QuotaExceeded { Some("QuotaExceeded"),
        "{record} waits, since its object or namespace has as many records as it may have: {flag}.",
        "Raise the limit, or take other names away." }
    /// Another object has the name.
    NameConflict { Some("NameConflict"),
        "{name} is held by another object: {detail}.",
        "Take the name out of one of the objects; to join their targets, use --same-name=union." }
    /// A CNAME and another type are wanted.
    CnameConflict { Some("CnameConflict"),
        "A CNAME cannot stand beside other records at {name}: {detail}.",
        "Take away one of the two, the CNAME or what stands or is wanted beside it." }
    /// Two kinds of routing policy.
    RoutingConflict { Some("RoutingConflict"),
        "The sets at {name} have different kinds of routing policy: {detail}.",
        "Give all objects of the name the same kind of routing policy." }
    /// The provider cannot hold it.
    RecordUnsupported { Some("RecordUnsupported"),
        "The provider cannot publish what is asked for: {detail}.",
        "Ask for something that the provider can hold (docs/providers.md)." }
    /// Another owner has the record.
    ForeignOwner { Some("ForeignRecord"),
        "{record} stands in zone {zone} and belongs to owner {owner}.",
        "If it is to be ours, run `zonewright transfer --from={owner} --to={by} {name}` with the flags of the daemon." }
    /// Nobody claims the record.
    Unclaimed { Some("ForeignRecord"),
        "{record} stands in zone {zone} and nobody claims it: claims were looked for at {detail}.",
        "If it is to be ours, run `zonewright adopt {name}` with the flags of the daemon (with --force={name} where its values differ)." }
    /// Several owners claim it.
    DisputedClaim { Some("DisputedClaim"),
        "{record} in zone {zone} is claimed by several owners at once: {owner}.",
        "For each owner but the one that is to have it, run `zonewright release --txt-owner-id=OWNER {name}` with the flags of the daemon; it shows first what else of that owner at or below the name goes along." }
    /// Another record beside it is not ours.
    ForeignBeside { Some("ForeignRecord"),
        "{record} is not created, since another record at the name is not ours: {detail}.",
        "Run `zonewright adopt {name}` if that record is to be ours, or take it away." }
    /// Sets of another kind that are not ours.
    ForeignRouting { Some("ForeignRecord"),
        "{record} is not created, since a set with another kind of routing policy stands there that is not ours: {detail}.",
        "Take that set away, or give the object the same kind of routing policy." }
    /// The place in a record set is taken.
    ItemConflict { Some("ItemConflict"),
        "{record} waits, since its place in the routing policy is taken: {detail}.",
        "Give the object another location or weight, or take the other item away." }
    /// A claim of another owner without a record.
    ForeignClaim { Some("ForeignClaim"),
        "There is no record {record}, but owner {owner} claims it.",
        "If it is to be ours, run `zonewright drain --txt-owner-id={owner} {name}` with the flags of the daemon, which takes the claim away (and shows first what else of that owner at or below the name would go along), or ask that owner." }
    /// A policy forbids the change.
    Policy { Some("Policy"),
        "{record} is not as it is asked for, since the policy allows no {detail}.",
        "Change --policy, or the annotation zonewright.dev/policy of the object." }
    /// The removal needs evidence.
    WaitingForEvidence { Some("WaitingForEvidence"),
        "{record} stays as it is, since nothing is removed while the view of {detail} is not complete and fresh.",
        "Mend what keeps the kind from being read (/readyz names it); the change follows by itself." }
    /// Another annotation prefix keeps it.
    KeptForOtherPrefix { Some("KeptForOtherPrefix"),
        "{record} stays as it is: {detail}.",
        "Start the daemon with --annotation-prefix={value} as well, or rename the annotations." }
    /// Another writer changes it back.
    RecordContested { Some("RecordContested"),
        "{record} waits, since another writer keeps changing the name back: {detail}.",
        "Find the other writer and stop it; usually it is a second daemon with the same zone." }
    /// An undo pinned it.
    RecordPinned { Some("RecordPinned"),
        "{name} stays as an undo has left it: {detail}.",
        "Run `zonewright undo --unpin {name}` to let it follow its objects again." }
    /// The claim has no place.
    ClaimRefused { Some("ClaimRefused"),
        "{name} is not published, since its claim cannot be written: {detail}.",
        "Shorten the name, or change --txt-prefix or --txt-suffix." }
    /// The provider refused it.
    RecordRefused { Some("RecordRefused"),
        "The provider refuses {name}: {detail}.",
        "Mend what the answer names; it is tried again at {when}, and at once when its object changes." }
    /// The zone cannot be used.
    ZoneNotServed { Some("ZoneNotServed"),
        "Zone {zone} cannot be read or written: {detail}.",
        "Mend what the answer names (credentials, address, rights); it is tried again by itself." }
    /// The zone is being read.
    ZoneUnread { None,
        "Zone {zone} has not been read to its end yet.",
        "Wait; zonewright_listing_record_sets shows how far it is." }
    /// Nothing is sent in a dry run.
    DryRun { None,
        "{record} would be written now, but this is a dry run.",
        "Start the daemon without --dry-run." }
    /// It was found without a daemon that something is to be done.
    DaemonAway { None,
        "{record} is not as it is asked for, and nothing but a daemon that has not written it keeps it from that.",
        "See whether the daemon runs and has these flags, or start it." }
    /// It is about to be done.
    UnderWay { None,
        "{record} is about to be written.",
        "Wait a moment and ask again." }
    /// It stands, and servers do not answer it.
    NotServed { None,
        "{record} stands in zone {zone}, but {detail}.",
        "Check the delegation of the zone and whether its servers are in step; this daemon has done its part." }
    /// It stands, and nobody asks for it: the delete is held.
    HeldDelete { Some("DeleteHeld"),
        "{record} is no longer asked for, and its delete is held in plan {hash}: {detail}.",
        "Look at it with `zonewright plans`, and approve it with `zonewright approve {hash}`." }
    /// It stands, and nobody asks for it: the policy keeps it.
    KeptByPolicy { None,
        "{record} is no longer asked for, and stays since the policy allows no {detail}.",
        "Start the daemon with --policy=sync, or take the record away by hand." }
    /// It stands, is not asked for and is not ours.
    NotOurs { None,
        "{record} stands in zone {zone}, no object that is read asks for it, and it is not ours: it belongs to {owner}.",
        "Nothing is done with it; to publish the name, let an object ask for it, and run `zonewright adopt {name}` or \
         `zonewright transfer`." }
}

impl Cause {
    /// The label of the metric, which is the reason of the event where there is one.
    pub fn reason(self) -> &'static str {
        let row = self.row();
        row.event.unwrap_or(row.word)
    }

    /// The cause that stands behind a note with this reason, where a note keeps something from being published.
    pub fn of_note(reason: &str) -> Option<Self> {
        Some(match reason {
            "NameConflict" => Self::NameConflict,
            "CnameConflict" => Self::CnameConflict,
            "RoutingConflict" => Self::RoutingConflict,
            "ItemConflict" => Self::ItemConflict,
            "OwnershipText" => Self::OwnershipText,
            "UnknownProvider" => Self::UnknownProvider,
            "Denied" => Self::Denied,
            "InvalidHostname" | "InvalidEndpoint" => Self::InvalidHostname,
            "InvalidTarget" => Self::InvalidTarget,
            "TooManyNames" => Self::TooManyNames,
            "TemplateFailed" => Self::TemplateFailed,
            "UnreadableObject" => Self::UnreadableObject,
            "UnsupportedType"
            | "UnsupportedWildcard"
            | "CnameAtApex"
            | "ApexDelegation"
            | "UnsupportedAlias"
            | "UnsupportedRouting"
            | "SelfReference"
            | "RecordUnsupported"
            | "UnknownZone" => Self::RecordUnsupported,
            _ => return None,
        })
    }

    /// Whether a note with this reason says that a filter leaves something out, which another daemon may be meant to publish.
    pub fn is_filter(reason: &str) -> bool {
        [Self::NameFiltered, Self::TypeFiltered, Self::TargetFiltered].iter().any(|cause| cause.reason() == reason)
    }

    /// Whether the name is as it is asked for.
    pub fn is_good(self) -> bool {
        self == Self::Published
    }
}

impl From<&Why> for Cause {
    fn from(why: &Why) -> Self {
        match why {
            Why::Foreign(_) => Self::ForeignOwner,
            Why::Unclaimed => Self::Unclaimed,
            Why::Disputed(_) => Self::DisputedClaim,
            Why::ForeignBeside(_) => Self::ForeignBeside,
            Why::ForeignRouting(..) => Self::ForeignRouting,
            Why::PlaceTaken(_) => Self::ItemConflict,
            Why::ForeignClaim(_) => Self::ForeignClaim,
            Why::CnameBeside(_) => Self::CnameConflict,
            Why::Policy("deletes") => Self::KeptByPolicy,
            Why::Policy(_) => Self::Policy,
            Why::Doubt(_) => Self::WaitingForEvidence,
            Why::Pending(_) => Self::PendingTargets,
            Why::OtherPrefix { .. } => Self::KeptForOtherPrefix,
            Why::Unmet => Self::RecordUnsupported,
            Why::Contested(_) => Self::RecordContested,
            Why::Pinned(_) => Self::RecordPinned,
        }
    }
}

#[cfg(test)]
#[path = "cause_tests.rs"]
mod tests;
