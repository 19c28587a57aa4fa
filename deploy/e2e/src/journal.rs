//! The journals of a host say what it did. They are parsed here without any code of the program that writes them.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::host::Host;
use crate::world::World;

/// Prints every journal after a line with its name, oldest operation first.
const PRINT: &str = r#"cd /opt/seaworthy/state/operations 2>/dev/null || exit 0
for f in $(ls -v | grep '\.journal$'); do echo "== ${f%.journal}"; cat "$f"; done"#;

/// One operation of a host, as its journal tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// `eEPOCH-sSEQUENCE`.
    pub id: String,
    /// Its steps, in order.
    pub lines: Vec<Line>,
}

/// The operations of hosts, by the hosts' names.
pub type Journals = BTreeMap<String, Vec<Operation>>;

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// When, in milliseconds since the Unix epoch. All hosts share the clock of the machine that they run on.
    pub at: u64,
    /// Its name, for example `swapped`.
    pub step: String,
    /// What else the journal says about it.
    pub detail: Value,
}

impl Operation {
    /// How often this step was done.
    #[must_use]
    pub fn count(&self, step: &str) -> usize {
        self.lines.iter().filter(|line| line.step == step).count()
    }

    /// When it was accepted.
    ///
    /// # Errors
    /// The journal has no line.
    pub fn accepted(&self) -> Result<u64> {
        Ok(self.lines.first().with_context(|| format!("{} has no journal", self.id))?.at)
    }

    /// When it ended, and what became of it (`Succeeded`, `Interrupted` or what failed); `None` while it runs.
    #[must_use]
    pub fn end(&self) -> Option<(u64, String)> {
        let last = self.lines.last().filter(|line| line.step == "ended")?;
        let state = &last.detail["state"];
        Some((last.at, state.as_str().map_or_else(|| state.to_string(), str::to_owned)))
    }

    /// Whether it has ended and succeeded.
    #[must_use]
    pub fn has_succeeded(&self) -> bool {
        self.end().is_some_and(|(_, state)| state == "Succeeded")
    }

    /// Its steps in one line, each with its time, for messages.
    #[must_use]
    pub fn summary(&self) -> String {
        let steps = self.lines.iter().map(|line| format!("{} {}", line.at, line.step));
        format!("{}: {} {:?}", self.id, steps.collect::<Vec<_>>().join(", "), self.end())
    }
}

impl Host {
    /// All operations in its journals, oldest first. Works also while it is off.
    ///
    /// # Errors
    /// A journal is not readable.
    pub fn operations(&self) -> Result<Vec<Operation>> {
        parse(&self.sh(PRINT)?).with_context(|| format!("journals of {}", self.name()))
    }

    /// What it remembers of its owner and of the orders that it has seen.
    ///
    /// # Errors
    /// There is nothing yet, or it is not readable.
    pub fn memory(&self) -> Result<Value> {
        let text = self.read("/opt/seaworthy/state/memory.json")?;
        serde_json::from_str(&text).with_context(|| format!("memory of {}: {text}", self.name()))
    }

    /// The highest epoch that it has seen from the cluster that owns it.
    ///
    /// # Errors
    /// It has no owner.
    pub fn epoch(&self) -> Result<u64> {
        let memory = self.memory()?;
        let cluster = memory["owner"]["cluster"].as_str().context("the host has no owner")?;
        memory["marks"][cluster]["epoch"].as_u64().with_context(|| format!("no epoch: {memory}"))
    }
}

/// The operations of every host, oldest first.
///
/// # Errors
/// A journal is not readable.
pub fn journals(world: &World) -> Result<Journals> {
    world.hosts().map(|host| Ok((host.name().to_owned(), host.operations()?))).collect()
}

/// The operations that are new in `now`. Hosts without any are there too.
#[must_use]
pub fn since(before: &Journals, now: Journals) -> Journals {
    let is_new = |host: &str, id: &str| !before.get(host).into_iter().flatten().any(|known| known.id == id);
    let mut news = now;
    for (host, operations) in &mut news {
        operations.retain(|operation| is_new(host, &operation.id));
    }
    news
}

