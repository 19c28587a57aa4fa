//! How a machine gets and keeps the identity of its node, and how other requesters are refused.

use std::sync::Arc;
use std::time::Duration;

use crate::fixture::{self, DNS, Fixture, OPERATOR, Store, WEB, node_certificate, picture, want, web};
use proptest::prelude::*;
use seaworthy_model::certificate::{
    Approval, Refusal, RequestContent, RequestState, Signer, Usages, request_name,
};
use seaworthy_model::digest::Digest;
use seaworthy_model::event::Observation;
use seaworthy_model::host::Owner;
use seaworthy_model::id::{MachineId, Uid, VersionId};
use seaworthy_model::machine::{ConditionKind, Reason};
use seaworthy_model::node::{Health, NodeObject, NodeState};
use seaworthy_model::report::{Blocker, Subject};

const M0: MachineId = MachineId(0);

fn key(number: u32) -> Digest {
    Digest::of(format!("key {number}").as_bytes())
}

/// A fleet whose `web-1` is a kubelet, pinned on every machine.
fn fleet(machines: u32) -> Fixture {
    let mut fixture = Fixture::new(machines);
    fixture.store.need_identity(web(1));
    for id in 0..machines {
        fixture.store.edit_machine(id, |spec| spec.pins = [want(WEB, web(1))].into());
    }
    fixture.deliver();
    fixture
}

/// The same, until every machine has joined.
fn joined(machines: u32) -> Fixture {
    let mut fixture = fleet(machines);
    for _ in 0..3 {
        fixture.settle();
        fixture.store.sign();
        fixture.deliver();
    }
    fixture.settle();
    assert!(fixture.web().iter().all(|version| *version == Some(1)), "{:?}", fixture.web());
    fixture
}

fn reason(fixture: &Fixture) -> Reason {
    let machine = &fixture.store.machines[&0];
    machine.status.condition(ConditionKind::InSync).map_or(Reason::NotYetKnown, |condition| condition.reason)
}

fn refusals(store: &Store) -> Vec<Refusal> {
    store.events.iter().map(|event| event.reason).collect()
}

#[test]
fn a_kubelet_is_installed_once_its_node_has_a_certificate() {
    let mut fixture = fleet(1);
    let mut lines = Vec::new();
    for _ in 0..40 {
        let turn = fixture.turn();
        lines.extend(picture(&turn).lines().map(str::to_owned));
        fixture.execute();
        fixture.store.sign();
        fixture.deliver();
    }
    let story = ["m0", "host of m0", "request"];
    let about = |line: &&String| {
        story.iter().any(|who| line.starts_with(&who.to_string())) && !line.contains("waits")
    };
    let seen: Vec<&str> = lines.iter().filter(about).map(String::as_str).collect();
    assert_eq!(
        seen,
        [
            "host of m0: read",
            "m0: finalizers [\"seaworthy.dev/in-use\"], import",
            "host of m0: make a key",
            "request of m0: create",
            "request 0: approve",
            "host of m0: take a certificate",
            "host of m0: install web-1",
            "m0: status gen 2 ready True AsDesired has 0",
        ]
    );
    assert_eq!(fixture.host(0).keys, 1);
}

#[test]
fn whatever_reply_is_lost_one_key_is_made_and_one_request_approved() {
    for lost in 0..12 {
        let mut fixture = fleet(1);
        let mut writes = 0;
        for _ in 0..200 {
            let _ = fixture.turn();
            while !fixture.pending.is_empty() {
                if writes == lost {
                    fixture.lost_writes = 1;
                    fixture.lost_replies.insert(0, 1);
                }
                writes += 1;
                fixture.execute_one(0);
                (fixture.lost_writes, _) = (0, fixture.lost_replies.remove(&0));
            }
            fixture.store.sign();
            fixture.deliver();
            fixture.now = fixture.now + Duration::from_secs(5);
        }
        assert_eq!(fixture.web(), [Some(1)], "reply {lost}");
        assert_eq!((fixture.host(0).keys, fixture.store.states().len()), (1, 1), "reply {lost}");
    }
}

