//! One line on the terminal that shows how far a run is. Nothing is printed elsewhere.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::time::{Duration, Instant};

use seaworthy_fleet::{Progress, Scenario};

/// The shortest time between two updates: eyes are slow.
pub(super) const INTERVAL: Duration = Duration::from_millis(100);

/// The line.
pub(super) struct ProgressLine {
    name: String,
    quiet: Duration,
    started: Instant,
    shown: Option<Instant>,
    visible: bool,
}

impl ProgressLine {
    /// A line for a run of `scenario`.
    pub(super) fn new(scenario: &Scenario) -> Self {
        Self {
            name: scenario.name.clone(),
            quiet: scenario.quiet.after.0,
            started: Instant::now(),
            shown: None,
            visible: stderr().is_terminal(),
        }
    }

    /// Shows how far the run is.
    pub(super) fn show(&mut self, progress: &Progress) {
        let now = Instant::now();
        if !self.visible || self.shown.is_some_and(|shown| now.duration_since(shown) < INTERVAL) {
            return;
        }
        self.shown = Some(now);
        let phase = if progress.chaos { "chaos" } else { "quiet" };
        let part = progress.simulated.as_secs_f64() / self.quiet.as_secs_f64().max(1.0);
        let bar: String = (0..20).map(|cell| if f64::from(cell) < part * 20.0 { '#' } else { '.' }).collect();
        let _ = write!(
            stderr(),
            "\r\x1b[K{} [{bar}] {phase}  {} simulated in {:.1} s  {} operations  {} events",
            self.name,
            seaworthy_fleet::vocabulary::readable(Duration::from_secs(progress.simulated.as_secs())),
            self.started.elapsed().as_secs_f64(),
            progress.operations,
            progress.events,
        );
        let _ = stderr().flush();
    }

    /// Removes the line.
    pub(super) fn clear(&mut self) {
        if self.visible && self.shown.is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

/// The progress of many runs. Outside a terminal it prints a line twice a minute.
pub(super) struct SwarmLine {
    seeds: u64,
    started: Instant,
    shown: Instant,
    visible: bool,
}

/// The shortest time between two lines where lines stay.
const LINE_EVERY: Duration = Duration::from_secs(30);

impl SwarmLine {
    /// A line for this number of runs.
    pub(super) fn new(seeds: u64) -> Self {
        let now = Instant::now();
        Self { seeds, started: now, shown: now, visible: stderr().is_terminal() }
    }

    /// Shows how many have ended.
    pub(super) fn show(&mut self, ended: u64) {
        let interval = if self.visible { INTERVAL } else { LINE_EVERY };
        if self.shown.elapsed() < interval {
            return;
        }
        self.shown = Instant::now();
        let seconds = self.started.elapsed().as_secs_f64();
        let rate = ended as f64 / seconds.max(0.001);
        let (before, after) = if self.visible { ("\r\x1b[K", "") } else { ("", "\n") };
        let all = self.seeds;
        let _ = write!(stderr(), "{before}{ended} of {all} in {seconds:.0} s, {rate:.1} per second{after}");
        let _ = stderr().flush();
    }

    /// Removes the line.
    pub(super) fn clear(&mut self) {
        if self.visible {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}
