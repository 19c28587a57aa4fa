//! The modelled API server.

use std::time::Duration;

use anyhow::Result;
use seaworthy_fleet::vocabulary::START;
use seaworthy_fleet::world::api_server::{self, http};
use seaworthy_kernel::{Draws, Seed, Timestamp};

use super::{Answer, ApiServer, Call};

/// The model, and its clock.
#[derive(Debug)]
pub struct ApiModel {
    server: api_server::ApiServer,
    now: Timestamp,
}

impl ApiModel {
    /// One with an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self { server: api_server::ApiServer::new(Draws::new(Seed(1))), now: START }
    }
}

impl Default for ApiModel {
    fn default() -> Self {
        Self::new()
    }
}

impl ApiServer for ApiModel {
    const IS_MODEL: bool = true;

    fn call(&mut self, call: &Call) -> Result<Answer> {
        self.now = self.now + Duration::from_secs(1);
        let Call { method, path, content_type, body } = call;
        let http::Answer { code, body } =
            self.server.serve(&http::Call { method, path, content_type, body }, self.now);
        Ok(Answer { code, body })
    }

    fn compact(&mut self) -> Result<()> {
        // The store is compacted every five minutes.
        self.now = self.now + Duration::from_secs(301);
        Ok(())
    }
}
