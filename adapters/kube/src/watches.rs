//! All watches of one operator.

use seaworthy_model::id::Kind;
use seaworthy_model::requirement::ApiServers;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::api::Api;
use crate::collection::Collection;
use crate::source::Source;
use crate::update::Update;
use crate::version::Rounds;
use crate::watch::Watch;

/// The watches of one operator: its Lease from the start, everything else on demand. They end when this is dropped.
pub struct Watches {
    api: Api,
    updates: mpsc::Sender<Update>,
    versions: mpsc::Sender<ApiServers>,
    tasks: JoinSet<()>,
}

impl Watches {
    /// Starts to watch the Lease, as generation 0.
    #[must_use]
    pub fn start(api: Api, updates: mpsc::Sender<Update>, versions: mpsc::Sender<ApiServers>) -> Self {
        let mut tasks = JoinSet::new();
        tasks.spawn(watch(&api, &updates, Source::LEASE, 0).run());
        Self { api, updates, versions, tasks }
    }

    /// Ends all watches, and lists and watches [`Kind::WATCHED`] and the Lease again. From then on the API servers are also
    /// asked for their version, now and every few minutes. Their updates carry `generation`, so that late updates of the
    /// previous watches can be recognised.
    pub fn restart(&mut self, generation: u64) {
        self.tasks.abort_all();
        self.tasks = JoinSet::new();
        for source in Kind::WATCHED.into_iter().chain([Kind::Lease]).flat_map(Source::of) {
            self.tasks.spawn(watch(&self.api, &self.updates, source, generation).run());
        }
        self.tasks.spawn(Rounds { api: self.api.clone(), found: self.versions.clone() }.run());
    }
}

fn watch(api: &Api, updates: &mpsc::Sender<Update>, source: Source, generation: u64) -> Watch {
    Watch::new(api.clone(), Collection::of(source), generation, updates.clone())
}
