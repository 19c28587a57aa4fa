//! The ledger of a run. It records what faults do, or dictates it when a plan is replayed.

use std::collections::BTreeMap;
use std::time::Duration;

use seaworthy_kernel::Timestamp;

use crate::vocabulary::{Drawn, End, Length, Met, Place, START, Scheduled, Strike, Timed};

/// What faults do in a run: recorded while draws decide, or dictated when a plan is replayed.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// The labels of the faults, in the order of the scenario.
    faults: Vec<String>,
    strikes: Vec<Strike>,
    /// In a replay: the strike that is due, by fault, point, visit number and chance number.
    due: Option<BTreeMap<(String, Place, u32, u32), usize>>,
    /// In a replay: whether each strike has happened.
    came: Vec<bool>,
    seen: BTreeMap<Place, u32>,
    visit: Option<Visit>,
    /// Every point that the run reaches, if points are recorded.
    points: Option<Vec<VisitNote>>,
}

/// A recorded visit of a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VisitNote {
    pub(crate) at: Timestamp,
    pub(crate) point: Place,
    /// How many times the run has now reached this point; the first is 1.
    pub(crate) nth: u32,
}

/// The point that the run has reached last.
#[derive(Clone, Debug)]
struct Visit {
    point: Place,
    nth: u32,
    now: Timestamp,
    fault: usize,
    chances: u32,
    /// The strike that takes effect now, to which further draws belong.
    open: Option<usize>,
    /// The last strike at this point.
    struck: Option<usize>,
}

impl Ledger {
    /// A ledger that records what the faults of these labels do.
    #[must_use]
    pub const fn recording(labels: Vec<String>) -> Self {
        Self {
            faults: labels,
            strikes: Vec::new(),
            due: None,
            came: Vec::new(),
            seen: BTreeMap::new(),
            visit: None,
            points: None,
        }
    }

    /// A ledger that dictates what the faults of these labels do.
    #[must_use]
    pub fn replaying(labels: Vec<String>, strikes: Vec<Strike>) -> Self {
        let mut ledger = Self::recording(labels);
        ledger.due = Some(BTreeMap::new());
        for strike in strikes {
            ledger.add(strike);
        }
        ledger
    }

    /// Dictates one more strike. A strike at a time of its own is scheduled at the start of the run.
    pub(crate) fn add(&mut self, strike: Strike) {
        let index = self.strikes.len();
        if let (Strike::Met(met), Some(due)) = (&strike, &mut self.due) {
            due.insert((met.fault.clone(), met.point.clone(), met.nth, met.chance), index);
        }
        self.came.push(matches!(strike, Strike::Timed(_)));
        self.strikes.push(strike);
    }

    /// The strikes of faults: those that happened, or in a replay those that are to happen.
    #[must_use]
    pub fn strikes(&self) -> &[Strike] {
        &self.strikes
    }

    /// In a replay: the strikes whose point the run never reached.
    pub fn missed(&self) -> impl Iterator<Item = &Strike> {
        let replays = self.due.is_some();
        self.strikes
            .iter()
            .zip(&self.came)
            .filter(move |(_, came)| replays && !**came)
            .map(|(strike, _)| strike)
    }

    /// Records every point from now on.
    pub(crate) fn note_points(&mut self) {
        self.points = Some(Vec::new());
    }

    /// The points that the run has reached, in order.
    pub(crate) fn points(&self) -> &[VisitNote] {
        self.points.as_deref().unwrap_or_default()
    }

    /// The strikes so far at points that the run reached.
    pub(crate) fn struck(&self) -> impl Iterator<Item = &Met> {
        self.strikes.iter().zip(&self.came).filter_map(|(strike, came)| match strike {
            Strike::Met(met) if *came => Some(met),
            Strike::Met(_) | Strike::Timed(_) => None,
        })
    }

    /// The last strike at the point that the run has reached last, if there was one.
    pub(crate) fn last_struck(&self) -> Option<&Met> {
        match self.strikes.get(self.visit.as_ref()?.struck?)? {
            Strike::Met(met) => Some(met),
            Strike::Timed(_) => None,
        }
    }

