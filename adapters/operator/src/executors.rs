//! Carries out actions. Nothing is decided here: an action that leaves something open is a bug of the engine.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use seaworthy_api::host::wire;
use seaworthy_api::request::Request;
use seaworthy_kube::{Api, SecretError, Secrets, Watches, write};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::event::Outcome;
use seaworthy_model::host::Connection;
use seaworthy_model::id::Kind;
use seaworthy_ssh::{Hosts, KeyError, Keys, PrivateKeyText, Replied};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};

use crate::flight::Answer;

/// Carries out actions.
pub(crate) trait Execute: Send + Sync + 'static {
    /// Lists and watches everything again.
    fn watch(&self, generation: u64);
    /// Sends a request to the API server.
    fn write(&self, request: Request, deadline: Instant) -> BoxFuture<'static, Answer>;
    /// Sends an order to a host.
    fn work(
        &self,
        connection: Arc<Connection>,
        request: wire::Request,
        deadline: Instant,
    ) -> BoxFuture<'static, Answer>;
}

/// The real ones.
pub(crate) struct Executors {
    api: Api,
    watches: Mutex<Watches>,
    requests: Arc<Semaphore>,
    hosts: Arc<Hosts<SecretKeys>>,
}

impl Executors {
    /// Executors that keep at most `requests` requests to the API server under way.
    pub(crate) fn new(api: Api, watches: Watches, hosts: Hosts<SecretKeys>, requests: u32) -> Self {
        let requests = usize::try_from(requests).unwrap_or(usize::MAX).clamp(1, Semaphore::MAX_PERMITS);
        Self {
            api,
            watches: Mutex::new(watches),
            requests: Arc::new(Semaphore::new(requests)),
            hosts: Arc::new(hosts),
        }
    }
}

impl Execute for Executors {
    fn watch(&self, generation: u64) {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner).restart(generation);
    }

    fn write(&self, request: Request, deadline: Instant) -> BoxFuture<'static, Answer> {
        let (api, requests) = (self.api.clone(), Arc::clone(&self.requests));
        Box::pin(async move {
            // The Lease does not wait behind thousands of statuses: an operator that cannot renew it stops.
            let outcome = if request.object().0 == Kind::Lease {
                write(&api, &request, deadline).await
            } else {
                match turn(&requests, deadline).await {
                    Some(_permit) => write(&api, &request, deadline).await,
                    None => {
                        let detail = "the request was not sent: too many others are under way";
                        Outcome::Retryable(Cause::new(CauseKind::ApiUnavailable, detail))
                    }
                }
            };
            Answer::Outcome(outcome)
        })
    }

    fn work(
        &self,
        connection: Arc<Connection>,
        request: wire::Request,
        deadline: Instant,
    ) -> BoxFuture<'static, Answer> {
        let hosts = Arc::clone(&self.hosts);
        Box::pin(async move {
            match hosts.execute(&connection, &request, deadline).await {
                Ok(Replied { reply, host_key }) => Answer::Reply { reply: Box::new(reply), host_key },
                Err(outcome) => Answer::Outcome(outcome),
            }
        })
    }
}

/// Waits until a request may be sent. `None` when half of its time is over by then: an API server that is so slow would not
/// answer in the rest, and a write without an answer has to be read and repeated, which makes it slower still.
async fn turn(requests: &Semaphore, deadline: Instant) -> Option<SemaphorePermit<'_>> {
    let now = Instant::now();
    let latest = now + deadline.saturating_duration_since(now) / 2;
    timeout_at(latest, requests.acquire()).await.ok()?.ok()
}

/// SSH keys out of Secrets.
pub(crate) struct SecretKeys(pub(crate) Secrets);

impl Keys for SecretKeys {
    async fn private_key(&self, secret_name: &str) -> Result<PrivateKeyText, KeyError> {
        match self.0.private_key(secret_name).await {
            Ok(key) => Ok(PrivateKeyText::new(key)),
            Err(error @ SecretError::Missing(_)) => Err(KeyError::Missing(error.to_string())),
            Err(error @ SecretError::Invalid { .. }) => Err(KeyError::Invalid(error.to_string())),
            Err(error @ SecretError::Unavailable { .. }) => Err(KeyError::Unavailable(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_request_is_sent_with_at_least_half_of_its_time() {
        let requests = Arc::new(Semaphore::new(1));
        for (under_way_for, is_sent) in [(0, true), (7, true), (8, false), (14, false), (20, false)] {
            let other = Arc::clone(&requests).acquire_owned().await.unwrap();
            let began = Instant::now();
            tokio::spawn(async move {
                sleep(Duration::from_secs(under_way_for)).await;
                drop(other);
            });
            let turn = turn(&requests, began + Duration::from_secs(15)).await;
            assert_eq!(turn.is_some(), is_sent, "{under_way_for}");
            assert!(began.elapsed() < Duration::from_secs(8), "{under_way_for}: {:?}", began.elapsed());
        }
    }
}
