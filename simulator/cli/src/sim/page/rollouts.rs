//! Rollouts with their batches and gates, what their owners wait for, and the disruption policies.

use seaworthy_fleet::history::{self, Counts, Halt, History, Mark, Milestone, Rollout, Series, Use};
use serde::Serialize;

use super::document::{Table, table};

#[derive(Serialize)]
pub(super) struct Lane<'a> {
    charter: usize,
    component: &'a str,
    from: &'a str,
    to: &'a str,
    since: u32,
    completed: Option<u32>,
    ended: Option<u32>,
    counts: Table,
    waves: &'a [(u32, u32)],
    batches: &'a [String],
    marks: Vec<MarkRow>,
}

/// When, the batch, what happened, until when it lasts, and the numbers that a gate goes by.
#[derive(Serialize)]
struct MarkRow(u32, u32, &'static str, Option<u32>, Option<[u32; 6]>);

/// An owner of rollouts, with the texts of what it says and of what it waits for: when each began, and its number.
#[derive(Serialize)]
pub(super) struct Charter<'a> {
    name: &'a str,
    told: &'a [(u32, Option<u32>)],
    waits: &'a [(u32, Option<u32>)],
}

#[derive(Serialize)]
pub(super) struct Policy<'a> {
    name: &'a str,
    per: &'a str,
    /// Since when, why nothing is disrupted, and until when.
    stops: Vec<(u32, &'static str, Option<u32>)>,
    domains: Vec<Domain<'a>>,
}

/// A failure domain: what is counted in it, each number followed by one more than its limit, or by 0 for none.
#[derive(Serialize)]
struct Domain<'a> {
    name: &'a str,
    uses: Table,
}

pub(super) fn lanes(history: &History) -> Vec<Lane<'_>> {
    history.rollouts.iter().map(lane).collect()
}

fn lane(rollout: &Rollout) -> Lane<'_> {
    let counts = table(&rollout.counts, |counts| {
        let Counts { done, at_work, reserved, parked, blocked, failed, waiting, failures_max } = counts;
        [done, at_work, reserved, parked, blocked, failed, waiting, failures_max]
    });
    let Rollout { charter, component, from, to, since, completed, ended, waves, batches, .. } = rollout;
    let marks = rollout.marks.iter().map(mark).collect();
    Lane {
        charter: *charter,
        component,
        from,
        to,
        since: *since,
        completed: *completed,
        ended: *ended,
        counts,
        waves,
        batches,
        marks,
    }
}

fn mark(mark: &Mark) -> MarkRow {
    let until = if let Milestone::Bakes(until) = mark.what { Some(until) } else { None };
    let evidence = mark
        .evidence
        .map(|it| [it.changed, it.failed, it.unavailable, it.silent, it.untouched, it.untouched_unavailable]);
    MarkRow(mark.at, mark.batch, mark.what.name(), until, evidence)
}

pub(super) fn charters(history: &History) -> Vec<Charter<'_>> {
    let charters = history.charters.iter();
    charters.map(|it| Charter { name: &it.name, told: it.told.points(), waits: it.waits.points() }).collect()
}

pub(super) fn words(history: &History) -> Vec<(&str, &str, bool)> {
    history.words.iter().map(|words| (words.reason.as_str(), words.message.as_str(), words.stops)).collect()
}

pub(super) fn policies(history: &History) -> Vec<Policy<'_>> {
    history.policies.iter().map(policy).collect()
}

fn policy(policy: &history::Policy) -> Policy<'_> {
    let stop = |&(at, halt): &(u32, Halt)| (at, halt.name(), halt.until());
    Policy {
        name: &policy.name,
        per: &policy.per,
        stops: policy.stops.iter().map(stop).collect(),
        domains: policy.domains.iter().map(domain).collect(),
    }
}

fn domain((name, uses): &(String, Series<Use>)) -> Domain<'_> {
    let limit = |limit: Option<u32>| limit.map_or(0, |limit| limit.saturating_add(1));
    let uses = table(uses, |Use { in_flight, hour, day }| {
        [in_flight.0, limit(in_flight.1), hour.0, limit(hour.1), day.0, limit(day.1)]
    });
    Domain { name, uses: uses.without_repeats() }
}
