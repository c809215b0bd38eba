//! The Security Token Service, as far as credentials of roles need it: its query protocol over the same address.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::access::{Access, Key, Session};
use super::refusal::Refusal;
use super::service::{REQUEST, xml};
use super::xml::Element;
use crate::reply::Reply;

/// The namespace of every document of the service.
pub(super) const NAMESPACE: &str = "https://sts.amazonaws.com/doc/2011-06-15/";

type Form = BTreeMap<String, String>;

pub(super) fn assume(access: &mut Access, caller: &Key, form: &Form) -> Result<Reply, Refusal> {
    let asked = Asked::read(form)?;
    let external_id = form.get("ExternalId").map(String::as_str);
    let session = access.assume(&caller.arn, asked.role, external_id, asked.session)?;
    Ok(document("AssumeRoleResponse", "AssumeRoleResult", credentials(&session, asked.seconds)))
}

pub(super) fn assume_by_token(access: &mut Access, form: &Form) -> Result<Reply, Refusal> {
    let asked = Asked::read(form)?;
    let session = access.assume_by_token(asked.role, field(form, "WebIdentityToken")?, asked.session)?;
    let mut parts = credentials(&session, asked.seconds);
    parts.push(Element::text("SubjectFromWebIdentityToken", "fake"));
    Ok(document("AssumeRoleWithWebIdentityResponse", "AssumeRoleWithWebIdentityResult", parts))
}

pub(super) fn identity(caller: &Key) -> Reply {
    let parts = vec![
        Element::text("Arn", &caller.arn),
        Element::text("UserId", "AIDAFAKE"),
        Element::text("Account", &caller.account),
    ];
    document("GetCallerIdentityResponse", "GetCallerIdentityResult", parts)
}

fn document(name: &'static str, result: &'static str, parts: Vec<Element>) -> Reply {
    let metadata = Element::list("ResponseMetadata", vec![Element::text("RequestId", REQUEST)]);
    xml(200, Element::list(name, vec![Element::list(result, parts), metadata]).document(NAMESPACE))
}

/// What both ways into a role need.
struct Asked<'a> {
    role: &'a str,
    session: &'a str,
    seconds: i64,
}

impl<'a> Asked<'a> {
    fn read(form: &'a Form) -> Result<Self, Refusal> {
        let seconds = form.get("DurationSeconds").map_or(Ok(3_600), |text| text.parse());
        let seconds = seconds.ok().filter(|seconds| (900..=43_200).contains(seconds));
        let invalid = || Refusal::new(400, "ValidationError", "DurationSeconds must be between 900 and 43200");
        let session = field(form, "RoleSessionName")?;
        let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"_+=,.@-".contains(&byte);
        if !(2..=64).contains(&session.len()) || !session.bytes().all(sound) {
            let text = format!(
                "1 validation error detected: Value '{session}' at 'roleSessionName' failed to satisfy constraint: \
                 Member must satisfy regular expression pattern: [\\w+=,.@-]*"
            );
            return Err(Refusal::new(400, "ValidationError", text));
        }
        Ok(Self { role: field(form, "RoleArn")?, session, seconds: seconds.ok_or_else(invalid)? })
    }
}

fn field<'a>(form: &'a Form, name: &str) -> Result<&'a str, Refusal> {
    let missing = || {
        let text = format!(
            "1 validation error detected: Value null at '{name}' failed to satisfy constraint: Member must not be null"
        );
        Refusal::new(400, "ValidationError", text)
    };
    form.get(name).map(String::as_str).filter(|text| !text.is_empty()).ok_or_else(missing)
}

fn credentials(session: &Session, seconds: i64) -> Vec<Element> {
    let end = Timestamp::now() + SignedDuration::from_secs(seconds);
    let credentials = vec![
        Element::text("AccessKeyId", &session.key),
        Element::text("SecretAccessKey", &session.secret),
        Element::text("SessionToken", &session.token),
        Element::text("Expiration", &end.strftime("%Y-%m-%dT%H:%M:%SZ")),
    ];
    let user = vec![Element::text("AssumedRoleId", &session.id), Element::text("Arn", &session.arn)];
    vec![Element::list("Credentials", credentials), Element::list("AssumedRoleUser", user)]
}
