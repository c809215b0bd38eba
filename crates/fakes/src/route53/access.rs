//! Who calls: access keys with their accounts, and roles.
//!
//! A key whose secret is known has to sign with it: that of a session always, any other once the test gave its secret.

use std::collections::{BTreeMap, BTreeSet};

use super::refusal::Refusal;
use super::request::Request;
use super::signature::Signature;

/// The key that always has access.
const KEY: &str = "AKIDFAKE";
/// Its account.
const ACCOUNT: &str = "000000000001";

/// An access key and what belongs to it.
#[derive(Debug, Clone)]
pub(super) struct Key {
    pub(super) account: String,
    /// The caller, as `GetCallerIdentity` names it.
    pub(super) arn: String,
    /// Only temporary credentials have one.
    token: Option<String>,
    secret: Option<String>,
    expired: bool,
}

/// What a call of `AssumeRole` hands out.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) key: String,
    pub(super) secret: String,
    pub(super) token: String,
    pub(super) arn: String,
    pub(super) id: String,
}

#[derive(Debug, Default)]
struct Role {
    account: String,
    trust: Trust,
    /// The tokens that `AssumeRoleWithWebIdentity` may take it with.
    tokens: BTreeSet<String>,
}

/// Who may take a role by `AssumeRole`.
#[derive(Debug, Default)]
enum Trust {
    #[default]
    Nobody,
    EveryKey,
    /// Every key with this external id.
    ExternalId(String),
}

/// All keys and roles.
#[derive(Debug)]
pub(super) struct Access {
    keys: BTreeMap<String, Key>,
    roles: BTreeMap<String, Role>,
    sessions: usize,
}

impl Default for Access {
    fn default() -> Self {
        let mut access = Self { keys: BTreeMap::new(), roles: BTreeMap::new(), sessions: 0 };
        access.allow_key(KEY, ACCOUNT);
        access
    }
}

impl Access {
    pub(super) fn allow_key(&mut self, id: &str, account: &str) {
        let arn = format!("arn:aws:iam::{account}:user/fake");
        self.keys
            .insert(id.to_owned(), Key { account: account.to_owned(), arn, token: None, secret: None, expired: false });
    }

    pub(super) fn allow_role(&mut self, arn: &str, external_id: Option<&str>, account: &str) {
        let trust = external_id.map_or(Trust::EveryKey, |id| Trust::ExternalId(id.to_owned()));
        self.role(arn, account).trust = trust;
    }

    pub(super) fn allow_web_identity(&mut self, arn: &str, token: &str, account: &str) {
        self.role(arn, account).tokens.insert(token.to_owned());
    }

    fn role(&mut self, arn: &str, account: &str) -> &mut Role {
        let role = self.roles.entry(arn.to_owned()).or_default();
        account.clone_into(&mut role.account);
        role
    }

    /// Whether there is such a key.
    pub(super) fn expire(&mut self, id: &str) -> bool {
        let key = self.keys.get_mut(id);
        key.map(|key| key.expired = true).is_some()
    }

    /// Whether there is such a key.
    pub(super) fn set_secret(&mut self, id: &str, secret: &str) -> bool {
        let key = self.keys.get_mut(id);
        key.map(|key| key.secret = Some(secret.to_owned())).is_some()
    }

    /// The keys of an account, those of roles included.
    pub(super) fn keys_of(&self, account: &str) -> Vec<String> {
        self.keys.iter().filter(|(_, key)| key.account == account).map(|(id, _)| id.clone()).collect()
    }

    /// The caller of a request that is signed for `service`.
    pub(super) fn caller(&self, request: &Request, service: &str) -> Result<Key, Refusal> {
        let signature = Signature::read(request, service)?;
        let invalid =
            || Refusal::new(403, "InvalidClientTokenId", "The security token included in the request is invalid.");
        let key = self.keys.get(signature.key).ok_or_else(invalid)?;
        if key.token.as_deref() != request.header("x-amz-security-token") {
            return Err(invalid());
        }
        if let Some(secret) = &key.secret {
            signature.verify(request, secret)?;
        }
        if key.expired { Err(Refusal::expired_token()) } else { Ok(key.clone()) }
    }

    /// Credentials of a role for a caller that was known already.
    pub(super) fn assume(
        &mut self,
        caller: &str,
        arn: &str,
        external_id: Option<&str>,
        session: &str,
    ) -> Result<Session, Refusal> {
        let allowed = match self.roles.get(arn).map(|role| &role.trust) {
            None | Some(Trust::Nobody) => false,
            Some(Trust::EveryKey) => true,
            Some(Trust::ExternalId(expected)) => external_id == Some(expected),
        };
        if !allowed {
            let text = format!("User: {caller} is not authorized to perform: sts:AssumeRole on resource: {arn}");
            return Err(Refusal::new(403, "AccessDenied", text));
        }
        Ok(self.session(arn, session))
    }

