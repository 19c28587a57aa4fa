//! Drains: pods leave a Node before work that they would not survive, in order, across restarts, and never at the cost
//! of other Nodes.

use std::sync::Arc;
use std::time::Duration;

use crate::fixture::{Fixture, WEB, picture, pod, want, web};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::certificate::NodeIdentity;
use seaworthy_model::component::Disruption;
use seaworthy_model::detail::{Detail, Pod};
use seaworthy_model::effect::Target;
use seaworthy_model::event::{Event, Outcome};
use seaworthy_model::id::MachineId;
use seaworthy_model::machine::{ConditionKind, HostId, Reason};
use seaworthy_model::node::Health;
use seaworthy_model::pod::{DrainPolicy, PodFacts, PodOwner};
use seaworthy_model::report::{Blocker, Subject};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

fn policy(fixture: &mut Fixture, policy: DrainPolicy) {
    fixture.store.edit_fleet(|spec| spec.drain = policy);
    fixture.deliver();
}

fn blocker(fixture: &Fixture, id: u32) -> Option<Blocker> {
    fixture.engine.world().blocker(Subject::Machine(MachineId(id)))
}

fn in_sync(fixture: &Fixture, id: u32) -> (Reason, Option<Detail>) {
    let condition = fixture.store.machines[&id].status.condition(ConditionKind::InSync).unwrap().clone();
    (condition.reason, condition.detail.as_deref().cloned())
}

fn shop(name: &str) -> Pod {
    Pod { namespace: "shop".into(), name: name.into() }
}

/// What is ordered of machine 0, its host and its Node until nothing is any more.
fn story(fixture: &mut Fixture) -> Vec<String> {
    let mut lines = Vec::new();
    for _ in 0..200 {
        let turn = fixture.turn();
        let of_it = turn.actions.iter().filter(|action| action.target.machine() == Some(MachineId(0)));
        if of_it.count() > 0 {
            let lines_of = picture(&turn);
            lines.extend(lines_of.lines().filter(|line| line.contains("m0:")).map(str::to_owned));
        }
        let is_over = fixture.pending.is_empty();
        fixture.execute();
        if is_over {
            match turn.wake {
                Some(wake) if wake.at <= fixture.now + MINUTE => {
                    fixture.now = wake.at.max(fixture.now + Duration::from_millis(1));
                }
                _ => break,
            }
        }
    }
    lines.retain(|line| !line.ends_with(": read") && !line.contains("finalizers"));
    lines
}

#[test]
fn pods_leave_before_the_change_and_may_come_back_after_it() {
    let mut fixture = Fixture::with_pods(1, 2);
    fixture.upgrade();
    assert_eq!(
        story(&mut fixture),
        [
            "node of m0: list pods",
            "node of m0: cordon for web",
            "node of m0: list pods",
            "node of m0: evict web-0-0",
            "node of m0: evict web-0-1",
            "node of m0: list pods",
            "host of m0: install web-2",
            "node of m0: uncordon",
            "m0: status gen 1 ready True AsDesired has 1",
        ]
    );
    assert!(!fixture.cluster.is_unschedulable(0) && !fixture.cluster.is_marked(0));
    assert!(fixture.engine.world().machine(MachineId(0)).drain.is_none());
}

#[test]
fn without_a_node_or_a_disruption_nobody_asks_for_pods() {
    let mut fixture = Fixture::with_pods(1, 2);
    for version in fixture.store.versions.values_mut() {
        Arc::make_mut(version.spec.as_mut().unwrap()).disruption = Disruption::Restart;
    }
    fixture.restart();
    fixture.upgrade();
    let story = story(&mut fixture);
    assert!(story.iter().all(|line| !line.contains("node of")), "{story:#?}");
    assert_eq!(fixture.web(), [Some(2)]);
}

