//! Asks the API servers for their version, in rounds: behind one address there may be several, and while they are upgraded
//! not all of one version. Each question has a connection of its own, which any of them may answer.

use std::time::Duration;

use seaworthy_model::requirement::{ApiServers, VersionNumber};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::api::Api;
use crate::failure::Failure;

/// The wait after a round that failed.
const ASK_AGAIN: Duration = Duration::from_secs(10);
/// So many requests of a round may fail: one of three API servers may be down.
const FAILURES_MAX: u32 = ApiServers::ROUND;

/// Asks for ever.
pub(crate) struct Rounds {
    pub(crate) api: Api,
    pub(crate) found: mpsc::Sender<ApiServers>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    git_version: String,
}

impl Rounds {
    /// Runs until the receiver is dropped.
    pub(crate) async fn run(self) {
        let mut told = None;
        loop {
            match round(&self.api).await {
                Ok(found) => {
                    told = None;
                    if self.found.send(found).await.is_err() {
                        return;
                    }
                    sleep(ApiServers::INTERVAL).await;
                }
                Err(failure) => {
                    let words = failure.to_string();
                    if told.as_ref() != Some(&words) {
                        tracing::warn!("the version of the API servers is not known: {words}");
                        told = Some(words);
                    }
                    sleep(ASK_AGAIN).await;
                }
            }
        }
    }
}

/// One round.
pub(crate) async fn round(api: &Api) -> Result<ApiServers, Failure> {
    let (mut versions, mut failures) = (Vec::new(), 0);
    while versions.len() < ApiServers::ROUND as usize {
        match ask(api).await {
            Ok(version) => versions.push(version),
            Err(failure) if failures == FAILURES_MAX || failure.is_final() => return Err(failure),
            Err(_) => failures += 1,
        }
    }
    ApiServers::of(versions.iter().copied()).ok_or_else(|| Failure::Unreadable("nobody was asked".into()))
}

async fn ask(api: &Api) -> Result<VersionNumber, Failure> {
    let Version { git_version } = api.over_new_connection()?.get("get", "/version").await?;
    VersionNumber::of(&git_version)
        .ok_or_else(|| Failure::Unreadable(format!("{git_version:?} does not begin with three numbers")))
}

impl Failure {
    /// Whether it is the same the next time.
    const fn is_final(&self) -> bool {
        matches!(self, Self::Unreadable(_) | Self::Answered { code: 400..=428 | 430..=499, .. })
    }
}
