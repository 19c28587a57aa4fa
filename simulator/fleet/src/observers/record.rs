//! The record of a run, event by event. It compares two runs that should be the same and names the first difference.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use seaworthy_kernel::Timestamp;
use seaworthy_model::id::Kind;

use crate::vocabulary::{START, since_start};
use crate::world::{Event, Happening, World};

/// The record of a run: after each event the trace hash.
#[derive(Clone, Debug, Default)]
pub struct Record {
    events: Vec<Entry>,
    changes: Vec<(Timestamp, Kind, String)>,
    /// By the Nodes that were written: when each was created first, unless it was there from the start.
    nodes: BTreeMap<Arc<str>, Option<Timestamp>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    at: Timestamp,
    event: Event,
    hash: u64,
}

/// The first difference between two runs that should be the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The number of the event, from 0.
    pub number: usize,
    /// The event in the first run; none when that had ended.
    pub first: Option<String>,
    /// The event in the second run; none when that had ended.
    pub second: Option<String>,
}

impl Record {
    /// Records a finished event, and what was committed, except renewals of the Lease.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most of what happens does not concern it")]
    pub(crate) fn observe(&mut self, world: &World, happening: &Happening<'_>) {
        let at = world.now();
        match happening {
            Happening::Event(event) => {
                self.events.push(Entry { at, event: (*event).clone(), hash: world.trace.value() });
            }
            Happening::Committed(commit) if !commit.renews => {
                let object = &commit.written.object;
                if object.kind() == Kind::Node {
                    let created = commit.written.before.is_none().then_some(at);
                    self.nodes.entry(Arc::clone(object.name())).or_insert(created);
                }
                self.changes.push((at, object.kind(), object.name().to_string()));
            }
            _ => {}
        }
    }

    /// The last event.
    pub(crate) fn last(&self) -> Option<&Event> {
        self.events.last().map(|entry| &entry.event)
    }

    /// The events, in their order.
    pub(crate) fn events(&self) -> impl Iterator<Item = (Timestamp, &Event)> {
        self.events.iter().map(|entry| (entry.at, &entry.event))
    }

    /// What was committed by the API server, in order.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (Timestamp, Kind, &str)> {
        self.changes.iter().map(|(at, kind, name)| (*at, *kind, name.as_str()))
    }

    /// When the Nodes that were not there from the start came, each for the first time, since the start of the run.
    pub fn nodes_joined(&self) -> impl Iterator<Item = Duration> {
        self.nodes.values().flatten().map(|at| at.since(START))
    }

    /// The first difference from another run; none when both are the same.
    #[must_use]
    pub fn divergence(&self, other: &Self) -> Option<Divergence> {
        let same = self.events.iter().zip(&other.events).take_while(|(first, second)| first == second);
        let number = same.count();
        let words = |record: &Self| {
            let Entry { at, event, hash } = record.events.get(number)?;
            Some(format!("{} {event:?}, trace {hash:016x}", since_start(*at)))
        };
        let (first, second) = (words(self), words(other));
        (first.is_some() || second.is_some()).then_some(Divergence { number, first, second })
    }
}

impl std::fmt::Display for Divergence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |side: &Option<String>| side.clone().unwrap_or_else(|| "the end".into());
        write!(f, "event {}: {} / {}", self.number, text(&self.first), text(&self.second))
    }
}
