//! What goes wrong on demand.

/// What goes wrong with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Refused: too many requests; status 429 with a time to wait.
    Throttled,
    /// Refused: too many requests; status 429 without a time to wait.
    RateLimited,
    /// Refused: the caller lacks the right; status 403, `AuthorizationFailed`.
    Denied,
    /// Refused: the token has expired; status 401, `ExpiredAuthenticationToken`.
    Expired,
    /// The service fails, and nothing is carried out.
    Broken,
    /// The service is not there for a while, and nothing is carried out.
    Unavailable,
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
    /// Not carried out; status 200 with a body that is no JSON.
    Garbage,
    /// Not carried out; status 502 with a web page, as it comes from what stands in front of the service.
    WrongType,
    /// Carried out; a listing answers its first page whatever page is asked for, and says that there are more.
    RepeatedPage,
}
