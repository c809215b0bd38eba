//! What moves: the loops around the pure stages of [`zonewright_core`].
//!
//! In: sources, registries and providers, each behind its trait. Out: zones that hold what objects ask for, a journal of
//! every change, the state that survives a restart, metrics. One worker for each zone plans and carries out; the layers stand
//! between it and the provider.

mod adjusting;
mod admit;
mod announce;
mod approvals;
mod backoff;
mod brake;
mod brake_ledger;
mod changes;
mod claim_anomalies;
mod claim_moves;
mod claim_queue;
mod claims;
mod config;
mod contested;
mod context;
mod deletes;
mod desired_state;
mod drafting;
mod early;
mod early_names;
mod engine;
mod footprint;
mod health;
mod held_plan;
mod housekeeping;
mod inbox;
mod intake;
pub mod journal;
pub mod layer;
mod listing_under_way;
pub mod metrics;
mod name_facts;
mod orphans;
mod outcome;
pub mod ownership;
mod pinning;
mod pins;
mod pipeline;
mod planning;
mod presence;
mod provider_instance;
mod quotas;
mod reads;
mod recent;
mod refusals;
mod remaps;
mod retries;
mod round;
mod round_deletes;
mod saved;
mod stale_intents;
mod state;
mod state_document;
mod table_sizes;
mod tally;
mod undo;
mod worker;
mod write_through;
mod zone_directory;
mod zone_handle;
mod zone_loop;
mod zone_reading;

pub use announce::Announcement;
pub use changes::{Changes, Numbers};
pub use config::{Config, Instance, Parts};
pub use engine::Engine;
pub use health::{Health, NameState};
pub use outcome::{Outcome, Problem};
pub use pins::Pin;
pub use recent::{RecentChange, RecentChanges};
pub use saved::{approve_saved, saved_pins, saved_plans, seen_kinds};
pub use undo::{UndoPlan, UndoReport, UndoRequest, UndoZone};
