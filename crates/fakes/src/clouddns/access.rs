//! Who calls, and where callers get their tokens: the token endpoint of OAuth 2.0, the metadata server of a machine, the exchange of
//! another identity's token, and tokens of a service account that a caller may act as.
//!
//! <https://developers.google.com/identity/protocols/oauth2/service-account>,
//! <https://cloud.google.com/compute/docs/metadata/overview>, <https://cloud.google.com/iam/docs/reference/sts/rest>

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::{Value, json};

use super::refusal::Refusal;
use super::request::Request;
use crate::reply::Reply;

/// The token that always has access to everything.
pub const TOKEN: &str = "ya29.TOKENFAKE";

/// Bytes before the key itself in the form that certificates have (RFC 5280 4.1.2.7), of keys of 2,048 to 4,096 bits.
const KEY_START: usize = 24;

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
        self.zones.is_empty() || self.zones.contains(zone)
    }
}

/// Tokens, and who may get one.
#[derive(Debug)]
pub(super) struct Access {
    tokens: BTreeMap<String, Caller>,
    /// The public keys of service accounts in DER, by their addresses.
    accounts: BTreeMap<String, Vec<u8>>,
    /// Client id, client secret and refresh token.
    users: BTreeSet<[String; 3]>,
    /// The project of the machine, if this is one.
    machine: Option<String>,
    /// Audience and token of identities that are exchanged.
    federated: BTreeSet<[String; 2]>,
    /// Service accounts that exchanged identities may act as.
    /// With the accounts that have to stand between.
    impersonated: BTreeMap<String, Vec<String>>,
    minted: usize,
}

impl Default for Access {
    fn default() -> Self {
        Self {
            tokens: BTreeMap::from([(TOKEN.to_owned(), Caller::all())]),
            accounts: BTreeMap::new(),
            users: BTreeSet::new(),
            machine: None,
            federated: BTreeSet::new(),
            impersonated: BTreeMap::new(),
            minted: 0,
        }
    }
}

