//! Judges `maxUnavailable` on the true state: whenever an operation of the operator starts, the hosts at work and the
//! hosts that became unavailable because of a rollout must not exceed the limit together.
//!
//! Work on a machine whose Node had not been ready for long, or that was to become a Node, takes no part of the limit; as
//! much of it as the limit may be under way besides. Nor does work on a host that lies: it may say that it has ended. A
//! host that was lost in the middle of an operation does not count any more once it cannot be at work.
//!
//! A machine counts as unavailable if it is not being deleted, if a rollout under way had changed it, and if its host was
//! lost after the operator could know of that change and after the start of the latest active rollout, and so long ago that
//! the operator could know of the loss when it gave the order: the grace of the Node's lease, the lag of watches, and the way
//! of the order. No operator knows of a change that its predecessor had not recorded when it ended, before it has reached the
//! host. As many of them are excused as the share of the other machines that are lost. Without a rollout only hosts
//! at work count. When users lower the limit, the lower limit applies after the same time. A rollout that is being reverted
//! has changed none in this sense: its rollback is the remedy. A host that resumes an operation by itself after a loss of
//! power counts as unavailable until its kubelet is ready, and not as at work: no order started that operation.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use seaworthy_api::v1alpha1::{ClusterPackageVersionSpec, IntOrString};
use seaworthy_kernel::Timestamp;
use seaworthy_model::quantity::CountOrPercent;

use super::recount::{Miscounts, Truth};
use super::touched::Touched;
use crate::vocabulary::host_of_address;
use crate::world::GRACE;
use crate::world::api_server::{Stored, Written};

/// The time from a change to the arrival of an order based on it, without faults: watch, decision, connection and
/// login.
const WAY: Duration = Duration::from_secs(10);
/// A lost host is not at work any more this long after its operation began: the operator's deadline of an operation, twice.
const ADRIFT: Duration = Duration::from_secs(1200);
/// An order that took longer than this arrives in a situation that the operator could not foresee.
const ARRIVES_WITHIN: Duration = Duration::from_secs(2);

/// The most of the budget that was ever used when one of our operations started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// The number of machines at work or unavailable.
    pub used: u32,
    /// The limit at that moment.
    pub limit: u32,
    /// The largest number of hosts at work at once.
    pub at_work: u32,
}

/// The judgement of the start of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Judged {
    /// What is wrong, if the budget was overdrawn.
    pub overdrawn: Option<String>,
    /// Whether the operation took the last of the limit.
    pub exhausted: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// The number of Machines for this host that are not being deleted. More than one is a mistake of users.
    machines: u16,
    at_work: bool,
    /// The host was lost, and long enough ago to count.
    counted: bool,
    lost: Option<Timestamp>,
    /// The host has no Node, so the operator cannot see that it is lost.
    nodeless: bool,
    /// Nothing could be disrupted there when the operation began.
    is_spared: bool,
    /// When the operation began.
    began: Timestamp,
    /// The host cannot be reached.
    is_gone: bool,
    /// The host was lost in the middle of its operation, or the operator ended before it had recorded what that has
    /// changed. What became of it was out of the operator's sight until then.
    out_of_sight: Option<Timestamp>,
    /// When a rollout under way last changed it, if what one of them brought is still there.
    changed: Option<Timestamp>,
    /// It has reported what was not true: the operator may take its operation for one that has ended.
    lies: bool,
}

impl Place {
    /// Whether the host takes a part of the limit.
    const fn is_used(self) -> bool {
        (self.at_work && !self.is_spared && !self.lies) || self.has_fallen()
    }

    /// Whether it is at work, and takes no part of the limit.
    const fn works_for_nothing(self) -> bool {
        self.at_work && (self.is_spared || self.lies)
    }

    /// Whether the host became unavailable after a rollout had changed it.
    const fn has_fallen(self) -> bool {
        self.counted && self.machines > 0 && !self.nodeless && !self.at_work
    }
}

