//! The program beside the daemon that speaks the webhook protocol: one that is there already, or external-dns itself for a provider
//! that Zonewright does not have.

use super::input::Other;
use super::{Sidecar, Swap};
use crate::flags::sorting::{self, Taken};

/// What becomes of the provider: one that is not here goes behind the webhook bridge, where external-dns itself serves it.
pub(super) fn provider(swap: &mut Swap<'_>) -> Option<Sidecar> {
    let provider = swap.text("provider")?.to_owned();
    if provider == "webhook" {
        return sidecar(swap);
    }
    if sorting::has_provider(swap.catalog, &provider) || !sorting::is_of_peer(&provider) {
        return None;
    }
    let own = sorting::of_provider(swap.catalog, &provider);
    let (moved, kept): (Vec<Taken>, Vec<Taken>) =
        std::mem::take(&mut swap.sorted.taken).into_iter().partition(|taken| own.contains(taken.name));
    // External-dns asks for a source and a policy even where it only serves.
    let both = |taken: &&Taken| matches!(taken.name, "source" | "policy" | "domain-filter");
    let mut arguments = vec!["--webhook-server".to_owned()];
    arguments.extend(kept.iter().filter(|taken| taken.name == "provider" || both(taken)).map(Taken::argument));
    arguments.extend(moved.iter().filter(|taken| !taken.is_secret()).map(Taken::argument));
    let secret = |taken: &Taken| format!("; give it {} with the value of --{}, from a Secret", taken.env, taken.name);
    let secrets: String = moved.iter().filter(|taken| taken.is_secret()).map(secret).collect();
    swap.sorted.taken = kept;
    for taken in swap.sorted.taken.iter_mut().filter(|taken| taken.name == "provider") {
        "webhook".clone_into(&mut taken.value);
    }
    if !arguments.iter().any(|argument| argument.starts_with("--policy")) {
        arguments.push("--policy=sync".to_owned());
    }
    swap.refuse(
        format!("--provider={provider}"),
        "Zonewright does not have this provider yet",
        "external-dns itself serves it over the webhook protocol, in a second container of the pod (below); Zonewright reads the \
         cluster, plans, holds and claims",
    );
    Some(Sidecar {
        name: "external-dns".to_owned(),
        image: swap.source.image.clone().unwrap_or_else(|| "registry.k8s.io/external-dns/external-dns".to_owned()),
        ports: vec![8888],
        arguments,
        about: format!("serves {provider} at http://localhost:8888; it keeps its environment and mounts{secrets}"),
    })
}

/// How the port of a pod is reached from elsewhere.
fn forward(swap: &Swap<'_>, port: u64) -> String {
    let object = swap.source.what.strip_prefix("Deployment ").and_then(|name| name.split_once('/'));
    let how = "to run these commands elsewhere, forward its port first, with";
    match object {
        Some((namespace, name)) => {
            format!("{how} `kubectl --namespace={namespace} port-forward deployment/{name} {port}`")
        }
        None => format!("{how} `kubectl port-forward`"),
    }
}

/// The webhook provider that runs beside external-dns.
fn sidecar(swap: &mut Swap<'_>) -> Option<Sidecar> {
    let url = swap.text("webhook-provider-url").unwrap_or("http://localhost:8888").to_owned();
    let local = ["localhost", "127.0.0.1", "[::1]"].iter().any(|host| url.contains(&format!("//{host}")));
    let port = url.rsplit(':').next().and_then(|text| text.trim_end_matches('/').parse::<u64>().ok()).unwrap_or(80);
    let others = &swap.source.others;
    let serves = |other: &&Other| other.ports.contains(&port);
    let likely = |other: &&Other| other.name.contains("webhook") || other.image.contains("webhook");
    let found = others.iter().find(serves).or_else(|| others.iter().find(likely)).or(others.first()).cloned();
    if let Some(other) = found {
        if local && !other.ports.is_empty() && !other.ports.contains(&port) {
            let ports: Vec<String> = other.ports.iter().map(ToString::to_string).collect();
            swap.differs.push(format!(
                "the container {} names the ports {}, and --webhook-provider-url has {port}: make sure that it listens there",
                other.name,
                ports.join(", ")
            ));
        }
        if local {
            swap.differs.push(format!("the webhook answers inside of the pod alone: {}", forward(swap, port)));
        }
        let Other { name, image, ports } = other;
        let about = format!("stays as it is; Zonewright asks it at {url}");
        return Some(Sidecar { name, image, ports, arguments: Vec::new(), about });
    }
    if local && !swap.source.what.contains("arguments") {
        swap.differs.push(format!(
            "no other container is in the pod, and the webhook is to be asked at {url}: nothing would answer there"
        ));
    }
    None
}
