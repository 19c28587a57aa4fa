//! Judges the start of an operation on a host against every invariant that it could break.

use std::time::Duration;

use seaworthy_api::object::Resource;
use seaworthy_kernel::Timestamp;
use seaworthy_model::id::Kind;

use super::Oracle;
use super::policies::Start;
use super::wishes::{self, Step};
use crate::vocabulary::{START, machine_name, since_start};
use crate::world::api_server::ApiServer;
use crate::world::host::{Change, Command, Installed, Order, Running, Work};
use crate::world::{self, Catalogue, World};

/// The start of an operation on a host.
#[derive(Clone, Copy, Debug)]
pub struct Began<'a> {
    /// The host.
    pub host: u32,
    /// The order that started it.
    pub order: Order,
    /// The name of the component that changes.
    pub component: &'a str,
    /// When the order was sent.
    pub sent: Timestamp,
    /// Whether the operation changes anything on the host.
    pub touches: bool,
    /// Whether nothing could be disrupted there, as far as the operator could know: the Node of the host had not been ready
    /// for long, or it was to become a Node and was none yet.
    pub is_spared: bool,
    /// The installed version and the new one; `None` when one of them is missing.
    pub step: Option<(&'a str, &'a str)>,
}

impl Oracle {
    /// An operation begins on a host. True when it took the last free slot of the budget.
    pub(super) fn operation_began(&mut self, world: &World, began: &world::Began<'_>) -> bool {
        let world::Began { host: number, order, work, sent } = *began;
        let host = &world.hosts[number as usize];
        self.restraint.repairs(number, host.repaired_by(work));
        self.judge_drain(world, number, work, sent);
        self.judge_foreign_work(world, number, work);
        let running = host.running();
        let touches = running.is_some_and(Running::touches);
        let component = world.catalogue.component_name(work.component);
        let step = step_between(&world.catalogue, running.and_then(Running::previous), work);
        if touches {
            let times = (sent, world.now());
            self.begins((number, host), work, (&world.catalogue, &world.replicas), times);
        }
        let is_spared = is_out_of_service(world.api_servers.home(), number, (sent, self.known_at(sent)))
            || world.is_to_become_node(number);
        let began = Began { host: number, order: *order, component, sent, touches, is_spared, step };
        self.began(&began, world.api_servers.home(), world.now())
    }

    /// An operation has begun on a host. True when it took the last free slot of the budget.
    pub fn began(&mut self, began: &Began<'_>, api: &ApiServer, now: Timestamp) -> bool {
        let Command::Apply(work) = began.order.command else { return false };
        self.confirmations.began(began.host, &work, began.touches);
        if let Some(detail) = self.leadership.began(began.host, began.order.fence.epoch) {
            self.breach("leadership", now, detail);
        }
        if self.budget.is_at_work(began.host) {
            let detail =
                format!("host {} began {} while another operation was under way", began.host, work.id);
            self.breach("hostExclusivity", now, detail);
        }
        if work.change == Change::Remove {
            let machine = self.machines.get(&began.order.fence.machine).map(AsRef::as_ref);
            if !self.removal.is_wanted(machine, began.component, api, now) {
                let detail = format!(
                    "host {} began to remove {}, which nobody asked for: no state Absent, no Machine being deleted",
                    began.host, began.component
                );
                self.breach("removalWanted", now, detail);
            }
        }
        self.judge_wishes(began, api, now);
        self.judge_policies(began, api, now);
        self.deeds.began(began.host, began.touches);
        self.harm.began(began.host, began.component, began.sent - self.budget.knowledge());
        if matches!(work.change, Change::Install(_)) {
            self.restraint.begun(began.host, began.sent - self.budget.detection());
        }
        let known = began.sent - self.budget.detection();
        // A Node that is not ready is kept from pods anyway.
        let is_kept = |host: &u32| *host != began.host && !is_unready(api, *host, known);
        let cordoned = self.drains.cordoned_until(known).filter(is_kept);
        let judged = self.budget.began((began.host, began.is_spared), (began.sent, cordoned), now);
        if let Some(detail) = judged.overdrawn {
            self.breach("budget", now, format!("host {} began {}: {detail}", began.host, work.id));
        }
        judged.exhausted
    }

