//! Where a claim stands: from a record's name and type to the name of its TXT record, by `--txt-prefix`, `--txt-suffix`
//! and `--txt-wildcard-replacement`.
//!
//! [`Affixes::typed`] is the format of today, [`Affixes::old`] that of before 2022 without the type. Lookups go forward, from
//! record to claim; the way back is needed twice: [`Affixes::is_typed`] reads a name as external-dns does, so that both agree
//! on what an old-format claim is, and [`Affixes::sources`] finds every record that shares a claim's name.
//!
//! A template with nothing after it (`%{record_type}` alone) and a wildcard replacement make names that several records
//! map to. external-dns takes such configurations, so they are taken here too, and the sharing is watched instead.

use std::borrow::Cow;

use zonewright_core::name::NameError;
use zonewright_core::{DnsName, RecordType};

const TEMPLATE: &str = "%{record_type}";

/// The types that a claim's name can speak of. The first ten are those of external-dns in its order, which decides where a
/// template is ambiguous; it never owns the last three.
pub(super) const TYPES: [RecordType; 13] = [
    RecordType::A,
    RecordType::Aaaa,
    RecordType::Cname,
    RecordType::Ns,
    RecordType::Mx,
    RecordType::Ptr,
    RecordType::Srv,
    RecordType::Naptr,
    RecordType::Txt,
    RecordType::Dname,
    RecordType::Caa,
    RecordType::Https,
    RecordType::Svcb,
];

/// The same in lower case, as they stand in names.
const LOWER: [&str; TYPES.len()] =
    ["a", "aaaa", "cname", "ns", "mx", "ptr", "srv", "naptr", "txt", "dname", "caa", "https", "svcb"];

/// A prefix or suffix in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Affix {
    text: String,
    /// With each of [`LOWER`] in the place for the type, then with none, if it has that place: it is asked for with every name.
    by_type: Vec<String>,
}

impl Affix {
    fn new(text: &str) -> Self {
        let text = text.to_lowercase();
        let all = LOWER.into_iter().chain([""]).map(|kind| text.replace(TEMPLATE, kind));
        let by_type = if text.contains(TEMPLATE) { all.collect() } else { Vec::new() };
        Self { text, by_type }
    }

    fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// With a type in lower case in its place, or with none if `kind` is empty.
    fn filled(&self, kind: &str) -> Cow<'_, str> {
        if self.by_type.is_empty() {
            return Cow::Borrowed(&self.text);
        }
        let known = LOWER.into_iter().chain([""]).position(|known| known == kind);
        let known = known.and_then(|at| self.by_type.get(at));
        known.map_or_else(|| Cow::Owned(self.text.replace(TEMPLATE, kind)), |known| Cow::Borrowed(known.as_str()))
    }
}

/// What is put around a record's first label to make the name of its claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Affixes {
    prefix: Affix,
    suffix: Affix,
    wildcard: String,
    /// Whether prefix or suffix has the place for the type.
    templated: bool,
}

impl Affixes {
    pub(super) fn new(prefix: &str, suffix: &str, wildcard: &str) -> Self {
        let [prefix, suffix] = [prefix, suffix].map(Affix::new);
        let templated = !(prefix.by_type.is_empty() && suffix.by_type.is_empty());
        Self { prefix, suffix, wildcard: wildcard.to_lowercase(), templated }
    }

    /// The name of the claim on the records of `rtype` at `name`.
    ///
    /// # Errors
    /// [`NameError`] where no such name can exist: a label or the whole is too long, or `name` is the root.
    pub(super) fn typed(&self, name: &DnsName, rtype: RecordType) -> Result<DnsName, NameError> {
        self.around(name, &lower(rtype))
    }

    /// The name of the old-format claim on the records at `name`, of whatever type.
    ///
    /// # Errors
    /// As [`Affixes::typed`].
    pub(super) fn old(&self, name: &DnsName) -> Result<DnsName, NameError> {
        self.around(name, "")
    }