#[derive(Clone, Debug)]
pub(super) struct Budget {
    places: Vec<Place>,
    nodes: bool,
    detection: Duration,
    at_work: u32,
    /// Hosts that are at work, or counted as unavailable, or both.
    used: u32,
    /// Lost hosts that do not count yet, in the order of their loss.
    lost: VecDeque<(Timestamp, u32)>,
    counted: BTreeSet<u32>,
    /// Hosts that are at work, and were lost in the middle of it.
    adrift: BTreeSet<u32>,
    /// Hosts at work on which nothing could be disrupted at the beginning, or that lie.
    spared: u32,
    /// Hosts at work that lie.
    lying: u32,
    /// Hosts that cannot be reached, and that no rollout under way has changed.
    lost_unchanged: u32,
    /// Hosts that a rollout under way has changed.
    changed: u32,
    touched: Touched,
    /// The start of the latest active rollout: as its record has it, and in truth. They differ when the operator's
    /// clock is behind: then the record is older than the write, and the operator does not know the record before it
    /// has seen its own write.
    rollout_started: Option<(Timestamp, Timestamp)>,
    max_unavailable: Recent<CountOrPercent>,
    machines: Recent<u32>,
    peak: Peak,
}

impl Budget {
    pub(super) fn new(hosts: u32, nodes: bool) -> Self {
        Self {
            places: vec![Place::default(); hosts as usize],
            nodes,
            detection: GRACE + WAY,
            at_work: 0,
            used: 0,
            lost: VecDeque::new(),
            counted: BTreeSet::new(),
            adrift: BTreeSet::new(),
            spared: 0,
            lying: 0,
            lost_unchanged: 0,
            changed: 0,
            touched: Touched::new(hosts),
            rollout_started: None,
            max_unavailable: Recent::default(),
            machines: Recent::default(),
            peak: Peak::default(),
        }
    }

    pub(super) fn watches_lag(&mut self, lag: Duration) {
        self.detection = self.detection.max(GRACE + WAY + lag);
    }

    pub(super) const fn detection(&self) -> Duration {
        self.detection
    }

    /// The time after a write at which the operator knows of it.
    pub(super) fn knowledge(&self) -> Duration {
        self.detection - GRACE
    }

    pub(super) const fn peak(&self) -> Peak {
        self.peak
    }

    pub(super) const fn in_use(&self) -> (u32, u32) {
        (self.at_work, self.used)
    }

    pub(super) fn is_at_work(&self, host: u32) -> bool {
        self.places[host as usize].at_work
    }

    /// Whether a host is at work that could disrupt something when it began.
    pub(super) fn may_disrupt(&self, host: u32) -> bool {
        let place = self.places[host as usize];
        place.at_work && !place.works_for_nothing()
    }

    fn change(&mut self, host: u32, change: impl FnOnce(&mut Place)) {
        let place = &mut self.places[host as usize];
        let before = *place;
        change(place);
        let after = *place;
        self.used = self.used + u32::from(after.is_used()) - u32::from(before.is_used());
        self.at_work = self.at_work + u32::from(after.at_work) - u32::from(before.at_work);
        let is_spared = |place: Place| u32::from(place.works_for_nothing());
        self.spared = self.spared + is_spared(after) - is_spared(before);
        let is_lying = |place: Place| u32::from(place.at_work && place.lies);
        self.lying = self.lying + is_lying(after) - is_lying(before);
        let lost_unchanged = |place: Place| u32::from(place.is_gone && place.changed.is_none());
        self.lost_unchanged = self.lost_unchanged + lost_unchanged(after) - lost_unchanged(before);
        let changed = |place: Place| u32::from(place.changed.is_some());
        self.changed = self.changed + changed(after) - changed(before);
        if after.at_work && after.out_of_sight.is_some() {
            self.adrift.insert(host);
        } else {
            self.adrift.remove(&host);
        }
        match (before.counted, after.counted) {
            (false, true) => {
                self.counted.insert(host);
            }
            (true, false) => {
                self.counted.remove(&host);
            }
            _ => {}
        }
    }

