//! Which records a listing shows, and in what order: the parameters of *List DNS records* in the API reference.

use std::cmp::Ordering;

use super::record::Record;
use super::refusal::Refusal;
use super::request::Request;

/// What a filter looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Name,
    Content,
    Comment,
    Tag,
    Kind,
    Proxied,
    /// Name, content, comment and tags.
    Anything,
}

/// A condition on a record; all but those on types ignore case.
#[derive(Debug)]
struct Condition {
    field: Field,
    test: Test,
    value: String,
}

#[derive(Debug, Clone, Copy)]
enum Test {
    Exact,
    Contains,
    StartsWith,
    EndsWith,
    Present,
    Absent,
}

/// What a request wants of a listing.
#[derive(Debug)]
pub(super) struct Filter {
    conditions: Vec<Condition>,
    /// Whether one condition is enough.
    any: bool,
    /// The same for those on tags.
    any_tag: bool,
    order: Order,
    descending: bool,
}

#[derive(Debug, Clone, Copy)]
enum Order {
    Kind,
    Name,
    Content,
    Ttl,
    Proxied,
}

impl Filter {
    pub(super) fn read(request: &Request) -> Result<Self, Refusal> {
        let choice = |name: &str, usual: &'static str, choices: &[&'static str]| {
            let Some(given) = request.parameter(name) else { return Ok(usual) };
            let known = choices.iter().copied().chain([usual]).find(|choice| *choice == given);
            known.ok_or_else(|| Refusal::parameter(name))
        };
        let order = match choice("order", "type", &["name", "content", "ttl", "proxied"])? {
            "name" => Order::Name,
            "content" => Order::Content,
            "ttl" => Order::Ttl,
            "proxied" => Order::Proxied,
            _ => Order::Kind,
        };
        let conditions = request.parameters().filter_map(|(name, value)| condition(name, value));
        Ok(Self {
            conditions: conditions.collect::<Result<_, _>>()?,
            any: choice("match", "all", &["any"])? == "any",
            any_tag: choice("tag_match", "all", &["any"])? == "any",
            order,
            descending: choice("direction", "asc", &["desc"])? == "desc",
        })
    }

    pub(super) fn shows(&self, record: &Record) -> bool {
        let (of_tags, others): (Vec<_>, Vec<_>) =
            self.conditions.iter().partition(|condition| condition.field == Field::Tag);
        let mut met: Vec<bool> = others.iter().map(|condition| condition.met(record)).collect();
        if !of_tags.is_empty() {
            met.push(together(of_tags.iter().map(|condition| condition.met(record)), self.any_tag));
        }
        met.is_empty() || together(met.into_iter(), self.any)
    }

    pub(super) fn compare(&self, one: &Record, two: &Record) -> Ordering {
        let order = match self.order {
            Order::Kind => one.kind.cmp(&two.kind),
            Order::Name => one.name.cmp(&two.name),
            Order::Content => one.content.cmp(&two.content),
            Order::Ttl => one.ttl.cmp(&two.ttl),
            Order::Proxied => one.proxied.cmp(&two.proxied),
        };
        let order = if self.descending { order.reverse() } else { order };
        order.then_with(|| place(one).cmp(&place(two)))
    }
}

/// Where a record stands among those that are otherwise equal.
pub(super) fn place(record: &Record) -> [&str; 4] {
    [&record.name, &record.kind, &record.content, &record.id]
}

fn together(mut met: impl Iterator<Item = bool>, any: bool) -> bool {
    if any { met.any(|met| met) } else { met.all(|met| met) }
}

/// None for a parameter that is no condition.
fn condition(name: &str, value: &str) -> Option<Result<Condition, Refusal>> {
    let (field, test) = name.split_once('.').unwrap_or((name, "exact"));
    let field = match field {
        "name" => Field::Name,
        "content" => Field::Content,
        "comment" => Field::Comment,
        "tag" => Field::Tag,
        "type" => Field::Kind,
        "proxied" => Field::Proxied,
        "search" => Field::Anything,
        _ => return None,
    };
    let test = match test {
        _ if field == Field::Anything => Test::Contains,
        "exact" => Test::Exact,
        "contains" => Test::Contains,
        "startswith" => Test::StartsWith,
        "endswith" => Test::EndsWith,
        "present" if matches!(field, Field::Comment | Field::Tag) => Test::Present,
        "absent" if matches!(field, Field::Comment | Field::Tag) => Test::Absent,
        _ => return Some(Err(Refusal::parameter(name))),
    };
    Some(Ok(Condition { field, test, value: value.to_ascii_lowercase() }))
}

