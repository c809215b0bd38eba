//! From flags to a connection. In: `--kubeconfig`, `--server` and the limits. Out: a [`Cluster`], or an error that names the
//! file and the context. Nothing is sent yet: a server that is away is no reason not to start.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::header::USER_AGENT;
use http::{HeaderValue, Uri};
use kube::client::ClientBuilder;
use kube::config::{Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use zonewright_core::{Error, ErrorKind, Result};
use zonewright_http::{Proxies, Url};

use crate::cluster::{Cluster, ClusterLocation};
use crate::options::ConnectOptions;
use crate::overrides::KubeconfigOverrides;

const SERVICE_ACCOUNT_NAMESPACE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
/// A server that does not take a connection by then is tried again; waiting longer only delays that.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// The files that kubectl reads, too.
const VARIABLE: &str = "KUBECONFIG";
const OPERATION: &str = "connect to the cluster";

/// Prepares a connection to the cluster; the first request is up to the caller. Needs a tokio runtime, and rustls' provider
/// of cryptography installed.
///
/// # Errors
/// If the kubeconfig or the service account cannot be read, or say something that cannot work.
pub async fn connect(options: &ConnectOptions) -> Result<Cluster> {
    options.check().map_err(wrong)?;
    let file = kubeconfig(options, std::env::var_os(VARIABLE), std::env::home_dir().as_deref());
    let mut config = match &file {
        Some(file) => from_file(file, options).await?,
        None if !options.overrides.is_empty() => from_flags(options).await?,
        None => from_service_account(options)?,
    };
    let agent = HeaderValue::from_str(&options.user_agent)
        .map_err(|e| wrong(format!("the user agent {:?} is no header value", options.user_agent)).caused_by(e))?;
    config.headers.push((USER_AGENT, agent));
    config.connect_timeout = Some(CONNECT_LIMIT);
    // The watch and the callers retry; a second retry below them would hide the error and double the load.
    config.default_retry = false;
    if config.accept_invalid_certs {
        tracing::warn!("the kubeconfig has insecure-skip-tls-verify: the API server's certificate is not checked");
    }
    let place = place(&config, file.is_none());
    let client = client(config, file.as_ref())?;
    tracing::info!(server = place.server, namespace = place.namespace, "Kubernetes client ready");
    Ok(Cluster::new(client, options, place))
}

/// Where a kubeconfig is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum KubeconfigPlace {
    /// One file: that of the flag, or the one in the home folder.
    File(PathBuf),
    /// The files that `KUBECONFIG` lists; of what several say the first counts, as with kubectl. Those that do not exist are left
    /// out, as long as one does.
    Listed(Vec<PathBuf>),
}

impl fmt::Display for KubeconfigPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => write!(f, "{}", file.display()),
            Self::Listed(files) => {
                let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
                write!(f, "{} (environment variable {VARIABLE})", files.join(", "))
            }
        }
    }
}

/// Whether this process finds a kubeconfig without being given one: by `KUBECONFIG`, or in the home folder.
pub fn has_kubeconfig() -> bool {
    kubeconfig(&ConnectOptions::default(), std::env::var_os(VARIABLE), std::env::home_dir().as_deref()).is_some()
}

/// The flag, else the environment, else the home folder.
fn kubeconfig(options: &ConnectOptions, listed: Option<OsString>, home: Option<&Path>) -> Option<KubeconfigPlace> {
    let given = options.kubeconfig.clone().filter(|path| !path.as_os_str().is_empty());
    let listed = || {
        let files: Vec<PathBuf> = std::env::split_paths(&listed?).filter(|path| !path.as_os_str().is_empty()).collect();
        (!files.is_empty()).then_some(KubeconfigPlace::Listed(files))
    };
    let at_home = || home.map(|home| home.join(".kube").join("config")).filter(|path| path.exists());
    given.map(KubeconfigPlace::File).or_else(listed).or_else(|| at_home().map(KubeconfigPlace::File))
}

