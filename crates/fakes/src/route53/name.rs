//! Names as the service stores and orders them: *DNS domain name format* in the developer guide.

use std::fmt::Write as _;

/// The form in an answer: lower case, a final dot, and every byte but `a-z`, `0-9`, `-`, `_` as `\` and three octal digits.
///
/// # Errors
/// What is wrong, in the words of the service.
pub(super) fn canonical(text: &str) -> Result<String, String> {
    let problem = |code: &str, words: &str| format!("FATAL problem: {code} ({words}) encountered with '{text}'");
    if text.is_empty() {
        return Err(problem("DomainNameEmpty", "Domain name is empty"));
    }
    let mut name = String::new();
    let mut bytes_of_name = 1;
    for label in text.strip_suffix('.').unwrap_or(text).split('.') {
        let bytes =
            bytes(label).ok_or_else(|| problem("UnsupportedCharacter", "Value contains unsupported characters"))?;
        match bytes.len() {
            0 => return Err(problem("DomainLabelEmpty", "Domain label is empty")),
            1..=63 => bytes_of_name += bytes.len() + 1,
            _ => return Err(problem("DomainLabelTooLong", "Domain label is too long")),
        }
        for byte in bytes {
            push(&mut name, byte.to_ascii_lowercase());
        }
        name.push('.');
    }
    if bytes_of_name > 255 {
        return Err(problem("DomainNameTooLong", "Domain name is too long"));
    }
    Ok(name)
}

fn push(name: &mut String, byte: u8) {
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') {
        name.push(char::from(byte));
    } else {
        // Writing into a string does not fail.
        let _ = write!(name, "\\{byte:03o}");
    }
}

fn bytes(label: &str) -> Option<Vec<u8>> {
    let mut rest = label.bytes();
    let mut bytes = Vec::new();
    while let Some(byte) = rest.next() {
        match byte {
            b'\\' => bytes.push(octal(&mut rest)?),
            b'!'..=b'~' => bytes.push(byte),
            _ => return None,
        }
    }
    Some(bytes)
}

/// Three octal digits up to 377.
pub(super) fn octal(digits: &mut impl Iterator<Item = u8>) -> Option<u8> {
    let mut value = 0_u8;
    for _ in 0..3 {
        let digit = digits.next().filter(|digit| (b'0'..=b'7').contains(digit))?;
        value = value.checked_mul(8)?.checked_add(digit - b'0')?;
    }
    Some(value)
}

/// What listings are ordered by: the labels in reverse, with the final dot (`org.example.www.`), compared as text. So
/// `a-b` comes before `x.a`.
pub(super) fn order(canonical: &str) -> String {
    let mut labels: Vec<&str> = canonical.strip_suffix('.').unwrap_or(canonical).split('.').collect();
    labels.reverse();
    labels.join(".") + "."
}

/// Whether a name lies in a zone; both canonical.
pub(super) fn within(name: &str, zone: &str) -> bool {
    name.strip_suffix(zone).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_stored_in_one_form() {
        for (given, stored) in [
            ("www.Example.ORG", "www.example.org."),
            ("www.example.org.", "www.example.org."),
            ("*.example.org", "\\052.example.org."),
            ("\\052.example.org", "\\052.example.org."),
            ("a\\056b.example.org", "a\\056b.example.org."),
            ("_sip._tcp.example.org", "_sip._tcp.example.org."),
            ("a/b@c.example.org", "a\\057b\\100c.example.org."),
            ("\\101.example.org", "a.example.org."),
        ] {
            assert_eq!(canonical(given).as_deref(), Ok(stored), "{given}");
        }
    }

    #[test]
    fn other_texts_are_no_names() {
        let label = "a".repeat(64);
        let long = [&label[1..]; 4].join(".");
        for (text, code) in [
            ("", "DomainNameEmpty"),
            (".", "DomainLabelEmpty"),
            ("a..org", "DomainLabelEmpty"),
            ("a b.org", "UnsupportedCharacter"),
            ("\u{e9}.org", "UnsupportedCharacter"),
            ("\\52.org", "UnsupportedCharacter"),
            ("\\400.org", "UnsupportedCharacter"),
            (label.as_str(), "DomainLabelTooLong"),
            (long.as_str(), "DomainNameTooLong"),
        ] {
            let problem = canonical(text).unwrap_err();
            assert!(problem.starts_with(&format!("FATAL problem: {code} (")), "{text}: {problem}");
        }
    }

    #[test]
    fn the_order_is_that_of_the_reversed_text() {
        let mut names = ["b.org.", "x.a.org.", "a.org.", "a-b.org.", "org.", "\\052.a.org."];
        names.sort_by_key(|name| order(name));
        assert_eq!(names, ["org.", "a-b.org.", "a.org.", "\\052.a.org.", "x.a.org.", "b.org."]);
    }

    #[test]
    fn whole_labels_lie_in_a_zone() {
        assert!(within("example.org.", "example.org."));
        assert!(within("a.example.org.", "example.org."));
        assert!(!within("notexample.org.", "example.org."));
        assert!(!within("org.", "example.org."));
    }
}
