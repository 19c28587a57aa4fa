//! Orders as requests of the host protocol, and what a missing reply means to the core.

use seaworthy_api::host::frame::{self, FrameError};
use seaworthy_api::host::wire::{Command, Reply, Request};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::event::Outcome;
use seaworthy_model::host::Connection;
use tokio::time::Instant;
use tracing::warn;

use crate::classify::Failure;
use crate::hosts::Hosts;
use crate::keys::Keys;
use crate::stream::Dial;

/// A host's reply, and the host key of the host that gave it: what `seaworthy_api::host::translate::outcome` needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replied {
    /// The reply.
    pub reply: Reply,
    /// The key that the host has shown, as it would be pinned: `ssh-ed25519 AAAA...`.
    pub host_key: String,
}

impl<K: Keys, D: Dial> Hosts<K, D> {
    /// Carries out an order. Ends at the deadline at the latest.
    ///
    /// # Errors
    /// The outcome of an order without a reply: `Retryable` when nothing can have happened, otherwise `Unknown`;
    /// `Refused` when the order is too long to be sent to anybody.
    pub async fn execute(
        &self,
        connection: &Connection,
        request: &Request,
        deadline: Instant,
    ) -> Result<Replied, Outcome> {
        let framed = frame::encode(request).map_err(|error| unsendable(&error))?;
        let exchanged = if request.command.kind().proves_contact() {
            self.exchange_over_new_connection(connection, &framed, deadline).await
        } else {
            self.exchange(connection, &framed, deadline).await
        };
        let exchanged = exchanged.and_then(|exchange| {
            let reply = frame::decode(&exchange.body).map_err(|error| {
                Failure::After(Cause::new(CauseKind::ProtocolError, format!("the host's reply: {error}")))
            })?;
            Ok(Replied { reply, host_key: exchange.host_key })
        });
        exchanged.map_err(|failure| {
            let address = &connection.address.ip;
            if let Failure::After(cause) = &failure {
                warn!(%address, machine = request.fence.machine_name, ?cause, "no usable reply from the host");
            }
            outcome(failure, &request.command)
        })
    }
}

fn unsendable(error: &FrameError) -> Outcome {
    Outcome::Refused(Cause::new(CauseKind::OperationInvalid, error.to_string()))
}

/// What a failure means for `command`.
///
/// After a lost session the outcome of any order is unknown. When the program itself failed, only the outcome of an order
/// that changes the host is unknown; a query has failed.
fn outcome(failure: Failure, command: &Command) -> Outcome {
    match failure {
        Failure::Before(cause) => Outcome::Retryable(cause),
        Failure::After(cause) if command.kind().is_read() && cause.kind != CauseKind::ConnectionFailed => {
            Outcome::Retryable(cause)
        }
        Failure::After(_) => Outcome::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_cannot_have_happened_is_tried_again_blindly() {
        let cause = |kind| Cause::new(kind, "why");
        let lost = || Failure::After(cause(CauseKind::ConnectionFailed));
        let broken = || Failure::After(cause(CauseKind::ProtocolError));
        for command in [Command::Facts, Command::Disown] {
            let before = Failure::Before(cause(CauseKind::HostKeyMismatch));
            assert_eq!(outcome(before, &command), Outcome::Retryable(cause(CauseKind::HostKeyMismatch)));
            assert_eq!(outcome(lost(), &command), Outcome::Unknown);
        }
        assert_eq!(outcome(broken(), &Command::Disown), Outcome::Unknown);
        assert_eq!(outcome(broken(), &Command::Facts), Outcome::Retryable(cause(CauseKind::ProtocolError)));
    }

    #[test]
    fn an_order_that_is_too_long_is_nobodys_connection_problem() {
        let Outcome::Refused(cause) = unsendable(&FrameError::TooLong { length: 1 << 30, most: 1 << 24 })
        else {
            panic!("not refused")
        };
        assert_eq!(cause.kind, CauseKind::OperationInvalid);
    }
}
