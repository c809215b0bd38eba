//! The content of TXT records: *TXT* under *DNS record types* in the documentation, and the API reference.
//!
//! Content in quotation marks is kept as a row of strings, and those that are longer than 255 bytes are split. Content without
//! any is kept as it was sent.

/// Most bytes of one string.
const STRING: usize = 255;

/// The form in which content is kept. None if its quotation marks are not those of a row of strings.
pub(super) fn kept(content: &str) -> Option<String> {
    if !content.contains('"') {
        return (!content.trim().is_empty()).then(|| content.to_owned());
    }
    let strings = strings(content)?;
    let split = strings.iter().flat_map(|string| split(string));
    Some(split.map(|part| format!("\"{}\"", part.concat())).collect::<Vec<_>>().join(" "))
}

/// How many bytes the content of a record takes in a DNS message: its strings, each with one byte for its length.
pub(super) fn wire_length(kept: &str) -> usize {
    let Some(strings) = strings(kept).filter(|_| kept.contains('"')) else {
        return kept.len() + kept.len().div_ceil(STRING).max(1);
    };
    strings.iter().map(|string| 1 + string.iter().map(|unit| bytes(unit)).sum::<usize>()).sum()
}

/// One character, or one escape with its backslash.
type Unit<'a> = &'a str;

/// The strings between quotation marks; only white space may stand between them.
fn strings(content: &str) -> Option<Vec<Vec<Unit<'_>>>> {
    let mut strings = Vec::new();
    let mut rest = content.trim();
    while !rest.is_empty() {
        rest = rest.strip_prefix('"')?;
        let mut string = Vec::new();
        while !rest.starts_with('"') {
            let (unit, after) = rest.split_at_checked(length(rest)?)?;
            string.push(unit);
            rest = after;
        }
        strings.push(string);
        rest = rest.get(1..)?.trim_start();
    }
    Some(strings)
}

/// How long the next unit is. None at the end, and where an escape is not whole.
fn length(rest: &str) -> Option<usize> {
    let Some(escaped) = rest.strip_prefix('\\') else { return Some(rest.chars().next()?.len_utf8()) };
    if escaped.starts_with(|first: char| first.is_ascii_digit()) {
        return escaped.get(..3)?.parse::<u8>().ok().map(|_| 4);
    }
    Some(1 + escaped.chars().next()?.len_utf8())
}

/// How many bytes a unit stands for.
fn bytes(unit: Unit<'_>) -> usize {
    match unit.strip_prefix('\\') {
        Some(escaped) if escaped.starts_with(|first: char| first.is_ascii_digit()) => 1,
        Some(escaped) => escaped.len(),
        None => unit.len(),
    }
}

fn split<'a>(string: &[Unit<'a>]) -> Vec<Vec<Unit<'a>>> {
    let mut parts = vec![Vec::new()];
    let mut taken = 0;
    for unit in string {
        if taken + bytes(unit) > STRING {
            parts.push(Vec::new());
            taken = 0;
        }
        taken += bytes(unit);
        parts.last_mut().expect("there is one from the start").push(*unit);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_kept_in_their_marks() {
        for (content, expected) in [
            ("v=spf1 -all", Some("v=spf1 -all")),
            ("\"v=spf1 -all\"", Some("\"v=spf1 -all\"")),
            ("\"a\"   \"b\"", Some("\"a\" \"b\"")),
            ("\"a\"\"b\"", Some("\"a\" \"b\"")),
            (r#""a \"quoted\" \\ \065""#, Some(r#""a \"quoted\" \\ \065""#)),
            ("\"\"", Some("\"\"")),
            ("\"this", None),
            ("\"these\" ones\"", None),
            ("a \"b\"", None),
            (r#""\""#, None),
            (r#""\999""#, None),
            ("", None),
        ] {
            assert_eq!(kept(content).as_deref(), expected, "{content}");
        }
    }

    #[test]
    fn long_strings_are_split() {
        let long = kept(&format!("\"{}{}\"", "a".repeat(254), r"\065é")).unwrap();
        assert_eq!(long, format!("\"{}\\065\" \"é\"", "a".repeat(254)));
        assert_eq!(wire_length(&long), 256 + 3);
        assert_eq!(wire_length("a"), 2);
        assert_eq!(wire_length("\"\""), 1);
        assert_eq!(wire_length(&"a".repeat(256)), 258);
    }
}
