//! What became of a suite.

use std::path::PathBuf;
use std::time::Duration;

/// One run of a suite.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) suite: String,
    pub(crate) took: Duration,
    /// Everything that it has printed.
    pub(crate) log: PathBuf,
    pub(crate) text: String,
    pub(crate) end: End,
}

/// How the process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Passed,
    /// The exit status, or why there is none.
    Failed(String),
    /// It still ran after the limit, and was killed.
    TooLong(Duration),
}

impl Outcome {
    /// Whether every test passed. A program that ends well without saying so has not.
    pub(crate) fn has_passed(&self) -> bool {
        self.end == End::Passed && self.results().next().is_some()
    }

    /// The lines in which the test program sums up: `test result: ok. 1 passed; 0 failed; ...`.
    pub(crate) fn results(&self) -> impl Iterator<Item = &str> {
        self.text.lines().filter(|line| line.starts_with("test result: "))
    }

    /// Those lines, or one in their form if the program did not come to its end.
    pub(crate) fn summary(&self) -> String {
        let lines = self.results().map(|line| format!("{line}\n")).collect::<String>();
        if lines.is_empty() { "test result: FAILED. 0 passed; 1 failed\n".to_owned() } else { lines }
    }

    /// How it ended, in a word or two.
    pub(crate) fn verdict(&self) -> String {
        match &self.end {
            End::Passed if self.has_passed() => "passed".to_owned(),
            End::Passed => "FAILED: it ran no test".to_owned(),
            End::Failed(_) if self.results().next().is_some() => "FAILED".to_owned(),
            End::Failed(why) => format!("FAILED: {why}"),
            End::TooLong(limit) => format!("FAILED: killed after {} s", limit.as_secs()),
        }
    }
}
