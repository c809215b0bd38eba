//! A journal in memory: a ring of lines, gone with the process.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use zonewright_core::error::Result;
use zonewright_core::store::{JournalStore, Visitor};

/// Keeps the last lines, as far as they fit.
#[derive(Debug)]
pub struct MemoryJournal {
    limit: usize,
    ring: Mutex<Ring>,
}

#[derive(Debug, Default)]
struct Ring {
    lines: VecDeque<String>,
    bytes: usize,
}

impl Default for MemoryJournal {
    /// A megabyte of lines.
    fn default() -> Self {
        Self::new(1 << 20)
    }
}

impl MemoryJournal {
    /// A ring of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, ring: Mutex::default() }
    }
}

#[async_trait]
impl JournalStore for MemoryJournal {
    async fn append(&self, lines: &[String]) -> Result<()> {
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        for line in lines {
            ring.bytes += line.len() + 1;
            ring.lines.push_back(line.clone());
        }
        while ring.bytes > self.limit {
            let Some(first) = ring.lines.pop_front() else { break };
            ring.bytes -= first.len() + 1;
        }
        Ok(())
    }

    async fn read(&self, visit: &mut Visitor<'_>) -> Result<()> {
        let text: String = {
            let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
            ring.lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
        };
        let (ControlFlow::Continue(()) | ControlFlow::Break(())) = visit(text.as_bytes());
        Ok(())
    }

    fn outcomes_wait(&self) -> bool {
        false
    }

    fn place(&self) -> String {
        "memory only".to_owned()
    }
}
