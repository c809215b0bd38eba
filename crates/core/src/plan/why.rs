//! Why something is left undone, and how that is reported.

use std::fmt;
use std::sync::Arc;

use crate::capability::RoutingKind;
use crate::claim::OwnerId;
use crate::endpoint::{KindId, Note, ObjectRef};
use crate::record::RecordKey;
use crate::rtype::RecordType;

/// Why something that is wanted, or that differs, is left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The record belongs to another owner.
    Foreign(OwnerId),
    /// The record belongs to nobody that claims it.
    Unclaimed,
    /// Several owners claim the record.
    Disputed(Vec<OwnerId>),
    /// Another record of a managed type at the name is not ours.
    ForeignBeside(RecordKey),
    /// Sets of another kind of routing policy stand there that are not ours: this one, of this kind.
    ForeignRouting(RecordKey, Option<RoutingKind>),
    /// Another item of the record set has the place that is asked for.
    PlaceTaken(RecordKey),
    /// There is no record, but another owner's claim on it.
    ForeignClaim(OwnerId),
    /// A CNAME cannot stand beside these types.
    CnameBeside(Vec<RecordType>),
    /// The policy forbids it.
    Policy(&'static str),
    /// A removal may not rest on these kinds now.
    Doubt(Vec<KindId>),
    /// The object that holds the name still asks for it, without known targets.
    Pending(String),
    /// An object asks for it under a well-known annotation prefix that is not in force.
    OtherPrefix {
        /// The object that carries the prefix.
        object: ObjectRef,
        /// The prefix, with its final slash.
        prefix: Arc<str>,
    },
    /// What is asked for in its place cannot be written here, or waits; what found that out reports it on the objects.
    Unmet,
    /// Another writer keeps changing the name back.
    Contested(Arc<str>),
    /// An undo set the name back.
    Pinned(Arc<str>),
}

/// Something left undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    /// What it is about.
    pub key: RecordKey,
    /// Why the plan leaves it undone.
    pub why: Why,
    /// The objects that get an event.
    pub objects: Vec<ObjectRef>,
}

impl Why {
    /// The object that is the reason, where it gets the event itself.
    pub(super) fn object(&self) -> Option<&ObjectRef> {
        match self {
            Self::OtherPrefix { object, .. } => Some(object),
            _ => None,
        }
    }

    /// The reason as an event's `reason` and a metric label.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Foreign(_) | Self::Unclaimed | Self::ForeignBeside(_) | Self::ForeignRouting(..) => "ForeignRecord",
            Self::Disputed(_) => "DisputedClaim",
            Self::PlaceTaken(_) => "ItemConflict",
            Self::ForeignClaim(_) => "ForeignClaim",
            Self::CnameBeside(_) => "CnameConflict",
            Self::Policy(_) => "Policy",
            Self::Doubt(_) => "WaitingForEvidence",
            Self::Pending(_) => "PendingTargets",
            Self::OtherPrefix { .. } => "KeptForOtherPrefix",
            Self::Unmet => "RecordUnsupported",
            Self::Contested(_) => "RecordContested",
            Self::Pinned(_) => "RecordPinned",
        }
    }
}

fn list<T: fmt::Display>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign(owner) => write!(f, "a record stands there that belongs to owner {owner}; it is left alone"),
            Self::Unclaimed => {
                f.write_str("a record stands there that nobody claims; it is not ours, so it is left alone")
            }
            Self::Disputed(owners) => write!(f, "owners {} claim it at the same time; it is left alone", list(owners)),
            Self::ForeignBeside(key) => {
                write!(f, "{key} stands at the same name and is not ours; nothing is added beside it")
            }
            Self::ForeignRouting(key, kind) => {
                let kind = kind.map_or_else(|| "no routing policy".to_owned(), |kind| format!("{kind} routing"));
                write!(
                    f,
                    "{key} stands there with {kind} and is not ours; all sets of a name and type have one kind, so nothing is changed"
                )
            }
            Self::PlaceTaken(key) => write!(
                f,
                "the item {key} has the same place in the routing policy; all items of a name and type share one record set, in \
                 which no two can have it, so this one waits"
            ),
            Self::ForeignClaim(owner) => {
                write!(f, "owner {owner} claims it, though no record stands there; nothing is created")
            }
            Self::CnameBeside(types) => write!(f, "{} stands at the same name, and a CNAME stands alone", list(types)),
            Self::Policy(what) => write!(f, "the policy allows no {what}"),
            Self::Doubt(kinds) => {
                write!(f, "nothing is removed while the view of {} is not complete and fresh", list(kinds))
            }
            Self::Contested(text) | Self::Pinned(text) => f.write_str(text),
            Self::Unmet => f.write_str("what is asked for in its place is not written here, so what stands is kept"),
            Self::OtherPrefix { object, prefix } => write!(
                f,
                "the published record is neither deleted nor changed: {object} asks for it with annotations that begin with \
                 {prefix}, which is not in force; --annotation-prefix={prefix} reads them (repeat the flag to read several \
                 prefixes), and without them the record goes"
            ),
            Self::Pending(reason) => {
                write!(f, "the published record is kept while its object has no targets: {reason}")
            }
        }
    }
}

impl Skip {
    /// The notes for the objects that are concerned.
    pub fn notes(&self) -> impl Iterator<Item = Note> + '_ {
        let text = format!("{}: {}", self.key, self.why);
        self.objects.iter().map(move |object| Note::warning(object, self.why.reason(), text.clone()))
    }
}
