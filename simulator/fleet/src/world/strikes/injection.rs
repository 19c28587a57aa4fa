//! What faults do, one line for each.

use crate::vocabulary::{Injection, Point};
use crate::world::World;
use crate::world::happening::Happening;

impl World {
    /// A fault strikes or ends.
    pub(in crate::world) fn inject(&mut self, injection: Injection) {
        self.happened(&Happening::Injected(injection));
        match injection {
            Injection::PowerOff(host) => self.power_off(host),
            Injection::PowerOn(host) => self.power_on(host),
            Injection::Cut(host) => self.cut(host),
            Injection::Mend(host) => self.mend(host),
            Injection::CutSsh(host) => self.cut_ssh(host),
            Injection::MendSsh(host) => self.mend_ssh(host),
            Injection::CutKubelet(host) => self.cut_kubelet(host),
            Injection::MendKubelet(host) => self.mend_kubelet(host),
            Injection::Sicken(host) => self.sicken(host, true),
            Injection::Recover(host) => self.sicken(host, false),
            Injection::FailLate(host) => self.fail_late(host),
            Injection::RecoverLate(host) => self.recover_late(host),
            Injection::KillProgram(host) => self.kill_program(host),
            Injection::Spoil(host, drift) => self.spoil(host, drift),
            Injection::Crash { seat } => self.crash_seat(seat),
            Injection::Pause { seat, until } => self.pause(seat, until),
            Injection::Skew { seat, skew } => self.skew(seat, skew),
            Injection::HoldWatch(kind, until) => self.hold_watch(kind, until),
            Injection::Lag { kind, lag, until } => self.lag_watch(kind, lag, until),
            Injection::Relist(kind) => self.relist(kind),
            Injection::Compact => self.compact(),
            Injection::Cache(kind) => self.cache(kind),
            Injection::Travel { kind, since, until } => self.travel(kind, since, until),
            Injection::ApiDown(until) => self.api_down(until),
            Injection::Throttle { per_second, burst, until } => self.throttle(per_second, burst, until),
            Injection::RegistryDown(until) => self.registry_down(until),
            Injection::MetricsDown(until) => self.metrics_down(until),
            Injection::AddFinalizer(host) => self.add_finalizer(host),
            Injection::DropFinalizer(host) => self.drop_finalizer(host),
            Injection::StripFinalizer(host) => self.strip_finalizer(host),
            Injection::Lie(host, says) => self.lie(host, says),
            Injection::Truth(host) => self.tell_truth(host),
            Injection::Pretend(host, lie) => self.pretend(host, Some(lie)),
            Injection::Honest(host) => self.pretend(host, None),
            Injection::Slow(host, factor) => self.slow(host, factor),
            Injection::Fill(host) => self.fill(host),
            Injection::MakeRoom(host) => self.make_room(host),
            Injection::Time => self.pass(&Point::Time, None),
            Injection::Silence => {}
        }
    }
}