#[test]
fn a_successor_goes_on_with_the_same_key() {
    for steps in 0..10 {
        let mut fixture = fleet(1);
        for _ in 0..steps {
            let _ = fixture.turn();
            fixture.execute();
        }
        fixture.restart();
        for _ in 0..3 {
            fixture.settle();
            fixture.store.sign();
            fixture.deliver();
        }
        fixture.settle();
        let blockers: Vec<_> = fixture.engine.world().blockers().collect();
        assert_eq!(fixture.web(), [Some(1)], "after {steps} turns: {blockers:?}");
        assert_eq!((fixture.host(0).keys, fixture.store.states().len()), (1, 1), "after {steps} turns");
    }
}

#[test]
fn while_nobody_signs_people_are_told_and_others_have_the_slot() {
    let mut fixture = fleet(1);
    fixture.settle();
    assert_eq!(fixture.engine.world().blocker(Subject::Machine(M0)), Some(Blocker::AwaitingCertificate));
    assert_eq!(fixture.engine.world().occupied(), 0);
    fixture.pass(Duration::from_secs(120));
    assert_eq!(reason(&fixture), Reason::AwaitingCertificate);
    fixture.store.sign();
    fixture.deliver();
    fixture.settle();
    assert_eq!((fixture.web(), reason(&fixture)), (vec![Some(1)], Reason::AsDesired));
}

/// The cluster deletes a request an hour after its approval, and the watch misses that it was signed and deleted.
#[test]
fn a_request_is_made_anew_when_its_end_was_missed() {
    let mut fixture = fleet(1);
    fixture.settle();
    fixture.store.delete_request(seaworthy_model::id::CertificateRequestId(0));
    fixture.store.gone.clear();
    fixture.pass(Duration::from_secs(3600));
    assert_eq!((reason(&fixture), fixture.store.states().len()), (Reason::AwaitingCertificate, 0));
    fixture.pass(Duration::from_secs(120));
    fixture.store.sign();
    fixture.deliver();
    fixture.settle();
    assert_eq!((fixture.web(), fixture.host(0).keys), (vec![Some(1)], 1));
}

#[test]
fn a_request_that_was_denied_is_made_anew_once_it_is_gone() {
    let mut fixture = fleet(1);
    fixture.settle();
    let id = seaworthy_model::id::CertificateRequestId(0);
    fixture.store.decide(id, RequestState::Denied);
    fixture.deliver();
    fixture.settle();
    assert_eq!(reason(&fixture), Reason::CertificateDenied);
    fixture.store.delete_request(id);
    fixture.deliver();
    fixture.pass(Duration::from_secs(60));
    fixture.store.sign();
    fixture.deliver();
    fixture.settle();
    assert_eq!((fixture.web(), fixture.host(0).keys), (vec![Some(1)], 1));
}

#[test]
fn a_certificate_that_nobody_renews_is_replaced_before_its_end() {
    let mut fixture = joined(1);
    let day = Duration::from_secs(24 * 3600);
    fixture.pass(day * 340);
    assert_eq!(fixture.host(0).keys, 1, "kubelet has time");
    fixture.pass(day * 8);
    fixture.store.sign();
    let end = fixture.now + day * 365;
    fixture.host(0).valid = (fixture::START, end);
    fixture.deliver();
    fixture.pass(Duration::from_secs(60));
    let identity = fixture.host(0).facts.identity.clone().unwrap();
    assert_eq!(identity.certificate.unwrap().key, key(2));
    assert_eq!(fixture.host(0).changes, 1, "nothing is installed for it");
}

/// A host that says that it made a key, and does not show any, is asked again after a while, and the operator says so.
#[test]
fn a_host_that_hides_its_key_is_not_asked_again_and_again() {
    let mut fixture = Fixture::new(1);
    fixture.store.need_identity(web(1));
    fixture.host(0).hides_keys = true;
    fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1))].into());
    fixture.deliver();
    fixture.pass(Duration::from_secs(3600));
    let asked = fixture.host(0).asked;
    assert!(asked < 20, "it was asked {asked} times in an hour");
    fixture.host(0).hides_keys = false;
    fixture.pass(Duration::from_secs(3600));
    fixture.store.sign();
    fixture.deliver();
    fixture.pass(Duration::from_secs(3600));
    assert_eq!(fixture.web(), [Some(1)]);
}