/// A kubelet registers its Node seconds after it was installed. What comes next waits for that, and the Node is drained
/// as soon as it is seen.
#[test]
fn the_node_of_a_new_kubelet_is_waited_for() {
    let mut fixture = Fixture::with_pods(1, 0);
    let node = fixture.cluster.nodes.remove(&0);
    fixture.restart();
    fixture.upgrade();
    fixture.pass(Duration::from_secs(20));
    assert_eq!(fixture.web(), [Some(1)]);
    assert!(matches!(blocker(&fixture, 0), Some(Blocker::AwaitingNode { .. })));
    fixture.cluster.nodes.extend(node.map(|node| (0, node)));
    fixture.cluster.node(0).pods = vec![pod("web-0-0")];
    fixture.cluster.tell(0);
    let story = story(&mut fixture);
    assert!(story.iter().any(|line| line == "node of m0: evict web-0-0"), "{story:#?}");
    assert_eq!(fixture.web(), [Some(2)]);
}

/// A host whose kubelet never registers a Node is upgraded all the same: but first the API server is asked for its pods.
#[test]
fn without_a_node_the_pods_are_listed_before_the_work() {
    let mut fixture = Fixture::with_pods(1, 0);
    fixture.cluster.nodes.clear();
    fixture.restart();
    fixture.upgrade();
    let story = story(&mut fixture);
    let begins = story.iter().position(|line| line == "host of m0: install web-2");
    let lists = story.iter().position(|line| line == "node of m0: list pods");
    assert!(lists.is_some() && lists < begins, "{story:#?}");
    assert_eq!(fixture.web(), [Some(2)]);
}

#[test]
fn pods_that_take_their_time_are_waited_for() {
    let mut fixture = Fixture::with_pods(1, 2);
    fixture.cluster.pods_linger = true;
    fixture.upgrade();
    fixture.pass(3 * MINUTE);
    assert_eq!(fixture.web(), [Some(1)]);
    assert_eq!(blocker(&fixture, 0), Some(Blocker::Draining { pods: 2 }));
    let first = [shop("web-0-0"), shop("web-0-1")].into();
    let left = Detail::PodsLeft { count: 2, first, refused: None };
    assert_eq!(in_sync(&fixture, 0), (Reason::Draining, Some(left)));
    assert_eq!(fixture.cluster.evicted.len(), 2, "each is asked once");
    fixture.cluster.finish();
    fixture.pass(MINUTE);
    assert_eq!(fixture.web(), [Some(2)]);
    assert!(!fixture.cluster.is_unschedulable(0));
    assert_eq!(in_sync(&fixture, 0).0, Reason::AsDesired);
}

#[test]
fn a_budget_that_allows_nothing_is_named_and_others_go_on() {
    let mut fixture = Fixture::with_pods(3, 0);
    fixture.limit(2);
    fixture.cluster.node(0).pods = vec![pod("web-0-0")];
    fixture.cluster.evictions_left = Some(0);
    fixture.upgrade();
    fixture.pass(10 * MINUTE);
    assert_eq!(fixture.web(), [Some(1), Some(2), Some(2)]);
    assert!(
        matches!(blocker(&fixture, 0), Some(Blocker::DisruptionBudget { .. })),
        "{:?}",
        blocker(&fixture, 0)
    );
    let (reason, detail) = in_sync(&fixture, 0);
    assert_eq!(reason, Reason::Cause(CauseKind::DisruptionBudget));
    let Some(Detail::PodRefused(pod, words)) = detail else { panic!("{detail:?}") };
    assert_eq!(pod, shop("web-0-0"));
    assert!(words.contains("budget web needs 2"), "{words}");
    assert!(fixture.cluster.is_unschedulable(0));
    assert_eq!(fixture.engine.world().occupied(), 1, "it keeps its slot as long as it is cordoned");
    fixture.cluster.evictions_left = None;
    fixture.pass(2 * MINUTE);
    assert_eq!(fixture.web(), [Some(2); 3]);
    assert!(!fixture.cluster.is_unschedulable(0));
}

