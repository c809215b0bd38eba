//! What watches the daemon: alerts and dashboard speak of metrics that there are, and everything that chooses pods or Services by labels
//! chooses this one.

use std::collections::BTreeSet;

use serde_json::Value;
use zonewright_engine::metrics::{MetricDescription, Metrics};

use crate::charts::{file, installed, pod, root};
use crate::needs_helm;

/// The metrics of the engine, as they are served: histograms have their three series.
fn metrics() -> BTreeSet<String> {
    let metrics = Metrics::default();
    metrics.build_info("", "");
    let series = |metric: MetricDescription| {
        let ends: &[&str] = if metric.kind == "histogram" { &["_bucket", "_count", "_sum"] } else { &[""] };
        ends.iter().map(|end| format!("{}{end}", metric.name)).collect::<Vec<_>>()
    };
    metrics.described().into_iter().flat_map(series).collect()
}

/// The names of our metrics in a text.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
    let ours = |word: &&str| word.starts_with("zonewright_") || word.starts_with("external_dns_");
    words.filter(ours).map(str::to_owned).collect()
}

#[test]
fn alerts_and_dashboard_speak_of_metrics_that_there_are() {
    let metrics = metrics();
    assert!(metrics.contains("zonewright_held_deletes") && metrics.contains("external_dns_source_errors_total"));
    for path in ["files/alerts.yaml", "files/dashboard.json"] {
        let named = named(&file(path));
        assert!(named.len() >= 4, "{path}: {named:?}");
        let unknown: Vec<&String> = named.difference(&metrics).collect();
        assert!(unknown.is_empty(), "{path}: {unknown:?}");
    }
}

#[test]
fn the_alerts_are_those_of_the_page() {
    let page = std::fs::read_to_string(root().join("docs/operate.md")).expect("the page");
    let (_, alerts) = page.split_once("Good alerts: ").expect("the page lists alerts");
    let (alerts, _) = alerts.split_once("`/healthz`").expect("probes follow");
    let rules: Vec<Value> = serde_saphyr::from_str(&file("files/alerts.yaml")).expect("alerts are YAML");
    let watched: BTreeSet<String> =
        rules.iter().flat_map(|rule| named(rule["expr"].as_str().expect("an expression"))).collect();
    assert_eq!(watched, named(alerts));
    for rule in rules {
        let expression = rule["expr"].as_str().expect("an expression");
        let alerts: String = alerts.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(alerts.contains(expression), "{expression} is not in: {alerts}");
    }
}

#[test]
fn alerts_are_rendered_as_they_stand() {
    needs_helm!();
    let rendered = installed("{prometheusRule: {enabled: true}}");
    let rules = rendered.only("PrometheusRule")["spec"]["groups"][0]["rules"].as_array().expect("rules").clone();
    let stated: Vec<Value> = serde_saphyr::from_str(&file("files/alerts.yaml")).expect("alerts are YAML");
    assert_eq!(rules.len(), stated.len());
    for (rule, stated) in rules.iter().zip(&stated) {
        for key in ["alert", "expr", "for", "annotations"] {
            assert_eq!(rule[key], stated[key], "Helm leaves Prometheus' own templates alone");
        }
        assert_eq!(rule["labels"]["severity"], "warning");
    }
}

#[test]
fn the_dashboard_is_what_grafana_reads() {
    needs_helm!();
    let rendered = installed("{dashboard: {enabled: true}}");
    let text = rendered.only("ConfigMap")["data"]["zonewright.json"].as_str().expect("a text").to_owned();
    let dashboard: Value = serde_json::from_str(&text).expect("a dashboard is JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    assert!(panels.len() >= 10);
    let mut places = BTreeSet::new();
    for panel in panels {
        let (place, title) = (&panel["gridPos"], &panel["title"]);
        assert!(places.insert(place.to_string()), "{title} stands where another one does");
        let right = place["x"].as_u64().zip(place["w"].as_u64()).map(|(x, w)| x + w);
        assert!(right.is_some_and(|right| right <= 24), "{title} is out of the grid");
        for target in panel["targets"].as_array().expect("targets") {
            let expression = target["expr"].as_str().expect("an expression");
            assert!(expression.contains("{job=~\"$job\"}"), "{title}: {expression}");
            assert_eq!(expression.matches('(').count(), expression.matches(')').count(), "{title}: {expression}");
        }
    }
}

/// Whether these labels are chosen.
fn chooses(selector: &Value, labels: &Value) -> bool {
    let selector = selector.as_object().filter(|selector| !selector.is_empty());
    selector.is_some_and(|selector| selector.iter().all(|(key, value)| labels[key] == *value))
}

#[test]
fn whatever_chooses_by_labels_chooses_this_pod_and_this_service() {
    needs_helm!();
    for more in ["", ", nameOverride: other, commonLabels: {a: b}, podLabels: {c: d}"] {
        let values = format!(
            "{{provider: {{name: webhook, webhook: {{image: {{repository: r, tag: t}}}}}}, serviceMonitor: {{enabled: true}}, \
             networkPolicy: {{enabled: true}}, podDisruptionBudget: {{enabled: true}}{more}}}"
        );
        let rendered = installed(&values);
        let deployment = rendered.only("Deployment");
        let labels = &deployment["spec"]["template"]["metadata"]["labels"];
        let service = rendered.only("Service");
        assert!(chooses(&deployment["spec"]["selector"]["matchLabels"], labels));
        assert!(chooses(&service["spec"]["selector"], labels));
        assert!(chooses(&rendered.only("NetworkPolicy")["spec"]["podSelector"]["matchLabels"], labels));
        assert!(chooses(&rendered.only("PodDisruptionBudget")["spec"]["selector"]["matchLabels"], labels));
        let monitor = &rendered.only("ServiceMonitor")["spec"];
        assert!(chooses(&monitor["selector"]["matchLabels"], &service["metadata"]["labels"]));
        assert_eq!(monitor["namespaceSelector"]["matchNames"][0], service["metadata"]["namespace"]);

        // Ports are known by their names.
        let names = |ports: &Value, key: &str| -> BTreeSet<String> {
            let ports = ports.as_array().into_iter().flatten();
            ports.filter_map(|port| port[key].as_str().map(str::to_owned)).collect()
        };
        let containers = pod(&rendered)["containers"].as_array().expect("containers");
        let of_pod: BTreeSet<String> =
            containers.iter().flat_map(|container| names(&container["ports"], "name")).collect();
        let of_service = names(&service["spec"]["ports"], "name");
        assert_eq!(of_pod.iter().map(String::as_str).collect::<Vec<_>>(), ["http", "http-webhook"]);
        assert_eq!(names(&service["spec"]["ports"], "targetPort"), of_pod);
        assert_eq!(names(&monitor["endpoints"], "port"), of_service);
        assert_eq!(names(&rendered.only("NetworkPolicy")["spec"]["ingress"][0]["ports"], "port"), of_pod);
    }
}
