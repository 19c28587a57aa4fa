//! Sends orders to a host without the operator, as a forgotten second operator would. The frames are written by hand, so that
//! the tests do not share code with what they test.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::world::World;

/// Sends `command` to the host program of `host` over SSH in the name of the host's owner, with this epoch and
/// sequence, and returns the answer.
///
/// # Errors
/// The host has no owner or no host program, or what it answers is no reply.
pub fn ask(world: &World, host: &str, (epoch, sequence): (u64, u64), command: &Value) -> Result<Value> {
    let owner = &world.host(host)?.memory()?["owner"];
    let request = json!({
        "protocol": 1,
        "fence": {
            "cluster": owner["cluster"],
            "machine": owner["machine"],
            "machineName": owner["machineName"],
            "epoch": epoch,
            "sequence": sequence,
        },
        "command": command,
    });
    let reply = world.ssh(host, &line(&request)?)?;
    // The frame's header need not be text; its body is one JSON document.
    let body = reply.find('{').map(|start| &reply[start..]).with_context(|| format!("no reply: {reply}"))?;
    let reply: Value = serde_json::from_str(body).with_context(|| format!("no reply: {body}"))?;
    Ok(reply["answer"].clone())
}

/// The kind of the cause with which a host refuses, if the answer is a refusal.
#[must_use]
pub fn refusal(answer: &Value) -> Option<&str> {
    answer["refused"]["kind"].as_str()
}

/// A shell line that hands the frame of `request` to the newest host program. A frame is the length as four bytes,
/// most significant first, and the JSON document.
fn line(request: &Value) -> Result<String> {
    let body = request.to_string();
    anyhow::ensure!(body.is_ascii() && !body.contains('\''), "not fit for a shell: {body}");
    let length = u32::try_from(body.len())?.to_be_bytes();
    let header = length.map(|byte| format!("\\{byte:03o}")).concat();
    Ok(format!(
        "{{ printf '{header}'; printf %s '{body}'; }} | $(ls -t /opt/seaworthy/bin/seaworthy-host-* | head -n 1) serve"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_its_length_in_front() {
        let line = line(&json!({"a": "b".repeat(300)})).unwrap();
        assert!(line.contains(r"printf '\000\000\001\064'; printf %s '"), "{line}");
        assert!(super::line(&json!("it's")).is_err());
    }

    #[test]
    fn only_refusals_are_refusals() {
        assert_eq!(
            refusal(&json!({"refused": {"kind": "FenceRefused", "detail": ""}})),
            Some("FenceRefused")
        );
        assert_eq!(refusal(&json!({"done": {}})), None);
    }
}
