//! The grammar of single values.

use zonewright_core::duration::{self, Units};
use zonewright_core::record::Ttl;

/// The elements of a comma list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elements {
    /// Those that say something, in order.
    pub named: Vec<String>,
    /// How many were empty.
    pub empty: usize,
}

/// Splits a list at its commas. Every blank is dropped, wherever it stands, and other white space at both ends.
pub fn elements(value: &str) -> Elements {
    let dense: String = value.chars().filter(|c| *c != ' ').collect();
    let (named, empty): (Vec<_>, Vec<_>) =
        dense.trim().split(',').map(str::to_owned).partition(|element| !element.is_empty());
    Elements { named, empty: empty.len() }
}

/// Longest TTL text that is looked at; Go's own durations are shorter.
const MAX_TTL_TEXT: usize = 30;

/// A TTL: a Go duration (cut to whole seconds), or a number of seconds, 1 to 2^31 - 1.
///
/// # Errors
/// A sentence in the words of external-dns, since people search for them.
pub fn ttl(value: &str) -> Result<Ttl, String> {
    let seconds = match go_seconds(value) {
        Ok(seconds) => seconds,
        Err(problem) => value.parse().map_err(|_| format!("{value:?} is not a valid TTL value: {problem}"))?,
    };
    u32::try_from(seconds)
        .ok()
        .filter(|seconds| *seconds > 0)
        .and_then(Ttl::from_secs)
        .ok_or_else(|| format!("TTL value {seconds} must be between [1, {}]", Ttl::MAX))
}

fn go_seconds(value: &str) -> Result<i64, String> {
    if value.len() > MAX_TTL_TEXT {
        return Err(format!("time: invalid duration {value:?}"));
    }
    let duration = duration::parse(value, Units::Go)?;
    let seconds = i64::try_from(duration.length.as_secs()).map_err(|_| format!("time: invalid duration {value:?}"))?;
    Ok(if duration.negative { -seconds } else { seconds })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists() {
        for (value, named, empty) in [
            ("a", &["a"][..], 0),
            ("a,b", &["a", "b"], 0),
            (" a , b ", &["a", "b"], 0),
            ("a b", &["ab"], 0),
            ("\ta,b\n", &["a", "b"], 0),
            ("a\t,b", &["a\t", "b"], 0),
            ("a,,b,", &["a", "b"], 2),
            ("", &[], 1),
            (" ", &[], 1),
            (",", &[], 2),
        ] {
            let found = elements(value);
            assert_eq!(
                (found.named, found.empty),
                (named.iter().map(|s| (*s).to_owned()).collect(), empty),
                "{value:?}"
            );
        }
    }

    #[test]
    fn ttls() {
        for (value, expected) in [
            ("60", Some(60)),
            ("60s", Some(60)),
            ("1m", Some(60)),
            ("10m30s", Some(630)),
            ("1.5s", Some(1)),
            ("20.5s", Some(20)),
            ("+60", Some(60)),
            ("600", Some(600)),
            ("999999", Some(999_999)),
            ("2147483647", Some(2_147_483_647)),
            ("0", None),
            ("500ms", None),
            ("0.9s", None),
            ("-10", None),
            ("-1m", None),
            ("2147483648", None),
            ("4294967296", None),
            ("", None),
            (" 60", None),
            ("60 ", None),
            ("1d", None),
            ("60S", None),
            ("1e3", None),
            ("foo", None),
            ("340282366920938463463374607431768211.999us", None),
        ] {
            assert_eq!(ttl(value).ok().map(Ttl::secs), expected, "{value:?}");
        }
    }

    #[test]
    fn the_words_of_the_peer() {
        for (value, expected) in [
            ("foo", "\"foo\" is not a valid TTL value: time: invalid duration \"foo\""),
            ("1d", "\"1d\" is not a valid TTL value: time: unknown unit \"d\" in duration \"1d\""),
            ("-10", "TTL value -10 must be between [1, 2147483647]"),
            ("0", "TTL value 0 must be between [1, 2147483647]"),
        ] {
            assert_eq!(ttl(value).unwrap_err(), expected);
        }
    }

    proptest! {
        #[test]
        fn nothing_panics_and_no_element_has_a_blank(value in ".{0,60}") {
            let _ = ttl(&value);
            prop_assert!(elements(&value).named.iter().all(|element| !element.contains(' ') && !element.is_empty()));
        }

        #[test]
        fn numbers_and_units_never_panic(value in "[-+]?[0-9.]{0,40}(ns|us|µs|ms|s|m|h)?[0-9.]{0,3}[smh]?") {
            let _ = ttl(&value);
        }
    }
}
