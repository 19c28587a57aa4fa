//! Where the world says what happens. Each call costs one comparison when nothing is recorded.

use std::collections::BTreeMap;

use seaworthy_kernel::Timestamp;
use seaworthy_model::host::Drift;
use seaworthy_model::node::Health;

use super::faults::Faults;
use super::operator::Operator;
use super::{Act, Component, End, Event, History, Millis, Pause, Process, Version, Violation, What};
use crate::faults::Fault;
use crate::oracle;
use crate::scenario::Moment;
use crate::vocabulary::{Fleet, Injection, Place, START};
use crate::world::Catalogue;
use crate::world::host::{Change, ComponentNumber, Ended, Host, Work};

/// Records what happens, if it was asked to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder(Option<Box<Recording>>);

/// What was recorded so far, and what is needed to see differences.
#[derive(Clone, Debug, Default)]
pub(super) struct Recording {
    pub(super) history: History,
    pub(super) operator: Operator,
    faults: Faults,
    installed: BTreeMap<(u32, ComponentNumber), Version>,
    /// Which run of a host was noted as resumed.
    resumed: BTreeMap<u32, u32>,
}

/// Since the start.
pub(super) fn millis(at: Timestamp) -> Millis {
    Millis::try_from(at.since(START).as_millis()).unwrap_or(Millis::MAX)
}

fn small(number: u32) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX - 1)
}

impl Recorder {
    /// One that records.
    pub(crate) fn on() -> Self {
        Self(Some(Box::default()))
    }

    /// Whether it records.
    pub(crate) const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn recording(&mut self) -> Option<&mut Recording> {
        self.0.as_deref_mut()
    }

    fn event(&mut self, now: Timestamp, host: u32, what: What) {
        if let Some(recording) = &mut self.0 {
            recording.history.events.push(Event { at: millis(now), host, what });
        }
    }

    /// A host gets or loses its power.
    pub(crate) fn power(&mut self, now: Timestamp, host: u32, is_on: bool) {
        self.event(now, host, What::Power(is_on));
    }

    /// A host is connected or cut off.
    pub(crate) fn network(&mut self, now: Timestamp, host: u32, is_connected: bool) {
        self.event(now, host, What::Network(is_connected));
    }

    /// The Node of a host says something else.
    pub(crate) fn node(&mut self, now: Timestamp, host: u32, health: Health) {
        self.event(now, host, What::Node(health));
    }

    /// Something on a host was changed by hand.
    pub(crate) fn spoiled(&mut self, now: Timestamp, host: u32, drift: Drift) {
        self.event(now, host, What::Spoiled(drift));
    }

    /// An operation begins.
    pub(crate) fn began(&mut self, now: Timestamp, host: u32, work: &Work) {
        let version = match work.change {
            Change::Install(install) => Version(small(install.version.0)),
            Change::Remove => Version::NONE,
        };
        self.event(now, host, What::Began(Component(small(work.component.0)), version));
    }

    /// The operation on a host goes on to its next step.
    pub(crate) fn step(&mut self, now: Timestamp, number: u32, host: &Host) {
        let (Some(recording), Some(running)) = (&mut self.0, host.running()) else { return };
        let at = millis(now);
        if running.resumed && recording.resumed.insert(number, running.run) != Some(running.run) {
            recording.history.events.push(Event { at, host: number, what: What::Resumed });
        }
        recording.compare(at, number, host, running.work.component);
        recording.history.events.push(Event { at, host: number, what: What::Step(running.step) });
    }

    /// The operation on a host has ended.
    pub(crate) fn ended(&mut self, now: Timestamp, number: u32, host: &Host, (work, ended): (&Work, Ended)) {
        let Some(recording) = &mut self.0 else { return };
        recording.compare(millis(now), number, host, work.component);
        self.event(now, number, What::Ended(ended));
    }

    /// An operator process starts.
    pub(crate) fn process_started(&mut self, now: Timestamp, seat: u32) {
        let Some(recording) = &mut self.0 else { return };
        let process = Process { seat, from: millis(now), led: None, ended: None };
        recording.history.processes.push(process);
    }

