//! Custom hostnames (Cloudflare for SaaS): names of other people's zones that are served by records of this one. The codes of
//! errors are those of *Status codes - Custom hostnames* in the documentation. Names that are kept for examples are allowed
//! here, for tests use them.

use serde_json::{Map, Value, json};

use super::access::Caller;
use super::ids;
use super::name;
use super::page::{self, Page};
use super::refusal::Refusal;
use super::request::{Operation, Request, Target};
use super::service::{Answer, Service};
use super::zone::Zone;

/// A custom hostname of a zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomHostname {
    /// 32 hexadecimal digits.
    pub id: String,
    /// The name that is served, lower case.
    pub hostname: String,
    /// The record that serves it; none stands for the fallback origin of the zone.
    pub origin: Option<String>,
    /// How its certificate is made, as the client gave it; null if it has none.
    pub ssl: Value,
    pub(super) created: String,
}

impl CustomHostname {
    fn element(&self) -> Value {
        let Self { id, hostname, origin, created, .. } = self;
        let mut element = json!({
            "id": id, "hostname": hostname, "status": "pending", "created_at": created, "verification_errors": [],
            "ownership_verification": { "type": "txt", "name": format!("_cf-custom-hostname.{hostname}"), "value": id },
        });
        if let Some(origin) = origin {
            element["custom_origin_server"] = origin.as_str().into();
        }
        if let Some(ssl) = self.ssl.as_object() {
            let mut ssl = ssl.clone();
            ssl.insert("id".to_owned(), ids::id(&format!("ssl {id}")).into());
            ssl.insert("status".to_owned(), "initializing".into());
            ssl.entry("bundle_method").or_insert("ubiquitous".into());
            ssl.entry("wildcard").or_insert(false.into());
            element["ssl"] = ssl.into();
        }
        element
    }
}

impl Service {
    pub(super) fn list_custom_hostnames(
        &mut self,
        caller: &Caller,
        target: &Target,
        request: &Request,
        repeat: bool,
    ) -> Result<Answer, Refusal> {
        let most = self.page;
        let zone = self.zone(caller, target, &request.path())?;
        let page = Page::read(request, page::CUSTOM_HOSTNAMES, most, repeat)?;
        let mut shown: Vec<&CustomHostname> = zone.hostnames.values().filter(|found| shows(request, found)).collect();
        shown.sort_by_key(|found| &found.hostname);
        let (shown, info) = page.cut(shown);
        Ok(Answer::listing(shown.into_iter().map(CustomHostname::element).collect(), info))
    }

    /// Reads or writes one custom hostname.
    pub(super) fn one_custom_hostname(
        &mut self,
        caller: &Caller,
        target: &Target,
        request: &Request,
    ) -> Result<Answer, Refusal> {
        let zone = self.zone(caller, target, &request.path())?;
        if target.operation == Operation::CreateCustomHostname {
            return create(zone, &request.fields()?).map(|made| Answer::one(made).with_status(201));
        }
        if !ids::is_id(&target.id) {
            return Err(Refusal::new(400, 1435, "The custom hostname ID is invalid."));
        }
        let missing = || Refusal::new(404, 1436, "The custom hostname was not found.");
        let standing = zone.hostnames.get(&target.id).ok_or_else(missing)?.clone();
        match target.operation {
            Operation::DeleteCustomHostname => {
                zone.hostnames.remove(&target.id);
                Ok(Answer::bare(json!({ "id": target.id })))
            }
            Operation::PatchCustomHostname => {
                let changed = changed(zone, standing, &request.fields()?)?;
                let element = changed.element();
                zone.hostnames.insert(changed.id.clone(), changed);
                Ok(Answer::one(element).with_status(202))
            }
            _ => Ok(Answer::one(standing.element())),
        }
    }
}

