//! Who calls, and where callers get their tokens: the token endpoint of a tenant, and the metadata service of a machine.
//!
//! <https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token>

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::refusal::Refusal;
use super::request::Request;
use super::tenant::{Application, Applications, TokenRefusal, check};
use crate::reply::Reply;

/// The token that always has access to everything.
pub const TOKEN: &str = "eyJ0eXAi.TOKENFAKE";

/// How every token begins that is given out here.
const MINTED: &str = "eyJ0eXAi.MINTED-";
/// Seconds for which a token is said to be good.
const LIFETIME: u64 = 3_599;

/// What a token is good for.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    /// The zones by their names; all if there is none.
    zones: BTreeSet<String>,
    pub(super) writes: bool,
    expired: bool,
}

impl Caller {
    fn all() -> Self {
        Self { zones: BTreeSet::new(), writes: true, expired: false }
    }

    pub(super) fn sees(&self, zone: &str) -> bool {
        self.zones.is_empty() || self.zones.contains(&zone.to_ascii_lowercase())
    }
}

/// A request for a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenRequest {
    /// At the token endpoint of a tenant.
    Token(String),
    /// What a client wants to know of a tenant first.
    OpenIdConfiguration(String),
    /// On a machine.
    Metadata,
    /// In a web app, whose environment names the address (`IDENTITY_ENDPOINT`) and a secret (`IDENTITY_HEADER`).
    AppService,
}

impl TokenRequest {
    /// What a request asks for; none if it is none.
    pub(super) fn of(request: &Request) -> Option<Self> {
        let parts = request.parts();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match (request.method.as_str(), parts.as_slice()) {
            ("POST", [tenant, "oauth2", "v2.0", "token"]) => Some(Self::Token((*tenant).to_owned())),
            ("GET", [tenant, "v2.0", ".well-known", "openid-configuration"]) => {
                Some(Self::OpenIdConfiguration((*tenant).to_owned()))
            }
            ("GET", ["metadata", "identity", "oauth2", "token"]) => Some(Self::Metadata),
            ("GET", ["msi", "token"]) => Some(Self::AppService),
            _ => None,
        }
    }

    /// What it is called in the count of calls.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Token(_) => "Token",
            Self::OpenIdConfiguration(_) => "OpenIdConfiguration",
            Self::Metadata | Self::AppService => "Metadata",
        }
    }
}

/// Tokens, and who may get one.
#[derive(Debug)]
pub(super) struct Access {
    tokens: BTreeMap<String, Caller>,
    applications: Applications,
    /// The client ids of the machine's identities, if this is one; none of them is a machine with an identity of its own.
    machine: Option<BTreeSet<String>>,
    /// In seconds.
    pub(super) lifetime: u64,
    minted: usize,
}

impl Default for Access {
    fn default() -> Self {
        Self {
            tokens: BTreeMap::from([(TOKEN.to_owned(), Caller::all())]),
            applications: BTreeMap::new(),
            machine: None,
            lifetime: LIFETIME,
            minted: 0,
        }
    }
}

impl Access {
    pub(super) fn allow_token(&mut self, token: &str, zones: &[&str], writes: bool) {
        let zones = zones.iter().map(|zone| zone.to_ascii_lowercase()).collect();
        self.tokens.insert(token.to_owned(), Caller { zones, writes, ..Caller::all() });
    }

    /// Whether there was such a token.
    pub(super) fn expire_token(&mut self, token: &str) -> bool {
        self.tokens.get_mut(token).map(|caller| caller.expired = true).is_some()
    }

    /// Every token that was given out expires.
    pub(super) fn expire_minted(&mut self) {
        let minted = self.tokens.iter_mut().filter(|(token, _)| token.starts_with(MINTED));
        minted.for_each(|(_, caller)| caller.expired = true);
    }

    pub(super) fn application(&mut self, tenant: &str, client: &str) -> &mut Application {
        self.applications.entry([tenant, client].map(str::to_ascii_lowercase)).or_default()
    }

    pub(super) fn set_machine(&mut self, identities: Option<&[&str]>) {
        self.machine = identities.map(|ids| ids.iter().map(|id| (*id).to_owned()).collect());
    }

    /// The caller of a request on zones.
    ///
    /// # Errors
    /// When it has no token, or one that is over.
    pub(super) fn caller(&self, request: &Request) -> Result<Caller, Refusal> {
        let token = request.header("authorization").and_then(|header| header.strip_prefix("Bearer "));
        let caller = self.tokens.get(token.ok_or_else(Refusal::no_token)?).ok_or_else(Refusal::unknown_token)?;
        if caller.expired { Err(Refusal::expired()) } else { Ok(caller.clone()) }
    }

    /// Answers a request for a token.
    pub(super) fn answer(&mut self, asked: &TokenRequest, request: &Request) -> Reply {
        match asked {
            TokenRequest::Token(tenant) => self.token(tenant, request),
            TokenRequest::OpenIdConfiguration(tenant) => self.configuration(tenant, request),
            TokenRequest::Metadata if request.header("metadata").is_none_or(|it| !it.eq_ignore_ascii_case("true")) => {
                json_reply(400, &invalid("Required metadata header not specified"))
            }
            TokenRequest::AppService if request.header("x-identity-header").is_none_or(str::is_empty) => {
                json_reply(400, &invalid("Required header X-IDENTITY-HEADER not specified"))
            }
            TokenRequest::Metadata | TokenRequest::AppService => self.machine(request),
        }
    }

    fn mint(&mut self) -> String {
        self.minted += 1;
        let token = format!("{MINTED}{}", self.minted);
        self.tokens.insert(token.clone(), Caller::all());
        token
    }

