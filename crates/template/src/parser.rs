//! Builds the tree of a template. In comes the joined text; out comes a [`Tree`] in which every function is known, every
//! variable declared, `break` and `continue` stand inside `range`, and nothing is nested deeper than [`limits::NESTING`].

use std::sync::Arc;

use crate::ast::{Branch, Command, Expr, Node, Pipe, Term, Tree};
use crate::error::TextError;
use crate::functions;
use crate::lexer::{self, Piece, Token};
use crate::limits;
use crate::tokens::{Tokens, describe};

type Result<T> = std::result::Result<T, TextError>;

/// Reads a whole template.
pub(crate) fn parse(source: &str) -> Result<Tree> {
    let pieces = lexer::split(source)?;
    let mut parser = Parser { pieces: pieces.into_iter(), tree: Tree::default(), ..Parser::new(source.len()) };
    parser.tree.body = match parser.block("the template")? {
        (body, Stop::End, _) => body,
        (_, Stop::Word(word), at) => return Err(TextError::new(at, format!("unexpected {{{{{word}}}}}"))),
        (_, Stop::Else(_), at) => return Err(TextError::new(at, "unexpected {{else}}")),
    };
    Ok(parser.tree)
}

struct Parser {
    pieces: std::vec::IntoIter<Piece>,
    tree: Tree,
    vars: Vec<Arc<str>>,
    /// Nesting of blocks and parentheses.
    depth: usize,
    /// Nesting of `range` bodies in the template that is being read.
    ranges: usize,
    /// Length of the source.
    end: usize,
}

/// What ended a list of nodes.
enum Stop {
    End,
    Else(Tokens),
    Word(&'static str),
}

impl Parser {
    fn new(end: usize) -> Self {
        let (pieces, vars) = (Vec::new().into_iter(), vec!["$".into()]);
        Self { pieces, tree: Tree::default(), vars, depth: 0, ranges: 0, end }
    }

    fn deeper(&mut self, at: usize) -> Result<()> {
        self.depth += 1;
        if self.depth > limits::NESTING {
            return Err(TextError::new(at, format!("nested deeper than {} levels", limits::NESTING)));
        }
        Ok(())
    }

    /// Reads nodes up to `{{end}}`, `{{else}}` or the end of the text. `owner` names what is being read.
    fn block(&mut self, owner: &'static str) -> Result<(Vec<Node>, Stop, usize)> {
        let top = self.depth == 0;
        let mut nodes = Vec::new();
        while let Some(piece) = self.pieces.next() {
            let (open, tokens) = match piece {
                Piece::Text(at, text) => {
                    nodes.push(Node::Text(at, text));
                    continue;
                }
                Piece::Action(open, tokens) => (open, tokens),
            };
            let mut tokens = Tokens { list: tokens.into_iter().peekable(), open };
            tokens.skip();
            if tokens.keyword("end") {
                tokens.finish("end")?;
                return Ok((nodes, if top { Stop::Word("end") } else { Stop::End }, open));
            }
            if tokens.keyword("else") {
                return Ok((nodes, Stop::Else(tokens), open));
            }
            if top && tokens.keyword("define") {
                self.define(tokens)?;
                continue;
            }
            nodes.push(self.action(tokens)?);
        }
        if top {
            return Ok((nodes, Stop::End, self.end));
        }
        Err(TextError::new(self.end, format!("the text ends inside {owner}: {{{{end}}}} is missing")))
    }

    fn action(&mut self, mut tokens: Tokens) -> Result<Node> {
        let open = tokens.open;
        if tokens.keyword("if") {
            return Ok(Node::If(self.branch(tokens, "if")?));
        }
        if tokens.keyword("with") {
            return Ok(Node::With(self.branch(tokens, "with")?));
        }
        if tokens.keyword("range") {
            return Ok(Node::Range(self.branch(tokens, "range")?));
        }
        if tokens.keyword("template") {
            return self.call(tokens);
        }
        if tokens.keyword("block") {
            return self.inline(tokens);
        }
        for (word, node) in [("break", Node::Break), ("continue", Node::Continue)] {
            if tokens.keyword(word) {
                tokens.finish(word)?;
                let inside = self.ranges > 0;
                return inside
                    .then_some(node)
                    .ok_or_else(|| TextError::new(open, format!("{{{{{word}}}}} outside range")));
            }
        }
        Ok(Node::Action(self.whole(tokens, "an action", 1)?))
    }

    /// A pipeline that fills the rest of an action.
    fn whole(&mut self, mut tokens: Tokens, place: &str, vars: usize) -> Result<Pipe> {
        let pipe = self.pipe(&mut tokens, place, vars)?;
        tokens.finish(place)?;
        Ok(pipe)
    }

