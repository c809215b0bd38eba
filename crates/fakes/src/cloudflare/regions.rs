//! Regional hostnames (Data Localization Suite): the region whose data centres serve a name of the zone.

use serde_json::{Map, Value, json};

use super::access::{Caller, Permission};
use super::ids;
use super::name;
use super::refusal::Refusal;
use super::request::{Operation, Request, Target};
use super::service::{Answer, Service};
use super::zone::Zone;

/// The regions: *Region support* in the documentation.
#[rustfmt::skip]
const REGIONS: &[&str] = &[
    "ae", "at", "au", "br", "ca", "ch", "cn", "de", "earth", "es", "eu", "fr", "hk", "ie", "in", "isoeu", "it", "jp", "kr", "nl",
    "pl", "sg", "tw", "us", "usff", "za",
];

/// A regional hostname of a zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionalHostname {
    /// In the zone, lower case.
    pub hostname: String,
    /// The key of its region, such as `eu`.
    pub region: String,
    routing: String,
    created: String,
}

impl RegionalHostname {
    fn element(&self) -> Value {
        let Self { hostname, region, routing, created } = self;
        json!({ "hostname": hostname, "region_key": region, "routing": routing, "created_on": created })
    }
}

impl Service {
    pub(super) fn list_regional_hostnames(
        &mut self,
        caller: &Caller,
        target: &Target,
        request: &Request,
    ) -> Result<Answer, Refusal> {
        let zone = entitled(self.zone(caller, target, &request.path())?)?;
        Ok(Answer::one(zone.regions.values().map(RegionalHostname::element).collect()))
    }

    /// Reads or writes one regional hostname.
    pub(super) fn one_regional_hostname(
        &mut self,
        caller: &Caller,
        target: &Target,
        request: &Request,
    ) -> Result<Answer, Refusal> {
        let zone = entitled(self.zone(caller, target, &request.path())?)?;
        if target.operation == Operation::CreateRegionalHostname {
            return create(zone, &request.fields()?).map(Answer::one);
        }
        let hostname = target.id.to_ascii_lowercase();
        let standing = zone.regions.get_mut(&hostname);
        let standing = standing.ok_or_else(|| Refusal::new(404, 10_009, "Regional hostname not found"))?;
        match target.operation {
            Operation::PatchRegionalHostname => {
                standing.region = region(&request.fields()?)?;
                Ok(Answer::one(standing.element()))
            }
            Operation::DeleteRegionalHostname => {
                zone.regions.remove(&hostname);
                Ok(Answer::one(Value::Null))
            }
            _ => Ok(Answer::one(standing.element())),
        }
    }
}

/// The regions that an account may choose from.
pub(super) fn list(caller: &Caller, target: &Target, path: &str) -> Result<Answer, Refusal> {
    if target.id != ids::ACCOUNT {
        return Err(Refusal::no_route(path));
    }
    if !caller.may(Permission::DnsRead) {
        return Err(Refusal::not_allowed());
    }
    Ok(Answer::one(REGIONS.iter().map(|key| json!({ "key": key, "label": key.to_uppercase() })).collect()))
}

fn entitled(zone: &mut Zone) -> Result<&mut Zone, Refusal> {
    if zone.regional {
        Ok(zone)
    } else {
        Err(Refusal::new(403, 10_010, "This zone is not entitled to Regional Services"))
    }
}

fn region(fields: &Map<String, Value>) -> Result<String, Refusal> {
    let region = fields.get("region_key").and_then(Value::as_str);
    let region = region.filter(|region| REGIONS.contains(region));
    region.map(str::to_owned).ok_or_else(|| Refusal::new(400, 10_011, "Invalid region key"))
}

fn create(zone: &mut Zone, fields: &Map<String, Value>) -> Result<Value, Refusal> {
    let text = |field: &str| fields.get(field).and_then(Value::as_str);
    let given = text("hostname").unwrap_or_default().to_ascii_lowercase();
    let inside = name::within(&given, &zone.name) && name::complete(&given, &zone.name).as_ref() == Some(&given);
    if !inside {
        return Err(Refusal::new(400, 10_012, "Invalid hostname: it must be a name of the zone"));
    }
    let routing = text("routing").unwrap_or("dns").to_owned();
    let made = RegionalHostname { hostname: given, region: region(fields)?, routing, created: ids::now() };
    if zone.regions.contains_key(&made.hostname) {
        return Err(Refusal::new(409, 10_014, "Regional hostname already exists"));
    }
    let element = made.element();
    zone.regions.insert(made.hostname.clone(), made);
    Ok(element)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloudflare::Plan;

    #[track_caller]
    fn code(zone: &mut Zone, hostname: &str, region: &str) -> u32 {
        let Value::Object(fields) = json!({ "hostname": hostname, "region_key": region }) else { unreachable!() };
        create(zone, &fields).map_or_else(|refusal| refusal.code, |_| 0)
    }

    #[test]
    fn names_of_the_zone_have_one_region() {
        let mut zone = Zone::new(ids::id("zone"), "a.org", Plan::Enterprise);
        assert_eq!(code(&mut zone, "WWW.a.org", "eu"), 0);
        assert_eq!(code(&mut zone, "www.a.org", "us"), 10_014);
        assert_eq!(code(&mut zone, "*.a.org", "us"), 0);
        for (hostname, region, expected) in
            [("www.b.org", "eu", 10_012), ("www", "eu", 10_012), ("x.a.org", "moon", 10_011), ("x.a.org", "", 10_011)]
        {
            assert_eq!(code(&mut zone, hostname, region), expected, "{hostname} {region}");
        }
        let regions: Vec<&str> = zone.regions.values().map(|found| found.region.as_str()).collect();
        assert_eq!(regions, ["us", "eu"]);
    }

    #[test]
    fn not_every_plan_has_regions() {
        let mut zone = Zone::new(ids::id("zone"), "a.org", Plan::Business);
        assert!(entitled(&mut zone).is_err());
        zone.regional = true;
        assert!(entitled(&mut zone).is_ok());
    }
}
