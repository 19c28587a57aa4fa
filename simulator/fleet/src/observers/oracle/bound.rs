//! The time that convergence may take after the last fault. It is derived from the work to do, not a fixed number that
//! once sufficed.
//!
//! Every machine has one operation for each component, at most `maxUnavailable` at a time; a version that is not
//! trusted yet starts with few machines and doubles. Before that, earlier faults must wear off: an operation without an
//! answer, the longest back-off, the audit that finds changes by hand. The sum is doubled as slack.

use std::sync::Arc;
use std::time::Duration;

use seaworthy_api::names::Names;
use seaworthy_api::object::Resource;
use seaworthy_api::parse;
use seaworthy_model::component_set::SetSpec;
use seaworthy_model::config::Config;
use seaworthy_model::id::Kind;
use seaworthy_model::package_version::{PackageVersionSpec, SINGLETON};
use seaworthy_model::quantity::CountOrPercent;
use seaworthy_model::strategy::Strategy;

use super::desired::Desired;
use super::policies::spec_of;
use crate::world::{GRACE, World};

/// The work to do.
#[derive(Clone, Copy, Debug)]
struct Work {
    machines: u32,
    /// How many machines may be worked on at a time.
    slots: u32,
    components: u32,
    /// The longest time of one operation, with connecting and reporting.
    operation: Duration,
    /// The time between two audits of a host.
    audit: Duration,
    /// How long the machines of all batches of a rollout are watched, each twice.
    gates: Duration,
}

const HOUR: Duration = Duration::from_secs(3600);
/// The default of `auditInterval`.
const AUDIT_INTERVAL: Duration = Duration::from_secs(24 * 3600);
/// The time around an operation: connecting, watching, deciding, writing the result.
const AROUND: Duration = Duration::from_secs(30);

impl Work {
    fn of(world: &World) -> Self {
        let fleet = world.api_servers.home().get(Kind::ClusterPackageVersion, SINGLETON);
        let fleet = fleet.and_then(|fleet| fleet.package_version());
        let parsed = fleet.and_then(|fleet| parse::package_version(fleet, &mut Names::new()).ok());
        let spec: Option<&PackageVersionSpec> =
            parsed.as_ref().and_then(|object| object.spec.as_ref().ok()).map(AsRef::as_ref);
        let desired = Desired::of(world.api_servers.home());
        let sets: Vec<Arc<SetSpec>> = desired.groups.iter().filter_map(|group| group.spec()).collect();
        let machines =
            u32::try_from(world.api_servers.home().collection(Kind::Machine).len()).unwrap_or(u32::MAX);
        let of_sets = sets.iter().map(|set| set.components.len()).sum::<usize>();
        let components = spec.map_or(0, |spec| spec.components.len()) + of_sets;
        let components = u32::try_from(components).unwrap_or(u32::MAX);
        let strategies =
            sets.iter().map(|set| &set.strategy).chain(spec.and_then(|spec| spec.strategy.as_ref()));
        let pace = &world.scenario.hosts.pace();
        let steps = pace.download.most + pace.stage.most + pace.restart.most * 2;
        Self {
            machines,
            slots: spec.map(|spec| spec.max_unavailable).unwrap_or_default().of(machines).max(1),
            // A pin may name a component that the fleet does not.
            components: components + 1,
            operation: steps + probe(world) + AROUND,
            audit: spec.map_or(AUDIT_INTERVAL, |spec| spec.audit_interval),
            gates: strategies.map(bake).max().unwrap_or_default(),
        }
    }

    /// Waves of operations: those that the fleet needs at full width, and those of the start, in which the number of
    /// machines doubles.
    const fn waves(&self) -> u32 {
        let doublings = u32::BITS - self.machines.leading_zeros();
        self.components * (self.machines.div_ceil(self.slots) + doublings)
    }

    fn bound(&self) -> Duration {
        let config = Config::default();
        let passing = GRACE + config.apply_deadline + config.backoff_max * 2 + self.audit;
        let wave = self.operation + config.admission_wait;
        (passing + wave * self.waves() + self.gates * self.components) * 2
    }
}

/// How long the machines of all batches are watched, each twice.
fn bake(strategy: &Strategy) -> Duration {
    let batches = u32::try_from(strategy.batches.len()).unwrap_or(u32::MAX).saturating_add(1);
    (strategy.first_bake + strategy.bake.saturating_mul(batches)) * 2
}

/// The longest probe of any version.
fn probe(world: &World) -> Duration {
    let versions = world.api_servers.home().collection(Kind::MachineComponent).objects();
    let deadlines = versions.into_iter().filter_map(|object| {
        let Resource::MachineComponent(version) = object.resource() else { return None };
        let probe = version.spec.probe.as_ref()?;
        Some(u64::try_from(probe.deadline_seconds).unwrap_or_default())
    });
    Duration::from_secs(deadlines.max().unwrap_or_default())
}

/// The time without faults after which everything must have converged.
pub(crate) fn convergence_bound(world: &World) -> Duration {
    Work::of(world).bound() + waits(world)
}

/// How long the disruption policies may keep all machines waiting: until the freezes are over, two nights for windows, and an
/// hour or a day, with the longest part of it that counts twice, for each lot of machines.
fn waits(world: &World) -> Duration {
    let home = world.api_servers.home();
    let machines = u32::try_from(home.collection(Kind::Machine).len()).unwrap_or(u32::MAX);
    let specs = home.collection(Kind::DisruptionPolicy).objects().into_iter().filter_map(|it| spec_of(it));
    let waits = specs.map(|spec| {
        let thaws = spec.freezes.iter().map(|freeze| freeze.until.since(world.now()));
        let lots = |limit: Option<CountOrPercent>, each: Duration| {
            limit.map_or(Duration::ZERO, |limit| each * machines.div_ceil(limit.of(1)))
        };
        let night = if spec.windows.is_empty() { Duration::ZERO } else { HOUR * 48 };
        let rates = lots(spec.per_hour, HOUR + HOUR / 6) + lots(spec.per_day, HOUR * 26);
        thaws.max().unwrap_or_default() + night + rates
    });
    waits.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORK: Work = Work {
        machines: 100,
        slots: 10,
        components: 1,
        operation: Duration::from_secs(50),
        audit: Duration::from_secs(3600),
        gates: Duration::ZERO,
    };

    #[test]
    fn the_bound_follows_from_what_there_is_to_do() {
        assert_eq!(WORK.waves(), 10 + 7);
        let (one, ten) = (Work { slots: 1, ..WORK }, WORK);
        assert_eq!(one.bound() - ten.bound(), Duration::from_secs(2 * 90 * 60));
        let seldom = Work { audit: Duration::from_secs(7200), ..WORK };
        assert_eq!(seldom.bound() - WORK.bound(), Duration::from_secs(7200));
        assert!(Work { components: 2, ..WORK }.bound() > WORK.bound());
    }
}