fn read(place: &KubeconfigPlace) -> std::result::Result<Kubeconfig, KubeconfigError> {
    match place {
        KubeconfigPlace::File(file) => Kubeconfig::read_from(file),
        KubeconfigPlace::Listed(files) => {
            let there: Vec<&PathBuf> = files.iter().filter(|file| file.exists()).collect();
            // Where none exists, reading the first says so.
            let files = if there.is_empty() { files.iter().take(1).collect() } else { there };
            files.into_iter().try_fold(Kubeconfig::default(), |all, file| all.merge(Kubeconfig::read_from(file)?))
        }
    }
}

async fn from_file(file: &KubeconfigPlace, options: &ConnectOptions) -> Result<Config> {
    let kubeconfig = read(file).map_err(|e| wrong(format!("kubeconfig {file}: {e}")).caused_by(e))?;
    of(kubeconfig, options, &format!("kubeconfig {file}")).await
}

/// Where flags say who to be, and there is no file: they have to say where the server is, too.
async fn from_flags(options: &ConnectOptions) -> Result<Config> {
    let Some(server) = options.server.as_deref().filter(|server| !server.is_empty()) else {
        return Err(wrong(
            "client flags are given, and neither --kubeconfig nor --server: it is not known which cluster is meant",
        ));
    };
    server_url(server)?;
    of(KubeconfigOverrides::alone(server), options, "the flags").await
}

async fn of(kubeconfig: Kubeconfig, options: &ConnectOptions, from: &str) -> Result<Config> {
    let overrides = options.overrides.clone();
    let chosen = overrides.choice();
    let kubeconfig = overrides.into(kubeconfig);
    let context = chosen.context.clone().or_else(|| kubeconfig.current_context.clone()).unwrap_or_default();
    let own_proxy = own_proxy(&kubeconfig, &context, chosen.cluster.as_deref());
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &chosen)
        .await
        .map_err(|e| wrong(format!("{from}, context {context:?}: {e}")).caused_by(e))?;
    if let Some(server) = options.server.as_deref().filter(|server| !server.is_empty()) {
        config.cluster_url = server_url(server)?;
    }
    config.proxy_url = match own_proxy {
        Some(text) => Some(proxy_url(&text).ok_or_else(|| bad_proxy(from, &context))?),
        None => environments_proxy(&Proxies::from_env()?, &config.cluster_url),
    };
    Ok(config)
}

/// The `proxy-url` of the cluster that a context names, or of another one. It counts whatever `NO_PROXY` says, as with kubectl.
fn own_proxy(kubeconfig: &Kubeconfig, context: &str, other: Option<&str>) -> Option<String> {
    let context =
        kubeconfig.contexts.iter().find(|known| known.name == context).and_then(|named| named.context.as_ref());
    let name = other.or(context.map(|context| context.cluster.as_str()))?;
    let cluster = kubeconfig.clusters.iter().find(|cluster| cluster.name == name)?.cluster.as_ref()?;
    cluster.proxy_url.clone().filter(|text| !text.trim().is_empty())
}

fn proxy_url(text: &str) -> Option<Uri> {
    let url: Uri = text.trim().parse().ok()?;
    (url.host().is_some() && matches!(url.scheme_str(), Some("http" | "https" | "socks5"))).then_some(url)
}

/// The address is in no message: it may hold a password.
fn bad_proxy(from: &str, context: &str) -> Error {
    wrong(format!(
        "{from}, context {context:?}: proxy-url: expected an address such as http://proxy.example.com:3128 \
         (http, https or socks5)"
    ))
}

/// The proxy that the environment names for the server. Kube's own rule matches `NO_PROXY` against the proxy's address.
fn environments_proxy(proxies: &Proxies, server: &Uri) -> Option<Uri> {
    let server: Url = server.to_string().parse().ok()?;
    // Names are resolved by the proxy in both forms.
    proxies.proxy_for(&server).and_then(|proxy| proxy_url(&proxy.as_str().replacen("socks5h:", "socks5:", 1)))
}

fn server_url(server: &str) -> Result<Uri> {
    let url: Uri = server.parse().map_err(|e| wrong(format!("--server={server}: no URL")).caused_by(e))?;
    match url.scheme_str() {
        Some("http" | "https") => Ok(url),
        _ => Err(wrong(format!("--server={server}: expected a URL such as https://10.0.0.1:6443"))),
    }
}

