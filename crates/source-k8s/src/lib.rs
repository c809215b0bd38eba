//! Cluster objects to endpoints: feeds, the dependency index, and one mapper for each kind.
