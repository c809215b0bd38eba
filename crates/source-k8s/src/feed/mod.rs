//! Where objects come from: a cluster's watches, or a folder of manifests.
//!
//! A feed turns what it sees into [`FeedEvent`]s; it decides nothing. What must hold: [`FeedEvent::Deleted`] is sent only for a
//! DELETE event of an unbroken watch, and [`FeedEvent::Done`] only after every object of the list.

pub mod manifests;
pub(crate) mod polled;
pub(crate) mod resolver;
#[cfg(feature = "cluster")]
pub(crate) mod status;
#[cfg(feature = "cluster")]
pub mod watch;

use std::sync::Arc;

use tokio::time::Instant;
use zonewright_core::endpoint::Uid;

use crate::kind::Kind;
use crate::store::{Object, ObjectKey};

/// An object that is there and cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Which object it is; with an empty name if not even that can be determined.
    pub key: ObjectKey,
    /// Its UID; empty if that cannot be determined.
    pub uid: Uid,
    /// Which field is wrong, and what was expected.
    pub error: Arc<str>,
}

/// Something that a feed saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedEvent {
    /// A list of the kind begins; a list that was under way is void.
    Begin(Kind),
    /// An object of the list.
    Listed(Object),
    /// The list ended: what it did not hold is gone, without proof.
    Done(Kind),
    /// An object was added or changed.
    Applied(Object),
    /// A DELETE event on an unbroken watch.
    Deleted(ObjectKey),
    /// Objects that are not there any more, without proof: their files vanished.
    Removed(Vec<ObjectKey>),
    /// The watch is open.
    Open(Kind),
    /// The view stopped being fresh then: a list or a watch failed.
    Lost(Kind, Instant),
    /// An object that is there and cannot be read.
    Unreadable(Unreadable),
    /// The API server does not give its objects: a right is missing, or they are served in versions that are not read.
    Forbidden(Kind),
    /// Discovery positively denies the kind, in every version.
    Denied(Kind),
    /// The feed can neither read the kind any more nor see what changes.
    Blind(Kind),
}