impl Condition {
    fn met(&self, record: &Record) -> bool {
        match self.field {
            Field::Name => self.met_by(&record.name),
            Field::Content => self.met_by(&record.content),
            Field::Comment => match self.test {
                Test::Present => record.comment.is_some(),
                Test::Absent => record.comment.is_none(),
                _ => record.comment.as_ref().is_some_and(|comment| self.met_by(comment)),
            },
            Field::Tag => match self.test {
                Test::Absent => !record.tags.iter().any(|tag| self.met_by_tag(tag)),
                _ => record.tags.iter().any(|tag| self.met_by_tag(tag)),
            },
            Field::Kind => self.met_by(&record.kind),
            Field::Proxied => self.value == record.proxied.to_string(),
            Field::Anything => {
                let texts = [&record.name, &record.content].into_iter().chain(&record.comment).chain(&record.tags);
                texts.into_iter().any(|text| self.met_by(text))
            }
        }
    }

    fn met_by(&self, text: &str) -> bool {
        compare(self.test, &text.to_ascii_lowercase(), &self.value)
    }

    /// The condition names a tag, and perhaps a value after a colon.
    fn met_by_tag(&self, tag: &str) -> bool {
        let tag = tag.to_ascii_lowercase();
        let (name, value) = tag.split_once(':').unwrap_or((&tag, ""));
        let (wanted, part) = self.value.split_once(':').unwrap_or((&self.value, ""));
        let by_name = matches!(self.test, Test::Present | Test::Absent);
        name == wanted && (by_name || compare(self.test, value, part))
    }
}

fn compare(test: Test, given: &str, value: &str) -> bool {
    match test {
        Test::Exact => given == value,
        Test::Contains => given.contains(value),
        Test::StartsWith => given.starts_with(value),
        Test::EndsWith => given.ends_with(value),
        Test::Present | Test::Absent => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Vec<Record> {
        vec![
            Record::new("a.org", "TXT", "Text"),
            Record::new("b.a.org", "A", "192.0.2.1").with_ttl(60).with_comment("Mine"),
            Record::new("c.a.org", "A", "192.0.2.2").with_proxy().with_tags(&["Owner:Me", "team:x"]),
        ]
    }

    fn listed(query: &str) -> Result<String, u32> {
        let filter = Filter::read(&Request::new("GET", &format!("/?{query}"))).map_err(|refusal| refusal.code)?;
        let mut records: Vec<Record> = records().into_iter().filter(|record| filter.shows(record)).collect();
        records.sort_by(|one, two| filter.compare(one, two));
        Ok(records.iter().map(|record| record.name.split('.').next().unwrap_or_default()).collect::<Vec<_>>().concat())
    }

    #[test]
    fn conditions_are_met() {
        for (query, expected) in [
            ("", "bca"),
            ("name=B.a.org", "b"),
            ("name.exact=b.a.org", "b"),
            ("name.endswith=.a.org", "bc"),
            ("name.startswith=a", "a"),
            ("content.contains=192", "bc"),
            ("content=text", "a"),
            ("type=A", "bc"),
            ("type=a", "bc"),
            ("proxied=true", "c"),
            ("comment.present", "b"),
            ("comment.absent=true", "ca"),
            ("comment=mine", "b"),
            ("tag=owner:me", "c"),
            ("tag=owner", ""),
            ("tag.present=owner", "c"),
            ("tag.absent=owner", "ba"),
            ("tag.startswith=team:", "c"),
            ("tag.present=owner&tag.contains=team:y", ""),
            ("tag.present=owner&tag.contains=team:y&tag_match=any", "c"),
            ("type=A&content=192.0.2.1", "b"),
            ("type=TXT&content=192.0.2.1", ""),
            ("type=TXT&content=192.0.2.1&match=any", "ba"),
            ("search=mine", "b"),
            ("page=2&per_page=5", "bca"),
        ] {
            assert_eq!(listed(query).as_deref(), Ok(expected), "{query}");
        }
    }

    #[test]
    fn orders_are_kept() {
        for (query, expected) in [
            ("order=name", "abc"),
            ("order=name&direction=desc", "cba"),
            ("order=ttl", "acb"),
            ("order=proxied&direction=desc", "cab"),
            ("order=content", "bca"),
        ] {
            assert_eq!(listed(query).as_deref(), Ok(expected), "{query}");
        }
        for query in ["order=id", "direction=up", "match=one", "name.regex=a", "content.present=1"] {
            assert_eq!(listed(query), Err(9100), "{query}");
        }
    }
}
