//! Values by the type of the record.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::FieldError;
use super::name::{self, NamePosition};

/// What is wrong with the values of a record of this type. Those of a type that is not known are not looked at.
pub(super) fn errors(record_type: &str, values: &[String]) -> Vec<FieldError> {
    if values.is_empty() {
        return vec![FieldError::required("spec.values", "at least one value is expected")];
    }
    if record_type == "CNAME" && values.len() > 1 {
        let shown = values.join(", ");
        let error = FieldError::invalid("spec.values", &shown, "a CNAME record has exactly one value".to_owned());
        return vec![error];
    }
    let of_value = |(at, value): (usize, &String)| {
        let field = format!("spec.values[{at}]");
        match record_type {
            "A" => address::<Ipv4Addr>(
                &field,
                value,
                "an IPv4 address is expected",
                "IPv6 addresses belong in AAAA records",
            ),
            "AAAA" => {
                address::<Ipv6Addr>(&field, value, "an IPv6 address is expected", "IPv4 addresses belong in A records")
            }
            "CNAME" => name::error(&field, value, NamePosition::Target),
            // Texts may hold anything, nothing included.
            _ => None,
        }
    };
    values.iter().enumerate().filter_map(of_value).collect()
}

/// Whether a value is an address of this family; `other` is said where it is one of the other family.
fn address<T: std::str::FromStr>(field: &str, value: &str, expected: &str, other: &str) -> Option<FieldError> {
    if value.parse::<T>().is_ok() {
        return None;
    }
    let of_other_family = value.parse::<IpAddr>().is_ok();
    let sentence = if of_other_family { format!("{expected}; {other}") } else { expected.to_owned() };
    Some(FieldError::invalid(field, value, sentence))
}
