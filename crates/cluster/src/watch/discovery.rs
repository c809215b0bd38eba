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

impl Resources {
    fn of(&self, spec: &WatchSpec) -> Option<&Resource> {
        self.resources.iter().find(|resource| resource.name == spec.plural)
    }
}

/// What discovery says about a kind.
#[derive(Debug)]
pub(super) enum KindAvailability {
    /// It is listed.
    Listed,
    /// It is listed, and its objects live outside namespaces.
    ClusterScoped,
    /// It is listed in other versions of its group only: there may be objects, which nobody reads.
    OtherVersion(String),
    /// It is unknown in every version, in this way.
    Denied(String),
}

/// Asks discovery about the kind.
pub(super) async fn verdict(cluster: &Cluster, spec: &WatchSpec) -> Result<KindAvailability, Failure> {
    let path = spec.group_path();
    match cluster.read::<Resources>(&path).await {
        Ok(found) => match found.of(spec) {
            Some(Resource { namespaced: Some(false), .. }) => Ok(KindAvailability::ClusterScoped),
            Some(_) => Ok(KindAvailability::Listed),
            None => {
                let denial = format!("{path} of the API server has no resource {:?}", spec.plural);
                let versions = served_versions(cluster, spec).await?.unwrap_or_default();
                in_other_versions(cluster, spec, &versions, denial).await
            }
        },
        Err(failure) if failure.code() == Some(404) && !spec.group.is_empty() => of_group(cluster, spec).await,
        Err(failure) => Err(failure),
    }
}

async fn of_group(cluster: &Cluster, spec: &WatchSpec) -> Result<KindAvailability, Failure> {
    let Some(versions) = served_versions(cluster, spec).await? else {
        return Ok(KindAvailability::Denied(format!("the API server has no group {}", spec.group)));
    };
    if versions.contains(&spec.version) {
        return Ok(KindAvailability::Listed);
    }
    let (group, version, served) = (&spec.group, &spec.version, versions.join(", "));
    let denial = format!("the API server has no version {version} of {group}; it has {served}");
    in_other_versions(cluster, spec, &versions, denial).await
}

/// The versions in which the kind's group is served; `None` where it is not. The core group has the one that is in its path.
async fn served_versions(cluster: &Cluster, spec: &WatchSpec) -> Result<Option<Vec<String>>, Failure> {
    if spec.group.is_empty() {
        return Ok(None);
    }
    let found: Groups = cluster.read("/apis").await?;
    let group = found.groups.into_iter().find(|group| group.name == spec.group);
    Ok(group.map(|group| group.versions.into_iter().map(|version| version.version).collect()))
}

/// Looks for a kind that its own version does not hold in the others of its group: what is there, and is not read, is not gone.
async fn in_other_versions(
    cluster: &Cluster,
    spec: &WatchSpec,
    versions: &[String],
    denial: String,
) -> Result<KindAvailability, Failure> {
    let mut holding = Vec::new();
    for version in versions.iter().filter(|version| **version != spec.version) {
        let found: Resources = cluster.read(&format!("/apis/{}/{version}", spec.group)).await?;
        if found.of(spec).is_some() {
            holding.push(version.as_str());
        }
    }
    if holding.is_empty() {
        return Ok(KindAvailability::Denied(denial));
    }
    let WatchSpec { group, version, plural, .. } = spec;
    let holding = holding.join(", ");
    Ok(KindAvailability::OtherVersion(format!(
        "the API server serves {plural} of {group} as {holding}, and not as {version}, which is what is read"
    )))
}
