//! A report that a kubelet delays comes with the same renewal, whether renewals are folded or explicit.

use std::sync::Arc;

use super::*;
use crate::options::Options;
use crate::scenario::Scenario;

const HOST: u32 = 0;
const ALONE: &str =
    "{name: alone, goal: a kubelet that nobody manages, fleet: {machines: 1}, quiet: {after: 1h}}";

fn world(heartbeats: Heartbeats) -> World {
    let scenario = Arc::new(Scenario::read("alone.yaml", ALONE).unwrap());
    World::new(scenario, Options { heartbeats, ..Options::default() })
}

/// Lets time pass until then, counted from the start of the run.
fn wait(world: &mut World, seconds: u64) {
    while world.step_until(START + Duration::from_secs(seconds)) {}
}

/// The kubelet starts anew, within twenty seconds. From then on it tries at other times than before.
fn restart(world: &mut World) {
    world.kubelet_lost(HOST, Kubelet::stop);
    world.kubelets[HOST as usize].enable();
    world.kubelet_started(HOST);
}

/// Runs in both modes until the kubelet is started anew in the second minute. It delays a report, which is due after
/// ten minutes. Then its first try must bring that.
fn comes_in_time(delay: fn(&mut World), has_come: fn(&Kubelet) -> bool) {
    let ends = [Heartbeats::Folded, Heartbeats::Explicit].map(|heartbeats| {
        let mut world = world(heartbeats);
        wait(&mut world, 60);
        delay(&mut world);
        restart(&mut world);
        wait(&mut world, 600 - 1);
        assert!(!has_come(&world.kubelets[HOST as usize]), "{heartbeats:?}: too early");
        wait(&mut world, 600 + PERIOD.as_secs());
        assert!(has_come(&world.kubelets[HOST as usize]), "{heartbeats:?}: too late");
        world.trace
    });
    assert_eq!(ends[0], ends[1]);
}

#[test]
fn a_kubelet_that_was_started_anew_reports_in_time_that_its_node_is_not_ready() {
    let delay = |world: &mut World| {
        world.kubelets[HOST as usize].sicken(true);
        world.condition_changes(HOST, false, Duration::from_secs(540));
    };
    comes_in_time(delay, |kubelet| kubelet.health == Health::Unhealthy);
}

#[test]
fn a_kubelet_that_was_started_anew_reports_in_time_that_its_disk_is_full() {
    let delay = |world: &mut World| world.pressure_changes(HOST, true, Duration::from_secs(540));
    comes_in_time(delay, |kubelet| kubelet.has_pressure);
}