    /// Judges the operation against the disruption policies. Nobody can tell when work ends on a host that lies.
    fn judge_policies(&mut self, began: &Began<'_>, api: &ApiServer, now: Timestamp) {
        if self.policies.is_empty() || self.has_lied(began.host) {
            return;
        }
        let Some(machine) = self.machines.get(&began.order.fence.machine).cloned() else { return };
        let known = began.sent - self.budget.knowledge();
        let epoch = began.order.fence.epoch;
        let start = Start { host: began.host, machine: &machine, epoch, known, is_spared: began.is_spared };
        for detail in self.policies.began(&start, api, now) {
            self.breach("disruptionPolicy", now, format!("host {} began although {detail}", began.host));
        }
        let crowd = self.policies.crowd(&start, api, |host| self.budget.may_disrupt(host));
        if let Some(detail) = crowd {
            self.breach("disruptionPolicy", now, format!("host {} began although {detail}", began.host));
        }
    }

    /// Judges the operation against the desired state: a version may go back, and a paused machine may be worked on,
    /// only while the operator could not know better.
    fn judge_wishes(&mut self, began: &Began<'_>, api: &ApiServer, now: Timestamp) {
        let known = began.sent - self.budget.knowledge();
        let uid = began.order.fence.machine;
        if let Some(since) = self.wishes.paused_since(uid).filter(|since| *since < known) {
            let detail = format!(
                "host {} began to change {}, paused since {}",
                began.host,
                began.component,
                since_start(since)
            );
            self.breach("pause", now, detail);
        }
        let Some((from, to)) = began.step.filter(|(from, to)| wishes::goes_back(began.component, from, to))
        else {
            return;
        };
        let machine = self.machines.get(&uid).map(AsRef::as_ref);
        let step = Step { machine, component: began.component, from, to };
        if let Some(objection) = self.wishes.objection(&step, api, known)
            && !self.has_lied(began.host)
        {
            self.breach("versionOrder", now, format!("host {} {objection}", began.host));
        }
    }
}

/// Whether the Node of a host is not ready, or was not at a time up to which the operator knows everything.
fn is_unready(api: &ApiServer, host: u32, known: Timestamp) -> bool {
    readiness(api, host)
        .is_some_and(|(is_ready, since)| !is_ready || since.is_none_or(|at| is_recent(at, known)))
}

/// Whether the Node of a host has not been ready for so long that nothing can be disrupted there, or had not been at a time
/// up to which the operator knows everything.
fn is_out_of_service(api: &ApiServer, host: u32, (sent, known): (Timestamp, Timestamp)) -> bool {
    readiness(api, host).is_some_and(|(is_ready, since)| {
        let lasts = |since: Timestamp| !is_ready && since + OUT_OF_SERVICE_AFTER <= sent;
        since.is_none_or(|since| is_recent(since, known) || lasts(since))
    })
}

/// Whether the Node of a host is ready, and since when it is or is not; `None` without a Node.
fn readiness(api: &ApiServer, host: u32) -> Option<(bool, Option<Timestamp>)> {
    let node = api.get(Kind::Node, &machine_name(host)).map(|node| node.resource());
    let Resource::Node(node) = node? else { return None };
    let mut conditions = node.status.iter().flat_map(|status| &status.conditions);
    let ready = conditions.find(|condition| condition.r#type == "Ready");
    let since = ready.and_then(|ready| ready.last_transition_time.as_ref()?.get());
    Some((ready.is_some_and(|ready| ready.status == "True"), since))
}

/// Whether the operator may not know of a change at this time. What was so at the beginning of the run has not changed.
fn is_recent(since: Timestamp, known: Timestamp) -> bool {
    since > START && since + WHOLE > known
}

/// A Node that has not been ready for so long is out of service: half of what the operator waits for, whose clock may be
/// fast, and whose knowledge is as old as its watches.
const OUT_OF_SERVICE_AFTER: Duration = Duration::from_secs(60);

/// Times of conditions are cut to whole seconds.
const WHOLE: Duration = Duration::from_secs(1);

/// The installed version and the new one, if there are both.
fn step_between<'a>(
    catalogue: &'a Catalogue,
    present: Option<&Installed>,
    work: &Work,
) -> Option<(&'a str, &'a str)> {
    let Change::Install(install) = work.change else { return None };
    let present = present?.version;
    Some((catalogue.version_name(present), catalogue.version_name(install.version)))
}
