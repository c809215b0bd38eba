//! The answer to one question, by the rules of RFC 1034 4.3.2, RFC 4592 (wildcards) and RFC 6672 (DNAME).
//!
//! In: the zones and a question. Out: sections of record sets and a code, without any message. What must hold: a name
//! that has records or stands above some exists, so it is never answered with NXDOMAIN nor from a wildcard.

use zonewright_core::{DnsName, RData, RecordSet, RecordType};

use crate::table::{Node, ZoneTable};

/// Links of an alias chain that are followed before the client is left to go on.
const MAX_LINKS: usize = 16;

/// What is asked for at a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueryType {
    /// Sets of one type.
    Type(RecordType),
    /// Whatever stands there.
    Any,
}

/// How a question ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// There is an answer, or the name exists without one.
    NoError,
    /// The name does not exist.
    NxDomain,
    /// A DNAME would have made the name too long (RFC 6672 2.2).
    YxDomain,
    /// No zone of ours.
    Refused,
    /// A zone of ours that cannot be read.
    ServFail,
}

/// The sections of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    /// How it ended, for the last name of an alias chain (RFC 6604 3).
    pub(crate) code: Code,
    /// Whether the zone of the question is ours to speak for (not delegated away).
    pub(crate) authoritative: bool,
    /// Answer section.
    pub(crate) answer: Vec<RecordSet>,
    /// Authority section.
    pub(crate) authority: Vec<RecordSet>,
    /// Additional section: addresses of name servers below a cut.
    pub(crate) additional: Vec<RecordSet>,
}

/// A zone that is looked for.
#[derive(Debug)]
pub(crate) enum Found<'a> {
    /// It can be read.
    Zone(&'a ZoneTable),
    /// It is ours, but its file is broken.
    Broken,
    /// It is not ours.
    Nothing,
}

enum Step {
    Answer(Vec<RecordSet>),
    Alias { sets: Vec<RecordSet>, target: Option<DnsName> },
    Referral { cut: RecordSet, glue: Vec<RecordSet> },
    Empty,
    Missing,
}

/// Answers a question; `zone_of` finds the zone that a name belongs to.
pub(crate) fn answer<'a>(zone_of: impl Fn(&DnsName) -> Found<'a>, question: &DnsName, wanted: QueryType) -> Reply {
    let mut reply =
        Reply { code: Code::NoError, authoritative: true, answer: vec![], authority: vec![], additional: vec![] };
    let mut name = question.clone();
    for link in 0..MAX_LINKS {
        let zone = match zone_of(&name) {
            Found::Zone(zone) => zone,
            // The client follows a chain that leaves our zones by itself.
            _ if link > 0 => return reply,
            Found::Broken => return Reply { code: Code::ServFail, authoritative: false, ..reply },
            Found::Nothing => return Reply { code: Code::Refused, authoritative: false, ..reply },
        };
        match step(zone, &name, wanted) {
            Step::Answer(sets) => {
                reply.answer.extend(sets);
                return reply;
            }
            Step::Alias { sets, target } => {
                let looped = sets.iter().any(|set| reply.answer.contains(set));
                reply.answer.extend(sets);
                match target {
                    Some(target) if !looped => name = target,
                    Some(_) => return reply,
                    None => return Reply { code: Code::YxDomain, ..reply },
                }
            }
            Step::Referral { cut, glue } => {
                let authoritative = link > 0;
                return Reply { authoritative, authority: vec![cut], additional: glue, ..reply };
            }
            Step::Empty => return Reply { authority: vec![zone.soa.negative(&zone.apex)], ..reply },
            Step::Missing => {
                return Reply { code: Code::NxDomain, authority: vec![zone.soa.negative(&zone.apex)], ..reply };
            }
        }
    }
    reply
}