/// The same for an operator whose clock is ahead by the life of a certificate.
#[test]
fn a_certificate_that_has_ended_when_it_comes_is_not_replaced_again_and_again() {
    let mut fixture = joined(1);
    fixture.pass(Duration::from_secs(24 * 3600 * 348));
    for _ in 0..12 {
        fixture.store.sign();
        fixture.deliver();
        fixture.pass(Duration::from_secs(10));
    }
    let keys = fixture.host(0).keys;
    assert!(keys <= 3, "{keys} keys within two minutes");
    for _ in 0..60 {
        fixture.store.sign();
        fixture.deliver();
        fixture.pass(Duration::from_secs(10));
    }
    let later = fixture.host(0).keys;
    assert!(
        (keys + 1..=keys + 2).contains(&later),
        "{later} keys after {keys}: it is tried every five minutes"
    );
}

#[test]
fn nothing_is_installed_under_a_certificate_that_was_over_when_it_came() {
    let mut fixture = fleet(1);
    fixture.host(0).valid = (fixture::START, fixture::START);
    let sign = |fixture: &mut Fixture| {
        for _ in 0..40 {
            fixture.pass(Duration::from_secs(10));
            fixture.store.sign();
            fixture.deliver();
        }
    };
    sign(&mut fixture);
    assert_eq!((fixture.web(), reason(&fixture)), (vec![None], Reason::AwaitingCertificate));
    let end = fixture.now + Duration::from_secs(24 * 3600);
    fixture.host(0).valid = (fixture::START, end);
    sign(&mut fixture);
    assert_eq!(fixture.web(), [Some(1)]);
}

/// A node was off until its certificate had expired, a few minutes after it was issued.
#[test]
fn a_certificate_that_was_good_when_it_came_is_replaced_as_soon_as_it_has_ended() {
    let mut fixture = fleet(1);
    let end = fixture.now + Duration::from_secs(150);
    fixture.host(0).valid = (fixture.now, end);
    for _ in 0..3 {
        fixture.settle();
        fixture.store.sign();
        fixture.deliver();
    }
    fixture.settle();
    assert_eq!((fixture.web(), fixture.host(0).keys), (vec![Some(1)], 1));
    fixture.pass(end.since(fixture.now));
    fixture.pass(Duration::from_secs(10));
    assert_eq!(fixture.host(0).keys, 2, "a key waits for the next one");
}

#[test]
fn what_kubelet_renewed_itself_is_left_alone() {
    let mut fixture = joined(1);
    let day = Duration::from_secs(24 * 3600);
    fixture.pass(day * 300);
    let valid = (fixture.now, fixture.now + day * 365);
    let identity = fixture.host(0).facts.identity.as_mut().unwrap();
    identity.certificate = Some(node_certificate("m0", key(77), valid));
    fixture.pass(day * 100);
    assert_eq!(fixture.host(0).keys, 1);
}

#[test]
fn the_identity_of_another_node_is_refused() {
    let mut fixture = fleet(1);
    let certificate = node_certificate("another", key(9), fixture::VALID);
    fixture.host(0).identify(certificate);
    fixture.settle();
    assert_eq!(fixture.engine.world().blocker(Subject::Machine(M0)), Some(Blocker::ForeignIdentity));
    assert_eq!((reason(&fixture), fixture.host(0).keys), (Reason::ForeignIdentity, 0));
    assert_eq!(fixture.host(0).facts.owner, Owner::Nobody);
}

#[test]
fn an_identity_that_was_there_before_is_taken_for_ours_only_if_the_cluster_knows_the_node() {
    for is_node in [false, true] {
        let mut fixture = fleet(1);
        let certificate = node_certificate("m0", key(9), fixture::VALID);
        fixture.host(0).identify(certificate);
        let node = NodeObject { uid: Uid(7), state: NodeState::plain(Health::Healthy, fixture.now) };
        fixture.see(Observation::Node(M0, is_node.then_some(node)));
        fixture.settle();
        assert_eq!(fixture.web(), [is_node.then_some(1)]);
        assert_eq!(fixture.host(0).keys, 0, "no other key is made");
    }
}

