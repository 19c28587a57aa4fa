//! Fault points: the world reaches a point, every fault may strike, and strikes are recorded or dictated.

use std::cell::{Cell, RefCell};

use crate::faults::{Chance, Ledger, Model};
use crate::vocabulary::{KindName, Occasion, Place, START};
use crate::world::World;
use crate::world::api_server::{Change as Committed, KINDS};
use crate::world::happening::Happening;
use crate::world::host::{Change, Work};
use crate::world::mail::Sender;
use crate::world::process::Process;

/// What would be struck, and its occurrence: the key of the draws.
#[derive(Clone, Copy, Debug)]
pub(in crate::world) struct Encounter {
    /// What.
    pub(in crate::world) owner: u64,
    /// Which time.
    pub(in crate::world) occurrence: u64,
    /// Whether it is a renewal of the Lease.
    pub(in crate::world) is_renewal: bool,
}

impl Encounter {
    /// A message of an operator.
    pub(in crate::world) fn message(sender: Sender, is_renewal: bool) -> Self {
        Self { owner: u64::from(sender.process), occurrence: sender.action.0, is_renewal }
    }
}

impl World {
    /// The world reaches a point, and every fault may strike.
    pub(in crate::world) fn meet(
        &mut self,
        Encounter { owner, occurrence, is_renewal }: Encounter,
        place: impl Fn(&Self) -> Place,
        strike: impl FnMut(&dyn Model, &Chance<'_>),
    ) {
        let now = self.queue.now();
        let mut ledger = self.ledger.take();
        if let Some(ledger) = &mut ledger {
            ledger.come_to(place(self), now);
        }
        let ledger = ledger.map(RefCell::new);
        let chance = Chance {
            draws: &self.draws,
            key: 0,
            owner,
            occurrence,
            now,
            origin: START,
            quiet: self.quiet,
            is_renewal,
            struck: &Cell::new(0),
            ledger: ledger.as_ref(),
        };
        let struck = self.rules.strike(&chance, strike);
        self.ledger = ledger.map(RefCell::into_inner);
        if !struck.is_empty() {
            let place = place(self);
            for fault in struck {
                self.happened(&Happening::Struck(fault, &place));
            }
        }
    }

    pub(in crate::world) fn place_of_operation(&self, host: u32, work: &Work) -> Place {
        let component = self.catalogue.component_name(work.component).to_owned();
        let version = match work.change {
            Change::Install(install) => Some(self.catalogue.version_name(install.version).to_owned()),
            Change::Remove => None,
        };
        Place::Operation { host, component, version }
    }

    /// Whether a watch of `process` omits a change.
    pub(in crate::world) fn is_event_lost(&mut self, process: &Process, change: &Committed) -> bool {
        let (kind, object) = (change.object.kind(), change.object.name());
        let Some(name) = KindName::of(kind) else { return false };
        let table = KINDS.iter().position(|of| *of == kind).unwrap_or_default() as u64;
        let place = |_: &Self| Place::Event { seat: process.seat, kind, object: object.to_string() };
        let mut lost = false;
        let owner = u64::from(process.number) << 8 | table;
        let encounter = Encounter { owner, occurrence: change.revision, is_renewal: false };
        self.meet(encounter, place, |model, chance| model.on_event(chance, name, &mut lost));
        if lost {
            self.note_occasion(Occasion::EventLost);
        }
        lost
    }

    /// The strikes of faults so far, if they are recorded or dictated.
    #[must_use]
    pub fn ledger(&self) -> Option<&Ledger> {
        self.ledger.as_deref()
    }
}
