//! The cluster that the daemon works with: in come the flags, out goes a connection where something needs one.
//!
//! What must hold: with `--manifests` no cluster is written to that was not named, or that the pod is not part of.

use std::sync::Arc;

use zonewright_core::catalog::Settings;
use zonewright_core::documents::DocumentStore;
use zonewright_core::{Error, ErrorKind, Result};

use crate::catalog::Catalog;

/// A connection to a cluster.
#[cfg(feature = "cluster")]
pub(crate) type Connection = zonewright_cluster::Cluster;

/// There is none in a build without a client.
#[cfg(not(feature = "cluster"))]
pub(crate) type Connection = std::convert::Infallible;

/// Where there is no client.
pub(crate) fn none() -> Error {
    let text = "this build has no Kubernetes client (Cargo feature cluster): give --manifests";
    Error::new(ErrorKind::Configuration, "open the sources", text)
}

/// Connects, if objects are read from a cluster or the registry is in one.
///
/// # Errors
/// Whatever keeps it from being known which cluster that is.
#[cfg(feature = "cluster")]
pub(crate) async fn open(catalog: &Catalog, settings: &Settings) -> Result<Option<Connection>> {
    if !settings.text("manifests").is_empty() {
        if !keeps_documents(catalog, settings) {
            return Ok(None);
        }
        let pod = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
        if !pod && settings.text("kubeconfig").is_empty() && settings.text("server").is_empty() {
            let text = format!(
                "--registry={} keeps its records in a cluster, and with --manifests none is at hand: give --kubeconfig, or \
                 another --registry",
                settings.text("registry")
            );
            return Err(Error::new(ErrorKind::Configuration, "open the registry", text));
        }
    }
    // Installed twice is no harm: the first one stays.
    let _ = rustls::crypto::ring::default_provider().install_default();
    zonewright_cluster::connect(&options(settings)).await.map(Some)
}

/// A connection for commands that only look for what a daemon keeps: where the user named a cluster, or this is a pod.
///
/// # Errors
/// Whatever keeps it from being known which cluster that is.
#[cfg(feature = "cluster")]
pub(crate) async fn at_hand(settings: &Settings) -> Result<Option<Connection>> {
    if !is_named(settings) {
        return Ok(None);
    }
    // Installed twice is no harm: the first one stays.
    let _ = rustls::crypto::ring::default_provider().install_default();
    zonewright_cluster::connect(&options(settings)).await.map(Some)
}

/// As [`at_hand`], and where nothing was named also the cluster of the environment's kubeconfig: for commands that only read. What is
/// wrong with a cluster that nobody named is no reason to fail.
///
/// # Errors
/// As [`at_hand`].
#[cfg(feature = "cluster")]
pub(crate) async fn to_read(settings: &Settings) -> Result<Option<Connection>> {
    match at_hand(settings).await? {
        None if zonewright_cluster::has_kubeconfig() => {
            let _ = rustls::crypto::ring::default_provider().install_default();
            Ok(zonewright_cluster::connect(&options(settings)).await.ok())
        }
        named => Ok(named),
    }
}

/// Whether the flags or the surroundings name the cluster of a command.
#[cfg(feature = "cluster")]
pub(crate) fn is_named(settings: &Settings) -> bool {
    let pod = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    pod || !settings.text("kubeconfig").is_empty() || !settings.text("server").is_empty()
}

/// The namespace in which a daemon keeps state and journal.
#[cfg(feature = "cluster")]
pub(crate) fn home<'a>(settings: &'a Settings, cluster: &'a Connection) -> &'a str {
    Some(settings.text("state-namespace")).filter(|text| !text.is_empty()).unwrap_or(cluster.namespace())
}

/// There is no client.
#[cfg(not(feature = "cluster"))]
#[expect(clippy::unused_async, reason = "the same shape with and without the feature")]
pub(crate) async fn open(_: &Catalog, _: &Settings) -> Result<Option<Connection>> {
    Ok(None)
}

/// Whether the registry that the flags choose keeps its claims in a cluster.
pub(crate) fn keeps_documents(catalog: &Catalog, settings: &Settings) -> bool {
    catalog.registry(settings.text("registry")).is_some_and(|entry| entry.keeps_documents)
}

/// The registry's documents, for commands that read no objects: a connection is made only where the registry is in a cluster.
///
/// # Errors
/// As [`open`].
pub(crate) async fn registry(catalog: &Catalog, settings: &Settings) -> Result<Option<Arc<dyn DocumentStore>>> {
    if !keeps_documents(catalog, settings) {
        return Ok(None);
    }
    Ok(documents(catalog, settings, open(catalog, settings).await?.as_ref()))
}

/// Where the registry keeps its records, if that is in a cluster.
#[cfg(feature = "cluster")]
pub(crate) fn documents(
    catalog: &Catalog,
    settings: &Settings,
    cluster: Option<&Connection>,
) -> Option<Arc<dyn DocumentStore>> {
    let cluster = cluster.filter(|_| keeps_documents(catalog, settings))?;
    let namespace = Some(settings.text("registry-namespace")).filter(|text| !text.is_empty());
    let documents = zonewright_cluster::ConfigMapDocuments::new(cluster, namespace.unwrap_or(cluster.namespace()));
    Some(Arc::new(documents))
}

/// There is no client.
#[cfg(not(feature = "cluster"))]
pub(crate) fn documents(_: &Catalog, _: &Settings, _: Option<&Connection>) -> Option<Arc<dyn DocumentStore>> {
    None
}

/// The client flags, which `zonewright kops` alone has.
#[cfg(feature = "cluster")]
fn overrides(settings: &Settings) -> zonewright_cluster::KubeconfigOverrides {
    let some = |flag: &str| Some(settings.text(flag).to_owned()).filter(|text| !text.is_empty());
    let pair = |text: &String| text.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    zonewright_cluster::KubeconfigOverrides {
        context: some("context"),
        cluster: some("cluster"),
        user: some("user"),
        token: settings.secret("token").cloned(),
        username: some("username"),
        password: settings.secret("password").cloned(),
        client_certificate: some("client-certificate"),
        client_key: some("client-key"),
        certificate_authority: some("certificate-authority"),
        insecure: settings.bool("insecure-skip-tls-verify"),
        tls_server_name: some("tls-server-name"),
        proxy_url: some("proxy-url"),
        disable_compression: settings.bool("disable-compression"),
        impersonate: some("as"),
        impersonate_uid: some("as-uid"),
        impersonate_groups: settings.nonempty("as-group"),
        impersonate_extra: settings.list("as-user-extra").iter().filter_map(pair).collect(),
    }
}

#[cfg(feature = "cluster")]
fn options(settings: &Settings) -> zonewright_cluster::ConnectOptions {
    let some = |flag: &str| Some(settings.text(flag)).filter(|text| !text.is_empty());
    let rate = |flag: &str| u32::try_from(settings.int(flag)).unwrap_or(0);
    let timeout = settings.duration("kube-api-request-timeout");
    let place = zonewright_cluster::ConnectOptions {
        kubeconfig: some("kubeconfig").map(std::path::PathBuf::from),
        server: some("server").map(str::to_owned),
        overrides: overrides(settings),
        ..zonewright_cluster::ConnectOptions::default()
    };
    if timeout.is_zero() && rate("kube-api-qps") == 0 && rate("kube-api-burst") == 0 {
        // Small commands have no flags for these.
        return place;
    }
    zonewright_cluster::ConnectOptions {
        request_timeout: Some(timeout).filter(|timeout| !timeout.is_zero()),
        qps: rate("kube-api-qps"),
        burst: rate("kube-api-burst"),
        ..place
    }
}
