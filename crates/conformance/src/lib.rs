//! The behaviour suites that every provider and registry passes.
