//! Go's `printf`. In come the format and its arguments; out comes the text.
//!
//! Verbs: `%v %s %q %d %c %t %x %X %o %b %f %F %e %g %%`, with the flags `-`, `+`, space and `0`, width, precision, `*` and
//! `%[n]`. Where Go writes a complaint into its text (`%!d(string=x)`, `%!s(MISSING)`, `%!(EXTRA ...)`), this is an error,
//! since no such text can be a name.

use std::iter::Peekable;
use std::str::Chars;

use crate::format;
use crate::limits;
use crate::value::Value;

type Result<T> = std::result::Result<T, String>;

/// Formats `args` by `pattern`.
pub(crate) fn sprintf(pattern: &str, args: &[Value<'_>]) -> Result<String> {
    let mut state = State { chars: pattern.chars().peekable(), args, next: 0, seen: 0, ordered: true };
    let mut out = String::new();
    while let Some(c) = state.chars.next() {
        if c == '%' {
            state.verb(&mut out)?;
        } else {
            out.push(c);
        }
        if out.len() > limits::OUTPUT_BYTES {
            return Err(format!("printf: the text is longer than {} bytes", limits::OUTPUT_BYTES));
        }
    }
    if state.ordered && state.seen < args.len() {
        return Err(format!("printf: {} arguments, but verbs for {}", args.len(), state.seen));
    }
    Ok(out)
}

struct State<'p, 'v, 'a> {
    chars: Peekable<Chars<'p>>,
    args: &'v [Value<'a>],
    next: usize,
    /// Arguments used so far, counted from the front.
    seen: usize,
    /// Whether no `%[n]` was used: then every argument must be used.
    ordered: bool,
}

#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one flag of the format")]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
}

impl<'v, 'a> State<'_, 'v, 'a> {
    fn verb(&mut self, out: &mut String) -> Result<()> {
        let mut spec = self.spec()?;
        let verb = self.chars.next().ok_or("printf: % at the end of the format")?;
        if verb == '%' {
            out.push('%');
            return Ok(());
        }
        let arg = self.argument(verb)?;
        let value = arg.target();
        let text = convert(verb, value, &spec)?;
        // A precision is the number of digits of an integer, so zeros of the width are off.
        spec.zero &= spec.precision.is_none() || !matches!(value, Value::Int(_) | Value::Uint(_));
        pad(out, &text, &spec, is_number(value));
        Ok(())
    }

    fn spec(&mut self) -> Result<Spec> {
        let mut spec = Spec::default();
        loop {
            match self.chars.peek() {
                Some('-') => spec.left = true,
                Some('+') => spec.plus = true,
                Some(' ') => spec.space = true,
                Some('0') => spec.zero = true,
                Some('#') => return Err("printf: the flag # is not known here".into()),
                _ => break,
            }
            self.chars.next();
        }
        self.selected()?;
        if let Some(width) = self.count(&mut spec.left)? {
            spec.width = width;
        }
        if self.chars.next_if_eq(&'.').is_some() {
            self.selected()?;
            spec.precision = Some(self.count(&mut false)?.unwrap_or(0));
        }
        self.selected()?;
        Ok(spec)
    }

    /// `[n]`: the next argument is the n-th.
    fn selected(&mut self) -> Result<()> {
        if self.chars.next_if_eq(&'[').is_none() {
            return Ok(());
        }
        self.ordered = false;
        let n = self.digits()?.filter(|n| *n > 0).ok_or("printf: expected a number from 1 in %[n]")?;
        self.next = n - 1;
        self.chars.next_if_eq(&']').map(|_| ()).ok_or_else(|| "printf: unclosed [".to_owned())
    }

    /// A width or precision: digits, or `*` for an argument. A negative width means left.
    fn count(&mut self, left: &mut bool) -> Result<Option<usize>> {
        if self.chars.next_if_eq(&'*').is_none() {
            return self.digits();
        }
        let size = match self.argument('*')?.target() {
            Value::Int(n) => *n,
            Value::Uint(n) => i64::try_from(*n).unwrap_or(i64::MAX),
            other => return Err(format!("printf: * takes an integer, found {}", other.type_name())),
        };
        *left |= size < 0;
        limited(usize::try_from(size.unsigned_abs()).unwrap_or(usize::MAX)).map(Some)
    }

    fn digits(&mut self) -> Result<Option<usize>> {
        let mut value = None;
        while let Some(digit) = self.chars.peek().and_then(|c| c.to_digit(10)) {
            self.chars.next();
            value = Some(limited(value.unwrap_or(0) * 10 + digit as usize)?);
        }
        Ok(value)
    }

    fn argument(&mut self, verb: char) -> Result<&'v Value<'a>> {
        let arg = self.args.get(self.next).ok_or_else(|| format!("printf: no argument for %{verb}"))?;
        self.next += 1;
        self.seen = self.seen.max(self.next);
        Ok(arg)
    }
}

