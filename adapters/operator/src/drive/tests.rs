//! The loop with the real engine and executors controlled by the test. Time is simulated.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt as _;
use futures::future::{BoxFuture, pending};
use seaworthy_api::object::{Lease, LeaseSpec, Machine, Metadata, Resource};
use seaworthy_api::request::Request;
use seaworthy_api::v1alpha1::{Address, MachineSpec, Ssh};
use seaworthy_kube::{Change, Source};
use seaworthy_model::config::Config;
use seaworthy_model::draw::Seed;
use seaworthy_model::id::Kind;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::*;
use crate::health::Health;
use crate::metrics::Metrics;

/// How writes end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Works,
    NeverEnds,
    Panics,
}

/// An API server without objects but the Lease.
struct Server {
    way: Way,
    updates: mpsc::Sender<Update>,
    writes: Arc<Mutex<Vec<Request>>>,
    /// The latest round of watches.
    round: AtomicU64,
}

impl Server {
    fn tell(&self, generation: u64, kind: Kind, change: Change) {
        for source in Source::of(kind) {
            let change = change.clone();
            self.updates.try_send(Update { generation, source, change }).unwrap();
        }
    }
}

fn lease(spec: LeaseSpec, version: u64) -> Change {
    let metadata = Metadata {
        uid: "0f3c1d2e-4b5a-6978-8796-a5b4c3d2e1f0".into(),
        resource_version: version.into(),
        ..Metadata::named("seaworthy")
    };
    Change::Present(Resource::Lease(Box::new(Lease { metadata, spec, ..Lease::default() })))
}

impl Execute for Server {
    fn watch(&self, generation: u64) {
        self.round.store(generation, Ordering::Relaxed);
        for kind in Kind::WATCHED {
            self.tell(generation, kind, Change::ListBegan);
            self.tell(generation, kind, Change::ListEnded);
        }
    }

    fn write(&self, request: Request, _deadline: Instant) -> BoxFuture<'static, Answer> {
        let spec = match &request {
            Request::CreateLease(lease) => lease.spec.clone(),
            Request::PatchLease(patch) => patch.spec.clone(),
            Request::PutStatus(update) if update.kind == Kind::Machine => return pending().boxed(),
            Request::PutStatus(_)
            | Request::PatchFinalizers(_)
            | Request::CreateCertificateRequest(_)
            | Request::PatchApproval(_)
            | Request::CreateEvent(_)
            | Request::PatchNode(_)
            | Request::DeleteNode(_)
            | Request::ListPods(_)
            | Request::Query(_)
            | Request::StartProbe(_)
            | Request::ListProbes(_)
            | Request::Evict(_)
            | Request::DeletePod(_) => {
                panic!("nothing else is written here: {request:?}")
            }
        };
        let version = {
            let mut writes = self.writes.lock().unwrap();
            writes.push(request);
            writes.len() as u64
        };
        match self.way {
            Way::NeverEnds => pending().boxed(),
            Way::Panics => async { panic!("a bug in an executor") }.boxed(),
            Way::Works => {
                self.tell(self.round.load(Ordering::Relaxed), Kind::Lease, lease(spec, version));
                let receipt = Receipt::Written { resource_version: version };
                async move { Answer::Outcome(Outcome::Done(receipt)) }.boxed()
            }
        }
    }

    fn work(
        &self,
        _connection: Arc<Connection>,
        _request: wire::Request,
        _deadline: Instant,
    ) -> BoxFuture<'static, Answer> {
        panic!("there are no machines")
    }
}

/// A running loop.
struct Rig {
    health: Arc<Health>,
    metrics: Arc<Metrics>,
    updates: mpsc::Sender<Update>,
    writes: Arc<Mutex<Vec<Request>>>,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<Exit>,
}

