//! The table of types: what fields the structures of the known kinds have. In comes the text of `shapes/*.txt`, compiled
//! in; out come structures by name. One line is one structure: its name, then `key:type` for each field, in Go's order.
//!
//! - `key=Name:type` where the Go name is not the key with its first letter in upper case;
//! - `+key=Name:type` for an embedded structure, whose fields also count as fields of the outer one; without a key it is
//!   read from the same JSON object;
//! - types: `s` text, `i` and `u` integers, `f` float, `b` bool, `t` time, `x` number or text (a port), `q` a quantity,
//!   duration or anything else that is written as text or number, `j` any JSON, `o` an object of unknown type, `[]T` list,
//!   `{}T` map by text, `*T` pointer, else the name of a structure.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::naming;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Text,
    Int,
    Uint,
    Float,
    Bool,
    Time,
    Port,
    Quantity,
    Any,
    Open,
    List(Box<Type>),
    Map(Box<Type>),
    Pointer(Box<Type>),
    Struct(&'static str),
}

#[derive(Debug)]
pub(crate) struct Field {
    /// Key in the JSON object; empty for an embedded structure that shares the object of the outer one.
    pub(crate) key: &'static str,
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) embedded: bool,
}

#[derive(Debug)]
pub(crate) struct Struct {
    pub(crate) name: &'static str,
    pub(crate) fields: Vec<Field>,
}

pub(crate) static TEXT: Type = Type::Text;
pub(crate) static ANY: Type = Type::Any;

static TABLE: LazyLock<HashMap<&'static str, Struct>> = LazyLock::new(|| {
    [include_str!("../shapes/published.txt"), include_str!("../shapes/reduced.txt")]
        .iter()
        .flat_map(|text| text.lines())
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(structure)
        .map(|s| (s.name, s))
        .collect()
});

/// The structure of that name.
pub(crate) fn find(name: &str) -> Option<&'static Struct> {
    TABLE.get(name)
}

fn structure(line: &'static str) -> Struct {
    let mut words = line.split(' ');
    let name = words.next().unwrap_or_default();
    Struct { name, fields: words.filter_map(field).collect() }
}

fn field(word: &'static str) -> Option<Field> {
    let (names, ty) = word.split_once(':')?;
    let embedded = names.starts_with('+');
    let names = names.trim_start_matches('+');
    let (key, name) = match names.split_once('=') {
        Some((key, name)) => (key, name.to_owned()),
        None => (names, naming::upper_first(names)),
    };
    Some(Field { key, name, ty: type_of(ty), embedded })
}

fn type_of(word: &'static str) -> Type {
    for (prefix, wrap) in [("[]", Type::List as fn(Box<Type>) -> Type), ("{}", Type::Map), ("*", Type::Pointer)] {
        if let Some(inner) = word.strip_prefix(prefix) {
            return wrap(Box::new(type_of(inner)));
        }
    }
    match word {
        "s" => Type::Text,
        "i" => Type::Int,
        "u" => Type::Uint,
        "f" => Type::Float,
        "b" => Type::Bool,
        "t" => Type::Time,
        "x" => Type::Port,
        "q" => Type::Quantity,
        "j" => Type::Any,
        "o" => Type::Open,
        name => Type::Struct(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_type(owner: &str, ty: &Type) {
        match ty {
            Type::List(inner) | Type::Map(inner) | Type::Pointer(inner) => check_type(owner, inner),
            Type::Struct(name) => assert!(find(name).is_some(), "{owner} names {name}, which is not in the table"),
            _ => {}
        }
    }

    #[test]
    fn every_named_structure_exists_and_every_word_is_a_field() {
        for text in [include_str!("../shapes/published.txt"), include_str!("../shapes/reduced.txt")] {
            for line in text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
                let structure = structure(line);
                assert_eq!(structure.fields.len(), line.split(' ').count() - 1, "{line}");
                structure.fields.iter().for_each(|f| check_type(structure.name, &f.ty));
            }
        }
    }

    #[test]
    fn fields_are_found_by_their_go_names() {
        let field = |owner: &str, name: &str| {
            let found = find(owner).and_then(|s| s.fields.iter().find(|f| f.name == name));
            found.map_or_else(|| panic!("{owner}.{name}"), |f| (f.key, &f.ty))
        };
        assert_eq!(field("ServiceSpec", "ClusterIP"), ("clusterIP", &Type::Text));
        assert_eq!(field("LoadBalancerIngress", "IP"), ("ip", &Type::Text));
        assert_eq!(field("ObjectMeta", "UID"), ("uid", &Type::Text));
        assert_eq!(field("PodStatus", "PodIPs"), ("podIPs", &Type::List(Box::new(Type::Struct("PodIP")))));
        assert_eq!(field("ServicePort", "TargetPort"), ("targetPort", &Type::Port));
    }
}
