//! What is reported to objects of changes that were made for them (`--events-emit`).

/// A kind of event on an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Announcement {
    /// A record was created, changed, or gave way to another type.
    RecordReady,
    /// A record was refused; it is reported in any case, and under this name if it was asked for.
    RecordError,
}

impl Announcement {
    /// Every kind of announcement, in the order of the variants.
    pub const ALL: [Self; 2] = [Self::RecordReady, Self::RecordError];

    /// The word: the flag's value and the event's reason.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RecordReady => "RecordReady",
            Self::RecordError => "RecordError",
        }
    }
}
