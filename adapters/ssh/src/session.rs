//! One SSH session: connecting, checking the host, logging in.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use russh::client::{self, AuthResult, Handle};
use russh::keys::{PrivateKey, PrivateKeyWithHashAlg, PublicKey};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::host::Connection;
use seaworthy_model::machine::Login;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::classify;
use crate::host_keys::{self, HostKeys};
use crate::limits::Limits;
use crate::peer::{Peer, Record};
use crate::program::Place;
use crate::stream::{Dial, Severable};

/// The size of a channel's receive window, in bytes: replies are small, and what a host may send before it has to
/// wait is memory of ours.
const WINDOW: u32 = 256 * 1024;

/// Messages that a channel holds until we read them.
const CHANNEL_MESSAGES: usize = 16;

/// A session with a host whose key was accepted, logged in. Dropping it cuts the connection.
pub(crate) struct Session {
    pub(crate) handle: Handle<Peer>,
    record: Record,
    login: Arc<Login>,
    host_key: PublicKey,
    /// Whether the last command has ended in order. Otherwise something may still occupy the session.
    pub(crate) settled: bool,
    /// Where the host program is, once it was found there and verified in this session.
    pub(crate) place: Option<Place>,
    _line: DropGuard,
}

impl Session {
    /// Logs in through `stream`, which leads to `connection`, with `key`. The host must show one of `host_keys`.
    pub(crate) async fn open<S>(
        stream: S,
        connection: &Connection,
        host_keys: HostKeys,
        key: Arc<PrivateKey>,
        bounds: (&Limits, Instant),
    ) -> Result<Self, Cause>
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let (limits, deadline) = bounds;
        let deadline = deadline.min(Instant::now() + limits.login);
        let late = |_| {
            let detail = "the host accepted the connection, but login was not complete in time";
            Cause::new(CauseKind::ConnectionFailed, detail)
        };
        timeout_at(deadline, Self::log_in(stream, connection, host_keys, key, limits)).await.map_err(late)?
    }

    async fn log_in<S>(
        stream: S,
        connection: &Connection,
        host_keys: HostKeys,
        key: Arc<PrivateKey>,
        limits: &Limits,
    ) -> Result<Self, Cause>
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let config = client::Config {
            preferred: host_keys.preferred(),
            window_size: WINDOW,
            channel_buffer_size: CHANNEL_MESSAGES,
            keepalive_interval: Some(limits.keepalive),
            keepalive_max: limits.keepalives_missed,
            inactivity_timeout: Some(limits.silence()),
            ..client::Config::default()
        };
        let token = CancellationToken::new();
        let stream = Severable::new(stream, token.clone());
        let line = token.drop_guard();
        let record = Record::default();
        let pinned = host_keys.are_pinned();
        let peer = Peer::new(host_keys, record.clone());
        let opened = client::connect_stream(Arc::new(config), stream, peer).await;
        // Judged before the error: how a refused connection ends is up to the host.
        if let Some(refusal) = record.lock().refusal.take() {
            return Err(refusal);
        }
        let mut handle =
            opened.map_err(|error| classify::handshake(&error, pinned, &record.lock().farewell))?;
        let Some(host_key) = record.lock().host_key.clone() else {
            return Err(Cause::new(CauseKind::ProtocolError, "the host showed no key"));
        };
        authenticate(&mut handle, &connection.login.user, key, &record).await?;
        Ok(Self {
            handle,
            record,
            login: Arc::clone(&connection.login),
            host_key,
            settled: true,
            place: None,
            _line: line,
        })
    }

    /// Whether an order for `connection` may use this session: it would lead to the same account with the same
    /// Secret, and the host's key would be accepted now.
    pub(crate) fn serves(&self, connection: &Connection, host_keys: &HostKeys) -> bool {
        self.login == connection.login && host_keys.accept(&self.host_key) && !self.handle.is_closed()
    }

    /// The key that the host has shown.
    pub(crate) fn host_key(&self) -> String {
        host_keys::line(&self.host_key)
    }

    /// The message for a session that ended by itself.
    pub(crate) fn loss(&self) -> String {
        classify::with_words("the session was lost", &self.record.lock().farewell)
    }
}

/// A stream to `connection`, if there is one before the deadline.
pub(crate) async fn dial_within<D: Dial>(
    dial: &D,
    connection: &Connection,
    deadline: Instant,
) -> Result<D::Stream, Cause> {
    let ip: IpAddr = connection.address.ip.parse().map_err(|_| {
        let detail = format!("`{}` is not an IP address", connection.address.ip);
        Cause::new(CauseKind::ConnectionFailed, detail)
    })?;
    let late = || Err(io::ErrorKind::TimedOut.into());
    let dialed = timeout_at(deadline, dial.dial(SocketAddr::new(ip, connection.port))).await;
    dialed.unwrap_or_else(|_| late()).map_err(|error| classify::dialing(&error))
}

async fn authenticate(
    handle: &mut Handle<Peer>,
    user: &str,
    key: Arc<PrivateKey>,
    record: &Record,
) -> Result<(), Cause> {
    let answer = handle.authenticate_publickey(user, PrivateKeyWithHashAlg::new(key, None)).await;
    let record = record.lock();
    match answer {
        Ok(AuthResult::Success) => Ok(()),
        // When the session ends during the login, the library reports a refusal without any method on offer. The login was not
        // refused then, unless the host closed because there were too many attempts.
        Ok(ref refusal @ AuthResult::Failure { ref remaining_methods, .. })
            if !remaining_methods.is_empty() || !handle.is_closed() || record.expelled =>
        {
            Err(classify::login(user, refusal, &record.banner))
        }
        Ok(AuthResult::Failure { .. }) | Err(_) => {
            let detail = classify::with_words("the connection was lost during login", &record.farewell);
            Err(Cause::new(CauseKind::ConnectionFailed, detail))
        }
    }
}
