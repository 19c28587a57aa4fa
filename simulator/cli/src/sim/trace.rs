//! A run as a trace in the JSON format of Chrome's trace events, which ui.perfetto.dev opens.
//!
//! Every track has its own thread, so that begin and end events nest. Of a large fleet only the hosts with unusual events
//! and a sample of the others are shown; `otherData` contains their numbers.

mod faults;
mod hosts;
mod tracks;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use seaworthy_fleet::Summary;
use seaworthy_fleet::history::History;
use serde::Serialize;
use serde_json::{Value, json};

/// The groups of tracks, by their process ids.
#[derive(Clone, Copy)]
enum Group {
    Operator = 1,
    Rollouts,
    Budget,
    World,
    Faults,
    Hosts,
}

/// One event in the trace format.
#[derive(Clone, Serialize)]
struct Entry {
    name: String,
    ph: &'static str,
    /// Microseconds since the start.
    ts: u64,
    pid: u32,
    tid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    #[serde(skip_serializing_if = "Value::is_null")]
    args: Value,
}

/// The events of a trace.
#[derive(Default)]
struct Trace {
    entries: Vec<Entry>,
    /// The open events of each track.
    open: BTreeMap<(u32, u32), u32>,
}

impl Trace {
    fn push(&mut self, ph: &'static str, (group, tid): (Group, u32), at: u32, name: String) -> &mut Entry {
        let (ts, pid) = (u64::from(at) * 1_000, group as u32);
        let entry =
            Entry { name, ph, ts, pid, tid, dur: None, id: None, cat: None, s: None, args: Value::Null };
        self.entries.push(entry);
        let last = self.entries.len() - 1;
        &mut self.entries[last]
    }

    fn begin(&mut self, track: (Group, u32), at: u32, name: String) -> &mut Entry {
        *self.open.entry((track.0 as u32, track.1)).or_default() += 1;
        self.push("B", track, at, name)
    }

    /// Ends the event that began last on a track, if there is one.
    fn end(&mut self, track: (Group, u32), at: u32) {
        if let Some(open) = self.open.get_mut(&(track.0 as u32, track.1)).filter(|open| **open > 0) {
            *open -= 1;
            self.push("E", track, at, String::new());
        }
    }

    /// Ends all open events of a track.
    fn end_all(&mut self, track: (Group, u32), at: u32) {
        while self.open.get(&(track.0 as u32, track.1)).is_some_and(|open| *open > 0) {
            self.end(track, at);
        }
    }

    fn instant(&mut self, track: (Group, u32), at: u32, name: String) -> &mut Entry {
        let entry = self.push("i", track, at, name);
        entry.s = Some("t");
        entry
    }

    fn counter(&mut self, group: Group, at: u32, name: &str, values: Value) {
        self.push("C", (group, 0), at, name.to_owned()).args = values;
    }

    fn name_group(&mut self, group: Group, name: &str) {
        self.push("M", (group, 0), 0, "process_name".into()).args = json!({ "name": name });
        self.push("M", (group, 0), 0, "process_sort_index".into()).args =
            json!({ "sort_index": group as u32 });
    }

    fn name_track(&mut self, track: (Group, u32), name: &str) {
        self.push("M", track, 0, "thread_name".into()).args = json!({ "name": name });
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    display_time_unit: &'static str,
    other_data: Value,
    trace_events: &'a [Entry],
}

/// The trace of a run.
///
/// # Errors
/// When it cannot be written as JSON.
pub(super) fn render(
    summary: &Summary,
    history: &History,
    again: &str,
) -> Result<Vec<u8>, serde_json::Error> {
    let mut trace = Trace::default();
    tracks::operator(&mut trace, history);
    tracks::rollouts(&mut trace, history);
    tracks::budget(&mut trace, history);
    tracks::world(&mut trace, history);
    faults::faults(&mut trace, history);
    let shown = hosts::hosts(&mut trace, history, summary.machines);
    // Descriptions of tracks come first. Events of one instant keep the order of recording: an end before the next begin.
    trace.entries.sort_by_key(|entry| (Reverse(entry.ph == "M"), entry.ts));
    let other_data = json!({
        "scenario": summary.scenario,
        "seed": summary.seed,
        "converged": summary.converged,
        "violations": summary.violations.len(),
        "traceHash": summary.trace_hash,
        "command": again,
        "hostsInFleet": summary.machines,
        "hostsShown": shown.unusual + shown.sampled,
        "hostsShownBecauseUnusual": shown.unusual,
        "hostsShownAsSample": shown.sampled,
        "hostsLeftOutThoughUnusual": shown.left_out,
    });
    serde_json::to_vec(&File { display_time_unit: "ms", other_data, trace_events: &trace.entries })
}