#[test]
fn on_a_node_of_others_nothing_at_all_is_installed() {
    // The certificate makes it m0, and so it is: in another cluster. What comes first needs no identity.
    let mut fixture = fleet(1);
    let object = fixture.store.versions.get_mut(&web(1).0).unwrap();
    Arc::make_mut(object.spec.as_mut().unwrap()).depends_on.push(DNS);
    fixture.store.edit_machine(0, |spec| {
        let more = want(DNS, VersionId(3));
        spec.pins = spec.pins.iter().cloned().chain([more]).collect();
    });
    fixture.deliver();
    fixture.host(0).identify(node_certificate("m0", key(9), fixture::VALID));
    fixture.see(Observation::Node(M0, None));
    fixture.settle();
    assert_eq!(fixture.engine.world().blocker(Subject::Machine(M0)), Some(Blocker::ForeignIdentity));
    assert_eq!((reason(&fixture), fixture.host(0).keys), (Reason::ForeignIdentity, 0));
    let facts = &fixture.host(0).facts;
    assert_eq!((&facts.owner, facts.components.len()), (&Owner::Nobody, 0));
}

/// The result of a request that is nearly right.
fn judged(
    username: &str,
    usages: (Signer, Usages),
    change: impl FnOnce(&mut RequestContent),
) -> (RequestState, Vec<Refusal>) {
    let mut fixture = joined(2);
    let mut asked = RequestContent::of_node("m0", key(50));
    change(&mut asked);
    let id = fixture.store.ask_for("csr-1", username, usages, Ok(asked));
    fixture.deliver();
    fixture.settle();
    fixture.restart();
    fixture.settle();
    let state = fixture.store.requests[id.index()].object.as_ref().unwrap().state.clone();
    (state, refusals(&fixture.store))
}

const CLIENT: (Signer, Usages) = (Signer::KubeletClient, Usages::NODE_CLIENT);
const SERVING: (Signer, Usages) =
    (Signer::KubeletServing, Usages::DIGITAL_SIGNATURE.with(Usages::SERVER_AUTH));

#[test]
fn a_node_gets_what_it_asks_for_itself() {
    let approved = (RequestState::Approved(Approval::Ours), vec![]);
    assert_eq!(judged("system:node:m0", CLIENT, |_| {}), approved);
    let with_encipherment = (Signer::KubeletClient, Usages::NODE_CLIENT.with(Usages::KEY_ENCIPHERMENT));
    assert_eq!(judged("system:node:m0", with_encipherment, |_| {}), approved);
    let serving = |asked: &mut RequestContent| {
        asked.dns_names = vec!["m0".into()];
        asked.ip_addresses = vec!["198.18.0.0".into()];
    };
    assert_eq!(judged("system:node:m0", SERVING, serving), approved);
}

#[test]
fn a_request_that_waits_until_its_host_is_read_says_so() {
    let mut fixture = joined(1);
    let asked = RequestContent::of_node("m0", key(50));
    let id = fixture.store.ask_for("csr-1", "system:node:m0", CLIENT, Ok(asked));
    fixture.restart();
    let mut told = Vec::new();
    for _ in 0..20 {
        let _ = fixture.turn();
        told.extend(fixture.engine.world().blocker(Subject::CertificateRequest(id)));
        fixture.execute();
    }
    assert!(told.contains(&Blocker::HostNotRead), "{told:?}");
}

/// The host reports another owner for a while.
#[test]
fn what_was_refused_for_a_wrong_report_is_approved_after_the_next() {
    let mut fixture = joined(1);
    let ours = fixture.host(0).facts.owner.clone();
    fixture.host(0).facts.owner = Owner::Nobody;
    fixture.pass(Duration::from_secs(25 * 3600));
    let asked = RequestContent::of_node(
        "m0",
        fixture.host(0).facts.identity.as_ref().unwrap().certificate.as_ref().unwrap().key,
    );
    fixture.store.ask_for("csr-1", "system:node:m0", CLIENT, Ok(asked));
    fixture.deliver();
    fixture.settle();
    assert_eq!(refusals(&fixture.store), [Refusal::NoIdentity]);
    fixture.host(0).facts.owner = ours;
    fixture.pass(Duration::from_secs(25 * 3600));
    assert_eq!(fixture.store.states().last(), Some(&RequestState::Approved(Approval::Ours)));
    assert_eq!(refusals(&fixture.store).len(), 1);
}

