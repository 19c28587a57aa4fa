//! The script of orders to a host: `conformance/host.yaml`.
//!
//! | a step | means |
//! |---|---|
//! | `1.2 install 1.0.0` | the order of epoch 1, sequence 2; its operation has the same numbers |
//! | `1.4 install 1.0.0 as 1.2` | the same, but with the operation of 1.2 |
//! | `1.3 remove`, `1.3 facts`, `1.3 status 1.2`, `1.3 disown` | other orders |
//! | `1.3 request`, `1.3 request another` | a key for the node's certificate; another than that of the certificate that is there |
//! | `1.4 certify`, `1.4 certify other-key`, `1.4 certify other-node`, `1.4 certify garbage` | the certificate for the key that waits, or something else |
//! | `identify foreign` | somebody puts the identity of another node there |
//! | `found 1.0.0`, `found 1.0.0 stopped`, `found 1.0.0 altered` | somebody else has installed it before, and nothing tells who; it runs, it does not, or one of its files is another |
//! | `runs` | whether the service runs as it did when it was found, was started anew, or does not run |
//! | `stranger 9.9 facts` | in the name of another Machine |
//! | `begin 1.2 install 1.0.0` | the order is given and comes no further than to its download |
//! | `finish` | lets it go on, and is its answer |
//! | `spoil files` | somebody changes a file; also `links`, `unit` (stops it) |
//! | `cut at swapped: 1.2 install 1.1.0` | the power fails when the journal has come to this step, and returns; the host recovers |
//! | `left` | whether anything of what the service left behind is there still |
//! | `reboot: 1.2 install anew` | the operation starts the host anew, and goes on until it ends; how often it did |
//! | `1.3 confirm 1.2` | the operation is confirmed, should it wait for that |
//! | `lapse 1.2` | nobody does, until it has ended by itself |
//! | `kill at swapped: 1.2 install 1.1.0` | the same, but only the program is killed; whoever asks next wakes it |

use anyhow::{Context, Result, bail};
use seaworthy_fleet::vocabulary::FoundState;
use seaworthy_model::host::OperationId;
use seaworthy_model::lease::Epoch;
use serde::Deserialize;

const TEXT: &str = include_str!("../../conformance/host.yaml");

/// A rule that both hosts obey. Each begins with a host that was never worked on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRule {
    /// Its name, unique in the script.
    pub rule: String,
    /// The steps that show it.
    pub steps: Vec<HostStep>,
}

/// One step.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostStep {
    /// What is done.
    #[serde(rename = "do")]
    pub action: String,
    /// What comes of it, in short.
    #[serde(default)]
    pub expect: String,
}

/// The script of orders to a host.
///
/// # Errors
/// It is not readable.
pub fn host_script() -> Result<Vec<HostRule>> {
    serde_saphyr::from_str(TEXT).context("conformance/host.yaml")
}

/// What is done in a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Order(Order),
    Begin(Order),
    Finish,
    Left,
    Spoil(Spoiled),
    Identify,
    Found(String, FoundState),
    Runs,
    Reboot(Order),
    Lapse(OperationId),
    Strike { is_power: bool, at: String, order: Order },
}

/// What is spoilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spoiled {
    Files,
    Links,
    Unit,
}

/// An order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) is_strange: bool,
    pub(super) epoch: u32,
    pub(super) sequence: u64,
    pub(super) verb: Verb,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Facts,
    Disown,
    Reset(Epoch),
    Status(OperationId),
    Confirm(OperationId),
    Install(OperationId, String),
    Fetch(String),
    Remove(OperationId),
    /// Whether the certificate that is there is of no use any more.
    Request(bool),
    Certify(Offer),
}

/// What is offered as a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    Wanted,
    OtherKey,
    OtherNode,
    Garbage,
}

