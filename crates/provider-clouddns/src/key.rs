//! What a file of credentials says.
//!
//! In: the text of a file as the vendor's tools write it. Out: what to ask for a token, and whom. What must hold: no text of the file
//! appears in an error.
//!
//! <https://google.aip.dev/auth/4112>, <https://google.aip.dev/auth/4113>, <https://google.aip.dev/auth/4117>

use std::path::PathBuf;

use secrecy::SecretString;
use serde_json::{Map, Value};

/// Where tokens are given for keys that do not say it.
const TOKENS: &str = "https://oauth2.googleapis.com/token";

/// Credentials of a file.
#[derive(Debug)]
pub(crate) enum Key {
    /// A private key of a service account.
    ServiceAccount(ServiceAccount),
    /// A user who signed in with the vendor's tool.
    User(User),
    /// A token of another issuer, which is exchanged (workload identity federation).
    External(External),
    /// Other credentials, in the place of a service account.
    Impersonated(Box<Key>, Impersonation),
}

/// A private key of a service account.
#[derive(Debug)]
pub(crate) struct ServiceAccount {
    pub(crate) email: String,
    pub(crate) key_id: Option<String>,
    /// In PEM form.
    pub(crate) key: SecretString,
    pub(crate) token_uri: String,
}

/// A user who signed in with the vendor's tool.
#[derive(Debug)]
pub(crate) struct User {
    pub(crate) client_id: String,
    pub(crate) client_secret: SecretString,
    pub(crate) refresh_token: SecretString,
    pub(crate) token_uri: String,
}

/// A token of another issuer.
#[derive(Debug)]
pub(crate) struct External {
    pub(crate) audience: String,
    /// What sort of token it is, as a URN.
    pub(crate) token_type: String,
    pub(crate) token_url: String,
    pub(crate) subject: TokenSubject,
    pub(crate) client: Option<(String, SecretString)>,
    pub(crate) impersonation: Option<Impersonation>,
}

/// Where the token of another issuer is.
#[derive(Debug)]
pub(crate) struct TokenSubject {
    pub(crate) place: SubjectPlace,
    /// The field of a JSON text that it stands in; the whole text without one.
    pub(crate) field: Option<String>,
}

/// Where a token is read from.
#[derive(Debug)]
pub(crate) enum SubjectPlace {
    File(PathBuf),
    Url { url: String, headers: Vec<(String, String)> },
}

/// In whose place requests are made.
#[derive(Debug, Clone)]
pub(crate) struct Impersonation {
    pub(crate) url: String,
    /// The accounts between, each of which may act for the next one.
    pub(crate) delegates: Vec<String>,
    /// In seconds.
    pub(crate) lifetime: u64,
}

/// Reads a file's text.
///
/// # Errors
/// A sentence about what is missing or not understood.
pub(crate) fn parse(text: &str) -> Result<Key, String> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| format!("it is no JSON (line {} column {})", error.line(), error.column()))?;
    match value {
        Value::Object(fields) => of(&Fields(fields)),
        _ => Err("it is no JSON object".to_owned()),
    }
}

const KINDS: &str = "service_account, authorized_user, external_account or impersonated_service_account";

fn of(fields: &Fields) -> Result<Key, String> {
    match fields.text("type")?.as_str() {
        "service_account" => Ok(Key::ServiceAccount(ServiceAccount {
            email: fields.text("client_email")?,
            key_id: fields.maybe("private_key_id"),
            key: fields.text("private_key")?.into(),
            token_uri: fields.maybe("token_uri").unwrap_or_else(|| TOKENS.to_owned()),
        })),
        "authorized_user" => Ok(Key::User(User {
            client_id: fields.text("client_id")?,
            client_secret: fields.text("client_secret")?.into(),
            refresh_token: fields.text("refresh_token")?.into(),
            token_uri: fields.maybe("token_uri").unwrap_or_else(|| TOKENS.to_owned()),
        })),
        "external_account" => external(fields).map(Key::External),
        "impersonated_service_account" => {
            let impersonation = impersonation(fields)?;
            let impersonation = impersonation.ok_or("it has no service_account_impersonation_url")?;
            let source = fields.object("source_credentials")?;
            if source.maybe("type").as_deref() == Some("impersonated_service_account") {
                return Err("its source_credentials stand in for others themselves".to_owned());
            }
            Ok(Key::Impersonated(Box::new(of(&source)?), impersonation))
        }
        _ => Err(format!("its type is not known; expected {KINDS}")),
    }
}

