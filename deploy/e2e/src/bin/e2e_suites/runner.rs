//! Runs suites, several at the same time.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use crate::outcome::{End, Outcome};
use crate::suite::Suite;

/// What a suite may take of the machine's memory, in GiB: a control plane and three nodes take less.
const GIB_OF_A_SUITE: u64 = 3;

/// The suites beyond one for each processor begin only while processes wait for a processor in less than this part of a minute,
/// in percent: where nothing gets enough time, the deadlines of suites run out.
const BUSY: f64 = 50.0;

/// Pause between two looks at a suite; short against the shortest one.
const PAUSE: Duration = Duration::from_millis(100);

/// How and where suites run.
#[derive(Debug)]
pub(crate) struct Runner {
    /// The folder that receives what they print.
    pub(crate) logs: PathBuf,
    pub(crate) limit: Duration,
    pub(crate) at_once: usize,
    /// So many of them run however busy the machine is.
    pub(crate) always: usize,
}

/// One run of a suite that is still to be done.
struct Job<'s> {
    suite: &'s Suite,
    log: PathBuf,
}

/// The most suites that this machine can run at the same time. Most of a suite's time is waiting, so two for each processor.
pub(crate) fn room() -> Result<usize> {
    let processors = thread::available_parallelism()?.get();
    let memory = fs::read_to_string("/proc/meminfo").context("cannot read /proc/meminfo")?;
    let available = gib_available(&memory).context("/proc/meminfo does not say what is available")?;
    Ok(fits(processors, available))
}

/// In how much of the last minute a process waited for a processor, in percent; `None` where the kernel does not say.
fn pressure(text: &str) -> Option<f64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    some.split_whitespace().find_map(|word| word.strip_prefix("avg60="))?.parse().ok()
}

fn fits(processors: usize, gib: u64) -> usize {
    let by_memory = usize::try_from(gib / GIB_OF_A_SUITE).unwrap_or(usize::MAX);
    (2 * processors).min(by_memory).max(1)
}

fn gib_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib = line.split_whitespace().next()?.parse::<u64>().ok()?;
    Some(kib >> 20)
}

impl Runner {
    /// Runs each suite so many times, and returns what became of them in the order in which they ended.
    pub(crate) fn run(&self, suites: &[Suite], times: u32) -> Result<Vec<Outcome>> {
        fs::create_dir_all(&self.logs).with_context(|| format!("cannot create {}", self.logs.display()))?;
        let jobs = (1..=times).flat_map(|round| suites.iter().map(move |suite| (suite, round)));
        let jobs = jobs.map(|(suite, round)| Job { suite, log: self.log(suite, round) });
        let jobs = Mutex::new(jobs.collect::<VecDeque<_>>());
        let outcomes = Mutex::new(Vec::new());
        println!("{} suites, {} at once; logs in {}", suites.len(), self.at_once, self.logs.display());
        thread::scope(|scope| {
            let (jobs, outcomes) = (&jobs, &outcomes);
            let workers =
                (0..self.at_once).map(|worker| scope.spawn(move || self.work(worker, jobs, outcomes)));
            let workers = workers.collect::<Vec<_>>();
            let mut joined = workers.into_iter().map(|worker| worker.join());
            joined.try_for_each(|worker| worker.map_err(|_| anyhow!("a thread panicked"))?)
        })?;
        Ok(outcomes.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn log(&self, suite: &Suite, round: u32) -> PathBuf {
        let number = if round == 1 { String::new() } else { format!("-{round}") };
        self.logs.join(format!("{}{number}.log", suite.name))
    }

    /// Runs one job after the other until none is left.
    fn work(
        &self,
        worker: usize,
        jobs: &Mutex<VecDeque<Job<'_>>>,
        outcomes: &Mutex<Vec<Outcome>>,
    ) -> Result<()> {
        loop {
            let Some(job) = self.next(worker, jobs) else { return Ok(()) };
            let outcome = self.play(&job)?;
            // Held while it prints, so that the lines of two suites do not mix.
            let mut outcomes = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
            let (verdict, took) = (outcome.verdict(), outcome.took.as_secs());
            print!("\n{}: {verdict} after {took} s\n{}", outcome.suite, outcome.summary());
            outcomes.push(outcome);
        }
    }

    /// The next job, as soon as the machine has room for it.
    fn next<'s>(&self, worker: usize, jobs: &Mutex<VecDeque<Job<'s>>>) -> Option<Job<'s>> {
        loop {
            let mut jobs = jobs.lock().unwrap_or_else(PoisonError::into_inner);
            if jobs.is_empty() || self.has_room(worker) {
                return jobs.pop_front();
            }
            drop(jobs);
            thread::sleep(PAUSE);
        }
    }

    /// Whether this worker may begin a suite. Each further one needs a machine that is less busy.
    fn has_room(&self, worker: usize) -> bool {
        let Some(further) = (worker + 1).checked_sub(self.always).filter(|further| *further > 0) else {
            return true;
        };
        let pressure = fs::read_to_string("/proc/pressure/cpu").ok().and_then(|text| pressure(&text));
        pressure.is_none_or(|pressure| pressure * further as f64 <= BUSY)
    }

