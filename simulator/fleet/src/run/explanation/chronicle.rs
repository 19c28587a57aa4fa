//! A chronicle: the events of a run in order, for display. It compares the world after every event, so the world need
//! not know about it.

use seaworthy_api::object::Resource;
use seaworthy_api::v1alpha1::{ADOPT_ANNOTATION, LEASE};
use seaworthy_kernel::Timestamp;
use seaworthy_model::host::Drift;
use seaworthy_model::id::Kind;

use crate::faults::Ledger;
use crate::observers::Observers;
use crate::scenario::Moment;
use crate::vocabulary::{Strike, drift_words, machine_name, since_start};
use crate::world::host::{Ended, Host, Operation};
use crate::world::{Catalogue, Event, World};

/// A record of what happened to some hosts and around them.
#[derive(Clone, Debug)]
pub struct Chronicle {
    hosts: Vec<(u32, Seen)>,
    operators: Vec<(u32, u32)>,
    lease: Option<LeaseSeen>,
    strikes: usize,
    /// The events, oldest first.
    pub lines: Vec<Line>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The time of the event.
    pub at: Timestamp,
    /// The host of the event, if it concerns one.
    pub host: Option<u32>,
    /// A description of the event.
    pub text: String,
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:>14}  {}", since_start(self.at), self.text)
    }
}

/// The last observed state of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    on: bool,
    reachable: bool,
    running: Option<u32>,
    drift: Drift,
}

impl Seen {
    fn of(host: &Host) -> Self {
        let drift = host.installed().iter().fold(Drift::NONE, |all, installed| all.with(installed.drift));
        let running = host.running().map(|running| running.run);
        Self { on: host.is_on(), reachable: host.is_reachable(), running, drift }
    }
}

/// The last observed state of the operators' Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LeaseSeen {
    holder: Option<String>,
    epoch: i64,
    adopted: Option<String>,
}

impl LeaseSeen {
    fn of(world: &World) -> Option<Self> {
        let stored = world.api_servers.home().get(Kind::Lease, LEASE)?;
        let Resource::Lease(lease) = &stored.resource() else { return None };
        Some(Self {
            holder: lease.spec.holder_identity.clone(),
            epoch: lease.spec.lease_transitions.unwrap_or_default(),
            adopted: lease.metadata.annotations.get(ADOPT_ANNOTATION).cloned(),
        })
    }

    fn words(&self) -> String {
        let adopted =
            self.adopted.as_ref().map(|epoch| format!("; hosts of epoch {epoch} may be taken over"));
        let adopted = adopted.unwrap_or_default();
        match &self.holder {
            Some(holder) => format!("the Lease names {holder}, epoch {}{adopted}", self.epoch),
            None => format!("the Lease names nobody{adopted}"),
        }
    }
}

impl Chronicle {
    /// A chronicle of these hosts that starts now.
    #[must_use]
    pub fn new(world: &World, hosts: impl IntoIterator<Item = u32>) -> Self {
        let seen = |number| Some((number, Seen::of(world.host(number)?)));
        Self {
            hosts: hosts.into_iter().filter_map(seen).collect(),
            operators: world.operators().collect(),
            lease: LeaseSeen::of(world),
            strikes: 0,
            lines: Vec::new(),
        }
    }

    /// Lets a world run until this time, or until an invariant is broken, and records what happens.
    pub fn follow(&mut self, world: &mut World, until: Timestamp) {
        Observers::change(world, |observers| {
            observers.record.get_or_insert_default();
        });
        while Observers::of(world).oracle.violations().is_empty() && world.step_until(until) {
            self.look(world);
        }
        if let Some(violation) = Observers::of(world).oracle.violations().first() {
            self.note(violation.at, None, format!("BROKEN {}: {}", violation.invariant, violation.detail));
        }
    }