    /// Where external-dns puts the claim on a name whose first label an object wrote in its own script: around that script, and
    /// the whole became an A-label. `None` for other names, or where no such name can exist.
    pub(super) fn international(&self, name: &DnsName, rtype: RecordType) -> Option<DnsName> {
        self.around_text(&in_own_script(name)?, &lower(rtype)).ok()
    }

    /// Whether external-dns takes `claim` for a name with a type, or for none of its own. Such a name never holds an
    /// old-format claim.
    pub(super) fn is_typed(&self, claim: &DnsName) -> bool {
        !matches!(self.reverse(claim.as_str()), Some((_, None)))
    }

    /// Every name and type whose claim stands at `claim`.
    pub(super) fn sources(&self, claim: &DnsName) -> Vec<(DnsName, RecordType)> {
        let own_script = in_own_script(claim);
        let texts = [Some(claim.as_str()), own_script.as_deref()];
        let of = |(rtype, text): (RecordType, &str)| {
            self.names_at(text, &lower(rtype)).into_iter().map(move |name| (name, rtype)).collect::<Vec<_>>()
        };
        let leads_back = |(name, rtype): &(DnsName, RecordType)| {
            self.typed(name, *rtype).as_ref() == Ok(claim) || self.international(name, *rtype).as_ref() == Some(claim)
        };
        let all = TYPES.into_iter().flat_map(|rtype| texts.into_iter().flatten().map(move |text| (rtype, text)));
        all.flat_map(of).filter(leads_back).collect()
    }

    /// Every name whose old-format claim stands at `claim`.
    pub(super) fn old_sources(&self, claim: &DnsName) -> Vec<DnsName> {
        let names = self.names_at(claim.as_str(), "");
        names.into_iter().filter(|name| self.old(name).as_ref() == Ok(claim)).collect()
    }

    /// Whether a name has these affixes with a type between them, for certain: without affixes any name with a dash might.
    pub(super) fn marks(&self, claim: &DnsName) -> bool {
        let has_affix = !(self.prefix.is_empty() && self.suffix.is_empty());
        has_affix && matches!(self.reverse(claim.as_str()), Some((_, Some(_))))
    }

    /// The names that may lie inside `claim`, as text; only what leads back is one.
    fn names_at(&self, claim: &str, kind: &str) -> Vec<DnsName> {
        let Some((head, rest)) = self.take_off(claim, kind) else { return Vec::new() };
        let heads = if head == self.wildcard && !head.is_empty() { vec![head, "*"] } else { vec![head] };
        heads.into_iter().filter_map(|head| DnsName::parse(&format!("{head}{rest}")).ok()).collect()
    }

