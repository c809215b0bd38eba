//! Applications of a tenant, and the proofs by which they get tokens: a secret, an assertion signed with the key of a certificate,
//! or the token of another identity that the application trusts.
//!
//! <https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow>,
//! <https://learn.microsoft.com/entra/identity-platform/certificate-credentials>,
//! <https://learn.microsoft.com/entra/identity-platform/reference-error-codes>

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, SignatureVerificationAlgorithm};
use serde_json::{Value, json};
use webpki::EndEntityCert;
use webpki::ring::{RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256_LEGACY_KEY};

/// How many refusals were answered: each has ids of its own.
static REFUSALS: AtomicU32 = AtomicU32::new(1);

/// Seconds by which clocks may differ.
const SKEW: f64 = 300.0;
const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// What an application proves itself with.
#[derive(Debug, Default)]
pub(super) struct Application {
    pub(super) secrets: BTreeSet<String>,
    certificates: Vec<CertificateDer<'static>>,
    pub(super) federated: BTreeSet<String>,
}

impl Application {
    /// Whether this is a certificate in PEM, with a key that can be used.
    pub(super) fn add_certificate(&mut self, pem: &str) -> bool {
        let Ok(certificate) = CertificateDer::from_pem_slice(pem.as_bytes()) else { return false };
        let usable = EndEntityCert::try_from(&certificate).is_ok();
        self.certificates.push(certificate);
        usable
    }
}

/// Applications by tenant and client id.
pub(super) type Applications = BTreeMap<[String; 2], Application>;

/// Why no token is given out, with the number that Entra ID has for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TokenRefusal {
    pub(super) status: u16,
    error: &'static str,
    number: u32,
    message: String,
}

impl TokenRefusal {
    fn new(status: u16, error: &'static str, number: u32, message: impl Into<String>) -> Self {
        Self { status, error, number, message: message.into() }
    }

    pub(super) fn tenant(error: &'static str, tenant: &str) -> Self {
        let text = format!(
            "Tenant '{tenant}' not found. Check to make sure you have the correct tenant ID and are signing into the correct cloud."
        );
        Self::new(400, error, 90_002, text)
    }

    fn assertion(number: u32, message: impl Into<String>) -> Self {
        Self::new(401, "invalid_client", number, message)
    }

    /// The body of the answer.
    pub(super) fn body(&self) -> Value {
        let number_of_refusal = REFUSALS.fetch_add(1, Ordering::Relaxed);
        let trace = format!("{number_of_refusal:08x}-0000-4000-8000-00000000ace0");
        let correlation = format!("{number_of_refusal:08x}-0000-4000-8000-00000000c044");
        let time = jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M:%SZ").to_string();
        let Self { error, number, message, .. } = self;
        json!({
            "error": error, "error_codes": [number], "timestamp": time, "trace_id": trace, "correlation_id": correlation,
            "error_description":
                format!("AADSTS{number}: {message} Trace ID: {trace} Correlation ID: {correlation} Timestamp: {time}"),
            "error_uri": format!("https://login.microsoftonline.com/error?code={number}"),
        })
    }
}

/// Whether the form asks for a token that its application may have. `endpoint` is the address of the token endpoint without a
/// scheme.
///
/// # Errors
/// Why not.
pub(super) fn check(
    applications: &Applications,
    tenant: &str,
    endpoint: &str,
    form: &BTreeMap<String, String>,
) -> Result<(), TokenRefusal> {
    let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
    let (tenant, client) = (tenant.to_ascii_lowercase(), field("client_id"));
    if !applications.keys().any(|[known, _]| *known == tenant) {
        return Err(TokenRefusal::tenant("invalid_request", &tenant));
    }
    if field("grant_type") != "client_credentials" {
        let text = "The app requested an unsupported grant type.";
        return Err(TokenRefusal::new(400, "unsupported_grant_type", 70_003, text));
    }
    check_scope(field("scope"))?;
    let application = applications.get(&[tenant.clone(), client.to_ascii_lowercase()]).ok_or_else(|| {
        let text = format!("Application with identifier '{client}' was not found in the directory '{tenant}'.");
        TokenRefusal::new(400, "unauthorized_client", 700_016, text)
    })?;
    match (field("client_assertion_type"), field("client_assertion")) {
        ("", "") => application.check_secret(client, field("client_secret")),
        (ASSERTION, assertion) => application.check_assertion(client, endpoint, assertion),
        _ => {
            let text = "The client assertion type is not supported.";
            Err(TokenRefusal::new(400, "invalid_request", 900_144, text))
        }
    }
}