    fn look(&mut self, world: &World) {
        let now = world.now();
        self.look_at_strikes(world.ledger(), now);
        match Observers::of(world).record.as_ref().and_then(|record| record.last()) {
            Some(Event::People(index)) => {
                let moment = world.scenario.timeline.get(*index as usize);
                self.lines.extend(moment.into_iter().flat_map(deeds).map(|text| Line {
                    at: now,
                    host: None,
                    text,
                }));
            }
            Some(Event::Fault(injection)) if injection.host().is_none() => {
                self.note(now, None, injection.words())
            }
            _ => {}
        }
        self.look_at_lease(world);
        let operators: Vec<(u32, u32)> = world.operators().collect();
        if operators != self.operators {
            let gone = self.operators.iter().filter(|operator| !operators.contains(operator));
            let ended = gone.map(|(number, _)| format!("operator process {number} ends"));
            let new = operators.iter().filter(|operator| !self.operators.contains(operator));
            let started =
                new.map(|(number, seat)| format!("operator process {number} starts in seat {seat}"));
            let lines: Vec<Line> =
                ended.chain(started).map(|text| Line { at: now, host: None, text }).collect();
            self.lines.extend(lines);
            self.operators = operators;
        }
        for index in 0..self.hosts.len() {
            let (number, before) = self.hosts[index];
            let Some(host) = world.host(number) else { continue };
            let after = Seen::of(host);
            if after != before {
                self.hosts[index].1 = after;
                self.tell_change(number, host, (before, after), world);
            }
        }
    }

    fn look_at_lease(&mut self, world: &World) {
        let lease = LeaseSeen::of(world);
        if lease != self.lease {
            let text = lease.as_ref().map_or_else(|| "the Lease is gone".into(), LeaseSeen::words);
            self.note(world.now(), None, text);
            self.lease = lease;
        }
    }

    fn look_at_strikes(&mut self, ledger: Option<&Ledger>, now: Timestamp) {
        let Some(ledger) = ledger else { return };
        let came = ledger.struck().count();
        if came > self.strikes {
            self.strikes = came;
            let last = ledger.last_struck().map(|met| Strike::Met(met.clone()).words());
            self.lines.extend(last.map(|text| Line { at: now, host: None, text }));
        }
    }

    fn tell_change(&mut self, number: u32, host: &Host, (before, after): (Seen, Seen), world: &World) {
        let (now, name) = (world.now(), machine_name(number));
        let mut note = |text: String| self.lines.push(Line { at: now, host: Some(number), text });
        if before.running.is_some()
            && before.running != after.running
            && let Some((operation, ended)) = host.journal().last()
        {
            note(format!("{name}: {} {}", words_of(operation, &world.catalogue), end_of(*ended)));
        }
        match (before.on, after.on) {
            (true, false) => note(format!("{name} loses its power")),
            (false, true) => note(format!("{name} gets its power back")),
            _ if before.reachable && !after.reachable => note(format!("{name} is cut off from the network")),
            _ if !before.reachable && after.reachable => note(format!("{name} is connected again")),
            _ => {}
        }
        if after.running != before.running
            && let Some(running) = host.running()
        {
            let work = words_of(&running.work.operation(), &world.catalogue);
            let word = if running.resumed { "goes on to" } else { "begins to" };
            note(format!("{name} {word} {work}"));
        }
        // During an operation, drift is expected.
        let works = before.running.is_some() || after.running.is_some();
        if !works && !before.drift.contains(after.drift) {
            note(format!("{name} is changed by hand: {}", drift_words(after.drift)));
        }
    }

    fn note(&mut self, at: Timestamp, host: Option<u32>, text: String) {
        self.lines.push(Line { at, host, text });
    }
}

fn words_of(operation: &Operation, catalogue: &Catalogue) -> String {
    let Operation { id, component, release, .. } = *operation;
    match release {
        Some((version, _)) => format!("install {} ({id})", catalogue.version_name(version)),
        None => format!("remove {} ({id})", catalogue.component_name(component)),
    }
}

fn end_of(ended: Ended) -> String {
    match ended {
        Ended::Succeeded => "succeeds".into(),
        Ended::Interrupted => "was interrupted and left nothing".into(),
        Ended::Failed(cause) => format!("fails: {cause:?}"),
    }
}

/// The actions of users at a moment, for display.
fn deeds(moment: &Moment) -> Vec<String> {
    let objects = moment.apply.iter().filter_map(|manifest| manifest.object());
    let mut deeds: Vec<String> = objects
        .map(|object| format!("people apply {} {}", object.kind().name(), object.metadata().name))
        .collect();
    deeds.extend(moment.edit.iter().map(|edit| {
        let names: Vec<String> = edit.machines.iter().map(|number| machine_name(*number)).collect();
        format!("people edit {}", names.join(", "))
    }));
    deeds.extend(
        moment
            .delete
            .iter()
            .map(|object| format!("people delete {} {}", object.kind.kind().name(), object.name)),
    );
    if moment.override_gates {
        deeds.push("people let rollouts go on whose gates have failed".into());
    }
    if moment.confirm_rollouts {
        deeds.push("people confirm the changes that wait for it".into());
    }
    if moment.adopt {
        deeds.push("people record on the Lease that hosts may be taken over".into());
    }
    deeds
}
