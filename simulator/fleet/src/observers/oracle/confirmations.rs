//! An operation that needs a confirmation succeeds only after one: by an order that reached the host after the change
//! (`confirmed`). The judgement at the end checks that no host keeps refusing connections.

use std::collections::BTreeMap;

use seaworthy_model::host::OperationId;

use super::{Oracle, Over};
use crate::world::host::{Change, Ended, Work};

/// The operations under way that have to be confirmed, by host, and whether they were.
#[derive(Clone, Debug, Default)]
pub(super) struct Confirmations {
    open: BTreeMap<u32, (OperationId, bool)>,
}

impl Confirmations {
    pub(super) fn began(&mut self, host: u32, work: &Work, touches: bool) {
        let waits = matches!(work.change, Change::Install(install) if install.confirm > 0);
        if touches && waits {
            self.open.insert(host, (work.id, false));
        }
    }

    fn confirmed(&mut self, host: u32, id: OperationId) {
        if let Some((open, is_confirmed)) = self.open.get_mut(&host) {
            *is_confirmed |= *open == id;
        }
    }

    /// What is wrong with the end of an operation.
    pub(super) fn ended(&mut self, over: &Over<'_>) -> Option<String> {
        let (id, is_confirmed) = self.open.remove(&over.host)?;
        let is_unasked = over.ended == Ended::Succeeded && !is_confirmed;
        is_unasked.then(|| format!("{id} on host {} has succeeded, and nobody confirmed it", over.host))
    }
}

impl Oracle {
    /// A confirmation reached a host whose operation waits for it.
    pub fn confirmed(&mut self, host: u32, id: OperationId) {
        self.confirmations.confirmed(host, id);
    }
}
