//! Who may ask for which name. The stage stands before contention, so that a name that is denied holds nothing.

use std::fmt;

use crate::endpoint::Endpoint;

/// Why an object may not have a name, for its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied(pub String);

/// Decides over one endpoint. Pure: equal endpoints get equal answers.
pub trait NamePolicy: Send + Sync {
    /// Whether the endpoint's object may ask for its name and type.
    ///
    /// # Errors
    /// The reason why not.
    fn permit(&self, endpoint: &Endpoint) -> Result<(), Denied>;
}

/// Everybody may ask for everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct PermitAll;

impl NamePolicy for PermitAll {
    fn permit(&self, _: &Endpoint) -> Result<(), Denied> {
        Ok(())
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
