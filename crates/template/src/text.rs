//! Quoted texts of a template. In comes what stands in the source; out comes the text meant, by Go's rules.

/// The text of `"..."` or `'...'` without its quotes.
///
/// # Errors
/// An escape that Go does not know, or one that is no UTF-8 character.
pub(crate) fn unquote(body: &str, quote: char) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(body.len());
    let mut rest = body.chars();
    while let Some(c) = rest.next() {
        if c == '\\' {
            escape(&mut rest, quote, &mut bytes)?;
        } else {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    String::from_utf8(bytes).map_err(|_| "the escapes do not give UTF-8 text".to_owned())
}

fn escape(rest: &mut std::str::Chars<'_>, quote: char, out: &mut Vec<u8>) -> Result<(), String> {
    let c = rest.next().ok_or("\\ at the end of a text")?;
    let simple = match c {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' => b'\\',
        c if c == quote => quote as u8,
        _ => return coded(c, rest, out),
    };
    out.push(simple);
    Ok(())
}

/// `\x41`, `\101`, `\u00e9`, `\U000000e9`. The first two give a byte, the others a character.
fn coded(c: char, rest: &mut std::str::Chars<'_>, out: &mut Vec<u8>) -> Result<(), String> {
    let (len, radix) = match c {
        'x' => (2, 16),
        'u' => (4, 16),
        'U' => (8, 16),
        '0'..='7' => (2, 8),
        _ => return Err(format!("unknown escape \\{c}")),
    };
    let mut digits: String = rest.by_ref().take(len).collect();
    if radix == 8 {
        digits.insert(0, c);
    }
    let whole = digits.chars().count() == len + usize::from(radix == 8) && digits.chars().all(|d| d.is_digit(radix));
    let code = whole.then(|| u32::from_str_radix(&digits, radix).ok()).flatten();
    let wrong = || format!("bad escape \\{c}{digits}");
    let code = code.ok_or_else(wrong)?;
    if matches!(c, 'u' | 'U') {
        let character = char::from_u32(code).ok_or_else(wrong)?;
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    } else {
        out.push(u8::try_from(code).map_err(|_| wrong())?);
    }
    Ok(())
}

/// The character of `'a'`.
pub(crate) fn character(body: &str) -> Result<i64, String> {
    let text = unquote(body, '\'')?;
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => Ok(i64::from(u32::from(c))),
        _ => Err(format!("expected one character between quotes, found '{body}'")),
    }
}