    fn token(&mut self, tenant: &str, request: &Request) -> Reply {
        let endpoint = format!("{}/{tenant}/oauth2/v2.0/token", request.host());
        match check(&self.applications, tenant, &endpoint, &request.form()) {
            Ok(()) => {
                let (token, lifetime) = (self.mint(), self.lifetime);
                let body = json!({
                    "token_type": "Bearer", "expires_in": lifetime, "ext_expires_in": lifetime, "access_token": token,
                });
                json_reply(200, &body)
            }
            Err(refusal) => json_reply(refusal.status, &refusal.body()),
        }
    }

    /// Where the endpoints of a tenant are: OpenID Connect Discovery 1.0.
    fn configuration(&self, tenant: &str, request: &Request) -> Reply {
        if !self.applications.keys().any(|[known, _]| known.eq_ignore_ascii_case(tenant)) {
            let refusal = TokenRefusal::tenant("invalid_tenant", tenant);
            return json_reply(refusal.status, &refusal.body());
        }
        // Clients take only what they reach over TLS for an authority, whatever they reach it through.
        let base = format!("https://{}/{tenant}", request.host());
        let body = json!({
            "issuer": format!("{base}/v2.0"), "authorization_endpoint": format!("{base}/oauth2/v2.0/authorize"),
            "token_endpoint": format!("{base}/oauth2/v2.0/token"),
        });
        json_reply(200, &body)
    }

    fn machine(&mut self, request: &Request) -> Reply {
        let refused = |why: &str| json_reply(400, &invalid(why));
        let Some(identities) = &self.machine else { return json_reply(404, &json!({ "error": "not_found" })) };
        let Some(resource) = request.parameter("resource").filter(|_| request.parameter("api-version").is_some())
        else {
            return refused("Required query variables 'api-version' and 'resource' are missing");
        };
        match identity(identities, request.parameter("client_id")) {
            Ok(identity) => self.machine_token(&identity, resource),
            Err(why) => refused(why),
        }
    }

    /// A token of the machine: its times are texts.
    fn machine_token(&mut self, identity: &str, resource: &str) -> Reply {
        let (lifetime, now) = (self.lifetime, jiff::Timestamp::now().as_second());
        let body = json!({
            "access_token": self.mint(), "client_id": identity, "token_type": "Bearer", "resource": resource,
            "expires_in": lifetime.to_string(), "ext_expires_in": lifetime.to_string(), "not_before": now.to_string(),
            "expires_on": now.saturating_add_unsigned(lifetime).to_string(),
        });
        json_reply(200, &body)
    }
}

fn invalid(why: &str) -> serde_json::Value {
    json!({ "error": "invalid_request", "error_description": why })
}

/// The client id of the identity that a machine takes; the only one it has, if a request names none.
fn identity(identities: &BTreeSet<String>, asked: Option<&str>) -> Result<String, &'static str> {
    match (asked, identities.len()) {
        (Some(id), _) if identities.contains(id) => Ok(id.to_owned()),
        (Some(_), _) => Err("Identity not found"),
        (None, 0) => Ok("00000000-0000-0000-0000-000000000001".to_owned()),
        (None, 1) => Ok(identities.first().cloned().unwrap_or_default()),
        (None, _) => Err(
            "Multiple user assigned identities exist, please specify the clientId / resourceId of the identity in the token request",
        ),
    }
}

fn json_reply(status: u16, body: &Value) -> Reply {
    Reply::new(status, "application/json; charset=utf-8", body.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_until_it_is_over() {
        let mut access = Access::default();
        let ask = |access: &Access, token: &str| {
            let mut request = Request::new("GET", "/");
            request.set("authorization", token);
            access.caller(&request).map_err(|refusal| refusal.code)
        };
        let minted = access.mint();
        access.allow_token("limited", &["Example.org"], false);
        let limited = ask(&access, "Bearer limited").unwrap();
        assert!(limited.sees("EXAMPLE.org") && !limited.sees("other.org") && !limited.writes);
        assert!(
            ask(&access, &format!("Bearer {minted}")).is_ok_and(|caller| caller.writes && caller.sees("other.org"))
        );
        access.expire_minted();
        assert_eq!(ask(&access, &format!("Bearer {minted}")).unwrap_err(), "ExpiredAuthenticationToken");
        assert!(ask(&access, &format!("Bearer {TOKEN}")).is_ok());
        assert_eq!(ask(&access, "Bearer other").unwrap_err(), "InvalidAuthenticationToken");
        assert_eq!(ask(&access, "Basic other").unwrap_err(), "AuthenticationFailed");
        assert!(access.expire_token("limited") && !access.expire_token("other"));
    }

    #[test]
    fn a_machine_has_identities() {
        let none: &[&str] = &[];
        for (identities, asked, status, text) in [
            (None, "", 404, "not_found"),
            (Some(none), "", 200, "00000000-0000-0000-0000-000000000001"),
            (Some(none), "&client_id=a", 400, "Identity not found"),
            (Some(&["a"][..]), "", 200, "\"client_id\":\"a\""),
            (Some(&["a", "b"][..]), "&client_id=b", 200, "\"client_id\":\"b\""),
            (Some(&["a", "b"][..]), "", 400, "Multiple user assigned identities"),
        ] {
            let mut access = Access::default();
            access.set_machine(identities);
            let path = format!("/metadata/identity/oauth2/token?api-version=2018-02-01&resource=x{asked}");
            let mut request = Request::new("GET", &path);
            request.set("metadata", "true");
            let reply = access.answer(&TokenRequest::of(&request).unwrap(), &request);
            assert_eq!(reply.status, status, "{identities:?} {asked}");
            assert!(reply.body.contains(text), "{identities:?} {asked}: {}", reply.body);
        }
    }
}
