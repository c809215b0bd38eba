//! The statements of PartiQL that a registry sends.
//!
//! In: a statement and its parameters. Out: what it asks for. Anything else of the language is refused like a mistake.
//!
//! ```text
//! INSERT INTO "t" VALUE {'a': ?, ..}
//! UPDATE "t" SET "a"=? [SET "b"=? | , "b"=?].. WHERE "k"=? [AND "o"=?]..
//! DELETE FROM "t" WHERE "k"=? [AND ..]
//! SELECT * FROM "t" WHERE "k"=? [AND ..]
//! ```

use std::iter::Peekable;
use std::vec::IntoIter;

use serde_json::Value;

use super::table::{Refusal, bind};

/// An attribute that must be equal to a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Condition {
    pub(super) attribute: String,
    pub(super) value: Value,
}

/// What a statement asks for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Statement {
    Insert { table: String, values: Vec<(String, Value)> },
    Update { table: String, sets: Vec<(String, Value)>, conditions: Vec<Condition> },
    Delete { table: String, conditions: Vec<Condition> },
    Select { table: String, conditions: Vec<Condition> },
}

impl Statement {
    pub(super) fn table(&self) -> &str {
        match self {
            Self::Insert { table, .. }
            | Self::Update { table, .. }
            | Self::Delete { table, .. }
            | Self::Select { table, .. } => table,
        }
    }

    pub(super) fn verb(&self) -> &'static str {
        match self {
            Self::Insert { .. } => "INSERT",
            Self::Update { .. } => "UPDATE",
            Self::Delete { .. } => "DELETE",
            Self::Select { .. } => "SELECT",
        }
    }

    /// Reads a statement.
    pub(super) fn parse(text: &str, parameters: Vec<Value>) -> Result<Self, Refusal> {
        let mut parser = Parser { tokens: tokens(text)?.into_iter().peekable(), parameters: parameters.into_iter() };
        let statement = parser.statement()?;
        if let Some(token) = parser.tokens.next() {
            return Err(wrong(&format!("unexpected {token:?}")));
        }
        if parser.parameters.next().is_some() {
            return Err(Refusal::invalid("Number of parameters in request and statement don't match."));
        }
        Ok(statement)
    }
}

/// A value that stands in a statement.
pub(super) enum Operand {
    Parameter,
    Text(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    /// In double quotes: a name.
    Name(String),
    /// In single quotes: a text.
    Text(String),
    Sign(char),
}

fn wrong(what: &str) -> Refusal {
    Refusal::invalid(format!("Statement wasn't well formed, can't be processed: {what}"))
}

fn tokens(text: &str) -> Result<Vec<Token>, Refusal> {
    let mut all = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let tail = &rest[first.len_utf8()..];
        rest = match first {
            '"' | '\'' => {
                let (inner, tail) = tail.split_once(first).ok_or_else(|| wrong("a quote is not closed"))?;
                let inner = inner.to_owned();
                all.push(if first == '"' { Token::Name(inner) } else { Token::Text(inner) });
                tail
            }
            '{' | '}' | ':' | ',' | '=' | '?' | '*' => {
                all.push(Token::Sign(first));
                tail
            }
            letter if letter.is_ascii_alphabetic() => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                all.push(Token::Word(rest[..end].to_owned()));
                &rest[end..]
            }
            other => return Err(wrong(&format!("unexpected {other:?}"))),
        }
        .trim_start();
    }
    Ok(all)
}

struct Parser {
    tokens: Peekable<IntoIter<Token>>,
    parameters: IntoIter<Value>,
}

impl Parser {
    fn statement(&mut self) -> Result<Statement, Refusal> {
        match self.word()?.as_str() {
            "INSERT" => {
                self.keyword("INTO")?;
                let table = self.name()?;
                self.keyword("VALUE")?;
                Ok(Statement::Insert { table, values: self.literal()? })
            }
            "UPDATE" => {
                let table = self.name()?;
                Ok(Statement::Update { table, sets: self.sets()?, conditions: self.conditions()? })
            }
            "DELETE" => {
                self.keyword("FROM")?;
                Ok(Statement::Delete { table: self.name()?, conditions: self.conditions()? })
            }
            "SELECT" => {
                self.sign('*')?;
                self.keyword("FROM")?;
                Ok(Statement::Select { table: self.name()?, conditions: self.conditions()? })
            }
            other => Err(wrong(other)),
        }
    }

    fn literal(&mut self) -> Result<Vec<(String, Value)>, Refusal> {
        self.sign('{')?;
        let mut values = Vec::new();
        loop {
            let Some(Token::Text(attribute)) = self.tokens.next() else {
                return Err(wrong("an attribute in single quotes was expected"));
            };
            self.sign(':')?;
            values.push((attribute, self.value()?));
            if !self.skip(&Token::Sign(',')) {
                self.sign('}')?;
                return Ok(values);
            }
        }
    }