fn from_service_account(options: &ConnectOptions) -> Result<Config> {
    if let Some(server) = &options.server {
        tracing::warn!(
            server,
            "--server is ignored: it applies to a kubeconfig only, and the service account of the pod is used"
        );
    }
    Config::incluster().map_err(|e| {
        let mut why = e.to_string();
        if let Some(cause) = std::error::Error::source(&e) {
            why = format!("{why}: {cause}");
        }
        wrong(format!(
            "no --kubeconfig is given, KUBECONFIG is not set, ~/.kube/config does not exist, and this is no pod with a service account \
             ({why}); give --kubeconfig, or a folder of objects with --manifests"
        ))
    })
}

fn place(config: &Config, in_cluster: bool) -> ClusterLocation {
    let pod = std::env::var("POD_NAMESPACE").ok();
    let account = std::fs::read_to_string(SERVICE_ACCOUNT_NAMESPACE).ok();
    ClusterLocation {
        server: config.cluster_url.to_string(),
        namespace: namespace([pod, account, Some(config.default_namespace.clone())]),
        in_cluster,
    }
}

/// The first that says something.
fn namespace(candidates: [Option<String>; 3]) -> String {
    let said = candidates.into_iter().flatten().map(|text| text.trim().to_owned()).find(|text| !text.is_empty());
    said.unwrap_or_else(|| "default".to_owned())
}

fn client(config: Config, file: Option<&KubeconfigPlace>) -> Result<Client> {
    let from = file.map_or_else(|| "the service account".to_owned(), |file| format!("kubeconfig {file}"));
    let builder = ClientBuilder::try_from(config).map_err(|e| wrong(format!("{from}: {e}")).caused_by(e))?;
    Ok(builder.build())
}

