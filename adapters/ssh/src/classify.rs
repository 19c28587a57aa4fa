//! Classifies what went wrong into one [`CauseKind`]: the engine decides by it, and a Machine's condition shows it.

use std::io;

use russh::AlgorithmKind;
use russh::client::AuthResult;
use seaworthy_model::cause::{Cause, CauseKind};

/// The longest text of a host that is repeated in a cause, in characters.
const QUOTE_MAX: usize = 400;

/// Why there is no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The host has not received the request and will not: nothing happened.
    Before(Cause),
    /// The host may have received the request.
    After(Cause),
}

impl Failure {
    /// The cause, whatever it means for the request.
    #[must_use]
    pub const fn cause(&self) -> &Cause {
        match self {
            Self::Before(cause) | Self::After(cause) => cause,
        }
    }
}

/// A host's words made fit for a condition: one line, printable, and of bounded length.
pub(crate) fn quote(text: &str) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    match line.char_indices().nth(QUOTE_MAX) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// `text`, followed by what the host said, if it said anything.
pub(crate) fn with_words(text: impl Into<String>, words: &str) -> String {
    let (mut text, words) = (text.into(), quote(words));
    if !words.is_empty() {
        text.push_str(": ");
        text.push_str(&words);
    }
    text
}

/// A TCP connection that did not come about.
#[expect(clippy::wildcard_enum_match_arm, reason = "an open list of another crate")]
pub(crate) fn dialing(error: &io::Error) -> Cause {
    let detail = match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused: nothing listens on that port".to_owned(),
        io::ErrorKind::TimedOut => "connecting timed out: the host does not answer".to_owned(),
        io::ErrorKind::HostUnreachable => "no route to the host".to_owned(),
        io::ErrorKind::NetworkUnreachable => "no route to the host's network".to_owned(),
        _ => format!("connecting failed: {error}"),
    };
    Cause::new(CauseKind::ConnectionFailed, detail)
}

/// A handshake that failed, for any reason but a host key that was not accepted. `farewell` is what the host said
/// when it closed the connection.
#[expect(clippy::wildcard_enum_match_arm, reason = "an open list of another crate")]
pub(crate) fn handshake(error: &russh::Error, pinned: bool, farewell: &str) -> Cause {
    use russh::Error;
    let (kind, detail) = match error {
        Error::NoCommonAlgo { kind: AlgorithmKind::Key, theirs, .. } => {
            let kind = if pinned { CauseKind::HostKeyMismatch } else { CauseKind::ProtocolError };
            let detail = "the host has neither an ed25519 nor an ecdsa host key, only";
            (kind, format!("{detail} {}", quote(&theirs.join(", "))))
        }
        Error::NoCommonAlgo { kind, theirs, .. } => {
            let detail = format!("no common {kind:?} algorithm; the host offers");
            (CauseKind::ProtocolError, format!("{detail} {}", quote(&theirs.join(", "))))
        }
        Error::WrongServerSig => (
            CauseKind::HostKeyMismatch,
            "the host cannot prove that it holds the host key it showed".to_owned(),
        ),
        Error::IO(error) => {
            (CauseKind::ConnectionFailed, format!("the connection broke in the handshake: {error}"))
        }
        Error::Disconnect | Error::HUP | Error::InactivityTimeout | Error::Elapsed(_) => (
            CauseKind::ConnectionFailed,
            with_words("the host closed the connection in the handshake", farewell),
        ),
        Error::Version => (CauseKind::ProtocolError, "what listens on that port is no SSH server".to_owned()),
        error => (CauseKind::ProtocolError, format!("the SSH handshake failed: {error}")),
    };
    Cause::new(kind, detail)
}

/// A login that was refused.
pub(crate) fn login(user: &str, answer: &AuthResult, banner: &str) -> Cause {
    let mut detail = if matches!(answer, AuthResult::Failure { partial_success: true, .. }) {
        format!("the host accepts the key for user {user} but wants more than a key")
    } else {
        format!("the host refused user {user}: no such user there, or the key is not accepted for it")
    };
    if let AuthResult::Failure { remaining_methods, .. } = answer
        && !remaining_methods.is_empty()
    {
        let methods: Vec<&str> = remaining_methods.iter().map(Into::into).collect();
        detail.push_str(&format!(" (it offers {})", methods.join(", ")));
    }
    Cause::new(CauseKind::AuthenticationFailed, with_words(detail, banner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_words_cannot_break_out_of_a_line_or_fill_a_condition() {
        assert_eq!(quote("  a\r\n\x1b[31mred\tb\0c "), "a [31mred b c");
        let long = "ü".repeat(QUOTE_MAX + 1);
        assert_eq!(quote(&long).chars().count(), QUOTE_MAX + 3);
        assert_eq!(with_words("failed", " \n"), "failed");
        assert_eq!(with_words("failed", "so\nthere"), "failed: so there");
    }

    #[test]
    fn ways_not_to_connect_are_told_apart() {
        let said = |kind: io::ErrorKind| dialing(&kind.into());
        let kinds = [
            io::ErrorKind::ConnectionRefused,
            io::ErrorKind::TimedOut,
            io::ErrorKind::HostUnreachable,
            io::ErrorKind::NetworkUnreachable,
            io::ErrorKind::Other,
        ];
        let causes = kinds.map(said);
        assert!(causes.iter().all(|cause| cause.kind == CauseKind::ConnectionFailed));
        let mut details = causes.map(|cause| cause.detail).to_vec();
        details.sort();
        details.dedup();
        assert_eq!(details.len(), kinds.len());
    }

    #[test]
    fn a_host_without_the_pinned_kind_of_key_is_a_mismatch() {
        let only_rsa = russh::Error::NoCommonAlgo {
            kind: AlgorithmKind::Key,
            ours: vec!["ssh-ed25519".into()],
            theirs: vec!["rsa-sha2-512".into()],
        };
        assert_eq!(handshake(&only_rsa, true, "").kind, CauseKind::HostKeyMismatch);
        let unpinned = handshake(&only_rsa, false, "");
        assert_eq!(unpinned.kind, CauseKind::ProtocolError);
        assert!(unpinned.detail.contains("rsa-sha2-512"));
        assert_eq!(handshake(&russh::Error::WrongServerSig, true, "").kind, CauseKind::HostKeyMismatch);
    }
}