impl Rig {
    fn start(way: Way, judge: Judge) -> Self {
        let (health, metrics) = (Arc::new(Health::new()), Arc::new(Metrics::new()));
        let (sender, updates) = mpsc::channel(64);
        let writes = Arc::new(Mutex::new(Vec::new()));
        let drive = Drive::new(Parts {
            engine: Engine::new(Config::default(), Seed(1)),
            judge,
            cluster: "cluster".into(),
            api_servers: mpsc::channel(1).1,
            executors: Server {
                way,
                updates: sender.clone(),
                writes: Arc::clone(&writes),
                round: AtomicU64::new(0),
            },
            status: Status::new(Arc::clone(&health), Arc::clone(&metrics)),
            recorder: Recorder::new("operator-0".into(), Arc::clone(&metrics)).0,
            stop_grace: Duration::from_secs(25),
        });
        let (stop, stopped) = oneshot::channel();
        let ended = tokio::spawn(drive.run(updates, async { drop(stopped.await) }));
        for change in [Change::ListBegan, Change::ListEnded] {
            sender.try_send(Update { generation: 0, source: Source::LEASE, change }).unwrap();
        }
        Self { health, metrics, updates: sender, writes, stop, ended }
    }

    /// The value of a metric, as its page has it.
    fn metric(&self, name: &str) -> u64 {
        let text = self.metrics.text().unwrap();
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map_or(0, |value| value.parse().unwrap())
    }

    fn leases(&self, outcome: &str) -> u64 {
        self.metric(&format!("seaworthy_actions_total{{effect=\"write_lease\",outcome=\"{outcome}\"}}"))
    }
}

/// Long enough for everything but a deadline, 15 s.
async fn settle() {
    sleep(Duration::from_secs(3)).await;
}

#[tokio::test(start_paused = true)]
async fn it_takes_the_lease_lists_everything_and_is_ready() {
    let rig = Rig::start(Way::Works, seaworthy_check::check);
    assert!(!rig.health.obstacles().is_empty());
    settle().await;
    assert_eq!(rig.health.obstacles(), [].into());
    assert_eq!((rig.metric("seaworthy_ready"), rig.metric("seaworthy_epoch")), (1, 1));
    let written = rig.writes.lock().unwrap().clone();
    assert_eq!(rig.leases("done"), written.len() as u64);
    let [Request::CreateLease(taken), renewals @ ..] = written.as_slice() else { panic!("{written:?}") };
    for renewal in renewals {
        let Request::PatchLease(renewal) = renewal else { panic!("{renewal:?}") };
        assert_eq!(renewal.spec.holder_identity, taken.spec.holder_identity);
        assert_eq!(renewal.spec.lease_transitions, taken.spec.lease_transitions);
    }
    assert_eq!(rig.metric("seaworthy_actions_total{effect=\"watch\",outcome=\"done\"}"), 2);
    sleep(Duration::from_secs(600)).await;
    assert_eq!(rig.health.hangs(), None);
    rig.stop.send(()).unwrap();
    assert_eq!(rig.ended.await.unwrap(), Exit::Stopped);
}

