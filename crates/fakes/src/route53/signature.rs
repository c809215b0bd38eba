//! Signature Version 4: the form of the header, and the signature itself where the secret is known. *Create a signed AWS API
//! request* in the IAM user guide.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};

use super::refusal::Refusal;
use super::request::Request;

/// What the `Authorization` header says.
#[derive(Debug)]
pub(super) struct Signature<'a> {
    /// The access key.
    pub(super) key: &'a str,
    /// Date, region, service and `aws4_request`.
    scope: [&'a str; 4],
    headers: BTreeSet<&'a str>,
    /// In hexadecimal.
    claimed: &'a str,
}

impl<'a> Signature<'a> {
    /// Reads the header of a request to `service`.
    pub(super) fn read(request: &'a Request, service: &str) -> Result<Self, Refusal> {
        let missing = || Refusal::new(403, "MissingAuthenticationToken", "Missing Authentication Token");
        let header = request.header("authorization").ok_or_else(missing)?;
        let incomplete = |what: &str| {
            let text = format!("Authorization header requires '{what}' parameter. Authorization={header}");
            Refusal::new(400, "IncompleteSignature", text)
        };
        let fields = header.strip_prefix("AWS4-HMAC-SHA256 ").ok_or_else(|| incomplete("Credential"))?;
        let fields: BTreeMap<&str, &str> = fields.split(',').filter_map(|field| field.trim().split_once('=')).collect();
        let field = |name: &str| fields.get(name).copied().ok_or_else(|| incomplete(name));
        let (credential, headers, signature) = (field("Credential")?, field("SignedHeaders")?, field("Signature")?);
        let [key, date, region, signed_for, end] = credential.split('/').collect::<Vec<_>>()[..] else {
            return Err(mismatch("Credential must have exactly 5 slash-delimited elements"));
        };
        let scope = [date, region, signed_for, end];
        let found = Self { key, scope, headers: headers.split(';').collect(), claimed: signature };
        found.check(request, service)?;
        Ok(found)
    }

    fn check(&self, request: &Request, service: &str) -> Result<(), Refusal> {
        let [date, _region, signed_for, end] = self.scope;
        if signed_for != service || end != "aws4_request" {
            return Err(mismatch(&format!("Credential should be scoped to correct service: '{service}'.")));
        }
        if date.len() != 8 || !request.header("x-amz-date").unwrap_or_default().starts_with(date) {
            return Err(mismatch(
                "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP",
            ));
        }
        let token = request.header("x-amz-security-token").map(|_| "x-amz-security-token");
        let mut needed = ["host", "x-amz-date"].into_iter().chain(token);
        if let Some(needed) = needed.find(|needed| !self.headers.contains(needed)) {
            return Err(mismatch(&format!("'{needed}' must be a 'SignedHeader' in the AWS Authorization.")));
        }
        let hexadecimal = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if self.claimed.len() != 64 || !self.claimed.bytes().all(hexadecimal) {
            return Err(self.different(request));
        }
        Ok(())
    }

    /// Computes the signature again.
    pub(super) fn verify(&self, request: &Request, secret: &str) -> Result<(), Refusal> {
        let start = format!("AWS4{secret}").into_bytes();
        let key = self.scope.iter().fold(start, |key, part| sign(&key, part));
        let signed = hexadecimal(&sign(&key, &self.to_sign(request)));
        if signed == self.claimed { Ok(()) } else { Err(self.different(request)) }
    }

    /// The text that is signed.
    fn to_sign(&self, request: &Request) -> String {
        let scope = self.scope.join("/");
        let date = request.header("x-amz-date").unwrap_or_default();
        format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", digest(self.canonical(request).as_bytes()))
    }

    /// Another signature was expected: the service repeats what it would have signed, with the headers of the request.
    fn different(&self, request: &Request) -> Refusal {
        mismatch(&format!(
            "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access \
             Key and signing method. Consult the service documentation for details.\n\n\
             The Canonical String for this request should have been\n'{}'\n\nThe String-to-Sign should have been\n'{}'\n",
            self.canonical(request),
            self.to_sign(request),
        ))
    }

