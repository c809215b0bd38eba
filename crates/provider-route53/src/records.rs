//! Record sets, page by page and by name.
//!
//! <https://docs.aws.amazon.com/Route53/latest/APIReference/API_ListResourceRecordSets.html>

use std::collections::BTreeSet;

use aws_sdk_route53::operation::list_resource_record_sets::ListResourceRecordSetsOutput;
use aws_sdk_route53::types::{ResourceRecordSet, RrType};
use tracing::warn;
use zonewright_core::provider::{Cursor, Listing};
use zonewright_core::{DnsName, Error, ErrorKind, RecordSet, Result, Zone};

use crate::exact::Exact;
use crate::service::Service;
use crate::{convert, name};

const LIST: &str = "list records";
/// Most sets on a page.
const PAGE: i32 = 300;

/// Where a page begins.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Start {
    name: String,
    rtype: Option<String>,
    set_id: Option<String>,
}

impl Start {
    /// Reads a cursor: name, type and identifier, one on each line.
    fn of(cursor: &Cursor) -> Result<Self> {
        let mut lines = cursor.0.splitn(3, '\n');
        match (lines.next(), lines.next()) {
            (Some(name), Some(rtype)) if !name.is_empty() && !rtype.is_empty() => {
                let set_id = lines.next().filter(|id| !id.is_empty()).map(str::to_owned);
                Ok(Self { name: name.to_owned(), rtype: Some(rtype.to_owned()), set_id })
            }
            _ => Err(Error::new(ErrorKind::Conflict, LIST, "the page is not known; the listing begins anew")),
        }
    }