impl Action {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let strike = |rest: &str, is_power| {
            let (at, order) = rest.split_once(": ").context("at which step?")?;
            Ok(Self::Strike { is_power, at: at.to_owned(), order: Order::parse(order)? })
        };
        match text.split_once(' ').unwrap_or((text, "")) {
            ("finish", "") => Ok(Self::Finish),
            ("left", "") => Ok(Self::Left),
            ("runs", "") => Ok(Self::Runs),
            ("found", what) => found(what),
            ("lapse", id) => Ok(Self::Lapse(operation(id)?)),
            ("begin", order) => Ok(Self::Begin(Order::parse(order)?)),
            ("spoil", "files") => Ok(Self::Spoil(Spoiled::Files)),
            ("spoil", "links") => Ok(Self::Spoil(Spoiled::Links)),
            ("reboot:", order) => Ok(Self::Reboot(Order::parse(order)?)),
            ("identify", "foreign") => Ok(Self::Identify),
            ("spoil", "unit") => Ok(Self::Spoil(Spoiled::Unit)),
            ("cut", rest) => strike(rest.strip_prefix("at ").unwrap_or(rest), true),
            ("kill", rest) => strike(rest.strip_prefix("at ").unwrap_or(rest), false),
            _ => Ok(Self::Order(Order::parse(text)?)),
        }
    }
}

impl Order {
    fn parse(text: &str) -> Result<Self> {
        let (is_strange, rest) = match text.strip_prefix("stranger ") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let words = rest.split(' ').collect::<Vec<_>>();
        let [number, verb @ ..] = words.as_slice() else { bail!("no order: {text:?}") };
        let own = operation(number)?;
        let verb = match verb {
            ["facts"] => Verb::Facts,
            ["disown"] => Verb::Disown,
            ["reset", epoch] => Verb::Reset(Epoch(epoch.parse()?)),
            ["status", id] => Verb::Status(operation(id)?),
            ["confirm", id] => Verb::Confirm(operation(id)?),
            ["fetch", version] => Verb::Fetch((*version).to_owned()),
            ["install", version] => Verb::Install(own, (*version).to_owned()),
            ["install", version, "as", id] => Verb::Install(operation(id)?, (*version).to_owned()),
            ["remove"] => Verb::Remove(own),
            ["request"] => Verb::Request(false),
            ["request", "another"] => Verb::Request(true),
            ["certify"] => Verb::Certify(Offer::Wanted),
            ["certify", "other-key"] => Verb::Certify(Offer::OtherKey),
            ["certify", "other-node"] => Verb::Certify(Offer::OtherNode),
            ["certify", "garbage"] => Verb::Certify(Offer::Garbage),
            _ => bail!("no order: {text:?}"),
        };
        Ok(Self { is_strange, epoch: own.epoch.0, sequence: own.sequence, verb })
    }

    /// The operation that it orders.
    pub(super) fn operation(&self) -> Result<OperationId> {
        match &self.verb {
            Verb::Install(id, _) | Verb::Remove(id) => Ok(*id),
            Verb::Facts
            | Verb::Disown
            | Verb::Reset(_)
            | Verb::Status(_)
            | Verb::Confirm(_)
            | Verb::Request(_)
            | Verb::Fetch(_)
            | Verb::Certify(_) => bail!("no operation: {self:?}"),
        }
    }
}

fn found(text: &str) -> Result<Action> {
    let (version, state) = match text.split_once(' ').unwrap_or((text, "")) {
        (version, "") => (version, FoundState::Running),
        (version, "stopped") => (version, FoundState::Stopped),
        (version, "altered") => (version, FoundState::Altered),
        (_, other) => bail!("nothing is found like that: {other:?}"),
    };
    Ok(Action::Found(version.to_owned(), state))
}

fn operation(text: &str) -> Result<OperationId> {
    let (epoch, sequence) = text.split_once('.').with_context(|| format!("no EPOCH.SEQUENCE: {text:?}"))?;
    Ok(OperationId { epoch: Epoch(epoch.parse()?), sequence: sequence.parse()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_readable() {
        for rule in host_script().unwrap() {
            for step in rule.steps {
                Action::parse(&step.action).unwrap();
            }
        }
        for nonsense in
            ["", "1 facts", "1.2 fly", "1.2 install", "cut 1.2 remove", "spoil soup", "found 1.0.0 asleep"]
        {
            assert!(Action::parse(nonsense).is_err(), "{nonsense}");
        }
    }
}
