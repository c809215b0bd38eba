use std::sync::{Mutex, Weak};

use async_trait::async_trait;
use zonewright_core::explain::{Consideration, Subject};
use zonewright_core::source::{KindState, PublishedNames, Review, Source, Update};
use zonewright_core::store::MemoryStore;

use super::*;
use crate::config::Config;
use crate::state::State;

/// A source of one kind that looks, when it is asked for what came, how far the engine trusts it.
#[derive(Default)]
struct Looking {
    state: Mutex<KindState>,
    context: Mutex<Weak<EngineContext>>,
    trusted: Mutex<Vec<bool>>,
    /// What becomes of the kind while the source is asked.
    meanwhile: Mutex<Option<KindState>>,
}

impl Looking {
    fn is_trusted(&self) -> bool {
        let context = self.context.lock().unwrap().upgrade().unwrap();
        let desired_state = context.desired_state();
        desired_state.evidence.kinds.get("services").is_some_and(|state| state.is_evidence())
    }
}

#[async_trait]
impl Source for Looking {
    async fn changed(&self) {}

    fn take(&self, _: bool) -> Update {
        self.trusted.lock().unwrap().push(self.is_trusted());
        if let Some(state) = self.meanwhile.lock().unwrap().take() {
            *self.state.lock().unwrap() = state;
        }
        Update::default()
    }

    fn review(&self, _: usize) -> Review {
        Review::default()
    }

    fn evidence(&self) -> Evidence {
        let kinds = [(Arc::from("services"), *self.state.lock().unwrap())];
        Evidence { kinds: kinds.into(), ..Evidence::default() }
    }

    fn errors(&self) -> SourceErrors {
        SourceErrors::default()
    }

    fn use_published(&self, _: Arc<dyn PublishedNames>) {}

    fn published_read(&self) -> bool {
        false
    }

    fn consider(&self, _: &Subject) -> Vec<Consideration> {
        Vec::new()
    }
}

/// Doubt ends with objects that were missing: it ends for the plans once these are in the table, and begins before what it is about is.
#[tokio::test(start_paused = true)]
async fn doubt_ends_after_what_came_was_taken_and_begins_before() {
    let good = KindState { complete: true, fresh: true, settled: true, ..KindState::default() };
    let doubted = KindState { complete: false, doubted: Some(1), ..good };
    let source = Arc::new(Looking::default());
    let state = State::load(Arc::new(MemoryStore::default()), Timestamp(0), Duration::from_hours(1)).await;
    let context =
        EngineContext { sources: vec![source.clone()], ..EngineContext::new(Config::default(), Vec::new(), state) };
    let context = Arc::new(context);
    *source.context.lock().unwrap() = Arc::downgrade(&context);
    let mut intake = Intake::new(context);
    for (now, while_taken, after) in
        [(good, false, true), (doubted, false, false), (good, false, true), (good, true, true)]
    {
        *source.state.lock().unwrap() = now;
        intake.turn();
        let taken = source.trusted.lock().unwrap().pop();
        assert_eq!((taken, source.is_trusted()), (Some(while_taken), after), "{now:?}");
    }
}

/// A list that ends while a source is asked for what came is not taken over yet: planning begins with the next turn, which does.
#[tokio::test(start_paused = true)]
async fn planning_does_not_begin_with_a_list_that_is_not_taken_over() {
    let listed = KindState { complete: true, fresh: true, settled: true, objects: 3, ..KindState::default() };
    let source = Arc::new(Looking::default());
    let state = State::load(Arc::new(MemoryStore::default()), Timestamp(0), Duration::from_hours(1)).await;
    let context =
        EngineContext { sources: vec![source.clone()], ..EngineContext::new(Config::default(), Vec::new(), state) };
    let context = Arc::new(context);
    *source.context.lock().unwrap() = Arc::downgrade(&context);
    *source.meanwhile.lock().unwrap() = Some(listed);
    let mut intake = Intake::new(context.clone());
    intake.turn();
    assert!(!context.has_started(), "what the list held is not in the table yet");
    intake.turn();
    assert!(context.has_started() && source.is_trusted());
}
