//! What a DNSRecord must look like.
//!
//! In: the `spec` of an object, and what it was before a change. Out: every rule that is broken, with the path of its field; none
//! if all is well. Nothing is looked up and nothing is changed: the admission webhook and the controller ask the same rules.
//!
//! They are those of Gardener's own webhook (which a seed need not have), with one that is stricter: an A record holds IPv4
//! addresses alone, an AAAA record IPv6 addresses alone. One is milder: an update that leaves the spec alone is never refused, so
//! that an object from before these rules can still lose its finalizer.

mod error;
mod name;
mod spec;
mod values;

#[cfg(test)]
mod tests;

pub use error::{FieldError, Problem};
pub use spec::{SecretReference, UncheckedSpec};

use name::NamePosition;

/// The record types that a DNSRecord can have.
pub const RECORD_TYPES: [&str; 4] = ["A", "AAAA", "CNAME", "TXT"];

/// The rules that a spec breaks, by the order of its fields. With `old`, those of a change as well; `deleting` says that the
/// object has a deletion timestamp.
pub fn spec_errors(new: &UncheckedSpec, old: Option<&UncheckedSpec>, deleting: bool) -> Vec<FieldError> {
    match old {
        Some(old) if old == new => Vec::new(),
        Some(_) if deleting => {
            vec![FieldError::forbidden("spec", "it cannot change while the object is being deleted")]
        }
        Some(old) => {
            let mut errors = fixed(new, old);
            errors.extend(rules(new));
            errors
        }
        None => rules(new),
    }
}

/// Most errors that a sentence lists; the rest are counted.
pub const LISTED: usize = 10;

/// Errors in one line.
pub fn sentence(errors: &[FieldError]) -> String {
    let listed: Vec<String> = errors.iter().take(LISTED).map(ToString::to_string).collect();
    let more = errors.len().saturating_sub(LISTED);
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    format!("{}{more}", listed.join("; "))
}

/// What stays as it was created.
fn fixed(new: &UncheckedSpec, old: &UncheckedSpec) -> Vec<FieldError> {
    let fields = [
        ("spec.type", &new.provider, &old.provider),
        ("spec.name", &new.name, &old.name),
        ("spec.recordType", &new.record_type, &old.record_type),
    ];
    let mut errors: Vec<FieldError> = fields
        .into_iter()
        .filter(|(_, new, old)| new != old)
        .map(|(path, new, old)| FieldError::invalid(path, new, format!("it was {old:?}, and cannot change")))
        .collect();
    // As the schema's rule: a class may come or go, and not become another.
    if let (Some(new), Some(old)) = (&new.class, &old.class)
        && new != old
    {
        errors.push(FieldError::invalid("spec.class", new, format!("it was {old:?}, and cannot change")));
    }
    errors
}

fn rules(spec: &UncheckedSpec) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if spec.provider.is_empty() {
        errors.push(FieldError::required("spec.type", "the type of a provider is expected, such as aws-route53"));
    }
    if spec.secret_ref.name.is_empty() {
        errors.push(FieldError::required(
            "spec.secretRef.name",
            "the name of the Secret with the credentials is expected",
        ));
    }
    for (path, value) in [("spec.region", &spec.region), ("spec.zone", &spec.zone)] {
        if value.as_deref() == Some("") {
            errors.push(FieldError::invalid(path, "", "an empty text is no value; leave the field out".to_owned()));
        }
    }
    let known = RECORD_TYPES.contains(&spec.record_type.as_str());
    errors.extend(name::error("spec.name", &spec.name, NamePosition::of_record(&spec.record_type)));
    if !known {
        errors.push(FieldError::not_supported("spec.recordType", &spec.record_type, &RECORD_TYPES));
    }
    errors.extend(values::errors(&spec.record_type, &spec.values));
    if let Some(ttl) = spec.ttl
        && !(0..=i64::from(i32::MAX)).contains(&ttl)
    {
        errors.push(FieldError::invalid(
            "spec.ttl",
            &ttl.to_string(),
            format!("seconds from 0 to {} are expected", i32::MAX),
        ));
    }
    errors
}
