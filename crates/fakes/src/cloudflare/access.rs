//! Who calls: API tokens with their zones and permissions, and the older keys, which are good for everything.

use std::collections::{BTreeMap, BTreeSet};

use super::ids;
use super::refusal::Refusal;
use super::request::Request;

/// The token that always has access to everything.
pub const TOKEN: &str = "TOKENFAKE0000000000000000000000000000000";
/// The address of the user whose key always has access to everything.
pub const EMAIL: &str = "user@example.org";
/// The key of that user.
pub const KEY: &str = "0000000000000000000000000000000000fac";

/// What a token may be good for: *API token permissions* in the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// Zones are listed and shown.
    ZoneRead,
    /// Records and regional hostnames are read.
    DnsRead,
    /// They are changed, and read.
    DnsWrite,
    /// Custom hostnames are read.
    CertificatesRead,
    /// They are changed, and read.
    CertificatesWrite,
}

impl Permission {
    const ALL: [Self; 5] =
        [Self::ZoneRead, Self::DnsRead, Self::DnsWrite, Self::CertificatesRead, Self::CertificatesWrite];

    /// As zones show it.
    fn text(self) -> &'static str {
        match self {
            Self::ZoneRead => "#zone:read",
            Self::DnsRead => "#dns_records:read",
            Self::DnsWrite => "#dns_records:edit",
            Self::CertificatesRead => "#ssl:read",
            Self::CertificatesWrite => "#ssl:edit",
        }
    }
}

/// An API token, or the key of a user.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    /// Whom the pace is measured of, and the id of a token.
    pub(super) id: String,
    /// The ids of its zones; all zones if there is none.
    zones: BTreeSet<String>,
    permissions: BTreeSet<Permission>,
    pub(super) expired: bool,
}

impl Caller {
    fn new(id: String, zones: &[&str], permissions: &[Permission]) -> Self {
        let zones = zones.iter().map(|zone| (*zone).to_owned()).collect();
        Self { id, zones, permissions: permissions.iter().copied().collect(), expired: false }
    }

    pub(super) fn reaches(&self, zone: &str) -> bool {
        self.zones.is_empty() || self.zones.contains(zone)
    }

    pub(super) fn may(&self, permission: Permission) -> bool {
        let more = match permission {
            Permission::DnsRead => Some(Permission::DnsWrite),
            Permission::CertificatesRead => Some(Permission::CertificatesWrite),
            _ => None,
        };
        self.permissions.contains(&permission) || more.is_some_and(|more| self.permissions.contains(&more))
    }

    /// As zones show them.
    pub(super) fn permissions(&self) -> Vec<&'static str> {
        self.permissions.iter().map(|permission| permission.text()).collect()
    }
}

/// All tokens and keys.
#[derive(Debug)]
pub(super) struct Access {
    tokens: BTreeMap<String, Caller>,
    /// By address and key.
    keys: BTreeSet<(String, String)>,
}

impl Default for Access {
    fn default() -> Self {
        let mut access = Self { tokens: BTreeMap::new(), keys: BTreeSet::new() };
        access.allow_token(TOKEN, &[], &Permission::ALL);
        access.allow_key(EMAIL, KEY);
        access
    }
}

impl Access {
    pub(super) fn allow_token(&mut self, token: &str, zones: &[&str], permissions: &[Permission]) {
        let caller = Caller::new(ids::id(&format!("token {token}")), zones, permissions);
        self.tokens.insert(token.to_owned(), caller);
    }

    /// Whether there was such a token.
    pub(super) fn revoke_token(&mut self, token: &str) -> bool {
        self.tokens.remove(token).is_some()
    }

    /// Whether there is such a token.
    pub(super) fn expire_token(&mut self, token: &str) -> bool {
        let caller = self.tokens.get_mut(token);
        caller.map(|caller| caller.expired = true).is_some()
    }

    pub(super) fn allow_key(&mut self, email: &str, key: &str) {
        self.keys.insert((email.to_owned(), key.to_owned()));
    }

