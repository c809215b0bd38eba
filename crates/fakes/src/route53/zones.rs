//! The operations on hosted zones.

use super::name::{canonical, order};
use super::refusal::Refusal;
use super::request::Request;
use super::service::{Service, document, page_of};
use super::xml::{self, Element};
use super::zone::{NAME_SERVERS, Zone};
use crate::reply::Reply;

/// Most zones of a page.
const PAGE: usize = 100;

impl Service {
    /// Makes a zone; its id.
    pub(super) fn make_zone(&mut self, account: &str, name: String, private: bool) -> String {
        let id = format!("Z{:013}FAKE", self.number());
        let mut zone = Zone::new(id.clone(), account, name, private);
        if private {
            zone.networks.push(("us-east-1".to_owned(), "vpc-0fake".to_owned()));
        }
        self.zones.insert(id.clone(), zone);
        id
    }

    pub(super) fn list_zones(&mut self, account: &str, request: &Request, repeat: bool) -> Result<Reply, Refusal> {
        let count = page_of(request, self.page.min(PAGE))?;
        if request.parameter("delegationsetid").is_some() {
            return Err(Refusal::new(400, "NoSuchDelegationSet", "No delegation set found"));
        }
        let private = request.parameter("hostedzonetype") == Some("PrivateHostedZone");
        let marker = request.parameter("marker");
        if let Some(marker) = marker.filter(|marker| !self.zones.contains_key(*marker)) {
            return Err(Refusal::input(format!("The specified marker is not valid: {marker}")));
        }
        let from = marker.unwrap_or_default().to_owned();
        let zones = self.zones.range(from..).map(|(_, zone)| zone);
        let zones = zones.filter(|zone| zone.account == account && !zone.unlisted && (zone.private || !private));
        let page: Vec<&Zone> = zones.take(count + 1).collect();
        let next = if repeat { page.first() } else { page.get(count) };
        let shown = page.iter().take(count).map(|zone| zone.element()).collect();
        let mut parts = vec![Element::list("HostedZones", shown)];
        parts.extend(marker.map(|marker| Element::text("Marker", marker)));
        parts.push(Element::text("IsTruncated", &next.is_some()));
        parts.extend(next.map(|next| Element::text("NextMarker", &next.id)));
        parts.push(Element::text("MaxItems", &count));
        Ok(document(200, "ListHostedZonesResponse", parts))
    }

    pub(super) fn list_zones_by_name(&mut self, account: &str, request: &Request) -> Result<Reply, Refusal> {
        let count = page_of(request, self.page.min(PAGE))?;
        let (name, id) = (request.parameter("dnsname"), request.parameter("hostedzoneid"));
        if name.is_none() && id.is_some() {
            return Err(Refusal::input("The HostedZoneId parameter needs the DNSName parameter"));
        }
        let invalid = |problem| Refusal::new(400, "InvalidDomainName", problem);
        let from = name.map(|name| canonical(name).map(|name| order(&name))).transpose().map_err(invalid)?;
        let from = (from.unwrap_or_default(), id.unwrap_or_default());
        let mut zones: Vec<&Zone> = self.zones.values().filter(|zone| zone.account == account).collect();
        zones.sort_by_key(|zone| (order(&zone.name), &zone.id));
        zones.retain(|zone| (order(&zone.name), zone.id.as_str()) >= from);
        let shown = zones.iter().take(count).map(|zone| zone.element()).collect();
        let mut parts = vec![Element::list("HostedZones", shown)];
        parts.extend(name.map(|name| Element::text("DNSName", name)));
        parts.extend(id.map(|id| Element::text("HostedZoneId", id)));
        parts.push(Element::text("IsTruncated", &(zones.len() > count)));
        if let Some(next) = zones.get(count) {
            parts.push(Element::text("NextDNSName", &next.name));
            parts.push(Element::text("NextHostedZoneId", &next.id));
        }
        parts.push(Element::text("MaxItems", &count));
        Ok(document(200, "ListHostedZonesByNameResponse", parts))
    }

    /// The private zones of a network, in the order of their ids; the token of a page is the id of its first zone.
    pub(super) fn list_zones_by_vpc(&mut self, account: &str, request: &Request) -> Result<Reply, Refusal> {
        let count = page_of(request, self.page.min(PAGE))?;
        let (Some(id), Some(region)) = (request.parameter("vpcid"), request.parameter("vpcregion")) else {
            return Err(Refusal::input("The VPCId and VPCRegion parameters are required"));
        };
        let from = request.parameter("nexttoken").unwrap_or_default().to_owned();
        let belongs = |zone: &&Zone| {
            zone.account == account && zone.networks.iter().any(|(of, network)| of == region && network == id)
        };
        let zones: Vec<&Zone> =
            self.zones.range(from..).map(|(_, zone)| zone).filter(belongs).take(count + 1).collect();
        let summary = |zone: &&Zone| {
            let owner = Element::list("Owner", vec![Element::text("OwningAccount", &zone.account)]);
            let parts = vec![Element::text("HostedZoneId", &zone.id), Element::text("Name", &zone.name), owner];
            Element::list("HostedZoneSummary", parts)
        };
        let mut parts = vec![Element::list("HostedZoneSummaries", zones.iter().take(count).map(summary).collect())];
        parts.push(Element::text("MaxItems", &count));
        parts.extend(zones.get(count).map(|next| Element::text("NextToken", &next.id)));
        Ok(document(200, "ListHostedZonesByVPCResponse", parts))
    }

