//! The simulator's models against the real thing: one script, two that play it, and the differences.
//!
//! A script is a list of rules, and a rule a list of steps. It is played by the model and by the real part; each answer
//! must be what the script expects, and both transcripts must be the same once uids, versions and times are ordinals.

mod api_model;
mod api_server;
pub mod calls;
mod host;
mod host_model;
mod host_real;
mod host_script;
mod relation;
mod releases;
mod script;
mod signer;
mod socket;
mod transcript;

pub use api_model::ApiModel;
pub use api_server::ApiProxy;
pub use host::{HostPart, play_host};
pub use host_model::HostModel;
pub use host_real::RealHost;
pub use host_script::{HostRule, HostStep, host_script};
pub use script::{Rule, Script, Step, api_script};
pub use transcript::{Entry, Transcript, differences};

use anyhow::{Result, anyhow, ensure};
use serde_json::Value;

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The HTTP status code.
    pub code: u16,
    /// One document, or the events of a watch.
    pub body: Vec<Value>,
}

/// A call, with nothing left open.
#[derive(Clone, Debug)]
pub struct Call {
    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The media type of the body.
    pub content_type: &'static str,
    /// The body; null when there is none.
    pub body: Value,
}

/// The implementation that plays the API server: the model or the real one.
pub trait ApiServer {
    /// Whether this is the model, of which the script may expect something else.
    const IS_MODEL: bool;

    /// Answers a call.
    ///
    /// # Errors
    /// There is no answer at all.
    fn call(&mut self, call: &Call) -> Result<Answer>;

    /// Forgets all history up to now: who goes on from before must be told so.
    ///
    /// # Errors
    /// It cannot.
    fn compact(&mut self) -> Result<()>;
}

/// Plays the whole script.
///
/// # Errors
/// An answer is not what the script expects, or there is none; the error names every such rule and step.
pub fn play<A: ApiServer>(script: &Script, server: &mut A) -> Result<Transcript> {
    let mut transcript = Transcript::default();
    let mut known = script::Bindings::default();
    let mut faults = Vec::new();
    for rule in &script.rules {
        for step in &rule.steps {
            let place = format!("{}: {}", rule.rule, step.name);
            match perform(script, step, server, &mut known) {
                Ok(Some(answer)) => transcript
                    .add(&place, &answer)
                    .unwrap_or_else(|fault| faults.push(format!("{place}: {fault:#}"))),
                Ok(None) => {}
                Err(fault) => faults.push(format!("{place}: {fault:#}")),
            }
        }
    }
    let part = if A::IS_MODEL { "model" } else { "real API server" };
    ensure!(faults.is_empty(), "the {part} does not do what the script says:\n{}", faults.join("\n"));
    Ok(transcript)
}

/// Performs one step. `None` when it has no answer, or one that the script does not compare.
fn perform<A: ApiServer>(
    script: &Script,
    step: &Step,
    server: &mut A,
    known: &mut script::Bindings,
) -> Result<Option<Answer>> {
    let Some(call) = script.call(step, known)? else {
        server.compact()?;
        return Ok(None);
    };
    let answer = server.call(&call)?;
    let summary = transcript::summary(&answer);
    if let Some(refusal) = step.model.as_ref().filter(|_| A::IS_MODEL) {
        ensure!(summary == *refusal, "the model answers {summary:?}, not {refusal:?}");
        return Ok(None);
    }
    let it = match answer.body.as_slice() {
        [one] if !call.path.contains("watch=true") => one.clone(),
        events => Value::Array(events.to_vec()),
    };
    known.bind("it", it.clone());
    if let Some(name) = &step.remember {
        known.bind(name, it);
    }
    let told = || answer.body.iter().map(|body| format!("\n  {body}")).collect::<String>();
    ensure!(summary == step.expect, "expected {:?}, got {summary:?}{}", step.expect, told());
    for relation in &step.holds {
        relation::check(relation, known).map_err(|fault| anyhow!("{fault:#}{}", told()))?;
    }
    Ok(step.model.is_none().then_some(answer))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_rule_is_in_the_table_and_every_row_is_a_rule() {
        let page = include_str!("../../../../simulator/RULES.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
        let mut listed = Vec::new();
        for (rule, rest) in rows {
            assert_eq!(rest.matches('|').count(), 3, "{rule}: not what it says, the version and the date");
            assert!(rest.trim_end_matches(" |").rsplit(' ').next().is_some_and(is_date), "{rule}: no date");
            listed.push(rule.to_owned());
        }
        let rules = api_script().unwrap().rules.into_iter().map(|rule| rule.rule);
        let rules = rules.chain(host_script().unwrap().into_iter().map(|rule| rule.rule)).collect::<Vec<_>>();
        let unique = rules.iter().collect::<BTreeSet<_>>();
        assert_eq!(unique.len(), rules.len(), "two rules have one name");
        assert_eq!(listed, rules, "simulator/RULES.md lists the rules of both scripts, in their order");
    }

    fn is_date(text: &str) -> bool {
        text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    }
}
