//! Metrics of the process, under the names that Prometheus' client libraries have for them.
//!
//! In: what the kernel says in `/proc`. Out: lines of the OpenMetrics text. What cannot be read there is left out, as on systems that
//! have no such folder.

use std::fmt::{Display, Write as _};
use std::fs;

/// How many ticks a second has in `/proc`, on every architecture that Linux runs on today (`USER_HZ`).
const TICKS: f64 = 100.0;

/// The end of an OpenMetrics text.
const END: &str = "# EOF\n";

/// The text of other metrics with those of this process.
pub(super) fn with_process(text: &str) -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut out = text.strip_suffix(END).unwrap_or(text).to_owned();
    let (status, stat, system) = (read("/proc/self/status"), read("/proc/self/stat"), read("/proc/stat"));
    let files = fs::read_dir("/proc/self/fd").ok().map(Iterator::count);
    let memory = memory(&status);
    let ticks = Ticks::of(&stat);
    let began = ticks.and_then(|ticks| Some(boot(&system)? + ticks.start / TICKS));
    add(&mut out, "process_cpu_seconds", "counter", "Processor time, user and system", ticks.map(|t| t.used / TICKS));
    add(&mut out, "process_open_fds", "gauge", "Open file descriptors", files);
    add(&mut out, "process_resident_memory_bytes", "gauge", "Resident memory", memory);
    add(&mut out, "process_start_time_seconds", "gauge", "Start of the process, in seconds since 1970", began);
    out + END
}

fn add(out: &mut String, name: &str, kind: &str, help: &str, value: Option<impl Display>) {
    let Some(value) = value else { return };
    let ending = if kind == "counter" { "_total" } else { "" };
    // Writing into a string cannot fail.
    let _ = writeln!(out, "# HELP {name} {help}.\n# TYPE {name} {kind}\n{name}{ending} {value}");
}

/// Resident memory in bytes.
fn memory(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1_024)
}

/// Ticks of the process.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ticks {
    /// Of user and system.
    used: f64,
    /// From the start of the system to that of the process.
    start: f64,
}

impl Ticks {
    fn of(stat: &str) -> Option<Self> {
        // The program's name may hold blanks and parentheses. What follows it begins with the third field of proc(5).
        let (_, fields) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split(' ').collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        Some(Self { used: field(14)? + field(15)?, start: field(22)? })
    }
}

/// When the system started, in seconds since 1970.
fn boot(system: &str) -> Option<f64> {
    system.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says() {
        assert_eq!(memory("VmPeak:\t  20 kB\nVmRSS:\t    12 kB\n"), Some(12_288));
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194304 9 0 0 0 150 50 0 0 20 0 5 0 4200 1 2 3";
        assert_eq!(Ticks::of(stat), Some(Ticks { used: 200.0, start: 4_200.0 }));
        assert_eq!(boot("cpu 1 2\nbtime 1700000000\n"), Some(1_700_000_000.0));
        assert_eq!((memory(""), Ticks::of("7 (a) S 1"), boot("")), (None, None, None));
    }

    #[test]
    fn the_process_is_among_the_metrics() {
        let text = with_process("other 1\n# EOF\n");
        assert!(text.starts_with("other 1\n") && text.ends_with("\n# EOF\n"), "{text}");
        assert_eq!(text.matches("# EOF").count(), 1);
        let value = |name: &str| -> f64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
        };
        assert!(value("process_resident_memory_bytes") > 100_000.0);
        assert!(value("process_open_fds") >= 3.0);
        assert!(value("process_cpu_seconds_total") >= 0.0);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
        let age = now - value("process_start_time_seconds");
        assert!((-2.0..86_400.0).contains(&age), "{age}");
    }
}
