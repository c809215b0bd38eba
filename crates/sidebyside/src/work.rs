//! The work of which the cost is measured: Services that come, change and go.

use serde_json::Value;

use crate::shapes::service;

/// Records at the start, over all zones.
pub const RECORDS: usize = 1_000;

/// The work as a row of states: which objects there are.
#[derive(Debug)]
pub struct Work {
    /// Over how many zones the names are spread.
    pub zones: usize,
    /// The objects now.
    pub objects: Vec<Value>,
}

impl Work {
    /// [`RECORDS`] Services, evenly over the zones `zone0.test`, `zone1.test` and so on.
    pub fn new(zones: usize) -> Self {
        let objects = (0..RECORDS).map(|n| named(&format!("s{n}"), n % zones, &address(n))).collect();
        Self { zones, objects }
    }

    /// Other addresses for so many Services from the first on.
    pub fn moved(&mut self, count: usize, third: usize) {
        for (n, object) in self.objects.iter_mut().enumerate().take(count) {
            *object = named(&format!("s{n}"), n % self.zones, &format!("198.51.{third}.{}", n + 1));
        }
    }

    /// So many further Services, evenly over the zones.
    pub fn more(&mut self, start: &str, count: usize) {
        for n in 0..count {
            self.objects.push(named(
                &format!("{start}{n}"),
                n % self.zones,
                &format!("203.0.{}.{}", 113 + n / 250, n % 250 + 1),
            ));
        }
    }
}

/// A Service of this name, with a name of the same start in a zone.
pub fn named(name: &str, zone: usize, address: &str) -> Value {
    service(name, &format!("{name}.zone{zone}.test"), &[address], &[])
}

fn address(n: usize) -> String {
    format!("192.0.{}.{}", n / 250, n % 250 + 1)
}

/// How many zones, in words.
pub fn title(zones: usize) -> String {
    if zones == 1 { "1 zone".to_owned() } else { format!("{zones} zones") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_spread_over_the_zones() {
        let mut work = Work::new(50);
        let hosts = |work: &Work, end: &str| {
            let text = |object: &Value| object.to_string();
            work.objects.iter().map(text).filter(|object| object.contains(end)).count()
        };
        assert_eq!((work.objects.len(), hosts(&work, ".zone49.test")), (RECORDS, RECORDS / 50));
        work.moved(100, 7);
        assert_eq!((work.objects.len(), hosts(&work, "198.51.7.")), (RECORDS, 100));
        work.more("new", 100);
        assert_eq!((work.objects.len(), hosts(&work, "203.0.113.")), (RECORDS + 100, 100));
    }
}
