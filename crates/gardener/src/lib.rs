//! Gardener's DNSRecords (`extensions.gardener.cloud/v1alpha1`).
//!
//! [`validate`] has the rules of the kind, and [`admission`] the webhook that holds objects against them when they are written.

pub mod admission;
pub mod validate;
