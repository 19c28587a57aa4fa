//! Totals over many runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use seaworthy_fleet::Summary;
use seaworthy_fleet::swarm::Swarm;
use seaworthy_fleet::vocabulary::Occasion;
use serde::Serialize;

use super::failures::Group;
use super::report::Outcome;
use super::table::{counts, facts, number, words};

/// Totals over many runs.
#[derive(Debug, Default)]
pub(super) struct Count {
    /// Runs that ended.
    pub(super) seeds: u64,
    machines: u64,
    events: u64,
    twice: u64,
    /// For each fault: the number of runs in which it struck, and the number of strikes.
    faults: BTreeMap<String, (u64, u64)>,
    /// For each occasion: the number of runs in which it occurred, and the number of occurrences.
    occasions: BTreeMap<&'static str, (u64, u64)>,
}

/// The printed form.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Counted {
    good: bool,
    seeds: u64,
    machines: u64,
    events: u64,
    run_twice: u64,
    wall_seconds: f64,
    /// CPU time of the process, if the system reports it.
    cpu_seconds: Option<f64>,
    seeds_per_cpu_hour: Option<u64>,
    faults: BTreeMap<String, (u64, u64)>,
    occasions: BTreeMap<&'static str, (u64, u64)>,
    never: Vec<&'static str>,
    /// The checks that no run judged, each with the number of files that have it.
    left_out: BTreeMap<String, u32>,
    /// The failures, with their seeds.
    failures: Vec<Group>,
}

impl Count {
    /// Adds a run.
    pub(super) fn add(&mut self, summary: &Summary, twice: bool) {
        self.seeds += 1;
        self.machines += u64::from(summary.machines);
        self.events += summary.events;
        self.twice += u64::from(twice);
        for (fault, times) in &summary.strikes {
            // A second fault of the same name counts with the first.
            let name = fault.split('#').next().unwrap_or(fault);
            if *times > 0 {
                let (runs, all) = self.faults.entry(name.to_owned()).or_default();
                *runs += 1;
                *all += times;
            }
        }
        for (occasion, times) in &summary.occasions {
            let (runs, all) = self.occasions.entry(occasion).or_default();
            *runs += 1;
            *all += times;
        }
    }

    /// The printed form.
    pub(super) fn report(self, wall: Duration, swarm: &Swarm, failures: Vec<Group>) -> Counted {
        let cpu_seconds = cpu_seconds();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rate, rounded for people"
        )]
        let rate = |cpu: f64| (self.seeds as f64 / cpu.max(0.01) * 3600.0) as u64;
        let reached: BTreeSet<&str> = self.occasions.keys().copied().collect();
        let names = Occasion::ALL.iter().map(|occasion| occasion.name());
        Counted {
            good: failures.is_empty(),
            failures,
            seeds: self.seeds,
            machines: self.machines,
            events: self.events,
            run_twice: self.twice,
            wall_seconds: wall.as_secs_f64(),
            cpu_seconds,
            seeds_per_cpu_hour: cpu_seconds.map(rate),
            never: names.filter(|name| !reached.contains(name)).collect(),
            left_out: swarm.left_out().clone(),
            faults: self.faults,
            occasions: self.occasions,
        }
    }
}

impl Outcome for Counted {
    fn document(&self) -> impl Serialize {
        self
    }

    fn table(&self) -> String {
        let mut text = String::new();
        let verdict = if self.good { "all converged, no invariant broken" } else { "FAILED" };
        let _ = writeln!(text, "{} seeds: {verdict}\n", number(self.seeds));
        let cpu = self.cpu_seconds.map(|cpu| format!(", {cpu:.1} s of CPU time")).unwrap_or_default();
        let mean = self.machines / self.seeds.max(1);
        let table = facts([
            ("machines", format!("{} in all, {} per seed", number(self.machines), number(mean))),
            ("events", number(self.events)),
            ("run twice and compared", number(self.run_twice)),
            ("time", format!("{:.1} s{cpu}", self.wall_seconds)),
            ("seeds per CPU-hour", self.seeds_per_cpu_hour.map_or("unknown".to_owned(), number)),
        ]);
        let _ = writeln!(text, "{table}\n");
        let faults = self
            .faults
            .iter()
            .map(|(name, (runs, all))| [name.replace('_', " "), number(*runs), number(*all)]);
        let _ = writeln!(text, "{}\n", counts(["fault", "seeds", "strikes"], faults));
        let occasions =
            self.occasions.iter().map(|(name, (runs, all))| [words(name), number(*runs), number(*all)]);
        let _ = writeln!(text, "{}", counts(["what happened", "seeds", "times"], occasions));
        if !self.never.is_empty() {
            let names: Vec<String> = self.never.iter().map(|name| words(name)).collect();
            let _ = writeln!(text, "\nnever: {}", names.join(", "));
        }
        if !self.left_out.is_empty() {
            let checks: Vec<String> =
                self.left_out.iter().map(|(check, files)| format!("{check} in {files}")).collect();
            let _ =
                writeln!(text, "\nnot judged, as they hold for a file's own history: {}", checks.join(", "));
        }
        let failed: usize = self.failures.iter().map(|group| group.seeds.len()).sum();
        if failed > 0 {
            let _ = writeln!(text, "\n{} failed:", number(failed as u64));
        }
        for Group { invariant, scenario, seeds } in &self.failures {
            let list: Vec<String> = seeds.iter().map(ToString::to_string).collect();
            let _ = writeln!(
                text,
                "  {invariant}, {} of {scenario}: {}",
                number(seeds.len() as u64),
                list.join(" ")
            );
        }
        text
    }
}

/// The CPU time of this process on Linux: user and system time are fields 14 and 15 of its `stat`, in hundredths of a
/// second.
fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the name of the program in parentheses, and may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: Vec<u64> =
        fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    (ticks.len() == 2).then(|| ticks.iter().sum::<u64>() as f64 / 100.0)
}
