//! What flags say in place of a kubeconfig: the client flags that every Kubernetes program has, as kubectl understands them.
//!
//! In: a kubeconfig, and the flags. Out: the kubeconfig as if it had said so itself. What must hold: who says how to prove who one is
//! replaces every other proof in the file, and whoever names an authority replaces the file's.

use std::collections::HashMap;

use kube::config::{
    AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext,
};
use secrecy::SecretString;

/// The name of what flags alone make, where there is no kubeconfig.
const OWN: &str = "flags";

/// Values of the client flags; what is `None`, empty or `false` says nothing.
#[derive(Debug, Clone, Default)]
pub struct KubeconfigOverrides {
    /// `--context`: in place of the current one.
    pub context: Option<String>,
    /// `--cluster`: in place of the context's.
    pub cluster: Option<String>,
    /// `--user`: in place of the context's.
    pub user: Option<String>,
    /// `--token`.
    pub token: Option<SecretString>,
    /// `--username` and `--password`.
    pub username: Option<String>,
    /// See `username`.
    pub password: Option<SecretString>,
    /// `--client-certificate`: a file.
    pub client_certificate: Option<String>,
    /// `--client-key`: a file.
    pub client_key: Option<String>,
    /// `--certificate-authority`: a file.
    pub certificate_authority: Option<String>,
    /// `--insecure-skip-tls-verify`.
    pub insecure: bool,
    /// `--tls-server-name`.
    pub tls_server_name: Option<String>,
    /// `--proxy-url`.
    pub proxy_url: Option<String>,
    /// `--disable-compression`.
    pub disable_compression: bool,
    /// `--as`: whom to impersonate.
    pub impersonate: Option<String>,
    /// `--as-uid`.
    pub impersonate_uid: Option<String>,
    /// `--as-group`.
    pub impersonate_groups: Vec<String>,
    /// `--as-user-extra`: keys and values.
    pub impersonate_extra: Vec<(String, String)>,
}

impl KubeconfigOverrides {
    /// Whether they say anything.
    pub(crate) fn is_empty(&self) -> bool {
        let texts = [
            &self.context,
            &self.cluster,
            &self.user,
            &self.username,
            &self.client_certificate,
            &self.client_key,
            &self.certificate_authority,
            &self.tls_server_name,
            &self.proxy_url,
            &self.impersonate,
            &self.impersonate_uid,
        ];
        texts.iter().all(|text| text.is_none())
            && self.token.is_none()
            && self.password.is_none()
            && self.impersonate_groups.is_empty()
            && self.impersonate_extra.is_empty()
            && !self.insecure
            && !self.disable_compression
    }

    /// Which entries of the file count.
    pub(crate) fn choice(&self) -> KubeConfigOptions {
        KubeConfigOptions { context: self.context.clone(), cluster: self.cluster.clone(), user: self.user.clone() }
    }

    /// A kubeconfig of nothing but a server, for flags without a file.
    pub(crate) fn alone(server: &str) -> Kubeconfig {
        let cluster = Cluster { server: Some(server.to_owned()), ..Cluster::default() };
        let context = Context { cluster: OWN.to_owned(), user: Some(OWN.to_owned()), ..Context::default() };
        Kubeconfig {
            clusters: vec![NamedCluster { name: OWN.to_owned(), cluster: Some(cluster), ..NamedCluster::default() }],
            auth_infos: vec![NamedAuthInfo {
                name: OWN.to_owned(),
                auth_info: Some(AuthInfo::default()),
                ..NamedAuthInfo::default()
            }],
            contexts: vec![NamedContext { name: OWN.to_owned(), context: Some(context), ..NamedContext::default() }],
            current_context: Some(OWN.to_owned()),
            ..Kubeconfig::default()
        }
    }

    /// The file with these values in it. Every entry gets them: only the chosen ones are looked at.
    pub(crate) fn into(self, mut file: Kubeconfig) -> Kubeconfig {
        for cluster in file.clusters.iter_mut().filter_map(|named| named.cluster.as_mut()) {
            self.of_cluster(cluster);
        }
        for user in file.auth_infos.iter_mut().filter_map(|named| named.auth_info.as_mut()) {
            self.of_user(user);
        }
        file
    }

    fn of_cluster(&self, cluster: &mut Cluster) {
        if self.certificate_authority.is_some() {
            cluster.certificate_authority.clone_from(&self.certificate_authority);
            cluster.certificate_authority_data = None;
        }
        if self.insecure {
            cluster.insecure_skip_tls_verify = Some(true);
            (cluster.certificate_authority, cluster.certificate_authority_data) = (None, None);
        }
        if self.disable_compression {
            cluster.disable_compression = Some(true);
        }
        set(&mut cluster.tls_server_name, self.tls_server_name.as_ref());
        set(&mut cluster.proxy_url, self.proxy_url.as_ref());
    }

