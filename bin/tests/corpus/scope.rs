//! Which endpoints can take part in a run's plan.
//!
//! In: the run's flags and the provider's domain filter. Out: yes or no for a name and type. This is written here once
//! more, from the documentation of the flags, so that a fault of the program's own filters shows.

use regex::Regex;

use crate::endpoint::{Key, ascii_name, unicode_name};
use crate::recorded::{DomainFilter, Run};

/// What is managed when no flag says so.
const DEFAULT_TYPES: [&str; 3] = ["A", "AAAA", "CNAME"];

/// The filters of one run.
#[derive(Debug)]
pub(crate) struct Scope {
    managed: Vec<String>,
    excluded: Vec<String>,
    domains: [Domains; 2],
}

/// One domain filter; an empty one lets every name pass.
#[derive(Debug)]
enum Domains {
    /// The regular expressions to be matched, and not to be matched, by the name with U-labels.
    Regex(Option<Regex>, Option<Regex>),
    /// The suffixes of names that pass, and of those that do not.
    Suffixes(Vec<String>, Vec<String>),
}

impl Scope {
    pub(crate) fn of(run: &Run) -> Self {
        let mut managed = values(run, "managed-record-types");
        if managed.is_empty() {
            managed = DEFAULT_TYPES.map(str::to_owned).into();
        }
        let first = |flag| values(run, flag).into_iter().next().unwrap_or_default();
        let flags = DomainFilter {
            include: values(run, "domain-filter"),
            exclude: values(run, "exclude-domains"),
            regex_include: first("regex-domain-filter"),
            regex_exclude: first("regex-domain-exclusion"),
        };
        let domains = [Domains::of(&flags), Domains::of(&run.domain_filter)];
        Self { managed, excluded: values(run, "exclude-record-types"), domains }
    }

    pub(crate) fn holds(&self, key: &Key) -> bool {
        let managed = self.managed.contains(&key.record_type) && !self.excluded.contains(&key.record_type);
        managed && self.domains.iter().all(|domains| domains.hold(&key.name))
    }
}

/// All values of a flag that can be repeated: from the arguments, else line by line from the environment.
fn values(run: &Run, flag: &str) -> Vec<String> {
    let flag_and_sign = format!("--{flag}=");
    let follows = |at: usize| at > 0 && run.args.get(at - 1).is_some_and(|before| *before == format!("--{flag}"));
    let arguments = run.args.iter().enumerate();
    let given: Vec<String> = arguments
        .filter_map(|(at, text)| text.strip_prefix(&flag_and_sign).or_else(|| follows(at).then_some(text)))
        .map(str::to_owned)
        .collect();
    if !given.is_empty() {
        return given;
    }
    let variable = format!("EXTERNAL_DNS_{}", flag.to_uppercase().replace('-', "_"));
    run.env.get(&variable).map(|text| text.lines().map(str::to_owned).collect()).unwrap_or_default()
}

impl Domains {
    fn of(filter: &DomainFilter) -> Self {
        if filter.regex_include.is_empty() && filter.regex_exclude.is_empty() {
            return Self::Suffixes(suffixes(&filter.include), suffixes(&filter.exclude));
        }
        let regex = |text: &str| Regex::new(text).expect("external-dns has taken this regular expression");
        let given = |text: &str| (!text.is_empty()).then(|| regex(text));
        Self::Regex(given(&filter.regex_include), given(&filter.regex_exclude))
    }

    fn hold(&self, name: &str) -> bool {
        match self {
            Self::Regex(include, exclude) => {
                let name = unicode_name(name);
                include.as_ref().is_none_or(|regex| regex.is_match(&name))
                    && !exclude.as_ref().is_some_and(|regex| regex.is_match(&name))
            }
            Self::Suffixes(include, exclude) => (include.is_empty() || ends(name, include)) && !ends(name, exclude),
        }
    }
}