#[test]
fn a_drain_that_takes_too_long_gives_the_node_back_and_is_tried_again() {
    let mut fixture = Fixture::with_pods(2, 0);
    policy(&mut fixture, DrainPolicy { timeout_seconds: 600, ..DrainPolicy::default() });
    fixture.cluster.node(0).pods = vec![pod("web-0-0")];
    fixture.cluster.node(1).pods = vec![pod("web-1-0")];
    fixture.cluster.evictions_left = Some(0);
    fixture.upgrade();
    fixture.pass(8 * MINUTE);
    let cordoned = |fixture: &Fixture| [0, 1].map(|id| fixture.cluster.is_unschedulable(id));
    assert_eq!(cordoned(&fixture).iter().filter(|is| **is).count(), 1);
    let first = u32::from(cordoned(&fixture)[1]);
    fixture.pass(5 * MINUTE);
    assert!(
        matches!(blocker(&fixture, first), Some(Blocker::DrainOverdue { .. })),
        "{:?}",
        blocker(&fixture, first)
    );
    assert_eq!(in_sync(&fixture, first).0, Reason::DrainOverdue);
    assert!(!fixture.cluster.is_unschedulable(first), "it takes pods again");
    assert!(fixture.cluster.is_unschedulable(1 - first), "and the other one has its turn");
    fixture.cluster.evictions_left = None;
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(2); 2]);
    assert_eq!(cordoned(&fixture), [false; 2]);
}

#[test]
fn pods_that_would_be_lost_keep_the_node_untouched_until_that_is_allowed() {
    let bare = PodFacts { owner: PodOwner::Nobody, ..pod("bare") };
    let stored = PodFacts { has_local_storage: true, ..pod("stored") };
    let table = [
        (bare, DrainPolicy { force: true, ..DrainPolicy::default() }),
        (stored, DrainPolicy { delete_empty_dir_data: true, ..DrainPolicy::default() }),
    ];
    for (facts, allowing) in table {
        let mut fixture = Fixture::with_pods(2, 0);
        fixture.cluster.node(0).pods = vec![pod("web-0-0"), facts];
        fixture.upgrade();
        fixture.pass(20 * MINUTE);
        assert_eq!(fixture.web(), [Some(1), Some(2)]);
        assert!(
            matches!(blocker(&fixture, 0), Some(Blocker::DrainForbidden { .. })),
            "{:?}",
            blocker(&fixture, 0)
        );
        assert_eq!(in_sync(&fixture, 0).0, Reason::DrainForbidden);
        assert!(fixture.cluster.evicted.is_empty() && !fixture.cluster.is_unschedulable(0));
        policy(&mut fixture, allowing);
        fixture.pass(10 * MINUTE);
        assert_eq!(fixture.web(), [Some(2), Some(2)]);
        assert!(!fixture.cluster.is_unschedulable(0));
    }
}

#[test]
fn what_only_its_kubelet_or_a_daemon_set_could_end_stays() {
    let mut fixture = Fixture::with_pods(1, 1);
    let daemon = PodFacts { owner: PodOwner::DaemonSet, has_local_storage: true, ..pod("agent") };
    let mirror = PodFacts { owner: PodOwner::Nobody, is_mirror: true, ..pod("etcd") };
    fixture.cluster.node(0).pods.extend([daemon, mirror]);
    fixture.upgrade();
    fixture.pass(MINUTE);
    assert_eq!(fixture.web(), [Some(2)]);
    assert_eq!(fixture.cluster.evicted, ["web-0-0"]);
}

#[test]
fn a_cordon_of_a_person_stays() {
    let mut fixture = Fixture::with_pods(1, 1);
    fixture.cluster.cordon(0);
    fixture.upgrade();
    fixture.pass(MINUTE);
    assert_eq!(fixture.web(), [Some(2)]);
    assert!(fixture.cluster.is_unschedulable(0) && !fixture.cluster.is_marked(0));
}

