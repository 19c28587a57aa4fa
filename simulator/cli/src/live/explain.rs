//! `seaworthy explain`.

use std::process::ExitCode;

use seaworthy_api::object::Machine;
use seaworthy_kube::Terminal;
use seaworthy_model::id::Kind;
use serde_json::Value;

use super::governors::{Decision, decisions, governors};
use super::words::version;
use super::{Problem, fleet};

/// `explain machine/NAME`: what a machine has, what it should have, and what it waits for.
pub(super) async fn machine(terminal: &Terminal, object: &str) -> Result<ExitCode, Problem> {
    let name = object.strip_prefix("machine/").or_else(|| object.strip_prefix("machines/"));
    let Some(name) = name.filter(|name| !name.is_empty() && !name.contains(['/', '?', '#', '%'])) else {
        return Err(Problem(format!("`{object}` is not of the form machine/NAME")));
    };
    let machine: Machine = match terminal.get(Kind::Machine, name).await {
        Err(failure) if failure.is_not_found() => return Err(Problem(format!("there is no Machine {name}"))),
        read => read?,
    };
    let fleet = fleet(terminal).await?;
    let status = machine.status.clone().unwrap_or_default();
    println!("Machine {name}, {}", machine.spec.address.ip);
    println!("  has       {}", if status.installed.is_empty() { "nothing" } else { &*status.installed });
    for pin in &machine.spec.components {
        println!("  pinned    {} {}", pin.name, pin.version.as_deref().unwrap_or("nothing"));
    }
    let is_pinned = |component: &str| machine.spec.components.iter().any(|pin| pin.name == component);
    let governors = governors(terminal, &machine, &fleet).await?;
    for decision in decisions(&governors) {
        let Decision { governor, rollout, passed_over } = &decision;
        if is_pinned(&rollout.component) {
            continue;
        }
        let installed = status.components.iter().find(|it| *it.name == *rollout.component);
        let installed = installed.and_then(|it| it.version.as_deref()).unwrap_or("nothing");
        let (to, component) = (version(Some(&rollout.to)), &rollout.component);
        let state = decision.stands(&machine, installed == to);
        println!("  {:<9} {component} {to}: {state}", governor.name);
        if passed_over.len() > 1 {
            println!("            it comes before {}", passed_over.join(", "));
        }
    }
    for told in status.conditions.iter() {
        println!("  {:<12} {:<7} {}: {}", told.r#type, told.status, told.reason, told.message);
    }
    // Whoever may not read Nodes learns the rest.
    if let Ok(node) = terminal.get::<Value>(Kind::Node, name).await {
        let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
        let is_news = |told: &&Value| told["type"] == "Ready" || told["status"] == "True";
        for told in conditions.filter(is_news) {
            let text = |field: &str| told[field].as_str().unwrap_or_default().to_owned();
            let kind = format!("Node {}", text("type"));
            println!("  {kind:<12} {:<7} {}: {}", text("status"), text("reason"), text("message"));
        }
    }
    for governor in &governors {
        if let Some(told) = &governor.told {
            println!("  {:<12} {}: {}", governor.name, told.reason, told.message);
        }
    }
    Ok(ExitCode::SUCCESS)
}
