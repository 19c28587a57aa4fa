//! How long it may take until everything has converged once nothing goes wrong any more: derived from what there is to do,
//! not a number that was enough once.
//!
//! Everybody is worked on once for every component, as many at a time as may be unavailable; a version that is not
//! trusted yet begins with few, and doubles. Before that, what is left of the chaos has to pass: an operation that nobody
//! answers for, the longest back-off, the audit that finds what was changed by hand. All of it twice, as slack.

use std::time::Duration;

use seaworthy_api::names::Names;
use seaworthy_api::object::Resource;
use seaworthy_api::parse;
use seaworthy_model::config::Config;
use seaworthy_model::id::Kind;
use seaworthy_model::package_version::{PackageVersionSpec, SINGLETON};

use crate::world::{GRACE, World};

/// What there is to do.
#[derive(Clone, Copy, Debug)]
struct Work {
    machines: u32,
    /// So many at a time.
    slots: u32,
    components: u32,
    /// One operation at its slowest, with all around it.
    operation: Duration,
    /// From one look at a host to the next.
    audit: Duration,
}

/// `auditInterval` when nobody set one.
const AUDIT_INTERVAL: Duration = Duration::from_secs(24 * 3600);
/// Connecting, watching, deciding, writing down what came of it: all around an operation.
const AROUND: Duration = Duration::from_secs(30);

impl Work {
    fn of(world: &World) -> Self {
        let fleet = world.api.get(Kind::ClusterPackageVersion, SINGLETON);
        let fleet = fleet.and_then(|fleet| fleet.package_version());
        let parsed = fleet.and_then(|fleet| parse::package_version(fleet, &mut Names::new()).ok());
        let spec: Option<&PackageVersionSpec> =
            parsed.as_ref().and_then(|object| object.spec.as_ref().ok()).map(AsRef::as_ref);
        let machines = u32::try_from(world.api.collection(Kind::Machine).len()).unwrap_or(u32::MAX);
        let components = spec.map_or(0, |spec| u32::try_from(spec.components.len()).unwrap_or(u32::MAX));
        let pace = &world.scenario.hosts.pace();
        let steps = pace.download.most + pace.stage.most + pace.restart.most * 2;
        Self {
            machines,
            slots: spec.map(|spec| spec.max_unavailable).unwrap_or_default().of(machines).max(1),
            // A pin may name one that the fleet does not.
            components: components + 1,
            operation: steps + probe(world) + AROUND,
            audit: spec.map_or(AUDIT_INTERVAL, |spec| spec.audit_interval),
        }
    }

    /// Waves of operations: as many as it takes to go through the fleet, and those of a beginning in which each success
    /// allows one more.
    const fn waves(&self) -> u32 {
        let doublings = u32::BITS - self.machines.leading_zeros();
        self.components * (self.machines.div_ceil(self.slots) + doublings)
    }

    fn bound(&self) -> Duration {
        let config = Config::default();
        let passing = GRACE + config.apply_deadline + config.backoff_max * 2 + self.audit;
        let wave = self.operation + config.admission_wait;
        (passing + wave * self.waves()) * 2
    }
}

/// How long the slowest version is probed.
fn probe(world: &World) -> Duration {
    let versions = world.api.collection(Kind::MachineComponent).objects();
    let deadlines = versions.into_iter().filter_map(|object| {
        let Resource::MachineComponent(version) = object.resource() else { return None };
        let probe = version.spec.probe.as_ref()?;
        Some(u64::try_from(probe.deadline_seconds).unwrap_or_default())
    });
    Duration::from_secs(deadlines.max().unwrap_or_default())
}

/// After this time without faults everything must have converged.
pub(crate) fn convergence_bound(world: &World) -> Duration {
    Work::of(world).bound()
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
