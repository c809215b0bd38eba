//! Shell words: a command line taken apart, and values quoted so that they can be pasted.

/// The words of a command line as a POSIX shell reads them; variables and substitutions stay as they are.
///
/// # Errors
/// A quotation mark is not closed.
pub(crate) fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => quoted(&mut chars, '\'', word.get_or_insert_default())?,
            '"' => quoted(&mut chars, '"', word.get_or_insert_default())?,
            '\\' => match chars.next() {
                Some('\n') => {}
                Some('\r') => drop(chars.next()),
                Some(c) => word.get_or_insert_default().push(c),
                None => return Err("the text ends with a backslash".to_owned()),
            },
            '#' if word.is_none() => {
                for c in chars.by_ref() {
                    if c == '\n' {
                        break;
                    }
                }
            }
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

fn quoted(chars: &mut std::str::Chars<'_>, mark: char, word: &mut String) -> Result<(), String> {
    while let Some(c) = chars.next() {
        match c {
            c if c == mark => return Ok(()),
            '\\' if mark == '"' => match chars.next() {
                Some('\n') => {}
                Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                Some(c) => word.extend(['\\', c]),
                None => break,
            },
            c => word.push(c),
        }
    }
    Err(format!("a quotation mark {mark} is not closed"))
}

/// A word for a shell; one with anything but harmless characters in single quotation marks.
pub(crate) fn quote(word: &str) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(harmless) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A word for a shell in which `$(NAME)`, as containers have it, is the variable.
pub(crate) fn with_variables(word: &str) -> String {
    if !word.contains("$(") {
        return quote(word);
    }
    let mut out = String::from("\"");
    let mut rest = word;
    while let Some((before, after)) = rest.split_once("$(") {
        let Some((name, tail)) = after.split_once(')') else { break };
        out.push_str(&escaped(before));
        out.extend(["${", name, "}"]);
        rest = tail;
    }
    out + &escaped(rest) + "\""
}

fn escaped(text: &str) -> String {
    let escape = |c: char| if "\"\\$`".contains(c) { vec!['\\', c] } else { vec![c] };
    text.chars().flat_map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_command_line() {
        for (text, expected) in [
            ("external-dns --a=b \\\n  --c d", vec!["external-dns", "--a=b", "--c", "d"]),
            ("--a='x y' --b=\"p\\\"q\" --c=\\ z", vec!["--a=x y", "--b=p\"q", "--c= z"]),
            ("--a # nothing more\n--b=x#y ''", vec!["--a", "--b=x#y", ""]),
            ("", vec![]),
        ] {
            assert_eq!(split(text).unwrap(), expected, "{text}");
        }
        for text in ["--a='b", "--a=\"b", "--a\\"] {
            assert!(split(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_quoted_is_read_back() {
        for word in ["--a=b", "", "it's", "{{.Name}}.example.com", "a b", "$HOME", "x\"y\\z", "ü"] {
            assert_eq!(split(&quote(word)).unwrap(), [word], "{word}");
        }
        assert_eq!(quote("--zone=example.com"), "--zone=example.com");
        assert_eq!(with_variables("--key=$(KEY)-`x`"), "\"--key=${KEY}-\\`x\\`\"");
        assert_eq!(with_variables("--key=x"), "--key=x");
    }
}
