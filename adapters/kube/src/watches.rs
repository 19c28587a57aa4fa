//! All watches of one operator.

use seaworthy_model::id::Kind;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::api::Api;
use crate::collection::Collection;
use crate::update::Update;
use crate::watch::Watch;

/// The watches of one operator: its Lease from the start, everything when it is told to. They end when this is dropped.
pub struct Watches {
    api: Api,
    updates: mpsc::Sender<Update>,
    tasks: JoinSet<()>,
}

impl Watches {
    /// Starts to watch the Lease, as generation 0.
    #[must_use]
    pub fn start(api: Api, updates: mpsc::Sender<Update>) -> Self {
        let mut tasks = JoinSet::new();
        tasks.spawn(watch(&api, &updates, Kind::Lease, 0).run());
        Self { api, updates, tasks }
    }

    /// Ends all watches, and lists and watches [`Kind::WATCHED`] and the Lease anew. What they tell carries `generation`, so
    /// that what the previous ones told last can be recognised.
    pub fn restart(&mut self, generation: u64) {
        self.tasks.abort_all();
        self.tasks = JoinSet::new();
        for kind in Kind::WATCHED.into_iter().chain([Kind::Lease]) {
            self.tasks.spawn(watch(&self.api, &self.updates, kind, generation).run());
        }
    }
}

fn watch(api: &Api, updates: &mpsc::Sender<Update>, kind: Kind, generation: u64) -> Watch {
    Watch { api: api.clone(), collection: Collection::of(kind), generation, updates: updates.clone() }
}