#[test]
fn whoever_comes_next_finds_the_mark_and_goes_on_or_takes_it_off() {
    // For any last order of the old process, the next process finishes the work.
    for crash_after in 0..16 {
        for reverts in [false, true] {
            let mut fixture = Fixture::with_pods(1, 2);
            fixture.upgrade();
            let mut orders = 0;
            while orders < crash_after {
                let _ = fixture.turn();
                if fixture.pending.is_empty() {
                    break;
                }
                while orders < crash_after && !fixture.pending.is_empty() {
                    fixture.execute_one(0);
                    orders += 1;
                }
            }
            if reverts {
                fixture.store.defaults(vec![want(WEB, web(1))]);
            }
            fixture.restart();
            fixture.pass(10 * MINUTE);
            let expected = if reverts { 1 } else { 2 };
            assert_eq!(fixture.web(), [Some(expected)], "after {crash_after} orders");
            assert!(!fixture.cluster.is_unschedulable(0), "after {crash_after} orders, reverts: {reverts}");
            assert!(!fixture.cluster.is_marked(0), "after {crash_after} orders, reverts: {reverts}");
        }
    }
}

#[test]
fn a_drain_is_abandoned_when_nobody_wants_it_any_more() {
    let abandonments: [fn(&mut Fixture); 4] = [
        |fixture| fixture.store.defaults(vec![want(WEB, web(1))]),
        |fixture| fixture.store.edit_machine(0, |spec| spec.paused = true),
        |fixture| fixture.store.edit_fleet(|spec| spec.paused = true),
        |fixture| fixture.store.edit_machine(0, |spec| spec.pins = [want(WEB, web(1))].into()),
    ];
    for abandon in abandonments {
        let mut fixture = Fixture::with_pods(1, 1);
        fixture.cluster.evictions_left = Some(0);
        fixture.upgrade();
        fixture.pass(MINUTE);
        assert!(fixture.cluster.is_unschedulable(0));
        abandon(&mut fixture);
        fixture.deliver();
        fixture.pass(2 * MINUTE);
        assert!(!fixture.cluster.is_unschedulable(0) && !fixture.cluster.is_marked(0));
        assert_eq!(fixture.web(), [Some(1)]);
    }
}

#[test]
fn lost_replies_and_refusals_change_nothing_in_the_end() {
    for lost in 1..8 {
        let mut fixture = Fixture::with_pods(1, 3);
        fixture.lost_node_replies = lost;
        fixture.upgrade();
        fixture.pass(HOUR);
        assert_eq!(fixture.web(), [Some(2)], "{lost} replies lost");
        assert!(!fixture.cluster.is_unschedulable(0) && !fixture.cluster.is_marked(0));
    }
}

/// The budget may have become smaller since they were cordoned.
#[test]
fn two_empty_nodes_do_not_wait_for_the_one_slot_of_each_other() {
    let mut fixture = Fixture::with_pods(3, 1);
    fixture.limit(2);
    fixture.cluster.evictions_left = Some(0);
    for id in 0..2 {
        fixture.store.delete_machine(id);
    }
    fixture.deliver();
    fixture.pass(MINUTE);
    assert!((0..2).all(|id| fixture.cluster.is_unschedulable(id)));
    fixture.limit(1);
    fixture.cluster.evictions_left = None;
    fixture.pass(HOUR);
    assert_eq!(fixture.store.machines.keys().copied().collect::<Vec<_>>(), [2]);
}

/// Their upgrade was withdrawn, and their pending repair needs no drain.
#[test]
fn marks_that_a_repair_does_not_need_do_not_keep_the_one_slot_from_each_other() {
    let (mut fixture, _) = Fixture::marked_and_drifted();
    fixture.pass(HOUR);
    assert!((0..3).all(|id| fixture.host(id).facts.components.iter().all(|found| found.drift.is_none())));
    assert!((0..3).all(|id| !fixture.cluster.is_marked(id)));
}

#[test]
fn a_release_that_fails_gives_the_node_back() {
    let mut fixture = Fixture::with_pods(1, 1);
    fixture.host(0).broken = vec![web(2)];
    fixture.upgrade();
    fixture.pass(10 * MINUTE);
    assert_eq!(fixture.web(), [Some(1)]);
    assert!(!fixture.cluster.is_unschedulable(0) && !fixture.cluster.is_marked(0));
}

