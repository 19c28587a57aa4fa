//! Finds needless work of an operator: repeated too often, or without effect. The state at the end of a run does not
//! show it.

use std::collections::{BTreeMap, VecDeque};

use seaworthy_kernel::Timestamp;
use seaworthy_model::effect::{Action, Effect, Target};
use seaworthy_model::id::MachineId;
use seaworthy_model::meta::FINALIZER;

use super::recount::{Miscounts, Truth};
use crate::world::PODS_MAX;
use crate::world::api_server::{Preconditions, Written};
use crate::world::host::ReleaseNumber;

/// The most orders of a process for one target within a minute. For the fleet's defaults, each finished operation
/// allows one more. The whole life of a machine takes a dozen orders, and failures are retried after seconds.
const ORDERS_MAX: u32 = 60;
const MINUTE_MILLISECONDS: u64 = 60_000;

fn minute_of(now: Timestamp) -> u32 {
    u32::try_from(now.millis() / MINUTE_MILLISECONDS).unwrap_or(u32::MAX)
}

/// The most repairs of a release on one host within an hour, while another program undoes them and users change
/// nothing: three at once, and then after 1, 2, 4, 8, 16 and 32 minutes.
const REPAIRS_MAX: u32 = 9;
const HOUR_MILLISECONDS: u64 = 60 * MINUTE_MILLISECONDS;

/// An attempt to install a release: the host, the release, and the time of the last change of the desired state.
type Try = (u32, ReleaseNumber, Timestamp);

/// Orders of one target within a minute.
#[derive(Clone, Copy, Debug, Default)]
struct Orders {
    minute: u32,
    count: u32,
}

/// The orders of one process, by target. Every order of a run passes here, so each id has a fixed place and no search
/// is needed.
#[derive(Clone, Debug, Default)]
struct Ordered {
    /// By [`Target::place`].
    targets: [Vec<Orders>; Target::TABLES],
    /// By machine: evictions from its Node.
    evictions: Vec<Orders>,
}

impl Ordered {
    fn of(&mut self, target: Target, is_eviction: bool) -> &mut Orders {
        if let (Target::Node(id), true) = (target, is_eviction) {
            return place(&mut self.evictions, id.index());
        }
        let (table, index) = target.place();
        place(&mut self.targets[table], index)
    }
}

fn place<T: Copy + Default>(table: &mut Vec<T>, index: usize) -> &mut T {
    if table.len() <= index {
        table.resize(index + 1, T::default());
    }
    &mut table[index]
}

/// Operations that ended in this minute and in the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Over {
    minute: u32,
    now: u32,
    before: u32,
}

impl Over {
    fn at(&mut self, minute: u32) -> &mut Self {
        if minute != self.minute {
            let before = if minute == self.minute + 1 { self.now } else { 0 };
            *self = Self { minute, now: 0, before };
        }
        self
    }
}

/// Repairs of one release on one host.
#[derive(Clone, Debug, Default)]
struct Repaired {
    /// The end of each repair in the last hour, with the number of processes started until then, oldest first.
    last: VecDeque<(Timestamp, u32)>,
}

/// Changes of the desired state of one host.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    /// The last change.
    at: Timestamp,
    /// The last change before the release that is being installed was ordered. `None` if the operator may not have
    /// known it.
    begun: Option<Timestamp>,
    /// The release that is being repaired there.
    repairing: Option<ReleaseNumber>,
}

#[derive(Clone, Debug)]
pub(super) struct Restraint {
    /// The orders by process; none when it has ended.
    ordered: Vec<Option<Box<Ordered>>>,
    over: Over,
    /// Operator processes that were started.
    processes: u32,
    /// How often a release failed, and how many processes had been started when it first did.
    failed: BTreeMap<Try, (u32, u32)>,
    /// The recent repairs, by host, release and last change of the desired state.
    repaired: BTreeMap<Try, Repaired>,
    hosts: Vec<Asked>,
    /// The last change of the fleet's defaults.
    all_asked: Timestamp,
}

impl Restraint {
    pub(super) fn new(hosts: u32) -> Self {
        Self {
            ordered: Vec::new(),
            over: Over::default(),
            processes: 0,
            failed: BTreeMap::new(),
            repaired: BTreeMap::new(),
            hosts: vec![Asked::default(); hosts as usize],
            all_asked: Timestamp::ZERO,
        }
    }

    pub(super) const fn process_started(&mut self) {
        self.processes += 1;
    }

    /// Recounts the processes. Each new process starts without memory of failures.
    pub(super) fn recount(&self, truth: &Truth<'_>, found: &mut Miscounts) {
        found.compare("operator processes", self.processes, truth.processes);
    }

    /// A process has ended and orders nothing more.
    pub(super) fn process_ended(&mut self, process: u32) {
        if let Some(ordered) = self.ordered.get_mut(process as usize) {
            *ordered = None;
        }
    }