    /// The flags that lengthen the name of a claim on `name`, for messages.
    pub(super) fn flags(&self, name: &DnsName) -> Vec<&'static str> {
        let set = [
            (!self.prefix.is_empty(), "--txt-prefix"),
            (!self.suffix.is_empty(), "--txt-suffix"),
            (!self.wildcard.is_empty() && name.is_wildcard(), "--txt-wildcard-replacement"),
        ];
        set.into_iter().filter(|(on, _)| *on).map(|(_, flag)| flag).collect()
    }

    fn around(&self, name: &DnsName, kind: &str) -> Result<DnsName, NameError> {
        let first = name.labels().next().ok_or(NameError::Empty)?;
        let head = if first == "*" && !self.wildcard.is_empty() { &self.wildcard } else { first };
        self.join(head, &name.as_str()[first.len()..], kind)
    }

    /// As [`Affixes::around`], of a name in any script.
    fn around_text(&self, name: &str, kind: &str) -> Result<DnsName, NameError> {
        let (head, rest) = name.split_at(name.find('.').unwrap_or(name.len()));
        self.join(head, rest, kind)
    }

    /// Asked several times for every record that is looked at: so the text is made in one piece.
    fn join(&self, head: &str, rest: &str, kind: &str) -> Result<DnsName, NameError> {
        let dash = if self.templated || kind.is_empty() { ["", ""] } else { [kind, "-"] };
        let (prefix, suffix) = (self.prefix.filled(kind), self.suffix.filled(kind));
        DnsName::parse(&[&*prefix, dash[0], dash[1], head, &*suffix, rest].concat())
    }

    /// Prefix and suffix for one type in lower case, or for no type if `kind` is empty.
    fn with_type(&self, kind: &str) -> (Cow<'_, str>, Cow<'_, str>) {
        let prefix = if self.templated || kind.is_empty() {
            self.prefix.filled(kind)
        } else {
            Cow::Owned(format!("{}{kind}-", self.prefix.text))
        };
        (prefix, self.suffix.filled(kind))
    }

    /// The record's first label, and the rest with its dot. The first label has no dot, so where it ends is certain.
    fn take_off<'a>(&self, claim: &'a str, kind: &str) -> Option<(&'a str, &'a str)> {
        let (prefix, suffix) = self.with_type(kind);
        let inner = claim.strip_prefix(&*prefix)?;
        let before_dot = suffix.find('.').unwrap_or(suffix.len());
        let end = inner.find('.').unwrap_or(inner.len()).checked_sub(before_dot)?;
        let (head, tail) = inner.split_at_checked(end)?;
        let rest = tail.strip_prefix(&*suffix)?;
        (rest.is_empty() || rest.starts_with('.')).then_some((head, rest))
    }

    /// A claim's name as external-dns reads it: the record's name, and its type unless the format is old. `None` where the
    /// name has not these affixes.
    fn reverse(&self, claim: &str) -> Option<(String, Option<RecordType>)> {
        match (self.prefix.is_empty(), self.suffix.is_empty()) {
            (_, true) => {
                let (name, rtype) = self.strip(claim, &self.prefix, |text, affix| text.strip_prefix(affix))?;
                Some((name.to_owned(), rtype))
            }
            (true, false) => {
                let dots = self.suffix.text.matches('.').count();
                let parts: Vec<&str> = claim.splitn(dots + 2, '.').collect();
                let first = parts.get(..=dots)?.join(".");
                let (name, rtype) = self.strip(&first, &self.suffix, |text, affix| text.strip_suffix(affix))?;
                Some((parts.get(dots + 1).map_or(name.to_owned(), |rest| format!("{name}.{rest}")), rtype))
            }
            (false, false) => None,
        }
    }

    fn strip<'a>(
        &self,
        text: &'a str,
        affix: &Affix,
        take: impl Fn(&'a str, &str) -> Option<&'a str>,
    ) -> Option<(&'a str, Option<RecordType>)> {
        let kinds = || TYPES.into_iter().zip(LOWER);
        let by_type = |(rtype, kind): (RecordType, &str)| Some((take(text, &affix.filled(kind))?, Some(rtype)));
        if self.templated
            && let Some(found) = kinds().find_map(by_type)
        {
            return Some(found);
        }
        let inner = take(text, &affix.filled(""))?;
        let typed = inner.split_once('-').and_then(|(kind, rest)| {
            let (rtype, _) = kinds().find(|(_, lower)| *lower == kind)?;
            Some((rest, Some(rtype)))
        });
        Some(typed.unwrap_or((inner, None)))
    }
}

/// A type in lower case, as it stands in names.
fn lower(rtype: RecordType) -> Cow<'static, str> {
    let known = TYPES.iter().position(|known| *known == rtype);
    known.map_or_else(|| Cow::Owned(rtype.lower()), |at| Cow::Borrowed(LOWER[at]))
}

