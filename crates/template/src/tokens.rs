//! The tokens of one action, looked at one by one. In come those of the lexer; out go they again, or what was unexpected.

use crate::error::TextError;
use crate::lexer::Token;

type Result<T> = std::result::Result<T, TextError>;

/// The tokens of one action, read from the front.
pub(crate) struct Tokens {
    pub(crate) list: std::iter::Peekable<std::vec::IntoIter<(usize, Token)>>,
    /// Offset of the `{{`, for errors at the end of the action.
    pub(crate) open: usize,
}

impl Tokens {
    pub(crate) fn skip(&mut self) {
        while matches!(self.list.peek(), Some((_, Token::Space))) {
            self.list.next();
        }
    }

    pub(crate) fn peek(&mut self) -> Option<&Token> {
        self.list.peek().map(|(_, t)| t)
    }

    pub(crate) fn at(&mut self) -> usize {
        self.list.peek().map_or(self.open, |(at, _)| *at)
    }

    pub(crate) fn keyword(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(w)) if **w == *word);
        if found {
            self.list.next();
            self.skip();
        }
        found
    }

    pub(crate) fn unexpected(&mut self, place: &str) -> TextError {
        let at = self.at();
        TextError::new(
            at,
            format!("unexpected {} in {place}", self.peek().map_or("end of the action".into(), describe)),
        )
    }

    pub(crate) fn finish(mut self, place: &str) -> Result<()> {
        self.skip();
        if self.peek().is_some() { Err(self.unexpected(place)) } else { Ok(()) }
    }
}

/// What to call a token in a message.
pub(crate) fn describe(token: &Token) -> String {
    match token {
        Token::Space => "space".into(),
        Token::Dot => "\".\"".into(),
        Token::Field(name) => format!("\".{name}\""),
        Token::Variable(name) | Token::Word(name) => format!("\"{name}\""),
        Token::Text(text) => format!("text {text:?}"),
        Token::Number(_) => "a number".into(),
        Token::Open => "\"(\"".into(),
        Token::Close => "\")\"".into(),
        Token::Bar => "\"|\"".into(),
        Token::Declare => "\":=\"".into(),
        Token::Assign => "\"=\"".into(),
        Token::Comma => "\",\"".into(),
    }
}
