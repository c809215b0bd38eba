//! A parsed template. Every part carries its byte offset in the joined text.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The main text and the named templates.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) body: Vec<Node>,
    pub(crate) named: BTreeMap<Arc<str>, Vec<Node>>,
}

#[derive(Debug)]
pub(crate) enum Node {
    Text(usize, Arc<str>),
    Action(Pipe),
    If(Branch),
    With(Branch),
    Range(Branch),
    Template { at: usize, name: Arc<str>, data: Option<Pipe> },
    Break,
    Continue,
}

/// `if`, `with` and `range`: the arms of an `else if` chain in order, then what stands after the last `else`.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) at: usize,
    pub(crate) arms: Vec<(Pipe, Vec<Node>)>,
    pub(crate) otherwise: Vec<Node>,
}

/// Commands joined by `|`, whose value goes to `vars` if there are any.
#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) at: usize,
    pub(crate) vars: Vec<Arc<str>>,
    pub(crate) assign: bool,
    pub(crate) commands: Vec<Command>,
}

/// A value, or a function with its arguments. There is at least one argument.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) first: Expr,
    pub(crate) rest: Vec<Expr>,
}

/// A term and the fields that follow it: `.A.B` is the dot with two fields.
#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) at: usize,
    pub(crate) term: Term,
    pub(crate) fields: Vec<Arc<str>>,
}

#[derive(Debug)]
pub(crate) enum Term {
    Dot,
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// An integer too large for 64 bits with sign: an error only when it is used, as in Go.
    TooLarge(Arc<str>),
    Text(Arc<str>),
    Variable(Arc<str>),
    Function(Arc<str>),
    Pipe(Box<Pipe>),
}
