//! Figures beside their goals.

/// A figure that must not be above a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// What it is.
    pub what: &'static str,
    /// Its value.
    pub found: f64,
    /// The goal.
    pub limit: f64,
    /// Its unit; may be empty.
    pub unit: &'static str,
    /// How many digits after the point it is told with.
    pub digits: usize,
}

/// A table of figures, for people.
#[must_use]
pub fn table(rows: &[Row]) -> String {
    let in_words = |row: &Row, value: f64| format!("{value:.*} {}", row.digits, row.unit);
    let what = rows.iter().map(|row| row.what.len()).max().unwrap_or_default();
    let width = rows.iter().map(|row| in_words(row, row.found).len()).max().unwrap_or_default();
    let line = |row: &Row| {
        let verdict = if row.found <= row.limit { "met" } else { "missed" };
        let (found, limit) = (in_words(row, row.found), in_words(row, row.limit));
        let line = format!("{:<what$}  {found:<width$}  {verdict:<6}  at most {limit}", row.what);
        format!("{}\n", line.trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_that_is_missed_is_told() {
        let rows = [
            Row { what: "writes", found: 1.012, limit: 1.05, unit: "", digits: 2 },
            Row { what: "memory", found: 100.0, limit: 48.0, unit: "MiB", digits: 0 },
        ];
        let expected = "writes  1.01     met     at most 1.05\nmemory  100 MiB  missed  at most 48 MiB\n";
        assert_eq!(table(&rows), expected);
    }
}