    fn of_user(&self, user: &mut AuthInfo) {
        if self.token.is_some() || self.username.is_some() || self.client_certificate.is_some() {
            let AuthInfo { impersonate, impersonate_uid, impersonate_groups, impersonate_user_extra, .. } =
                std::mem::take(user);
            *user = AuthInfo {
                impersonate,
                impersonate_uid,
                impersonate_groups,
                impersonate_user_extra,
                token: self.token.clone(),
                username: self.username.clone(),
                password: self.password.clone(),
                client_certificate: self.client_certificate.clone(),
                ..AuthInfo::default()
            };
        }
        if self.client_key.is_some() {
            user.client_key.clone_from(&self.client_key);
            user.client_key_data = None;
        }
        set(&mut user.impersonate, self.impersonate.as_ref());
        set(&mut user.impersonate_uid, self.impersonate_uid.as_ref());
        if !self.impersonate_groups.is_empty() {
            user.impersonate_groups = Some(self.impersonate_groups.clone());
        }
        if !self.impersonate_extra.is_empty() {
            let mut extra: HashMap<String, Vec<String>> = HashMap::new();
            for (key, value) in &self.impersonate_extra {
                extra.entry(key.clone()).or_default().push(value.clone());
            }
            user.impersonate_user_extra = Some(extra);
        }
    }
}

fn set(field: &mut Option<String>, value: Option<&String>) {
    if let Some(value) = value {
        *field = Some(value.clone());
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    const FILE: &str = r#"{
        "clusters": [{ "name": "c", "cluster": { "server": "https://192.0.2.1", "certificate-authority-data": "YQ==" } }],
        "users": [{ "name": "u", "user": { "exec": { "command": "login" }, "token": "old", "as": "robot" } }],
        "contexts": [{ "name": "x", "context": { "cluster": "c", "user": "u" } }], "current-context": "x"
    }"#;

    fn with(overrides: KubeconfigOverrides) -> (Cluster, AuthInfo) {
        let mut file = overrides.into(serde_json::from_str(FILE).unwrap());
        let (cluster, user) = (file.clusters.remove(0), file.auth_infos.remove(0));
        (cluster.cluster.unwrap(), user.auth_info.unwrap())
    }

    #[expect(clippy::unnecessary_wraps, reason = "the shape of every field")]
    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn a_proof_replaces_every_other_one() {
        let (_, user) = with(KubeconfigOverrides { token: Some("new".into()), ..KubeconfigOverrides::default() });
        assert_eq!(user.token.map(|token| token.expose_secret().to_owned()), some("new"));
        assert!(user.exec.is_none() && user.impersonate == some("robot"));
        let (_, user) = with(KubeconfigOverrides {
            client_certificate: some("/c.pem"),
            client_key: some("/k.pem"),
            impersonate: some("me"),
            impersonate_groups: vec!["ops".to_owned()],
            impersonate_extra: vec![("scope".to_owned(), "dns".to_owned())],
            ..KubeconfigOverrides::default()
        });
        assert_eq!((user.client_certificate, user.client_key), (some("/c.pem"), some("/k.pem")));
        assert!(user.token.is_none() && user.exec.is_none());
        assert_eq!((user.impersonate, user.impersonate_groups), (some("me"), Some(vec!["ops".to_owned()])));
        assert_eq!(user.impersonate_user_extra.unwrap()["scope"], ["dns"]);
    }

    #[test]
    fn an_authority_replaces_the_files() {
        let (cluster, user) = with(KubeconfigOverrides {
            certificate_authority: some("/ca.pem"),
            tls_server_name: some("api.internal"),
            proxy_url: some("http://proxy:3128"),
            ..KubeconfigOverrides::default()
        });
        assert_eq!((cluster.certificate_authority, cluster.certificate_authority_data), (some("/ca.pem"), None));
        assert_eq!((cluster.tls_server_name, cluster.proxy_url), (some("api.internal"), some("http://proxy:3128")));
        assert!(user.exec.is_some(), "how to prove who one is stays as it was");
        let (cluster, _) = with(KubeconfigOverrides { insecure: true, ..KubeconfigOverrides::default() });
        assert_eq!((cluster.insecure_skip_tls_verify, cluster.certificate_authority_data), (Some(true), None));
    }

    #[test]
    fn nothing_said_changes_nothing() {
        assert!(KubeconfigOverrides::default().is_empty());
        let (cluster, user) = with(KubeconfigOverrides::default());
        assert!(cluster.certificate_authority_data.is_some() && user.exec.is_some());
        assert!(!KubeconfigOverrides { insecure: true, ..KubeconfigOverrides::default() }.is_empty());
    }
}
