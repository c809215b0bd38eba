//! The faults to come, by operation; what the faults are is the affair of each service.

use std::collections::{BTreeMap, VecDeque};

#[derive(Debug)]
struct Planned<F> {
    fault: F,
    skip: usize,
    times: usize,
}

/// The faults to come.
#[derive(Debug)]
pub(crate) struct Faults<F> {
    planned: BTreeMap<String, VecDeque<Planned<F>>>,
    /// Those of any operation.
    any: VecDeque<Planned<F>>,
}

impl<F> Default for Faults<F> {
    fn default() -> Self {
        Self { planned: BTreeMap::new(), any: VecDeque::new() }
    }
}

impl<F: Copy> Faults<F> {
    /// Lets `times` calls fail, when those planned before are over and `skip` calls more have passed; 0 ends all.
    pub(crate) fn plan(&mut self, operation: &str, skip: usize, fault: F, times: usize) {
        let planned = self.planned.entry(operation.to_owned()).or_default();
        plan(planned, Planned { fault, skip, times });
    }

    /// The same with calls of any operation.
    pub(crate) fn plan_any(&mut self, skip: usize, fault: F, times: usize) {
        plan(&mut self.any, Planned { fault, skip, times });
    }

    /// What happens to a call that those of any operation do not count.
    pub(crate) fn next_of(&mut self, operation: &str) -> Option<F> {
        self.planned.get_mut(operation).and_then(next)
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
