//! A record: what of it is the client's, how a client writes it, and how the service shows it.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value, json};

use super::content;
use super::name;
use super::plan::Plan;
use super::refusal::Refusal;

/// A record of a zone.
///
/// ```
/// # use zonewright_fakes::cloudflare::Record;
/// let record = Record::new("www.example.org", "A", "192.0.2.1").with_ttl(300).with_comment("by hand");
/// assert_eq!(record.to_string(), "www.example.org 300 A 192.0.2.1 comment=by hand");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// 32 hexadecimal digits; empty in a record that has none yet.
    pub id: String,
    /// Lower case, without a final dot.
    pub name: String,
    /// The type.
    pub kind: String,
    /// The value in the service's form.
    pub content: String,
    /// In seconds; 1 is automatic.
    pub ttl: u32,
    /// Whether it is behind the proxy.
    pub proxied: bool,
    /// Of MX, SRV and URI.
    pub priority: Option<u16>,
    /// The parts of the content, of types that have parts.
    pub data: Option<Value>,
    /// A note for the people who look at the zone.
    pub comment: Option<String>,
    /// Each of the form `name:value`.
    pub tags: Vec<String>,
    /// `flatten_cname`, `ipv4_only`, `ipv6_only`.
    pub settings: BTreeMap<String, bool>,
    /// Whether it is reached through a private network.
    pub private_routing: bool,
}

impl Record {
    /// A record with an automatic TTL and nothing else.
    pub fn new(name: &str, kind: &str, content: &str) -> Self {
        Self { content: content.to_owned(), name: name.to_owned(), kind: kind.to_owned(), ..Self::empty() }
    }

    /// What a request that states nothing would make.
    pub(super) fn empty() -> Self {
        Self {
            id: String::new(),
            name: String::new(),
            kind: String::new(),
            content: String::new(),
            ttl: 1,
            proxied: false,
            priority: None,
            data: None,
            comment: None,
            tags: Vec::new(),
            settings: BTreeMap::new(),
            private_routing: false,
        }
    }

    /// With a TTL in seconds.
    #[must_use]
    pub fn with_ttl(self, ttl: u32) -> Self {
        Self { ttl, ..self }
    }

    /// Behind the proxy, with an automatic TTL.
    #[must_use]
    pub fn with_proxy(self) -> Self {
        Self { proxied: true, ttl: 1, ..self }
    }

    /// With a priority, for MX, SRV and URI.
    #[must_use]
    pub fn with_priority(self, priority: u16) -> Self {
        Self { priority: Some(priority), ..self }
    }

