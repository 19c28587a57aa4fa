//! Relations between answers: `it.metadata.generation == 1`, `it.metadata.uid != one.metadata.uid`, `it.status absent`.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::script::Bindings;

/// Checks a relation. Versions are compared as numbers.
pub(super) fn check(relation: &str, known: &Bindings) -> Result<()> {
    let (left, rest) = relation.split_once(' ').with_context(|| format!("no relation: {relation:?}"))?;
    let left = known.get(left)?;
    let holds = match rest.split_once(' ') {
        None if rest == "absent" => left.is_null(),
        None if rest == "present" => !left.is_null(),
        Some((operator, right)) => {
            let right = match serde_json::from_str::<Value>(right) {
                Ok(literal) => literal,
                Err(_) => known.get(right)?.clone(),
            };
            match operator {
                "==" => *left == right,
                "!=" => *left != right,
                ">" => number(left)? > number(&right)?,
                ">=" => number(left)? >= number(&right)?,
                other => bail!("no operator: {other:?} in {relation:?}"),
            }
        }
        None => bail!("no relation: {relation:?}"),
    };
    ensure!(holds, "does not hold: {relation}");
    Ok(())
}

fn number(value: &Value) -> Result<u64> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.parse().with_context(|| format!("{text} is no number"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn relations_hold_or_fail() {
        let mut known = Bindings::default();
        known.bind("it", json!({"version": "10", "list": [{"a": 1}], "text": "x"}));
        known.bind("old", json!({"version": "9"}));
        for holds in [
            "it.version > old.version",
            "it.list.0.a == 1",
            "it.text == \"x\"",
            "it.status absent",
            "it.text present",
            "it.version != old.version",
        ] {
            check(holds, &known).unwrap();
        }
        for fails in
            ["old.version > it.version", "it.text absent", "it.text == \"y\"", "it.x > 1", "it ~ 1", "it"]
        {
            assert!(check(fails, &known).is_err(), "{fails}");
        }
    }
}
