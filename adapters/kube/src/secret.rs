//! Secrets with SSH keys: read when needed, from one namespace, never watched.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::ByteString;
use seaworthy_api::v1alpha1::NAMESPACE;
use serde::Deserialize;
use tokio::time::Instant;
use zeroize::Zeroizing;

use crate::api::{Api, Failure};

/// The type that a Secret must have.
const TYPE: &str = "kubernetes.io/ssh-auth";
/// The key under which it holds the private key.
const KEY: &str = "ssh-privatekey";
/// How long a Secret that was read is used again. A returning zone logs in to hundreds of hosts at once with the
/// same key; a key that was replaced by a person counts after this time.
const KEPT: Duration = Duration::from_secs(5);

/// The Secrets of the operator's namespace.
pub struct Secrets {
    api: Api,
    kept: Mutex<BTreeMap<String, Kept>>,
}

struct Kept {
    until: Instant,
    // Overwritten when forgotten.
    key: Zeroizing<Vec<u8>>,
}

/// Why there is no key. Never contains any of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// There is no such Secret.
    #[error("Secret {NAMESPACE}/{0} does not exist")]
    Missing(String),
    /// There is one, and it is no SSH key.
    #[error("Secret {NAMESPACE}/{name} {why}")]
    Invalid {
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The API server does not answer.
    #[error("Secret {NAMESPACE}/{name} cannot be read: {failure}")]
    Unavailable {
        /// Its name.
        name: String,
        /// Why not.
        failure: Failure,
    },
}

#[derive(Deserialize)]
struct Secret {
    #[serde(default)]
    r#type: String,
    #[serde(default)]
    data: BTreeMap<String, ByteString>,
}

impl Secrets {
    /// The Secrets of the operator's namespace.
    #[must_use]
    pub const fn new(api: Api) -> Self {
        Self { api, kept: Mutex::new(BTreeMap::new()) }
    }

    /// The private key in the Secret `name`.
    ///
    /// # Errors
    /// When there is none, or the API server does not answer.
    pub async fn private_key(&self, name: &str) -> Result<Vec<u8>, SecretError> {
        if let Some(key) = self.recall(name) {
            return Ok(key);
        }
        let invalid = |why: String| SecretError::Invalid { name: name.to_owned(), why };
        if !seaworthy_api::host::translate::is_object_name(name) {
            return Err(invalid("has a name that no Secret can have".into()));
        }
        let path = format!("/api/v1/namespaces/{NAMESPACE}/secrets/{name}");
        let mut secret: Secret = self.api.get("get", &path).await.map_err(|failure| match failure {
            Failure::Answered { code: 404, .. } => SecretError::Missing(name.to_owned()),
            // A parser's message may quote the key.
            Failure::Unreadable(_) => invalid("is not a Secret".into()),
            Failure::NotSent(_)
            | Failure::Lost(_)
            | Failure::Answered { .. }
            | Failure::Budget(_)
            | Failure::TooLong(_) => SecretError::Unavailable { name: name.to_owned(), failure },
        })?;
        if secret.r#type != TYPE {
            return Err(invalid(format!("has the type {:?}, not {TYPE}", secret.r#type)));
        }
        let Some(ByteString(key)) = secret.data.remove(KEY) else {
            return Err(invalid(format!("has no {KEY}")));
        };
        self.keep(name, key.clone());
        Ok(key)
    }

    fn recall(&self, name: &str) -> Option<Vec<u8>> {
        let now = Instant::now();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, entry| entry.until > now);
        kept.get(name).map(|entry| entry.key.to_vec())
    }

    fn keep(&self, name: &str, key: Vec<u8>) {
        let entry = Kept { until: Instant::now() + KEPT, key: Zeroizing::new(key) };
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), entry);
    }
}
