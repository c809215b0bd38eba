//! Questions and updates by `dig` and `nsupdate`: what a server publishes, seen from outside, and changes that anybody with a
//! key could make.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use super::DnsServer;
use crate::tools;

impl DnsServer {
    /// The whole zone by AXFR: one sorted line per record, single spaces, the SOA once. Signed with the first key.
    ///
    /// # Panics
    /// When the transfer fails.
    #[track_caller]
    pub fn axfr(&self, zone: &str) -> Vec<String> {
        let output = self.dig(&["+tcp", "+nocmd", "+nocomments", "+nostats", "+noquestion", "+onesoa", zone, "AXFR"]);
        let failed = output.lines().find(|line| line.starts_with("; Transfer failed"));
        assert!(failed.is_none(), "AXFR of {zone}: {output}");
        let records = output.lines().filter(|line| !line.starts_with(';') && !line.contains("\tANY\tTSIG\t"));
        let mut records: Vec<String> = records.map(single_spaced).filter(|line| !line.is_empty()).collect();
        assert!(!records.is_empty(), "AXFR of {zone} is empty: {output}");
        records.sort_unstable();
        records
    }

    /// The answer's data, one sorted line per record; empty for a name or type that does not exist. Signed with the
    /// first key.
    ///
    /// # Panics
    /// When the server does not answer.
    #[track_caller]
    pub fn query(&self, name: &str, record_type: &str) -> Vec<String> {
        let output = self.dig(&["+short", name, record_type]);
        let mut lines: Vec<String> = output.lines().filter(|line| !line.starts_with(';')).map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    }

    /// The zone's serial number as the server publishes it.
    ///
    /// # Panics
    /// When the server does not answer for the zone.
    #[track_caller]
    pub fn serial(&self, zone: &str) -> u32 {
        let answer = self.query(zone, "SOA");
        let serial = answer.first().and_then(|soa| soa.split(' ').nth(2)).and_then(|serial| serial.parse().ok());
        serial.unwrap_or_else(|| panic!("no SOA for {zone}: {answer:?}"))
    }

    /// Sends `nsupdate` commands (`update add ...`, `prereq ...`; several messages are parted by `send`), signed with
    /// the first key.
    ///
    /// # Panics
    /// When the server refuses one.
    #[track_caller]
    pub fn nsupdate(&self, script: &str) {
        if let Err(error) = self.try_nsupdate(script) {
            panic!("nsupdate: {error}\n{script}");
        }
    }

    /// As [`Self::nsupdate`], for updates that may be refused.
    ///
    /// # Errors
    /// What `nsupdate` wrote, such as `update failed: REFUSED`.
    ///
    /// # Panics
    /// When `nsupdate` itself cannot be run.
    #[track_caller]
    pub fn try_nsupdate(&self, script: &str) -> Result<(), String> {
        let mut command = Command::new(tools::need("nsupdate"));
        self.sign(&mut command);
        let script = format!("server {} {}\n{script}\nsend\n", self.addr().ip(), self.addr().port());
        let output = feed(&mut command, &script);
        if output.status.success() { Ok(()) } else { Err(text(&output)) }
    }

    /// Runs `dig` against this server and returns what it printed.
    #[track_caller]
    fn dig(&self, arguments: &[&str]) -> String {
        let mut command = dig(self.site.port);
        self.sign(&mut command);
        let output = command.args(["+norecurse", "+timeout=10", "+tries=3"]).args(arguments).output().expect("run dig");
        assert!(output.status.success(), "dig {}: {}", arguments.join(" "), text(&output));
        text(&output)
    }

    /// Makes `dig` or `nsupdate` sign with the first key.
    fn sign(&self, command: &mut Command) {
        if !self.site.keys.is_empty() {
            command.arg("-k").arg(self.site.key_file());
        }
    }
}

pub(super) fn dig(port: u16) -> Command {
    let mut command = Command::new(tools::need("dig"));
    // Without -r the user's own settings would change the output.
    command.args(["-r", "@127.0.0.1", "-p", &port.to_string()]);
    command
}

/// Runs a program that reads `input`.
#[track_caller]
fn feed(command: &mut Command, input: &str) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start the program");
    let mut stdin = child.stdin.take().expect("a pipe to the program");
    // A program that ends early closes its end of the pipe; its status and its own words say why.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("wait for the program")
}

pub(super) fn text(output: &Output) -> String {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    text
}

/// Runs of blanks outside quotes become one space.
fn single_spaced(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut quoted = false;
    let mut escaped = false;
    for c in line.trim().chars() {
        if c == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = c == '\\' && !escaped;
        if quoted || !c.is_ascii_whitespace() {
            out.push(c);
        } else if !out.ends_with(' ') {
            out.push(' ');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_inside_quotes_stay() {
        let check = |line: &str, expected: &str| assert_eq!(single_spaced(line), expected);
        check("a.\t\t300\tIN  A 192.0.2.1 ", "a. 300 IN A 192.0.2.1");
        check("a.\t300\tIN\tTXT\t\"two  blanks\" \"x\\\"  y\"", "a. 300 IN TXT \"two  blanks\" \"x\\\"  y\"");
    }
}
