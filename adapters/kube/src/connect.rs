//! Connections to the API server.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::Uri;
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioExecutor;
use kube::client::ConfigExt;
use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use tower::{BoxError, ServiceBuilder};

/// After this time a TCP connect with its TLS handshake is given up. Requests have their own, longer deadlines.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The most bytes of an answer that a connection reads ahead. A connection keeps what it once needed, so with the 400 KiB
/// that are usual, the lists of a start would leave more than a megabyte behind.
const READ_AHEAD: usize = 64 * 1024;

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be used.
    #[error("cannot use the kubeconfig {path}: {source}")]
    Kubeconfig {
        /// Where it is.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<KubeconfigError>,
    },
    /// No kubeconfig was given, and this is not a pod.
    #[error("no kubeconfig was given (--kubeconfig or KUBECONFIG), and this is not a pod: {0}")]
    NotInCluster(#[source] InClusterError),
    /// The settings are readable and contradict themselves, for example in their certificates.
    #[error("cannot make a client for {url}: {source}")]
    Client {
        /// The API server.
        url: String,
        /// What is wrong.
        source: Box<kube::Error>,
    },
}

/// Makes clients for one API server.
#[derive(Clone)]
pub struct Connector {
    config: Config,
}

impl Connector {
    fn of(mut config: Config) -> Self {
        config.proxy_url = proxy(&config, |name| env::var(name).ok());
        config.default_retry = false;
        config.connect_timeout = Some(CONNECT_TIMEOUT);
        // Watches are silent for long; each request has a deadline of its own.
        config.read_timeout = None;
        Self { config }
    }

    /// A client with connections of its own. It never repeats a request: when to try again is the engine's decision.
    ///
    /// # Errors
    /// When the settings contradict themselves. The API server itself is not asked.
    pub fn client(&self) -> Result<Client, ConnectError> {
        let url = self.config.cluster_url.to_string();
        client(&self.config).map_err(|source| ConnectError::Client { url, source: Box::new(source) })
    }
}

/// As [`Client::try_from`], which cannot be told how far a connection reads ahead. It stays in charge of a proxy.
fn client(config: &Config) -> Result<Client, kube::Error> {
    if config.proxy_url.is_some() {
        return Client::try_from(config.clone());
    }
    let mut connector = TimeoutConnector::new(config.rustls_https_connector()?);
    connector.set_connect_timeout(config.connect_timeout);
    let http = HttpClient::builder(TokioExecutor::new()).http1_max_buf_size(READ_AHEAD).build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(Client::new(service, config.default_namespace.clone()))
}

/// The proxy of `config`, which the kubeconfig or the environment names. One of the environment is not used for what
/// `NO_PROXY` excludes; `kube` compares that with the proxy, not with the API server.
fn proxy(config: &Config, environment: impl Fn(&str) -> Option<String>) -> Option<Uri> {
    let proxy = config.proxy_url.clone()?;
    let set = |name: &str| environment(name).filter(|value| !value.is_empty());
    let variable = |names: [&str; 2]| names.into_iter().find_map(set).unwrap_or_default();
    let is_of_environment =
        variable(["HTTPS_PROXY", "https_proxy"]).parse::<Uri>().is_ok_and(|it| it == proxy);
    // Only what is excluded matters, whatever the proxy.
    let matcher = Matcher::builder().all("http://proxy").no(variable(["NO_PROXY", "no_proxy"])).build();
    let is_excluded = is_of_environment && matcher.intercept(&config.cluster_url).is_none();
    (!is_excluded).then_some(proxy)
}

/// How to reach the API server that `kubeconfig` names; without a kubeconfig, that of the cluster whose pod this is.
///
/// # Errors
/// When the settings cannot be used. The API server itself is not asked.
pub async fn connect(kubeconfig: Option<&Path>) -> Result<Connector, ConnectError> {
    let config = match kubeconfig {
        Some(path) => from_kubeconfig(path)
            .await
            .map_err(|source| ConnectError::Kubeconfig { path: path.to_owned(), source: Box::new(source) })?,
        None => Config::incluster().map_err(ConnectError::NotInCluster)?,
    };
    Ok(Connector::of(config))
}

/// How a person reaches the API server: by the kubeconfig at `path`; without one, by what `KUBECONFIG` names, or
/// `~/.kube/config`.
///
/// # Errors
/// When the settings cannot be used. The API server itself is not asked.
pub(crate) async fn connect_as_person(path: Option<&Path>) -> Result<Connector, ConnectError> {
    if path.is_some() {
        return connect(path).await;
    }
    let usual =
        || async { Config::from_custom_kubeconfig(Kubeconfig::read()?, &KubeConfigOptions::default()).await };
    let config = usual().await.map_err(|source| {
        let path = PathBuf::from("of KUBECONFIG or ~/.kube/config");
        ConnectError::Kubeconfig { path, source: Box::new(source) }
    })?;
    Ok(Connector::of(config))
}

