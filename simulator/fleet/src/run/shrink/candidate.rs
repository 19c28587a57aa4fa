//! Plans that are a little smaller than a given one.

use std::time::Duration;

use serde_json::Value;

use crate::run::plan::{Document, ResolvedPlan};
use crate::vocabulary::{Drawn, End, Length, Met, START, Strike, Timed};

/// The same plan without strikes.
pub(super) fn without_strikes(plan: &ResolvedPlan) -> ResolvedPlan {
    ResolvedPlan { strikes: Vec::new(), ..plan.clone() }
}

/// The same plan with this many machines. Actions and strikes on hosts that no longer exist are dropped, or moved to
/// other hosts. Numbers of machines in budgets stay, or shrink with the fleet.
pub(super) fn smaller_fleets(plan: &ResolvedPlan, machines: u32) -> Vec<ResolvedPlan> {
    let exists = |strike: &&Strike| strike.host().is_none_or(|host| host < machines);
    let left: Vec<Strike> = plan.strikes.iter().filter(exists).cloned().collect();
    let folded = plan.strikes.iter().map(|strike| match strike.host() {
        Some(host) if host >= machines => strike.clone().on_host(host % machines),
        Some(_) | None => strike.clone(),
    });
    let folded: Vec<Strike> = folded.collect();
    let mut scenario = plan.scenario.clone();
    scenario.set_machines(machines);
    let mut scaled = scenario.clone();
    scale_budgets(&mut scaled, machines, plan.scenario.machines());
    let mut candidates = Vec::new();
    for scenario in [scaled, scenario] {
        for strikes in [&left, &folded] {
            candidates.push(ResolvedPlan {
                scenario: scenario.clone(),
                strikes: strikes.clone(),
                ..plan.clone()
            });
        }
    }
    candidates.dedup();
    candidates
}

fn scale_budgets(document: &mut Document, machines: u32, before: u32) {
    let scale = |manifest: &mut Value| {
        for field in ["/spec/maxUnavailable", "/spec/maxFailures"] {
            let Some(number) = manifest.pointer_mut(field) else { continue };
            if let Some(count) = number.as_u64() {
                *number = Value::from((count * u64::from(machines) / u64::from(before.max(1))).max(1));
            }
        }
    };
    document.list_mut("manifests").iter_mut().for_each(scale);
    for moment in document.list_mut("timeline") {
        if let Some(applied) = moment.get_mut("apply").and_then(Value::as_array_mut) {
            applied.iter_mut().for_each(scale);
        }
    }
}

/// The same plan with one zone, with one rack per zone, or with one operator.
pub(super) fn simpler_fleets(plan: &ResolvedPlan) -> Vec<ResolvedPlan> {
    let one = |field: &str| {
        let mut smaller = plan.clone();
        smaller.scenario.set_fleet(field, 1);
        smaller
    };
    vec![one("zones"), one("racksPerZone"), one("operators")]
}

/// The same plan without one of its manifests, moments, workloads, expectations or user actions in a moment.
pub(super) fn shorter_lists(plan: &ResolvedPlan) -> Vec<ResolvedPlan> {
    let mut candidates = Vec::new();
    for field in ["timeline", "manifests", "workloads", "eventually", "always", "sometimes"] {
        for index in (0..plan.scenario.list(field).len()).rev() {
            let mut smaller = plan.clone();
            smaller.scenario.list_mut(field).remove(index);
            candidates.push(smaller);
        }
    }
    for moment in 0..plan.scenario.list("timeline").len() {
        for field in ["expect", "apply", "edit", "delete"] {
            let items = plan.scenario.list("timeline")[moment]
                .get(field)
                .and_then(Value::as_array)
                .map_or(0, Vec::len);
            for index in 0..items {
                let mut smaller = plan.clone();
                let list = smaller.scenario.list_mut("timeline")[moment].get_mut(field);
                if let Some(list) = list.and_then(Value::as_array_mut) {
                    list.remove(index);
                }
                candidates.push(smaller);
            }
        }
    }
    candidates
}

/// The least length of an outage: it is not made shorter.
const SHORT: Duration = Duration::from_secs(60);

/// The same plan with one outage half as long.
pub(super) fn shorter_outages(plan: &ResolvedPlan) -> Vec<ResolvedPlan> {
    let shorter = plan.strikes.iter().enumerate().filter_map(|(index, strike)| {
        let mut smaller = plan.clone();
        smaller.strikes[index] = shorter(strike)?;
        Some(smaller)
    });
    shorter.collect()
}

fn shorter(strike: &Strike) -> Option<Strike> {
    match strike {
        Strike::Timed(Timed { at, end: Some(end), .. }) => {
            let at = at.0 + half(end.at.0.checked_sub(at.0)?)?;
            let Strike::Timed(timed) = strike.clone() else { return None };
            let does = timed.does.ending(START + at);
            Some(Strike::Timed(Timed { does, end: Some(End { at: Length(at), ..*end }), ..timed }))
        }
        Strike::Timed(timed) => {
            let length = timed.does.until()?.since(START + timed.at.0);
            let until = START + timed.at.0 + half(length)?;
            Some(Strike::Timed(Timed { does: timed.does.ending(until), ..timed.clone() }))
        }
        Strike::Met(met) => {
            let mut drawn = met.drawn.clone();
            let long = drawn.values_mut().find_map(|drawn| match drawn {
                Drawn::Length(length) => half(length.0).map(|half| (length, half)),
                Drawn::Number(_) => None,
            });
            let (length, half) = long?;
            length.0 = half;
            Some(Strike::Met(Met { drawn, ..met.clone() }))
        }
    }
}

/// Half of a length, in whole milliseconds. `None` if that would be too short.
fn half(length: Duration) -> Option<Duration> {
    let half = Duration::from_millis(u64::try_from(length.as_millis() / 2).ok()?);
    (half >= SHORT).then_some(half)
}