    fn sets(&mut self) -> Result<Vec<(String, Value)>, Refusal> {
        self.keyword("SET")?;
        let mut sets = vec![self.equation()?];
        while self.skip(&Token::Sign(',')) || self.skip(&Token::Word("SET".to_owned())) {
            sets.push(self.equation()?);
        }
        Ok(sets)
    }

    fn conditions(&mut self) -> Result<Vec<Condition>, Refusal> {
        self.keyword("WHERE")?;
        let mut conditions = Vec::new();
        loop {
            let (attribute, value) = self.equation()?;
            conditions.push(Condition { attribute, value });
            if !self.skip(&Token::Word("AND".to_owned())) {
                return Ok(conditions);
            }
        }
    }

    fn equation(&mut self) -> Result<(String, Value), Refusal> {
        let attribute = self.name()?;
        self.sign('=')?;
        Ok((attribute, self.value()?))
    }

    fn value(&mut self) -> Result<Value, Refusal> {
        let operand = match self.tokens.next() {
            Some(Token::Sign('?')) => Operand::Parameter,
            Some(Token::Text(text)) => Operand::Text(text),
            other => return Err(wrong(&format!("a value was expected, not {other:?}"))),
        };
        bind(operand, &mut self.parameters)
    }

    fn name(&mut self) -> Result<String, Refusal> {
        match self.tokens.next() {
            Some(Token::Name(name) | Token::Word(name)) => Ok(name),
            other => Err(wrong(&format!("a name was expected, not {other:?}"))),
        }
    }

    fn word(&mut self) -> Result<String, Refusal> {
        match self.tokens.next() {
            Some(Token::Word(word)) => Ok(word.to_ascii_uppercase()),
            other => Err(wrong(&format!("a statement was expected, not {other:?}"))),
        }
    }

    fn keyword(&mut self, expected: &str) -> Result<(), Refusal> {
        let found = self.word()?;
        if found == expected { Ok(()) } else { Err(wrong(&format!("{expected} was expected, not {found}"))) }
    }

    fn sign(&mut self, expected: char) -> Result<(), Refusal> {
        if self.skip(&Token::Sign(expected)) { Ok(()) } else { Err(wrong(&format!("{expected:?} was expected"))) }
    }

    fn skip(&mut self, token: &Token) -> bool {
        self.tokens.next_if_eq(token).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(text: &str) -> Value {
        json!({ "S": text })
    }

    #[test]
    fn the_statements_of_a_registry_are_read() {
        let condition = |name: &str, value| Condition { attribute: name.to_owned(), value };
        let values = vec![("k".to_owned(), text("a")), ("o".to_owned(), text("me"))];
        let insert = Statement::parse(r#"INSERT INTO "t" VALUE {'k':?, 'o':?}"#, vec![text("a"), text("me")]);
        assert_eq!(insert.unwrap(), Statement::Insert { table: "t".to_owned(), values });
        let conditions = vec![condition("k", text("a")), condition("o", text("me"))];
        let sets = vec![("o".to_owned(), text("you")), ("l".to_owned(), json!({ "M": {} }))];
        for form in [r#"SET "o"=? SET "l"=?"#, r#"SET "o" = ?, "l" = ?"#] {
            let parameters = vec![text("you"), json!({ "M": {} }), text("a"), text("me")];
            let update = Statement::parse(&format!(r#"UPDATE "t" {form} WHERE "k"=? AND "o"=?"#), parameters);
            let expected =
                Statement::Update { table: "t".to_owned(), sets: sets.clone(), conditions: conditions.clone() };
            assert_eq!(update.unwrap(), expected);
        }
        let delete = Statement::parse("DELETE FROM \"t\" WHERE \"k\"='a' AND o='me'", vec![]);
        assert_eq!(delete.unwrap(), Statement::Delete { table: "t".to_owned(), conditions });
    }

    #[test]
    fn other_texts_are_refused() {
        for (statement, parameters) in [
            ("", vec![]),
            ("DROP TABLE t", vec![]),
            (r#"DELETE FROM "t""#, vec![]),
            (r#"DELETE FROM "t" WHERE "k"=?"#, vec![]),
            (r#"DELETE FROM "t" WHERE "k"=?"#, vec![text("a"), text("b")]),
            (r#"DELETE FROM "t" WHERE "k"=? OR "o"=?"#, vec![text("a"), text("b")]),
            (r#"INSERT INTO "t" VALUE {'k':?"#, vec![text("a")]),
            (r#"INSERT INTO "t" VALUE {"k":?}"#, vec![text("a")]),
            (r#"INSERT INTO "t" VALUE {'k':?}"#, vec![json!("a")]),
            (r#"UPDATE "t WHERE"#, vec![]),
        ] {
            let read = Statement::parse(statement, parameters);
            assert_eq!(read.unwrap_err().code, "ValidationException", "{statement}");
        }
    }
}