fn step(zone: &ZoneTable, name: &DnsName, wanted: QueryType) -> Step {
    if let Some(step) = cut_above(zone, name, wanted) {
        return step;
    }
    if let Some(node) = zone.node(name) {
        return at_node(zone, node, name, wanted);
    }
    if zone.exists(name) || *name == zone.apex {
        return Step::Empty;
    }
    let source = closest_encloser(zone, name).and_then(|encloser| encloser.prepend("*").ok());
    source.and_then(|source| zone.node(&source)).map_or(Step::Missing, |node| at_node(zone, node, name, wanted))
}

/// A delegation at or above the name, or a DNAME above it; the one nearest to the apex counts.
fn cut_above(zone: &ZoneTable, name: &DnsName, wanted: QueryType) -> Option<Step> {
    for ancestor in path(zone, name) {
        let Some(node) = zone.node(&ancestor) else { continue };
        // The parent side of a cut answers for DS itself (RFC 4035 3.1.4.1).
        let own_side = ancestor == zone.apex || (ancestor == *name && wanted == QueryType::Type(RecordType::Other(43)));
        if let Some(cut) = node.sets.get(&RecordType::Ns).filter(|_| !own_side) {
            return Some(Step::Referral { cut: cut.clone(), glue: glue(zone, cut) });
        }
        if let Some(dname) = node.sets.get(&RecordType::Dname).filter(|_| ancestor != *name) {
            return Some(substitute(dname, name));
        }
    }
    None
}

/// The apex and every name from there down to `name` itself.
fn path(zone: &ZoneTable, name: &DnsName) -> Vec<DnsName> {
    let up = std::iter::successors(Some(name.clone()), DnsName::parent);
    let mut path: Vec<DnsName> = up.take_while(|ancestor| ancestor.is_within(&zone.apex)).collect();
    path.reverse();
    path
}

fn glue(zone: &ZoneTable, cut: &RecordSet) -> Vec<RecordSet> {
    let hosts = cut.data.as_records().iter().filter_map(RData::target);
    let nodes = hosts.filter_map(|host| zone.node(host));
    nodes.flat_map(|node| node.sets.values().filter(|set| set.key.rtype.is_address()).cloned()).collect()
}

fn substitute(dname: &RecordSet, name: &DnsName) -> Step {
    let target = dname.data.as_records().first().and_then(RData::target);
    let target = target.and_then(|target| graft(name, &dname.key.name, target));
    let cname =
        target.clone().map(|t| RecordSet::simple(name.clone(), RecordType::Cname, dname.ttl, [RData::Cname(t)]));
    Step::Alias { sets: std::iter::once(dname.clone()).chain(cname).collect(), target }
}

/// `name` with its end `from` replaced by `to`; `None` if it gets too long.
fn graft(name: &DnsName, from: &DnsName, to: &DnsName) -> Option<DnsName> {
    let kept = name.label_count().checked_sub(from.label_count())?;
    let labels: Vec<Vec<u8>> = name.raw_labels().take(kept).chain(to.raw_labels()).collect();
    DnsName::from_raw_labels(labels.iter().map(Vec::as_slice)).ok()
}

/// What a node gives for a name, which differs from the node's own under a wildcard.
fn at_node(zone: &ZoneTable, node: &Node, name: &DnsName, wanted: QueryType) -> Step {
    let named = |set: &RecordSet| {
        let mut set = set.clone();
        set.key.name = name.clone();
        set
    };
    let apex = (node.name == zone.apex).then(|| zone.soa.record_set(&zone.apex));
    let rtype = match wanted {
        QueryType::Any => return Step::Answer(apex.into_iter().chain(node.sets.values().map(named)).collect()),
        QueryType::Type(RecordType::Soa) => return apex.map_or(Step::Empty, |soa| Step::Answer(vec![soa])),
        QueryType::Type(rtype) => rtype,
    };
    if let Some(set) = node.sets.get(&rtype) {
        return Step::Answer(vec![named(set)]);
    }
    let Some(cname) = node.sets.get(&RecordType::Cname) else { return Step::Empty };
    let target = cname.data.as_records().first().and_then(RData::target).cloned();
    Step::Alias { sets: vec![named(cname)], target }
}