/// The entries of a domain filter as names; a leading dot stays, and means everything below.
fn suffixes(entries: &[String]) -> Vec<String> {
    let entries = entries.iter().map(|entry| entry.trim()).filter(|entry| !entry.trim_matches('.').is_empty());
    entries
        .map(|entry| {
            let below = if entry.starts_with('.') { "." } else { "" };
            format!("{below}{}", ascii_name(entry.trim_start_matches('.')))
        })
        .collect()
}

/// Whether the name is one of these domains or stands below.
fn ends(name: &str, domains: &[String]) -> bool {
    domains.iter().any(|domain| {
        let rest = name.strip_suffix(domain.as_str());
        // Nothing before the domain is the domain itself; otherwise a label must end there.
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.') || domain.starts_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(args: &[&str]) -> Run {
        Run { args: args.iter().map(|text| (*text).to_owned()).collect(), ..Run::default() }
    }

    fn holds(run: &Run, name: &str, record_type: &str) -> bool {
        let key = Key { name: ascii_name(name), record_type: record_type.to_owned(), set: String::new() };
        Scope::of(run).holds(&key)
    }

    #[test]
    fn record_types() {
        let check = |args: &[&str], record_type, expected| {
            assert_eq!(holds(&run(args), "a.test", record_type), expected, "{args:?} {record_type}");
        };
        check(&[], "A", true);
        check(&[], "CNAME", true);
        check(&[], "TXT", false);
        check(&["--managed-record-types=TXT"], "TXT", true);
        check(&["--managed-record-types=TXT"], "A", false);
        check(&["--managed-record-types", "TXT", "--managed-record-types=A"], "A", true);
        check(&["--managed-record-types", "TXT", "--managed-record-types=A"], "TXT", true);
        check(&["--exclude-record-types=A"], "A", false);
        check(&["--exclude-record-types=A"], "AAAA", true);
    }

    #[test]
    fn domains() {
        let check =
            |args: &[&str], name, expected| assert_eq!(holds(&run(args), name, "A"), expected, "{args:?} {name}");
        check(&["--domain-filter="], "a.test", true);
        check(&["--domain-filter=a.test"], "a.test", true);
        check(&["--domain-filter=a.test"], "x.a.test", true);
        check(&["--domain-filter=a.test"], "xa.test", false);
        check(&["--domain-filter=.a.test"], "a.test", false);
        check(&["--domain-filter=.a.test"], "x.a.test", true);
        check(&["--domain-filter=a.test", "--domain-filter= B.test. "], "x.b.test", true);
        check(&["--domain-filter=bücher.test"], "x.xn--bcher-kva.test", true);
        check(&["--domain-filter=a.test", "--exclude-domains=x.a.test"], "x.a.test", false);
        check(&["--domain-filter=a.test", "--exclude-domains=x.a.test"], "a.test", true);
        check(&["--regex-domain-filter=^a"], "a.test", true);
        check(&["--regex-domain-filter=^a"], "b.test", false);
        check(&["--regex-domain-filter=bücher"], "xn--bcher-kva.test", true);
        check(&["--regex-domain-filter=^a", "--domain-filter=b.test"], "a.test", true);
        check(&["--regex-domain-exclusion=^a"], "a.test", false);
        check(&["--regex-domain-exclusion=^a"], "b.test", true);
    }

    #[test]
    fn the_environment_counts_where_no_argument_does_and_the_provider_always() {
        let mut run = run(&[]);
        run.env.insert("EXTERNAL_DNS_DOMAIN_FILTER".to_owned(), "a.test\nb.test".to_owned());
        assert!(holds(&run, "b.test", "A") && !holds(&run, "c.test", "A"));
        run.args = vec!["--domain-filter=c.test".to_owned()];
        assert!(holds(&run, "c.test", "A") && !holds(&run, "b.test", "A"));
        run.domain_filter.exclude = vec!["x.c.test".to_owned()];
        assert!(holds(&run, "c.test", "A") && !holds(&run, "x.c.test", "A"));
    }
}