fn limited(n: usize) -> Result<usize> {
    let most = limits::PRINTF_WIDTH;
    if n > most { Err(format!("printf: width or precision {n} is over {most}")) } else { Ok(n) }
}

fn is_number(value: &Value<'_>) -> bool {
    matches!(value, Value::Int(_) | Value::Uint(_) | Value::Float(_))
}

fn convert(verb: char, value: &Value<'_>, spec: &Spec) -> Result<String> {
    let wrong = || Err(format!("printf: %{verb} does not take {}", value.type_name()));
    match (verb, value) {
        ('v' | 's', Value::Text(text)) => Ok(cut(text, spec)),
        ('v' | 'd', Value::Int(_) | Value::Uint(_)) => Ok(digits(value, 10, false, spec)),
        ('v', Value::Float(n)) if spec.precision.is_none() => Ok(signed(format::float(*n), spec)),
        ('x' | 'X', Value::Int(_) | Value::Uint(_)) => Ok(digits(value, 16, verb == 'X', spec)),
        ('o', Value::Int(_) | Value::Uint(_)) => Ok(digits(value, 8, false, spec)),
        ('b', Value::Int(_) | Value::Uint(_)) => Ok(digits(value, 2, false, spec)),
        ('x' | 'X', Value::Text(text)) => Ok(hex(text, verb == 'X', spec)),
        ('q', Value::Text(text)) => Ok(quoted(&cut(text, spec))),
        ('c', Value::Int(n)) => Ok(u32::try_from(*n).ok().and_then(char::from_u32).unwrap_or('\u{fffd}').into()),
        ('t', Value::Bool(b)) => Ok(b.to_string()),
        ('f' | 'F', Value::Float(n)) => Ok(signed(format!("{:.*}", spec.precision.unwrap_or(6), n), spec)),
        ('e', Value::Float(n)) => {
            Ok(signed(format::exponent(&format!("{:.*e}", spec.precision.unwrap_or(6), n)), spec))
        }
        ('g', Value::Float(n)) if spec.precision.is_none() => Ok(signed(format::float(*n), spec)),
        ('v' | 's', Value::Time(_) | Value::Port(_) | Value::List(..) | Value::MadeList(_))
        | ('v', _)
        | ('s', Value::Map(..) | Value::MadeMap(_) | Value::Missing | Value::Nil | Value::NilPointer) => {
            let mut out = String::new();
            format::write(&mut out, value)?;
            Ok(out)
        }
        _ => wrong(),
    }
}

/// At most `precision` characters of a text.
fn cut(text: &str, spec: &Spec) -> String {
    spec.precision.map_or_else(|| text.to_owned(), |most| text.chars().take(most).collect())
}

fn digits(value: &Value<'_>, radix: u32, upper: bool, spec: &Spec) -> String {
    let (negative, size) = match value {
        Value::Int(n) => (*n < 0, n.unsigned_abs()),
        Value::Uint(n) => (false, *n),
        _ => (false, 0),
    };
    let plain = match radix {
        16 if upper => format!("{size:X}"),
        16 => format!("{size:x}"),
        8 => format!("{size:o}"),
        2 => format!("{size:b}"),
        _ => size.to_string(),
    };
    let plain = if spec.precision == Some(0) && size == 0 { String::new() } else { plain };
    let plain = format!("{plain:0>width$}", width = spec.precision.unwrap_or(0));
    if negative { format!("-{plain}") } else { signed(plain, spec) }
}

fn signed(text: String, spec: &Spec) -> String {
    match (spec.plus, spec.space) {
        _ if text.starts_with(['-', '+']) => text,
        (true, _) => format!("+{text}"),
        (_, true) => format!(" {text}"),
        _ => text,
    }
}

fn hex(text: &str, upper: bool, spec: &Spec) -> String {
    let bytes = text.bytes().take(spec.precision.unwrap_or(usize::MAX));
    let pairs: Vec<_> = bytes.map(|b| if upper { format!("{b:02X}") } else { format!("{b:02x}") }).collect();
    pairs.join(if spec.space { " " } else { "" })
}

/// A text in double quotes with Go's escapes.
fn quoted(text: &str) -> String {
    let inner = text.chars().map(|c| match c {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        c if u32::from(c) < 0x20 || c == '\u{7f}' => format!("\\x{:02x}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"{}\"", inner.collect::<String>())
}

/// Fills up to the width: zeros after the sign for numbers where asked, else spaces.
fn pad(out: &mut String, text: &str, spec: &Spec, number: bool) {
    let missing = spec.width.saturating_sub(text.chars().count());
    let zeros = spec.zero && !spec.left && number;
    let sign = if zeros { text.len() - text.trim_start_matches(['-', '+']).len() } else { 0 };
    let (head, tail) = text.split_at(sign);
    match (spec.left, zeros || (spec.zero && !number)) {
        (true, _) => out.extend([text, &" ".repeat(missing)]),
        (false, true) => out.extend([head, &"0".repeat(missing), tail]),
        (false, false) => out.extend([&" ".repeat(missing), text]),
    }
}
