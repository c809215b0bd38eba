//! The txt and noop registries over zones that are a few lines of text.

mod encrypted;
mod facts;
mod intents;
mod migration;
mod moving;
mod moving_random;
mod options;
mod reading;
mod support;
mod writing;