fn check_scope(scope: &str) -> Result<(), TokenRefusal> {
    if scope.strip_suffix("/.default").is_some_and(|audience| audience.contains("://")) {
        return Ok(());
    }
    let text = format!(
        "The provided value for scope {scope} is not valid. Client credential flows must have a scope value with /.default suffixed to the resource identifier (application ID URI)."
    );
    Err(TokenRefusal::new(400, "invalid_scope", 1_002_012, text))
}

impl Application {
    fn check_secret(&self, client: &str, secret: &str) -> Result<(), TokenRefusal> {
        if secret.is_empty() {
            let text = "The request body must contain the following parameter: 'client_assertion' or 'client_secret'.";
            return Err(TokenRefusal::new(401, "invalid_client", 7_000_218, text));
        }
        if self.secrets.contains(secret) {
            return Ok(());
        }
        let text = format!(
            "Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, not the client secret ID, for a secret added to app '{client}'."
        );
        Err(TokenRefusal::new(401, "invalid_client", 7_000_215, text))
    }

    /// Looks an assertion through: RFC 7523, and what the documentation demands of its claims.
    fn check_assertion(&self, client: &str, endpoint: &str, text: &str) -> Result<(), TokenRefusal> {
        if self.federated.contains(text) {
            return Ok(());
        }
        let malformed = || TokenRefusal::new(400, "invalid_request", 50_027, "JWT token is invalid or malformed.");
        let (signed, signature) = text.rsplit_once('.').ok_or_else(malformed)?;
        let (header, claims) = signed.split_once('.').ok_or_else(malformed)?;
        let (header, claims) = (parsed(header).ok_or_else(malformed)?, parsed(claims).ok_or_else(malformed)?);
        if self.certificates.is_empty() {
            let text = "No matching federated identity record found for presented assertion.";
            return Err(TokenRefusal::assertion(70_021, text));
        }
        let certificate = self.certificates.iter().find(|known| is_of(known, &header));
        let certificate = certificate.ok_or_else(|| {
            let text =
                "The certificate with identifier used to sign the client assertion is not registered on application.";
            TokenRefusal::assertion(700_027, text)
        })?;
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).map_err(|_| malformed())?;
        if !verifies(certificate, &header, signed.as_bytes(), &signature) {
            let text = "Client assertion failed signature validation.";
            return Err(TokenRefusal::assertion(700_027, text));
        }
        check_claims(&claims, client, endpoint)
    }
}

fn check_claims(claims: &Value, client: &str, endpoint: &str) -> Result<(), TokenRefusal> {
    let of_client = |name: &str| claims[name].as_str().is_some_and(|id| id.eq_ignore_ascii_case(client));
    if !of_client("iss") || !of_client("sub") {
        let text = "The issuer and the subject of the client assertion must be the application.";
        return Err(TokenRefusal::assertion(700_021, text));
    }
    let audience = claims["aud"].as_str().unwrap_or_default();
    if audience.split_once("://").map(|(_, rest)| rest) != Some(endpoint) {
        let text = format!("Client assertion audience claim '{audience}' does not match Realm issuer.");
        return Err(TokenRefusal::assertion(700_023, text));
    }
    if claims["jti"].as_str().is_none_or(str::is_empty) {
        return Err(TokenRefusal::assertion(50_027, "JWT token is invalid: it has no 'jti'."));
    }
    // Times may have a fraction (RFC 7519 2), and clients write one.
    let now = jiff::Timestamp::now().duration_since(jiff::Timestamp::UNIX_EPOCH).as_secs_f64();
    let begins = claims["nbf"].as_f64().unwrap_or_default();
    if begins > now + SKEW || claims["exp"].as_f64().is_none_or(|ends| ends <= now - SKEW) {
        let text = "Client assertion is not within its valid time range.";
        return Err(TokenRefusal::assertion(700_024, text));
    }
    Ok(())
}