    /// The canonical request.
    fn canonical(&self, request: &Request) -> String {
        let mut lines = vec![request.method().to_owned(), encoded(request.path(), b"/"), query(request.query())];
        for name in &self.headers {
            let value = request.header(name).unwrap_or_default().split_ascii_whitespace().collect::<Vec<_>>().join(" ");
            lines.push(format!("{name}:{value}"));
        }
        lines.push(String::new());
        lines.push(self.headers.iter().copied().collect::<Vec<_>>().join(";"));
        lines.push(digest(&request.body));
        lines.join("\n")
    }
}

fn mismatch(text: &str) -> Refusal {
    Refusal::new(403, "SignatureDoesNotMatch", text)
}

/// The parameters by name and value, each encoded in the one way that counts.
fn query(raw: &str) -> String {
    let pairs = form_urlencoded::parse(raw.as_bytes());
    let mut pairs: Vec<(String, String)> =
        pairs.map(|(name, value)| (encoded(&name, b""), encoded(&value, b""))).collect();
    pairs.sort();
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

fn encoded(text: &str, kept: &[u8]) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || kept.contains(&byte);
    let one = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(one).collect()
}

fn sign(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length is taken");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn digest(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing into a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(authorization: &str) -> Request {
        let mut request = Request::new("GET", "/2013-04-01/hostedzone?name=%5C052.a.org&maxitems=1");
        request.set("authorization", authorization);
        request.set("host", "127.0.0.1:80");
        request.set("x-amz-date", "20260102T030405Z");
        request
    }

    fn signed(signature: &str) -> String {
        let scope = "AKID/20260102/us-east-1/route53/aws4_request";
        format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host;x-amz-date, Signature={signature}")
    }

    fn code(authorization: &str) -> Option<&'static str> {
        Signature::read(&request(authorization), "route53").err().map(|refusal| refusal.code)
    }

    #[test]
    fn signatures_have_their_form() {
        let good = signed(&"0f".repeat(32));
        assert_eq!(code(&good), None);
        for (wrong, expected) in [
            (good.replace("AWS4-HMAC-SHA256", "Bearer"), "IncompleteSignature"),
            (good.replace("Signature=", "Sig="), "IncompleteSignature"),
            (good.replace("route53", "sts"), "SignatureDoesNotMatch"),
            (good.replace("/us-east-1", ""), "SignatureDoesNotMatch"),
            (good.replace("20260102", "20260103"), "SignatureDoesNotMatch"),
            (good.replace("host;", ""), "SignatureDoesNotMatch"),
            (good.replace("0f0f", "0f"), "SignatureDoesNotMatch"),
        ] {
            assert_eq!(code(&wrong), Some(expected), "{wrong}");
        }
        let unsigned = Request::new("GET", "/2013-04-01/hostedzone");
        assert_eq!(Signature::read(&unsigned, "route53").unwrap_err().code, "MissingAuthenticationToken");
    }

    #[test]
    fn a_token_is_signed_with_the_rest() {
        let mut request = request(&signed(&"0f".repeat(32)));
        request.set("x-amz-security-token", "t");
        assert!(Signature::read(&request, "route53").unwrap_err().messages[0].contains("x-amz-security-token"));
    }

    #[test]
    fn parameters_are_ordered_and_encoded() {
        assert_eq!(query("b=1&a=%2a&a=%5C052.x~"), "a=%2A&a=%5C052.x~&b=1");
        assert_eq!(encoded("/2013-04-01/tags/a%2Fb", b"/"), "/2013-04-01/tags/a%252Fb");
    }

    /// The example of the key derivation in the guide.
    #[test]
    fn keys_are_derived() {
        let start = b"AWS4wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_vec();
        let key = ["20120215", "us-east-1", "iam", "aws4_request"].iter().fold(start, |key, part| sign(&key, part));
        assert_eq!(hexadecimal(&key), "f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d");
    }
}
