//! How long and how many.

use std::time::Duration;

/// Bounds of the transport. Each wait also ends at the deadline of the order that it is part of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For a TCP connection.
    pub connect: Duration,
    /// For the SSH handshake and the login.
    pub login: Duration,
    /// For the host to open a channel and start a command on it. On a kept connection it bounds how long a host
    /// that vanished meanwhile goes unnoticed.
    pub start: Duration,
    /// For looking at a host: privileges, architecture, and whether the host program is there.
    pub survey: Duration,
    /// For sending the host program.
    pub delivery: Duration,
    /// For a command to end once its output is complete.
    pub drain: Duration,
    /// Silence after which a keep-alive is sent.
    pub keepalive: Duration,
    /// Keep-alives that may go unanswered before the session counts as lost.
    pub keepalives_missed: usize,
    /// Handshakes and logins that may be under way at the same time. A host that accepts no TCP connection holds none of
    /// these places, so a zone that is down does not keep other hosts waiting.
    pub handshakes: usize,
    /// Bytes of long replies that may be under way from all hosts together. Further ones wait.
    pub replies: usize,
    /// Idle connections that are kept open. One costs about 70 KB and a file descriptor.
    pub idle: usize,
    /// How long an unused connection is kept.
    pub idle_time: Duration,
}

impl Default for Limits {
    /// An order over a new connection costs 1.6 ms of our processor, so connections are kept only for what is about to
    /// follow: the next component of the host, or the next poll of its operation after 5 s.
    /// `handshakes` keeps those of a returning zone from starving each other on a small machine.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            login: Duration::from_secs(15),
            start: Duration::from_secs(5),
            survey: Duration::from_secs(15),
            delivery: Duration::from_secs(120),
            drain: Duration::from_secs(2),
            keepalive: Duration::from_secs(15),
            keepalives_missed: 3,
            handshakes: 64,
            replies: 64 << 20,
            idle: 128,
            idle_time: Duration::from_secs(10),
        }
    }
}

impl Limits {
    /// When a session is given up whose peer takes nothing and says nothing, even in the middle of a handshake.
    pub(crate) fn silence(&self) -> Duration {
        let keepalives = u32::try_from(self.keepalives_missed).unwrap_or(u32::MAX).saturating_add(1);
        self.keepalive.saturating_mul(keepalives).max(self.login)
    }
}
