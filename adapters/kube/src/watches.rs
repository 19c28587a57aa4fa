//! All watches of one operator.

use seaworthy_model::id::Kind;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::api::Api;
use crate::collection::Collection;
use crate::update::Update;
use crate::watch::Watch;

/// The watches of one operator: its Lease from the start, everything else when it is told to. They end when this is
/// dropped.
pub struct Watches {
    api: Api,
    updates: mpsc::Sender<Update>,
    // Held only so that it ends with this.
    _lease: JoinSet<()>,
    kinds: JoinSet<()>,
}

impl Watches {
    /// Starts to watch the Lease, as generation 0.
    #[must_use]
    pub fn start(api: Api, updates: mpsc::Sender<Update>) -> Self {
        let mut lease = JoinSet::new();
        lease.spawn(watch(&api, &updates, Kind::Lease, 0).run());
        Self { api, updates, _lease: lease, kinds: JoinSet::new() }
    }

    /// Ends the watches of [`Kind::WATCHED`], if there are any, and lists and watches these kinds anew. What they tell
    /// carries `generation`, so that what the previous ones told last can be recognised.
    pub fn restart(&mut self, generation: u64) {
        self.kinds.abort_all();
        self.kinds = JoinSet::new();
        for kind in Kind::WATCHED {
            self.kinds.spawn(watch(&self.api, &self.updates, kind, generation).run());
        }
    }
}

fn watch(api: &Api, updates: &mpsc::Sender<Update>, kind: Kind, generation: u64) -> Watch {
    Watch { api: api.clone(), collection: Collection::of(kind), generation, updates: updates.clone() }
}
