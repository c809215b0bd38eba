//! Whether a kind that was answered with 404 is positively unknown to the API server. Anything but a clear answer of its
//! discovery leaves the question open: a 404 alone may come from a proxy, or from a server that is still starting. Or the
//! kind is no namespaced one, and was asked for in a namespace.

use serde::Deserialize;

use super::WatchSpec;
use crate::api::Failure;
use crate::cluster::Cluster;

#[derive(Deserialize)]
struct Groups {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    name: String,
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

#[derive(Deserialize)]
struct Resources {
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    name: String,
    /// Absent means nothing.
    namespaced: Option<bool>,
}

/// What discovery says about a kind.
#[derive(Debug)]
pub(super) enum KindAvailability {
    /// It is listed.
    Listed,
    /// It is listed, and its objects live outside namespaces.
    ClusterScoped,
    /// It is unknown, in this way.
    Denied(String),
}

/// Asks discovery about the kind.
pub(super) async fn verdict(cluster: &Cluster, spec: &WatchSpec) -> Result<KindAvailability, Failure> {
    let path = spec.group_path();
    match cluster.read::<Resources>(&path).await {
        Ok(found) => {
            let resource = found.resources.iter().find(|resource| resource.name == spec.plural);
            Ok(match resource.map(|resource| resource.namespaced) {
                Some(Some(false)) => KindAvailability::ClusterScoped,
                Some(_) => KindAvailability::Listed,
                None => KindAvailability::Denied(format!("{path} of the API server has no resource {:?}", spec.plural)),
            })
        }
        Err(failure) if failure.code() == Some(404) && !spec.group.is_empty() => of_group(cluster, spec).await,
        Err(failure) => Err(failure),
    }
}

async fn of_group(cluster: &Cluster, spec: &WatchSpec) -> Result<KindAvailability, Failure> {
    let found: Groups = cluster.read("/apis").await?;
    let Some(group) = found.groups.iter().find(|group| group.name == spec.group) else {
        return Ok(KindAvailability::Denied(format!("the API server has no group {}", spec.group)));
    };
    if group.versions.iter().any(|version| version.version == spec.version) {
        return Ok(KindAvailability::Listed);
    }
    let served = group.versions.iter().map(|version| &*version.version).collect::<Vec<_>>().join(", ");
    let (group, version) = (&spec.group, &spec.version);
    Ok(KindAvailability::Denied(format!("the API server has no version {version} of {group}; it has {served}")))
}