    /// Judges a start. `cordoned` are the other hosts whose Nodes the operator has cordoned, as far as it could know:
    /// each that is not at work takes a part of the limit. `is_spared` if nothing could be disrupted there, as far as the
    /// operator could know.
    pub(super) fn began(
        &mut self,
        (host, is_spared): (u32, bool),
        (sent, cordoned): (Timestamp, impl Iterator<Item = u32>),
        now: Timestamp,
    ) -> Judged {
        self.mature(now);
        self.change(host, |place| {
            (place.at_work, place.is_spared, place.began) = (true, is_spared, now);
            place.out_of_sight = None;
        });
        let limit = self.limit_since(sent - self.detection);
        // A host at work is counted by its work, also if that takes no part of the limit: the cordon is there for it.
        let is_idle = |place: &Place| !place.at_work && !place.is_used();
        let idle = cordoned.filter(|host| self.places.get(*host as usize).is_some_and(is_idle));
        let mut used = self.used + u32::try_from(idle.count()).unwrap_or(u32::MAX);
        let (adrift, adrift_units) = self.long_adrift(sent, now);
        used = used.saturating_sub(self.excused() + adrift_units);
        if now.since(sent) > ARRIVES_WITHIN {
            // Some of them may be excused already.
            used = used.saturating_sub(self.counted_after(sent));
        }
        self.peak.at_work = self.peak.at_work.max(self.at_work);
        if u64::from(used) * u64::from(self.peak.limit.max(1)) >= u64::from(self.peak.used) * u64::from(limit)
        {
            self.peak = Peak { used, limit, at_work: self.peak.at_work };
        }
        let at_work = self.at_work - self.spared;
        let overdrawn = if is_spared {
            // The operator may not have known that some of them were not ready: those take a part of the limit. More
            // than the limit of the others are at work only if a higher limit admitted them.
            let spared = self.spared.saturating_sub(adrift - adrift_units + self.lying);
            let at_work = spared + at_work.saturating_sub(adrift_units).min(limit);
            (at_work > limit.saturating_mul(2))
                .then(|| format!("{at_work} hosts at work exceed maxUnavailable {limit} twice over"))
        } else {
            (used > limit).then(|| {
                let unavailable = used.saturating_sub(at_work);
                format!("{at_work} hosts at work and {unavailable} unavailable exceed maxUnavailable {limit}")
            })
        };
        Judged { overdrawn, exhausted: used == limit }
    }

    /// A host reports what is not true.
    pub(super) fn lies(&mut self, host: u32) {
        self.change(host, |place| place.lies = true);
    }

    pub(super) fn node_there(&mut self, host: u32, is: bool) {
        self.change(host, |place| place.nodeless = !is);
    }

    pub(super) fn ended(&mut self, host: u32) {
        self.change(host, |place| place.at_work = false);
    }

    /// A host has lost power, which ends the operation in flight. It may go on by itself when the power is back.
    pub(super) fn powered_off(&mut self, host: u32) {
        self.change(host, |place| {
            if std::mem::take(&mut place.at_work) {
                place.out_of_sight = Some(Timestamp::MAX);
            }
        });
    }

    /// How many of the machines that became unavailable after a rollout had changed them are put down to what befalls the
    /// others as well.
    fn excused(&self) -> u32 {
        let fallen = self.counted.iter().filter(|host| self.places[**host as usize].has_fallen()).count();
        let fallen = u32::try_from(fallen).unwrap_or(u32::MAX);
        let unchanged = self.machines.value.saturating_sub(self.changed);
        if unchanged == 0 {
            return 0;
        }
        let expected = u64::from(self.changed) * u64::from(self.lost_unchanged) / u64::from(unchanged);
        u32::try_from(expected).unwrap_or(u32::MAX).min(fallen)
    }

    /// Hosts that were lost in the middle of an operation so long ago that they do not count any more, until the operator
    /// has reached them again: all of them, and those that took a part of the limit.
    fn long_adrift(&self, sent: Timestamp, now: Timestamp) -> (u32, u32) {
        let places = self.adrift.iter().map(|host| self.places[*host as usize]);
        let places =
            places.filter(|place| place.is_gone || place.out_of_sight.is_some_and(|until| until > sent));
        let long = places.filter(|place| place.began + ADRIFT <= now);
        long.fold((0, 0), |(all, units), place| (all + 1, units + u32::from(!place.works_for_nothing())))
    }

    /// An operation has brought a version of a component to a host, or has removed the component. What a rollout brought
    /// and what was removed or replaced since is no change of that rollout any more.
    pub(super) fn brought(&mut self, host: u32, what: (&str, Option<&str>), now: Timestamp) {
        self.touched.brought(host, what, now);
        self.compare(host);
    }

    /// Finds whether the rollouts under way have changed a host.
    fn compare(&mut self, host: u32) {
        let changed = self.touched.changed(host);
        self.change(host, |place| place.changed = changed);
    }

    /// A host cannot be reached, for which no rollout is to blame.
    pub(super) fn gone(&mut self, host: u32) {
        self.change(host, |place| {
            place.is_gone = true;
            if place.at_work {
                place.out_of_sight = Some(Timestamp::MAX);
            }
        });
    }

