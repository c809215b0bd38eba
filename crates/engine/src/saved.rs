//! The saved state, for whoever looks at it without a daemon.

use std::sync::Arc;

use zonewright_core::clock::Timestamp;
use zonewright_core::endpoint::KindId;
use zonewright_core::error::Result;
use zonewright_core::guard::{HeldPlan, JointPlan};
use zonewright_core::source::SeenKinds;
use zonewright_core::store::StateStore;

use crate::pins::Pin;
use crate::state;

/// The plans that a saved state holds, by zone and over several, for whoever looks at it without a daemon.
///
/// # Errors
/// If the state cannot be read, or is none.
pub async fn saved_plans(store: Arc<dyn StateStore>) -> Result<(Vec<(String, HeldPlan)>, Vec<JointPlan>)> {
    let state = state::State::open(store).await?;
    Ok((state.held(), state.joint()))
}

/// Approves a plan that a saved state holds, for the next process: until then the deletes that were shown may go. Returns the
/// zone and their number; `None` if no plan of that hash is held.
///
/// # Errors
/// The state cannot be read or saved.
pub async fn approve_saved(
    store: Arc<dyn StateStore>,
    hash: &str,
    until: Timestamp,
) -> Result<Option<(String, usize)>> {
    let state = state::State::open(store).await?;
    let Some(approved) = state.approve(hash, until) else { return Ok(None) };
    state.save().await?;
    Ok(Some(approved))
}

/// The pins of a saved state, by zone, for whoever looks at it without a daemon. Those whose time is over are left out.
///
/// # Errors
/// If the state cannot be read, or is none.
pub async fn saved_pins(store: &dyn StateStore, now: Timestamp) -> Result<Option<Vec<(String, Pin)>>> {
    let pins = state::saved_pins(store).await?;
    Ok(pins.map(|pins| pins.into_iter().filter(|(_, pin)| pin.until > now).collect()))
}

/// The kinds of which objects were seen by former processes, by the saved state: sources are built with them. A state that
/// cannot be read may speak of any.
pub async fn seen_kinds(store: &dyn StateStore) -> SeenKinds {
    match state::seen(store).await {
        Some(kinds) => SeenKinds::These(kinds.into_iter().map(KindId::from).collect()),
        None => SeenKinds::Any,
    }
}