fn parse(text: &str) -> Result<Vec<Operation>> {
    let mut operations = Vec::new();
    for line in text.lines() {
        if let Some(id) = line.strip_prefix("== ") {
            operations.push(Operation { id: id.to_owned(), lines: Vec::new() });
            continue;
        }
        let operation = operations.last_mut().context("a line before the first journal")?;
        // The host may be in the middle of writing the last one.
        let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
        operation.lines.push(step(&value)?);
    }
    Ok(operations)
}

fn step(line: &Value) -> Result<Line> {
    let at = line["at"].as_u64().with_context(|| format!("no time: {line}"))?;
    let (step, detail) = match &line["step"] {
        Value::String(name) => (name.clone(), Value::Null),
        Value::Object(fields) => match fields.iter().next() {
            Some((name, detail)) => (name.clone(), detail.clone()),
            None => bail!("an empty step: {line}"),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => bail!("no step: {line}"),
    };
    Ok(Line { at, step, detail })
}

/// Two operations of different hosts that were under way at the same time, if there are any.
///
/// # Errors
/// One has not ended yet.
pub fn overlapping(one: &[Operation], other: &[Operation]) -> Result<Option<(String, String)>> {
    for first in one {
        for second in other {
            let begin = first.accepted()?.max(second.accepted()?);
            let (first_end, _) = first.end().with_context(|| format!("{} runs", first.id))?;
            let (second_end, _) = second.end().with_context(|| format!("{} runs", second.id))?;
            if begin < first_end.min(second_end) {
                return Ok(Some((first.summary(), second.summary())));
            }
        }
    }
    Ok(None)
}

/// Checks that no two hosts were at work at the same time.
///
/// # Errors
/// Two were, or an operation has not ended.
pub fn one_at_a_time(journals: &Journals) -> Result<()> {
    for (host, one) in journals {
        for (other, another) in journals.iter().filter(|(other, _)| *other > host) {
            let both = overlapping(one, another)?;
            ensure!(both.is_none(), "{host} and {other} at the same time: {both:?}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"== e1-s2
{"at":100,"boot":"00","step":"accepted"}
{"at":110,"boot":"00","step":{"started":{"before":null,"ran":false}}}
{"at":120,"boot":"00","step":"swapped"}
{"at":150,"boot":"00","step":{"ended":{"state":"Succeeded"}}}
== e1-s10
{"at":200,"boot":"00","step":"accepted"}
{"at":250,"boot":"00","step":{"ended":{"state":{"Failed":{"kind":"DigestMismatch","detail":"x"}}}}}
== e2-s1
{"at":240,"boot":"00","step":"accepted"}
{"at":2"#;

    #[test]
    fn journals_are_read_and_a_half_written_line_is_passed_over() {
        let operations = parse(TEXT).unwrap();
        assert_eq!(
            operations.iter().map(|o| o.id.as_str()).collect::<Vec<_>>(),
            ["e1-s2", "e1-s10", "e2-s1"]
        );
        assert!(operations[0].has_succeeded() && operations[0].count("swapped") == 1);
        let (_, state) = operations[1].end().unwrap();
        assert!(state.contains("DigestMismatch"), "{state}");
        assert_eq!(operations[2].end(), None);
        assert!(parse("nonsense").is_err() && parse("== e1-s1\n{}").is_err());
    }

    #[test]
    fn operations_overlap_when_both_are_under_way() {
        let operations = parse(TEXT).unwrap();
        let interval = |at, end| {
            let line = |at, step: &str| Line { at, step: step.to_owned(), detail: Value::Null };
            vec![Operation { id: "x".into(), lines: vec![line(at, "accepted"), line(end, "ended")] }]
        };
        assert_eq!(overlapping(&operations[..2], &interval(150, 200)).unwrap(), None);
        assert!(overlapping(&operations[..2], &interval(140, 160)).unwrap().is_some());
        assert!(overlapping(&operations, &interval(0, 1)).is_err(), "the last one runs");
    }
}