    /// The caller of a request, expired or not.
    pub(super) fn caller(&self, request: &Request) -> Result<Caller, Refusal> {
        if let Some(authorization) = request.header("authorization") {
            let token = authorization.strip_prefix("Bearer ").filter(|token| is_token(token));
            let token = token.ok_or_else(|| Refusal::header(6111, "Invalid format for Authorization header"))?;
            return self.tokens.get(token).cloned().ok_or_else(Refusal::invalid_token);
        }
        let (Some(email), Some(key)) = (request.header("x-auth-email"), request.header("x-auth-key")) else {
            return Err(Refusal::new(400, 9106, "Missing X-Auth-Key, X-Auth-Email or Authorization headers"));
        };
        if !email.contains('@') {
            return Err(Refusal::header(6102, "Invalid format for X-Auth-Email header"));
        }
        if key.len() != KEY.len() || !key.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(Refusal::header(6103, "Invalid format for X-Auth-Key header"));
        }
        if self.keys.contains(&(email.to_owned(), key.to_owned())) {
            Ok(Caller::new(email.to_owned(), &[], &Permission::ALL))
        } else {
            Err(Refusal::new(403, 9103, "Unknown X-Auth-Key or X-Auth-Email"))
        }
    }
}

/// The form of tokens: 40 characters or some more, of those that a bearer token may have.
fn is_token(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    (40..=100).contains(&text.len()) && text.bytes().all(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)]) -> Request {
        let mut request = Request::new("GET", "/zones");
        for (name, value) in headers {
            request.set(name, value);
        }
        request
    }

    #[track_caller]
    fn code(access: &Access, headers: &[(&str, &str)]) -> (u16, u32) {
        access.caller(&request(headers)).map_or_else(|refusal| (refusal.status, refusal.code), |_| (200, 0))
    }

    #[test]
    fn tokens_and_keys_are_known() {
        let access = Access::default();
        let bearer = |token: &str| code(&access, &[("authorization", &format!("Bearer {token}"))]);
        assert_eq!(bearer(TOKEN), (200, 0));
        assert_eq!(bearer(&"x".repeat(40)), (403, 9109));
        for malformed in ["", "short", &format!("{TOKEN} "), &format!("\"{TOKEN}\"")] {
            assert_eq!(bearer(malformed), (400, 6003), "{malformed}");
        }
        assert_eq!(code(&access, &[("authorization", TOKEN)]), (400, 6003));
        let keyed = |email: &str, key: &str| code(&access, &[("x-auth-email", email), ("x-auth-key", key)]);
        assert_eq!(keyed(EMAIL, KEY), (200, 0));
        assert_eq!(keyed(EMAIL, &"1".repeat(37)), (403, 9103));
        assert_eq!(keyed("other@example.org", KEY), (403, 9103));
        assert_eq!(keyed(EMAIL, "short"), (400, 6003));
        assert_eq!(keyed("nobody", KEY), (400, 6003));
        assert_eq!(code(&access, &[("x-auth-email", EMAIL)]), (400, 9106));
    }

    #[test]
    fn tokens_are_limited() {
        let mut access = Access::default();
        let token = "limited-".repeat(5);
        access.allow_token(&token, &["z"], &[Permission::DnsWrite]);
        let caller = |access: &Access| access.caller(&request(&[("authorization", &format!("Bearer {token}"))]));
        let limited = caller(&access).unwrap();
        assert!(limited.reaches("z") && !limited.reaches("y"));
        assert!(limited.may(Permission::DnsWrite) && limited.may(Permission::DnsRead));
        assert!(!limited.may(Permission::ZoneRead) && !limited.may(Permission::CertificatesRead));
        assert_eq!(limited.permissions(), ["#dns_records:edit"]);
        assert!(access.expire_token(&token) && caller(&access).unwrap().expired);
        assert!(access.revoke_token(&token) && caller(&access).is_err());
        assert!(!access.revoke_token(&token) && !access.expire_token(&token));
    }
}