#[test]
fn whatever_is_not_quite_right_is_not_approved_and_told_once() {
    let nothing: fn(&mut RequestContent) = |_| {};
    let all_usages = (Signer::KubeletClient, Usages(Usages::NODE_CLIENT.0 | Usages::SERVER_AUTH.0));
    let swapped = (Signer::KubeletServing, Usages::NODE_CLIENT);
    type Case = (&'static str, (Signer, Usages), fn(&mut RequestContent), Refusal);
    let cases: [Case; 16] = [
        ("mallory", CLIENT, nothing, Refusal::Requester),
        ("system:node:m1", CLIENT, nothing, Refusal::Requester),
        (OPERATOR, CLIENT, nothing, Refusal::Requester),
        (OPERATOR, SERVING, |asked| asked.dns_names = vec!["m0".into()], Refusal::Requester),
        ("system:node:m0", all_usages, nothing, Refusal::KeyUsages),
        ("system:node:m0", swapped, nothing, Refusal::KeyUsages),
        ("system:node:m0", SERVING, nothing, Refusal::Addresses),
        ("system:node:m0", SERVING, |asked| asked.dns_names = vec!["m1".into()], Refusal::Addresses),
        ("system:node:m0", SERVING, |asked| asked.dns_names = vec!["".into()], Refusal::Addresses),
        (
            "system:node:m0",
            SERVING,
            |asked| asked.ip_addresses = vec!["198.18.0.1".into()],
            Refusal::Addresses,
        ),
        ("system:node:m0", CLIENT, |asked| asked.dns_names = vec!["m0".into()], Refusal::Addresses),
        ("system:node:m0", CLIENT, |asked| asked.other_addresses = 1, Refusal::Addresses),
        (
            "system:node:m0",
            CLIENT,
            |asked| asked.organizations.push("system:masters".into()),
            Refusal::Subject,
        ),
        ("system:node:m0", CLIENT, |asked| asked.other_names = 1, Refusal::Subject),
        ("system:node:m0", CLIENT, |asked| asked.common_name = "admin".into(), Refusal::Subject),
        ("system:node:m9", CLIENT, |asked| asked.common_name = "system:node:m9".into(), Refusal::NoMachine),
    ];
    for (number, (username, usages, change, refusal)) in cases.into_iter().enumerate() {
        assert_eq!(judged(username, usages, change), (RequestState::Pending, vec![refusal]), "case {number}");
    }
}

#[test]
fn a_strangers_key_under_the_name_of_our_request_is_not_approved() {
    let mut fixture = joined(1);
    let name = request_name("m0", key(50));
    fixture.store.ask(&name, "mallory", RequestContent::of_node("m0", key(50)));
    fixture.deliver();
    fixture.settle();
    assert_eq!(refusals(&fixture.store), [Refusal::Key]);
}

#[test]
fn a_copy_of_our_request_is_not_approved() {
    let mut fixture = fleet(1);
    fixture.settle();
    fixture.store.ask("copy", "mallory", RequestContent::of_node("m0", key(1)));
    fixture.deliver();
    fixture.settle();
    assert_eq!(refusals(&fixture.store), [Refusal::Requester]);
    assert_eq!(fixture.store.states(), [RequestState::Approved(Approval::Ours), RequestState::Pending]);
}

#[test]
fn an_unreadable_request_and_one_that_a_binding_approved_are_told() {
    let mut fixture = joined(1);
    fixture.store.ask_for("bad", "mallory", CLIENT, Err("garbage".into()));
    let id = fixture.store.ask("automatic", "mallory", RequestContent::of_node("m0", key(60)));
    fixture.store.decide(id, RequestState::Approved(Approval::Automatic));
    fixture.deliver();
    fixture.settle();
    assert_eq!(refusals(&fixture.store), [Refusal::Unreadable, Refusal::ApprovedAutomatically]);
}

#[test]
fn a_node_that_asks_again_and_again_has_to_wait() {
    let mut fixture = joined(1);
    for number in 0..12 {
        fixture.store.ask(
            &format!("csr-{number}"),
            "system:node:m0",
            RequestContent::of_node("m0", key(100 + number)),
        );
        fixture.deliver();
        fixture.settle();
    }
    let approved = |fixture: &Fixture| {
        let states = fixture.store.states();
        states.iter().filter(|state| matches!(state, RequestState::Approved(_))).count()
    };
    // One of the ten was the machine's own.
    assert_eq!(approved(&fixture), 9);
    assert_eq!(refusals(&fixture.store), [Refusal::TooMany; 3]);
    fixture.pass(Duration::from_secs(3700));
    assert_eq!(approved(&fixture), 12);
}

#[test]
fn a_machine_that_is_being_deleted_gets_no_certificate() {
    let mut fixture = fleet(1);
    while fixture.host(0).keys == 0 {
        let _ = fixture.turn();
        fixture.execute();
    }
    fixture.store.delete_machine(0);
    fixture.deliver();
    fixture.settle();
    assert_eq!(fixture.host(0).facts.owner, Owner::Nobody);
    assert_eq!(fixture.host(0).facts.identity, None);
    assert!(fixture.store.machines.is_empty());
    let approved = fixture.store.states().iter().any(|state| matches!(state, RequestState::Approved(_)));
    assert!(!approved);
}

/// What may happen next in a history.
fn happens(fixture: &mut Fixture, step: u8, number: u32) {
    let machine = number % 2;
    match step {
        0..=5 => {
            let _ = fixture.turn();
        }
        6..=11 => fixture.execute_one(number as usize),
        12 => fixture.store.sign(),
        13 => fixture.lost_writes = 1,
        14 => drop(fixture.lost_replies.insert(machine, 1)),
        15 => fixture.restart(),
        16 => fixture.host(machine).up ^= true,
        17 => {
            let node = format!("m{machine}");
            let (name, key) = (request_name(&node, key(500 + number)), key(500 + number));
            fixture.store.ask(&name, "mallory", RequestContent::of_node(&node, key));
        }
        18 => {
            let known = fixture.store.requests.get(number as usize).and_then(|known| known.object.clone());
            if let Some(content) = known.and_then(|object| object.content.ok()) {
                fixture.store.ask(&format!("copy-{number}"), "mallory", content);
            }
        }
        _ => fixture.now = fixture.now + Duration::from_secs(u64::from(number % 40)),
    }
    fixture.deliver();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any history, every machine joins with one key, and only the request for that key is approved.
    #[test]
    fn every_history_ends_with_one_key_for_each_machine(
        steps in prop::collection::vec((0u8..22, 0u32..20), 0..120),
    ) {
        let mut fixture = fleet(2);
        for (step, number) in steps {
            happens(&mut fixture, step, number);
        }
        fixture.host(0).up = true;
        fixture.host(1).up = true;
        fixture.lost_writes = 0;
        fixture.lost_replies.clear();
        for _ in 0..6 {
            fixture.pass(Duration::from_secs(700));
            fixture.store.sign();
            fixture.deliver();
        }
        fixture.settle();
        prop_assert_eq!(fixture.web(), [Some(1), Some(1)]);
        let made = |id: u32| fixture.hosts[&id].facts.identity.as_ref().unwrap().certificate.as_ref().unwrap().key;
        prop_assert_eq!((fixture.hosts[&0].keys, fixture.hosts[&1].keys), (1, 1));
        for request in fixture.store.requests.iter().filter_map(|request| request.object.as_ref()) {
            let is_approved = !matches!(request.state, RequestState::Pending);
            let content = request.content.as_ref().unwrap();
            let is_made = [0, 1].iter().any(|&id| content.key == made(id));
            prop_assert_eq!(is_approved, is_made && &*request.username == OPERATOR);
        }
    }
}
