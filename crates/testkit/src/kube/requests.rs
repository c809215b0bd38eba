//! Requests as a test makes them: in, API paths and objects; out, what the API server answers.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Answer, KubeApi, User};
use crate::wait::wait_for;

impl KubeApi {
    /// GET as admin.
    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.client.get(path)
    }

    /// GET as another user, for what it may and may not see.
    #[track_caller]
    pub fn get_as(&self, user: User, path: &str) -> Answer {
        self.site.client(user).get(path)
    }

    /// Whether a user may use `verb` (`watch`) on `resource` (`services`) of `group` (empty for the core group) in all
    /// namespaces: SelfSubjectAccessReview (authorization.k8s.io/v1).
    #[track_caller]
    pub fn may(&self, user: User, verb: &str, group: &str, resource: &str) -> bool {
        self.may_in(user, verb, group, resource, "")
    }

    /// As [`KubeApi::may`], in one namespace.
    #[track_caller]
    pub fn may_in(&self, user: User, verb: &str, group: &str, resource: &str, namespace: &str) -> bool {
        let asked = json!({ "verb": verb, "group": group, "resource": resource, "namespace": namespace });
        let review = json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": { "resourceAttributes": asked } });
        let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        let answer = self.site.client(user).send("POST", path, "application/json", &review).expect_success();
        answer["status"]["allowed"] == true
    }

    /// Waits until the API server has taken notice of what a user was granted ([`KubeApi::grant`]).
    ///
    /// # Panics
    /// When it has not within two minutes.
    #[track_caller]
    pub fn wait_until_may(&self, user: User, verb: &str, group: &str, resource: &str) {
        wait_for("the grant", Duration::from_mins(2), || self.may(user, verb, group, resource).then_some(()));
    }

    /// Creates an object in the collection `path`. `apiVersion` and `kind` may be left out, but not of custom resources.
    #[track_caller]
    pub fn post(&self, path: &str, object: &Value) -> Answer {
        self.client.send("POST", path, "application/json", object)
    }

    /// Replaces the object at `path`.
    #[track_caller]
    pub fn put(&self, path: &str, object: &Value) -> Answer {
        self.client.send("PUT", path, "application/json", object)
    }

    /// Merges `change` into the object at `path` (RFC 7396): `null` removes a field, a list is replaced as a whole.
    #[track_caller]
    pub fn patch(&self, path: &str, change: &Value) -> Answer {
        self.client.send("PATCH", path, "application/merge-patch+json", change)
    }

    /// Merges `status` into the status of the object at `path`, through its status subresource.
    #[track_caller]
    pub fn patch_status(&self, path: &str, status: &Value) -> Answer {
        self.patch(&format!("{path}/status"), &json!({ "status": status }))
    }

    /// Creates or changes the object at `path` to what `object` says (server-side apply, conflicts overridden).
    /// `object` must hold `apiVersion` and `kind`; JSON or YAML text.
    #[track_caller]
    pub fn apply(&self, path: &str, object: &str) -> Answer {
        let path = format!("{path}?fieldManager=testkit&force=true");
        self.client.send_text("PATCH", &path, "application/apply-patch+yaml", object)
    }

    /// Applies a CustomResourceDefinition, JSON or YAML text, and waits until the API server serves it. `name` is its
    /// `metadata.name`.
    ///
    /// # Panics
    /// When the API server refuses it or does not serve it within a minute.
    #[track_caller]
    pub fn apply_crd(&self, name: &str, definition: &str) {
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
        self.apply(&path, definition).expect_success();
        let (plural, group) = name.split_once('.').expect("a name of the form <plural>.<group>");
        wait_for(&format!("{name} to be served"), Duration::from_mins(1), || {
            let definition = self.get(&path).body;
            let versions =
                definition["spec"]["versions"].as_array()?.iter().filter(|version| version["served"] == true);
            let mut paths =
                versions.map(|version| format!("/apis/{group}/{}/{plural}", version["name"].as_str().unwrap_or("")));
            paths.all(|path| self.get(&path).status == 200).then_some(())
        });
    }

    /// Deletes the object, or all objects of the collection, at `path`.
    #[track_caller]
    pub fn delete(&self, path: &str) -> Answer {
        self.client.delete(path)
    }
}
