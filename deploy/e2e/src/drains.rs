//! Drains of Nodes, as the API server has written down what the operator asked of it.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::fleet::Fleet;
use crate::process::run_to_end;
use crate::world::World;

/// When a Node was cordoned, and when it was released; in milliseconds since the Unix epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drain {
    /// When no further pod could come.
    pub cordoned: u64,
    /// When pods could come again; `None` while they cannot.
    pub uncordoned: Option<u64>,
}

/// Every drain of a Node in this run, in order.
///
/// # Errors
/// The log of the API server is not readable.
pub fn drains(world: &World, node: &str) -> Result<Vec<Drain>> {
    let mut drains = Vec::<Drain>::new();
    for call in calls(world)? {
        let object = &call["objectRef"];
        let is_of_node = (&object["resource"], &object["name"]) == (&json!("nodes"), &json!(node));
        if call["verb"] != "patch" || !is_of_node || call["responseStatus"]["code"] != 200 {
            continue;
        }
        let patch = call["requestObject"].to_string();
        if patch.contains(r#""op":"add","path":"/spec/unschedulable""#) {
            drains.push(Drain { cordoned: when(&call)?, uncordoned: None });
        } else if patch.contains(r#""op":"remove","path":"/spec/unschedulable""#) {
            let last = drains.last_mut().with_context(|| format!("{node} was not cordoned before"))?;
            last.uncordoned = Some(when(&call)?);
        }
    }
    Ok(drains)
}

/// How many pods were evicted in this run whose names begin like this.
///
/// # Errors
/// The log of the API server is not readable.
pub fn evictions(world: &World, beginning: &str) -> Result<usize> {
    let is_eviction = |call: &Value| {
        let object = &call["objectRef"];
        let pod = object["name"].as_str().unwrap_or_default();
        // What a budget refuses is tried again.
        object["subresource"] == "eviction"
            && call["responseStatus"]["code"] == 201
            && pod.starts_with(beginning)
    };
    Ok(calls(world)?.iter().filter(|call| is_eviction(call)).count())
}

/// Waits until a Node takes pods again, which it does a moment after the work on it.
///
/// # Errors
/// It does not in time.
pub fn takes_pods(fleet: &Fleet<'_>, node: &str) -> Result<()> {
    fleet.eventually(&format!("that {node} takes pods"), || {
        ensure!(!is_cordoned(fleet, node)?, "{node} is still cordoned");
        Ok(())
    })
}

/// Whether a Node takes no pods, because of us or of people.
///
/// # Errors
/// There is no such Node.
pub fn is_cordoned(fleet: &Fleet<'_>, node: &str) -> Result<bool> {
    let spec = fleet.get("node", node)?["spec"].clone();
    let taints = spec["taints"].as_array().into_iter().flatten();
    let ours = taints.filter_map(|taint| taint["key"].as_str()).any(|key| key.starts_with("seaworthy.dev/"));
    Ok(ours || spec["unschedulable"] == json!(true))
}

/// The calls of operators. Its last line may be half written.
fn calls(world: &World) -> Result<Vec<Value>> {
    let log = world.run().log("audit");
    let text = fs::read_to_string(&log).with_context(|| format!("cannot read {}", log.display()))?;
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

fn when(call: &Value) -> Result<u64> {
    let time = call["stageTimestamp"].as_str().context("no time")?;
    let mut date = Command::new("date");
    run_to_end(date.args(["+%s%3N", "--date", time]))?.trim().parse().context("no time")
}
