//! The versions of the API servers, as the driver found them last.

use core::time::Duration;

use seaworthy_model::requirement::ApiServers;
use seaworthy_model::time::Timestamp;

/// What is known of the API servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownApiServers {
    found: Option<ApiServers>,
    /// When; `None` until the time is told.
    at: Option<Timestamp>,
}

impl KnownApiServers {
    /// What was found, if that was lately.
    #[must_use]
    pub const fn get(&self) -> Option<ApiServers> {
        self.found
    }

    /// The driver has asked again. True if that brings news.
    pub(crate) fn find(&mut self, found: ApiServers) -> bool {
        self.at = None;
        self.found.replace(found) != Some(found)
    }

    /// Tells the time, and forgets what was found so long ago. True if there was anything.
    pub(crate) fn tell_time(&mut self, now: Timestamp, memory: Duration) -> bool {
        let is_past = self.found.is_some() && *self.at.get_or_insert(now) + memory <= now;
        if is_past {
            self.found = None;
        }
        is_past
    }
}
