//! Who owns which record.
