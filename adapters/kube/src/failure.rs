//! Why an exchange with the API server did not end well, and what a missing answer means.

use std::error::Error as _;
use std::io;

/// Why an exchange with the API server did not end well.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The request never left.
    #[error("the API server cannot be reached: {0}")]
    NotSent(String),
    /// The request may have arrived; there is no answer.
    #[error("no answer from the API server: {0}")]
    Lost(String),
    /// The API server answered with an error.
    #[error("the API server answered {code}: {message}")]
    Answered {
        /// The HTTP status code.
        code: u16,
        /// Its explanation.
        message: String,
    },
    /// A pod may not be evicted now, and which disruption budget does not allow it.
    #[error("{0}")]
    Budget(String),
    /// The answer has more bytes than these.
    #[error("the API server's answer has more than {0} bytes")]
    TooLong(u64),
    /// The API server answered something that is not what was asked for.
    #[error("the API server's answer cannot be read: {0}")]
    Unreadable(String),
}

impl Failure {
    /// Whether the API server said that there is no such thing.
    #[must_use]
    pub const fn is_not_found(&self) -> bool {
        matches!(self, Self::Answered { code: 404, .. })
    }

    /// Whether the object is not the one any more that the request was made for.
    pub(crate) const fn is_conflict(&self) -> bool {
        matches!(self, Self::Answered { code: 409, .. })
    }

    /// Whether the asked-for version is too old to go on from.
    pub(crate) const fn is_expired(&self) -> bool {
        matches!(self, Self::Answered { code: 410, .. })
    }

    /// Its label in the tally.
    pub(crate) const fn label(&self) -> &'static str {
        match self {
            Self::NotSent(_) => "not_sent",
            Self::Lost(_) => "lost",
            Self::Unreadable(_) => "unreadable",
            Self::TooLong(_) => "too_long",
            Self::Budget(_) => "disruption_budget",
            Self::Answered { code, .. } => match code {
                404 => "not_found",
                409 => "conflict",
                410 => "expired",
                429 => "throttled",
                400..=499 => "refused",
                _ => "unavailable",
            },
        }
    }
}

/// An answer broke off.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Lost(error.to_string())
    }
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        if let kube::Error::Api(status) = &error {
            if let Some(words) = budget(status) {
                return Self::Budget(words);
            }
            return Self::Answered { code: status.code, message: status.message.clone() };
        }
        if never_left(&error) { Self::NotSent(chain(&error)) } else { Self::Lost(chain(&error)) }
    }
}

/// The message about the disruption budget that does not allow an eviction. The budget's name is in the causes only.
fn budget(status: &kube::core::Status) -> Option<String> {
    let causes = &status.details.as_ref().filter(|_| status.code == 429)?.causes;
    causes.iter().find(|cause| cause.reason == "DisruptionBudget").map(|cause| cause.message.clone())
}

/// Whether the request certainly never left this machine. These kinds come from `connect` alone; all else, a
/// timeout above all, may have happened after the request was written.
fn never_left(error: &kube::Error) -> bool {
    if matches!(error, kube::Error::Auth(_) | kube::Error::BuildRequest(_) | kube::Error::HttpError(_)) {
        return true;
    }
    let mut cause = error.source();
    while let Some(inner) = cause {
        let kind = inner.downcast_ref::<io::Error>().map(io::Error::kind);
        if matches!(
            kind,
            Some(
                io::ErrorKind::ConnectionRefused
                    | io::ErrorKind::HostUnreachable
                    | io::ErrorKind::NetworkUnreachable
                    | io::ErrorKind::AddrNotAvailable
            )
        ) {
            return true;
        }
        cause = inner.source();
    }
    false
}

/// The causes of an error in one line. The outermost message is left out: it only says where in the library it arose.
fn chain(error: &kube::Error) -> String {
    let mut text = String::new();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let words = inner.to_string();
        if !text.contains(&words) {
            text.push_str(if text.is_empty() { "" } else { ": " });
            text.push_str(&words);
        }
        cause = inner.source();
    }
    if text.is_empty() { error.to_string() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(kind: io::ErrorKind) -> Failure {
        Failure::from(kube::Error::Service(Box::new(io::Error::from(kind))))
    }

    #[test]
    fn only_what_comes_from_connect_counts_as_not_sent() {
        for kind in [io::ErrorKind::ConnectionRefused, io::ErrorKind::HostUnreachable] {
            assert!(matches!(failed(kind), Failure::NotSent(_)), "{kind}");
        }
        for kind in [
            io::ErrorKind::ConnectionReset,
            io::ErrorKind::BrokenPipe,
            io::ErrorKind::TimedOut,
            io::ErrorKind::UnexpectedEof,
        ] {
            assert!(matches!(failed(kind), Failure::Lost(_)), "{kind}");
        }
    }
}
