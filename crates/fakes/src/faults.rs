//! What goes wrong on demand, and the faults to come, by operation.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;

use crate::reply::{Delivery, Reply};

/// What goes wrong with a call. How a service refuses is its own affair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Refused: too many requests; with a time to wait, where the service states one.
    Throttled,
    /// Refused: too many requests, by the project's quota, and without a time to wait. Cloud DNS and Azure.
    RateLimited,
    /// Refused: a change of the zone is being worked on. Route 53 alone.
    PriorRequestNotComplete,
    /// Refused: the caller lacks the right.
    Denied,
    /// Refused: the credentials have expired.
    Expired,
    /// Refused: the clock of the caller is too far off. Route 53 alone.
    Skewed,
    /// The service fails, and nothing is carried out.
    Broken,
    /// The service is not there for a while, and nothing is carried out. Not at Route 53.
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
    /// Not carried out; status 200 with a body that nobody can read.
    Garbage,
    /// Not carried out; a web page, as it comes from what stands in front of the service.
    WrongType,
    /// Carried out; a listing says that the next page is the first one, or this one again.
    RepeatedPage,
}

impl Fault {
    /// The answer in place of carrying the call out, where it says nothing of the service: none, one in the service's type that nobody
    /// can read, or the `page` with its status.
    pub(crate) fn wordless(self, content_type: &'static str, page: (u16, &str)) -> Option<Reply> {
        match self {
            Self::Slow => Some(Reply::new(200, content_type, String::new()).delivered(Delivery::Never)),
            Self::Garbage => Some(Reply::new(200, content_type, "}{ \u{0} <<".to_owned())),
            Self::WrongType => Some(Reply::new(page.0, "text/html; charset=UTF-8", page.1.to_owned())),
            _ => None,
        }
    }

    /// What becomes of the answer to a call that was carried out. `broken` is how the service says that it failed.
    pub(crate) fn spoil(self, reply: Reply, broken: impl FnOnce() -> Reply) -> Reply {
        match self {
            Self::AnswerLost => broken(),
            Self::ConnectionLost => reply.delivered(Delivery::Lost),
            Self::Cut => reply.delivered(Delivery::Cut),
            Self::Late => reply.delivered(Delivery::Never),
            _ => reply,
        }
    }
}

#[derive(Debug)]
struct Planned<F> {
    fault: F,
    skip: usize,
    times: usize,
}

/// The faults to come.
#[derive(Debug)]
pub(crate) struct Faults<F: 'static> {
    planned: BTreeMap<String, VecDeque<Planned<F>>>,
    /// Those of any operation.
    any: VecDeque<Planned<F>>,
    /// What the service cannot have.
    lacking: &'static [F],
}

impl<F: 'static> Default for Faults<F> {
    fn default() -> Self {
        Self::lacking(&[])
    }
}

impl<F: 'static> Faults<F> {
    /// None to come, at a service that cannot have these.
    pub(crate) fn lacking(lacking: &'static [F]) -> Self {
        Self { planned: BTreeMap::new(), any: VecDeque::new(), lacking }
    }
}

impl<F: Copy + Debug + PartialEq> Faults<F> {
    /// Lets `times` calls fail, when those planned before are over and `skip` calls more have passed; 0 ends all.
    ///
    /// # Panics
    /// If the service cannot have such a fault: a mistake of the test.
    pub(crate) fn plan(&mut self, operation: &str, skip: usize, fault: F, times: usize) {
        self.can_be(fault);
        let planned = self.planned.entry(operation.to_owned()).or_default();
        plan(planned, Planned { fault, skip, times });
    }

    /// The same with calls of any operation.
    pub(crate) fn plan_any(&mut self, skip: usize, fault: F, times: usize) {
        self.can_be(fault);
        plan(&mut self.any, Planned { fault, skip, times });
    }

    /// What happens to a call that those of any operation do not count.
    pub(crate) fn next_of(&mut self, operation: &str) -> Option<F> {
        self.planned.get_mut(operation).and_then(next)
    }

    fn can_be(&self, fault: F) {
        assert!(!self.lacking.contains(&fault), "the service has no fault {fault:?}");
    }

    /// What happens to this call.
    pub(crate) fn next(&mut self, operation: &str) -> Option<F> {
        let any = next(&mut self.any);
        self.next_of(operation).or(any)
    }
}

fn plan<F>(planned: &mut VecDeque<Planned<F>>, new: Planned<F>) {
    if new.times == 0 {
        planned.clear();
    } else {
        planned.push_back(new);
    }
}

fn next<F: Copy>(planned: &mut VecDeque<Planned<F>>) -> Option<F> {
    let first = planned.front_mut()?;
    if first.skip > 0 {
        first.skip -= 1;
        return None;
    }
    first.times -= 1;
    let (fault, over) = (first.fault, first.times == 0);
    if over {
        planned.pop_front();
    }
    Some(fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_come_in_their_order() {
        let mut faults = Faults::default();
        faults.plan("Read", 1, "broken", 2);
        faults.plan("Read", 0, "throttled", 1);
        assert_eq!(faults.next("Write"), None);
        let next = [(); 5].map(|()| faults.next("Read"));
        assert_eq!(next, [None, Some("broken"), Some("broken"), Some("throttled"), None]);
        faults.plan("Read", 0, "broken", 9);
        faults.plan("Read", 0, "broken", 0);
        assert_eq!(faults.next("Read"), None);
    }

    #[test]
    #[should_panic(expected = "the service has no fault \"skewed\"")]
    fn a_fault_that_a_service_cannot_have_is_a_mistake() {
        Faults::lacking(&["skewed"]).plan("Read", 0, "skewed", 1);
    }

    #[test]
    fn faults_of_any_operation_count_all_calls() {
        let mut faults = Faults::default();
        faults.plan_any(1, "broken", 1);
        faults.plan("Read", 1, "throttled", 1);
        let next = ["Write", "Read", "Read", "Write"].map(|operation| faults.next(operation));
        assert_eq!(next, [None, Some("broken"), Some("throttled"), None]);
        faults.plan_any(0, "broken", 1);
        assert_eq!((faults.next_of("Token"), faults.next("Read")), (None, Some("broken")));
    }
}
