//! Connections to the API server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::Client as HttpClient;
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