    fn branch(&mut self, tokens: Tokens, word: &'static str) -> Result<Branch> {
        let at = tokens.open;
        self.deeper(at)?;
        let (vars, loops) = (self.vars.len(), usize::from(word == "range"));
        let mut arms = Vec::new();
        let mut otherwise = Vec::new();
        let mut condition = tokens;
        loop {
            let pipe = self.whole(condition, word, 1 + loops)?;
            self.ranges += loops;
            let (body, stop, open) = self.block(word)?;
            self.ranges -= loops;
            arms.push((pipe, body));
            let Stop::Else(mut rest) = stop else { break };
            if loops == 0 && rest.keyword(word) {
                condition = rest;
                continue;
            }
            rest.finish("else")?;
            let (body, stop, _) = self.block(word)?;
            if matches!(stop, Stop::Else(_)) {
                return Err(TextError::new(open, format!("a second {{{{else}}}} in one {word}")));
            }
            otherwise = body;
            break;
        }
        self.vars.truncate(vars);
        self.depth -= 1;
        Ok(Branch { at, arms, otherwise })
    }

    fn name(tokens: &mut Tokens, place: &str) -> Result<Arc<str>> {
        tokens.skip();
        let at = tokens.at();
        match tokens.list.next() {
            Some((_, Token::Text(name))) => Ok(name),
            other => {
                let found = other.map_or("end of the action".into(), |(_, t)| describe(&t));
                Err(TextError::new(at, format!("expected a quoted name in {place}, found {found}")))
            }
        }
    }

    fn call(&mut self, mut tokens: Tokens) -> Result<Node> {
        let at = tokens.open;
        let name = Self::name(&mut tokens, "template")?;
        tokens.skip();
        let data = if tokens.peek().is_some() { Some(self.whole(tokens, "template", 1)?) } else { None };
        Ok(Node::Template { at, name, data })
    }

    fn define(&mut self, mut tokens: Tokens) -> Result<()> {
        let at = tokens.open;
        let name = Self::name(&mut tokens, "define")?;
        tokens.finish("define")?;
        self.named(at, name, "define")
    }

    /// `{{block "name" pipeline}}`: a definition and its call in one.
    fn inline(&mut self, mut tokens: Tokens) -> Result<Node> {
        let at = tokens.open;
        let name = Self::name(&mut tokens, "block")?;
        let data = self.whole(tokens, "block", 1)?;
        self.named(at, Arc::clone(&name), "block")?;
        Ok(Node::Template { at, name, data: Some(data) })
    }

    /// Reads the body of a named template, which sees no variables of its surroundings.
    fn named(&mut self, at: usize, name: Arc<str>, word: &'static str) -> Result<()> {
        self.deeper(at)?;
        let vars = std::mem::replace(&mut self.vars, vec!["$".into()]);
        let ranges = std::mem::take(&mut self.ranges);
        let (body, stop, _) = self.block(word)?;
        (self.vars, self.ranges) = (vars, ranges);
        self.depth -= 1;
        if matches!(stop, Stop::Else(_)) {
            return Err(TextError::new(at, format!("unexpected {{{{else}}}} in {word}")));
        }
        self.add(at, name, body)
    }

    /// A definition replaces an empty one and yields to one with content, if it is empty itself; two with content clash.
    fn add(&mut self, at: usize, name: Arc<str>, body: Vec<Node>) -> Result<()> {
        let empty = |body: &[Node]| body.iter().all(|n| matches!(n, Node::Text(_, t) if t.trim().is_empty()));
        match self.tree.named.get(&name) {
            Some(old) if !empty(old) && !empty(&body) => {
                Err(TextError::new(at, format!("template {name:?} is defined twice")))
            }
            Some(old) if !empty(old) => Ok(()),
            _ => {
                self.tree.named.insert(name, body);
                Ok(())
            }
        }
    }

    /// A pipeline up to the end of the action or to `)`, declaring at most `vars` variables.
    fn pipe(&mut self, tokens: &mut Tokens, place: &str, vars: usize) -> Result<Pipe> {
        tokens.skip();
        let at = tokens.at();
        let (names, assign) = self.declared(tokens, place, vars)?;
        let mut commands = Vec::new();
        loop {
            tokens.skip();
            let stage = tokens.at();
            let command = self.command(tokens, place)?;
            if !commands.is_empty() && !takes_argument(&command.first) {
                return Err(TextError::new(
                    stage,
                    format!("stage {} of a pipeline is no function", commands.len() + 1),
                ));
            }
            commands.push(command);
            if !matches!(tokens.peek(), Some(Token::Bar)) {
                return Ok(Pipe { at, vars: names, assign, commands });
            }
            tokens.list.next();
        }
    }