#[tokio::test(start_paused = true)]
async fn what_is_counted_no_more_is_zero_and_not_missing() {
    let rig = Rig::start(Way::Works, seaworthy_check::check);
    settle().await;
    let metadata = Metadata {
        uid: "0f3c1d2e-4b5a-6978-8796-a5b4c3d2e1f1".into(),
        resource_version: "8".into(),
        ..Metadata::named("m1")
    };
    let ssh = Ssh {
        port: 22,
        user: "root".into(),
        secret_name: "key".into(),
        host_keys: [].into(),
        host_key_policy: "TrustOnFirstUse".into(),
    };
    let (address, components) = (Address::default(), Vec::new());
    let spec = MachineSpec {
        address,
        ssh,
        components,
        parameters: Default::default(),
        node_labels: Default::default(),
        node_taints: Vec::new(),
        paused: true,
        retry: None,
    };
    let (api_version, kind) = ("".into(), "".into());
    let machine = Machine { api_version, kind, metadata, spec: spec.into(), status: None };
    let comes = Change::Present(Resource::Machine(Box::new(machine)));
    let mut lines = Vec::new();
    for change in [comes, Change::Gone("m1".into())] {
        let source = Source::of(Kind::Machine).next().unwrap();
        rig.updates.send(Update { generation: 2, source, change }).await.unwrap();
        sleep(Duration::from_secs(30)).await;
        let text = rig.metrics.text().unwrap();
        lines.extend(text.lines().filter(|line| line.starts_with("seaworthy_machines{")).map(str::to_owned));
    }
    let [before, after] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(before.strip_suffix(" 1"), after.strip_suffix(" 0"));
    assert!(before.ends_with(" 1"), "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn a_deadline_makes_the_outcome_unknown_and_life_goes_on() {
    let rig = Rig::start(Way::NeverEnds, seaworthy_check::check);
    sleep(Duration::from_secs(14)).await;
    assert_eq!((rig.leases("unknown"), rig.metric("seaworthy_actions_in_flight")), (0, 1));
    sleep(Duration::from_secs(60)).await;
    assert!(rig.leases("unknown") >= 2, "tried again after a back-off");
    let words = rig.health.obstacles().into_iter().collect::<String>();
    assert!(words.contains("NotLeading"), "{words}");
}

#[tokio::test(start_paused = true)]
async fn a_panic_makes_the_outcome_unknown_at_once() {
    let rig = Rig::start(Way::Panics, seaworthy_check::check);
    settle().await;
    assert!(rig.leases("unknown") >= 1);
    assert_eq!(rig.metric("seaworthy_actions_in_flight"), 0);
    assert_eq!(rig.health.hangs(), None);
}

fn never_content(_world: &World, turn: &Turn) -> Vec<Breach> {
    let action = turn.actions.first().map(|action| action.id);
    let detail = "nothing may be done".to_owned();
    action.map(|_| Breach { invariant: "test", action, detail }).into_iter().collect()
}

#[tokio::test(start_paused = true)]
async fn a_refused_turn_is_answered_and_not_carried_out() {
    let rig = Rig::start(Way::Works, never_content);
    sleep(Duration::from_secs(30)).await;
    let refusals = rig.metric("seaworthy_guard_refusals_total");
    assert!((1..=31).contains(&refusals), "{refusals} refusals in 30 s: no busy loop");
    assert_eq!(rig.metric("seaworthy_actions_total{effect=\"watch\",outcome=\"guarded\"}"), refusals);
    assert_eq!(rig.writes.lock().unwrap().len(), 0);
    let words = rig.health.obstacles().into_iter().collect::<String>();
    assert!(words.contains("invariant"), "{words}");
    rig.stop.send(()).unwrap();
    assert_eq!(rig.ended.await.unwrap(), Exit::Stopped);
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_what_is_under_way_and_no_longer_than_it_may() {
    let rig = Rig::start(Way::NeverEnds, seaworthy_check::check);
    settle().await;
    let began = Instant::now();
    rig.stop.send(()).unwrap();
    assert_eq!(rig.ended.await.unwrap(), Exit::Stopped);
    let waited = began.elapsed().as_secs();
    assert!(
        (11..=25).contains(&waited),
        "waited {waited} s for a write whose deadline is 15 s after its order"
    );
}

#[tokio::test(start_paused = true)]
async fn it_ends_when_a_newer_operator_has_taken_over() {
    let rig = Rig::start(Way::Works, seaworthy_check::check);
    settle().await;
    let somebody = LeaseSpec {
        holder_identity: Some("somebody".into()),
        lease_transitions: Some(5),
        ..LeaseSpec::default()
    };
    let newer = Update { generation: 2, source: Source::LEASE, change: lease(somebody, 900) };
    rig.updates.send(newer).await.unwrap();
    assert_eq!(rig.ended.await.unwrap(), Exit::SteppedDown { by: Epoch(5) });
}