    /// An operator ends. What it has changed and not recorded is known to nobody else before the host is reached again.
    pub(super) fn process_ended(&mut self) {
        for host in 0..self.places.len() as u32 {
            let place = self.places[host as usize];
            if place.changed.is_some() && !place.at_work && !self.touched.is_recorded(host) {
                self.change(host, |place| place.out_of_sight = Some(Timestamp::MAX));
            }
        }
    }

    /// An order of the operator arrives at a host, and the operator waits for the answer: soon it knows what is at work there.
    pub(super) fn reached(&mut self, host: u32, now: Timestamp) {
        if self.places[host as usize].out_of_sight.is_none() {
            return;
        }
        let seen = now + self.detection;
        self.change(host, |place| place.out_of_sight = place.out_of_sight.map(|until| until.min(seen)));
    }

    pub(super) fn lost(&mut self, host: u32, now: Timestamp) {
        self.gone(host);
        if !self.nodes || self.places[host as usize].lost.is_some() {
            return;
        }
        self.change(host, |place| place.lost = Some(now));
        self.lost.push_back((now, host));
    }

    pub(super) fn back(&mut self, host: u32) {
        self.change(host, |place| {
            place.is_gone = false;
            place.lost = None;
            place.counted = false;
        });
    }

    /// Counts the hosts that were lost long enough ago, unless they were lost before the rollout.
    fn mature(&mut self, now: Timestamp) {
        while let Some(&(lost, host)) = self.lost.front() {
            if lost + self.detection > now {
                break;
            }
            self.lost.pop_front();
            if self.places[host as usize].lost == Some(lost) && self.counts(self.places[host as usize]) {
                self.change(host, |place| place.counted = true);
            }
        }
    }

    /// The number of counted hosts that the operator could not know to be lost when it sent an order.
    fn counted_after(&self, sent: Timestamp) -> u32 {
        let unknown = |host: &&u32| {
            let place = self.places[**host as usize];
            !place.at_work
                && place.machines > 0
                && place.lost.is_some_and(|lost| lost + self.detection > sent)
        };
        u32::try_from(self.counted.iter().filter(unknown).count()).unwrap_or(u32::MAX)
    }

    pub(super) fn machine_written(&mut self, written: &Written, now: Timestamp) {
        let before = written.before.as_ref().filter(|object| !object.is_terminating());
        let after = Some(&written.object).filter(|object| !written.removed && !object.is_terminating());
        let [left, entered] = [before, after].map(|object| object.and_then(|object| self.host_of(object)));
        if left != entered {
            if let Some(host) = left {
                self.change(host, |place| place.machines = place.machines.saturating_sub(1));
            }
            if let Some(host) = entered {
                self.change(host, |place| place.machines = place.machines.saturating_add(1));
            }
        }
        if let Some(host) = entered {
            self.touched.machine_written(host, &written.object);
            if written.before.as_ref().is_some_and(|before| before.labels() != written.object.labels()) {
                self.compare(host);
            }
        }
        let machines = self.machines.value + u32::from(after.is_some()) - u32::from(before.is_some());
        self.machines.set(machines, now, self.horizon(now));
    }

    fn host_of(&self, object: &Stored) -> Option<u32> {
        host_of_address(object.address()?).filter(|host| (*host as usize) < self.places.len())
    }

    pub(super) fn package_version_written(&mut self, written: &Written, now: Timestamp) {
        let Some(object) = written.object.package_version() else { return };
        let wanted = if written.removed { CountOrPercent::default() } else { max_unavailable(&object.spec) };
        self.max_unavailable.set(wanted, now, self.horizon(now));
    }

    /// The defaults or a set were written, with the record of their rollouts.
    pub(super) fn rollouts_written(&mut self, written: &Written, now: Timestamp) {
        if self.touched.owner_written(written) {
            for host in 0..self.places.len() as u32 {
                self.compare(host);
            }
        }
        let started = self.touched.started();
        if self.rollout_started.map(|(said, _)| said) != started {
            let is_behind = |said| said + self.detection < now;
            self.rollout_started = started.map(|said| (said, if is_behind(said) { now } else { said }));
        }
        for host in self.counted.clone() {
            if !self.counts(self.places[host as usize]) {
                self.change(host, |place| place.counted = false);
            }
        }
    }