    /// An operation has ended. The next machine may be admitted, which takes one write of the fleet's defaults.
    pub(super) fn operation_ended(&mut self, now: Timestamp) {
        self.over.at(minute_of(now)).now += 1;
    }

    /// A process orders something. Returns the breach, if any.
    pub(super) fn ordered(&mut self, process: u32, action: &Action, now: Timestamp) -> Option<String> {
        let target = action.target;
        let is_eviction = matches!(action.effect, Effect::Evict(_) | Effect::DeletePod(_));
        let minute = minute_of(now);
        let index = process as usize;
        if self.ordered.len() <= index {
            self.ordered.resize_with(index + 1, || None);
        }
        let orders = self.ordered[index].get_or_insert_default().of(target, is_eviction);
        if minute != orders.minute {
            *orders = Orders { minute, count: 0 };
        }
        orders.count += 1;
        let count = orders.count;
        if count <= ORDERS_MAX {
            return None;
        }
        let over = self.over.at(minute);
        let worth = if matches!(target, Target::PackageVersion | Target::Set(_) | Target::Canary(_)) {
            over.now + over.before
        } else if is_eviction {
            // Each pod on the Node is evicted, and a refused eviction is retried a few times in the first minute.
            4 * PODS_MAX
        } else {
            0
        };
        (count - ORDERS_MAX > worth)
            .then(|| format!("process {process} has ordered {count} times within a minute of {target:?}"))
    }

    /// Prefetches the entry of a host.
    pub(super) fn warm(&self, host: u32) -> u64 {
        self.hosts[host as usize].at.millis()
    }

    /// Prefetches the orders of a process for a machine.
    pub(super) fn warm_orders(&self, process: u32, id: MachineId) -> u64 {
        let Some(Some(ordered)) = self.ordered.get(process as usize) else { return 0 };
        let (table, index) = Target::Machine(id).place();
        ordered.targets[table].get(index).map_or(0, |orders| u64::from(orders.minute))
    }

    /// Users have changed the spec of a machine.
    pub(super) fn asked(&mut self, host: u32, now: Timestamp) {
        if let Some(asked) = self.hosts.get_mut(host as usize) {
            asked.at = now;
        }
    }

    /// Users have changed the fleet's defaults.
    pub(super) const fn all_asked(&mut self, now: Timestamp) {
        self.all_asked = now;
    }

    /// A host begins to install a release. The operator that ordered it knew the desired state until `known`.
    pub(super) fn begun(&mut self, host: u32, known: Timestamp) {
        let of_host = &mut self.hosts[host as usize];
        let asked = of_host.at.max(self.all_asked);
        of_host.begun = (asked < known).then_some(asked);
    }

    /// A host begins an operation: the repair of a release, or none.
    pub(super) fn repairs(&mut self, host: u32, release: Option<ReleaseNumber>) {
        self.hosts[host as usize].repairing = release;
    }

    /// The operation on a host has succeeded. Returns the breach, if any.
    pub(super) fn repaired(&mut self, host: u32, now: Timestamp) -> Option<String> {
        let of_host = &mut self.hosts[host as usize];
        let release = of_host.repairing.take()?;
        let asked = of_host.at.max(self.all_asked);
        let Repaired { last } = self.repaired.entry((host, release, asked)).or_default();
        last.push_back((now, self.processes));
        while last.front().is_some_and(|(ended, _)| now.millis() >= ended.millis() + HOUR_MILLISECONDS) {
            last.pop_front();
        }
        let restarts = self.processes - last.front().map_or(self.processes, |(_, processes)| *processes);
        // A process that has just started knows of no repair yet.
        let most = REPAIRS_MAX * (1 + restarts);
        (last.len() > most as usize).then(|| {
            format!(
                "release {release:?} was repaired on host {host} {} times within an hour; operators were started \
                 {restarts} times meanwhile",
                last.len()
            )
        })
    }

    /// A release has failed. One failure is allowed, and one more for each process started since the first, because a
    /// crash loses what the process knew. Orders given while users changed the desired state do not count.
    pub(super) fn failed(&mut self, host: u32, release: ReleaseNumber) -> Option<String> {
        let attempt: Try = (host, release, self.hosts[host as usize].begun.take()?);
        let (count, began) = self.failed.entry(attempt).or_insert((0, self.processes));
        *count += 1;
        let restarts = self.processes - *began;
        (*count > 1 + restarts).then(|| {
            format!(
                "release {release:?} has failed on host {host} {count} times, and nobody has asked for it again; \
                 operators were started {restarts} times meanwhile"
            )
        })
    }
}

/// The breach of a write of an operator: it changes nothing, or it changes finalizers of others.
pub(super) fn misuse(written: &Written) -> Option<(&'static str, String)> {
    let (kind, name) = (written.object.kind().name(), written.object.name());
    if !written.committed {
        return Some(("emptyWrite", format!("{kind} {name} was written as it is")));
    }
    let before = written.before.as_ref()?.finalizers();
    let after = written.object.finalizers();
    if before == after {
        return None;
    }
    let others = |list: &[String]| list.iter().filter(|one| **one != *FINALIZER).cloned().collect::<Vec<_>>();
    let changed = others(before) != others(after);
    changed.then(|| ("finalizerOrder", format!("{kind} {name} lost or got finalizers that are not ours")))
}