    fn play(&self, job: &Job<'_>) -> Result<Outcome> {
        let start = Instant::now();
        let end = match spawn(job.suite, &job.log) {
            Ok(child) => self.wait(child, start)?,
            Err(error) => End::Failed(format!("{error:#}")),
        };
        let bytes = fs::read(&job.log).with_context(|| format!("cannot read {}", job.log.display()))?;
        Ok(Outcome {
            suite: job.suite.name.clone(),
            took: start.elapsed(),
            log: job.log.clone(),
            text: String::from_utf8_lossy(&bytes).into_owned(),
            end,
        })
    }

    fn wait(&self, mut child: Child, start: Instant) -> Result<End> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(ended(status));
            }
            if start.elapsed() >= self.limit {
                child.kill()?;
                child.wait()?;
                return Ok(End::TooLong(self.limit));
            }
            thread::sleep(PAUSE);
        }
    }
}

fn ended(status: ExitStatus) -> End {
    if status.success() { End::Passed } else { End::Failed(status.to_string()) }
}

/// Starts a suite as cargo does: in the folder of its crate. Its worlds are its own, so its tests run one at a time.
fn spawn(suite: &Suite, log: &Path) -> Result<Child> {
    let file = File::create(log).with_context(|| format!("cannot create {}", log.display()))?;
    let errors = file.try_clone()?;
    let mut command = Command::new(&suite.program);
    if !suite.tests.is_empty() {
        command.arg("--exact").args(&suite.tests);
    }
    command.args(["--test-threads=1", "--nocapture"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    command.stdin(Stdio::null()).stdout(file).stderr(errors);
    command.spawn().with_context(|| format!("cannot start {}", suite.program.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn processors_and_memory_say_how_many_run_at_once() {
        assert_eq!(gib_available("MemTotal: 1 kB\nMemAvailable:   25165824 kB\n"), Some(24));
        assert_eq!(gib_available("MemTotal: 1 kB\n"), None);
        assert_eq!((fits(2, 24), fits(16, 24), fits(2, 7), fits(2, 1)), (4, 8, 2, 1));
    }

    #[test]
    fn a_busy_machine_is_told_by_the_kernel() {
        let text = "some avg10=84.68 avg60=74.22 avg300=88.95 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        assert_eq!(pressure(text), Some(74.22));
        assert_eq!(pressure(""), None);
        let runner = Runner { logs: PathBuf::new(), limit: Duration::ZERO, at_once: 4, always: 2 };
        assert!(runner.has_room(0) && runner.has_room(1));
    }

    /// A runner with suites that are shell scripts.
    fn scripts(name: &str, limit: Duration, texts: &[(&str, &str)]) -> (Runner, Vec<Suite>) {
        let logs = std::env::temp_dir().join(format!("seaworthy-suites-{}-{name}", std::process::id()));
        fs::create_dir_all(&logs).unwrap();
        let suites = texts.iter().map(|(name, text)| {
            let program = logs.join(format!("{name}.sh"));
            fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            Suite { name: (*name).to_owned(), program, tests: Vec::new() }
        });
        let suites = suites.collect();
        (Runner { logs, limit, at_once: 2, always: 2 }, suites)
    }

    #[test]
    fn a_suite_that_fails_does_not_stop_the_others_and_each_has_a_log() {
        let (runner, suites) = scripts(
            "fails",
            Duration::from_secs(60),
            &[
                ("red", "echo 'test result: FAILED. 0 passed; 1 failed;'; exit 101"),
                ("green", "echo why >&2; echo 'test result: ok. 1 passed; 0 failed;'"),
                ("dead", "kill -KILL $$"),
                ("mute", "true"),
            ],
        );
        let mut outcomes = runner.run(&suites, 2).unwrap();
        outcomes.sort_by(|one, other| one.log.cmp(&other.log));
        let verdicts = outcomes.iter().step_by(2).map(Outcome::verdict).collect::<Vec<_>>();
        assert_eq!(outcomes.len(), 8);
        assert!(verdicts[0].starts_with("FAILED: signal: 9"), "{verdicts:?}");
        assert_eq!(verdicts[1..], ["passed", "FAILED: it ran no test", "FAILED"]);
        assert_eq!(outcomes[0].summary(), "test result: FAILED. 0 passed; 1 failed\n");
        assert!(outcomes[2].text.starts_with("why\n"), "{}", outcomes[2].text);
        fs::remove_dir_all(&runner.logs).unwrap();
    }

    #[test]
    fn a_suite_that_takes_too_long_is_killed() {
        let (runner, suites) = scripts("long", Duration::ZERO, &[("long", "exec sleep 600")]);
        let outcomes = runner.run(&suites, 1).unwrap();
        assert_eq!(outcomes[0].end, End::TooLong(Duration::ZERO));
        assert!(!outcomes[0].has_passed());
        fs::remove_dir_all(&runner.logs).unwrap();
    }
}
