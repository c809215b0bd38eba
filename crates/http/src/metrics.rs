//! The duration of requests, under the name and labels that external-dns has for it.

use std::fmt;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use url::Url;

/// Labels of `external_dns_http_request_duration_seconds`, in lower case as there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    /// `instrumented_http`, always.
    pub handler: String,
    /// `http` or `https`.
    pub scheme: String,
    /// Host and port.
    pub host: String,
    /// The end of the path, see [`RequestTimes`].
    pub path: String,
    /// `get`, `post` ...
    pub method: String,
    /// The status; empty where there was no answer.
    pub status: String,
}

/// Durations of single attempts, from the first byte sent to the last one read; clones are the same metric.
///
/// The label `path` is the last segment of the request's template. Where that is a placeholder, the last fixed segment with
/// all that follows it (`records/{id}`): so the number of series does not grow with the number of records.
#[derive(Clone)]
pub struct RequestTimes(Family<RequestLabels, Histogram, fn() -> Histogram>);

impl RequestTimes {
    /// The name of the metric, without the prefix `external_dns_`.
    pub const NAME: &'static str = "http_request_duration_seconds";
    /// What it says.
    pub const HELP: &'static str = "Duration of HTTP requests";

    /// The metric, to register it.
    pub fn family(&self) -> Family<RequestLabels, Histogram, fn() -> Histogram> {
        self.0.clone()
    }

    /// Counts one attempt: where it went, the template of its path, its method, its status if there was an answer.
    pub fn observe(&self, url: &Url, template: &str, method: &str, status: Option<u16>, took: Duration) {
        let host = url.host_str().unwrap_or_default();
        let labels = RequestLabels {
            handler: "instrumented_http".to_owned(),
            scheme: url.scheme().to_owned(),
            host: url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")).to_lowercase(),
            path: path_label(template),
            method: method.to_lowercase(),
            status: status.map_or_else(String::new, |status| status.to_string()),
        };
        self.0.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// The metric as OpenMetrics text.
    #[cfg(any(test, feature = "testing"))]
    pub fn text(&self) -> String {
        let mut registry = prometheus_client::registry::Registry::default();
        registry.register(Self::NAME, Self::HELP, self.family());
        let mut out = String::new();
        // Writing into a string cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut out, &registry);
        out
    }
}

fn path_label(template: &str) -> String {
    let segments: Vec<&str> = template.split('/').filter(|segment| !segment.is_empty()).collect();
    let fixed = segments.iter().rposition(|segment| !segment.contains('{')).unwrap_or(0);
    segments.get(fixed..).unwrap_or_default().join("/").to_lowercase()
}

fn buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.005, 2.0, 13))
}

impl Default for RequestTimes {
    fn default() -> Self {
        Self(Family::new_with_constructor(buckets))
    }
}

impl fmt::Debug for RequestTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RequestTimes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        for (template, expected) in [
            ("", ""),
            ("/", ""),
            ("records", "records"),
            ("/zones/{zone}/dns_Records", "dns_records"),
            ("/zones/{zone}/records/{type}/{id}", "records/{type}/{id}"),
            ("/{zone}", "{zone}"),
        ] {
            assert_eq!(path_label(template), expected, "{template}");
        }
    }

    #[test]
    fn ten_thousand_records_are_one_series() {
        let times = RequestTimes::default();
        for i in 0..10_000 {
            let url = format!("https://A.example:8443/zones/z/records/{i}?token=s3cret").parse().unwrap();
            times.observe(&url, "/zones/{zone}/records/{id}", "DELETE", Some(204), Duration::from_millis(20));
        }
        times.observe(&"http://a/".parse().unwrap(), "", "GET", None, Duration::from_millis(1));
        let text = times.text();
        let counts: Vec<_> = text.lines().filter(|line| line.contains("_count{")).collect();
        assert_eq!(counts.len(), 2, "{text}");
        let line = "http_request_duration_seconds_count{handler=\"instrumented_http\",scheme=\"https\",host=\"a.example:8443\",\
                    path=\"records/{id}\",method=\"delete\",status=\"204\"} 10000";
        assert!(counts.contains(&line), "{counts:?}");
        assert!(text.contains("path=\"\",method=\"get\",status=\"\"} 1") && !text.contains("s3cret"), "{text}");
    }
}
