//! What is said at the end: why failures happened, and a list of all suites.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::failure::{Failure, failures};
use crate::outcome::Outcome;

/// At most so many characters of an error in the last lines: whoever sees only the end of a log has to see them all.
const BRIEF_MAX: usize = 300;

/// Failures in their own words, then every suite with its result and time, the longest first, and at last a line for each
/// failure.
pub(crate) fn report(outcomes: &[Outcome], at_once: usize) -> String {
    let failed = outcomes.iter().filter(|outcome| !outcome.has_passed()).collect::<Vec<_>>();
    let mut text = failed.iter().map(|outcome| explained(outcome)).collect::<String>();
    let passed = outcomes.len() - failed.len();
    let _ = writeln!(text, "\n==== suites: {passed} passed, {} failed, {at_once} at once", failed.len());
    text + &table(outcomes) + &failed.iter().map(|outcome| briefly(outcome)).collect::<String>()
}

/// A line for each failure of a suite: the test, and the end of its error, which tells the cause.
fn briefly(outcome: &Outcome) -> String {
    let found = failures(&outcome.text);
    if found.is_empty() {
        return format!("{}: {}\n", outcome.suite, outcome.verdict());
    }
    let line = |failure: &Failure| {
        let words = failure.words.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
        let words = words.collect::<Vec<_>>();
        let words = words.join(" ");
        let start = words.char_indices().rev().nth(BRIEF_MAX - 1).map_or(0, |(start, _)| start);
        let mark = if start > 0 { "... " } else { "" };
        format!("{}: {}: {mark}{}\n", outcome.suite, plain(outcome, failure), &words[start..])
    };
    found.iter().map(line).collect()
}

/// The name of a test within its suite.
fn plain<'f>(outcome: &Outcome, failure: &'f Failure) -> &'f str {
    let within = failure.test.strip_prefix(&outcome.suite);
    within.and_then(|rest| rest.strip_prefix("::")).unwrap_or(&failure.test)
}

fn explained(outcome: &Outcome) -> String {
    let mut text = String::new();
    let found = failures(&outcome.text);
    if found.is_empty() {
        let _ = writeln!(text, "\n---- {}: {}", outcome.suite, outcome.verdict());
    }
    for failure in found {
        let _ =
            writeln!(text, "\n---- {}: {}: {}", outcome.suite, plain(outcome, &failure), outcome.verdict());
        for line in &failure.words {
            let _ = writeln!(text, "{line}");
        }
        let _ = writeln!(text, "before that:");
        for line in failure.before.iter().chain(&failure.tails) {
            let _ = writeln!(text, "  | {line}");
        }
    }
    let _ = writeln!(text, "all that it printed: {}", outcome.log.display());
    text
}

/// One line per suite: how many of its runs passed, and how long they took.
fn table(outcomes: &[Outcome]) -> String {
    let mut suites = BTreeMap::<&str, Vec<&Outcome>>::new();
    for outcome in outcomes {
        suites.entry(&outcome.suite).or_default().push(outcome);
    }
    let mut rows = suites.into_iter().collect::<Vec<_>>();
    rows.sort_by_key(|(_, runs)| std::cmp::Reverse(runs.iter().map(|run| run.took).max()));
    rows.into_iter().map(|(suite, runs)| row(suite, &runs)).collect()
}

fn row(suite: &str, runs: &[&Outcome]) -> String {
    let passed = runs.iter().filter(|run| run.has_passed()).count();
    let mut result = if passed == runs.len() { "passed" } else { "FAILED" }.to_owned();
    if runs.len() > 1 {
        let _ = write!(result, " {passed} of {}", runs.len());
    }
    let seconds = runs.iter().map(|run| run.took.as_secs());
    let (least, most) = (seconds.clone().min().unwrap_or(0), seconds.max().unwrap_or(0));
    let time = if least == most { format!("{most} s") } else { format!("{least} to {most} s") };
    format!("  {suite:<20} {result:<16} {time:>14}\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::outcome::End;

    fn outcome(suite: &str, seconds: u64, text: &str) -> Outcome {
        let is_ok = text.contains("test result: ok");
        Outcome {
            suite: suite.to_owned(),
            took: Duration::from_secs(seconds),
            log: format!("/logs/{suite}.log").into(),
            text: text.to_owned(),
            end: if is_ok { End::Passed } else { End::Failed("exit status: 101".to_owned()) },
        }
    }

    #[test]
    fn the_report_begins_with_the_failures_and_ends_with_a_line_for_each() {
        let green = "test one ... ok\ntest result: ok. 1 passed; 0 failed\n";
        let red =
            "test heal::two ... \nhalf way\nError: why\nFAILED\ntest result: FAILED. 0 passed; 1 failed\n";
        let outcomes = [outcome("join", 7, green), outcome("heal", 70, red), outcome("join", 9, green)];
        let text = report(&outcomes, 4);
        let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        let expected = [
            "",
            "---- heal: two: FAILED",
            "Error: why",
            "before that:",
            "| half way",
            "all that it printed: /logs/heal.log",
            "",
            "==== suites: 2 passed, 1 failed, 4 at once",
            "heal FAILED 70 s",
            "join passed 2 of 2 7 to 9 s",
            "heal: two: Error: why",
        ];
        assert_eq!(words.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_program_that_printed_nothing_is_told_by_its_end() {
        let text = report(&[outcome("join", 1, "")], 1);
        assert!(text.starts_with("\n---- join: FAILED: exit status: 101\nall that"), "{text}");
        assert!(text.ends_with("\njoin: FAILED: exit status: 101\n"), "{text}");
    }

    #[test]
    fn the_last_lines_are_short() {
        let words = "é".repeat(2 * BRIEF_MAX);
        let text = report(&[outcome("join", 1, &format!("test one ... \nError: {words}\nFAILED\n"))], 1);
        let last = text.lines().last().unwrap();
        assert!(last.starts_with("join: one: ... é") && last.ends_with('é'), "{last}");
        assert_eq!(last.matches('é').count(), BRIEF_MAX);
    }
}
