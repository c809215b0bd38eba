//! The text of a claim, in and out.
//!
//! In: one TXT record. Out: its labels, if it is a claim of external-dns or of ours; and back. What is written is read as
//! the same labels, by external-dns too: nothing is escaped in this format, so labels that it cannot express are refused
//! before they are written ([`Codec::write`]). With a key, sealed claims are read beside plain ones; which form is written
//! is another question.

use std::collections::BTreeMap;
use std::sync::Arc;

use zonewright_core::RecordKey;
use zonewright_core::claim::OwnerId;
use zonewright_core::rdata::Txt;

use super::cipher::{Cipher, looks_sealed};

const HERITAGE: &str = "external-dns";
const PREFIX: &str = "external-dns/";
const INTENT: &str = "heritage=zonewright-intent";
const OWNER: &str = "owner";
const RESOURCE: &str = "resource";
/// What external-dns calls the nonce of a sealed claim, in memory; it never writes the label, so neither do we.
const NONCE: &str = "txt-encryption-nonce";

/// The labels of a claim, ordered by the bytes of their keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Heritage(BTreeMap<Arc<str>, Arc<str>>);

impl Heritage {
    /// The claim of `owner` for `resource`. Further labels cannot displace those two.
    pub(super) fn new(owner: &OwnerId, resource: Option<&Arc<str>>, labels: &[(Arc<str>, Arc<str>)]) -> Self {
        let further = labels.iter().filter(|(key, _)| ![OWNER, RESOURCE, NONCE].contains(&&**key)).cloned();
        let mut all: BTreeMap<_, _> = further.collect();
        all.insert(Arc::from(OWNER), Arc::from(owner.as_str()));
        if let Some(resource) = resource {
            all.insert(Arc::from(RESOURCE), resource.clone());
        }
        Self(all)
    }

    /// Who claims; `None` if the text names nobody.
    pub(super) fn owner(&self) -> Option<OwnerId> {
        OwnerId::new(self.0.get(OWNER)?)
    }

    /// For which resource.
    pub(super) fn resource(&self) -> Option<Arc<str>> {
        self.0.get(RESOURCE).cloned()
    }

    /// The labels besides owner and resource, in the order of their keys.
    pub(super) fn further(&self) -> Vec<(Arc<str>, Arc<str>)> {
        let further = self.0.iter().filter(|(key, _)| ![OWNER, RESOURCE].contains(&&***key));
        further.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// Whether the format can express every label.
    pub(super) fn is_expressible(&self) -> bool {
        from_text(&to_text(self)).as_ref() == Some(self)
    }

    /// Whether a standing claim says what this one would say, in whatever spelling.
    pub(super) fn says(&self, standing: &Self) -> bool {
        to_text(self) == to_text(standing)
    }
}

/// How labels become the text of a TXT record: readable without a key, sealed with one.
#[derive(Debug, Clone, Default)]
pub(super) struct Codec {
    cipher: Option<Arc<Cipher>>,
    seals: bool,
}

/// Labels that the format cannot express: they would be read back as something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inexpressible {
    /// The text that would have been written.
    pub(super) text: String,
}

impl Codec {
    /// Reads sealed claims with `cipher`, and writes such if it `seals`.
    pub(super) fn sealed(cipher: Cipher, seals: bool) -> Self {
        Self { cipher: Some(Arc::new(cipher)), seals }
    }

    /// The TXT record of the claim on `key`.
    ///
    /// # Errors
    /// [`Inexpressible`] where a label would not be read back as it is (a comma in it, a quote at the end of the text).
    pub(super) fn write(&self, key: &RecordKey, heritage: &Heritage) -> Result<Txt, Inexpressible> {
        let text = to_text(heritage);
        if !heritage.is_expressible() {
            return Err(Inexpressible { text });
        }
        Ok(match self.cipher.as_ref().filter(|_| self.seals) {
            Some(cipher) => Txt::from_text(&cipher.seal(&key.to_string(), &text)),
            None => Txt::from_text(&text),
        })
    }

    /// The labels of a TXT record; `None` if it is no claim. The strings of the record are joined first, since a long
    /// claim is cut into several.
    pub(super) fn read(&self, txt: &Txt) -> Option<Heritage> {
        let joined = txt.text()?;
        from_text(&self.open(&joined).unwrap_or(joined))
    }

    /// Whether a claim that was read has the form that is written, plain or sealed.
    pub(super) fn is_in_form(&self, txt: &Txt) -> bool {
        txt.text().is_some_and(|text| self.open(&text).is_some() == self.seals)
    }

    /// Whether a TXT record looks like a claim that only another key opens.
    pub(super) fn is_closed(&self, txt: &Txt) -> bool {
        txt.text().is_some_and(|text| looks_sealed(text.trim_matches('"'))) && self.read(txt).is_none()
    }

    fn open(&self, text: &str) -> Option<String> {
        self.cipher.as_ref()?.open(text.trim_matches('"'))
    }
}

