//! The versions of the API servers, as the driver last found them.

use core::time::Duration;

use seaworthy_model::requirement::ApiServers;
use seaworthy_model::time::Timestamp;

/// What is known of the API servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownApiServers {
    found: Option<ApiServers>,
    /// When they were found; `None` until the next turn sets it.
    at: Option<Timestamp>,
}

impl KnownApiServers {
    /// The versions, unless they are outdated.
    #[must_use]
    pub const fn get(&self) -> Option<ApiServers> {
        self.found
    }

    /// Records an answer of the driver. True if it differs from the last one.
    pub(crate) fn find(&mut self, found: ApiServers) -> bool {
        self.at = None;
        self.found.replace(found) != Some(found)
    }

    /// Sets the time, and forgets an answer that is older than `memory`. True if one was forgotten.
    pub(crate) fn tell_time(&mut self, now: Timestamp, memory: Duration) -> bool {
        let is_past = self.found.is_some() && *self.at.get_or_insert(now) + memory <= now;
        if is_past {
            self.found = None;
        }
        is_past
    }
}
