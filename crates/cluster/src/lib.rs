//! The Kubernetes client: connection, watches, events and the ConfigMap store. The only crate that imports `k8s-openapi`.