    /// Recounts the counters from the true state.
    pub(super) fn recount(&self, truth: &Truth<'_>, found: &mut Miscounts) {
        let live = || truth.machines.iter().filter(|machine| !machine.is_terminating);
        found.compare("Machines that stay", self.machines.value as usize, live().count());
        let mut of_host = vec![0; self.places.len()];
        for host in live().filter_map(|machine| machine.host) {
            if let Some(machines) = of_host.get_mut(host as usize) {
                *machines += 1;
            }
        }
        for (number, (place, host)) in self.places.iter().zip(truth.hosts).enumerate() {
            // `is_at_work` excludes operations that a host resumes by itself: no order started them.
            let is_at_work = host.is_at_work();
            found.compare_at(number, "at work", place.at_work, is_at_work);
            found.compare_at(number, "Machines", place.machines, of_host[number]);
            found.compare_at(
                number,
                "known to be lost",
                self.counted.contains(&(number as u32)),
                place.counted,
            );
        }
        let count = |is: fn(&&Place) -> bool| self.places.iter().filter(is).count();
        found.compare("hosts at work", self.at_work as usize, count(|place| place.at_work));
        found.compare("slots in use", self.used as usize, count(|place| place.is_used()));
        let wanted = truth.fleet().map(|fleet| max_unavailable(&fleet.spec)).unwrap_or_default();
        found.compare("maxUnavailable", self.max_unavailable.value, wanted);
    }

    /// Whether a host that was lost at this time counts in the active rollout. The recorded start of the rollout is cut
    /// to whole seconds.
    fn counts(&self, place: Place) -> bool {
        let started = self.rollout_started.map(|(_, truly)| truly + Duration::from_secs(1));
        let changed = place.changed.zip(started).filter(|(changed, started)| changed > started);
        // A host that was lost before the operator could know the end of its operation was lost at work.
        let known = self.knowledge();
        let is_known =
            |changed, lost| lost > changed + known && place.out_of_sight.is_none_or(|until| until < lost);
        changed
            .zip(place.lost)
            .is_some_and(|((changed, started), lost)| lost > started && is_known(changed, lost))
    }

    /// Every operator knows all changes before this time.
    fn horizon(&self, now: Timestamp) -> Timestamp {
        now - self.detection * 4
    }

    /// The highest limit that an operator may assume if it knows everything until `since`: one object in its cache may
    /// be that old while another is new.
    fn limit_since(&self, since: Timestamp) -> u32 {
        let machines = self.machines.since(since).max().unwrap_or_default();
        self.max_unavailable.since(since).map(|wanted| wanted.of(machines)).max().unwrap_or_default()
    }
}

/// A value and its recent past values.
#[derive(Clone, Debug, Default)]
struct Recent<T> {
    value: T,
    /// Each past value with the time until which it held.
    past: VecDeque<(Timestamp, T)>,
}

impl<T: Copy + PartialEq> Recent<T> {
    fn set(&mut self, value: T, now: Timestamp, horizon: Timestamp) {
        if value == self.value {
            return;
        }
        // A value that was replaced at the same instant never held.
        if self.past.back().is_none_or(|(until, _)| *until < now) {
            self.past.push_back((now, self.value));
        }
        self.value = value;
        while self.past.front().is_some_and(|(until, _)| *until < horizon) {
            self.past.pop_front();
        }
    }

    /// All values since this time.
    fn since(&self, since: Timestamp) -> impl Iterator<Item = T> {
        let recent = self.past.iter().rev().take_while(move |(until, _)| *until >= since);
        recent.map(|(_, value)| *value).chain([self.value])
    }
}

/// The limit in the spec; the default if it is invalid.
fn max_unavailable(spec: &ClusterPackageVersionSpec) -> CountOrPercent {
    count_or_percent(&spec.max_unavailable)
}

/// The model's form of a quantity.
pub(crate) fn count_or_percent(value: &IntOrString) -> CountOrPercent {
    match value {
        IntOrString::Int(count) => {
            u32::try_from(*count).map_or(CountOrPercent::default(), CountOrPercent::Count)
        }
        IntOrString::String(text) => text
            .strip_suffix('%')
            .and_then(|number| number.parse().ok())
            .map_or(CountOrPercent::default(), CountOrPercent::Percent),
    }
}

#[cfg(test)]
mod tests;
