//! The faults of the suite at a cloud that stands on loopback. The tests of a provider take this file.

use zonewright_conformance::provider::Fault;
use zonewright_fakes as fakes;

/// A fault as the fakes name it.
pub(crate) fn at_fake(fault: Fault) -> fakes::Fault {
    match fault {
        Fault::Throttled => fakes::Fault::Throttled,
        Fault::Denied => fakes::Fault::Denied,
        Fault::Expired => fakes::Fault::Expired,
        Fault::Skewed => fakes::Fault::Skewed,
        Fault::Broken => fakes::Fault::Broken,
        Fault::AnswerLost => fakes::Fault::AnswerLost,
        Fault::ConnectionLost => fakes::Fault::ConnectionLost,
        Fault::Cut => fakes::Fault::Cut,
        Fault::Late => fakes::Fault::Late,
        Fault::Slow => fakes::Fault::Slow,
        Fault::Garbage => fakes::Fault::Garbage,
        Fault::WrongType => fakes::Fault::WrongType,
        Fault::RepeatedPage => fakes::Fault::RepeatedPage,
    }
}
