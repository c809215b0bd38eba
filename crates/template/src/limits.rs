//! What a template may cost. In comes the work of one execution, step by step; out comes an error when it is too much.
//!
//! The limits are far above what a sensible template needs. They hold for one execution over one object, so that a
//! runaway template costs that object its names and nothing else.

/// Longest text of one flag, all its values joined, in bytes.
pub const TEMPLATE_BYTES: usize = 64 * 1024;
/// Deepest nesting of blocks and parentheses in a template, and of JSON printed by one.
pub const NESTING: usize = 64;
/// Deepest nesting at execution: blocks, parentheses and `template` actions together.
pub const DEPTH: usize = 128;
/// Longest result of one execution in bytes.
pub const OUTPUT_BYTES: usize = 1024 * 1024;
/// Most names or pairs that one execution may yield.
pub const NAMES: usize = 1000;
/// Largest width or precision in `printf`.
pub const PRINTF_WIDTH: usize = 1000;
/// Steps of one execution: one for each node and value, one for each eight bytes that a function reads or makes, and one
/// for each byte that `fromJson` reads.
pub const STEPS: u64 = 2_000_000;

/// The steps that an execution has left.
#[derive(Debug)]
pub(crate) struct Budget(u64);

impl Budget {
    pub(crate) fn new() -> Self {
        Self(STEPS)
    }

    /// Takes one step and the cost of `bytes` of text.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), String> {
        let cost = 1 + (bytes as u64) / 8;
        self.0 = self.0.checked_sub(cost).ok_or_else(|| format!("the template takes more than {STEPS} steps"))?;
        Ok(())
    }
}