/// A part of a JSON Web Token.
fn parsed(part: &str) -> Option<Value> {
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

/// Whether the header names this certificate by its thumbprint; some clients pad it.
fn is_of(certificate: &CertificateDer<'_>, header: &Value) -> bool {
    [("x5t", &SHA1_FOR_LEGACY_USE_ONLY), ("x5t#S256", &SHA256)].iter().any(|(name, algorithm)| {
        let thumbprint = BASE64_URL_SAFE_NO_PAD.encode(digest(algorithm, certificate));
        header[name].as_str().is_some_and(|named| named.trim_end_matches('=') == thumbprint)
    })
}

fn verifies(certificate: &CertificateDer<'_>, header: &Value, signed: &[u8], signature: &[u8]) -> bool {
    let algorithm: &dyn SignatureVerificationAlgorithm = match header["alg"].as_str() {
        Some("RS256") => RSA_PKCS1_2048_8192_SHA256,
        Some("PS256") => RSA_PSS_2048_8192_SHA256_LEGACY_KEY,
        _ => return false,
    };
    EndEntityCert::try_from(certificate)
        .is_ok_and(|certificate| certificate.verify_signature(algorithm, signed, signature).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_looked_at() {
        let now = jiff::Timestamp::now().as_second();
        let endpoint = "login.example.org/t/oauth2/v2.0/token";
        let claims = json!({
            "iss": "app", "sub": "app", "jti": "1", "nbf": now, "exp": now + 600, "aud": format!("https://{endpoint}"),
        });
        assert_eq!(check_claims(&claims, "APP", endpoint), Ok(()));
        for (name, value, number) in [
            ("iss", json!("other"), 700_021),
            ("aud", json!("https://login.example.org/other/oauth2/v2.0/token"), 700_023),
            ("jti", json!(""), 50_027),
            ("exp", json!(now - 600), 700_024),
            ("nbf", json!(now + 600), 700_024),
        ] {
            let mut wrong = claims.clone();
            wrong[name] = value;
            assert_eq!(check_claims(&wrong, "app", endpoint).unwrap_err().number, number, "{name}");
        }
    }

    #[test]
    fn what_is_asked_for_is_looked_at() {
        let application = Application { secrets: ["secret".to_owned()].into(), ..Application::default() };
        let applications = Applications::from([(["t".to_owned(), "app".to_owned()], application)]);
        let good = [
            ("grant_type", "client_credentials"),
            ("client_id", "app"),
            ("client_secret", "secret"),
            ("scope", "https://management.azure.com/.default"),
        ];
        let ask = |tenant: &str, name: &str, value: &str| {
            let mut form: BTreeMap<String, String> =
                good.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            form.insert(name.to_owned(), value.to_owned());
            check(&applications, tenant, "x", &form).map_err(|refusal| (refusal.status, refusal.number))
        };
        assert_eq!(ask("T", "client_id", "APP"), Ok(()));
        assert_eq!(ask("other", "", ""), Err((400, 90_002)));
        assert_eq!(ask("t", "client_id", "other"), Err((400, 700_016)));
        assert_eq!(ask("t", "grant_type", "password"), Err((400, 70_003)));
        assert_eq!(ask("t", "scope", "https://management.azure.com"), Err((400, 1_002_012)));
        assert_eq!(ask("t", "client_secret", "wrong"), Err((401, 7_000_215)));
        assert_eq!(ask("t", "client_secret", ""), Err((401, 7_000_218)));
        assert_eq!(ask("t", "client_assertion_type", "other"), Err((400, 900_144)));
    }
}
