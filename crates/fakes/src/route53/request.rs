//! A request, and which operation it is.

use std::collections::BTreeMap;

use super::refusal::Refusal;
use crate::http::Incoming;

/// A request as the service looks at it.
#[derive(Debug)]
pub(super) struct Request {
    method: String,
    path: String,
    /// As it was sent.
    raw_query: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
}

/// An operation and what its path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation<'a> {
    ListHostedZones,
    ListHostedZonesByName,
    ListHostedZonesByVpc,
    CreateHostedZone,
    GetHostedZone(&'a str),
    DeleteHostedZone(&'a str),
    ListResourceRecordSets(&'a str),
    ChangeResourceRecordSets(&'a str),
    GetChange(&'a str),
    ListTagsForResource(&'a str, &'a str),
    ListTagsForResources(&'a str),
    ChangeTagsForResource(&'a str, &'a str),
    AssumeRole,
    AssumeRoleWithWebIdentity,
    GetCallerIdentity,
}

impl Operation<'_> {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ListHostedZones => "ListHostedZones",
            Self::ListHostedZonesByName => "ListHostedZonesByName",
            Self::ListHostedZonesByVpc => "ListHostedZonesByVPC",
            Self::CreateHostedZone => "CreateHostedZone",
            Self::GetHostedZone(_) => "GetHostedZone",
            Self::DeleteHostedZone(_) => "DeleteHostedZone",
            Self::ListResourceRecordSets(_) => "ListResourceRecordSets",
            Self::ChangeResourceRecordSets(_) => "ChangeResourceRecordSets",
            Self::GetChange(_) => "GetChange",
            Self::ListTagsForResource(..) => "ListTagsForResource",
            Self::ListTagsForResources(_) => "ListTagsForResources",
            Self::ChangeTagsForResource(..) => "ChangeTagsForResource",
            Self::AssumeRole => "AssumeRole",
            Self::AssumeRoleWithWebIdentity => "AssumeRoleWithWebIdentity",
            Self::GetCallerIdentity => "GetCallerIdentity",
        }
    }

    /// The service that a request is signed for.
    pub(super) fn service(self) -> &'static str {
        match self {
            Self::AssumeRole | Self::AssumeRoleWithWebIdentity | Self::GetCallerIdentity => "sts",
            _ => "route53",
        }
    }
}

impl Request {
    /// A request without headers; `target` is a path and perhaps a query.
    pub(super) fn new(method: &str, target: &str) -> Self {
        let (path, raw_query) = target.split_once('?').unwrap_or((target, ""));
        let query = form_urlencoded::parse(raw_query.as_bytes()).into_owned().collect();
        let (method, path, raw_query) = (method.to_owned(), path.to_owned(), raw_query.to_owned());
        Self { method, path, raw_query, query, headers: BTreeMap::new(), body: Vec::new() }
    }

    pub(super) fn method(&self) -> &str {
        &self.method
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The query as it was sent, without its question mark.
    pub(super) fn query(&self) -> &str {
        &self.raw_query
    }

    /// A request as it came.
    pub(super) fn of(incoming: Incoming) -> Self {
        let mut request = Self::new(&incoming.method, &incoming.target);
        for (name, value) in &incoming.headers {
            request.set(name, value);
        }
        Self { body: incoming.body, ..request }
    }

    /// Adds a header; `name` is in lower case.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.headers.insert(name.to_owned(), value.to_owned());
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// A parameter of the query; one that is empty counts as none.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The fields of a form in the body.
    pub(super) fn form(&self) -> BTreeMap<String, String> {
        form_urlencoded::parse(&self.body).into_owned().collect()
    }

    /// Whether the body is in the format of the operation, if the request says so.
    pub(super) fn check_type(&self, operation: Operation<'_>) -> Result<(), Refusal> {
        let Some(stated) = self.header("content-type") else { return Ok(()) };
        let stated = stated.split(';').next().unwrap_or_default().trim();
        let expected: &[&str] = if operation.service() == "sts" {
            &["application/x-www-form-urlencoded"]
        } else {
            &["application/xml", "text/xml"]
        };
        if self.body.is_empty() || expected.contains(&stated) {
            return Ok(());
        }
        Err(Refusal::malformed(format!("Content-Type {stated} is not supported")))
    }

    /// Which operation this is.
    pub(super) fn operation(&self) -> Result<Operation<'_>, Refusal> {
        let unknown = || Refusal::new(404, "UnknownOperationException", format!("{} {}", self.method, self.path));
        let parts: Vec<&str> = self.path.split('/').filter(|part| !part.is_empty()).collect();
        match (self.method.as_str(), parts.as_slice()) {
            ("POST", []) => self.action().ok_or_else(unknown),
            (method, ["2013-04-01", rest @ ..]) => route(method, rest).ok_or_else(unknown),
            _ => Err(unknown()),
        }
    }

    fn action(&self) -> Option<Operation<'_>> {
        let form = self.form();
        if form.get("Version").is_none_or(|version| version != "2011-06-15") {
            return None;
        }
        match form.get("Action")?.as_str() {
            "AssumeRole" => Some(Operation::AssumeRole),
            "AssumeRoleWithWebIdentity" => Some(Operation::AssumeRoleWithWebIdentity),
            "GetCallerIdentity" => Some(Operation::GetCallerIdentity),
            _ => None,
        }
    }
}