#[test]
fn a_host_that_is_not_reached_any_more_gives_the_node_back() {
    let mut fixture = Fixture::held_up();
    assert!(fixture.cluster.is_unschedulable(0));
    fixture.host(0).up = false;
    let node = fixture.cluster.node(0);
    node.object.state.ready = Health::Unknown;
    fixture.cluster.tell(0);
    fixture.deliver();
    fixture.pass(HOUR);
    assert!(!fixture.cluster.is_unschedulable(0), "{:?}", blocker(&fixture, 0));
    fixture.host(0).up = true;
    fixture.cluster.evictions_left = None;
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(2)]);
    assert!(!fixture.cluster.is_unschedulable(0));
}

#[test]
fn of_two_troubles_one_is_told_and_not_both_in_turns() {
    let mut fixture = Fixture::held_up();
    fixture.host(0).up = false;
    fixture.cluster.node(0).object.state.ready = Health::Unknown;
    fixture.cluster.tell(0);
    fixture.deliver();
    // The watch never shows the uncordon, so further uncordons are refused from then on.
    fixture.cluster.is_mute = true;
    fixture.pass(HOUR);
    assert!(!fixture.cluster.is_unschedulable(0), "{:?}", blocker(&fixture, 0));
    let drain = fixture.engine.world().machine(MachineId(0)).drain.clone().unwrap();
    assert!(drain.write.trouble.is_some(), "{drain:?}");
    let reachable = &fixture.store.machines[&0].status.condition(ConditionKind::Reachable).unwrap();
    assert_eq!(reachable.reason, Reason::Cause(CauseKind::ConnectionFailed));
    fixture.cluster.is_mute = false;
    fixture.cluster.tell(0);
    fixture.deliver();
    fixture.host(0).up = true;
    fixture.cluster.evictions_left = None;
    fixture.pass(HOUR);
    assert_eq!(fixture.web(), [Some(2)]);
}

#[test]
fn a_pod_is_not_given_up_because_the_clocks_disagree() {
    let mut fixture = Fixture::with_pods(1, 1);
    fixture.cluster.pods_linger = true;
    fixture.upgrade();
    fixture.cluster.node(0).object.state.ready = Health::Unknown;
    fixture.cluster.tell(0);
    fixture.deliver();
    // The pod may take 30 s to leave, by any clock of the API server.
    fixture.pass(Duration::from_secs(45));
    assert_eq!((fixture.cluster.evicted.len(), fixture.web()), (1, vec![Some(1)]));
    fixture.pass(5 * MINUTE);
    assert_eq!(fixture.web(), [Some(2)], "{:?}", blocker(&fixture, 0));
}

#[test]
fn a_machine_that_goes_takes_its_node_with_it() {
    let mut fixture = Fixture::with_pods(2, 2);
    fixture.store.delete_machine(0);
    fixture.deliver();
    assert_eq!(
        story(&mut fixture),
        [
            "node of m0: list pods",
            "node of m0: cordon for removal",
            "node of m0: list pods",
            "node of m0: evict web-0-0",
            "node of m0: evict web-0-1",
            "node of m0: list pods",
            "host of m0: remove component 0",
            "node of m0: delete",
            "host of m0: disown",
        ]
    );
    assert!(!fixture.store.machines.contains_key(&0) && !fixture.cluster.nodes.contains_key(&0));
    assert!(fixture.cluster.nodes.contains_key(&1));
}

#[test]
fn a_node_is_emptied_before_its_kubelet_goes_whatever_is_said_of_upgrades() {
    let mut fixture = Fixture::with_pods(1, 1);
    for version in fixture.store.versions.values_mut() {
        let spec = Arc::make_mut(version.spec.as_mut().unwrap());
        spec.disruption = Disruption::Restart;
        spec.node_identity = Some(NodeIdentity { path: "/pki/client.pem".into(), renew_before: None });
    }
    fixture.store.delete_machine(0);
    fixture.restart();
    assert_eq!(
        story(&mut fixture),
        [
            "node of m0: list pods",
            "node of m0: cordon for removal",
            "node of m0: list pods",
            "node of m0: evict web-0-0",
            "node of m0: list pods",
            "host of m0: remove component 0",
            "node of m0: delete",
            "host of m0: disown",
        ]
    );
}