/// The breach of a write that the API server has accepted, although the object was not what the write requires.
pub(super) fn unfenced(required: &Preconditions, written: &Written) -> Option<String> {
    let before = written.before.as_ref()?;
    let Preconditions { uid, resource_version } = *required;
    let is_other = uid.is_some_and(|uid| uid != before.uid());
    let is_newer = resource_version.is_some_and(|version| version != before.resource_version());
    (is_other || is_newer).then(|| {
        let what = if is_other { "another object of its name" } else { "a newer version" };
        format!("a write of {} {} was accepted, which meets {what}", before.kind().name(), before.name())
    })
}

#[cfg(test)]
mod tests {
    use seaworthy_model::effect::{ActionId, Fence};
    use seaworthy_model::id::{MachineId, StoreId, Uid};
    use seaworthy_model::pod::PodName;

    use super::*;

    fn action(target: Target, effect: Effect) -> Action {
        Action {
            id: ActionId(1),
            store: StoreId::HOME,
            target,
            fence: Fence::None,
            deadline: Timestamp::ZERO,
            effect,
        }
    }

    /// Whether so many orders of this target within a minute are too many, after so many operations have ended.
    fn is_loop(target: Target, orders: u32, ended: u32) -> bool {
        let mut restraint = Restraint::new(3);
        let now = Timestamp::from_millis(10 * MINUTE_MILLISECONDS);
        (0..ended).for_each(|_| restraint.operation_ended(now));
        let order = action(target, Effect::Watch);
        (0..orders).filter_map(|_| restraint.ordered(7, &order, now)).count() > 0
    }

    #[test]
    fn the_defaults_may_be_written_once_more_for_each_operation_that_has_ended() {
        assert!(!is_loop(Target::PackageVersion, ORDERS_MAX, 0));
        assert!(is_loop(Target::PackageVersion, ORDERS_MAX + 1, 0));
        assert!(!is_loop(Target::PackageVersion, ORDERS_MAX + 5, 5));
        assert!(is_loop(Target::PackageVersion, ORDERS_MAX + 6, 5));
        assert!(is_loop(Target::Machine(MachineId(3)), ORDERS_MAX + 1, 5), "a machine has nothing of that");
    }

    #[test]
    fn many_pods_may_be_asked_to_leave_and_their_node_is_not_cordoned_as_often() {
        let node = Target::Node(MachineId(0));
        let pod = PodName { namespace: "default".into(), name: "app".into(), uid: Uid(1) };
        let (mut restraint, now) = (Restraint::new(1), Timestamp::from_millis(0));
        let eviction = action(node, Effect::Evict(Box::new(pod)));
        assert!((0..4 * PODS_MAX).all(|_| restraint.ordered(1, &eviction, now).is_none()));
        assert!(!is_loop(node, ORDERS_MAX, 0) && is_loop(node, ORDERS_MAX + 1, 0));
    }

    #[test]
    fn a_fight_over_a_host_is_one_unless_somebody_asks() {
        let mut restraint = Restraint::new(3);
        let repair = |restraint: &mut Restraint, minute: u64| {
            restraint.repairs(1, Some(ReleaseNumber(4)));
            restraint.repaired(1, Timestamp::from_millis(minute * MINUTE_MILLISECONDS))
        };
        for at in 0..u64::from(REPAIRS_MAX) {
            assert_eq!(repair(&mut restraint, 6 * at), None);
        }
        let mut asked = restraint.clone();
        asked.asked(1, Timestamp::from_millis(56 * MINUTE_MILLISECONDS));
        assert_eq!(repair(&mut asked, 57), None);
        assert_eq!(repair(&mut restraint.clone(), 60), None, "an hour has passed");
        assert!(repair(&mut restraint, 57).is_some());
    }

    #[test]
    fn each_minute_process_and_target_counts_by_itself() {
        let mut restraint = Restraint::new(3);
        for minute in 0..3 {
            let now = Timestamp::from_millis(minute * MINUTE_MILLISECONDS);
            for _ in 0..ORDERS_MAX {
                for process in 0..2 {
                    for target in [Target::Host(MachineId(0)), Target::Machine(MachineId(0)), Target::Lease] {
                        let order = action(target, Effect::Watch);
                        assert_eq!(restraint.ordered(process, &order, now), None);
                    }
                }
            }
        }
        let now = Timestamp::from_millis(2 * MINUTE_MILLISECONDS);
        let order = action(Target::Lease, Effect::Watch);
        assert!(restraint.ordered(1, &order, now).is_some());
        restraint.process_ended(1);
        assert_eq!(restraint.ordered(1, &order, now), None);
    }
}