    /// Whether this set is where the page starts.
    fn is(&self, set: &ResourceRecordSet) -> bool {
        let Self { name, rtype, set_id } = self;
        set.name() == name
            && rtype.as_deref() == Some(set.r#type().as_str())
            && set.set_identifier() == set_id.as_deref()
    }

    fn cursor(&self) -> Cursor {
        let (rtype, set_id) = (self.rtype.as_deref().unwrap_or_default(), self.set_id.as_deref().unwrap_or_default());
        Cursor(format!("{}\n{rtype}\n{set_id}", self.name))
    }

    /// Where the listing goes on after a page.
    fn after(page: &ListResourceRecordSetsOutput) -> Option<Self> {
        Some(Self {
            name: page.next_record_name().filter(|_| page.is_truncated())?.to_owned(),
            rtype: page.next_record_type().map(|rtype| rtype.as_str().to_owned()),
            set_id: page.next_record_identifier().map(str::to_owned),
        })
    }
}

async fn ask(service: &Service, zone: &Zone, start: Option<&Start>) -> Result<ListResourceRecordSetsOutput> {
    let what = format!("zone {} ({})", zone.name, zone.key.zone);
    let page = service
        .read(LIST, &what, |client| {
            let request = client.list_resource_record_sets().hosted_zone_id(zone.key.zone.as_str()).max_items(PAGE);
            let request = request
                .set_start_record_name(start.map(|start| start.name.clone()))
                .set_start_record_type(start.and_then(|start| start.rtype.as_deref()).map(RrType::from))
                .set_start_record_identifier(start.and_then(|start| start.set_id.clone()));
            async move { request.send().await }
        })
        .await?;
    let next = Start::after(&page);
    let on_page = |next: &Start| Some(next) == start || page.resource_record_sets().iter().any(|set| next.is(set));
    if page.is_truncated() && next.as_ref().is_none_or(on_page) {
        let text = format!("{what}: an answer says that it is not the last page, and names no page after it");
        return Err(Error::new(ErrorKind::Protocol, LIST, text));
    }
    Ok(page)
}

/// A page of a zone: the first one, or that at a cursor.
///
/// # Errors
/// It is not whole.
pub(crate) async fn page(service: &Service, zone: &Zone, cursor: Option<&Cursor>, exact: &Exact) -> Result<Listing> {
    let start = cursor.map(Start::of).transpose()?;
    let page = ask(service, zone, start.as_ref()).await?;
    if start.is_none() {
        exact.begin(&zone.key.zone);
    }
    let next = Start::after(&page);
    let sets = page.resource_record_sets.into_iter().filter_map(|set| read(zone, set, exact)).collect();
    if let Some(next) = next {
        return Ok(Listing::Page { sets, next: next.cursor() });
    }
    exact.end(&zone.key.zone);
    Ok(Listing::Full { sets, token: None })
}

/// The sets at these names. Those of one name follow each other, so one request for each name is enough, unless a name has
/// more sets than a page; and what else of them falls on its page needs none of its own.
///
/// # Errors
/// One of the answers is not whole.
pub(crate) async fn names(service: &Service, zone: &Zone, names: &BTreeSet<DnsName>, exact: &Exact) -> Result<Listing> {
    exact.forget(&zone.key.zone, names);
    let mut wanted: Vec<(Option<String>, &DnsName)> = names.iter().map(|name| (place(name), name)).collect();
    wanted.sort();
    let mut seen: BTreeSet<&DnsName> = BTreeSet::new();
    let mut sets: Vec<RecordSet> = Vec::new();
    for (at, (first, name)) in wanted.iter().enumerate() {
        let mut start =
            Some(Start { name: name::write(name), rtype: None, set_id: None }).filter(|_| seen.insert(name));
        while let Some(from) = start.take() {
            let page = ask(service, zone, Some(&from)).await?;
            let next = Start::after(&page);
            let end = next.as_ref().map(|next| name::read(&next.name).ok());
            // Where the page ends is known to be behind these.
            let is_before_end = |place: &str| match &end {
                None => true,
                Some(end) => end.as_ref().and_then(self::place).is_some_and(|end| place < &*end),
            };
            let beside = wanted.iter().skip(at + 1).filter(|_| first.is_some());
            let beside =
                beside.take_while(|(place, _)| place.as_deref().is_some_and(is_before_end)).map(|(_, name)| *name);
            let here: BTreeSet<&DnsName> = beside.filter(|name| !seen.contains(name)).chain([*name]).collect();
            let of_names = |set: &RecordSet| here.contains(&set.key.name);
            sets.extend(
                page.resource_record_sets.into_iter().filter_map(|set| read(zone, set, exact)).filter(of_names),
            );
            seen.extend(here);
            start = next.filter(|_| end.flatten().is_some_and(|end| end == **name));
        }
    }
    Ok(Listing::Names(sets))
}

/// Where a name stands in a listing, which is sorted by the text of the labels in reverse order, each with a dot behind it. `None`
/// where the text has an escape: how those are sorted is not documented.
fn place(name: &DnsName) -> Option<String> {
    let text = name::write(name);
    let labels = text.split_terminator('.').rev().flat_map(|label| [label, "."]);
    (!text.contains('\\')).then(|| labels.collect())
}

/// One set; one that cannot be read is reported and left out: it cannot be written either, so it is nobody's here.
fn read(zone: &Zone, answer: ResourceRecordSet, exact: &Exact) -> Option<RecordSet> {
    match convert::read(&answer) {
        Ok(set) => {
            exact.keep(&zone.key.zone, answer, &set);
            Some(set)
        }
        Err(error) => {
            warn!(zone = %zone.name, error, "a record set cannot be read; it is left alone");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use zonewright_core::zone::InstanceId;
    use zonewright_fakes::route53::{RecordSet as Theirs, Route53 as Fake};

    use super::*;
    use crate::service::tests::at;

    /// Reads a zone to its end; how many sets.
    async fn list(service: &Service, zone: &Zone, exact: &Exact) -> usize {
        let (mut count, mut cursor) = (0, None);
        loop {
            match page(service, zone, cursor.as_ref(), exact).await.unwrap() {
                Listing::Page { sets, next } => {
                    count += sets.len();
                    cursor = Some(next);
                }
                Listing::Full { sets, .. } => return count + sets.len(),
                other => panic!("{other:?}"),
            }
        }
    }

    #[tokio::test]
    async fn how_sets_were_spelled_that_are_gone_is_forgotten() {
        let fake = Fake::start();
        let id = fake.add_zone("000000000001", "example.org", false, &[]);
        let zone = Zone::new(&InstanceId::from("aws"), &id, DnsName::parse("example.org").unwrap());
        let (service, exact) = (at(&fake.url(), "AKIDFAKE"), Exact::default());
        assert_eq!(list(&service, &zone, &exact).await, 2);
        // The name servers of the zone, which are written with a final dot.
        let own = exact.size();
        let names: Vec<String> = (0..1_000).map(|n| format!("_sip._tcp.n{n}.example.org.")).collect();
        for name in &names {
            fake.put(&id, Theirs::new(name, "SRV", 300, &["10 5 5060 sip.example.net"]));
        }
        assert_eq!((list(&service, &zone, &exact).await, exact.size()), (1_002, own + 1_000));
        for name in &names {
            fake.remove(&id, name, "SRV", None);
        }
        assert_eq!((list(&service, &zone, &exact).await, exact.size()), (2, own));
    }

    /// Names that lie on one page are read with one request, those behind it and those with escapes with others; what is absent is.
    #[tokio::test]
    async fn names_that_lie_together_are_read_together() {
        let fake = Fake::start();
        let id = fake.add_zone("000000000001", "example.org", false, &[]);
        let zone = Zone::new(&InstanceId::from("aws"), &id, DnsName::parse("example.org").unwrap());
        let (service, exact) = (at(&fake.url(), "AKIDFAKE"), Exact::default());
        for n in 0..1_000 {
            fake.put(&id, Theirs::new(&format!("n{n:04}.example.org."), "A", 300, &["192.0.2.1"]));
            if n % 2 == 0 {
                fake.put(&id, Theirs::new(&format!("n{n:04}.example.org."), "AAAA", 300, &["2001:db8::1"]));
            }
        }
        for (name, values) in [("a-b", "192.0.2.2"), ("a", "192.0.2.3"), ("x.a", "192.0.2.4"), ("\\052", "192.0.2.5")] {
            fake.put(&id, Theirs::new(&format!("{name}.example.org."), "A", 300, &[values]));
        }
        let cases: &[(&[&str], usize, usize)] = &[
            (&["n0000", "n0001", "n0010x", "n0150"], 5, 1),
            (&["a", "a-b", "x.a", "aa", "b"], 3, 1),
            (&["*", "a", "x.a", "n0001"], 4, 2),
            (&["n0000", "n0999"], 3, 2),
            (&["zz"], 0, 1),
            (&[], 0, 0),
        ];
        for (asked, expected, requests) in cases {
            let asked: BTreeSet<DnsName> =
                asked.iter().map(|label| DnsName::parse(&format!("{label}.example.org")).unwrap()).collect();
            let before = fake.calls().get("ListResourceRecordSets").copied().unwrap_or_default();
            let Listing::Names(sets) = names(&service, &zone, &asked, &exact).await.unwrap() else { panic!("names") };
            let after = fake.calls().get("ListResourceRecordSets").copied().unwrap_or_default();
            assert!(sets.iter().all(|set| asked.contains(&set.key.name)), "{asked:?}: {sets:?}");
            assert_eq!((sets.len(), after - before), (*expected, *requests), "{asked:?}");
        }
        let all: BTreeSet<DnsName> =
            (0..1_000).map(|n| DnsName::parse(&format!("n{n:04}.example.org")).unwrap()).collect();
        let Listing::Names(sets) = names(&service, &zone, &all, &exact).await.unwrap() else { panic!("names") };
        let keys: BTreeSet<_> = sets.iter().map(|set| set.key.clone()).collect();
        assert_eq!((sets.len(), keys.len()), (1_500, 1_500), "each once");
    }

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        for set_id in [None, Some("blue\ngreen".to_owned())] {
            let start = Start { name: "\\052.example.org.".to_owned(), rtype: Some("A".to_owned()), set_id };
            assert_eq!(Start::of(&start.cursor()).unwrap(), start);
        }
        for text in ["", "a", "a\n", "\nA"] {
            assert_eq!(Start::of(&Cursor(text.to_owned())).unwrap_err().kind, ErrorKind::Conflict, "{text:?}");
        }
    }
}
