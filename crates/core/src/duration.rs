//! Durations as people write them in flags and annotations: Go's syntax, with days and weeks where the flag parser of
//! external-dns takes them.

use std::time::Duration;

/// A duration with its sign, as Go's `time.Duration` has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signed {
    /// Length without its sign.
    pub length: Duration,
    /// Whether the text began with a minus sign.
    pub negative: bool,
}

/// Which units are accepted besides `ns us µs μs ms s m h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Units {
    /// Go's `time.ParseDuration`: nothing more. Annotations use this.
    Go,
    /// `d` (24 h) and `w` (7 d) too. Flags use this.
    DaysAndWeeks,
}

/// Parses `[+-]? (decimal unit)+`, or a bare `0`.
///
/// # Errors
/// A sentence that quotes the text and says what is missing, in the words of Go's parser, since people search for them.
pub fn parse(text: &str, units: Units) -> Result<Signed, String> {
    let invalid = || format!("time: invalid duration {text:?}");
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(Signed { length: Duration::ZERO, negative });
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut nanos: u128 = 0;
    while !rest.is_empty() {
        let digits = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
        let whole_len = digits(rest);
        let (whole, after) = rest.split_at(whole_len);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(tail) => tail.split_at(digits(tail)),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let unit_len = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, tail) = after.split_at(unit_len);
        if unit.is_empty() {
            return Err(format!("time: missing unit in duration {text:?}"));
        }
        let scale =
            unit_nanos(unit, units).ok_or_else(|| format!("time: unknown unit {unit:?} in duration {text:?}"))?;
        let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| invalid())? };
        nanos = whole.checked_mul(scale).and_then(|n| nanos.checked_add(n)).ok_or_else(invalid)?;
        let mut place = scale;
        for digit in fraction.bytes() {
            place /= 10;
            nanos = nanos.checked_add(u128::from(digit - b'0') * place).ok_or_else(invalid)?;
        }
        rest = tail;
    }
    // Go's durations are signed 64-bit counts of nanoseconds.
    let nanos = u64::try_from(nanos).ok().filter(|n| i64::try_from(*n).is_ok()).ok_or_else(invalid)?;
    Ok(Signed { length: Duration::from_nanos(nanos), negative })
}

fn unit_nanos(unit: &str, units: Units) -> Option<u128> {
    const SECOND: u128 = 1_000_000_000;
    Some(match unit {
        "ns" => 1,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => 60 * SECOND,
        "h" => 3_600 * SECOND,
        "d" if units == Units::DaysAndWeeks => 86_400 * SECOND,
        "w" if units == Units::DaysAndWeeks => 604_800 * SECOND,
        _ => return None,
    })
}

/// A duration the way Go prints it (`1m0s`), for messages and metrics labels.
pub fn show(length: Duration) -> String {
    let total = length.as_secs();
    let (h, m, s) = (total / 3_600, total / 60 % 60, total % 60);
    let nanos = length.subsec_nanos();
    if total == 0 && nanos > 0 {
        return match nanos {
            n if n % 1_000_000 == 0 => format!("{}ms", n / 1_000_000),
            n if n % 1_000 == 0 => format!("{}µs", n / 1_000),
            n => format!("{n}ns"),
        };
    }
    let seconds =
        if nanos == 0 { format!("{s}s") } else { format!("{}.{}s", s, format!("{nanos:09}").trim_end_matches('0')) };
    match (h, m) {
        (0, 0) => seconds,
        (0, _) => format!("{m}m{seconds}"),
        _ => format!("{h}h{m}m{seconds}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(text: &str, units: Units) -> Option<i128> {
        let d = parse(text, units).ok()?;
        let n = i128::try_from(d.length.as_millis()).ok()?;
        Some(if d.negative { -n } else { n })
    }

    #[test]
    fn go_syntax() {
        for (text, expected) in [
            ("60s", Some(60_000)),
            ("1m", Some(60_000)),
            ("10m30s", Some(630_000)),
            ("1.5s", Some(1_500)),
            (".5s", Some(500)),
            ("0", Some(0)),
            ("-10s", Some(-10_000)),
            ("+1h", Some(3_600_000)),
            ("500ms", Some(500)),
            ("72", None),
            ("1d", None),
            ("60S", None),
            ("", None),
            ("-", None),
            (" 60s", None),
            ("1e3s", None),
            ("s", None),
            ("99999999999h", None),
            ("340282366920938463463374607431768211.999us", None),
        ] {
            assert_eq!(millis(text, Units::Go), expected, "{text:?}");
        }
        assert_eq!(millis("1w2d", Units::DaysAndWeeks), Some(9 * 86_400_000));
    }

    #[test]
    fn shown_as_go_shows_it() {
        for (millis, expected) in [(60_000, "1m0s"), (1_500, "1.5s"), (0, "0s"), (20, "20ms"), (3_600_000, "1h0m0s")] {
            assert_eq!(show(Duration::from_millis(millis)), expected);
        }
    }
}
