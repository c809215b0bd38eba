//! Figures to Markdown.

use std::time::Duration;

/// A Markdown section: a heading, a sentence, a table.
#[derive(Debug)]
pub(crate) struct Section {
    text: String,
}

impl Section {
    pub(crate) fn new(heading: &str, about: &str) -> Self {
        Self { text: format!("## {heading}\n\n{about}\n") }
    }

    /// A table.
    pub(crate) fn table(mut self, head: &[&str], rows: &[Vec<String>]) -> Self {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        self.text.push('\n');
        self.text.push_str(&line(&head.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>()));
        self.text.push_str(&line(&vec!["---".to_owned(); head.len()]));
        for row in rows {
            self.text.push_str(&line(row));
        }
        self
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// Sorted times.
#[derive(Debug)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// The smallest time that at least `percent` of all do not exceed; zero where there are none.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).copied().unwrap_or_default()
    }

    pub(crate) fn median(&self) -> Duration {
        self.percentile(50)
    }

    pub(crate) fn longest(&self) -> Duration {
        self.percentile(100)
    }
}

/// Milliseconds with one digit.
pub(crate) fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

/// Seconds with two digits.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

/// Millions of bytes with one digit.
pub(crate) fn megabytes(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let bytes = bytes as f64;
    format!("{:.1} MB", bytes / 1e6)
}

/// Thousands of bytes that each of so many things takes, with one digit.
pub(crate) fn kilobytes_each(bytes: u64, count: u32) -> String {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let bytes = bytes as f64;
    format!("{:.1} kB", bytes / 1e3 / f64::from(count.max(1)))
}

/// Microseconds that each of so many things takes.
pub(crate) fn microseconds_each(time: Duration, count: u32) -> String {
    format!("{:.0} µs", time.as_secs_f64() * 1e6 / f64::from(count.max(1)))
}

/// How many times `other` a time is.
pub(crate) fn ratio(time: Duration, other: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() / other.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let times = Times::new((1..=200).rev().map(Duration::from_millis).collect());
        let check = |percent, expected| assert_eq!(times.percentile(percent), Duration::from_millis(expected));
        check(50, 100);
        check(99, 198);
        check(100, 200);
        assert_eq!(Times::new(Vec::new()).median(), Duration::ZERO);
    }

    #[test]
    fn sections_are_markdown() {
        let section = Section::new("Speed", "How fast.").table(&["what", "time"], &[vec!["it".into(), "1 s".into()]]);
        assert_eq!(section.finish(), "## Speed\n\nHow fast.\n\n| what | time |\n| --- | --- |\n| it | 1 s |\n");
    }
}
