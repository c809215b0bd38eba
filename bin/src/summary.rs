//! One line at start that says what was understood of the settings.

use zonewright_core::catalog::{FlagValue, Settings};
use zonewright_core::duration;

/// Every setting that was given, as `name=value`, in alphabetical order; secrets as stars.
pub(crate) fn given(settings: &Settings) -> String {
    let shown = |name| settings.value(name).map(|value| format!("{name}={}", shown(value)));
    settings.all_given().filter_map(shown).collect::<Vec<_>>().join(" ")
}

fn shown(value: &FlagValue) -> String {
    match value {
        FlagValue::Bool(on) => on.to_string(),
        FlagValue::Text(text) => quoted(text),
        FlagValue::Secret(_) => "******".to_owned(),
        FlagValue::Int(number) => number.to_string(),
        FlagValue::Duration { length, negative } => {
            format!("{}{}", if *negative { "-" } else { "" }, duration::show(*length))
        }
        FlagValue::List(list) => list.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(","),
        FlagValue::Map(map) => {
            map.iter().map(|(key, value)| quoted(&format!("{key}:{value}"))).collect::<Vec<_>>().join(",")
        }
    }
}

fn quoted(text: &str) -> String {
    let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '"' | ','));
    if plain { without_password(text) } else { format!("{:?}", without_password(text)) }
}

/// An address may carry a name and a password before its host.
fn without_password(text: &str) -> String {
    // Up to the last `@`, since a password that was not escaped may hold anything.
    let parts = text.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?.1)));
    parts.map_or_else(|| text.to_owned(), |(scheme, host)| format!("{scheme}://******@{host}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_was_given_and_no_secret() {
        let mut settings = Settings::default();
        let list = |texts: &[&str]| FlagValue::List(texts.iter().map(|text| (*text).to_owned()).collect());
        settings.set("source", list(&["service", "ingress"]), true);
        settings.set("fqdn-template", list(&["{{.Name}}.example.org, x"]), true);
        settings.set("txt-encrypt-aes-key", FlagValue::Secret("geheim".into()), true);
        settings.set("webhook-provider-url", FlagValue::Text("http://me:ge/heim@host:1/x".to_owned()), true);
        settings.set("interval", FlagValue::Duration { length: Duration::from_secs(90), negative: false }, true);
        settings.set("once", FlagValue::Bool(false), false);
        settings.set("policy", FlagValue::Text(String::new()), true);
        assert_eq!(
            given(&settings),
            "fqdn-template=\"{{.Name}}.example.org, x\" interval=1m30s policy=\"\" source=service,ingress \
             txt-encrypt-aes-key=****** webhook-provider-url=http://******@host:1/x"
        );
    }
}
