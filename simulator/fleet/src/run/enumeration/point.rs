//! The points of a reference run at which something is made to go wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use seaworthy_kernel::Timestamp;
use seaworthy_model::id::Kind;
use serde::Serialize;

use crate::faults::VisitNote;
use crate::observers::record::Record;
use crate::vocabulary::{Drawn, End, Injection, Length, Met, Place, START, Strike, Timed};
use crate::world::Event;

/// The duration of a stale read. It is longer than any deadline of the engine, so that the engine decides with the
/// state that it has.
const STALE: Duration = Duration::from_secs(600);

/// A rule: the kind of fault that is injected at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Rule {
    /// The operator crashes before a write of its leaves it.
    CrashBefore,
    /// The operator crashes after a write of its was committed, before the reply.
    CrashAfter,
    /// The leader is suspended right after a write, until after another process took the Lease; what it writes to an API
    /// server arrives in the term of its successor.
    OldLeader,
    /// A destructive write is decided on old knowledge of one kind.
    StaleRead,
    /// The operator sees an object before a change and after the next, and never between.
    HiddenTransition,
}

impl Rule {
    /// Every rule.
    pub const ALL: [Self; 5] =
        [Self::CrashBefore, Self::CrashAfter, Self::OldLeader, Self::StaleRead, Self::HiddenTransition];

    /// The rule, for display.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::CrashBefore => "crash before a write",
            Self::CrashAfter => "crash after a write",
            Self::OldLeader => "old leader and its late write",
            Self::StaleRead => "stale read before a destructive write",
            Self::HiddenTransition => "hidden transition",
        }
    }
}

/// How late a write of an old leader arrives. The Lease has changed hands by then.
const LATE: Duration = Duration::from_secs(60);

/// How long an old leader is suspended: it goes on after its late write has arrived.
const SUSPENDED: Duration = Duration::from_secs(90);

/// A point, and the faults that are injected there.
#[derive(Clone, Debug)]
pub(super) struct ForkPoint {
    pub(super) at: Timestamp,
    pub(super) rule: Rule,
    pub(super) strikes: Vec<Strike>,
}

/// All points of a run, in the order of time. After `quiet` nothing is made to go wrong but crashes.
pub(super) fn all(visits: &[VisitNote], record: &Record, quiet: Timestamp) -> Vec<ForkPoint> {
    let mut points: Vec<ForkPoint> =
        visits.iter().filter(|visit| visit.point.is_write()).flat_map(crashes).collect();
    points.extend(old_leaders(visits, quiet));
    points.extend(stale_reads(visits, record, quiet));
    points.extend(hidden_transitions(record, quiet));
    points.sort_by_key(|point| point.at);
    points
}

fn crashes(visit: &VisitNote) -> [ForkPoint; 2] {
    [(Rule::CrashBefore, 0), (Rule::CrashAfter, 1)].map(|(rule, side)| ForkPoint {
        at: visit.at,
        rule,
        strikes: vec![met(visit, "operator_crash", ("side", Drawn::Number(side)))],
    })
}

/// A fault that strikes when the run reaches a point.
fn met(visit: &VisitNote, fault: &str, (name, drawn): (&str, Drawn)) -> Strike {
    Strike::Met(Met {
        fault: fault.into(),
        point: visit.point.clone(),
        nth: visit.nth,
        chance: 0,
        at: Length(visit.at.since(START)),
        drawn: BTreeMap::from([(name.to_owned(), drawn)]),
    })
}

/// For every write, early enough for everything to end before `quiet`: the leader is suspended, and its write is late if it
/// goes to an API server.
fn old_leaders(visits: &[VisitNote], quiet: Timestamp) -> impl Iterator<Item = ForkPoint> {
    let writes = visits.iter().filter(|visit| visit.point.is_write());
    writes.filter(move |visit| visit.at + SUSPENDED < quiet).map(|visit| {
        let at = Timestamp::from_millis(visit.at.millis() + 1);
        let does = Injection::Pause { seat: None, until: visit.at + SUSPENDED };
        let at_length = Length(at.since(START));
        let pause = Strike::Timed(Timed { fault: "process_pause".into(), at: at_length, does, end: None });
        let is_request = matches!(visit.point, Place::Request { .. });
        let late = is_request.then(|| met(visit, "late_request", ("by", Drawn::Length(Length(LATE)))));
        ForkPoint { at: visit.at, rule: Rule::OldLeader, strikes: late.into_iter().chain([pause]).collect() }
    })
}

/// For every destructive write and every kind: the watch of the kind is held from just before the last delivery that the
/// decision could know, and from just before the write itself. Many writes share a delivery.
fn stale_reads(visits: &[VisitNote], record: &Record, quiet: Timestamp) -> Vec<ForkPoint> {
    let mut last: BTreeMap<Kind, Timestamp> = BTreeMap::new();
    let mut holds: BTreeSet<(Timestamp, Kind)> = BTreeSet::new();
    let mut events = record.events().peekable();
    for visit in visits.iter().filter(|visit| visit.point.is_destructive()) {
        while let Some((at, event)) = events.next_if(|(at, _)| *at <= visit.at) {
            if let Event::Deliver { kind, .. } = event {
                last.insert(*kind, at);
            }
        }
        let watched = Kind::WATCHED.into_iter().chain([Kind::Lease]);
        for kind in watched {
            holds.extend(last.get(&kind).map(|at| (*at, kind)));
            holds.insert((visit.at, kind));
        }
    }
    let holds = holds.into_iter().filter(|(at, _)| *at < quiet);
    holds
        .map(|(at, kind)| {
            let does = Injection::HoldWatch(kind, (at + STALE).min(quiet));
            let at_length = Length(at.since(START));
            let strike = Timed { fault: "stale_watch".into(), at: at_length, does, end: None };
            ForkPoint { at, rule: Rule::StaleRead, strikes: vec![Strike::Timed(strike)] }
        })
        .collect()
}

/// For every two changes of an object that follow each other: the watch of its kind breaks before the first and lists anew
/// after the second.
fn hidden_transitions(record: &Record, quiet: Timestamp) -> Vec<ForkPoint> {
    let mut last: BTreeMap<(Kind, &str), Timestamp> = BTreeMap::new();
    let mut hidden: BTreeSet<(Timestamp, Kind, Timestamp)> = BTreeSet::new();
    for (at, kind, name) in record.changes() {
        if let Some(before) = last.insert((kind, name), at)
            && before > START
            && at < quiet
        {
            hidden.insert((before, kind, at));
        }
    }
    hidden
        .into_iter()
        .map(|(at, kind, until)| {
            let until = Timestamp::from_millis(until.millis() + 1);
            let end = End { at: Length(until.since(START)), does: Injection::Relist(kind) };
            let strike = Strike::Timed(Timed {
                fault: "unobserved".into(),
                at: Length(at.since(START)),
                does: Injection::HoldWatch(kind, until),
                end: Some(end),
            });
            ForkPoint { at, rule: Rule::HiddenTransition, strikes: vec![strike] }
        })
        .collect()
}
