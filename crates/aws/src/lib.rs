//! How AWS services are reached: credentials, roles, and the SDK's requests over the HTTP client of this workspace.
//!
//! In: the flags of a provider ([`AccessConfig`]), and an SDK's client that is built from what [`Access`] gives. Out: its answers,
//! or a [`zonewright_http::Failure`] that says what went wrong and whether the request may have been carried out ([`failure`]).
//! What must hold: the SDK neither repeats nor times out by itself, since the account has one pace and the engine one way to
//! repeat; nothing secret is printed; and credentials that were refused are read anew before the next request.

mod access;
mod failure;
pub mod flags;
mod transport;
mod web_identity;

pub use access::{Access, AccessConfig, AccessKeys};
pub use failure::{ErrorClass, failure, is_stale, sentences};
pub use transport::{PathTemplate, sdk_http_client};
