//! Texts that a registry would read as an ownership record.
//!
//! In: the data of a record that an object asks for. Out: whether any registry, ours or that of external-dns, today or after a
//! change of settings, could take it for a claim or an intent. Whoever can publish such a text can make a foreign record count
//! as owned, so the answer is wider than what is read: pieces are joined, quotes, escapes, blanks and case do not count.

use crate::rdata::{Content, RData};

/// What a readable claim or intent holds, in lower case.
const MARKS: [&str; 2] = ["heritage=external-dns", "heritage=zonewright"];

/// Characters of the shortest encrypted claim: base64 of nonce, tag, the frame of gzip and the shortest claim.
const SHORTEST_SEALED: usize = 92;

/// Whether a record, written as it is wanted, could be read as an ownership record.
///
/// ```
/// use zonewright_core::{RData, RecordType, claim_text::reads_as_claim};
///
/// let text = |text| RData::parse(RecordType::Txt, text).unwrap();
/// assert!(reads_as_claim(&text("\"Heritage=external-\" \"dns,external-dns/owner=me\"")));
/// assert!(!reads_as_claim(&text("v=spf1 -all")));
/// ```
pub fn reads_as_claim(data: &RData) -> bool {
    match data {
        RData::Txt(txt) => {
            let joined = txt.joined();
            // External-dns reads the strings of a dynamic-update server as several texts, and decides by the first.
            is_marked(&joined) || looks_sealed(&joined) || txt.strings().next().is_some_and(looks_sealed)
        }
        // Types that hold texts and are known by their number alone, as SPF (99).
        RData::Other(opaque) => match &opaque.content {
            Content::Text(text) => is_marked(text.as_bytes()) || looks_sealed(text.as_bytes()),
            Content::Octets(octets) => is_marked(octets),
        },
        _ => false,
    }
}

/// Whether a text holds one of the marks, as it stands or once its escapes are resolved: by RFC 1035 in decimal, by Route 53
/// in octal digits.
fn is_marked(text: &[u8]) -> bool {
    let marked = |text: &[u8]| {
        let bare: Vec<u8> = text.iter().filter(|byte| is_content(**byte)).map(u8::to_ascii_lowercase).collect();
        MARKS.iter().any(|mark| bare.windows(mark.len()).any(|window| window == mark.as_bytes()))
    };
    marked(text) || text.contains(&b'\\') && [10, 8].into_iter().any(|radix| marked(&unescaped(text, radix)))
}

/// Quotes, escapes, blanks and whatever is no printable ASCII may be lost on the way.
fn is_content(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"'`\\".contains(&byte)
}

fn unescaped(text: &[u8], radix: u32) -> Vec<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(radix);
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        let number = tail.first_chunk::<3>().filter(|_| *first == b'\\').and_then(|digits| {
            digits
                .iter()
                .try_fold(0, |sum: u32, byte| Some(sum * radix + digit(byte)?))
                .and_then(|n| u8::try_from(n).ok())
        });
        out.push(number.unwrap_or(*first));
        rest = if number.is_some() { &tail[3..] } else { tail };
    }
    out
}

/// Whether a text may be an encrypted claim, under whatever key: base64 of enough bytes. What is drawn from random bytes has
/// letters of both cases; tokens in hexadecimal digits have not.
fn looks_sealed(text: &[u8]) -> bool {
    let bare: Vec<u8> = text.iter().copied().filter(|byte| is_content(*byte)).collect();
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    bare.len() >= SHORTEST_SEALED
        && bare.len().is_multiple_of(4)
        && bare.iter().all(is_base64)
        && bare.iter().any(u8::is_ascii_lowercase)
        && bare.iter().any(u8::is_ascii_uppercase)
}

#[cfg(test)]
#[path = "claim_text_tests.rs"]
mod tests;