fn external(fields: &Fields) -> Result<External, String> {
    let source = fields.object("credential_source")?;
    let place = match (source.maybe("file"), source.maybe("url")) {
        (Some(file), None) => SubjectPlace::File(PathBuf::from(file)),
        (None, Some(url)) => SubjectPlace::Url { url, headers: source.pairs("headers")? },
        _ => return Err("its credential_source is not understood; expected either file or url".to_owned()),
    };
    let field = match source.object("format") {
        Ok(format) if format.maybe("type").as_deref() == Some("json") => {
            Some(format.text("subject_token_field_name").map_err(|why| format!("{why} (in format)"))?)
        }
        _ => None,
    };
    Ok(External {
        audience: fields.text("audience")?,
        token_type: fields.text("subject_token_type")?,
        token_url: fields.text("token_url")?,
        subject: TokenSubject { place, field },
        client: fields.maybe("client_id").zip(fields.maybe("client_secret").map(SecretString::from)),
        impersonation: impersonation(fields)?,
    })
}

fn impersonation(fields: &Fields) -> Result<Option<Impersonation>, String> {
    const LONGEST: u64 = 43_200;
    let Some(url) = fields.maybe("service_account_impersonation_url") else { return Ok(None) };
    let stated = fields.object("service_account_impersonation").ok();
    let lifetime = match stated.as_ref().and_then(|stated| stated.0.get("token_lifetime_seconds")) {
        None | Some(Value::Null) => 3_600,
        Some(seconds) => seconds
            .as_u64()
            .filter(|seconds| (600..=LONGEST).contains(seconds))
            .ok_or_else(|| format!("its token_lifetime_seconds is not understood; expected 600 to {LONGEST}"))?,
    };
    Ok(Some(Impersonation { url, delegates: fields.texts("delegates")?, lifetime }))
}

struct Fields(Map<String, Value>);

impl Fields {
    fn maybe(&self, name: &str) -> Option<String> {
        self.0.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    fn text(&self, name: &str) -> Result<String, String> {
        self.maybe(name).ok_or_else(|| format!("it has no {name}"))
    }

    fn object(&self, name: &str) -> Result<Self, String> {
        match self.0.get(name) {
            Some(Value::Object(fields)) => Ok(Self(fields.clone())),
            _ => Err(format!("it has no {name}")),
        }
    }

    /// A list of texts; an empty one where it is not there.
    fn texts(&self, name: &str) -> Result<Vec<String>, String> {
        let texts: Option<Vec<_>> = match self.0.get(name) {
            None | Some(Value::Null) => Some(Vec::new()),
            Some(value) => {
                value.as_array().and_then(|texts| texts.iter().map(|text| text.as_str().map(str::to_owned)).collect())
            }
        };
        texts.ok_or_else(|| format!("its {name} are not understood; expected a list of texts"))
    }

    fn pairs(&self, name: &str) -> Result<Vec<(String, String)>, String> {
        let Ok(fields) = self.object(name) else { return Ok(Vec::new()) };
        let pair = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
        let pairs: Option<Vec<_>> = fields.0.iter().map(pair).collect();
        pairs.ok_or_else(|| format!("its {name} are not understood; expected texts"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        let account = r#"{"type":"service_account","client_email":"a@b","private_key":"k"}"#;
        assert!(
            matches!(parse(account).unwrap(), Key::ServiceAccount(key) if key.token_uri == TOKENS && key.email == "a@b")
        );
        let user = r#"{"type":"authorized_user","client_id":"i","client_secret":"s","refresh_token":"r"}"#;
        assert!(matches!(parse(user).unwrap(), Key::User(user) if user.client_id == "i"));
        let external = r#"{"type":"external_account","audience":"//iam","subject_token_type":"urn:jwt",
            "token_url":"https://sts.test/v1/token","service_account_impersonation_url":"https://iam.test/x",
            "credential_source":{"url":"http://t.test","headers":{"a":"b"},
            "format":{"type":"json","subject_token_field_name":"id"}}}"#;
        let Key::External(external) = parse(external).unwrap() else { panic!("another kind") };
        assert_eq!(external.subject.field.as_deref(), Some("id"));
        assert_eq!(external.impersonation.as_ref().unwrap().lifetime, 3_600);
        assert!(matches!(&external.subject.place, SubjectPlace::Url { headers, .. } if headers.len() == 1));
        let other = format!(
            r#"{{"type":"impersonated_service_account","service_account_impersonation_url":"u","source_credentials":{user}}}"#
        );
        assert!(matches!(parse(&other).unwrap(), Key::Impersonated(source, _) if matches!(*source, Key::User(_))));
    }

    #[test]
    fn what_is_wrong_is_named_and_nothing_else() {
        for (text, named) in [
            ("s3cret", "no JSON"),
            (r#"["s3cret"]"#, "no JSON object"),
            (r#"{"type":"s3cret"}"#, "service_account"),
            (r#"{"s3cret":1}"#, "no type"),
            (r#"{"type":"service_account","client_email":"s3cret"}"#, "private_key"),
            (r#"{"type":"authorized_user","client_id":"s3cret","client_secret":"s3cret"}"#, "refresh_token"),
            (r#"{"type":"external_account","credential_source":{"environment_id":"s3cret"}}"#, "either file or url"),
            (r#"{"type":"impersonated_service_account"}"#, "service_account_impersonation_url"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(named) && !error.contains("s3cret"), "{text}: {error}");
        }
    }
}
