//! The script of orders, and the two hosts that play it.

use std::fmt::Write as _;

use anyhow::{Result, ensure};
use seaworthy_model::cause::CauseKind;
use seaworthy_model::host::{Drift, OperationId};

use super::host_script::{Action, HostRule, Order, Spoiled};

/// The implementation that plays the host: the model or the real program.
pub trait HostPart {
    /// `model` or `real host`.
    const NAME: &'static str;

    /// Becomes a host that was never worked on.
    ///
    /// # Errors
    /// It cannot.
    fn reset(&mut self) -> Result<()>;

    /// Does what a step says, and tells what came of it.
    ///
    /// # Errors
    /// There is no telling.
    #[expect(private_interfaces, reason = "only hosts of this crate play")]
    fn perform(&mut self, action: &Action) -> Result<String>;
}

/// Plays the whole script. Gives rule, step and what came of it.
///
/// # Errors
/// What came of a step is not what the script expects; the error names every such rule and step.
pub fn play_host<H: HostPart>(script: &[HostRule], host: &mut H) -> Result<Vec<(String, String)>> {
    let (mut told, mut faults) = (Vec::new(), Vec::new());
    for rule in script {
        host.reset()?;
        for step in &rule.steps {
            let place = format!("{}: {}", rule.rule, step.action);
            match host.perform(&Action::parse(&step.action)?) {
                Ok(outcome) if outcome == step.expect => told.push((place, outcome)),
                Ok(outcome) => {
                    faults.push(format!("{place}\n    expected {:?}\n    got      {outcome:?}", step.expect));
                }
                Err(fault) => faults.push(format!("{place}: {fault:#}")),
            }
        }
    }
    ensure!(faults.is_empty(), "the {} does not do what the script says:\n{}", H::NAME, faults.join("\n"));
    Ok(told)
}

/// What came of an order, in the words of the script.
pub(super) enum Told {
    Done(Report),
    Refused(CauseKind),
    Later(CauseKind),
    Pending,
}

/// What a host reports.
pub(super) struct Report {
    /// Ours, a stranger's or nobody's.
    pub(super) owner: &'static str,
    pub(super) epoch: u32,
    /// Version and drift.
    pub(super) installed: Option<(String, Drift)>,
    /// The operation, and what became of it.
    pub(super) operation: Option<(OperationId, String)>,
    /// The node identity, in words.
    pub(super) identity: Option<String>,
}

impl Told {
    /// In short, with the latest order that the host remembers: `done; ours; e1; webd 1.0.0; 1.2 Succeeded; seen 1.2`.
    pub(super) fn summary(&self, (epoch, sequence): (u32, u64)) -> String {
        let answer = match self {
            Self::Refused(cause) => format!("refused {cause:?}"),
            Self::Later(cause) => format!("later {cause:?}"),
            Self::Pending => "pending".to_owned(),
            Self::Done(report) => report.summary(),
        };
        format!("{answer}; seen {epoch}.{sequence}")
    }
}

impl Report {
    fn summary(&self) -> String {
        let mut text = format!("done; {}; e{}", self.owner, self.epoch);
        if let Some((version, drift)) = &self.installed {
            let _ = write!(text, "; webd {version}");
            for (name, part) in [
                ("files", Drift::FILES),
                ("links", Drift::LINKS),
                ("not-running", Drift::NOT_RUNNING),
                ("wrong-binary", Drift::WRONG_BINARY),
            ] {
                if drift.contains(part) {
                    let _ = write!(text, " {name}");
                }
            }
        }
        if let Some((id, state)) = &self.operation {
            let _ = write!(text, "; {}.{} {state}", id.epoch.0, id.sequence);
        }
        if let Some(identity) = &self.identity {
            let _ = write!(text, "; {identity}");
        }
        text
    }
}

impl Order {
    /// The uid of the Machine in whose name it is given.
    pub(super) fn machine(&self) -> u128 {
        if self.is_strange { 2 } else { 1 }
    }
}

/// What there is of an identity: whether a certificate is there and whether it is the host's own, and whether a key waits.
pub(super) fn identity(is_own: Option<bool>, is_pending: bool) -> String {
    let certificate = match is_own {
        None => "no certificate",
        Some(true) => "certificate",
        Some(false) => "foreign certificate",
    };
    format!("{certificate}{}", if is_pending { " and a key" } else { "" })
}

/// Whose a host is, by the uid of a Machine.
pub(super) fn whose(machine: Option<u128>) -> &'static str {
    match machine {
        None => "nobody's",
        Some(1) => "ours",
        Some(_) => "a stranger's",
    }
}

impl Spoiled {
    pub(super) const fn drift(self) -> Drift {
        match self {
            Self::Files => Drift::FILES,
            Self::Links => Drift::LINKS,
            Self::Unit => Drift::NOT_RUNNING,
        }
    }
}
