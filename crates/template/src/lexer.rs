//! Splits a template into plain text and the tokens of its actions. In comes the joined text; out come pieces in order,
//! trim markers applied and comments gone. Spaces inside an action are tokens, since they end an operand.

use std::sync::Arc;

use crate::ast::Term;
use crate::error::TextError;
use crate::{number, text};

#[derive(Debug)]
pub(crate) enum Piece {
    Text(usize, Arc<str>),
    Action(usize, Vec<(usize, Token)>),
}

#[derive(Debug, Clone)]
pub(crate) enum Token {
    Space,
    Dot,
    Field(Arc<str>),
    Variable(Arc<str>),
    Word(Arc<str>),
    Text(Arc<str>),
    Number(Arc<Term>),
    Open,
    Close,
    Bar,
    Declare,
    Assign,
    Comma,
}

struct Lexer<'t> {
    source: &'t str,
    at: usize,
}

/// Splits `source` into its pieces.
pub(crate) fn split(source: &str) -> Result<Vec<Piece>, TextError> {
    let mut lexer = Lexer { source, at: 0 };
    let mut pieces = Vec::new();
    let mut trim = false;
    loop {
        let start = lexer.at;
        let end = lexer.rest().find("{{").map_or(source.len(), |i| start + i);
        let open = end < source.len();
        let mut plain = &source[start..end];
        let cut = open && trims_left(&source[end + 2..]);
        if trim {
            plain = plain.trim_start_matches(is_space);
        }
        if cut {
            plain = plain.trim_end_matches(is_space);
        }
        if !plain.is_empty() {
            pieces.push(Piece::Text(start, plain.into()));
        }
        if !open {
            return Ok(pieces);
        }
        lexer.at = end + 2 + usize::from(cut);
        trim = lexer.action(end, &mut pieces)?;
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn trims_left(rest: &str) -> bool {
    let mut chars = rest.chars();
    chars.next() == Some('-') && chars.next().is_some_and(is_space)
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        &self.source[self.at..]
    }

    /// Reads one action to its end; says whether the text after it is trimmed.
    fn action(&mut self, open: usize, pieces: &mut Vec<Piece>) -> Result<bool, TextError> {
        let comment = self.rest().trim_start_matches(is_space);
        if comment.starts_with("/*") {
            self.at = self.source.len() - comment.len();
            return self.comment(open);
        }
        let mut tokens = Vec::new();
        loop {
            if let Some(trim) = self.close() {
                pieces.push(Piece::Action(open, tokens));
                return Ok(trim);
            }
            let at = self.at;
            let token = self.token(open)?;
            tokens.push((at, token));
        }
    }

    /// Skips `}}`, or white space and `-}}`.
    fn close(&mut self) -> Option<bool> {
        let rest = self.rest();
        let tail = rest.trim_start_matches(is_space);
        if rest.starts_with("}}") {
            self.at += 2;
            return Some(false);
        }
        if tail.len() < rest.len() && tail.starts_with("-}}") {
            self.at = self.source.len() - tail.len() + 3;
            return Some(true);
        }
        None
    }

    fn comment(&mut self, open: usize) -> Result<bool, TextError> {
        let end = self.rest().find("*/").ok_or_else(|| TextError::new(open, "unclosed comment"))?;
        self.at += end + 2;
        self.close().ok_or_else(|| TextError::new(open, "a comment must end with */}} or */ -}}"))
    }

    fn token(&mut self, open: usize) -> Result<Token, TextError> {
        let at = self.at;
        let Some(c) = self.rest().chars().next() else { return Err(TextError::new(open, "unclosed action")) };
        let next = self.rest()[c.len_utf8()..].chars().next();
        match c {
            c if is_space(c) => {
                self.at = self.source.len() - self.rest().trim_start_matches(is_space).len();
                Ok(Token::Space)
            }
            '"' => self.quoted('"').map(|s| Token::Text(s.into())),
            '\'' => self.character(),
            '`' => self.raw(),
            '$' => {
                let name = self.word(1);
                self.ended(at).map(|()| Token::Variable(name.into()))
            }
            '.' if next.is_some_and(|n| n.is_ascii_digit()) => self.number(),
            '.' => self.field(),
            '0'..='9' => self.number(),
            '+' | '-' if next.is_some_and(|n| n.is_ascii_digit() || n == '.') => self.number(),
            c if is_word(c) => {
                let name = self.word(0);
                self.ended(at).map(|()| Token::Word(name.into()))
            }
            _ => self.sign(c, next),
        }
    }

    fn sign(&mut self, c: char, next: Option<char>) -> Result<Token, TextError> {
        let (token, len) = match (c, next) {
            ('(', _) => (Token::Open, 1),
            (')', _) => (Token::Close, 1),
            ('|', _) => (Token::Bar, 1),
            (',', _) => (Token::Comma, 1),
            (':', Some('=')) => (Token::Declare, 2),
            ('=', _) => (Token::Assign, 1),
            _ => return Err(TextError::new(self.at, format!("unexpected {c:?} in an action"))),
        };
        self.at += len;
        Ok(token)
    }

    /// Takes `skip` bytes and the letters, digits and `_` after them.
    fn word(&mut self, skip: usize) -> &'t str {
        let rest = self.rest();
        let len = rest[skip..].find(|c| !is_word(c)).map_or(rest.len(), |i| skip + i);
        self.at += len;
        &rest[..len]
    }

    fn field(&mut self) -> Result<Token, TextError> {
        let at = self.at;
        let name = &self.word(1)[1..];
        self.ended(at)?;
        Ok(if name.is_empty() { Token::Dot } else { Token::Field(name.into()) })
    }

    /// A name must be followed by something that can follow a name.
    fn ended(&self, start: usize) -> Result<(), TextError> {
        let rest = self.rest();
        match rest.chars().next() {
            None => Ok(()),
            Some(c) if is_space(c) || matches!(c, '.' | ',' | '|' | ':' | ')' | '(' | '=') => Ok(()),
            Some(_) if rest.starts_with("}}") => Ok(()),
            Some(c) => {
                Err(TextError::new(self.at, format!("unexpected {c:?} after {:?}", &self.source[start..self.at])))
            }
        }
    }

    /// The body of a quoted text on one line, the lexer past its closing quote.
    fn body(&mut self, quote: char) -> Result<&'t str, TextError> {
        let (start, mut escaped) = (self.at, false);
        for (i, c) in self.rest()[1..].char_indices() {
            match c {
                '\n' => break,
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                c if c == quote => {
                    self.at = start + 1 + i + 1;
                    return Ok(&self.source[start + 1..start + 1 + i]);
                }
                _ => {}
            }
        }
        Err(TextError::new(start, "a quoted text without its closing quote"))
    }

    fn quoted(&mut self, quote: char) -> Result<String, TextError> {
        let at = self.at;
        text::unquote(self.body(quote)?, quote).map_err(|m| TextError::new(at, m))
    }

    fn character(&mut self) -> Result<Token, TextError> {
        let at = self.at;
        let value = text::character(self.body('\'')?).map_err(|m| TextError::new(at, m))?;
        Ok(Token::Number(Arc::new(Term::Int(value))))
    }

    fn raw(&mut self) -> Result<Token, TextError> {
        let rest = &self.rest()[1..];
        let len = rest.find('`').ok_or_else(|| TextError::new(self.at, "a raw text without its closing `"))?;
        self.at += len + 2;
        Ok(Token::Text(rest[..len].replace('\r', "").into()))
    }

    fn number(&mut self) -> Result<Token, TextError> {
        let at = self.at;
        let mut previous = ' ';
        for (i, c) in self.rest().char_indices() {
            let exponent = matches!(c, '+' | '-') && matches!(previous, 'e' | 'E');
            if i > 0 && !is_word(c) && c != '.' && !exponent {
                break;
            }
            (self.at, previous) = (at + i + c.len_utf8(), c);
        }
        let found = &self.source[at..self.at];
        let term = number::parse(found).ok_or_else(|| TextError::new(at, format!("bad number {found:?}")))?;
        self.ended(at).map(|()| Token::Number(Arc::new(term)))
    }
}
