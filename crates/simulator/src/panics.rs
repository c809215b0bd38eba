//! Panics of tasks, which would end in silence.

use std::cell::{Cell, RefCell};
use std::sync::Once;

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
    static WATCHING: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// Notes the panics of this thread from now on.
pub(crate) fn watch() {
    HOOK.call_once(|| {
        let former = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if WATCHING.get() {
                LAST.set(Some(info.to_string()));
            } else {
                former(info);
            }
        }));
    });
    WATCHING.set(true);
    LAST.set(None);
}

/// What panicked since [`watch`], if anything did; nothing is noted any more.
pub(crate) fn unwatch() -> Option<String> {
    WATCHING.set(false);
    LAST.take()
}