impl Access {
    pub(super) fn allow_token(&mut self, token: &str, zones: &[&str], writes: bool) {
        let zones = zones.iter().map(|zone| (*zone).to_owned()).collect();
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

    /// `key` is the public key in PEM. Whether it is one.
    pub(super) fn allow_account(&mut self, email: &str, key: &str) -> bool {
        let lines: String = key.lines().filter(|line| !line.starts_with("-----")).collect();
        let Ok(der) = BASE64_STANDARD.decode(lines) else { return false };
        let Some(key) = der.get(KEY_START..) else { return false };
        self.accounts.insert(email.to_owned(), key.to_vec());
        true
    }

    pub(super) fn allow_user(&mut self, id: &str, secret: &str, refresh: &str) {
        self.users.insert([id, secret, refresh].map(str::to_owned));
    }

    pub(super) fn set_machine(&mut self, project: Option<&str>) {
        self.machine = project.map(str::to_owned);
    }

    pub(super) fn allow_federated(&mut self, audience: &str, token: &str) {
        self.federated.insert([audience, token].map(str::to_owned));
    }

    pub(super) fn allow_impersonation(&mut self, email: &str, delegates: &[&str]) {
        self.impersonated.insert(email.to_owned(), delegates.iter().map(|name| (*name).to_owned()).collect());
    }

    /// The caller of a request on zones.
    pub(super) fn caller(&self, request: &Request) -> Result<Caller, Refusal> {
        let token = request.header("authorization").and_then(|header| header.strip_prefix("Bearer "));
        let caller = token.and_then(|token| self.tokens.get(token));
        caller.filter(|caller| !caller.expired).cloned().ok_or_else(Refusal::credentials)
    }

    /// A request for a token, with its name; none if it is none.
    pub(super) fn answer(&mut self, request: &Request) -> Option<(&'static str, Reply)> {
        const MACHINE: &str = "computeMetadata/v1/";
        match (request.method.as_str(), request.path.as_str()) {
            ("POST", "token") => Some(("Token", self.token(request))),
            ("POST", "v1/token") => Some(("ExchangeToken", self.exchange(request))),
            ("GET", path) if path.starts_with(MACHINE) => {
                Some(("Metadata", self.metadata(request, path.trim_start_matches(MACHINE))))
            }
            ("GET", "") => Some(("Metadata", self.metadata(request, ""))),
            ("POST", path) => {
                let account =
                    path.strip_prefix("v1/projects/-/serviceAccounts/")?.strip_suffix(":generateAccessToken")?;
                Some(("GenerateAccessToken", self.impersonate(request, &account.replace("%40", "@"))))
            }
            _ => None,
        }
    }

    fn mint(&mut self) -> String {
        self.minted += 1;
        let token = format!("{MINTED}{}", self.minted);
        self.tokens.insert(token.clone(), Caller::all());
        token
    }

    fn token(&mut self, request: &Request) -> Reply {
        let form = request.form();
        let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
        let refused = |why: &str| json_reply(400, &json!({ "error": "invalid_grant", "error_description": why }));
        match field("grant_type") {
            "urn:ietf:params:oauth:grant-type:jwt-bearer" => match self.assertion(field("assertion")) {
                Ok(()) => self.granted(),
                Err(why) => refused(why),
            },
            "refresh_token" => {
                let user = ["client_id", "client_secret", "refresh_token"].map(|name| field(name).to_owned());
                if self.users.contains(&user) { self.granted() } else { refused("Bad Request") }
            }
            _ => json_reply(400, &json!({ "error": "unsupported_grant_type" })),
        }
    }

    fn granted(&mut self) -> Reply {
        json_reply(200, &json!({ "access_token": self.mint(), "expires_in": 3599, "token_type": "Bearer" }))
    }

    /// Looks an assertion through: RFC 7523, and what the documentation demands of its claims.
    fn assertion(&self, text: &str) -> Result<(), &'static str> {
        let (signed, signature) = text.rsplit_once('.').ok_or("Invalid JWT: three parts are expected")?;
        let (header, claims) = signed.split_once('.').ok_or("Invalid JWT: three parts are expected")?;
        let parsed = |part: &str| {
            let bytes = BASE64_URL_SAFE_NO_PAD.decode(part).ok()?;
            serde_json::from_slice::<Value>(&bytes).ok()
        };
        let header = parsed(header).ok_or("Invalid JWT header")?;
        let claims = parsed(claims).ok_or("Invalid JWT claims")?;
        if header["alg"] != "RS256" {
            return Err("Invalid JWT: RS256 is expected");
        }
        let email = claims["iss"].as_str().unwrap_or_default();
        let key = self.accounts.get(email).ok_or("Invalid grant: account not found")?;
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).map_err(|_| "Invalid JWT Signature.")?;
        let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key);
        key.verify(signed.as_bytes(), &signature).map_err(|_| "Invalid JWT Signature.")?;
        if !claims["aud"].as_str().is_some_and(|audience| audience.ends_with("/token")) {
            return Err("Invalid JWT: the audience is not the token endpoint");
        }
        if claims["scope"].as_str().is_none_or(str::is_empty) {
            return Err("Empty or missing scope not allowed.");
        }
        let now = jiff::Timestamp::now().as_second();
        let (issued, ends) = (claims["iat"].as_i64().unwrap_or_default(), claims["exp"].as_i64().unwrap_or_default());
        if issued > now + 300 || ends <= now || ends - issued > 3_600 {
            return Err("Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe.");
        }
        Ok(())
    }

    fn metadata(&mut self, request: &Request, path: &str) -> Reply {
        let text = |status, body: &str| Reply::new(status, "application/text", body.to_owned());
        let Some(project) = self.machine.clone() else { return text(404, "") };
        if request.header("metadata-flavor") != Some("Google") && !path.is_empty() {
            return text(403, "Missing Metadata-Flavor:Google header.");
        }
        let account = "instance/service-accounts/default/";
        let reply = match path.trim_end_matches('/') {
            "" => text(200, "computeMetadata/\n"),
            "project/project-id" => text(200, &project),
            path if path == format!("{account}token") => self.granted(),
            path if path == format!("{account}email") => {
                text(200, &format!("default@{project}.iam.gserviceaccount.com"))
            }
            path if path == account.trim_end_matches('/') => json_reply(
                200,
                &json!({ "email": format!("default@{project}.iam.gserviceaccount.com"), "aliases": ["default"],
                    "scopes": ["https://www.googleapis.com/auth/cloud-platform"] }),
            ),
            "universe/universe-domain" => text(200, "googleapis.com"),
            _ => text(404, ""),
        };
        reply.with_header("metadata-flavor", "Google".to_owned())
    }

    fn exchange(&mut self, request: &Request) -> Reply {
        let form = request.form();
        let field = |one: &str, other: &str| form.get(one).or_else(|| form.get(other)).cloned().unwrap_or_default();
        let wanted = [field("audience", "audience"), field("subject_token", "subjectToken")];
        if field("grant_type", "grantType") != "urn:ietf:params:oauth:grant-type:token-exchange" {
            return json_reply(400, &json!({ "error": "unsupported_grant_type" }));
        }
        if !self.federated.contains(&wanted) {
            let why = "The audience in ID Token does not match the expected audience.";
            return json_reply(400, &json!({ "error": "invalid_grant", "error_description": why }));
        }
        let issued = "urn:ietf:params:oauth:token-type:access_token";
        let token = self.mint();
        json_reply(
            200,
            &json!({ "access_token": token, "issued_token_type": issued, "token_type": "Bearer", "expires_in": 3600 }),
        )
    }

    fn impersonate(&mut self, request: &Request, account: &str) -> Reply {
        if let Err(refusal) = self.caller(request) {
            return json_reply(refusal.status, &refusal.body());
        }
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let delegates: Vec<&str> =
            body["delegates"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if self.impersonated.get(account).is_none_or(|between| *between != delegates) {
            let why = "Permission 'iam.serviceAccounts.getAccessToken' denied on resource (or it may not exist).";
            return json_reply(
                403,
                &json!({ "error": { "code": 403, "message": why, "status": "PERMISSION_DENIED" } }),
            );
        }
        let ends = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(3_600);
        json_reply(
            200,
            &json!({ "accessToken": self.mint(), "expireTime": ends.strftime("%Y-%m-%dT%H:%M:%SZ").to_string() }),
        )
    }
}

/// How every token begins that is given out here.
const MINTED: &str = "ya29.MINTED-";

fn json_reply(status: u16, body: &Value) -> Reply {
    Reply::new(status, "application/json; charset=UTF-8", body.to_string())
}
