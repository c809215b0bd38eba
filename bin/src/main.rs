//! The Zonewright daemon and its commands.

fn main() {}