fn shows(request: &Request, found: &CustomHostname) -> bool {
    let meets = |name: &str, test: &dyn Fn(&str) -> bool| {
        request.parameter(name).is_none_or(|given| test(&given.to_ascii_lowercase()))
    };
    meets("id", &|id| found.id == id)
        && meets("hostname", &|name| found.hostname == name)
        && meets("hostname.exact", &|name| found.hostname == name)
        && meets("hostname.contain", &|part| found.hostname.contains(part))
        && meets("hostname.startsWith", &|start| found.hostname.starts_with(start))
}

fn create(zone: &mut Zone, fields: &Map<String, Value>) -> Result<Value, Refusal> {
    if zone.hostname_quota == 0 {
        return Err(Refusal::new(403, 1404, "No quota has been allocated for this zone."));
    }
    let hostname = fields.get("hostname").and_then(Value::as_str).unwrap_or_default();
    if hostname.starts_with("*.") {
        let message = "Custom hostnames with wildcards are not supported for certificates managed by Cloudflare.";
        return Err(Refusal::new(400, 1448, message));
    }
    let hostname = name::host(hostname).filter(|name| name.contains('.'));
    let hostname = hostname.ok_or_else(|| Refusal::new(400, 1407, "Invalid custom hostname."))?;
    if zone.hostnames.values().any(|other| other.hostname == hostname) {
        return Err(Refusal::new(409, 1406, "Duplicate custom hostname found."));
    }
    if zone.hostnames.len() >= zone.hostname_quota {
        return Err(Refusal::new(403, 1405, "Quota exceeded."));
    }
    let id = zone.next_id();
    let made = CustomHostname { id, hostname, origin: None, ssl: Value::Null, created: ids::now() };
    let made = changed(zone, made, fields)?;
    let element = made.element();
    zone.hostnames.insert(made.id.clone(), made);
    Ok(element)
}

/// A custom hostname with what the fields of a request state.
fn changed(zone: &Zone, standing: CustomHostname, fields: &Map<String, Value>) -> Result<CustomHostname, Refusal> {
    let mut changed = standing;
    if let Some(origin) = fields.get("custom_origin_server") {
        changed.origin = match origin.as_str().filter(|origin| !origin.is_empty()) {
            Some(origin) => Some(served(zone, origin)?),
            None => None,
        };
    }
    if let Some(ssl) = fields.get("ssl") {
        check_ssl(ssl)?;
        changed.ssl = ssl.clone();
    }
    Ok(changed)
}

/// The name of the record that serves a custom hostname.
fn served(zone: &Zone, origin: &str) -> Result<String, Refusal> {
    if origin.starts_with("*.") {
        return Err(Refusal::new(400, 1420, "Wildcard custom origin hostnames are not supported."));
    }
    let origin = name::host(origin).ok_or_else(|| Refusal::new(400, 1415, "Invalid custom origin hostname."))?;
    let serves = |kind: &str| matches!(kind, "A" | "AAAA" | "CNAME");
    let mut records = zone.records.iter().map(|stored| &stored.record);
    if records.any(|record| record.name == origin && serves(&record.kind)) {
        return Ok(origin);
    }
    let message = format!(
        "The custom origin hostname you specified does not exist on Cloudflare as a DNS record (A, AAAA or CNAME) in your \
         zone:{}.",
        zone.id
    );
    Err(Refusal::new(400, 1421, message))
}

