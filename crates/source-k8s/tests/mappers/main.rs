//! The mappers against the test vectors of external-dns (by their ids: S, C, N, H, X, I, D, P, G, L ...) and beyond them.

#[cfg(feature = "ambassador")]
mod ambassador;
mod any_input;
mod any_options;
#[cfg(feature = "contour")]
mod contour;
mod crd;
#[cfg(feature = "f5")]
mod f5;
#[cfg(feature = "gateway")]
mod gateway;
#[cfg(feature = "gloo")]
mod gloo;
mod ingress;
#[cfg(feature = "istio")]
mod istio;
#[cfg(feature = "kong")]
mod kong;
#[cfg(feature = "kops")]
mod kops;
mod member_templates;
mod node;
#[cfg(feature = "openshift")]
mod openshift;
mod pod;
mod problems;
mod scene;
mod service_cluster;
mod service_compat;
mod service_headless;
mod service_load_balancer;
mod service_node_port;
#[cfg(feature = "skipper")]
mod skipper;
mod templates;
#[path = "../things/mod.rs"]
mod things;
#[cfg(feature = "traefik")]
mod traefik;
mod unstructured;
