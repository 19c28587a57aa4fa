//! The id of the cluster behind an API server.

use serde::Deserialize;

use crate::api::Api;
use crate::failure::Failure;

/// The id of the cluster by which hosts tell their owners apart: the uid of its namespace `kube-system`, which no
/// other cluster shares and which lives as long as the cluster.
///
/// # Errors
/// When the API server does not answer, or does not answer this.
pub async fn cluster_id(api: &Api) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Namespace {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        uid: String,
    }
    let namespace: Namespace = api.get("get", "/api/v1/namespaces/kube-system").await?;
    Ok(namespace.metadata.uid)
}