fn check_ssl(ssl: &Value) -> Result<(), Refusal> {
    let (Some(_), true) = (ssl.as_object(), ssl["settings"].is_null() || ssl["settings"].is_object()) else {
        return if ssl.is_null() { Ok(()) } else { Err(Refusal::new(400, 1434, "The SSL attribute is invalid.")) };
    };
    let one_of = |value: &Value, code: u32, choices: &[&str], message: &str| {
        let sound = value.is_null() || value.as_str().is_some_and(|value| choices.contains(&value));
        if sound { Ok(()) } else { Err(Refusal::new(400, code, message)) }
    };
    if ssl["method"].is_null() != ssl["type"].is_null() {
        return Err(Refusal::new(400, 1440, "Both validation type and validation method are required."));
    }
    one_of(&ssl["method"], 1432, &["http", "txt", "email"], "The validation method is not supported.")?;
    one_of(&ssl["type"], 1433, &["dv"], "The validation type is not supported.")?;
    let bundles = ["ubiquitous", "optimal", "force"];
    one_of(
        &ssl["bundle_method"],
        1449,
        &bundles,
        "The request input `bundle_method` must be one of: ubiquitous, optimal, force.",
    )?;
    let versions = ["1.0", "1.1", "1.2", "1.3"];
    one_of(&ssl["settings"]["min_tls_version"], 1425, &versions, "Invalid `min_tls_version` setting.")?;
    let authorities = ["digicert", "google", "lets_encrypt", "ssl_com"];
    one_of(&ssl["certificate_authority"], 1434, &authorities, "The SSL attribute is invalid.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloudflare::Plan;
    use crate::cloudflare::record::Record;

    fn fields(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    fn zone() -> Zone {
        let mut zone = Zone::new(ids::id("zone"), "a.org", Plan::Free);
        zone.put(Record::new("origin.a.org", "A", "192.0.2.1"));
        zone
    }

    #[track_caller]
    fn code(zone: &mut Zone, request: &Value) -> u32 {
        create(zone, &fields(request)).map_or_else(|refusal| refusal.code, |_| 0)
    }

    #[test]
    fn hostnames_have_one_owner_and_a_quota() {
        let mut zone = zone();
        zone.hostname_quota = 2;
        let named = |name: &str| json!({ "hostname": name, "custom_origin_server": "Origin.a.org." });
        assert_eq!(code(&mut zone, &named("App.b.org")), 0);
        assert_eq!(code(&mut zone, &named("app.b.org.")), 1406);
        for (name, expected) in [("*.b.org", 1448), ("192.0.2.1", 1407), ("b", 1407), ("", 1407), ("b..org", 1407)] {
            assert_eq!(code(&mut zone, &named(name)), expected, "{name}");
        }
        assert_eq!(code(&mut zone, &named("two.b.org")), 0);
        assert_eq!(code(&mut zone, &named("three.b.org")), 1405);
        zone.hostname_quota = 0;
        assert_eq!(code(&mut zone, &named("three.b.org")), 1404);
        let found = zone.hostnames.values().find(|found| found.hostname == "app.b.org").unwrap();
        assert_eq!(found.origin.as_deref(), Some("origin.a.org"));
    }

    #[test]
    fn origins_are_records_of_the_zone() {
        let mut zone = zone();
        let served = |origin: Value| json!({ "hostname": "app.b.org", "custom_origin_server": origin });
        for (origin, expected) in [("none.a.org", 1421), ("*.a.org", 1420), ("192.0.2.1", 1415)] {
            assert_eq!(code(&mut zone, &served(origin.into())), expected, "{origin}");
        }
        assert_eq!(code(&mut zone, &served(Value::Null)), 0);
    }

    #[test]
    fn certificates_have_their_choices() {
        let sound = json!({
            "type": "dv", "method": "http", "bundle_method": "ubiquitous", "settings": { "min_tls_version": "1.2" },
            "certificate_authority": "google",
        });
        assert_eq!(check_ssl(&sound), Ok(()));
        assert_eq!(check_ssl(&Value::Null), Ok(()));
        for (field, value, expected) in [
            ("type", json!("ev"), 1433),
            ("type", Value::Null, 1440),
            ("method", json!("post"), 1432),
            ("bundle_method", json!("none"), 1449),
            ("settings", json!({ "min_tls_version": "1.4" }), 1425),
            ("settings", json!([]), 1434),
            ("certificate_authority", json!("other"), 1434),
        ] {
            let mut ssl = sound.clone();
            ssl[field] = value;
            assert_eq!(check_ssl(&ssl).unwrap_err().code, expected, "{ssl}");
        }
        assert_eq!(check_ssl(&json!("none")).unwrap_err().code, 1434);
    }
}