fn closest_encloser(zone: &ZoneTable, name: &DnsName) -> Option<DnsName> {
    std::iter::successors(name.parent(), DnsName::parent)
        .take_while(|ancestor| ancestor.is_within(&zone.apex))
        .find(|ancestor| zone.exists(ancestor) || *ancestor == zone.apex)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::zone;

    const ZONE: &[&str] = &[
        "www.example.test 60 A 192.0.2.1 | 192.0.2.2",
        "www.example.test 60 TXT \"hello\"",
        "alias.example.test 60 CNAME www.example.test.",
        "alias2.example.test 60 CNAME alias.example.test.",
        "lost.example.test 60 CNAME nowhere.example.test.",
        "out.example.test 60 CNAME www.example.org.",
        "loop1.example.test 60 CNAME loop2.example.test.",
        "loop2.example.test 60 CNAME loop1.example.test.",
        "*.wild.example.test 60 A 192.0.2.9",
        "host.wild.example.test 60 TXT \"here\"",
        "a.ent.wild.example.test 60 A 192.0.2.8",
        "*.aliases.example.test 60 CNAME www.example.test.",
        "deep.in.the.example.test 60 A 192.0.2.7",
        "sub.example.test 60 NS ns.sub.example.test. | ns.example.org.",
        "ns.sub.example.test 60 A 192.0.2.53",
        "moved.example.test 60 DNAME www.example.test.",
        "far.example.test 60 DNAME example.org.",
    ];

    fn ask(name: &str, wanted: QueryType) -> String {
        let zone = zone(ZONE);
        let zone_of = |name: &DnsName| if name.is_within(&zone.apex) { Found::Zone(&zone) } else { Found::Nothing };
        let reply = answer(zone_of, &DnsName::parse(name).unwrap(), wanted);
        let show = |sets: &[RecordSet]| {
            let each = sets.iter().map(|set| match set.key.rtype {
                RecordType::Soa => "SOA".to_owned(),
                _ => format!("{} {} {}", set.key.name, set.key.rtype, set.data).replace("example.test", "@"),
            });
            each.collect::<Vec<_>>().join(", ")
        };
        let aa = if reply.authoritative { "aa" } else { "--" };
        format!(
            "{:?} {aa} [{}] [{}] [{}]",
            reply.code,
            show(&reply.answer),
            show(&reply.authority),
            show(&reply.additional)
        )
    }

    #[test]
    fn questions_and_answers() {
        use RecordType::{A, Aaaa, Cname, Ns, Soa, Txt};
        for (name, rtype, expected) in [
            ("www.example.test", A, "NoError aa [www.@ A 192.0.2.1 ; 192.0.2.2] [] []"),
            ("www.example.test", Aaaa, "NoError aa [] [SOA] []"),
            ("nope.example.test", A, "NxDomain aa [] [SOA] []"),
            ("x.www.example.test", A, "NxDomain aa [] [SOA] []"),
            ("example.test", Soa, "NoError aa [SOA] [] []"),
            ("example.test", Ns, "NoError aa [@ NS localhost.] [] []"),
            ("www.example.test", Soa, "NoError aa [] [SOA] []"),
            ("www.example.org", A, "Refused -- [] [] []"),
            // Alias chains end with the code of their last name.
            ("alias.example.test", A, "NoError aa [alias.@ CNAME www.@., www.@ A 192.0.2.1 ; 192.0.2.2] [] []"),
            ("alias.example.test", Aaaa, "NoError aa [alias.@ CNAME www.@.] [SOA] []"),
            ("alias.example.test", Cname, "NoError aa [alias.@ CNAME www.@.] [] []"),
            (
                "alias2.example.test",
                Txt,
                "NoError aa [alias2.@ CNAME alias.@., alias.@ CNAME www.@., www.@ TXT \"hello\"] [] []",
            ),
            ("lost.example.test", A, "NxDomain aa [lost.@ CNAME nowhere.@.] [SOA] []"),
            ("out.example.test", A, "NoError aa [out.@ CNAME www.example.org.] [] []"),
            // Wildcards stop at names that exist, empty ones too.
            ("x.wild.example.test", A, "NoError aa [x.wild.@ A 192.0.2.9] [] []"),
            ("x.y.wild.example.test", A, "NoError aa [x.y.wild.@ A 192.0.2.9] [] []"),
            ("x.wild.example.test", Txt, "NoError aa [] [SOA] []"),
            ("*.wild.example.test", A, "NoError aa [*.wild.@ A 192.0.2.9] [] []"),
            ("host.wild.example.test", A, "NoError aa [] [SOA] []"),
            ("x.host.wild.example.test", A, "NxDomain aa [] [SOA] []"),
            ("ent.wild.example.test", A, "NoError aa [] [SOA] []"),
            ("b.ent.wild.example.test", A, "NxDomain aa [] [SOA] []"),
            ("wild.example.test", A, "NoError aa [] [SOA] []"),
            ("x.aliases.example.test", Txt, "NoError aa [x.aliases.@ CNAME www.@., www.@ TXT \"hello\"] [] []"),
            // Empty non-terminals.
            ("in.the.example.test", A, "NoError aa [] [SOA] []"),
            ("the.example.test", A, "NoError aa [] [SOA] []"),
            ("of.the.example.test", A, "NxDomain aa [] [SOA] []"),
            // Delegations.
            ("x.sub.example.test", A, "NoError -- [] [sub.@ NS ns.example.org. ; ns.sub.@.] [ns.sub.@ A 192.0.2.53]"),
            ("sub.example.test", Ns, "NoError -- [] [sub.@ NS ns.example.org. ; ns.sub.@.] [ns.sub.@ A 192.0.2.53]"),
            ("sub.example.test", RecordType::Other(43), "NoError aa [] [SOA] []"),
            // DNAME: the names below move, the owner does not.
            ("x.moved.example.test", A, "NxDomain aa [moved.@ DNAME www.@., x.moved.@ CNAME x.www.@.] [SOA] []"),
            ("moved.example.test", A, "NoError aa [] [SOA] []"),
            (
                "a.b.far.example.test",
                A,
                "NoError aa [far.@ DNAME example.org., a.b.far.@ CNAME a.b.example.org.] [] []",
            ),
        ] {
            assert_eq!(ask(name, QueryType::Type(rtype)), expected, "{name} {rtype}");
        }
    }

    #[test]
    fn any_gives_all_of_the_name() {
        assert_eq!(
            ask("www.example.test", QueryType::Any),
            "NoError aa [www.@ A 192.0.2.1 ; 192.0.2.2, www.@ TXT \"hello\"] [] []"
        );
        assert_eq!(ask("alias.example.test", QueryType::Any), "NoError aa [alias.@ CNAME www.@.] [] []");
        assert_eq!(ask("example.test", QueryType::Any), "NoError aa [SOA, @ NS localhost.] [] []");
    }

    #[test]
    fn a_loop_ends() {
        let answer = ask("loop1.example.test", QueryType::Type(RecordType::A));
        assert!(answer.starts_with("NoError aa [loop1.@ CNAME loop2.@., loop2.@ CNAME loop1.@."), "{answer}");
    }

    #[test]
    fn a_name_that_a_dname_makes_too_long_is_reported() {
        let long = vec!["a".repeat(60); 3].join(".");
        let zone = zone(&[&format!("m.example.test 60 DNAME {long}.{}.", "b".repeat(40))]);
        let question = DnsName::parse(&format!("{}.m.example.test", "c".repeat(60))).unwrap();
        let reply = answer(|_| Found::Zone(&zone), &question, QueryType::Type(RecordType::A));
        assert_eq!((reply.code, reply.answer.len()), (Code::YxDomain, 1));
    }
}
