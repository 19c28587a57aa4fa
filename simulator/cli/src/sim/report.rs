//! The result of a run, for people and for programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use comfy_table::Table;
use seaworthy_fleet::vocabulary::Occasion;
use seaworthy_fleet::vocabulary::readable;
use seaworthy_fleet::{Heartbeats, Summary};
use serde::Serialize;

use super::table::{counts, facts, number, words};
use crate::printing::{Output, Printing};

/// The result of a command.
pub(super) trait Outcome {
    /// For people.
    fn table(&self) -> String;

    /// For programs.
    fn document(&self) -> impl Serialize;

    /// Prints the result. The reader may have closed the pipe; the exit code still reports the result.
    fn print(&self, printing: &Printing) {
        let text = match printing.output {
            Output::Table => self.table(),
            Output::Json => serde_json::to_string_pretty(&self.document())
                .unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}")),
        };
        let _ = writeln!(std::io::stdout(), "{}", text.trim_end());
    }
}

/// The result of a run.
pub(super) struct Report<'a> {
    /// The summary from the simulator.
    pub(super) summary: &'a Summary,
    /// The goal of the scenario.
    pub(super) goal: &'a str,
    /// How long it took.
    pub(super) wall: Duration,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    wall_seconds: f64,
    events_per_second: u64,
    api_writes_per_machine: f64,
}

impl Outcome for Report<'_> {
    fn table(&self) -> String {
        let summary = self.summary;
        let mut text = String::new();
        let verdict = if summary.is_good() { "converged, no invariant broken" } else { "FAILED" };
        let _ = writeln!(text, "{}: {verdict}", summary.scenario);
        let _ = writeln!(text, "{}\n", self.goal.trim());
        let _ = writeln!(text, "{}\n", self.facts());
        if let Some(versions) = self.versions() {
            let _ = writeln!(text, "{versions}\n");
        }
        if !summary.occasions.is_empty() {
            let _ = writeln!(text, "{}\n", self.occasions());
        }
        for breach in &summary.violations {
            let _ = writeln!(text, "VIOLATION {} at {}: {}", breach.invariant, breach.at, breach.detail);
        }
        if summary.violations.is_empty() {
            for missing in &summary.missing {
                let _ = writeln!(text, "MISSING {missing}");
            }
        }
        for occasion in &summary.unseen {
            let _ = writeln!(text, "UNSEEN {occasion}: expected under `sometimes`, but it did not happen");
        }
        text
    }

    fn document(&self) -> impl Serialize {
        Document {
            summary: self.summary,
            wall_seconds: self.wall.as_secs_f64(),
            events_per_second: self.events_per_second(),
            api_writes_per_machine: self.per_machine(self.summary.api_writes - self.summary.lease_renewals),
        }
    }
}

impl Report<'_> {
    fn events_per_second(&self) -> u64 {
        let seconds = self.wall.as_secs_f64().max(1e-6);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rate, rounded for people"
        )]
        let rate = (self.summary.events as f64 / seconds) as u64;
        rate
    }

    fn per_machine(&self, count: u64) -> f64 {
        count as f64 / f64::from(self.summary.machines.max(1))
    }

    fn facts(&self) -> Table {
        let summary = self.summary;
        let budget = summary.budget;
        let machines =
            format!("{} ({} reachable at the end)", number(summary.machines), number(summary.reachable));
        let operations = format!(
            "{} ({} hosts harmed by a failing release)",
            number(summary.operations),
            number(summary.harmed)
        );
        let used = format!(
            "{} of {} at its peak ({} hosts at work at once, at most)",
            number(budget.peak),
            number(budget.limit),
            number(budget.at_work)
        );
        let writes = format!(
            "{} ({:.2} per machine)",
            number(summary.api_writes - summary.lease_renewals),
            self.per_machine(summary.api_writes - summary.lease_renewals)
        );
        let simulated = readable(Duration::from_secs(summary.simulated_seconds));
        let time = format!("{simulated} simulated in {:.2} s", self.wall.as_secs_f64());
        let events = format!("{} ({} per second)", number(summary.events), number(self.events_per_second()));
        let rows = [
            ("machines", machines),
            ("seed", summary.seed.to_string()),
            ("operations on hosts", operations),
            ("maxUnavailable", used),
            ("writes to the API server", writes),
            ("renewals of the Lease", number(summary.lease_renewals)),
            ("decisions", format!("{} turns", number(summary.turns))),
            ("time", time),
            ("events", events),
            ("trace hash", summary.trace_hash.clone()),
        ];
        facts(rows.into_iter().chain(self.moves()).chain(self.heartbeats()))
    }

    /// How often a pod had to move, on average over those that were evicted at all. It may move again each time its new
    /// Node is drained.
    fn moves(&self) -> Option<(&'static str, String)> {
        let count = |of: Occasion| self.summary.occasions.get(of.name()).copied().unwrap_or_default();
        let (evicted, again) = (count(Occasion::PodEvicted), count(Occasion::PodEvictedAgain));
        let moves = evicted as f64 / evicted.saturating_sub(again).max(1) as f64;
        let text = format!("{moves:.2} ({} evictions)", number(evicted));
        (evicted > 0).then_some(("moves per pod drained", text))
    }

    /// Only explicit heartbeats are counted.
    fn heartbeats(&self) -> Option<(&'static str, String)> {
        let (arrived, failed) = (self.summary.node_renewals, self.summary.node_renewals_failed);
        let renewals = format!("{} ({} did not get through)", number(arrived + failed), number(failed));
        (self.summary.heartbeats == Heartbeats::Explicit).then_some(("renewals by kubelets", renewals))
    }

    fn versions(&self) -> Option<Table> {
        let (before, after) = (&self.summary.versions_before, &self.summary.versions_after);
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        if names.is_empty() {
            return None;
        }
        let count = |of: &BTreeMap<String, u32>, name| number(of.get(name).copied().unwrap_or(0));
        let rows = names.into_iter().map(|name| [name.clone(), count(before, name), count(after, name)]);
        Some(counts(["version", "hosts before", "hosts after"], rows))
    }

    fn occasions(&self) -> Table {
        let rows = self.summary.occasions.iter().map(|(name, count)| [words(name), number(*count)]);
        counts(["what happened", "times"], rows)
    }
}
