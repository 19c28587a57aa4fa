//! Answers what gates ask besides the machines.

use std::sync::Arc;

use seaworthy_api::request::{ProbeJob, Request};
use seaworthy_kernel::{Span, word};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::event::{Outcome, Receipt};
use seaworthy_model::gate_check::ProbeRound;

use super::World;
use super::probes::Probe;
use crate::vocabulary::Occasion;

/// From the creation of a Job until its pod is ready: its image may have to be pulled.
const STARTS: Span = Span::millis(1_000, 30_000);

impl World {
    /// Answers what a gate asks; `None` for any other request.
    pub(super) fn ask_for_gate(&mut self, request: &Request) -> Option<Outcome> {
        if matches!(request, Request::Query(_)) {
            Some(self.query_metrics())
        } else if let Request::StartProbe(job) = request {
            Some(self.start_probe(job))
        } else if let Request::ListProbes(query) = request {
            Some(self.list_probes(query.round))
        } else {
            None
        }
    }

    /// One series for each host whose release does harm that only metrics show.
    fn query_metrics(&mut self) -> Outcome {
        if self.queue.now() < self.disturbance.metrics_down {
            self.note_occasion(Occasion::MetricsSilent);
            let words = "no endpoints available for service \"prometheus\"";
            return Outcome::Retryable(Cause::new(CauseKind::ApiUnavailable, words));
        }
        self.note_occasion(Occasion::MetricsAsked);
        Outcome::Done(Receipt::Series(self.gate_checks.ailing))
    }

    fn start_probe(&mut self, job: &ProbeJob) -> Outcome {
        let key = (job.start.round, job.start.number);
        if self.gate_checks.probes.contains_key(&key) {
            return Outcome::Stale;
        }
        let (now, host) = (self.queue.now(), self.host_named(&job.node));
        self.trace.record(&[word("probe"), key.0.0, u64::from(key.1)]);
        self.note_occasion(Occasion::ProbeStarted);
        let starts_at = now + self.draws.within(word("probe"), key.0.0, u64::from(key.1), STARTS);
        self.gate_checks.probes.insert(key, Probe { host, starts_at, has_started: false });
        Outcome::Done(Receipt::Written { resource_version: self.api_servers.home().revision() })
    }

    /// The probe pods of a round that have started. One that has started goes on running.
    fn list_probes(&mut self, round: ProbeRound) -> Outcome {
        let now = self.queue.now();
        let of_round = (round, 0)..=(round, u32::MAX);
        for (_, probe) in self.gate_checks.probes.range_mut(of_round.clone()) {
            let runs = |host: u32| {
                let is_stalled = self.gate_checks.stalled.contains(&host);
                let kubelet = self.kubelets.get(host as usize);
                !is_stalled && kubelet.is_some_and(|kubelet| kubelet.runs() && !kubelet.is_unfit())
            };
            probe.has_started |= probe.starts_at <= now && probe.host.is_some_and(runs);
        }
        let probes = self.gate_checks.probes.range(of_round);
        let started: Vec<u32> =
            probes.filter(|(_, probe)| probe.has_started).map(|((_, number), _)| *number).collect();
        Outcome::Done(Receipt::Probes(Arc::from(started)))
    }
}
