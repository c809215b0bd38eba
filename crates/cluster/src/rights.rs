//! What the daemon may do: SelfSubjectAccessReview (authorization.k8s.io/v1).

use http::Method;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use zonewright_core::Result;

use crate::cluster::Cluster;

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

impl Cluster {
    /// Whether the daemon's user may use `verb` (`watch`) on `resource` (`services`) of `group` (empty for the core
    /// group); in all namespaces if `namespace` is `None`.
    ///
    /// # Errors
    /// If the API server does not answer the review. Every authenticated user may ask for one.
    pub async fn has_right(&self, verb: &str, group: &str, resource: &str, namespace: Option<&str>) -> Result<bool> {
        let attributes = ResourceAttributes {
            verb: Some(verb.to_owned()),
            group: Some(group.to_owned()),
            resource: Some(resource.to_owned()),
            namespace: namespace.map(str::to_owned),
            ..ResourceAttributes::default()
        };
        let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
        let review = SelfSubjectAccessReview { spec, ..Default::default() };
        let answer: SelfSubjectAccessReview = self
            .write(Method::POST, REVIEWS, &review)
            .await
            .map_err(|failure| failure.into_error("review access", &format!("{verb} {resource}")))?;
        Ok(answer.status.is_some_and(|status| status.allowed))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use zonewright_core::ErrorKind;

    use crate::fake::{Fake, Step};

    const POST: &str = "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

    #[tokio::test]
    async fn the_review_says_what_is_allowed() {
        for allowed in [true, false] {
            let fake = Fake::new(vec![Step::json(POST, &json!({ "spec": {}, "status": { "allowed": allowed } }))]);
            let answer = fake.cluster().has_right("watch", "networking.k8s.io", "ingresses", Some("shop")).await;
            assert_eq!(answer.unwrap(), allowed);
            let asked =
                json!({ "verb": "watch", "group": "networking.k8s.io", "resource": "ingresses", "namespace": "shop" });
            assert_eq!(fake.sent(0)["spec"]["resourceAttributes"], asked);
        }
    }

    #[tokio::test]
    async fn no_review_is_no_answer() {
        let fake = Fake::new(vec![Step::unreachable(POST)]);
        let error = fake.cluster().has_right("watch", "", "services", None).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unavailable);
    }
}
