//! Secrets with SSH keys: read when needed, from one namespace, never watched.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};
use k8s_openapi::ByteString;
use seaworthy_api::v1alpha1::NAMESPACE;
use serde::Deserialize;
use tokio::time::Instant;
use zeroize::Zeroizing;

use crate::api::Api;
use crate::failure::Failure;

/// The type that a Secret must have.
const TYPE: &str = "kubernetes.io/ssh-auth";
/// The key under which it holds the private key.
const KEY: &str = "ssh-privatekey";
/// How long a Secret that was read is used again. A returning zone logs in to hundreds of hosts at once with the
/// same key; a key that was replaced by a person counts after this time.
const KEPT: Duration = Duration::from_secs(5);

/// What came of reading a Secret. The key is overwritten when the last holder forgets it.
type Reading = Result<Arc<Zeroizing<Vec<u8>>>, SecretError>;

/// The Secrets of the operator's namespace. Whoever wants a Secret that is being read waits for the same answer.
pub struct Secrets {
    api: Api,
    readings: Mutex<BTreeMap<String, Entry>>,
}

enum Entry {
    /// It is being read, for as long as somebody waits for it.
    UnderWay(WeakShared<BoxFuture<'static, Reading>>),
    /// It was read, and counts until then.
    Kept(Instant, Arc<Zeroizing<Vec<u8>>>),
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
        Self { api, readings: Mutex::new(BTreeMap::new()) }
    }

    /// The private key in the Secret `name`.
    ///
    /// # Errors
    /// When there is none, or the API server does not answer.
    pub async fn private_key(&self, name: &str) -> Result<Vec<u8>, SecretError> {
        let read = match self.begin(name) {
            Ok(key) => Ok(key),
            Err(reading) => {
                let read = reading.await;
                self.end(name, &read);
                read
            }
        };
        read.map(|key| key.to_vec())
    }

    /// The key that was read lately, or the present reading, or a new one.
    fn begin(&self, name: &str) -> Result<Arc<Zeroizing<Vec<u8>>>, Shared<BoxFuture<'static, Reading>>> {
        let now = Instant::now();
        let mut readings = self.readings.lock().unwrap_or_else(PoisonError::into_inner);
        readings.retain(|_, entry| matches!(entry, Entry::UnderWay(_)) || entry.is_kept(now));
        match readings.get(name) {
            Some(Entry::Kept(_, key)) => return Ok(Arc::clone(key)),
            Some(Entry::UnderWay(reading)) => {
                if let Some(reading) = reading.upgrade() {
                    return Err(reading);
                }
            }
            None => {}
        }
        let reading = read(self.api.clone(), name.to_owned()).boxed().shared();
        if let Some(weak) = reading.downgrade() {
            readings.insert(name.to_owned(), Entry::UnderWay(weak));
        }
        Err(reading)
    }

    /// A reading has ended: a key is kept for a while, a failure for nobody who comes later.
    fn end(&self, name: &str, read: &Reading) {
        let mut readings = self.readings.lock().unwrap_or_else(PoisonError::into_inner);
        // The first of those who waited notes it.
        if matches!(readings.get(name), Some(Entry::UnderWay(_))) {
            match read {
                Ok(key) => {
                    readings.insert(name.to_owned(), Entry::Kept(Instant::now() + KEPT, Arc::clone(key)))
                }
                Err(_) => readings.remove(name),
            };
        }
    }
}

impl Entry {
    fn is_kept(&self, now: Instant) -> bool {
        matches!(self, Self::Kept(until, _) if *until > now)
    }
}

async fn read(api: Api, name: String) -> Reading {
    let invalid = |why: String| SecretError::Invalid { name: name.clone(), why };
    if !seaworthy_api::host::translate::is_object_name(&name) {
        return Err(invalid("has a name that no Secret can have".into()));
    }
    let path = format!("/api/v1/namespaces/{NAMESPACE}/secrets/{name}");
    let mut secret: Secret = api.get("get", &path).await.map_err(|failure| match failure {
        Failure::Answered { code: 404, .. } => SecretError::Missing(name.clone()),
        // A parser's message may quote the key.
        Failure::Unreadable(_) => invalid("is not a Secret".into()),
        Failure::NotSent(_)
        | Failure::Lost(_)
        | Failure::Answered { .. }
        | Failure::Budget(_)
        | Failure::TooLong(_) => SecretError::Unavailable { name: name.clone(), failure },
    })?;
    if secret.r#type != TYPE {
        return Err(invalid(format!("has the type {:?}, not {TYPE}", secret.r#type)));
    }
    let Some(ByteString(key)) = secret.data.remove(KEY) else {
        return Err(invalid(format!("has no {KEY}")));
    };
    Ok(Arc::new(Zeroizing::new(key)))
}
