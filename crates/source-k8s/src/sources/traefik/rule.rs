//! The host names in a rule of Traefik.
//!
//! In comes the text of a rule, out go the names in the arguments of its host matchers. The rule is not understood beyond
//! that: a name behind `!` counts too, and so does one beside a path.

/// The matchers that name hosts, the longer ones first: `Host` begins them all.
const MATCHERS: [&str; 3] = ["HostSNI", "HostHeader", "Host"];

/// The names, in their order.
pub(super) fn hosts(rule: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = rule;
    while let Some(at) = rest.find("Host") {
        let (_, from) = rest.split_at(at);
        rest = match MATCHERS.iter().find_map(|matcher| arguments(from.strip_prefix(matcher)?)) {
            Some((arguments, after)) => {
                found.extend(quoted(arguments));
                after
            }
            None => from.split_at("Host".len()).1,
        }
    }
    found
}

/// What stands in parentheses from the first back quote to one that nothing follows but blanks, all of it on one line, and
/// what comes after. Where no such quote follows, there is none for any later matcher of the line either: then the whole
/// line is skipped, so that no rule is read more than once.
fn arguments(text: &str) -> Option<(&str, &str)> {
    let inner = skip_blanks(skip_blanks(text).strip_prefix('(')?);
    inner.strip_prefix('`')?;
    let (line, below) = inner.split_at(inner.find('\n').unwrap_or(inner.len()));
    let ends = line.match_indices('`').skip(1);
    let found = ends.map(|(at, quote)| inner.split_at(at + quote.len())).find_map(|(arguments, rest)| {
        let after = skip_blanks(rest).strip_prefix(')')?;
        Some((arguments, after))
    });
    Some(found.unwrap_or(("", below)))
}

/// The white space of the rule's grammar.
fn skip_blanks(text: &str) -> &str {
    text.trim_start_matches(['\t', '\n', '\x0c', '\r', ' '])
}

/// The texts between back quotes; one that is empty or holds a comma is none.
fn quoted(arguments: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = arguments;
    while let Some((_, from)) = rest.split_once('`') {
        rest = from;
        if let Some((name, after)) = from.split_once('`').filter(|(name, _)| !name.is_empty() && !name.contains(',')) {
            found.push(name);
            rest = after;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_in_rules() {
        for (rule, expected) in [
            ("Host(`a.b`)", &["a.b"][..]),
            ("Host(`a.b`,`c.d`)", &["a.b", "c.d"]),
            ("Host(`a.b`, `c.d`) && Path(`/x`)", &["a.b", "c.d"]),
            ("Host( `a.b` )", &["a.b"]),
            ("Host (\n`a.b`\t)", &["a.b"]),
            ("HostHeader(`a.b`)", &["a.b"]),
            ("HostSNI(`*.a.b`)", &["*.a.b"]),
            ("HostSNI(`*`)", &["*"]),
            ("!Host(`a.b`)", &["a.b"]),
            ("Host(`a.b`) || Host(`c.d`)", &["a.b", "c.d"]),
            ("(Host(`a.b`) && Path(`/`)) || (HostHeader(`c.d`))", &["a.b", "c.d"]),
            ("XHost(`a.b`)", &["a.b"]),
            ("HostHost(`a.b`)", &["a.b"]),
            ("Host(``)", &[]),
            ("Host(`a.b`,``)", &["a.b"]),
            ("Host(`a.b,c.d`)", &[]),
            ("Host(`a.b`.`c.d`)", &["a.b", "c.d"]),
            ("Host(`a.b\n`)", &[]),
            ("Host(`a.b`\n)", &["a.b"]),
            ("Host(`a.b`x) && Host(`c.d`)", &["a.b", "c.d"]),
            ("HostRegexp(`a.b`)", &[]),
            ("HostSNIRegexp(`a.b`)", &[]),
            ("Host(\"a.b\")", &[]),
            ("host(`a.b`)", &[]),
            ("Host(`a.b`", &[]),
            ("Host", &[]),
            ("Path(`/Host`)", &[]),
            ("", &[]),
        ] {
            assert_eq!(hosts(rule), expected, "{rule:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_to_its_end(rule in "(Host|HostSNI|HostHeader|[(`) ,a\n*é]){0,30}") {
            for host in hosts(&rule) {
                prop_assert!(!host.is_empty() && !host.contains(['`', ',']) && rule.contains(host));
            }
        }
    }
}
