//! The API servers of a world, one for each store that operators work with.

use std::ops::{Index, IndexMut};

use seaworthy_kernel::Draws;
use seaworthy_model::id::StoreId;

use super::api_server::ApiServer;

/// The API servers of a world. A scenario has one: home, where the fleet's objects are.
#[derive(Clone, Debug)]
pub(crate) struct ApiServers(Vec<ApiServer>);

impl ApiServers {
    /// The one API server of a fleet.
    pub(super) fn new(draws: Draws) -> Self {
        Self(vec![ApiServer::new(draws)])
    }

    /// The API server of the store in which the operator keeps its Lease and the fleet's objects.
    pub(crate) fn home(&self) -> &ApiServer {
        &self[StoreId::HOME]
    }

    /// The same, mutable.
    pub(crate) fn home_mut(&mut self) -> &mut ApiServer {
        &mut self[StoreId::HOME]
    }
}

impl Index<StoreId> for ApiServers {
    type Output = ApiServer;

    fn index(&self, store: StoreId) -> &ApiServer {
        &self.0[store.index()]
    }
}

impl IndexMut<StoreId> for ApiServers {
    fn index_mut(&mut self, store: StoreId) -> &mut ApiServer {
        &mut self.0[store.index()]
    }
}
