//! Whether a kind that was answered with 404 is positively unknown to the API server. Anything but a clear answer of its
//! discovery leaves the question open: a 404 alone may come from a proxy, or from a server that is still starting.

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
}

/// `Ok(Some(..))` says in what way the kind is unknown; `Ok(None)` that discovery lists it.
pub(super) async fn denial(cluster: &Cluster, spec: &WatchSpec) -> Result<Option<String>, Failure> {
    let path = spec.group_path();
    match cluster.read::<Resources>(&path).await {
        Ok(found) if found.resources.iter().any(|resource| resource.name == spec.plural) => Ok(None),
        Ok(_) => Ok(Some(format!("{path} of the API server has no resource {:?}", spec.plural))),
        Err(failure) if failure.code() == Some(404) && !spec.group.is_empty() => group_denial(cluster, spec).await,
        Err(failure) => Err(failure),
    }
}

async fn group_denial(cluster: &Cluster, spec: &WatchSpec) -> Result<Option<String>, Failure> {
    let found: Groups = cluster.read("/apis").await?;
    let Some(group) = found.groups.iter().find(|group| group.name == spec.group) else {
        return Ok(Some(format!("the API server has no group {}", spec.group)));
    };
    if group.versions.iter().any(|version| version.version == spec.version) {
        return Ok(None);
    }
    let served: Vec<_> = group.versions.iter().map(|version| &*version.version).collect();
    Ok(Some(format!("the API server has no version {} of {}; it has {}", spec.version, spec.group, served.join(", "))))
}
