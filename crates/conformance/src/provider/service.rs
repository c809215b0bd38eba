//! The service behind a provider, as the suite disturbs it.

/// What goes wrong with one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Refused, and not carried out: too many requests.
    Throttled,
    /// Refused, and not carried out: the caller lacks the right.
    Denied,
    /// Refused, and not carried out: the credentials have expired.
    Expired,
    /// Refused, and not carried out: the clock of the caller is too far off.
    Skewed,
    /// The service fails, and nothing is carried out.
    Broken,
    /// Carried out, and answered as [`Fault::Broken`] is.
    AnswerLost,
    /// Carried out, and the connection ends without an answer.
    ConnectionLost,
    /// Carried out, and the answer breaks off in the middle.
    Cut,
    /// Carried out, and never answered.
    Late,
    /// Not carried out, and never answered.
    Slow,
    /// Not carried out; answered as a success, in a form that nobody can read.
    Garbage,
    /// Not carried out; answered as a success, with a web page.
    WrongType,
    /// Carried out; a page of a listing says that the next one is itself. Any other request is not disturbed.
    RepeatedPage,
}

/// The other side of a provider: a fake, or a server that a test has in its hands.
///
/// A provider whose harness has one is tried with every fault at every request. Requests have a time-out of their own there that
/// is far below a second: [`Fault::Late`] and [`Fault::Slow`] wait for it.
pub trait Service: Send + Sync {
    /// Requests that have come in so far, those that were refused or failed too.
    fn requests(&self) -> usize;

    /// Lets the next `times` requests fail, when `skip` more have passed. False if the service has no such fault.
    fn fail(&self, skip: usize, fault: Fault, times: usize) -> bool;

    /// Ends every fault.
    fn heal(&self);

    /// Takes the zone away with all that is in it. False if that cannot be.
    fn drop_zone(&self) -> bool {
        false
    }

    /// Most requests for one change of a name, its targeted read and its claim included.
    fn requests_of_a_change(&self) -> usize {
        2
    }

    /// What the provider was given in confidence: no error and no line of a log may show it.
    fn secrets(&self) -> Vec<String> {
        Vec::new()
    }
}
