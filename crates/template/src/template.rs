//! A template of one flag: parsed once, run for each object.

use std::borrow::Cow;

use serde_json::Value as Json;

use crate::ast::Tree;
use crate::error::{Position, TemplateError, TemplateFailure, TextError};
use crate::exec::{self, Halt};
use crate::functions::Sources;
use crate::limits;
use crate::output::{self, Pairs};
use crate::parser;
use crate::root;
use crate::shape::Shape;

/// What a template runs over.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The object as the API server gives it.
    pub object: &'a Json,
    /// How its source reads it.
    pub shape: Shape,
    /// The source for which the template runs; without one `isSource` is false.
    pub source: Option<&'a str>,
    /// All names of sources. `isSource` fails on any other.
    pub sources: &'a [&'a str],
}

/// The values of one flag as a template. It can be shared by threads.
#[derive(Debug)]
pub struct Template {
    flag: String,
    text: String,
    /// Where each value begins in the text.
    starts: Vec<usize>,
    tree: Tree,
}

impl Template {
    /// Joins the values of `flag` with `,` and parses them; nothing if they are blank.
    ///
    /// # Errors
    /// The first value with which the text so far is no template, or is too long.
    pub fn parse(flag: &str, values: &[String]) -> Result<Option<Self>, TemplateError> {
        let mut text = String::new();
        let mut starts = Vec::with_capacity(values.len());
        let mut tree = Tree::default();
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            starts.push(text.len());
            text.push_str(value);
            tree = read(&text).map_err(|fault| TemplateError {
                flag: flag.to_owned(),
                index,
                text: value.clone(),
                position: position(&text, &starts, fault.offset),
                message: fault.message,
            })?;
        }
        let blank = values.iter().all(|value| value.trim().is_empty());
        Ok((!blank).then(|| Self { flag: flag.to_owned(), text, starts, tree }))
    }

    /// The flag.
    pub fn flag(&self) -> &str {
        &self.flag
    }

    /// The values of the flag, joined with `,`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names (or targets) for an object: split at `,`, trimmed, each without one final dot, sorted, without duplicates.
    ///
    /// # Errors
    /// The template fails in both readings of the object, prints a value that is absent, or passes a [limit](limits).
    pub fn names(&self, input: Input<'_>) -> Result<Vec<String>, TemplateFailure> {
        let text = self.run(input)?;
        output::names(&text).map_err(|message| self.failure(input, None, message))
    }

    /// The pairs `host:target` for an object. Items that are no pairs are returned beside them.
    ///
    /// # Errors
    /// As [`names`](Self::names).
    pub fn pairs(&self, input: Input<'_>) -> Result<Pairs, TemplateFailure> {
        self.names(input).map(output::pairs)
    }

    fn run(&self, input: Input<'_>) -> Result<String, TemplateFailure> {
        let Some(map) = input.object.as_object() else {
            return Err(self.failure(input, None, "object is nil".to_owned()));
        };
        let whole = match input.shape {
            Shape::Typed(kind) => root::with_type_meta(map, kind),
            Shape::Unstructured => None,
        };
        let object = whole.map_or(Cow::Borrowed(input.object), Cow::Owned);
        let sources = Sources { bound: input.source, known: input.sources };
        let start = |message| Halt { fault: TextError::new(0, message), retry: true };
        let first = root::first(&object, input.shape).map_err(start);
        let first = first.and_then(|dot| exec::run(&self.tree, &dot, false, sources));
        let halt = match first {
            Ok(text) => return Ok(text),
            Err(halt) if !halt.retry => return Err(self.halted(input, halt.fault)),
            Err(halt) => halt,
        };
        let second = root::second(&object).map_err(start);
        second
            .and_then(|dot| exec::run(&self.tree, &dot, true, sources))
            .map_err(|again| self.both(input, halt, &again))
    }

    fn halted(&self, input: Input<'_>, fault: TextError) -> TemplateFailure {
        self.failure(input, Some(fault.offset), fault.message)
    }

    /// Both readings failed: the message names both, once where they agree.
    fn both(&self, input: Input<'_>, first: Halt, again: &Halt) -> TemplateFailure {
        if first.fault == again.fault {
            return self.halted(input, first.fault);
        }
        let place = position(&self.text, &self.starts, again.fault.offset);
        let message = format!("{} (read by JSON keys: {place}: {})", first.fault.message, again.fault.message);
        self.failure(input, Some(first.fault.offset), message)
    }

    fn failure(&self, input: Input<'_>, offset: Option<usize>, message: String) -> TemplateFailure {
        TemplateFailure {
            flag: self.flag.clone(),
            position: offset.map(|offset| position(&self.text, &self.starts, offset)),
            object: root::describe(input.object, input.shape),
            message,
        }
    }
}

fn read(text: &str) -> Result<Tree, TextError> {
    if text.len() > limits::TEMPLATE_BYTES {
        let most = limits::TEMPLATE_BYTES;
        return Err(TextError::new(most, format!("the values of the flag are longer than {most} bytes in all")));
    }
    parser::parse(text)
}

/// Value, line and column of a byte of the joined text. A byte inside a character counts as that character.
fn position(text: &str, starts: &[usize], offset: usize) -> Position {
    let value = starts.partition_point(|start| *start <= offset).saturating_sub(1);
    let start = starts.get(value).copied().unwrap_or(0);
    let before: String = text[start..].char_indices().take_while(|(i, _)| start + i < offset).map(|(_, c)| c).collect();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    Position { value, line, column }
}
