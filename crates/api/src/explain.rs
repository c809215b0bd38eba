//! Why a name is there, or is not.

use serde::{Deserialize, Serialize};
use zonewright_core::explain::Subject;

pub use zonewright_core::explain::Explanation;

/// Asks why a name is there or is not, or what became of an object. Answered by [`Explanation`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Explain {
    /// The name or the object.
    pub about: Subject,
}
