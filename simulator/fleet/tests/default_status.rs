//! To the engine the status that the API server shows by default is no status: it orders the same.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use seaworthy_api::names::Names;
use seaworthy_api::object::{Read, Resource, Status};
use seaworthy_api::{parse, render};
use seaworthy_engine::Engine;
use seaworthy_model::config::Config;
use seaworthy_model::draw::Seed;
use seaworthy_model::effect::Effect;
use seaworthy_model::event::{Event, Observation, Outcome, Receipt};
use seaworthy_model::id::{Kind, StoreId};
use seaworthy_model::report::Turn;
use seaworthy_model::time::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

struct Json(Value);

impl Read for Json {
    type Error = serde_json::Error;

    fn read<T: DeserializeOwned>(self) -> Result<T, Self::Error> {
        serde_json::from_value(self.0)
    }
}

fn objects() -> [(Kind, Value); 3] {
    let metadata = |name: &str, uid: u32| {
        json!({
            "name": name,
            "uid": format!("00000000-0000-0000-0000-00000000000{uid}"),
            "resourceVersion": uid.to_string(),
            "generation": 1,
        })
    };
    let version = json!({
        "metadata": metadata("webd-1.0.0", 1),
        "spec": {"component": "webd", "version": "1.0.0", "files": [{"path": "etc/webd.toml", "template": "x"}]},
    });
    let defaults = json!({
        "metadata": metadata("default", 2),
        "spec": {"components": [{"name": "webd", "version": "1.0.0"}]},
    });
    let machine = json!({
        "metadata": metadata("m-1", 3),
        "spec": {
            "address": {"ip": "198.18.0.9"},
            "ssh": {"secretName": "hosts", "hostKeyPolicy": "TrustOnFirstUse"},
        },
    });
    [(Kind::MachineComponent, version), (Kind::ClusterPackageVersion, defaults), (Kind::Machine, machine)]
}

/// What an engine orders that sees these objects for the first time, when nothing comes of its orders but the Lease and
/// the lists.
fn orders(objects: &[Resource]) -> Vec<Turn> {
    let mut names = Names::new();
    let read = |_: &str| unreachable!("there is no certificate request");
    let observed = objects.iter().map(|object| parse::observed(object, &mut names, read).unwrap().unwrap());
    let observed: Vec<Observation> = observed.collect();
    let mut engine = Engine::new(Config::default(), Seed(1));
    let see = |engine: &mut Engine, observation| engine.observe(Event::Observed(StoreId::HOME, observation));
    for named in names.take_new() {
        see(&mut engine, Observation::Named(named));
    }
    see(&mut engine, Observation::Lease(None));
    see(&mut engine, Observation::Synced(Kind::Lease));
    let mut turns = Vec::new();
    for round in 0..200 {
        let turn = engine.reconcile(Timestamp::from_millis(1_767_225_600_000 + round * 500));
        for action in &turn.actions {
            let outcome = if matches!(action.effect, Effect::WriteLease(_)) {
                Outcome::Done(Receipt::Written { resource_version: 100 + round })
            } else if matches!(action.effect, Effect::Watch) {
                Outcome::Done(Receipt::Nothing)
            } else {
                Outcome::Unknown
            };
            engine.observe(Event::Finished { action: action.id, outcome });
            if matches!(action.effect, Effect::Watch) {
                observed.iter().for_each(|observed| see(&mut engine, observed.clone()));
                Kind::WATCHED.into_iter().for_each(|kind| see(&mut engine, Observation::Synced(kind)));
            }
        }
        turns.push(turn);
    }
    turns
}

#[test]
fn a_default_status_leads_to_the_same_orders_as_none() {
    let bare = objects().map(|(kind, object)| Resource::read(kind, Json(object)).unwrap());
    let with_default = objects().map(|(kind, mut object)| {
        object["status"] = json!(render::default_status(kind).unwrap());
        let read = Resource::read(kind, Json(object)).unwrap();
        assert!(matches!(read.clone().into_status(), Some(status) if Status::kind(&status) == kind));
        read
    });
    let (expected, found) = (orders(&bare), orders(&with_default));
    for wanted in ["write_finalizers", "host_facts"] {
        let actions = expected.iter().flat_map(|turn| &turn.actions);
        assert!(actions.into_iter().any(|action| action.effect.name() == wanted), "{wanted}");
    }
    assert_eq!(found, expected);
}