    /// The variables before `:=` or `=`; none if the pipeline begins otherwise.
    fn declared(&mut self, tokens: &mut Tokens, place: &str, most: usize) -> Result<(Vec<Arc<str>>, bool)> {
        let mut ahead = tokens.list.clone();
        let mut names = Vec::new();
        let assign = loop {
            let mut next = || loop {
                match ahead.next() {
                    Some((_, Token::Space)) => {}
                    other => break other,
                }
            };
            let Some((at, Token::Variable(name))) = next() else { return Ok((Vec::new(), false)) };
            names.push((at, name));
            match next() {
                Some((_, Token::Declare)) => break false,
                Some((_, Token::Assign)) => break true,
                Some((_, Token::Comma)) if names.len() < most => {}
                Some((at, Token::Comma)) => {
                    return Err(TextError::new(at, format!("too many declarations in {place}")));
                }
                _ => return Ok((Vec::new(), false)),
            }
        };
        tokens.list = ahead;
        for (at, name) in &names {
            if assign {
                self.known(*at, name)?;
            } else {
                self.vars.push(Arc::clone(name));
            }
        }
        Ok((names.into_iter().map(|(_, name)| name).collect(), assign))
    }

    fn known(&self, at: usize, name: &Arc<str>) -> Result<()> {
        let known = self.vars.contains(name);
        known.then_some(()).ok_or_else(|| TextError::new(at, format!("undefined variable {name:?}")))
    }

    fn command(&mut self, tokens: &mut Tokens, place: &str) -> Result<Command> {
        let Some(first) = self.operand(tokens)? else {
            return Err(match tokens.peek() {
                None | Some(Token::Close | Token::Bar) => {
                    TextError::new(tokens.at(), format!("missing value for {place}"))
                }
                Some(_) => tokens.unexpected(place),
            });
        };
        let mut rest = Vec::new();
        while matches!(tokens.peek(), Some(Token::Space)) {
            tokens.skip();
            let Some(argument) = self.operand(tokens)? else { break };
            rest.push(argument);
        }
        match tokens.peek() {
            None | Some(Token::Bar | Token::Close) => Ok(Command { first, rest }),
            Some(_) => Err(tokens.unexpected("an operand")),
        }
    }

    fn operand(&mut self, tokens: &mut Tokens) -> Result<Option<Expr>> {
        let at = tokens.at();
        let Some(token) = tokens.peek().cloned() else { return Ok(None) };
        let mut fields = Vec::new();
        let term = match token {
            Token::Dot | Token::Field(_) => Term::Dot,
            Token::Text(text) => Term::Text(text),
            Token::Number(term) => number(&term),
            Token::Variable(name) => self.known(at, &name).map(|()| Term::Variable(name))?,
            Token::Word(name) => word(at, name)?,
            Token::Open => return self.parenthesis(tokens).map(Some),
            _ => return Ok(None),
        };
        let mut bare = false;
        if !matches!(tokens.peek(), Some(Token::Field(_))) {
            tokens.list.next();
            bare = !matches!(term, Term::Variable(_) | Term::Function(_));
        }
        fields_of(tokens, &mut fields, bare)?;
        Ok(Some(Expr { at, term, fields }))
    }

    fn parenthesis(&mut self, tokens: &mut Tokens) -> Result<Expr> {
        let at = tokens.at();
        tokens.list.next();
        self.deeper(at)?;
        let pipe = self.pipe(tokens, "a parenthesis", 1)?;
        if !matches!(tokens.list.next(), Some((_, Token::Close))) {
            return Err(TextError::new(at, "unclosed ("));
        }
        self.depth -= 1;
        let mut fields = Vec::new();
        fields_of(tokens, &mut fields, false)?;
        Ok(Expr { at, term: Term::Pipe(Box::new(pipe)), fields })
    }
}

/// The fields that follow a term without a space. A constant has none.
fn fields_of(tokens: &mut Tokens, fields: &mut Vec<Arc<str>>, bare: bool) -> Result<()> {
    while let Some(Token::Field(name)) = tokens.peek().cloned() {
        if bare {
            return Err(tokens.unexpected("an operand: a constant has no fields"));
        }
        fields.push(name);
        tokens.list.next();
    }
    Ok(())
}

fn number(term: &Term) -> Term {
    match term {
        Term::Int(n) => Term::Int(*n),
        Term::Float(n) => Term::Float(*n),
        Term::TooLarge(text) => Term::TooLarge(Arc::clone(text)),
        _ => Term::Nil,
    }
}

fn word(at: usize, name: Arc<str>) -> Result<Term> {
    match &*name {
        "nil" => Ok(Term::Nil),
        "true" => Ok(Term::Bool(true)),
        "false" => Ok(Term::Bool(false)),
        _ if functions::is_known(&name) => Ok(Term::Function(name)),
        _ => Err(TextError::new(at, format!("function {name:?} not defined"))),
    }
}

/// Whether a term may stand after `|`, where it is given an argument.
fn takes_argument(first: &Expr) -> bool {
    !first.fields.is_empty() || matches!(first.term, Term::Function(_) | Term::Variable(_) | Term::Pipe(_))
}
