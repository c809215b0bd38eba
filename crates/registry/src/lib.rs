//! Who owns which record.
//!
//! A registry reads the claims that stand beside the records of a zone, and adds to each group of changes what must
//! happen to those claims. It decides from what was published and never talks to a provider. [`txt`] keeps claims as TXT
//! records that external-dns reads and writes too; [`configmap`] keeps them outside the zones, [`memory`] as long as the
//! process lives; [`noop`] keeps none.

pub mod configmap;
pub mod memory;
pub mod noop;
pub mod txt;
