//! The operations on tags of hosted zones and health checks.

use std::collections::BTreeMap;

use super::refusal::Refusal;
use super::service::{Service, document};
use super::xml::{self, Element};
use crate::reply::Reply;

/// Most ids, or tags, of a request.
const MOST: usize = 10;

impl Service {
    pub(super) fn list_tags(&mut self, account: &str, kind: &str, id: &str) -> Result<Reply, Refusal> {
        let set = self.tags_of(account, kind, id)?;
        Ok(document(200, "ListTagsForResourceResponse", vec![set]))
    }

    pub(super) fn list_tags_of_many(&mut self, account: &str, kind: &str, body: &[u8]) -> Result<Reply, Refusal> {
        let ids = xml::request(body, "ListTagsForResourcesRequest", |root| {
            xml::only(root, &["ResourceIds"])?;
            let ids = xml::list(root, "ResourceIds", "ResourceId");
            Ok(ids.iter().map(|id| id.text().unwrap_or_default().to_owned()).collect::<Vec<_>>())
        })?;
        if ids.is_empty() || ids.len() > MOST {
            let problem = format!(
                "Value at 'resourceIds' failed to satisfy constraint: Member must have length less than or equal to {MOST} \
                 and greater than or equal to 1"
            );
            return Err(Refusal::validation(&[problem]));
        }
        let sets = ids.iter().map(|id| self.tags_of(account, kind, id)).collect::<Result<_, _>>()?;
        Ok(document(200, "ListTagsForResourcesResponse", vec![Element::list("ResourceTagSets", sets)]))
    }

    pub(super) fn change_tags(&mut self, account: &str, kind: &str, id: &str, body: &[u8]) -> Result<Reply, Refusal> {
        self.tags_of(account, kind, id)?;
        let (add, remove) = xml::request(body, "ChangeTagsForResourceRequest", |root| {
            xml::only(root, &["AddTags", "RemoveTagKeys"])?;
            let text = |node, name| xml::text(node, name).unwrap_or_default().to_owned();
            let add = xml::list(root, "AddTags", "Tag").into_iter().map(|tag| (text(tag, "Key"), text(tag, "Value")));
            let remove = xml::list(root, "RemoveTagKeys", "Key").into_iter();
            let remove = remove.map(|key| key.text().unwrap_or_default().to_owned());
            Ok((add.collect::<BTreeMap<_, _>>(), remove.collect::<Vec<_>>()))
        })?;
        if add.is_empty() && remove.is_empty() || add.len() > MOST || remove.len() > MOST {
            return Err(Refusal::input(format!("The request must contain between 1 and {MOST} tags or tag keys")));
        }
        if kind == "hostedzone" {
            let tags = &mut self.zone(account, id)?.tags;
            tags.retain(|key, _| !remove.contains(key));
            tags.extend(add);
        }
        Ok(document(200, "ChangeTagsForResourceResponse", Vec::new()))
    }

    /// Health checks have no tags here.
    fn tags_of(&mut self, account: &str, kind: &str, id: &str) -> Result<Element, Refusal> {
        let tags = match kind {
            "hostedzone" => self.zone(account, id)?.tags.clone(),
            "healthcheck" if self.health_checks.contains(id) => BTreeMap::new(),
            "healthcheck" => {
                return Err(Refusal::new(404, "NoSuchHealthCheck", format!("No health check found with id: {id}")));
            }
            other => {
                let problem = format!(
                    "Value '{other}' at 'resourceType' failed to satisfy constraint: Member must satisfy enum value \
                     set: [healthcheck, hostedzone]"
                );
                return Err(Refusal::validation(&[problem]));
            }
        };
        let tag = |(key, value): (&String, &String)| {
            Element::list("Tag", vec![Element::text("Key", key), Element::text("Value", value)])
        };
        let parts = vec![
            Element::text("ResourceType", kind),
            Element::text("ResourceId", id),
            Element::list("Tags", tags.iter().map(tag).collect()),
        ];
        Ok(Element::list("ResourceTagSet", parts))
    }
}
