//! Whether a server distinguishes upper from lower case: in, what a group demands; out, a question that only a server that does not
//! would answer yes.

use zonewright_core::rdata::Txt;
use zonewright_core::{DnsName, RData, RecordData, RecordSet, RecordType};

use super::{Line, Part, octets};
use crate::wire;

impl Part {
    /// An UPDATE message that changes nothing and demands one of the old texts in other letters; `None` if there is no
    /// text with letters.
    pub(crate) fn probe(&self, zone: &DnsName) -> Option<Vec<u8>> {
        let swapped = self.texts.iter().find_map(swap_case)?;
        let rtype = swapped.key.rtype;
        let lines = octets(&swapped).ok()?.into_iter().map(|o| Line::Exact(swapped.key.name.clone(), rtype, o).item());
        wire::update(zone, lines, [], wire::MAX_MESSAGE).ok()
    }
}

/// Whether data of this type holds text in which upper and lower case differ.
pub(super) fn has_text(rtype: RecordType) -> bool {
    use RecordType::{Caa, Https, Naptr, Svcb, Txt};
    matches!(rtype, Txt | Caa | Naptr | Https | Svcb)
}

/// A TXT set with every letter in the other case; `None` if that makes no difference.
fn swap_case(set: &RecordSet) -> Option<RecordSet> {
    let other =
        |octet: &u8| if octet.is_ascii_lowercase() { octet.to_ascii_uppercase() } else { octet.to_ascii_lowercase() };
    let swap = |data: &RData| match data {
        RData::Txt(txt) => Some(RData::Txt(Txt::from_strings(txt.strings().map(|s| s.iter().map(other).collect())))),
        _ => None,
    };
    let swapped: Vec<RData> = set.data.as_records().iter().map(swap).collect::<Option<_>>()?;
    let swapped = RecordSet { data: RecordData::records(swapped), ..set.clone() };
    (swapped.data != set.data).then_some(swapped)
}

#[cfg(test)]
mod tests {
    use super::super::tests::set;
    use super::*;

    #[test]
    fn letters_are_swapped_for_the_probe() {
        let swapped = |text: &str| swap_case(&set(text)).map(|set| set.data.to_string());
        assert_eq!(swapped("a.z 60 TXT \"Owner=a1\"").as_deref(), Some("\"oWNER=A1\""));
        assert_eq!(swapped("a.z 60 TXT \"123\""), None);
        assert_eq!(swapped("a.z 60 CAA 0 issue \"x\""), None);
    }
}