fn wrong(context: impl Into<String>) -> Error {
    Error::new(ErrorKind::Configuration, OPERATION, context)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::{Arc, Mutex};

    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
    use tokio::net::TcpListener;

    use super::*;

    const KUBECONFIG: &str = r#"{
        "clusters": [{ "name": "c", "cluster": { "server": "https://192.0.2.1:6443" } }],
        "users": [{ "name": "u", "user": { "token": "t0p-secret" } }],
        "contexts": [{ "name": "x", "context": { "cluster": "c", "user": "u", "namespace": "team" } }],
        "current-context": "x"
    }"#;

    fn folder(text: &str) -> (tempfile::TempDir, ConnectOptions) {
        // The daemon's `main` installs it; a second installation is refused, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kubeconfig");
        fs::write(&file, text).unwrap();
        (folder, ConnectOptions { kubeconfig: Some(file), ..ConnectOptions::default() })
    }

    async fn error(options: &ConnectOptions) -> String {
        connect(options).await.unwrap_err().to_string()
    }

    #[test]
    fn the_flag_comes_before_the_environment_before_the_home_folder_before_the_service_account() {
        let home = tempfile::tempdir().unwrap();
        let flag = |path: &str| ConnectOptions { kubeconfig: Some(path.into()), ..ConnectOptions::default() };
        let file = |options: &ConnectOptions, listed: Option<&str>| {
            kubeconfig(options, listed.map(OsString::from), Some(home.path()))
        };
        let one = |path: &str| Some(KubeconfigPlace::File(path.into()));
        let none = ConnectOptions::default();
        assert_eq!(file(&flag("/given"), Some("/listed")), one("/given"));
        assert_eq!(file(&none, None), None);
        fs::create_dir(home.path().join(".kube")).unwrap();
        let at_home = home.path().join(".kube/config");
        fs::write(&at_home, "").unwrap();
        let at_home = Some(KubeconfigPlace::File(at_home));
        assert_eq!(file(&flag("/given"), None), one("/given"));
        assert_eq!(file(&none, None), at_home);
        assert_eq!(file(&flag(""), Some("")), at_home);
        let listed = Some(KubeconfigPlace::Listed(vec!["/a".into(), "/b".into()]));
        assert_eq!(file(&none, Some("/a:/b")), listed);
        assert_eq!(file(&flag(""), Some(":/a::/b")), listed);
        assert_eq!(kubeconfig(&none, None, None), None);
    }

    /// As with kubectl: of what several files say the first counts, and one that is not there is left out.
    #[test]
    fn listed_files_are_joined() {
        let (folder, _) = folder(KUBECONFIG);
        let at = |name: &str| folder.path().join(name);
        fs::write(at("other"), KUBECONFIG.replace("192.0.2.1", "192.0.2.2").replace("\"c\"", "\"d\"")).unwrap();
        let server = |files: &[&str]| {
            let place = KubeconfigPlace::Listed(files.iter().map(|name| at(name)).collect());
            let context = |all: Kubeconfig| all.current_context.zip(Some(all.clusters.len()));
            read(&place).map(context).map_err(|e| e.to_string())
        };
        assert_eq!(server(&["kubeconfig", "other", "missing"]), Ok(Some(("x".to_owned(), 2))));
        assert!(server(&["missing"]).unwrap_err().contains("missing"));
    }

    #[test]
    fn the_namespace_is_the_first_that_says_something() {
        let check = |candidates: [Option<&str>; 3], expected: &str| {
            assert_eq!(namespace(candidates.map(|c| c.map(str::to_owned))), expected, "{candidates:?}");
        };
        check([Some("pod"), Some("account"), Some("context")], "pod");
        check([Some(""), Some("account\n"), Some("context")], "account");
        check([None, None, Some("context")], "context");
        check([None, Some(" "), None], "default");
    }

    #[tokio::test]
    async fn a_kubeconfig_gives_server_and_namespace() {
        let (_folder, options) = folder(KUBECONFIG);
        let cluster = connect(&options).await.unwrap();
        assert_eq!(
            (cluster.server(), cluster.namespace(), cluster.in_cluster()),
            ("https://192.0.2.1:6443/", "team", false)
        );
        assert!(!format!("{cluster:?}").contains("t0p-secret"));
    }

    #[tokio::test]
    async fn the_server_flag_replaces_the_kubeconfigs_server() {
        let (_folder, options) = folder(KUBECONFIG);
        let given = |server: &str| ConnectOptions { server: Some(server.to_owned()), ..options.clone() };
        assert_eq!(connect(&given("https://10.0.0.1:6443")).await.unwrap().server(), "https://10.0.0.1:6443/");
        assert_eq!(connect(&given("")).await.unwrap().server(), "https://192.0.2.1:6443/");
        assert!(error(&given("10.0.0.1:6443")).await.contains("--server=10.0.0.1:6443"));
        assert!(error(&given("no url")).await.contains("--server=no url"));
    }

    #[tokio::test]
    async fn client_flags_stand_before_the_file_and_in_its_place() {
        let two = KUBECONFIG.replace(
            r#""contexts": ["#,
            r#""contexts": [{ "name": "y", "context": { "cluster": "d", "user": "u", "namespace": "other" } }, "#,
        );
        let two = two.replace(
            r#""clusters": ["#,
            r#""clusters": [{ "name": "d", "cluster": { "server": "https://192.0.2.2:6443" } }, "#,
        );
        let (_folder, options) = folder(&two);
        let given = |overrides: KubeconfigOverrides| ConnectOptions { overrides, ..options.clone() };
        let text = |text: &str| Some(text.to_owned());
        let none = KubeconfigOverrides::default;
        let context = connect(&given(KubeconfigOverrides { context: text("y"), ..none() })).await.unwrap();
        assert_eq!((context.server(), context.namespace()), ("https://192.0.2.2:6443/", "other"));
        let cluster = connect(&given(KubeconfigOverrides { cluster: text("d"), ..none() })).await.unwrap();
        assert_eq!((cluster.server(), cluster.namespace()), ("https://192.0.2.2:6443/", "team"));
        let said = error(&given(KubeconfigOverrides { context: text("z"), ..none() })).await;
        assert!(said.contains(r#"context "z""#), "{said}");
        let token = KubeconfigOverrides { token: Some("t0p-secret".into()), ..none() };
        // Without a file the flags say everything.
        let flags = |server: Option<String>| ConnectOptions {
            overrides: token.clone(),
            server,
            kubeconfig: None,
            ..ConnectOptions::default()
        };
        let alone = from_flags(&flags(text("https://192.0.2.9:6443"))).await.unwrap();
        assert_eq!(alone.cluster_url.to_string(), "https://192.0.2.9:6443/");
        let said = from_flags(&flags(None)).await.unwrap_err().to_string();
        assert!(said.contains("--server") && !said.contains("t0p-secret"), "{said}");
    }

    #[tokio::test]
    async fn errors_name_file_and_context() {
        let missing = ConnectOptions { kubeconfig: Some("/nowhere/config".into()), ..ConnectOptions::default() };
        assert!(error(&missing).await.contains("kubeconfig /nowhere/config"));
        let (folder, options) = folder(&KUBECONFIG.replace(r#""current-context": "x""#, r#""current-context": "y""#));
        let said = error(&options).await;
        assert!(said.contains(folder.path().to_str().unwrap()) && said.contains(r#"context "y""#), "{said}");
        let (_folder, options) = self::folder("clusters: [");
        assert!(error(&options).await.contains("kubeconfig /"));
    }

    /// A proxy that leads each CONNECT to a server which answers every request; and the first lines of what came.
    async fn proxy() -> (String, Arc<Mutex<Vec<String>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let seen = lines.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let mut stream = BufReader::new(stream);
                for answer in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"] {
                    let mut head = String::new();
                    while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).await.is_ok_and(|read| read > 0) {}
                    seen.lock().unwrap().push(head);
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
            }
        });
        (address, lines)
    }

    fn through(proxy: &str) -> String {
        let server = r#""server": "https://192.0.2.1:6443""#;
        KUBECONFIG.replace(server, &format!(r#""server": "http://kube.test:81", "proxy-url": "{proxy}""#))
    }

    #[tokio::test]
    async fn a_proxy_of_the_kubeconfig_is_used() {
        let (address, lines) = proxy().await;
        let (_folder, options) = folder(&through(&format!("http://me:p%40ss@{address}")));
        let cluster = connect(&options).await.unwrap();
        assert_eq!(cluster.read::<serde_json::Value>("/version").await.unwrap(), serde_json::json!({}));
        let lines = lines.lock().unwrap().clone();
        assert!(lines[0].starts_with("CONNECT kube.test:81 HTTP/1.1\r\n"), "{lines:?}");
        assert!(lines[0].to_lowercase().contains("proxy-authorization: basic bwu6cebzcw=="), "{lines:?}");
        assert!(lines[1].starts_with("GET /version HTTP/1.1\r\n"), "{lines:?}");
        assert!(lines[1].contains("Bearer t0p-secret") && !lines[0].contains("t0p-secret"), "{lines:?}");
    }

    #[tokio::test]
    async fn what_is_no_proxy_is_reported_without_its_password() {
        for proxy in ["ftp://me:s3cret@p", "proxy", "http://"] {
            let (_folder, options) = folder(&through(proxy));
            let said = error(&options).await;
            assert!(said.contains("kubeconfig /") && !said.contains("s3cret"), "{said}");
        }
    }

    #[test]
    fn the_environments_proxy_goes_by_the_server() {
        let proxies = Proxies::of(|name| match name {
            "HTTPS_PROXY" => Some("socks5h://p:1".to_owned()),
            "NO_PROXY" => Some("10.0.0.0/8,".to_owned()),
            _ => None,
        });
        let proxies = proxies.unwrap();
        for (server, expected) in [
            ("https://192.0.2.1:6443/", Some("socks5://p:1/")),
            ("https://10.0.0.1:6443/", None),
            ("https://127.0.0.1:6443/", None),
            ("http://192.0.2.1/", None),
        ] {
            let found = environments_proxy(&proxies, &server.parse().unwrap());
            assert_eq!(found.map(|uri| uri.to_string()).as_deref(), expected, "{server}");
        }
    }

    #[tokio::test]
    async fn limits_of_zero_are_refused() {
        let (_folder, options) = folder(KUBECONFIG);
        assert!(error(&ConnectOptions { qps: 0, ..options.clone() }).await.contains("--kube-api-qps"));
        assert!(error(&ConnectOptions { burst: 0, ..options }).await.contains("--kube-api-burst"));
    }
}