fn route<'a>(method: &str, parts: &[&'a str]) -> Option<Operation<'a>> {
    match (method, parts) {
        ("GET", ["hostedzone"]) => Some(Operation::ListHostedZones),
        ("GET", ["hostedzonesbyname"]) => Some(Operation::ListHostedZonesByName),
        ("GET", ["hostedzonesbyvpc"]) => Some(Operation::ListHostedZonesByVpc),
        ("POST", ["hostedzone"]) => Some(Operation::CreateHostedZone),
        ("GET", ["hostedzone", id]) => Some(Operation::GetHostedZone(id)),
        ("DELETE", ["hostedzone", id]) => Some(Operation::DeleteHostedZone(id)),
        ("GET", ["hostedzone", id, "rrset"]) => Some(Operation::ListResourceRecordSets(id)),
        ("POST", ["hostedzone", id, "rrset"]) => Some(Operation::ChangeResourceRecordSets(id)),
        ("GET", ["change", id]) => Some(Operation::GetChange(id)),
        ("GET", ["tags", kind, id]) => Some(Operation::ListTagsForResource(kind, id)),
        ("POST", ["tags", kind]) => Some(Operation::ListTagsForResources(kind)),
        ("POST", ["tags", kind, id]) => Some(Operation::ChangeTagsForResource(kind, id)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_operations() {
        for (method, target, expected) in [
            ("GET", "/2013-04-01/hostedzone?maxitems=1", Operation::ListHostedZones),
            ("POST", "/2013-04-01/hostedzone/Z1/rrset/", Operation::ChangeResourceRecordSets("Z1")),
            ("GET", "/2013-04-01/hostedzone/Z1/rrset?name=a", Operation::ListResourceRecordSets("Z1")),
            ("POST", "/2013-04-01/tags/hostedzone", Operation::ListTagsForResources("hostedzone")),
            ("GET", "/2013-04-01/tags/hostedzone/Z1", Operation::ListTagsForResource("hostedzone", "Z1")),
        ] {
            assert_eq!(Request::new(method, target).operation(), Ok(expected));
        }
        for (method, target) in [("PUT", "/2013-04-01/hostedzone"), ("GET", "/"), ("POST", "/"), ("GET", "/hostedzone")]
        {
            assert_eq!(Request::new(method, target).operation().unwrap_err().status, 404, "{method} {target}");
        }
    }

    #[test]
    fn queries_and_forms_are_decoded() {
        let mut request = Request::new("POST", "/?name=%5C052.a.org&type=");
        assert_eq!(request.parameter("name"), Some("\\052.a.org"));
        assert_eq!(request.parameter("type"), None);
        request.body = b"Action=AssumeRole&Version=2011-06-15&RoleArn=a%3Ab".to_vec();
        assert_eq!(request.operation(), Ok(Operation::AssumeRole));
        assert_eq!(request.form()["RoleArn"], "a:b");
        request.set("content-type", "application/xml");
        assert!(request.check_type(Operation::AssumeRole).is_err());
        request.set("content-type", "application/x-www-form-urlencoded; charset=utf-8");
        assert!(request.check_type(Operation::AssumeRole).is_ok());
        assert!(request.check_type(Operation::CreateHostedZone).is_err());
    }
}