    pub(crate) const fn is_replay(&self) -> bool {
        self.due.is_some()
    }

    /// In a replay: the strikes that have a time of their own, in order.
    pub(crate) fn scheduled(&self) -> Vec<(usize, Scheduled)> {
        let timed = self.strikes.iter().filter_map(|strike| match strike {
            Strike::Timed(timed) => {
                let fault = self.faults.iter().position(|label| *label == timed.fault)?;
                let end = timed.end.map(|end| (START + end.at.0, end.does));
                Some((fault, Scheduled { at: START + timed.at.0, injection: timed.does, end }))
            }
            Strike::Met(_) => None,
        });
        timed.collect()
    }

    /// Records a strike that a fault makes at a time of its own.
    pub(crate) fn note_scheduled(&mut self, fault: usize, scheduled: &Scheduled) {
        let since = |at: Timestamp| Length(at.since(START));
        let timed = Timed {
            fault: self.label(fault),
            at: since(scheduled.at),
            does: scheduled.injection,
            end: scheduled.end.map(|(at, does)| End { at: since(at), does }),
        };
        self.add(Strike::Timed(timed));
    }

    /// Notes that the run has reached a point.
    pub(crate) fn come_to(&mut self, point: Place, now: Timestamp) {
        let nth = self.seen.entry(point.clone()).or_default();
        *nth += 1;
        let nth = *nth;
        if let Some(points) = &mut self.points {
            points.push(VisitNote { at: now, point: point.clone(), nth });
        }
        self.visit = Some(Visit { point, nth, now, fault: 0, chances: 0, open: None, struck: None });
    }

    /// Notes that this fault decides next at the current point.
    pub(crate) const fn turn_of(&mut self, fault: usize) {
        if let Some(visit) = &mut self.visit {
            visit.fault = fault;
            visit.chances = 0;
            visit.open = None;
        }
    }

    /// Whether the current fault strikes: as drawn, or as the plan dictates.
    pub(crate) fn hits(&mut self, drew: bool) -> bool {
        let Some(visit) = &mut self.visit else { return drew };
        let chance = visit.chances;
        visit.chances += 1;
        visit.open = None;
        let label = self.faults.get(visit.fault).cloned().unwrap_or_default();
        if let Some(due) = &self.due {
            let Some(&index) = due.get(&(label, visit.point.clone(), visit.nth, chance)) else {
                return false;
            };
            self.came[index] = true;
            visit.open = Some(index);
            visit.struck = Some(index);
            return true;
        }
        if drew {
            visit.open = Some(self.strikes.len());
            visit.struck = Some(self.strikes.len());
            self.came.push(true);
            self.strikes.push(Strike::Met(Met {
                fault: label,
                point: visit.point.clone(),
                nth: visit.nth,
                chance,
                at: Length(visit.now.since(START)),
                drawn: BTreeMap::new(),
            }));
        }
        drew
    }

    /// A number that the fault draws for its strike.
    pub(crate) fn number(&mut self, what: &str, drew: u64) -> u64 {
        match self.drawn(what, Drawn::Number(drew)) {
            Drawn::Number(number) => number,
            Drawn::Length(_) => drew,
        }
    }

    /// A length of time that the fault draws for its strike.
    pub(crate) fn length(&mut self, what: &str, drew: Duration) -> Duration {
        match self.drawn(what, Drawn::Length(Length(drew))) {
            Drawn::Length(length) => length.0,
            Drawn::Number(_) => drew,
        }
    }

    fn drawn(&mut self, what: &str, drew: Drawn) -> Drawn {
        let open = self.visit.as_ref().and_then(|visit| visit.open);
        let Some(Strike::Met(met)) = open.and_then(|index| self.strikes.get_mut(index)) else { return drew };
        *met.drawn.entry(what.to_owned()).or_insert(drew)
    }

    fn label(&self, fault: usize) -> String {
        self.faults.get(fault).cloned().unwrap_or_default()
    }
}