/// A name whose first label is an A-label, in its own script.
fn in_own_script(name: &DnsName) -> Option<String> {
    name.as_str().starts_with("xn--").then(|| name.to_unicode().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(text: &str) -> DnsName {
        DnsName::parse(text).unwrap()
    }

    fn shown(back: Option<(String, Option<RecordType>)>) -> String {
        back.map_or("-".to_owned(), |(name, rtype)| match rtype {
            Some(rtype) => format!("{name} {rtype}"),
            None => format!("{name} old"),
        })
    }

    #[test]
    fn types_have_their_lower_case() {
        assert_eq!(TYPES.map(RecordType::lower), LOWER);
    }

    #[test]
    fn names_go_out_and_come_back() {
        // Prefix, suffix, wildcard replacement; record; name of its claim; how that is read back.
        for (prefix, suffix, wildcard, record, claim, back) in [
            ("", "", "", "www.ex.com A", "a-www.ex.com", "www.ex.com A"),
            ("", "", "", "ex.com CNAME", "cname-ex.com", "ex.com CNAME"),
            ("", "", "", "*.ex.com A", "a-*.ex.com", "*.ex.com A"),
            ("", "", "any", "*.ex.com A", "a-any.ex.com", "any.ex.com A"),
            ("", "", "", "Foo.Ex.com A", "a-foo.ex.com", "foo.ex.com A"),
            ("", "", "", "_sip._tcp.ex.com SRV", "srv-_sip._tcp.ex.com", "_sip._tcp.ex.com SRV"),
            ("", "", "", "a-foo.ex.com CNAME", "cname-a-foo.ex.com", "a-foo.ex.com CNAME"),
            // external-dns reads this as an old-format claim on caa-www: it can write the type but never owns it.
            ("", "", "", "www.ex.com CAA", "caa-www.ex.com", "www.ex.com CAA"),
            ("", "", "", "localhost A", "a-localhost", "localhost A"),
            ("txt-", "", "", "www.ex.com A", "txt-a-www.ex.com", "www.ex.com A"),
            ("txt.", "", "any", "*.ex.com A", "txt.a-any.ex.com", "any.ex.com A"),
            ("%{record_type}-", "", "", "www.ex.com AAAA", "aaaa-www.ex.com", "www.ex.com AAAA"),
            ("%{record_type}-abc-.", "", "", "ex.com CNAME", "cname-abc-.ex.com", "ex.com CNAME"),
            ("xdns-%{record_type}.", "", "any", "*.ex.com A", "xdns-a.any.ex.com", "any.ex.com A"),
            ("%{record_type}.", "", "", "ex.com A", "a.ex.com", "ex.com A"),
            ("Pre-%{record_type}-X.", "", "WILD", "*.ex.com A", "pre-a-x.wild.ex.com", "wild.ex.com A"),
            ("%{RECORD_TYPE}-", "", "", "www.ex.com A", "a-www.ex.com", "www.ex.com A"),
            ("", "-txt", "", "www.ex.com A", "a-www-txt.ex.com", "www.ex.com A"),
            ("", "-txt", "", "ex.com CNAME", "cname-ex-txt.com", "ex.com CNAME"),
            ("", "-%{record_type}", "", "www.ex.com A", "www-a.ex.com", "www.ex.com A"),
            ("", "-.%{record_type}", "", "www.ex.com CNAME", "www-.cname.ex.com", "www.ex.com CNAME"),
            ("", ".sfx.x", "", "www.ex.com A", "a-www.sfx.x.ex.com", "www.ex.com A"),
            // Ambiguous, and read wrongly by external-dns: A comes before AAAA.
            ("%{record_type}", "", "", "www.ex.com AAAA", "aaaawww.ex.com", "aaawww.ex.com A"),
        ] {
            let affixes = Affixes::new(prefix, suffix, wildcard);
            let (host, rtype) = record.split_once(' ').unwrap();
            let made = affixes.typed(&name(host), rtype.parse().unwrap()).unwrap();
            assert_eq!(made.as_str(), claim, "{prefix:?} {suffix:?} {record}");
            assert_eq!(shown(affixes.reverse(made.as_str())), back, "{prefix:?} {suffix:?} {claim}");
            assert!(
                affixes.sources(&made).contains(&(name(host), rtype.parse().unwrap())),
                "{claim} leads to {record}"
            );
        }
    }

    #[test]
    fn names_of_others_are_reported() {
        for (prefix, suffix, claim, back) in [
            ("", ".foo.bar", "a-example.foo", "-"),
            ("", "-txt", "foo.ex.com", "-"),
            ("x-%{record_type}-", "", "x--foo.ex.com", "foo.ex.com old"),
            ("", "", "a", "a old"),
            ("", "", "aaaa-", " AAAA"),
            ("", "", "www.ex.com", "www.ex.com old"),
            ("", "", "tlsa-www.ex.com", "tlsa-www.ex.com old"),
            ("txt-", "", "www.ex.com", "-"),
            ("txt-", "", "txt-www.ex.com", "www.ex.com old"),
            ("", "-txt", "www-txt.ex.com", "www.ex.com old"),
            ("pre-", "-suf", "pre-a-www-suf.ex.com", "-"),
        ] {
            assert_eq!(shown(Affixes::new(prefix, suffix, "").reverse(claim)), back, "{prefix:?} {suffix:?} {claim}");
        }
        // A bare `a` under a template that is all prefix: the whole name is the type.
        assert_eq!(shown(Affixes::new("%{record_type}", "", "").reverse("a")), " A");
    }

    #[test]
    fn the_old_format_leaves_the_type_out() {
        for (prefix, suffix, wildcard, host, claim, typed) in [
            ("", "", "", "www.ex.com", "www.ex.com", false),
            ("", "", "any", "*.ex.com", "any.ex.com", false),
            ("txt-", "", "", "ex.com", "txt-ex.com", false),
            ("", "-txt", "", "www.ex.com", "www-txt.ex.com", false),
            ("x-%{record_type}-", "", "", "www.ex.com", "x--www.ex.com", false),
            ("", "", "", "a-www.ex.com", "a-www.ex.com", true),
            ("txt-", "", "", "mx-www.ex.com", "txt-mx-www.ex.com", true),
            ("", "", "", "caa-www.ex.com", "caa-www.ex.com", true),
        ] {
            let affixes = Affixes::new(prefix, suffix, wildcard);
            let old = affixes.old(&name(host)).unwrap();
            assert_eq!((old.as_str(), affixes.is_typed(&old)), (claim, typed), "{prefix:?} {suffix:?} {host}");
        }
        assert!(Affixes::new("%{record_type}.", "", "").old(&name("ex.com")).is_err(), "an empty first label");
    }

    #[test]
    fn some_names_are_marked_for_certain() {
        for (prefix, suffix, claim, marked) in [
            ("", "", "a-www.ex.com", false),
            ("txt-", "", "txt-a-www.ex.com", true),
            ("txt-", "", "txt-www.ex.com", false),
            ("txt-", "", "a-www.ex.com", false),
            ("", "-txt", "a-www-txt.ex.com", true),
            ("%{record_type}.", "", "mx.www.ex.com", true),
            ("%{record_type}.", "", "www.ex.com", false),
        ] {
            assert_eq!(Affixes::new(prefix, suffix, "").marks(&name(claim)), marked, "{prefix:?} {suffix:?} {claim}");
        }
    }

    #[test]
    fn names_that_share_a_claim() {
        let shared = |prefix, wildcard, claim: &str| {
            let sources = Affixes::new(prefix, "", wildcard).sources(&name(claim));
            sources.into_iter().map(|(name, rtype)| format!("{name} {rtype}")).collect::<Vec<_>>()
        };
        assert_eq!(shared("", "", "a-www.ex.com"), ["www.ex.com A"]);
        assert_eq!(shared("", "any", "a-any.ex.com"), ["any.ex.com A", "*.ex.com A"]);
        assert_eq!(shared("%{record_type}", "", "aaaawww.ex.com"), ["aaawww.ex.com A", "www.ex.com AAAA"]);
        assert!(shared("txt-", "", "a-www.ex.com").is_empty());
        let old = |prefix, claim| Affixes::new(prefix, "", "any").old_sources(&name(claim)).len();
        assert_eq!((old("", "any.ex.com"), old("", "www.ex.com"), old("x-", "x-any.ex.com")), (2, 1, 2));
        assert_eq!((old("x-", "www.ex.com"), old("%{record_type}.", "www.ex.com")), (0, 0));
    }

    #[test]
    fn long_names_are_refused() {
        let host = name(&format!("{}.ex.com", "x".repeat(62)));
        let error = Affixes::new("", "", "").typed(&host, RecordType::A).unwrap_err();
        assert!(matches!(error, NameError::LongLabel { .. }), "{error}");
        let deep = name(&format!("{}.ex.com", vec!["x".repeat(60); 4].join(".")));
        let error = Affixes::new("far-too-long.", "", "").typed(&deep, RecordType::A).unwrap_err();
        assert!(matches!(error, NameError::Long(_)), "{error}");
        assert!(Affixes::new("", "", "").typed(&DnsName::root(), RecordType::A).is_err());
    }

    /// Configurations under which every name and type has a claim of its own.
    const CLEAR: [(&str, &str); 10] = [
        ("", ""),
        ("txt-", ""),
        ("txt.", ""),
        ("%{record_type}-", ""),
        ("%{record_type}.", ""),
        ("x-%{record_type}-y.", ""),
        ("", "-txt"),
        ("", "-%{record_type}"),
        ("", "-.%{record_type}"),
        ("", ".sfx.x"),
    ];

    fn any_name() -> impl Strategy<Value = String> {
        let label = prop_oneof![
            "[a-z0-9_-]{1,12}",
            Just("a".to_owned()),
            Just("aaaa-x".to_owned()),
            Just("txt-".to_owned()),
            Just("x-txt".to_owned()),
            Just("sfx".to_owned())
        ];
        prop::collection::vec(label, 1..5).prop_map(|labels| labels.join("."))
    }

    fn any_type() -> impl Strategy<Value = RecordType> {
        prop::sample::select(TYPES.to_vec())
    }

    proptest! {
        #[test]
        fn every_record_has_a_claim_of_its_own(config in prop::sample::select(CLEAR.to_vec()), host in any_name(), rtype in any_type()) {
            let affixes = Affixes::new(config.0, config.1, "");
            let claim = affixes.typed(&name(&host), rtype).unwrap();
            prop_assert_eq!(affixes.sources(&claim), vec![(name(&host), rtype)]);
        }

        #[test]
        fn two_records_have_two_claims(
            config in prop::sample::select(CLEAR.to_vec()),
            one in (any_name(), any_type()),
            two in (any_name(), any_type()),
        ) {
            let affixes = Affixes::new(config.0, config.1, "");
            let claim = |(host, rtype): &(String, RecordType)| affixes.typed(&name(host), *rtype).unwrap();
            prop_assert_eq!(claim(&one) == claim(&two), one == two);
        }

        #[test]
        fn sources_miss_nothing(
            prefix in "(%\\{record_type\\}|[a-z.-]{0,4}){0,2}",
            suffix in "(%\\{record_type\\}|[a-z.-]{0,4}){0,2}",
            wildcard in "[a-z]{0,3}",
            host in any_name(),
            rtype in any_type(),
        ) {
            let affixes = Affixes::new(&prefix, &suffix, &wildcard);
            // A suffix that ends in a dot names nothing but single labels; the registry refuses it.
            let usable = affixes.typed(&name("host.example"), RecordType::A).is_ok();
            if let Some(claim) = affixes.typed(&name(&host), rtype).ok().filter(|_| usable) {
                prop_assert!(affixes.sources(&claim).contains(&(name(&host), rtype)), "{claim}");
            }
        }

        #[test]
        fn arbitrary_names_never_panic(prefix in "\\PC{0,8}", suffix in "\\PC{0,8}", wildcard in "\\PC{0,4}", host in "\\PC{1,30}") {
            let affixes = Affixes::new(&prefix, &suffix, &wildcard);
            if let Ok(host) = DnsName::parse(&host) {
                let _ = (affixes.typed(&host, RecordType::A), affixes.old(&host), affixes.is_typed(&host));
                let _ = (affixes.sources(&host), affixes.old_sources(&host), affixes.marks(&host));
            }
        }
    }
}
