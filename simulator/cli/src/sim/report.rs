//! What came of a run, for people and for programs.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};
use seaworthy_fleet::Summary;
use seaworthy_fleet::world::readable;
use serde::Serialize;

use super::Output;

/// What came of a run.
pub(super) struct Report<'a> {
    /// What the simulator says.
    pub(super) summary: &'a Summary,
    /// What the scenario is about.
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

impl Report<'_> {
    /// Prints it. Whoever reads it may have gone away; the exit code still says what came of it.
    pub(super) fn print(&self, output: Output) {
        let text = match output {
            Output::Table => self.table(),
            Output::Json => self.json(),
        };
        let _ = writeln!(std::io::stdout(), "{text}");
    }

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

    /// For programs.
    fn json(&self) -> String {
        let document = Document {
            summary: self.summary,
            wall_seconds: self.wall.as_secs_f64(),
            events_per_second: self.events_per_second(),
            api_writes_per_machine: self.per_machine(self.summary.api_writes - self.summary.lease_renewals),
        };
        serde_json::to_string_pretty(&document).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
    }

    /// For people.
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
            let _ =
                writeln!(text, "UNSEEN {occasion}: the scenario means to show it, and this history does not");
        }
        text.truncate(text.trim_end().len());
        text
    }

    fn facts(&self) -> Table {
        let summary = self.summary;
        let mut table = plain();
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
        for (name, value) in rows {
            table.add_row([name.to_owned(), value]);
        }
        table
    }

    fn versions(&self) -> Option<Table> {
        let (before, after) = (&self.summary.versions_before, &self.summary.versions_after);
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        if names.is_empty() {
            return None;
        }
        let mut table = plain();
        table.set_header(["version", "hosts before", "hosts after"]);
        for name in names {
            let count =
                |of: &std::collections::BTreeMap<String, u32>| number(of.get(name).copied().unwrap_or(0));
            table.add_row([name.clone(), count(before), count(after)]);
        }
        align_numbers(&mut table);
        Some(table)
    }

    fn occasions(&self) -> Table {
        let mut table = plain();
        table.set_header(["what happened", "times"]);
        for (name, count) in &self.summary.occasions {
            table.add_row([words(name), number(*count)]);
        }
        align_numbers(&mut table);
        table
    }
}

pub(super) fn plain() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

pub(super) fn align_numbers(table: &mut Table) {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// `OperatorCrashed` as people write it.
pub(super) fn words(name: &str) -> String {
    let mut words = String::new();
    for (index, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && index > 0 {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

/// A number with its thousands apart.
pub(super) fn number(value: impl Into<u64>) -> String {
    let digits = value.into().to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{number, words};

    #[test]
    fn numbers_and_names_are_readable() {
        let table = [(0u64, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")];
        for (value, text) in table {
            assert_eq!(number(value), text);
        }
        assert_eq!(words("OperatorCrashed"), "operator crashed");
    }
}