/// Whether a TXT record is the first half of an unfinished write of ours.
pub(super) fn is_intent(txt: &Txt) -> bool {
    txt.text().is_some_and(|text| text.trim_matches('"').split(',').any(|token| token == INTENT))
}

fn to_text(heritage: &Heritage) -> String {
    let labels = heritage.0.iter().filter(|(key, _)| &***key != NONCE);
    let labels = labels.map(|(key, value)| format!("{PREFIX}{key}={value}"));
    [format!("heritage={HERITAGE}")].into_iter().chain(labels).collect::<Vec<_>>().join(",")
}

/// Reads exactly as external-dns does: unknown tokens are passed over, one foreign `heritage` voids the text, the last of
/// several equal keys counts.
fn from_text(text: &str) -> Option<Heritage> {
    let mut found = false;
    let mut labels = BTreeMap::new();
    for (key, value) in text.trim_matches('"').split(',').filter_map(|token| token.split_once('=')) {
        if key == "heritage" {
            found = value == HERITAGE;
            if !found {
                return None;
            }
        } else if key.starts_with(HERITAGE) {
            labels.insert(Arc::from(key.strip_prefix(PREFIX).unwrap_or(key)), Arc::from(value));
        }
    }
    found.then_some(Heritage(labels))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use zonewright_core::{DnsName, RData, RecordType};

    type Labels = &'static [(&'static str, &'static str)];

    fn plain() -> Codec {
        Codec::default()
    }

    fn key() -> RecordKey {
        RecordKey::simple(DnsName::parse("www.ex.com").unwrap(), RecordType::A)
    }

    fn heritage(labels: Labels) -> Heritage {
        Heritage(labels.iter().map(|(k, v)| (Arc::from(*k), Arc::from(*v))).collect())
    }

    #[test]
    fn labels_are_written_in_the_order_of_their_bytes() {
        let cases: [(Labels, &str); 4] = [
            (&[], "heritage=external-dns"),
            (
                &[("owner", "o"), ("resource", "r"), ("ownedRecord", "x"), ("Zed", "1"), ("a", "")],
                "heritage=external-dns,external-dns/Zed=1,external-dns/a=,external-dns/ownedRecord=x,\
                 external-dns/owner=o,external-dns/resource=r",
            ),
            (
                &[("owner", "default"), ("resource", "ingress/default/my-ingress")],
                "heritage=external-dns,external-dns/owner=default,external-dns/resource=ingress/default/my-ingress",
            ),
            (&[("owner", "a=b")], "heritage=external-dns,external-dns/owner=a=b"),
        ];
        for (labels, text) in cases {
            let txt = plain().write(&key(), &heritage(labels)).unwrap();
            assert_eq!(txt.text().as_deref(), Some(text));
            assert_eq!(RData::Txt(txt.clone()).to_string(), format!("\"{text}\""), "one quoted string");
            assert_eq!(plain().read(&txt), Some(heritage(labels)));
        }
    }

    #[test]
    fn odd_texts_are_read_as_external_dns_reads_them() {
        let cases: [(&str, Option<Labels>); 16] = [
            ("heritage=external-dns", Some(&[])),
            ("\"\"heritage=external-dns,external-dns/owner=x\"", Some(&[("owner", "x")])),
            ("external-dns/owner=x,heritage=external-dns", Some(&[("owner", "x")])),
            ("heritage=external-dns,external-dns/owner=a=b", Some(&[("owner", "a=b")])),
            ("heritage=external-dns, external-dns/owner=x", Some(&[])),
            ("heritage=external-dns,external-dns/owner", Some(&[])),
            ("heritage=external-dns,other/owner=x,owner=y", Some(&[])),
            ("heritage=external-dns,external-dns-owner=x", Some(&[("external-dns-owner", "x")])),
            ("heritage=external-dns,external-dns/owner=a,external-dns/owner=b", Some(&[("owner", "b")])),
            ("heritage=external-dns,external-dns/owner=", Some(&[("owner", "")])),
            ("heritage=mate,external-dns/owner=x", None),
            ("heritage=external-dns,heritage=mate", None),
            ("heritage=mate,heritage=external-dns", None),
            ("external-dns/owner=x", None),
            (" heritage=external-dns", None),
            ("", None),
        ];
        for (text, labels) in cases {
            assert_eq!(plain().read(&Txt::from_text(text)), labels.map(heritage), "{text:?}");
        }
    }

    #[test]
    fn a_claim_in_several_strings_is_one_claim() {
        let data = RData::parse(RecordType::Txt, "\"heritage=external-dns,exter\" \"nal-dns/owner=me\"").unwrap();
        let RData::Txt(txt) = data else { panic!("a TXT record") };
        assert_eq!(plain().read(&txt), Some(heritage(&[("owner", "me")])));
        let long =
            heritage(&[("owner", "me")]).owner().map(|me| Heritage::new(&me, Some(&"r".repeat(400).into()), &[]));
        let txt = plain().write(&key(), &long.clone().unwrap()).unwrap();
        assert!(txt.strings().count() > 1);
        assert_eq!(plain().read(&txt), long);
    }

    #[test]
    fn further_labels_never_displace_owner_and_resource() {
        let label = |k: &str, v: &str| (Arc::from(k), Arc::from(v));
        let labels = [label("owner", "x"), label("resource", "y"), label("txt-encryption-nonce", "z"), label("b", "c")];
        let made = Heritage::new(&OwnerId::new("me").unwrap(), None, &labels);
        assert_eq!(to_text(&made), "heritage=external-dns,external-dns/b=c,external-dns/owner=me");
        assert_eq!((made.owner(), made.resource()), (OwnerId::new("me"), None));
        assert_eq!(made.further(), [label("b", "c")]);
    }

    #[test]
    fn labels_that_would_be_read_as_others_are_refused() {
        let me = OwnerId::new("me").unwrap();
        for resource in ["x,external-dns/owner=other", "a,b", "ends in a quote\""] {
            let made = Heritage::new(&me, Some(&resource.into()), &[]);
            assert!(plain().write(&key(), &made).is_err(), "{resource:?}");
        }
    }

    #[test]
    fn with_a_key_both_forms_are_read_and_one_is_written() {
        let text = "heritage=external-dns,external-dns/owner=me";
        let codec = |key: &str, seals| Codec::sealed(Cipher::new(&key.to_owned().into()).unwrap(), seals);
        let (ours, other) = ("01234567890123456789012345678901", "another key, also of 32 bytes!!!");
        let sealed = codec(ours, true).write(&key(), &heritage(&[("owner", "me")])).unwrap();
        assert_eq!(plain().read(&sealed), None);
        // Codec, claim; what is read; whether it has the form of today; whether it is closed.
        for (codec, claim, read, in_form, closed) in [
            (plain(), Txt::from_text(text), true, true, false),
            (codec(ours, false), Txt::from_text(text), true, true, false),
            (codec(ours, true), Txt::from_text(text), true, false, false),
            (codec(ours, true), sealed.clone(), true, true, false),
            (codec(ours, false), sealed.clone(), true, false, false),
            (codec(ours, true), Txt::from_text(&format!("\"{}\"", sealed.text().unwrap())), true, true, false),
            (codec(other, true), sealed.clone(), false, false, true),
            (plain(), sealed.clone(), false, true, true),
            (codec(ours, true), Txt::from_text("v=spf1 -all"), false, false, false),
        ] {
            let labels = read.then(|| heritage(&[("owner", "me")]));
            assert_eq!(
                (codec.read(&claim), codec.is_in_form(&claim), codec.is_closed(&claim)),
                (labels, in_form, closed)
            );
        }
        // Labels that cannot be expressed are refused in either form; sealed text of another program is no claim.
        assert!(codec(ours, true).write(&key(), &heritage(&[("owner", "a,b")])).is_err());
        let foreign = Cipher::new(&ours.to_owned().into()).unwrap().seal("x", &"heritage=mate,a=b,".repeat(9));
        assert_eq!(codec(ours, true).read(&Txt::from_text(&foreign)), None);
    }

    #[test]
    fn intents_are_distinguished() {
        assert!(is_intent(&Txt::from_text("heritage=zonewright-intent,zonewright/owner=me")));
        assert!(!is_intent(&Txt::from_text("heritage=external-dns,external-dns/owner=me")));
        assert_eq!(plain().read(&Txt::from_text("heritage=zonewright-intent,external-dns/owner=me")), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let txt = Txt::from_octets(&bytes);
            let _ = (plain().read(&txt), is_intent(&txt));
        }

        #[test]
        fn what_is_written_is_read_back(
            owner in "\\PC{1,20}",
            resource in prop::option::of("\\PC{0,40}"),
            labels in prop::collection::vec(("[a-z,=/]{0,8}", "[a-z,=\" ]{0,8}"), 0..4),
        ) {
            let labels: Vec<_> = labels.iter().map(|(k, v)| (Arc::from(&**k), Arc::from(&**v))).collect();
            let made = Heritage::new(&OwnerId::new(&owner).unwrap(), resource.map(Arc::from).as_ref(), &labels);
            if let Ok(txt) = plain().write(&key(), &made) {
                prop_assert_eq!(plain().read(&txt), Some(made));
            }
        }

        #[test]
        fn any_tokens_are_read_and_settle(text in "(heritage=external-dns|external-dns/[a-z]{1,3}=[a-z=]{0,3}|[a-z\"=]{0,5}|,){0,8}") {
            if let Some(read) = plain().read(&Txt::from_text(&text)) {
                prop_assert!(plain().write(&key(), &read).is_err() || from_text(&to_text(&read)) == Some(read));
            }
        }
    }
}
