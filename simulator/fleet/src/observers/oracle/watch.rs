//! How the oracle judges each happening in the world.

use seaworthy_check::check;
use seaworthy_model::id::Kind;

use super::{Oracle, Over, restraint};
use crate::vocabulary::{Injection, Occasion};
use crate::world::host::{Change, Ended, Work};
use crate::world::{Ahead, Commit, Happening, Turned, World};

impl Oracle {
    /// Judges a happening. Returns an occasion to count that only the oracle can see.
    #[inline]
    pub(crate) fn observe(&mut self, world: &World, happening: &Happening<'_>) -> Option<Occasion> {
        let now = world.now();
        match happening {
            Happening::WatchesLag(lag) => self.watches_lag(*lag),
            Happening::ProcessStarted(_) => self.process_started(),
            Happening::ProcessEnded(process, _) => self.process_ended(*process),
            Happening::Turned(turned) => self.process_turned(world, turned),
            Happening::Ordered(process, action) => self.ordered(*process, action, now),
            Happening::Unsound(detail) => self.breach("soundAction", now, (*detail).to_owned()),
            Happening::OperatorWrote(written) => self.operator_wrote(written, now),
            Happening::Accepted(required, written) => {
                if let Some(detail) = restraint::unfenced(required, written) {
                    self.breach("precondition", now, detail);
                }
            }
            Happening::Committed(commit) => self.object_committed(world, commit),
            Happening::NodeWritten(write) => self.node_written(world, *write),
            Happening::AttributeTaken(host, wrong) => {
                self.breach("foreignAttribute", now, format!("Node of host {host}: {wrong}"));
            }
            Happening::PeopleRefused(detail) => self.breach("peopleRefused", now, (*detail).to_owned()),
            Happening::Joins(host, is_taken) => self.joins(*host, *is_taken),
            Happening::Evicted(evicted) => self.pod_evicted(world, *evicted),
            Happening::HeldUp(host) => self.holds_up(*host),
            Happening::OrderLost(host, process) => {
                if let Some(detail) = self.back_off.lost(*host, *process, now) {
                    self.breach("backOff", now, detail);
                }
            }
            Happening::OrderArrives { host, command, is_awaited } => {
                self.back_off.reached(*host);
                if *is_awaited {
                    self.budget.reached(*host, now);
                }
                self.judge_takeover(world, *host, command);
            }
            Happening::Heard(host, epoch) => self.heard(*host, *epoch),
            Happening::FencesReset(host, epoch) => self.fences_reset(*host, *epoch),
            Happening::Injected(Injection::Pretend(host, _)) => self.lies(*host),
            Happening::Injected(Injection::Skew { .. }) => self.identities.clock_set(now),
            Happening::Began(began) => {
                return self.operation_began(world, began).then_some(Occasion::BudgetExhausted);
            }
            Happening::VersionChanged(host, work) => self.version_changed(world, *host, work),
            Happening::Confirmed(host, id) => self.confirmed(*host, *id),
            Happening::Ended(host, work, ended) => self.operation_ended(world, *host, work, *ended),
            Happening::KeyMade(key, host, node) => self.key_made(*key, *host, node),
            Happening::PowerLost(host) => self.powered_off(*host),
            Happening::ShutDown(host) => self.rebooted(*host),
            Happening::PowerReturned(host) => self.powered_on(*host),
            Happening::Spoiled(host, _) => self.spoiled(*host),
            Happening::HostLost(host) => self.host_lost((*host, world.lacks_kubelet(*host)), now),
            Happening::HostBack(host) => self.host_back(*host),
            Happening::NodeMissing(host) => self.node_there(*host, false),
            Happening::NodeSays(host, health) => self.gates.node_says(*host, *health, now),
            // The observer set checks expectations, because they also need the tally.
            Happening::PeopleAct(..)
            | Happening::Occasion(_)
            | Happening::Event(_)
            | Happening::Requests(..)
            | Happening::Commands(..)
            | Happening::Injected(_)
            | Happening::Struck(..)
            | Happening::ProcessPaused(..)
            | Happening::StepBegan(_)
            | Happening::Started(_)
            | Happening::Network(..)
            | Happening::NodeRenewal(_) => {}
        }
        None
    }

    /// Prefetches what the oracle needs next. The returned sum has no meaning.
    #[must_use]
    pub(crate) fn prefetch(&self, ahead: Ahead) -> u64 {
        match ahead {
            Ahead::Order(host) => self.warm(host),
            Ahead::End(host, component) => self.warm_end(host, component),
            Ahead::Send(process, id) => self.warm_orders(process, id),
        }
    }

    fn process_turned(&mut self, world: &World, turned: &Turned<'_>) {
        let Turned { process, engine, subjects, turn, .. } = *turned;
        let now = world.now();
        self.turned(process, (engine, subjects), turn, now);
        self.policies.turned(process, engine.world().now(), now);
        for breach in check(engine.world(), turn) {
            self.breach(breach.invariant, now, format!("process {process}: {}", breach.detail));
        }
    }

    fn object_committed(&mut self, world: &World, commit: &Commit<'_>) {
        let Commit { written, by_operator, .. } = *commit;
        let (now, object) = (world.now(), &*written.object);
        self.committed(written, &world.hosts, now);
        self.users_written(written, world.api_servers.home());
        if by_operator && object.charter().is_some() {
            let terms = (self.budget.detection(), self.leadership.epochs());
            for detail in self.gates.objections(written, world, terms) {
                self.breach("gate", now, detail);
            }
        }
        if object.kind() == Kind::MachineComponent && written.removed && by_operator {
            let number = world.catalogue.find_version(object.name());
            self.version_gone(object, world.api_servers.home(), (&world.hosts, number), now);
        }
    }

    fn operation_ended(&mut self, world: &World, host: u32, work: &Work, ended: Ended) {
        let component = world.catalogue.component_name(work.component);
        if ended == Ended::Succeeded {
            let version = match work.change {
                Change::Install(install) => Some(world.catalogue.version_name(install.version)),
                Change::Remove => None,
            };
            self.budget.brought(host, (component, version), world.now());
        }
        let over = Over { host, work, ended, component };
        self.ended(&over, world.api_servers.home(), world.now());
    }
}