    /// With data, for the types whose content has parts.
    #[must_use]
    pub fn with_data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }

    /// With a comment.
    #[must_use]
    pub fn with_comment(self, comment: &str) -> Self {
        Self { comment: Some(comment.to_owned()), ..self }
    }

    /// With tags of the form `name:value`.
    #[must_use]
    pub fn with_tags(self, tags: &[&str]) -> Self {
        Self { tags: tags.iter().map(|tag| (*tag).to_owned()).collect(), ..self }
    }

    /// This record with what the fields of a request state; what they do not state stays.
    ///
    /// # Errors
    /// A field has not the type that the API reference gives it.
    pub(super) fn changed(mut self, fields: &Map<String, Value>) -> Result<Self, Refusal> {
        let text = |field: &str| match fields.get(field) {
            None => Ok(None),
            Some(value) => value.as_str().map(|text| Some(text.to_owned())).ok_or_else(Refusal::body),
        };
        self.name = text("name")?.unwrap_or(self.name);
        self.kind = text("type")?.unwrap_or(self.kind);
        self.content = text("content")?.unwrap_or(self.content);
        self.ttl = optional(fields, "ttl", Self::whole)?.unwrap_or(self.ttl);
        self.proxied = optional(fields, "proxied", Value::as_bool)?.unwrap_or(self.proxied);
        self.private_routing = optional(fields, "private_routing", Value::as_bool)?.unwrap_or(self.private_routing);
        let priority = optional(fields, "priority", Self::whole)?;
        let priority = priority.map(|priority| u16::try_from(priority).map_err(|_| Refusal::body())).transpose()?;
        self.priority = priority.or(self.priority);
        if let Some(data) = fields.get("data") {
            self.data = Some(data.clone()).filter(|data| !data.is_null());
        }
        if fields.contains_key("comment") {
            let comment = optional(fields, "comment", |value| value.as_str().map(str::to_owned))?;
            self.comment = comment.filter(|comment| !comment.is_empty());
        }
        if fields.contains_key("tags") {
            self.tags = optional(fields, "tags", texts)?.unwrap_or_default();
        }
        if fields.contains_key("settings") {
            self.settings = optional(fields, "settings", settings)?.unwrap_or_default();
        }
        Ok(self)
    }

    /// Numbers may come with a fraction of zero.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "only whole numbers of 32 bits are cast"
    )]
    fn whole(value: &Value) -> Option<u32> {
        let number = value.as_f64()?;
        let whole = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
        whole.then_some(number as u32)
    }

    /// Checks the record by itself, and brings it into the form in which a zone keeps it.
    ///
    /// # Errors
    /// What is wrong with it, in the words of the service.
    pub(super) fn settle(&mut self, zone: &str, plan: Plan) -> Result<(), Refusal> {
        self.name = name::complete(&self.name, zone).ok_or_else(|| Refusal::record(9000, "DNS name is invalid."))?;
        content::settle(self, zone)?;
        self.check_proxy()?;
        self.check_ttl(plan)?;
        self.check_attributes(plan)?;
        self.check_settings(plan)
    }

    fn check_proxy(&mut self) -> Result<(), Refusal> {
        if !self.proxied {
            return Ok(());
        }
        if !matches!(self.kind.as_str(), "A" | "AAAA" | "CNAME") {
            return Err(Refusal::record(9004, "This record type cannot be proxied."));
        }
        if !content::is_proxiable(self) {
            let message = format!("Target {} is not allowed for a proxied record.", self.content);
            return Err(Refusal::record(9003, message));
        }
        // The proxy answers for it, so the TTL is the proxy's.
        self.ttl = 1;
        Ok(())
    }

    fn check_ttl(&self, plan: Plan) -> Result<(), Refusal> {
        if self.ttl == 1 || (plan.ttl()..=86_400).contains(&self.ttl) {
            return Ok(());
        }
        let message = format!("TTL must be between {} and 86400 seconds, or 1 for Automatic.", plan.ttl());
        Err(Refusal::record(9021, message))
    }

    fn check_attributes(&self, plan: Plan) -> Result<(), Refusal> {
        let comment = self.comment.as_deref().unwrap_or_default();
        if comment.chars().count() > plan.comment() {
            let message = format!("DNS record comment exceeds the maximum length of {} characters.", plan.comment());
            return Err(Refusal::record(9313, message));
        }
        if comment.contains(char::is_control) {
            return Err(Refusal::field("DNS record comment contains invalid characters."));
        }
        if self.tags.len() > plan.tags() {
            let (count, most) = (self.tags.len(), plan.tags());
            return Err(Refusal::record(9300, format!("DNS record has {count} tags, exceeding the quota of {most}.")));
        }
        match self.tags.iter().find(|tag| !is_tag(tag)) {
            Some(tag) => Err(Refusal::field(format!("DNS record tag {tag} is invalid."))),
            None => Ok(()),
        }
    }

    fn check_settings(&self, plan: Plan) -> Result<(), Refusal> {
        let flattened = self.settings.get("flatten_cname") == Some(&true);
        if flattened && (self.kind != "CNAME" || !plan.is_paid()) {
            return Err(Refusal::field("CNAME flattening is not allowed for this record."));
        }
        let only = |setting: &str| self.settings.get(setting) == Some(&true);
        if (only("ipv4_only") || only("ipv6_only")) && !self.proxied {
            return Err(Refusal::field("Only proxied records can be limited to one address family."));
        }
        Ok(())
    }

    /// Whether this record says in the DNS what another one says.
    pub(super) fn says(&self, other: &Self) -> bool {
        self.name == other.name
            && self.kind == other.kind
            && self.content == other.content
            && self.priority == other.priority
            && self.data == other.data
    }

    /// As an answer shows it, with when it was made and when it was changed.
    pub(super) fn element(&self, created: &str, modified: &str) -> Value {
        let Self { id, name, kind, content, ttl, proxied, comment, tags, settings, .. } = self;
        let mut element = json!({
            "id": id, "name": name, "type": kind, "content": content, "ttl": ttl, "proxied": proxied, "comment": comment,
            "proxiable": content::is_proxiable(self), "tags": tags, "settings": settings, "meta": {}, "created_on": created,
            "modified_on": modified,
        });
        if let Some(priority) = self.priority {
            element["priority"] = priority.into();
        }
        if let Some(data) = &self.data {
            element["data"] = data.clone();
        }
        if self.comment.is_some() {
            element["comment_modified_on"] = modified.into();
        }
        if !self.tags.is_empty() {
            element["tags_modified_on"] = modified.into();
        }
        if self.private_routing {
            element["private_routing"] = true.into();
        }
        element
    }
}

/// A field that may be absent or null, but not of another type.
fn optional<T>(
    fields: &Map<String, Value>,
    field: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Option<T>, Refusal> {
    match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => read(value).map(Some).ok_or_else(Refusal::body),
    }
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}

fn settings(value: &Value) -> Option<BTreeMap<String, bool>> {
    let given = value.as_object()?.iter().filter(|(_, value)| !value.is_null());
    given.map(|(setting, value)| Some((setting.clone(), value.as_bool()?))).collect()
}

/// *Record attributes* in the documentation: `name:value`, the name of letters, digits, `-` and `_`.
fn is_tag(tag: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    tag.split_once(':').is_some_and(|(name, value)| {
        (1..=32).contains(&name.len()) && name.bytes().all(letter) && value.chars().count() <= 100
    })
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} ", self.name, self.ttl, self.kind)?;
        if let Some(priority) = self.priority {
            write!(f, "{priority} ")?;
        }
        f.write_str(&self.content)?;
        if self.proxied {
            f.write_str(" proxied")?;
        }
        if let Some(comment) = &self.comment {
            write!(f, " comment={comment}")?;
        }
        if !self.tags.is_empty() {
            write!(f, " tags={}", self.tags.join(","))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
