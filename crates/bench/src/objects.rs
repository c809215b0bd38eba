//! The Services that benchmarks publish, or Ingresses where there are more than the cluster has addresses for: one name and one address each.

use std::fmt::Write as _;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::thread;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use zonewright_testkit::KubeApi;

/// The zone of all names.
pub(crate) const ZONE: &str = "bench.test";
/// The owner in the claims.
pub(crate) const OWNER: &str = "bench";
const NAMESPACE: &str = "bench";
/// Clients that fill the cluster; the API server is the slower side.
const WRITERS: u32 = 6;
/// Services in one manifest file.
const PER_FILE: u32 = 100;

/// The name that the Service of this number asks for.
pub(crate) fn host(number: u32) -> String {
    format!("n{number:05}.{ZONE}")
}

/// A different address for each number and each round.
pub(crate) fn address(number: u32, round: u8) -> Ipv4Addr {
    let [_, a, b, c] = number.to_be_bytes();
    Ipv4Addr::new(10_u8.wrapping_add(round), a, b, c)
}

/// What publishes the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Each takes an address of the cluster, of which there are 65,534.
    Service,
    /// These take none.
    Ingress,
}

impl Kind {
    /// The flag by which a daemon reads them.
    pub(crate) fn source(self) -> &'static str {
        match self {
            Self::Service => "--source=service",
            Self::Ingress => "--source=ingress",
        }
    }

    /// The path of one.
    pub(crate) fn path(self, number: u32) -> String {
        format!("{}/n{number:05}", self.collection())
    }

    fn collection(self) -> String {
        match self {
            Self::Service => collection(),
            Self::Ingress => format!("/apis/networking.k8s.io/v1/namespaces/{NAMESPACE}/ingresses"),
        }
    }

    fn object(self, number: u32) -> Value {
        match self {
            Self::Service => service(number),
            Self::Ingress => json!({
                "apiVersion": "networking.k8s.io/v1",
                "kind": "Ingress",
                "metadata": { "name": format!("n{number:05}"), "namespace": NAMESPACE },
                "spec": { "rules": [{ "host": host(number) }] },
            }),
        }
    }

    /// Creates some with their status.
    pub(crate) fn create(self, kube: &KubeApi, numbers: std::ops::Range<u32>) {
        each(numbers, |number| {
            kube.post(&self.collection(), &self.object(number)).expect_success();
            kube.patch_status(&self.path(number), &status(address(number, 0))).expect_success();
        });
    }
}

/// The path of a Service.
pub(crate) fn path(number: u32) -> String {
    Kind::Service.path(number)
}

/// The path of all of them.
pub(crate) fn collection() -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/services")
}

/// A load balancer's status with this address.
pub(crate) fn status(address: Ipv4Addr) -> Value {
    json!({ "loadBalancer": { "ingress": [{ "ip": address }] } })
}

/// A Service of type LoadBalancer; the API server drops the status at creation.
pub(crate) fn service(number: u32) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": format!("n{number:05}"),
            "namespace": NAMESPACE,
            "annotations": { "external-dns.kubernetes.io/hostname": host(number) },
        },
        // Node ports would run out at 2,768.
        "spec": { "type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": [{ "port": 80 }] },
        "status": status(address(number, 0)),
    })
}

/// Makes the namespace.
pub(crate) fn namespace(kube: &KubeApi) {
    kube.post("/api/v1/namespaces", &json!({ "metadata": { "name": NAMESPACE } })).expect_success();
}

/// Creates Services with their status.
pub(crate) fn create(kube: &KubeApi, numbers: std::ops::Range<u32>) {
    Kind::Service.create(kube, numbers);
}

/// Gives Services the address of another round.
pub(crate) fn change(kube: &KubeApi, numbers: std::ops::Range<u32>, round: u8) {
    each(numbers, |number| {
        kube.patch_status(&path(number), &status(address(number, round))).expect_success();
    });
}

/// Deletes Services.
pub(crate) fn delete(kube: &KubeApi, numbers: std::ops::Range<u32>) {
    each(numbers, |number| {
        kube.delete(&path(number)).expect_success();
    });
}

/// Calls `action` with each number, from several clients at a time.
pub(crate) fn each(numbers: std::ops::Range<u32>, action: impl Fn(u32) + Sync) {
    let (numbers, action) = (&numbers, &action);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || numbers.clone().filter(|number| number % WRITERS == writer).for_each(action));
        }
    });
}

/// Writes the same Services as manifests, some to a file.
pub(crate) fn manifests(folder: &Path, count: u32) -> Result<()> {
    for first in (0..count).step_by(PER_FILE as usize) {
        let mut text = String::new();
        for number in first..count.min(first + PER_FILE) {
            // JSON is YAML.
            let _ = write!(text, "---\n{}\n", service(number));
        }
        fs::write(folder.join(format!("services-{first:05}.yaml")), text).context("write a manifest")?;
    }
    Ok(())
}

/// What the daemon adds to the zone for a Service, as `nsupdate` takes it: the record and its claim.
pub(crate) fn records(number: u32) -> [String; 2] {
    let claim = format!(
        "heritage=external-dns,external-dns/owner={OWNER},external-dns/resource=service/{NAMESPACE}/n{number:05}"
    );
    [format!("add {} 0 A {}", host(number), address(number, 0)), format!("add a-{} 0 TXT \"{claim}\"", host(number))]
}

/// Records of others, as lines of a zone file.
pub(crate) fn foreign(count: u32) -> String {
    let mut text = String::new();
    for number in 0..count {
        let _ = writeln!(text, "f{number:05} A {}", address(number, 90));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_all_different() {
        let all: std::collections::BTreeSet<_> =
            (0..70_000).flat_map(|number| [0, 1, 90].map(|round| address(number, round))).collect();
        assert_eq!(all.len(), 210_000);
        assert_eq!(host(7), "n00007.bench.test");
    }
}