    pub(super) fn get_zone(&mut self, account: &str, id: &str) -> Result<Reply, Refusal> {
        let zone = self.zone(account, id)?;
        Ok(document(200, "GetHostedZoneResponse", zone.described()))
    }

    pub(super) fn create_zone(&mut self, account: &str, body: &[u8]) -> Result<Reply, Refusal> {
        let asked = xml::request(body, "CreateHostedZoneRequest", Asked::read)?;
        if self.zones.values().any(|zone| zone.account == account && zone.caller_reference == asked.reference) {
            let text = "The hosted zone you're trying to create already exists.";
            return Err(Refusal::new(409, "HostedZoneAlreadyExists", text));
        }
        let id = self.make_zone(account, asked.name, asked.network.is_some());
        let zone = self.zone(account, &id)?;
        zone.caller_reference = asked.reference;
        zone.comment = asked.comment;
        let network = asked.network.as_ref().map(network);
        zone.networks = asked.network.into_iter().collect();
        let mut parts = vec![zone.element()];
        parts.extend((!zone.private).then(delegation));
        parts.insert(1, self.submit(account, None));
        parts.extend(network);
        let location = format!("https://route53.amazonaws.com/2013-04-01/hostedzone/{id}");
        Ok(document(201, "CreateHostedZoneResponse", parts).with_header("location", location))
    }

    pub(super) fn delete_zone(&mut self, account: &str, id: &str) -> Result<Reply, Refusal> {
        self.not_busy(account, id)?;
        if !self.zone(account, id)?.empty() {
            let text = "The specified hosted zone contains non-required resource record sets and so cannot be deleted.";
            return Err(Refusal::new(400, "HostedZoneNotEmpty", text));
        }
        self.zones.remove(id);
        Ok(document(200, "DeleteHostedZoneResponse", vec![self.submit(account, None)]))
    }
}

/// What `CreateHostedZone` asks for.
struct Asked {
    name: String,
    reference: String,
    comment: Option<String>,
    network: Option<(String, String)>,
}

impl Asked {
    fn read(root: roxmltree::Node<'_, '_>) -> Result<Self, Refusal> {
        xml::only(root, &["Name", "VPC", "CallerReference", "HostedZoneConfig", "DelegationSetId"])?;
        let missing = |name: &'static str| move || Refusal::missing(name);
        let name = xml::text(root, "Name").ok_or_else(missing("Name"))?;
        let name = canonical(name).map_err(|problem| Refusal::new(400, "InvalidDomainName", problem))?;
        let reference = xml::text(root, "CallerReference").ok_or_else(missing("CallerReference"))?.to_owned();
        let config = xml::child(root, "HostedZoneConfig");
        let comment = config.and_then(|config| xml::text(config, "Comment")).map(str::to_owned);
        let network = xml::child(root, "VPC").map(|node| {
            let part = |name| xml::text(node, name).unwrap_or_default().to_owned();
            (part("VPCRegion"), part("VPCId"))
        });
        let private = config.and_then(|config| xml::text(config, "PrivateZone")) == Some("true");
        if private && network.is_none() {
            return Err(Refusal::input("When you're creating a private hosted zone you must specify a VPC"));
        }
        Ok(Self { name, reference, comment, network })
    }
}

impl Zone {
    fn element(&self) -> Element {
        let mut config: Vec<Element> = self.comment.iter().map(|comment| Element::text("Comment", comment)).collect();
        config.push(Element::text("PrivateZone", &self.private));
        let parts = vec![
            Element::text("Id", &format!("/hostedzone/{}", self.id)),
            Element::text("Name", &self.name),
            Element::text("CallerReference", &self.caller_reference),
            Element::list("Config", config),
            Element::text("ResourceRecordSetCount", &self.sets.len()),
        ];
        Element::list("HostedZone", parts)
    }

    /// The zone with its servers, or its networks where it is private.
    fn described(&self) -> Vec<Element> {
        let beside = if self.private {
            Element::list("VPCs", self.networks.iter().map(network).collect())
        } else {
            delegation()
        };
        vec![self.element(), beside]
    }
}

fn delegation() -> Element {
    let servers = NAME_SERVERS.iter().map(|server| Element::text("NameServer", server)).collect();
    Element::list("DelegationSet", vec![Element::list("NameServers", servers)])
}

fn network((region, id): &(String, String)) -> Element {
    Element::list("VPC", vec![Element::text("VPCRegion", region), Element::text("VPCId", id)])
}
