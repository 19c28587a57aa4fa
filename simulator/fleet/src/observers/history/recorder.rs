//! Receives what happens in the world. Each call costs one comparison when nothing is recorded.

use seaworthy_kernel::Timestamp;
use seaworthy_model::host::Drift;
use seaworthy_model::node::Health;

use super::operator::Seen;
use super::recording::{Recording, small};
use super::{Act, Component, End, Event, History, Pause, Process, Version, Violation, What, millis};
use crate::faults::Fault;
use crate::observers::oracle;
use crate::observers::tally::Tally;
use crate::scenario::Moment;
use crate::vocabulary::{Fleet, Injection, Place};
use crate::world::host::{Change, Ended, Host, Work};
use crate::world::{Catalogue, Happening, World};

/// Records what happens, if requested.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder(Option<Box<Recording>>);

impl Recorder {
    /// A recorder that is switched on.
    pub(crate) fn on() -> Self {
        Self(Some(Box::default()))
    }

    /// Whether the recorder is switched on.
    pub(crate) const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Records what happens.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most of what happens does not concern it")]
    pub(crate) fn observe(&mut self, world: &World, happening: &Happening<'_>) {
        let now = world.now();
        let host = |number: u32| &world.hosts[number as usize];
        match happening {
            Happening::ProcessStarted(seat) => self.process_started(now, *seat),
            Happening::ProcessEnded(process, end) => self.process_ended(now, *process, *end),
            Happening::ProcessPaused(process, until) => self.paused(now, *until, *process),
            Happening::Injected(injection) => self.injected(now, *injection),
            Happening::Struck(fault, place) => self.met(now, &world.scenario.faults[*fault].fault, place),
            Happening::PeopleAct(_, moment) => self.acted(now, moment),
            Happening::Began(began) => self.began(now, began.host, began.work),
            Happening::StepBegan(number) => self.step(now, *number, host(*number)),
            Happening::Ended(number, work, ended) => {
                self.ended(now, *number, host(*number), (work, *ended));
            }
            Happening::PowerLost(number) | Happening::ShutDown(number) => self.power(now, *number, false),
            Happening::Started(number) => self.power(now, *number, true),
            Happening::Network(number, is_connected) => self.network(now, *number, *is_connected),
            Happening::NodeSays(number, health) => self.node(now, *number, *health),
            Happening::Spoiled(number, drift) => self.spoiled(now, *number, *drift),
            _ => {}
        }
    }

    /// A process has decided.
    pub(crate) fn turn(&mut self, now: Timestamp, seen: &Seen<'_>, tally: &Tally) {
        if let Some(recording) = &mut self.0 {
            recording.turn(now, seen, tally);
        }
    }

    fn event(&mut self, now: Timestamp, host: u32, what: What) {
        if let Some(recording) = &mut self.0 {
            recording.history.events.push(Event { at: millis(now), host, what });
        }
    }

    /// A host gains or loses power.
    fn power(&mut self, now: Timestamp, host: u32, is_on: bool) {
        self.event(now, host, What::Power(is_on));
    }

    /// A host is connected or cut off.
    fn network(&mut self, now: Timestamp, host: u32, is_connected: bool) {
        self.event(now, host, What::Network(is_connected));
    }

    /// The Node of a host reports another condition.
    fn node(&mut self, now: Timestamp, host: u32, health: Health) {
        self.event(now, host, What::Node(health));
    }

    /// Something on a host was changed by hand.
    fn spoiled(&mut self, now: Timestamp, host: u32, drift: Drift) {
        self.event(now, host, What::Spoiled(drift));
    }

    /// An operation begins.
    fn began(&mut self, now: Timestamp, host: u32, work: &Work) {
        let version = match work.change {
            Change::Install(install) => Version(small(install.version.0)),
            Change::Remove => Version::NONE,
        };
        self.event(now, host, What::Began(Component(small(work.component.0)), version));
    }

    /// The operation on a host goes on to its next step.
    fn step(&mut self, now: Timestamp, number: u32, host: &Host) {
        let (Some(recording), Some(running)) = (&mut self.0, host.running()) else { return };
        let at = millis(now);
        if running.resumed && recording.resumed.insert(number, running.run) != Some(running.run) {
            recording.history.events.push(Event { at, host: number, what: What::Resumed });
        }
        recording.compare(at, number, host, running.work.component);
        recording.history.events.push(Event { at, host: number, what: What::Step(running.step) });
    }

    /// The operation on a host has ended.
    fn ended(&mut self, now: Timestamp, number: u32, host: &Host, (work, ended): (&Work, Ended)) {
        let Some(recording) = &mut self.0 else { return };
        recording.compare(millis(now), number, host, work.component);
        self.event(now, number, What::Ended(ended));
    }

    /// An operator process starts.
    fn process_started(&mut self, now: Timestamp, seat: u32) {
        let Some(recording) = &mut self.0 else { return };
        let process = Process { seat, from: millis(now), led: None, ended: None };
        recording.history.processes.push(process);
    }

    /// An operator process ends.
    fn process_ended(&mut self, now: Timestamp, number: u32, end: End) {
        let Some(recording) = &mut self.0 else { return };
        if let Some(process) = recording.history.processes.get_mut(number as usize) {
            process.ended = Some((millis(now), end));
        }
    }

    /// An operator process is suspended until then.
    fn paused(&mut self, now: Timestamp, until: Timestamp, process: u32) {
        let Some(recording) = &mut self.0 else { return };
        recording.history.pauses.push(Pause { process, from: millis(now), until: millis(until) });
    }

    /// A fault does something to the world.
    fn injected(&mut self, now: Timestamp, injection: Injection) {
        if let Some(recording) = &mut self.0 {
            recording.faults.injected(millis(now), injection);
        }
    }

    /// A fault strikes at a point that the world reaches.
    fn met(&mut self, now: Timestamp, fault: &Fault, place: &Place) {
        if let Some(recording) = &mut self.0 {
            recording.faults.met(millis(now), fault, place);
        }
    }

    /// Users act on the next moment of the timeline.
    fn acted(&mut self, now: Timestamp, moment: &Moment) {
        let Some(recording) = &mut self.0 else { return };
        recording.history.acts.push(Act { at: millis(now), what: describe(moment) });
    }

    /// Ends the recording and returns it.
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

/// What users do at one time, in one line.
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
