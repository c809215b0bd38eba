//! What goes wrong on demand, by operation.

/// What goes wrong with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Refused: too many requests.
    Throttled,
    /// Refused: a change of the zone is being worked on.
    PriorRequestNotComplete,
    /// Refused: the caller lacks the right.
    Denied,
    /// Refused: the credentials have expired.
    Expired,
    /// Refused: the clock of the caller is too far off.
    Skewed,
    /// The service fails, and nothing is carried out.
    Broken,
    /// Carried out, and answered with status 500.
    AnswerLost,
    /// Carried out, and the connection ends without an answer.
    ConnectionLost,
    /// Carried out, and the answer breaks off in the middle of its body.
    Cut,
    /// Carried out, and never answered.
    Late,
    /// Not carried out, and never answered.
    Slow,
    /// Not carried out; status 200 with a body that is no XML.
    Garbage,
    /// Not carried out; status 200 with a web page.
    WrongType,
    /// Carried out; a listing says that the next page starts where this one does.
    RepeatedPage,
}
