//! The mappers of Services and Ingresses against the test vectors of external-dns (S, C, N, H, X, I) and beyond them.

mod any_input;
mod ingress;
mod problems;
mod scene;
mod service_cluster;
mod service_headless;
mod service_load_balancer;
mod service_node_port;
