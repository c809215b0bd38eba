//! Where the two differ on purpose: `docs/differences.md` says the same to users.
//!
//! A round is known to differ where each of its differences is explained by a line of [`KNOWN`].

use std::collections::BTreeSet;

use zonewright_sidebyside::round::Round;

use crate::recorded::Endpoint;

/// What is noted where external-dns had to be ended.
pub(crate) const NO_END: &str = "\nit did not end";

/// A difference that is known: why, and whether it explains one that was found.
struct Known {
    why: &'static str,
    explains: fn(&Found<'_>, &str) -> bool,
}

/// How a round differed.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    round: &'a Round,
    /// What external-dns wrote to its outputs.
    output: &'a str,
    /// Names for which external-dns wanted several endpoints of one type.
    contested: BTreeSet<&'a str>,
}

const KNOWN: &[Known] = &[
    Known {
        why: "the build of external-dns has no OpenShift source",
        explains: |found, _| found.output.contains("is left out of this build"),
    },
    Known {
        why: "external-dns did not end in time: it waits for what it cannot read",
        explains: |found, _| found.output.ends_with(NO_END),
    },
    Known {
        why: "external-dns ends at what it cannot read or work with; here it costs the one name or object",
        explains: |found, line| line.starts_with("  exit: expected failure") && found.output.contains("level=fatal"),
    },
    Known {
        why: "what our program wrote about it",
        explains: |found, line| line.starts_with("  output: ") && found.output.contains("level=fatal"),
    },
    Known {
        why: "0.22.0 knows the fields of an unstructured object by their own names only; later ones by Go's names too",
        explains: |found, _| found.has_flag("--unstructured-resource") && found.names_go_fields(),
    },
    Known {
        why: "a name that no zone can hold is left out and reported",
        explains: |_, line| missing(line) && !is_name(subject(line)),
    },
    Known {
        why: "several objects want one name: they are joined, or the holder has it; external-dns takes the least target",
        explains: |found, line| found.contested.contains(subject(line)),
    },
    Known {
        why: "another owner's claim stands there, so nothing is created",
        explains: |found, line| missing(line) && found.claimed_by_another(subject(line)),
    },
    Known {
        why: "the claims of a former owner are rewritten at once, and not only those of records that change",
        explains: |found, line| found.has_flag("--migrate-from-txt-owner") && line.contains("heritage=external-dns"),
    },
    Known {
        why: "the claim of an international name stands at the A-label; external-dns prefixes the name before it is one",
        explains: |_, line| line.contains("heritage=external-dns") && subject(line).contains("xn--"),
    },
    Known {
        why: "a bad target costs its own element of a DNSEndpoint, and not others of the same name",
        explains: |found, line| {
            let dropped = |line: &str| line.contains("due to invalid configuration");
            let about = |text: &str| found.output.lines().any(|line| dropped(line) && line.contains(text));
            line.contains(": unexpected") && about(&format!(":{}]", subject(line)))
        },
    },
    Known {
        why: "0.23 gives a route with a hostname annotation no names of the template; ours and 0.22 do",
        explains: |found, line| {
            let route = found.has_flag("--source=gateway-") && found.has_flag("--fqdn-template");
            route
                && !found.has_flag("--combine-fqdn-annotation")
                && line.contains(": unexpected")
                && line.contains("route/")
        },
    },
    Known {
        why: "every DNSEndpoint that matches the annotation filter has its records",
        explains: |found, line| {
            found.has_flag("--annotation-filter") && line.contains(": unexpected") && line.contains("resource=crd/")
        },
    },
];

impl<'a> Found<'a> {
    /// A round that differed, with the output and the wanted endpoints of external-dns.
    pub(crate) fn new(round: &'a Round, output: &'a str, wanted: &'a [Endpoint]) -> Self {
        let (mut seen, mut contested) = (BTreeSet::new(), BTreeSet::new());
        for endpoint in wanted {
            if !seen.insert((&endpoint.dns_name, &endpoint.record_type, &endpoint.set_identifier)) {
                contested.insert(endpoint.dns_name.as_str());
            }
        }
        Self { round, output, contested }
    }

    /// Why it differs so, where that is known.
    pub(crate) fn reason(&self, lines: &[String]) -> Option<&'static str> {
        let why = |line: &String| KNOWN.iter().find(|known| (known.explains)(self, line)).map(|known| known.why);
        let reasons: Option<Vec<&'static str>> = lines.iter().map(why).collect();
        reasons?.first().copied()
    }

    fn has_flag(&self, name: &str) -> bool {
        self.round.args.iter().any(|arg| arg.starts_with(name))
    }

    /// Whether a template has `.Spec` or `.Status`.
    fn names_go_fields(&self) -> bool {
        self.round.args.iter().any(|arg| arg.contains("{{") && (arg.contains(".Spec") || arg.contains(".Status")))
    }

    /// Whether the provider has a claim of another owner at a name that speaks of this one.
    fn claimed_by_another(&self, name: &str) -> bool {
        let owner = self.round.args.iter().find_map(|arg| arg.strip_prefix("--txt-owner-id=")).unwrap_or("default");
        self.round.current.iter().any(|record| {
            let text = record["targets"].to_string();
            let about = record["dnsName"].as_str().is_some_and(|claim| claim.contains(name));
            about && text.contains("heritage=external-dns") && !text.contains(&format!("external-dns/owner={owner},"))
        })
    }
}

fn missing(line: &str) -> bool {
    line.contains(": missing")
}

/// The name that a difference is about: that of the record, also where it is the claim that differs.
fn subject(line: &str) -> &str {
    if let Some((_, rest)) = line.split_once("ownedRecord=") {
        return rest.split(')').next().unwrap_or_default();
    }
    let after = ["missing     ", "unexpected  ", "expected  "].iter().find_map(|word| line.split_once(word));
    after.map_or("", |(_, rest)| rest).split(' ').next().unwrap_or_default()
}

/// Whether a text is a domain name of host name labels, perhaps with `_`, perhaps a wildcard.
fn is_name(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-_".contains(&b);
    text.strip_prefix("*.")
        .unwrap_or(text)
        .split('.')
        .all(|label| !label.is_empty() && label.len() < 64 && label.bytes().all(allowed))
}