async fn from_kubeconfig(path: &Path) -> Result<Config, KubeconfigError> {
    Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &KubeConfigOptions::default()).await
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::get;
    use http::Request;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::task::JoinHandle;

    use super::*;

    /// More than a connection reads ahead.
    const LENGTH: usize = 1 << 20;

    async fn listen() -> (TcpListener, u16) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, port)
    }

    /// Begins to serve a long text at the port that it returns.
    async fn serve() -> u16 {
        let (listener, port) = listen().await;
        let router = Router::new().route("/text", get(async || "a".repeat(LENGTH)));
        tokio::spawn(async move { axum::serve(listener, router).await });
        port
    }

    /// Asks the API server at `port` for that text.
    async fn ask(port: u16, proxy: Option<String>) {
        let mut config = Config::new(format!("http://127.0.0.1:{port}").parse().unwrap());
        config.proxy_url = proxy.map(|proxy| proxy.parse().unwrap());
        let client = Connector::of(config).client().unwrap();
        let text = client.request_text(Request::get("/text").body(Vec::new()).unwrap()).await.unwrap();
        assert_eq!(text.len(), LENGTH);
    }

    /// An HTTP proxy for one connection, at the port that it returns. It ends with the request that it got.
    async fn http_proxy() -> (u16, JoinHandle<String>) {
        let (listener, port) = listen().await;
        let serving = tokio::spawn(async move {
            let (mut client, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(client.read_u8().await.unwrap());
            }
            let request = String::from_utf8(request).unwrap();
            let address = request.split(' ').nth(1).unwrap();
            let mut server = TcpStream::connect(address).await.unwrap();
            client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            let _ = copy_bidirectional(&mut client, &mut server).await;
            request
        });
        (port, serving)
    }

    /// A SOCKS proxy for one connection, at the port that it returns. It ends with the port that it was asked for.
    async fn socks_proxy() -> (u16, JoinHandle<u16>) {
        let (listener, port) = listen().await;
        let serving = tokio::spawn(async move {
            let (mut client, _) = listener.accept().await.unwrap();
            let (mut greeting, mut request) = ([0; 3], [0; 10]);
            client.read_exact(&mut greeting).await.unwrap();
            client.write_all(&[5, 0]).await.unwrap();
            client.read_exact(&mut request).await.unwrap();
            assert_eq!(request[..8], [5, 1, 0, 1, 127, 0, 0, 1]);
            let asked = u16::from_be_bytes([request[8], request[9]]);
            let mut server = TcpStream::connect(("127.0.0.1", asked)).await.unwrap();
            client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
            let _ = copy_bidirectional(&mut client, &mut server).await;
            asked
        });
        (port, serving)
    }

    #[tokio::test]
    async fn an_api_server_is_reached_with_and_without_a_proxy() {
        let server = serve().await;
        ask(server, None).await;

        let (port, serving) = http_proxy().await;
        ask(server, Some(format!("http://me:secret@127.0.0.1:{port}"))).await;
        let request = serving.await.unwrap();
        assert!(request.starts_with(&format!("CONNECT 127.0.0.1:{server} ")), "{request}");
        assert!(request.contains("Basic bWU6c2VjcmV0"), "{request}");

        let (port, serving) = socks_proxy().await;
        ask(server, Some(format!("socks5://127.0.0.1:{port}"))).await;
        assert_eq!(serving.await.unwrap(), server);
    }

    #[test]
    fn a_proxy_of_the_environment_is_not_used_for_what_is_excluded() {
        let used = |named: &str, variables: &[(&str, &str)]| {
            let mut config = Config::new("https://10.1.2.3:6443".parse().unwrap());
            config.proxy_url = Some(named.parse().unwrap());
            let environment = |name: &str| {
                let mut variables = variables.iter();
                variables.find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned())
            };
            proxy(&config, environment).is_some()
        };
        let office = "http://proxy.example:3128";
        assert!(used(office, &[("HTTPS_PROXY", office)]));
        assert!(used("socks5://bastion:1080", &[("HTTPS_PROXY", "socks5://bastion:1080")]));
        assert!(used(office, &[("HTTPS_PROXY", office), ("NO_PROXY", "10.2.0.0/16,.example")]));
        assert!(!used(office, &[("HTTPS_PROXY", office), ("NO_PROXY", "localhost,10.0.0.0/8")]));
        assert!(!used(office, &[("HTTPS_PROXY", ""), ("https_proxy", office), ("no_proxy", "10.1.2.3")]));
        // What the kubeconfig names is meant for this API server.
        assert!(used(office, &[("HTTPS_PROXY", "http://other:1"), ("NO_PROXY", "10.0.0.0/8")]));
    }
}
