//! The admission webhook: a DNSRecord that breaks a rule is refused when it is written, with the paths of its fields.
//!
//! In: AdmissionReviews (admission.k8s.io/v1) over HTTPS at [`PATH`]. Out: their answers. It asks nobody anything and remembers
//! nothing, so any number of them may run; where none does, the controller finds the same errors and writes them to the status.

mod certificate;
mod connection;
mod review;
mod server;

pub use certificate::Certificate;
pub use review::{UnreadableReview, review};
pub use server::AdmissionServer;

/// Where the API server asks.
pub const PATH: &str = "/validate-extensions-gardener-cloud-v1alpha1-dnsrecord";
