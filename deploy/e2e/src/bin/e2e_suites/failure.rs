//! Why a test failed, found in what its program printed.

/// At most so many lines of an error, and so many of what came before it.
const WORDS_MAX: usize = 40;
const BEFORE_MAX: usize = 12;

/// At most so many lines of each log, and so many characters of each of these lines: a world has a dozen logs.
const TAIL_MAX: usize = 4;
const TAIL_LINE_MAX: usize = 300;

/// At most so many characters of a line: some errors hold whole objects.
const LINE_MAX: usize = 1000;

/// A test that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Its name.
    pub(crate) test: String,
    /// The error or the panic, in its own words.
    pub(crate) words: Vec<String>,
    /// What the test printed last before.
    pub(crate) before: Vec<String>,
    /// The ends of the logs of its world, each after the line that names it.
    pub(crate) tails: Vec<String>,
}

/// The failures that a test program has printed, in their order. A program that was killed has one: its last test.
pub(crate) fn failures(text: &str) -> Vec<Failure> {
    let mut sections = Vec::<Section<'_>>::new();
    for line in text.lines() {
        match begun_test(line) {
            Some((name, rest)) => sections.push(Section { name, lines: vec![rest] }),
            None => {
                let Some(section) = sections.last_mut() else { continue };
                section.lines.push(line);
            }
        }
    }
    sections.iter().filter_map(Section::failure).collect()
}

/// What one test printed: the lines from `test NAME ... ` on.
struct Section<'t> {
    name: &'t str,
    lines: Vec<&'t str>,
}

fn begun_test(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("test ")?.split_once(" ... ").filter(|(name, _)| !name.contains(' '))
}

impl Section<'_> {
    fn failure(&self) -> Option<Failure> {
        let end = self.lines.iter().position(|line| is_verdict(line)).unwrap_or(self.lines.len());
        if self.lines.get(end) == Some(&"ok") {
            return None;
        }
        let printed = &self.lines[..end];
        let words = match printed.iter().position(|line| begins_words(line)) {
            Some(start) => words(&printed[start..]),
            None => Vec::new(),
        };
        let first = printed.iter().position(|line| begins_words(line) || is_tail(line)).unwrap_or(end);
        let before = printed[..first].iter().filter(|line| !line.trim().is_empty());
        let before = before.map(|line| shortened(line)).collect::<Vec<_>>();
        let before = before[before.len().saturating_sub(BEFORE_MAX)..].to_vec();
        Some(Failure { test: self.name.to_owned(), words, before, tails: tails(printed) })
    }
}

/// With `--nocapture` the verdict of a test that printed something stands on a line of its own.
fn is_verdict(line: &str) -> bool {
    ["ok", "FAILED"].contains(&line)
}

/// The first line of an error that a test returned, or of a panic.
fn begins_words(line: &str) -> bool {
    line.starts_with("Error: ") || (line.starts_with("thread '") && line.contains(" panicked at "))
}

/// The ends of logs, which follow an error.
fn is_tail(line: &str) -> bool {
    line.starts_with("--- ")
}

fn words(lines: &[&str]) -> Vec<String> {
    let ends = |line: &&&str| {
        let is_trace = line.eq_ignore_ascii_case("stack backtrace:");
        is_trace || is_tail(line) || line.starts_with("note: run with `RUST_BACKTRACE")
    };
    let words = lines.iter().take_while(|line| !ends(line)).collect::<Vec<_>>();
    let mut shown = words.iter().take(WORDS_MAX).map(|line| shortened(line)).collect::<Vec<_>>();
    if words.len() > WORDS_MAX {
        shown.push(format!("... and {} lines more", words.len() - WORDS_MAX));
    }
    shown
}

/// The last lines of each log whose end a test has printed.
fn tails(lines: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = lines;
    while let Some(start) = rest.iter().position(|line| is_tail(line)) {
        found.push(rest[start].to_owned());
        rest = &rest[start + 1..];
        let end = rest.iter().position(|line| is_tail(line) || begins_words(line)).unwrap_or(rest.len());
        let log = rest[..end].iter().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>();
        let last = &log[log.len().saturating_sub(TAIL_MAX)..];
        found.extend(last.iter().map(|line| cut(line, TAIL_LINE_MAX)));
    }
    found
}

fn shortened(line: &str) -> String {
    cut(line, LINE_MAX)
}

fn cut(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{} ... and {} bytes more", &line[..end], line.len() - end),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;

    const ERROR: &str = "\nrunning 2 tests\ntest first ... run seaworthy-1-0: logs in /logs\nok\n\
        test second ... run seaworthy-1-1: logs in /logs\n===== a scene: before\nleft behind: a file\n\
        --- end of /logs/audit.log ---\n{}\nError: a scene\n\nCaused by:\n    left behind: a file\nFAILED\n\n\
        failures:\n\nfailures:\n    second\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n";

    #[test]
    fn an_error_is_told_with_what_came_before_it() {
        let found = failures(ERROR);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].test, "second");
        assert_eq!(found[0].words, ["Error: a scene", "", "Caused by:", "    left behind: a file"]);
        let before = ["run seaworthy-1-1: logs in /logs", "===== a scene: before", "left behind: a file"];
        assert_eq!(found[0].before, before);
        assert_eq!(found[0].tails, ["--- end of /logs/audit.log ---", "{}"]);
    }

    #[test]
    fn of_each_log_the_last_lines_are_told() {
        let log = (0..9).map(|line| format!("line {line}\n")).collect::<String>();
        let text =
            format!("test it ... \n--- end of a ---\n{log}\n--- end of b ---\n{log}\nError: why\nFAILED\n");
        let last = ["line 5", "line 6", "line 7", "line 8"];
        let tail = |name| iter::once(name).chain(last);
        let expected = tail("--- end of a ---").chain(tail("--- end of b ---")).collect::<Vec<_>>();
        assert_eq!(failures(&text)[0].tails, expected);
    }

    #[test]
    fn a_panic_is_told_without_advice_or_trace() {
        for end in ["note: run with `RUST_BACKTRACE=1`", "stack backtrace:\n   0: it", "--- end of x ---\ny"]
        {
            let text = format!(
                "test it ... \nthread 'it' (7) panicked at it.rs:3:5:\nassertion failed: a\n{end}\nFAILED\n"
            );
            let words = ["thread 'it' (7) panicked at it.rs:3:5:", "assertion failed: a"];
            assert_eq!(failures(&text)[0].words, words);
        }
    }

    #[test]
    fn a_program_that_was_killed_has_failed_in_its_last_test() {
        let found = failures("test one ... ok\ntest two ... \nhalf way\n");
        let expected =
            Failure { test: "two".into(), words: vec![], before: vec!["half way".into()], tails: vec![] };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn long_errors_are_cut() {
        let line = "x".repeat(LINE_MAX + 5);
        let text = format!("test it ... \nError: {}\n{line}\nFAILED\n", "y\n".repeat(50));
        let words = &failures(&text)[0].words;
        assert_eq!(words.len(), WORDS_MAX + 1);
        assert!(words[WORDS_MAX].starts_with("... and "), "{words:?}");
        assert!(shortened(&line).ends_with("x ... and 5 bytes more"));
    }
}