    /// Credentials of a role for whoever has a token.
    pub(super) fn assume_by_token(&mut self, arn: &str, token: &str, session: &str) -> Result<Session, Refusal> {
        let tokens = self.roles.get(arn).map(|role| &role.tokens).filter(|tokens| !tokens.is_empty());
        let denied = "Not authorized to perform sts:AssumeRoleWithWebIdentity";
        let tokens = tokens.ok_or_else(|| Refusal::new(403, "AccessDenied", denied))?;
        if !tokens.contains(token) {
            let text = "The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)";
            return Err(Refusal::new(400, "InvalidIdentityToken", text));
        }
        Ok(self.session(arn, session))
    }

    fn session(&mut self, role: &str, session: &str) -> Session {
        self.sessions += 1;
        let (number, account) = (self.sessions, self.roles.get(role).map(|role| role.account.clone()));
        let account = account.unwrap_or_default();
        let name = role.rsplit('/').next().unwrap_or_default();
        let arn = format!("arn:aws:sts::{account}:assumed-role/{name}/{session}");
        let (id, token, secret) =
            (format!("ASIAFAKE{number:012}"), format!("token-{number}"), format!("secret-{number}"));
        let (kept, known) = (Some(token.clone()), Some(secret.clone()));
        self.keys.insert(id.clone(), Key { account, arn: arn.clone(), token: kept, secret: known, expired: false });
        Session { key: id, secret, token, arn, id: format!("AROAFAKE:{session}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(authorization: &str, token: Option<&str>) -> Request {
        let mut request = Request::new("GET", "/2013-04-01/hostedzone");
        request.set("authorization", authorization);
        request.set("x-amz-date", "20260102T030405Z");
        if let Some(token) = token {
            request.set("x-amz-security-token", token);
        }
        request
    }

    fn signed(key: &str) -> String {
        let headers = "host;x-amz-date;x-amz-security-token";
        let scope = format!("{key}/20260102/us-east-1/route53/aws4_request");
        format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders={headers}, Signature={}", "0f".repeat(32))
    }

    fn code(access: &Access, authorization: &str, token: Option<&str>) -> Result<String, &'static str> {
        let caller = access.caller(&request(authorization, token), "route53");
        caller.map(|key| key.account).map_err(|refusal| refusal.code)
    }

    #[test]
    fn known_keys_have_an_account() {
        let mut access = Access::default();
        assert_eq!(code(&access, &signed(KEY), None).as_deref(), Ok(ACCOUNT));
        assert_eq!(code(&access, &signed("OTHER"), None), Err("InvalidClientTokenId"));
        access.allow_key("OTHER", "2");
        assert_eq!(code(&access, &signed("OTHER"), None).as_deref(), Ok("2"));
        assert!(access.expire("OTHER"));
        assert_eq!(code(&access, &signed("OTHER"), None), Err("ExpiredToken"));
        assert_eq!(access.keys_of("2"), ["OTHER"]);
    }

    #[test]
    fn sessions_need_their_token() {
        let mut access = Access::default();
        access.allow_role("arn:aws:iam::2:role/dns", Some("x"), "2");
        let denied =
            |access: &mut Access, arn: &str, external| access.assume("me", arn, external, "s").unwrap_err().code;
        assert_eq!(denied(&mut access, "arn:aws:iam::2:role/dns", None), "AccessDenied");
        assert_eq!(denied(&mut access, "arn:aws:iam::2:role/dns", Some("y")), "AccessDenied");
        assert_eq!(denied(&mut access, "arn:aws:iam::2:role/other", Some("x")), "AccessDenied");
        let one = access.assume("me", "arn:aws:iam::2:role/dns", Some("x"), "s").unwrap();
        let two = access.assume("me", "arn:aws:iam::2:role/dns", Some("x"), "s").unwrap();
        assert_ne!((&one.key, &one.secret, &one.token), (&two.key, &two.secret, &two.token));
        // The token is the right one, the signature is none.
        assert_eq!(code(&access, &signed(&one.key), Some(&one.token)), Err("SignatureDoesNotMatch"));
        assert_eq!(code(&access, &signed(&one.key), Some(&two.token)), Err("InvalidClientTokenId"));
        assert_eq!(code(&access, &signed(&one.key), None), Err("InvalidClientTokenId"));
    }

    #[test]
    fn tokens_open_their_roles() {
        let mut access = Access::default();
        access.allow_web_identity("arn:aws:iam::2:role/dns", "jwt", "2");
        assert!(access.assume_by_token("arn:aws:iam::2:role/dns", "jwt", "s").is_ok());
        let code = |access: &mut Access, role: &str, token| access.assume_by_token(role, token, "s").unwrap_err().code;
        assert_eq!(code(&mut access, "arn:aws:iam::2:role/dns", "other"), "InvalidIdentityToken");
        assert_eq!(code(&mut access, "arn:aws:iam::2:role/other", "jwt"), "AccessDenied");
        assert!(access.assume("me", "arn:aws:iam::2:role/dns", None, "s").is_err(), "a role has its own ways in");
    }
}
