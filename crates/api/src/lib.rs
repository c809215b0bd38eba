//! Requests and answers between the daemon and its commands, over the control socket.
//!
//! One request and one answer a connection, each a line of JSON. In: bytes of a line. Out: a [`Request`] that makes sense, or a
//! sentence for whoever asked. What must hold: both sides state the [`VERSION`] that they speak, and where the two differ neither
//! guesses what the other means.
//!
//! ```
//! use zonewright_api::{Approve, Approved, decode_answer, decode_request, encode_answer, encode_request};
//!
//! // The command writes a line ...
//! let line = encode_request("token", Approve { hash: "3f2a".to_owned() });
//! // ... the daemon reads it, and answers ...
//! let request = decode_request(&line, "token").unwrap();
//! assert_eq!(request, Approve { hash: "3f2a".to_owned() }.into());
//! let line = encode_answer(Ok(Approved { approved: "3f2a".to_owned(), zone: "rfc2136/example.com".to_owned(), deletes: 21 }));
//! // ... and the command reads that.
//! let answer = decode_answer::<Approve>(&line).unwrap();
//! assert_eq!(answer.deletes, 21);
//! ```

mod explain;
mod history;
mod inventory;
mod plans;
mod undo;
mod wire;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use explain::{Explain, Explanation};
pub use history::{ChangedRecord, ClaimChange, History, HistoryAnswer, HistoryEntry};
pub use inventory::{
    ListedOwner, ListedRecord, ListedZone, OwnerList, Owners, OwnershipKind, RecordList, Records, ShownSet, ZoneList,
    Zones,
};
pub use plans::{Approve, Approved, ContestedName, HeldPlan, HeldPlans, Plans, Where};
pub use undo::{
    JournalStart, Pinned, PinnedNames, Pins, PlanUndo, Undo, UndoFailure, UndoPlan, UndoResult, UndoZone, Unpin,
    Unpinned,
};
pub use wire::{WireError, decode_answer, decode_request, encode_answer, encode_request};

/// The version of the protocol. It changes when a request or an answer can no longer be read by the other side.
pub const VERSION: u32 = 1;

/// What can be asked of a daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case")]
pub enum Request {
    /// See [`Plans`].
    Plans(Plans),
    /// See [`Approve`].
    Approve(Approve),
    /// See [`History`].
    History(History),
    /// See [`PlanUndo`].
    PlanUndo(PlanUndo),
    /// See [`Undo`].
    Undo(Undo),
    /// See [`Pins`].
    Pins(Pins),
    /// See [`Unpin`].
    Unpin(Unpin),
    /// See [`Explain`].
    Explain(Explain),
    /// See [`Records`].
    Records(Records),
    /// See [`Zones`].
    Zones(Zones),
    /// See [`Owners`].
    Owners(Owners),
}

/// One kind of request, with what answers it.
pub trait Ask: Into<Request> {
    /// The answer, unless it is a refusal.
    type Answer: Serialize + DeserializeOwned;
}

macro_rules! asks {
    ($($request:ident => $answer:ty;)*) => {
        $(
            impl From<$request> for Request {
                fn from(request: $request) -> Self {
                    Self::$request(request)
                }
            }

            impl Ask for $request {
                type Answer = $answer;
            }
        )*
    };
}

asks! {
    Plans => HeldPlans;
    Approve => Approved;
    History => HistoryAnswer;
    PlanUndo => UndoPlan;
    Undo => UndoResult;
    Pins => PinnedNames;
    Unpin => Unpinned;
    Explain => Explanation;
    Records => RecordList;
    Zones => ZoneList;
    Owners => OwnerList;
}
