//! What the API server has allowed lately. While it starts, it does not know all its roles yet, and forbids for some seconds
//! what it allowed a moment ago.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use seaworthy_api::request::Request;
use seaworthy_model::id::Kind;
use tokio::time::Instant;

use crate::failure::Failure;

/// A right that was used within this time is not taken for lost at the first refusal.
const LATELY: Duration = Duration::from_secs(60);

/// The rights that were used, by method and kind, and when last.
#[derive(Default)]
pub(crate) struct Rights {
    used: Mutex<BTreeMap<(&'static str, Kind), Instant>>,
}

impl Rights {
    /// A request was allowed.
    pub(crate) fn note(&self, request: &Request, method: &'static str) {
        let (kind, _) = request.object();
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert((method, kind), Instant::now());
    }

    /// Whether a request was forbidden that was allowed lately.
    pub(crate) fn may_return(&self, failure: &Failure, request: &Request, method: &'static str) -> bool {
        if !matches!(failure, Failure::Answered { code: 403, .. }) {
            return false;
        }
        let (kind, _) = request.object();
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.get(&(method, kind)).is_some_and(|last| last.elapsed() < LATELY)
    }
}
