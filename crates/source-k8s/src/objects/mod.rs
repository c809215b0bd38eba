//! The objects as mappers see them: the API's JSON in, small structs out, with nothing in them that no mapper reads.
//!
//! Unknown fields are ignored, absent and `null` ones take their default: whatever an API server can hold parses. A field
//! of another type than the API says (possible in a manifest only) makes the object unreadable, with serde's reason.

mod ambassador;
mod contour;
mod dns_endpoint;
mod f5;
mod gateway;
mod gloo;
mod host;
mod ingress;
mod istio;
mod kong;
mod label_selector;
mod meta;
mod node;
mod openshift;
mod plain;
mod pod;
mod service;
mod skipper;
mod slice;
mod text_map;
mod traefik;

use serde::{Deserialize, Deserializer};

pub use ambassador::{AmbassadorHost, AmbassadorHostSpec};
pub use contour::{HttpProxy, HttpProxySpec, HttpProxyStatus, VirtualHost};
pub use dns_endpoint::{DnsEndpoint, DnsEndpointSpec, DnsEndpointStatus, NamedValue, WantedRecord};
pub use f5::{F5Server, F5ServerSpec, F5ServerStatus};
pub use gateway::{
    AllowedListeners, AllowedRoutes, Condition, FromNamespaces, GATEWAY_GROUP, Gateway, GatewayAddress, GatewaySpec,
    GatewayStatus, Listener, ListenerSet, ListenerSetSpec, ListenerSetStatus, ListenerStatus, ParentRef, Route,
    RouteKind, RouteParent, RouteSpec, RouteStatus, acceptance,
};
pub use gloo::{
    GlooAggregateListener, GlooFilterChain, GlooHttpListener, GlooHttpResources, GlooListener, GlooMetadata,
    GlooMetadataStatic, GlooProxy, GlooProxySpec, GlooResourceRef, GlooSource, GlooStaticSource, GlooVirtualHost,
};
pub use host::Host;
pub use ingress::{Ingress, IngressRule, IngressSpec, IngressStatus, IngressTls};
pub use istio::{IstioGateway, IstioGatewaySpec, IstioServer, IstioVirtualService, IstioVirtualServiceSpec};
pub use kong::{TcpIngress, TcpIngressRule, TcpIngressSpec, TcpIngressStatus};
pub use label_selector::{LabelRequirement, LabelSelector};
pub use meta::Meta;
pub use node::{Node, NodeAddress, NodeSpec, NodeStatus};
pub use openshift::{OpenshiftRoute, OpenshiftRouteSpec, OpenshiftRouteStatus, RouterCondition, RouterStatus};
pub use plain::Plain;
pub use pod::{Pod, PodIp, PodSpec, PodStatus};
pub use service::{LoadBalancer, LoadBalancerIngress, Service, ServicePort, ServiceSpec, ServiceStatus, ServiceType};
pub use skipper::{RouteGroup, RouteGroupLoadBalancer, RouteGroupSpec, RouteGroupStatus};
pub use slice::{Conditions, EndpointSlice, SliceEndpoint, TargetRef};
pub use text_map::TextMap;
pub use traefik::{IngressRoute, IngressRouteSpec, TraefikRoute};

/// Reads `null` as the default, as the API's own clients do.
fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroI64;

    use serde_json::{Value, json};

    use super::*;
    use crate::annotations::AnnotationFilterKeys;
    use crate::kind::Kind;

    fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).expect("the API can hold this")
    }

    #[test]
    fn empty_objects_and_nulls_parse() {
        for body in
            [json!({}), json!({"metadata": null, "spec": null, "status": null}), json!({"metadata": {"labels": null}})]
        {
            read::<Service>(body.clone());
            read::<Ingress>(body.clone());
            read::<EndpointSlice>(body.clone());
            read::<Pod>(body.clone());
            read::<Node>(body);
        }
    }

    #[test]
    fn metadata() {
        let service: Service = read(json!({"metadata": {
            "namespace": "ns", "name": "web", "uid": "u-1", "creationTimestamp": "2024-01-01T00:00:00Z", "managedFields": [{}],
            "labels": {"b": "2", "a": "1"}, "annotations": {"x": "y", "z": null}, "deletionTimestamp": "2024-01-02T00:00:00Z"}}));
        let meta = &service.metadata;
        assert_eq!((&*meta.namespace, &*meta.name, &meta.uid), ("ns", "web", &"u-1".into()));
        assert_eq!(meta.created.map(NonZeroI64::get), Some(1_704_067_200));
        assert!(meta.deleting);
        assert_eq!(meta.labels.iter().collect::<Vec<_>>(), [("a", "1"), ("b", "2")]);
        assert_eq!(meta.annotations.get("z"), Some(""));
        let reference = meta.object_ref(Kind::Service);
        assert_eq!((&*reference.types.api_version, &**reference.kind()), ("v1", "Service"));
        assert_eq!(
            &*read::<Ingress>(json!({})).metadata.object_ref(Kind::Ingress).types.api_version,
            "networking.k8s.io/v1"
        );
    }

    #[test]
    fn a_bad_timestamp_is_an_unknown_age() {
        for (text, created) in [
            (json!("yesterday"), None),
            (json!(null), None),
            (json!("2024-01-01T01:00:00+01:00"), Some(1_704_067_200)),
            (json!("1970-01-01T00:00:00Z"), Some(1)),
            (json!("1969-12-31T23:59:59Z"), Some(-1)),
        ] {
            let service: Service = read(json!({"metadata": {"creationTimestamp": text}}));
            assert_eq!(service.metadata.created.map(NonZeroI64::get), created);
            assert!(!service.metadata.deleting);
        }
    }

    #[test]
    fn a_field_of_another_type_is_an_error() {
        assert!(serde_json::from_value::<Service>(json!({"spec": {"externalIPs": "1.2.3.4"}})).is_err());
    }

    /// There is one for each name, or nearly.
    #[test]
    fn a_service_is_small() {
        assert!(size_of::<Service>() <= 240, "{} bytes", size_of::<Service>());
    }

    #[test]
    fn ports_are_kept_where_they_are_those_of_nodes() {
        for (service_type, kept) in [("NodePort", 1), ("LoadBalancer", 0)] {
            let mut service: Service = read(json!({"spec": {"type": service_type, "ports": [{"nodePort": 30_000}]}}));
            service.prune(&AnnotationFilterKeys::new(["p/"], ["tier"]));
            assert_eq!(service.spec.ports.len(), kept, "{service_type}");
        }
    }

    #[test]
    fn pruning_keeps_what_mappers_read() {
        let keep = AnnotationFilterKeys::new(["p/"], ["tier"]);
        let mut pod: Pod = read(json!({"metadata": {
            "labels": {"app": "a"}, "annotations": {"p/target": "1.2.3.4", "tier": "x", "big": "json", "zonewright.dev/policy": "sync"}}}));
        pod.prune(&keep);
        assert_eq!(pod.metadata.labels.get("app"), Some("a"));
        assert_eq!(
            pod.metadata.annotations.iter().map(|(k, _)| k).collect::<Vec<_>>(),
            ["p/target", "tier", "zonewright.dev/policy"]
        );

        let mut slice: EndpointSlice = read(json!({"metadata": {
            "labels": {"kubernetes.io/service-name": "web", "app": "a"}, "annotations": {"tier": "x"}}}));
        slice.prune(&keep);
        assert_eq!(slice.service(), Some("web"));
        assert_eq!(slice.metadata.labels.iter().count(), 1);
        assert_eq!(slice.metadata.annotations.iter().count(), 0);
    }
}
