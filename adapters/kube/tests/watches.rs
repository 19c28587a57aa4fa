//! The watches and the projection together, against an API server that misbehaves. Time is simulated.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

#[expect(dead_code, reason = "each test uses a part of it")]
mod fake;

use std::time::Duration;

use fake::{Fake, Fault};
use seaworthy_kube::{Projection, Update, Watches};
use seaworthy_model::event::Observation;
use seaworthy_model::id::{Kind, Named};
use seaworthy_model::requirement::{ApiServers, VersionNumber};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

const NODES: &str = "/api/v1/nodes";
const MACHINES: &str = "/apis/seaworthy.dev/v1alpha1/machines";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/seaworthy-system/leases";

fn node(name: &str, ready: &str) -> Value {
    json!({
        "metadata": {"name": name, "creationTimestamp": "2026-11-20T08:00:00Z"},
        "spec": {},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    })
}

/// Watches of a fake API server, with what they tell.
struct Rig {
    watches: Watches,
    updates: mpsc::Receiver<Update>,
    api_servers: mpsc::Receiver<ApiServers>,
    projection: Projection,
}

impl Rig {
    fn start(fake: &Fake) -> Self {
        let (sender, updates) = mpsc::channel(8);
        let (found, api_servers) = mpsc::channel(1);
        let watches = Watches::start(fake.api(), sender, found);
        Self { watches, updates, api_servers, projection: Projection::new() }
    }

    fn restart(&mut self) {
        let generation = self.projection.restart();
        self.watches.restart(generation);
    }

    /// All observations of `kind` until nothing more comes for a while, in words.
    async fn told(&mut self, kind: Kind) -> Vec<String> {
        let mut words = Vec::new();
        while let Ok(Some(update)) = timeout(Duration::from_secs(60), self.updates.recv()).await {
            let about = update.source.kind();
            let observations = self.projection.take(update);
            if about == kind {
                words.extend(observations.iter().filter_map(say));
            }
        }
        words
    }

    fn trouble(&self, kind: Kind) -> Option<String> {
        self.projection.troubles().find(|(source, _)| source.kind() == kind).map(|(_, why)| why.to_owned())
    }
}

