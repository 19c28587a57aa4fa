//! Metrics. Labels come from closed lists, and from the defaults that people wrote: never a name of a machine.

use std::time::Duration;

use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use seaworthy_kube::Tally;

use crate::process;

/// `N` labels with their values.
pub(crate) type Labels<const N: usize> = [(&'static str, &'static str); N];

/// The labels of the machines of a rollout: its component, its version, the set that wants it, and their state.
pub(crate) type RolloutLabels = [(&'static str, String); 4];

/// Everything that is counted.
pub(crate) struct Metrics {
    registry: Registry,
    /// What every program reports, under names without our prefix.
    process: Registry,
    /// Machines by their condition `Ready` and its reason.
    pub(crate) machines: Family<Labels<2>, Gauge>,
    /// Machines by component, version, set and state in its rollout.
    pub(crate) rollouts: Family<RolloutLabels, Gauge>,
    /// Subjects that wait, by blocker.
    pub(crate) blocked: Family<Labels<1>, Gauge>,
    /// Actions that ended.
    actions: Family<Labels<2>, Counter>,
    /// Actions under way.
    pub(crate) in_flight: Gauge,
    /// Events that tell people of transitions.
    events: Family<Labels<1>, Counter>,
    /// Requests to the API server.
    requests: Family<Labels<2>, Counter>,
    /// How long work on hosts took.
    host_work: Family<Labels<2>, Histogram>,
    /// How long one turn took, with its checks.
    turns: Histogram,
    /// Subjects that wait in the engine's queue.
    pub(crate) queued: Gauge,
    /// Units of `maxUnavailable` that are taken.
    pub(crate) occupied: Gauge,
    /// Units of `maxUnavailable`.
    pub(crate) slots: Gauge,
    /// Machines that are unavailable for reasons of their own.
    pub(crate) unavailable: Gauge,
    /// Turns that were refused because they would have broken an invariant.
    pub(crate) guard_refusals: Counter,
    /// Whether this process leads.
    pub(crate) leader: Gauge,
    /// Our epoch; 0 while we have none.
    pub(crate) epoch: Gauge,
    /// Whether the operator can do its work.
    pub(crate) ready: Gauge,
}

impl Metrics {
    /// All of them, at zero.
    pub(crate) fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("seaworthy"),
            process: Registry::default(),
            machines: Family::default(),
            rollouts: Family::default(),
            blocked: Family::default(),
            actions: Family::default(),
            in_flight: Gauge::default(),
            events: Family::default(),
            requests: Family::default(),
            // From a read of a nearby host to an operation that waits for its probe: 10 ms to 22 min.
            host_work: Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.01, 2.0, 18))),
            turns: Histogram::new(exponential_buckets(0.000_01, 4.0, 10)),
            queued: Gauge::default(),
            occupied: Gauge::default(),
            slots: Gauge::default(),
            unavailable: Gauge::default(),
            guard_refusals: Counter::default(),
            leader: Gauge::default(),
            epoch: Gauge::default(),
            ready: Gauge::default(),
        };
        metrics.register();
        metrics.process.register_collector(Box::new(process::Usage));
        metrics
    }

    fn register(&mut self) {
        let r = &mut self.registry;
        r.register("build", "The program", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        r.register("machines", "Machines by their condition Ready and its reason", self.machines.clone());
        let help = "Machines of each rollout, by component, version, set and state";
        r.register("rollout_machines", help, self.rollouts.clone());
        r.register("blocked", "Subjects that wait, by what they wait for", self.blocked.clone());
        r.register("actions", "Actions that ended, by effect and outcome", self.actions.clone());
        r.register("actions_in_flight", "Actions under way", self.in_flight.clone());
        r.register("events", "Events that tell people of transitions, by outcome", self.events.clone());
        r.register("api_requests", "Requests to the API server", self.requests.clone());
        let help = "How long work on hosts took, by command and outcome";
        r.register_with_unit("host_operation_duration", help, Unit::Seconds, self.host_work.clone());
        let help = "How long one turn of the engine took, with its checks";
        r.register_with_unit("reconcile_duration", help, Unit::Seconds, self.turns.clone());
        r.register("queue_depth", "Subjects that wait in the engine's queue", self.queued.clone());
        r.register("budget_occupied", "Units of maxUnavailable that are taken", self.occupied.clone());
        r.register("budget_limit", "Units of maxUnavailable", self.slots.clone());
        let help = "Machines that are unavailable, and not because of our work";
        r.register("unavailable", help, self.unavailable.clone());
        let help = "Turns refused because they would have broken an invariant: each is a bug";
        r.register("guard_refusals", help, self.guard_refusals.clone());
        r.register("leader", "1 while this process leads, 0 while it stands by", self.leader.clone());
        r.register("epoch", "The epoch of this process; 0 while it has none", self.epoch.clone());
        r.register("ready", "1 when nothing keeps the operator from its work", self.ready.clone());
    }

    /// An action ended.
    pub(crate) fn ended(&self, effect: &'static str, outcome: &'static str) {
        self.actions.get_or_create(&[("effect", effect), ("outcome", outcome)]).inc();
    }

    /// An Event ended.
    pub(crate) fn told(&self, outcome: &'static str) {
        self.events.get_or_create(&[("outcome", outcome)]).inc();
    }

    /// Work on a host ended.
    pub(crate) fn worked(&self, command: &'static str, outcome: &'static str, took: Duration) {
        let labels = [("command", command), ("outcome", outcome)];
        self.host_work.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// Records the duration of a turn.
    pub(crate) fn turned(&self, took: Duration) {
        self.turns.observe(took.as_secs_f64());
    }

    /// The page.
    ///
    /// # Errors
    /// Never in practice: a string takes every write.
    pub(crate) fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode_registry(&mut text, &self.registry)?;
        encode_registry(&mut text, &self.process)?;
        encode_eof(&mut text)?;
        Ok(text)
    }
}

impl Tally for Metrics {
    fn request(&self, verb: &'static str, outcome: &'static str) {
        self.requests.get_or_create(&[("verb", verb), ("outcome", outcome)]).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_what_dashboards_ask_for() {
        let metrics = Metrics::new();
        metrics.ended("host_apply", "unknown");
        metrics.worked("apply", "done", Duration::from_secs(3));
        metrics.request("patch", "conflict");
        metrics.turned(Duration::from_micros(50));
        metrics.machines.get_or_create(&[("ready", "True"), ("reason", "AsDesired")]).set(2);
        let text = metrics.text().unwrap();
        for line in [
            r#"seaworthy_actions_total{effect="host_apply",outcome="unknown"} 1"#,
            r#"seaworthy_host_operation_duration_seconds_count{command="apply",outcome="done"} 1"#,
            r#"seaworthy_api_requests_total{verb="patch",outcome="conflict"} 1"#,
            r#"seaworthy_machines{ready="True",reason="AsDesired"} 2"#,
            "seaworthy_reconcile_duration_seconds_count 1",
            "seaworthy_budget_limit 0",
            "seaworthy_guard_refusals_total 0",
            "seaworthy_leader 0",
            "# TYPE process_resident_memory_bytes gauge",
            "# TYPE process_cpu_seconds counter",
            "# EOF",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
    }
}
