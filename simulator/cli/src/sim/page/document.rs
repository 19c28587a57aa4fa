//! The content of a page, except the events of machines.

use seaworthy_fleet::Summary;
use seaworthy_fleet::history::{self, Band, Budget, End, History, Phase, Sample, Series, WaitsFor};
use seaworthy_fleet::vocabulary::{START, Step, machine_name};
use serde::Serialize;

use super::columns::Columns;
use super::rollouts::{self, Charter, Lane, Policy};
use super::run::Run;

/// The content of a page, except the events of machines. Times are in milliseconds since the start.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document<'a> {
    summary: &'a Summary,
    goal: &'a str,
    again: &'a str,
    zones: u32,
    racks_per_zone: u32,
    /// The name of machine 0; the digits at its end are its number.
    first_machine: String,
    /// The time from which no fault acts.
    quiet: u64,
    end: u32,
    components: &'a [String],
    versions: &'a [String],
    reasons: &'a [&'static str],
    causes: &'a [&'static str],
    phases: Vec<&'static str>,
    waits: &'a [&'static str],
    steps: Vec<String>,
    faults: Vec<&'static str>,
    rollouts: Vec<Lane<'a>>,
    charters: Vec<Charter<'a>>,
    words: Vec<(&'a str, &'a str, bool)>,
    policies: Vec<Policy<'a>>,
    /// The start of the run, as texts of objects give times.
    start: u64,
    budget: Table,
    processes: Vec<Process>,
    fault_lanes: Vec<FaultLane<'a>>,
    acts: Vec<(u32, &'a str)>,
    occurrences: Vec<(u32, &'static str, u32)>,
    violations: Vec<(u32, &'static str, &'a str)>,
    events: usize,
    columns: [usize; 4],
}

/// The values of a series: the times, and one row of numbers for each counter.
#[derive(Serialize)]
pub(super) struct Table {
    at: Vec<u32>,
    rows: Vec<Vec<u32>>,
}

impl Table {
    /// A row that has the same value throughout is left with one.
    pub(super) fn without_repeats(mut self) -> Self {
        for row in &mut self.rows {
            if row.iter().all(|value| *value == row[0]) {
                row.truncate(1);
            }
        }
        self
    }
}

/// The strikes of one kind of fault.
#[derive(Serialize)]
struct FaultLane<'a> {
    name: &'static str,
    realm: &'static str,
    bands: Vec<Row<'a>>,
}

/// One strike: from, until, how many, where, how, and the machine if it is a single one.
#[derive(Serialize)]
struct Row<'a>(u32, u32, u32, &'a str, &'a str, Option<u32>);

#[derive(Serialize)]
struct Process {
    seat: u32,
    from: u32,
    led: Option<u32>,
    epoch: u32,
    ended: Option<u32>,
    crashed: bool,
    pauses: Vec<(u32, u32)>,
}

impl<'a> Document<'a> {
    /// The document of a run whose events are in `columns`.
    pub(super) fn new(run: &Run<'a>, columns: &'a Columns) -> Self {
        let (scenario, history) = (run.scenario, run.history);
        Self {
            summary: run.summary,
            goal: scenario.goal.trim(),
            again: run.again,
            zones: scenario.fleet.zones,
            racks_per_zone: scenario.fleet.racks_per_zone,
            first_machine: machine_name(0),
            quiet: u64::try_from(scenario.quiet.after.0.as_millis()).unwrap_or(u64::MAX),
            end: history.end,
            components: &history.components,
            versions: &history.versions,
            reasons: &history.reasons,
            causes: &columns.causes,
            phases: Phase::ALL.map(Phase::name).to_vec(),
            waits: &WaitsFor::NAMES,
            steps: Step::ALL.iter().map(|step| format!("{step:?}").to_lowercase()).collect(),
            faults: scenario.faults.iter().map(|rule| rule.fault.name()).collect(),
            rollouts: rollouts::lanes(history),
            charters: rollouts::charters(history),
            words: rollouts::words(history),
            policies: rollouts::policies(history),
            start: START.millis(),
            budget: table(&history.budget, |Budget { occupied, limit, at_work, used }| {
                [occupied, limit, at_work, used]
            }),
            processes: processes(history),
            fault_lanes: fault_lanes(history),
            acts: history.acts.iter().map(|act| (act.at, act.what.as_str())).collect(),
            occurrences: history
                .occurrences
                .iter()
                .map(|occurrence| (occurrence.at, occurrence.what.name(), occurrence.times))
                .collect(),
            violations: history
                .violations
                .iter()
                .map(|violation| (violation.at, violation.invariant, violation.detail.as_str()))
                .collect(),
            events: history.events.len(),
            columns: columns.lengths(),
        }
    }
}

pub(super) fn table<T: Sample, const N: usize>(series: &Series<T>, row: impl Fn(T) -> [u32; N]) -> Table {
    let points = series.points();
    let values: Vec<[u32; N]> = points.iter().map(|(_, value)| row(*value)).collect();
    Table {
        at: points.iter().map(|(at, _)| *at).collect(),
        rows: (0..N).map(|index| values.iter().map(|value| value[index]).collect()).collect(),
    }
}

fn fault_lanes(history: &History) -> Vec<FaultLane<'_>> {
    history.bands.chunk_by(|one, other| one.kind == other.kind).map(fault_lane).collect()
}

fn fault_lane(bands: &[Band]) -> FaultLane<'_> {
    let rows = bands.iter().map(|Band { from, until, times, scope, detail, host, .. }| {
        Row(*from, *until, *times, scope, detail, *host)
    });
    FaultLane { name: bands[0].kind.name(), realm: bands[0].kind.realm().name(), bands: rows.collect() }
}

fn processes(history: &History) -> Vec<Process> {
    let process = |(number, process): (u32, &history::Process)| Process {
        seat: process.seat,
        from: process.from,
        led: process.led.map(|(at, _)| at),
        epoch: process.led.map_or(0, |(_, epoch)| epoch),
        ended: process.ended.map(|(at, _)| at),
        crashed: process.ended.is_some_and(|(_, end)| end == End::Crashed),
        pauses: pauses_of(history, number),
    };
    (0..).zip(&history.processes).map(process).collect()
}

fn pauses_of(history: &History, process: u32) -> Vec<(u32, u32)> {
    let of_it = history.pauses.iter().filter(|pause| pause.process == process);
    of_it.map(|pause| (pause.from, pause.until)).collect()
}
