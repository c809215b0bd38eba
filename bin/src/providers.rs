//! The table of what providers can do, made from their capabilities; a test keeps `docs/providers.md` equal to it.

use std::fmt::Write as _;

use zonewright_core::RecordType;
use zonewright_core::capability::{
    Atomicity, Audit, Batch, Capability, CnameRules, Preconditions, RoutingKind, RoutingSupport, TargetCount, TtlRange,
    TypeSupport,
};
use zonewright_core::catalog::ProviderEntry;
use zonewright_core::zone::ZoneRule;

use crate::catalog::Catalog;

const INTRODUCTION: &str = "\
# Providers

Made by `zonewright docs providers`; do not edit. What each can do with the defaults of its flags; the conformance suite holds it to that.

";

/// What the rows say.
const LEGEND: &str = "
- **Targets**: whether a record set holds several. **Routing**: policies, each set a record of its own, or all of them items of one record set.
- **Alias**: the provider's own pointer to another host, answered as an address record, also at the apex. **CNAME at the apex**: answered with
  the addresses of its target.
- **A call**: the most changes in one request, and what stands or falls together.
- **Preconditions**: what the other side itself compares before it writes. Where it compares nothing, record and claim are read right before.
- **Kept current**: by a cheap question, or by listing the zone again, at a tenth of the account's rate.
";

/// What one row says of a provider.
type Cell = fn(&Capability) -> String;

const ROWS: &[(&str, Cell)] = &[
    ("Record types", |has| types(&has.types)),
    ("Targets", |has| if has.targets == TargetCount::Full { "several" } else { "one" }.to_owned()),
    ("Wildcards", |has| yes(has.wildcards)),
    ("Set identifiers", |has| yes(has.set_ids)),
    ("Routing", |has| routing(has.routing)),
    ("Alias", |has| yes(has.alias)),
    ("CNAME at the apex", |has| cname(has.cname)),
    ("A call", |has| call(&has.batch)),
    ("Preconditions", |has| preconditions(has.preconditions).to_owned()),
    ("TTL", |has| ttl(has.ttl)),
    ("A name goes to", |has| {
        match has.zone_rule {
            ZoneRule::LongestSuffix => "the longest zone",
            ZoneRule::AllPrivateLongestPublic => "all private zones, the longest public one",
            ZoneRule::AllPrivateInnermostPublic => {
                "all private zones, and the longest public one unless a private one is longer"
            }
        }
        .to_owned()
    }),
    ("Kept current", |has| if has.audit == Audit::Cheap { "cheap question" } else { "listing" }.to_owned()),
];

/// The page, in Markdown.
pub(crate) fn page(catalog: &Catalog) -> String {
    let known: Vec<(&ProviderEntry, Capability)> =
        catalog.providers().iter().filter_map(|entry| Some((entry, (entry.capability)()?))).collect();
    let mut out = INTRODUCTION.to_owned();
    let head = |entry: &ProviderEntry| match entry.page.strip_prefix("docs/") {
        Some(page) => format!("[{}]({page})", entry.name),
        None => entry.name.to_owned(),
    };
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let names = known.iter().map(|(entry, _)| head(entry));
    out.push_str(&line(std::iter::once(String::new()).chain(names).collect()));
    let _ = writeln!(out, "|{}", "---|".repeat(known.len() + 1));
    for (title, cell) in ROWS {
        let cells = known.iter().map(|(_, capability)| cell(capability));
        out.push_str(&line(std::iter::once((*title).to_owned()).chain(cells).collect()));
    }
    out.push_str(LEGEND);
    out
}

fn yes(has: bool) -> String {
    if has { "yes" } else { "no" }.to_owned()
}

fn types(support: &TypeSupport) -> String {
    let missing: Vec<String> =
        RecordType::WRITABLE.into_iter().filter(|rtype| !support.has(*rtype)).map(|rtype| rtype.to_string()).collect();
    match support {
        TypeSupport::Any => "any".to_owned(),
        TypeSupport::Listed(_) if missing.is_empty() => "all".to_owned(),
        TypeSupport::Listed(listed) if listed.len() > missing.len() => format!("all but {}", missing.join(", ")),
        TypeSupport::Listed(listed) => listed.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn routing(support: RoutingSupport) -> String {
    let list = |kinds: &[RoutingKind]| kinds.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match support {
        RoutingSupport::None => "none".to_owned(),
        RoutingSupport::PerSet(kinds) => list(kinds),
        RoutingSupport::InSet(kinds) => format!("{}, as items of one record set", list(kinds)),
    }
}

fn cname(rules: CnameRules) -> String {
    if rules.flattened { "flattened" } else { "no" }.to_owned()
}

fn call(batch: &Batch) -> String {
    let changes = if batch.changes == usize::MAX {
        "any number of changes".to_owned()
    } else {
        format!("{} changes", batch.changes)
    };
    let atomic = match batch.atomic {
        Atomicity::Batch => "all or none",
        Atomicity::None => "each set for itself",
    };
    format!("{changes}, {atomic}")
}

/// A default below the least is no time, but leaves it to the service.
fn ttl(range: TtlRange) -> String {
    let TtlRange { min, max, default } = range;
    let default = if default < min { "the service's choice".to_owned() } else { format!("{default} s") };
    format!("{min} to {max} s, {default} by default")
}

fn preconditions(preconditions: Preconditions) -> &'static str {
    match preconditions {
        Preconditions::None => "none",
        Preconditions::Stated => "stated",
        Preconditions::Changed => "what is changed",
        Preconditions::Checked => "what is changed; its claim is read",
        Preconditions::Read => "none; what is changed and its claim are read",
        Preconditions::Any => "what is changed, and its claim",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `BLESS=1` in the environment writes the page instead.
    #[cfg(all(
        feature = "provider-cloudflare",
        feature = "provider-local",
        feature = "provider-rfc2136",
        feature = "provider-route53",
        feature = "provider-webhook"
    ))]
    #[test]
    fn the_page_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/providers.md");
        let page = page(&Catalog::built_in());
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(path, &page).unwrap();
        }
        let stored = std::fs::read_to_string(path).unwrap_or_default();
        assert!(stored == page, "docs/providers.md is old: run `zonewright docs providers >docs/providers.md`");
    }

    #[test]
    fn few_types_are_listed_and_many_by_what_is_missing() {
        let few = TypeSupport::Listed(vec![RecordType::A, RecordType::Txt]);
        assert_eq!(types(&few), "A, TXT");
        let most = RecordType::WRITABLE.into_iter().filter(|rtype| *rtype != RecordType::Dname).collect();
        assert_eq!(types(&TypeSupport::Listed(most)), "all but DNAME");
        assert_eq!(types(&TypeSupport::Listed(RecordType::WRITABLE.to_vec())), "all");
    }
}
