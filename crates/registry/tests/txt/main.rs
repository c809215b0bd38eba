//! The txt and noop registries over zones that are a few lines of text.

mod reading;
mod support;
mod writing;
