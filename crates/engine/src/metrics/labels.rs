//! The labels of families of metrics.

use prometheus_client::encoding::EncodeLabelSet;

macro_rules! labels {
    ($(#[$doc:meta])* $name:ident { $($field:ident),+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
        pub struct $name {
            $(#[doc = concat!("Label `", stringify!($field), "`.")] pub $field: String),+
        }

        impl super::described::LabelNames for $name {
            const NAMES: &'static [&'static str] = &[$(stringify!($field)),+];
        }
    };
}

labels! {
    /// Labels of families by record type.
    ByType { record_type }
}
labels! {
    /// Labels of families by zone.
    ByZone { zone }
}
labels! {
    /// Labels of families by kind of object.
    ByKind { kind }
}
labels! {
    /// Labels of families by namespace.
    ByNamespace { namespace }
}
labels! {
    /// Labels of the families of notes.
    ByReason { reason }
}
labels! {
    /// Labels of zone errors.
    ZoneError { zone, error }
}
labels! {
    /// Labels of provider calls.
    Call { instance, operation, outcome }
}
labels! {
    /// Labels of provider call times.
    CallTime { instance, operation }
}
labels! {
    /// Labels of changes.
    Changed { zone, verb, outcome }
}
labels! {
    /// Labels of records that are left alone because of their owner.
    Mismatch { record_type, owner, foreign_owner, domain }
}

labels! {
    /// Labels of the sizes of tables.
    ByTable { table }
}
labels! {
    /// Labels of the build.
    Build { version, revision, arch, os }
}