    /// An operator process ends.
    pub(crate) fn process_ended(&mut self, now: Timestamp, number: u32, end: End) {
        let Some(recording) = &mut self.0 else { return };
        if let Some(process) = recording.history.processes.get_mut(number as usize) {
            process.ended = Some((millis(now), end));
        }
    }

    /// An operator process stands still until then.
    pub(crate) fn paused(&mut self, now: Timestamp, until: Timestamp, process: u32) {
        let Some(recording) = &mut self.0 else { return };
        recording.history.pauses.push(Pause { process, from: millis(now), until: millis(until) });
    }

    /// A fault does something to the world.
    pub(crate) fn injected(&mut self, now: Timestamp, injection: Injection) {
        if let Some(recording) = &mut self.0 {
            recording.faults.injected(millis(now), injection);
        }
    }

    /// A fault strikes at a point to which the world comes.
    pub(crate) fn met(&mut self, now: Timestamp, fault: &Fault, place: &Place) {
        if let Some(recording) = &mut self.0 {
            recording.faults.met(millis(now), fault, place);
        }
    }

    /// People do the next thing on their list.
    pub(crate) fn acted(&mut self, now: Timestamp, moment: &Moment) {
        let Some(recording) = &mut self.0 else { return };
        recording.history.acts.push(Act { at: millis(now), what: describe(moment) });
    }

    /// The run is over: what was recorded.
    pub(crate) fn finish(
        self,
        now: Timestamp,
        (fleet, catalogue): (&Fleet, &Catalogue),
        violations: &[oracle::Violation],
    ) -> History {
        let Some(recording) = self.0 else { return History::default() };
        let mut history = recording.history;
        history.end = millis(now);
        history.bands = recording.faults.bands(fleet, history.end);
        history.components = catalogue.component_names().to_vec();
        history.versions = catalogue.version_names().to_vec();
        history.violations = violations
            .iter()
            .map(|oracle::Violation { invariant, at, detail }| Violation {
                at: millis(*at),
                invariant,
                detail: detail.clone(),
            })
            .collect();
        history
    }
}

impl Recording {
    /// Notes what is installed of a component, if that is not what was there before.
    fn compare(&mut self, at: Millis, number: u32, host: &Host, component: ComponentNumber) {
        let installed = host.installed_of(component);
        let version = installed.map_or(Version::NONE, |installed| Version(small(installed.version.0)));
        let before = self.installed.insert((number, component), version).unwrap_or(Version::NONE);
        if before != version {
            let what = What::Installed(Component(small(component.0)), version);
            self.history.events.push(Event { at, host: number, what });
        }
    }
}

/// What people do at one time, in one line.
fn describe(moment: &Moment) -> String {
    let mut parts = Vec::new();
    for object in moment.apply.iter().filter_map(|manifest| manifest.object()) {
        parts.push(format!("apply {} {}", object.kind().name(), object.metadata().name));
    }
    for edit in &moment.edit {
        let machines = match edit.machines.as_slice() {
            [one] => format!("Machine {}", crate::vocabulary::machine_name(*one)),
            several => format!("{} Machines", several.len()),
        };
        let mut fields = Vec::new();
        fields.extend(edit.components.is_some().then_some("components"));
        fields.extend(edit.paused.map(|paused| if paused { "paused: true" } else { "paused: false" }));
        fields.extend(edit.retry.is_some().then_some("retry"));
        parts.push(format!("edit {machines} ({})", fields.join(", ")));
    }
    for reference in &moment.delete {
        parts.push(format!("delete {} {}", reference.kind.kind().name(), reference.name));
    }
    parts.extend(moment.adopt.then(|| "allow hosts to be taken over".to_owned()));
    let upgrade = moment.upgrade_api_servers.map(|upgrade| upgrade.to.0);
    parts.extend(upgrade.map(|to| format!("begin to upgrade the API servers to {to}")));
    let upgrade = moment.upgrade_operators.map(|upgrade| upgrade.to);
    parts.extend(upgrade.map(|to| format!("begin to replace the operators by the {to:?} build")));
    parts.extend(moment.start_operator.map(|seat| format!("start an operator in seat {seat}")));
    if parts.is_empty() {
        parts.push("look whether all is as expected".to_owned());
    }
    parts.join("; ")
}