#[test]
fn the_node_of_another_host_is_not_deleted() {
    let mut fixture = Fixture::with_pods(1, 1);
    fixture.cluster.evictions_left = Some(0);
    fixture.store.delete_machine(0);
    fixture.deliver();
    fixture.pass(MINUTE);
    fixture.cluster.node(0).object.state.cordon.as_mut().unwrap().host = Some(HostId(99));
    fixture.cluster.tell(0);
    fixture.cluster.evictions_left = None;
    fixture.deliver();
    fixture.pass(5 * MINUTE);
    assert!(!fixture.store.machines.contains_key(&0), "{:?}", blocker(&fixture, 0));
    assert!(fixture.cluster.nodes.contains_key(&0) && !fixture.cluster.is_marked(0));
}

#[test]
fn a_host_that_is_gone_for_good_is_let_go_when_a_person_says_so_and_not_before() {
    let mut fixture = Fixture::with_pods(1, 1);
    fixture.host(0).up = false;
    fixture.cluster.node(0).object.state.ready = Health::Unknown;
    fixture.cluster.tell(0);
    fixture.store.delete_machine(0);
    fixture.deliver();
    fixture.pass(3 * HOUR);
    assert!(fixture.store.machines.contains_key(&0), "nobody has said so");
    fixture.store.release_host(0);
    fixture.deliver();
    let story = story(&mut fixture);
    assert_eq!(story, ["m0: status gen 1 ready False HostReleased has 0", "node of m0: delete"]);
    fixture.pass(MINUTE);
    assert!(!fixture.store.machines.contains_key(&0) && !fixture.cluster.nodes.contains_key(&0));
}

#[test]
fn a_node_that_went_meanwhile_has_no_pods() {
    let mut fixture = Fixture::held_up();
    fixture.cluster.nodes.remove(&0);
    fixture.cluster.tell(0);
    fixture.deliver();
    fixture.pass(MINUTE);
    assert_eq!(fixture.web(), [Some(2)]);
}

#[test]
fn what_the_operator_may_not_do_is_said() {
    let mut fixture = Fixture::with_pods(1, 1);
    fixture.upgrade();
    let forbidden = || Outcome::Refused(Cause::new(CauseKind::ApiRefused, "nodes is forbidden"));
    for _ in 0..200 {
        let _ = fixture.turn();
        if fixture.pending.is_empty() {
            break;
        }
        let action = fixture.pending.remove(0);
        if matches!(action.target, Target::Node(_)) {
            let outcome = forbidden();
            fixture.engine.observe(Event::Finished { action: action.id, outcome });
        } else {
            fixture.pending.insert(0, action);
            fixture.execute_one(0);
        }
    }
    let reported = Detail::Reported("nodes is forbidden".into());
    assert_eq!(in_sync(&fixture, 0), (Reason::Cause(CauseKind::ApiRefused), Some(reported)));
    assert_eq!(fixture.web(), [Some(1)]);
}

#[test]
fn a_machine_that_goes_and_waits_for_a_slot_says_so_before_its_node_is_emptied() {
    let mut fixture = Fixture::with_pods(2, 1);
    fixture.cluster.evictions_left = Some(0);
    fixture.upgrade();
    fixture.pass(MINUTE);
    let busy = (0..2).find(|id| fixture.cluster.is_unschedulable(*id)).unwrap();
    fixture.store.delete_machine(1 - busy);
    fixture.deliver();
    fixture.pass(MINUTE);
    assert_eq!(in_sync(&fixture, 1 - busy), (Reason::Terminating, Some(Detail::AwaitsSlot)));
    assert!(!fixture.cluster.is_unschedulable(1 - busy));
    fixture.cluster.evictions_left = None;
    fixture.pass(HOUR);
    assert!(!fixture.store.machines.contains_key(&(1 - busy)));
}
