//! The txt and noop registries over zones that are a few lines of text.

mod apart;
mod encrypted;
mod facts;
mod forged;
mod intents;
mod migration;
mod moving;
mod moving_doubts;
mod moving_random;
mod naming;
mod noop;
mod options;
mod reading;
mod support;
mod writing;
mod writing_random;