fn say(observation: &Observation) -> Option<String> {
    Some(match observation {
        Observation::Named(Named { name, .. }) => format!("name {name}"),
        Observation::Node(id, Some(node)) => format!("{} {:?}", id.0, node.state.ready),
        Observation::Node(id, None) => format!("{} gone", id.0),
        Observation::Lease(lease) => format!("lease {}", lease.is_some()),
        Observation::Synced(_) => "synced".into(),
        Observation::Machine(id, machine) => format!("{} {}", id.0, machine.is_some()),
        Observation::CertificateRequest(id, request) => format!("{} {}", id.0, request.is_some()),
        Observation::Version(..)
        | Observation::Policy(..)
        | Observation::PackageVersion(_)
        | Observation::Set(..)
        | Observation::Canary(..)
        | Observation::ApiServers(_)
        | Observation::Opened
        | Observation::Stopping => return None,
    })
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_watched_from_the_start_and_alone() {
    let fake = Fake::default();
    let mut rig = Rig::start(&fake);
    assert_eq!(rig.told(Kind::Lease).await, ["lease false", "synced"]);
    assert_eq!(fake.requests(MACHINES), [""; 0]);
    fake.put(LEASES, json!({"metadata": {"name": "seaworthy"}, "spec": {"leaseTransitions": 3}}));
    assert_eq!(rig.told(Kind::Lease).await, ["lease true"]);
    fake.delete(LEASES, "seaworthy");
    assert_eq!(rig.told(Kind::Lease).await, ["lease false"]);
    assert!(fake.requests(LEASES).iter().all(|url| url.contains("fieldSelector=metadata.name%3Dseaworthy")));
}

#[tokio::test(start_paused = true)]
async fn a_list_comes_in_pages_and_changes_follow() {
    let fake = Fake::default();
    for number in 0..1_234 {
        fake.put(NODES, node(&format!("n{number:04}"), "True"));
    }
    let mut rig = Rig::start(&fake);
    rig.restart();
    let told = rig.told(Kind::Node).await;
    assert_eq!(told.len(), 2 * 1_234 + 1);
    assert_eq!(told[..2], ["name n0000", "0 Healthy"]);
    assert_eq!(told.last().unwrap(), "synced");
    // The first page has fifty, and shows that the objects are small.
    let lists = fake.requests("GET /api/v1/nodes?limit=50");
    let limits: Vec<_> = lists.iter().map(|url| url.contains("limit=500")).collect();
    assert_eq!(limits, [false, true, true, true], "{lists:?}");
    assert!(
        lists.iter().all(|url| !url.contains("resourceVersion")),
        "read from the store itself: {lists:?}"
    );

    fake.put(NODES, node("n0001", "False"));
    fake.put(NODES, node("n9999", "True"));
    fake.delete(NODES, "n0000");
    assert_eq!(rig.told(Kind::Node).await, ["1 Unhealthy", "name n9999", "1234 Healthy", "0 gone"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_goes_on_where_it_was() {
    let fake = Fake::default();
    fake.put(NODES, node("a", "True"));
    let mut rig = Rig::start(&fake);
    rig.restart();
    assert_eq!(rig.told(Kind::Node).await, ["name a", "0 Healthy", "synced"]);
    // Other kinds move the store on; the bookmark says so, and history before it is then not needed.
    fake.put(MACHINES, json!({"metadata": {"name": "x"}, "spec": "not a Machine"}));
    fake.bookmark(NODES);
    rig.told(Kind::Node).await;
    fake.compact();
    fake.end_watches();
    fake.put(NODES, node("a", "False"));
    assert_eq!(rig.told(Kind::Node).await, ["0 Unhealthy"]);
    assert_eq!(fake.requests("nodes?limit=50").len(), 1, "no second list");
}

#[tokio::test(start_paused = true)]
async fn after_410_everything_is_listed_and_what_vanished_is_gone() {
    let fake = Fake::default();
    for name in ["a", "b", "c"] {
        fake.put(NODES, node(name, "True"));
    }
    let mut rig = Rig::start(&fake);
    rig.restart();
    assert_eq!(rig.told(Kind::Node).await.last().unwrap(), "synced");
    // The watch is away while b goes and history with it.
    fake.fail("GET", "nodes?limit=1", Fault::Answer(503, "not now"));
    fake.end_watches();
    fake.delete(NODES, "b");
    fake.put(NODES, node("d", "True"));
    fake.compact();
    let told = rig.told(Kind::Node).await;
    assert_eq!(told, ["0 Healthy", "2 Healthy", "name d", "3 Healthy", "1 gone", "synced"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_expires_between_pages_begins_anew() {
    let fake = Fake::default();
    for number in 0..600 {
        fake.put(NODES, node(&format!("n{number:04}"), "True"));
    }
    fake.fail("GET", "nodes?limit=500&continue", Fault::Answer(410, "too old"));
    let mut rig = Rig::start(&fake);
    rig.restart();
    let told = rig.told(Kind::Node).await;
    assert_eq!(told.iter().filter(|word| *word == "synced").count(), 1);
    assert_eq!(told.iter().filter(|word| word.ends_with("gone")).count(), 0);
    assert_eq!(told.iter().filter(|word| word.ends_with("Healthy")).count(), 50 + 600);
}

/// An API server counts the objects of a page, not their bytes, and whoever may create an object may make it large.
#[tokio::test(start_paused = true)]
async fn a_list_of_large_objects_comes_in_smaller_pages() {
    let fake = Fake::default();
    let large = |name: String| {
        let mut large = node(&name, "True");
        // Most places where a page can be cut are within a character.
        large["metadata"]["annotations"] = json!({ "x": "\u{20ac}".repeat(85 << 10) });
        large
    };
    for number in 0..120 {
        fake.put(NODES, large(format!("n{number:04}")));
    }
    let mut rig = Rig::start(&fake);
    rig.restart();
    let told = rig.told(Kind::Node).await;
    assert_eq!(told.iter().filter(|word| word.ends_with("Healthy")).count(), 120);
    assert_eq!(told.last().unwrap(), "synced");
    // 50 objects have 12.5 MiB. All pages after that have half a megabyte.
    assert_eq!(fake.requests("GET /api/v1/nodes?limit=50").len(), 1);
    assert_eq!(fake.requests("GET /api/v1/nodes?limit=2&").len(), 35);
}

/// Small objects say nothing of those that follow.
#[tokio::test(start_paused = true)]
async fn a_page_of_too_many_bytes_is_the_last_of_its_size() {
    let fake = Fake::default();
    for number in 0..700 {
        let mut object = node(&format!("n{number:04}"), "True");
        if number >= 600 {
            object["metadata"]["annotations"] = json!({ "x": "x".repeat(255 << 10) });
        }
        fake.put(NODES, object);
    }
    let mut rig = Rig::start(&fake);
    rig.restart();
    let told = rig.told(Kind::Node).await;
    let healthy = told.iter().filter(|word| word.ends_with("Healthy")).count();
    assert_eq!(told.iter().filter(|word| *word == "synced").count(), 1);
    assert_eq!(healthy, 550 + 700, "the first list ends after its second page");
    assert_eq!(fake.requests("GET /api/v1/nodes?limit=500").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_was_set_back_is_listed_anew() {
    let fake = Fake::default();
    fake.put(NODES, node("a", "True"));
    let copy = 1;
    fake.put(NODES, node("b", "True"));
    let mut rig = Rig::start(&fake);
    rig.restart();
    rig.told(Kind::Node).await;
    fake.delete(NODES, "b");
    fake.put(NODES, node("b", "False"));
    rig.told(Kind::Node).await;
    // Restored from the copy, in which b did not exist yet.
    fake.end_watches();
    fake.set_back(copy);
    assert_eq!(rig.told(Kind::Node).await, ["0 Healthy", "1 gone", "synced"]);
    fake.put(NODES, node("a", "False"));
    assert_eq!(rig.told(Kind::Node).await, ["0 Unhealthy"]);
}

#[tokio::test(start_paused = true)]
async fn kinds_that_are_not_served_are_waited_for() {
    let fake = Fake::default();
    fake.absent(&["seaworthy.dev"]);
    let mut rig = Rig::start(&fake);
    rig.restart();
    assert_eq!(rig.told(Kind::Machine).await, [""; 0]);
    let why = rig.trouble(Kind::Machine).unwrap();
    assert!(why.contains("CustomResourceDefinitions"), "{why}");
    assert_eq!(rig.trouble(Kind::Node), None);
    let asked = fake.requests(MACHINES).len();
    assert!((5..=15).contains(&asked), "asked {asked} times within a minute");
    fake.absent(&[]);
    assert_eq!(rig.told(Kind::Machine).await, ["synced"]);
    assert_eq!(rig.trouble(Kind::Machine), None);
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_away_is_found_again() {
    let fake = Fake::default();
    fake.put(NODES, node("a", "True"));
    let mut rig = Rig::start(&fake);
    rig.restart();
    rig.told(Kind::Node).await;
    for _ in 0..4 {
        fake.fail("GET", "nodes", Fault::Refused);
    }
    fake.fail("GET", "nodes", Fault::Silence);
    fake.end_watches();
    fake.put(NODES, node("a", "False"));
    assert_eq!(rig.told(Kind::Node).await, ["0 Unhealthy"]);
    assert_eq!(rig.trouble(Kind::Node), None);
}

#[tokio::test(start_paused = true)]
async fn the_same_trouble_is_told_again_when_it_comes_back() {
    let fake = Fake::default();
    let mut rig = Rig::start(&fake);
    rig.restart();
    rig.told(Kind::Node).await;
    for _ in 0..2 {
        fake.absent(&["/nodes"]);
        fake.end_watches();
        rig.told(Kind::Node).await;
        assert!(rig.trouble(Kind::Node).is_some());
        fake.absent(&[]);
        rig.told(Kind::Node).await;
        assert_eq!(rig.trouble(Kind::Node), None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_on_a_dead_connection_is_given_up() {
    let fake = Fake::default();
    fake.fail("GET", "nodes?watch", Fault::Silence);
    let mut rig = Rig::start(&fake);
    rig.restart();
    let began = Instant::now();
    assert_eq!(rig.told(Kind::Node).await, ["synced"]);
    fake.put(NODES, node("a", "True"));
    assert_eq!(rig.told(Kind::Node).await, ["name a", "0 Healthy"]);
    assert!(began.elapsed() < Duration::from_secs(300), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_object_that_makes_no_sense_hides_no_other() {
    let fake = Fake::default();
    fake.put(NODES, json!({"metadata": {"name": "bad"}, "spec": {}, "status": {"conditions": 7}}));
    fake.put(NODES, node("good", "True"));
    let mut rig = Rig::start(&fake);
    rig.restart();
    let told = rig.told(Kind::Node).await;
    assert_eq!(told[told.len() - 3..], ["name good", "1 Healthy", "synced"], "{told:?}");
    fake.put(NODES, node("bad", "True"));
    assert_eq!(rig.told(Kind::Node).await, ["0 Healthy"]);
}

#[tokio::test(start_paused = true)]
async fn a_new_round_replaces_the_old_one() {
    let fake = Fake::default();
    fake.put(NODES, node("a", "True"));
    let mut rig = Rig::start(&fake);
    rig.restart();
    rig.restart();
    assert_eq!(rig.told(Kind::Node).await, ["name a", "0 Healthy", "synced"]);
    rig.restart();
    fake.put(NODES, node("a", "False"));
    let told = rig.told(Kind::Node).await;
    assert!(told.contains(&"synced".into()) && told.contains(&"0 Unhealthy".into()), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn all_api_servers_behind_an_address_are_found() {
    let fake = Fake::default();
    fake.serve_versions(&["v1.36.3", "v1.35.4+vendor.1", "v1.36.3"]);
    let mut rig = Rig::start(&fake);
    assert!(rig.api_servers.try_recv().is_err(), "who does not lead need not know");
    rig.restart();
    let number = |text: &str| VersionNumber::parse(text).unwrap();
    let both = ApiServers { oldest: number("1.35.4"), newest: number("1.36.3") };
    assert_eq!(rig.api_servers.recv().await, Some(both));
    assert_eq!(fake.requests("GET /version").len(), ApiServers::ROUND as usize);
    // One of them is away for a while, and then is another.
    fake.fail("GET", "/version", Fault::Refused);
    fake.serve_versions(&["v1.36.3"]);
    let began = Instant::now();
    assert_eq!(rig.api_servers.recv().await, Some(ApiServers { oldest: both.newest, newest: both.newest }));
    assert_eq!(began.elapsed().as_secs(), ApiServers::INTERVAL.as_secs());
    // What cannot be read is not guessed.
    fake.serve_versions(&["edge"]);
    assert!(timeout(ApiServers::INTERVAL * 5, rig.api_servers.recv()).await.is_err());
    fake.serve_versions(&["v1.37.0"]);
    let next = ApiServers { oldest: number("1.37.0"), newest: number("1.37.0") };
    assert_eq!(rig.api_servers.recv().await, Some(next));
}
