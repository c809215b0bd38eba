//! What a daemon has written down: in, a document; out, the same one after every restart. A dead process writes nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio::time::Instant;
use zonewright_core::Result;
use zonewright_core::store::Store;

use super::lock;

/// The state of one daemon, kept over its restarts.
#[derive(Debug, Default)]
pub(crate) struct Drawer {
    document: Option<Vec<u8>>,
    /// When it was last written.
    pub(crate) saved: Option<Instant>,
}

/// The store of one process.
#[derive(Debug)]
pub(crate) struct Shelf {
    pub(crate) drawer: Arc<Mutex<Drawer>>,
    pub(crate) dead: Arc<AtomicBool>,
}

#[async_trait]
impl Store for Shelf {
    async fn load(&self) -> Result<Option<Vec<u8>>> {
        Ok(lock(&self.drawer).document.clone())
    }

    async fn save(&self, document: &[u8]) -> Result<()> {
        if !self.dead.load(Ordering::SeqCst) {
            *lock(&self.drawer) = Drawer { document: Some(document.to_vec()), saved: Some(Instant::now()) };
        }
        Ok(())
    }

    fn place(&self) -> String {
        "a drawer".to_owned()
    }
}
