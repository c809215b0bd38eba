//! The grammar: tokens, requirements, and what keys and values may look like.

use std::collections::BTreeSet;

use super::{Requirement, SelectorError, Test};

const KEY: &str =
    "label key (a name of up to 63 letters, digits, '-', '_' and '.', perhaps after a DNS prefix and '/')";
const VALUE: &str =
    "label value (up to 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit)";
const NUMBER: &str = "whole number";

/// What is left of a text.
pub(super) struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, rest: text }
    }

    /// All requirements, up to the end.
    pub(super) fn requirements(mut self) -> Result<Vec<Requirement>, SelectorError> {
        let mut requirements = Vec::new();
        if self.peek().is_empty() {
            return Ok(requirements);
        }
        loop {
            requirements.push(self.requirement()?);
            match self.token() {
                "" => return Ok(requirements),
                "," => {}
                other => return Err(self.syntax(other, "a comma or the end")),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, SelectorError> {
        let negated = self.take("!");
        let key = self.word("a key, or ! and a key")?;
        if !is_key(key) {
            return Err(self.bad_word(key, KEY));
        }
        let test = if negated { Test::Missing } else { self.test()? };
        Ok(Requirement { key: key.to_owned(), test })
    }

    fn test(&mut self) -> Result<Test, SelectorError> {
        if matches!(self.peek(), "" | ",") {
            return Ok(Test::Exists);
        }
        Ok(match self.token() {
            "=" | "==" => Test::Equal(self.value()?),
            "!=" => Test::Unequal(self.value()?),
            ">" => Test::Greater(self.number()?),
            "<" => Test::Less(self.number()?),
            "in" => Test::In(self.values()?),
            "notin" => Test::NotIn(self.values()?),
            other => return Err(self.syntax(other, "an operator: =, ==, !=, in, notin, > or <")),
        })
    }

    /// A value; an absent one is the empty value.
    fn value(&mut self) -> Result<String, SelectorError> {
        if matches!(self.peek(), "" | "," | ")") {
            return Ok(String::new());
        }
        let word = self.word("a value")?;
        if is_label_value(word) { Ok(word.to_owned()) } else { Err(self.bad_word(word, VALUE)) }
    }

    fn number(&mut self) -> Result<i64, SelectorError> {
        let word = self.word("a whole number")?;
        word.parse().map_err(|_| self.bad_word(word, NUMBER))
    }

    fn values(&mut self) -> Result<BTreeSet<String>, SelectorError> {
        self.expect("(", "(")?;
        if self.peek() == ")" {
            return Err(self.syntax(")", "at least one value"));
        }
        let mut values = BTreeSet::new();
        loop {
            values.insert(self.value()?);
            match self.token() {
                ")" => return Ok(values),
                "," => {}
                other => return Err(self.syntax(other, "a comma or )")),
            }
        }
    }

    fn word(&mut self, expected: &'static str) -> Result<&'a str, SelectorError> {
        let token = self.token();
        let is_word = token.starts_with(|c| !is_special(c));
        if is_word { Ok(token) } else { Err(self.syntax(token, expected)) }
    }

    fn expect(&mut self, wanted: &str, expected: &'static str) -> Result<(), SelectorError> {
        let token = self.token();
        if token == wanted { Ok(()) } else { Err(self.syntax(token, expected)) }
    }

    fn take(&mut self, wanted: &str) -> bool {
        let found = self.peek() == wanted;
        if found {
            self.token();
        }
        found
    }

    fn peek(&self) -> &'a str {
        Parser { ..*self }.token()
    }

    /// The next token: an operator, a word, or nothing at the end.
    fn token(&mut self) -> &'a str {
        let start = self.rest.trim_start_matches(is_blank);
        let operator = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"].into_iter().find(|op| start.starts_with(op));
        let length =
            operator.map_or_else(|| start.find(|c| is_special(c) || is_blank(c)).unwrap_or(start.len()), str::len);
        let (token, rest) = start.split_at(length);
        self.rest = rest;
        token
    }

    fn syntax(&self, found: &str, expected: &'static str) -> SelectorError {
        SelectorError::Syntax { text: self.text.to_owned(), found: found.to_owned(), expected }
    }

    fn bad_word(&self, word: &str, what: &'static str) -> SelectorError {
        SelectorError::Word { text: self.text.to_owned(), word: word.to_owned(), what }
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_special(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

/// A name of 1 to 63 characters, perhaps after a DNS subdomain and `/`.
pub(super) fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_name(name),
        None => is_name(key),
    }
}

/// Whether a text is a label value, as class names must be too.
pub(crate) fn is_label_value(value: &str) -> bool {
    value.is_empty() || is_name(value)
}

fn is_name(name: &str) -> bool {
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    name.len() <= 63
        && ends(name.chars().next())
        && ends(name.chars().next_back())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

fn is_subdomain(prefix: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    prefix.len() <= 253 && prefix.split('.').all(label)
}
