//! Hosts in this process: a real SSH server behind an in-memory wire, or behind TCP.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use russh::keys::{Algorithm, PrivateKey, PublicKey};
use russh::server::{self, Auth, ChannelOpenHandle, Msg, Session, VerifiedPublicKey};
use russh::{Channel, ChannelId, MethodKind, MethodSet};
use seaworthy_ssh::Dial;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, DuplexStream, copy_bidirectional, duplex};
use tokio::sync::watch;

use crate::shell::Shell;

/// A key of `algorithm` that nobody else has.
pub(crate) fn fresh_key(algorithm: Algorithm) -> PrivateKey {
    PrivateKey::random(&mut russh::keys::key::safe_rng(), algorithm).unwrap()
}

/// A public key as it is pinned.
pub(crate) fn pin(key: &PrivateKey) -> String {
    key.public_key().to_openssh().unwrap()
}

/// What happens to a host's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// Bytes pass.
    Whole,
    /// Nothing passes any more, and nobody is told.
    Silent,
    /// Closed.
    Cut,
}

/// A host with an SSH server.
pub(crate) struct FakeHost {
    pub(crate) user: &'static str,
    pub(crate) authorized: PublicKey,
    /// Whether a key alone does not suffice.
    pub(crate) second_factor: bool,
    /// Whether it says that it speaks SSH, and then listens for ever.
    pub(crate) mute: bool,
    pub(crate) shell: Shell,
    config: Arc<server::Config>,
    wire: watch::Sender<Wire>,
    /// How many connections there were.
    pub(crate) connections: AtomicUsize,
    /// How many logins were tried.
    pub(crate) attempts: AtomicUsize,
    /// The commands that were run.
    pub(crate) commands: Mutex<Vec<String>>,
    /// What the last call of a scripted program was given.
    pub(crate) received: Mutex<Vec<u8>>,
    /// How many connections are open now.
    pub(crate) open: AtomicUsize,
}

impl FakeHost {
    /// A host that shows `keys` and lets `authorized` in as `user`.
    pub(crate) fn new(
        keys: Vec<PrivateKey>,
        user: &'static str,
        authorized: &PrivateKey,
        shell: Shell,
    ) -> Self {
        let config = server::Config {
            keys,
            methods: MethodSet::from(&[MethodKind::PublicKey][..]),
            auth_rejection_time: std::time::Duration::ZERO,
            ..server::Config::default()
        };
        Self {
            user,
            authorized: authorized.public_key().clone(),
            second_factor: false,
            mute: false,
            shell,
            config: Arc::new(config),
            wire: watch::Sender::new(Wire::Whole),
            connections: AtomicUsize::new(0),
            attempts: AtomicUsize::new(0),
            commands: Mutex::default(),
            received: Mutex::default(),
            open: AtomicUsize::new(0),
        }
    }

    /// Changes what happens to present and later connections.
    pub(crate) fn set_wire(&self, wire: Wire) {
        self.wire.send_replace(wire);
    }

    /// How many commands contained `what`.
    pub(crate) fn commands_with(&self, what: &str) -> usize {
        self.commands.lock().unwrap().iter().filter(|line| line.contains(what)).count()
    }

    /// Serves SSH on `stream`.
    pub(crate) async fn serve<S>(self: Arc<Self>, mut stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        self.connections.fetch_add(1, SeqCst);
        self.open.fetch_add(1, SeqCst);
        if self.mute {
            stream.write_all(b"SSH-2.0-mute\r\n").await.unwrap();
            let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
            self.open.fetch_sub(1, SeqCst);
            return;
        }
        let handler = Visitor { host: Arc::clone(&self), channels: HashMap::new() };
        if let Ok(session) = server::run_stream(Arc::clone(&self.config), stream, handler).await {
            let _ = session.await;
        }
        self.open.fetch_sub(1, SeqCst);
    }

    /// A new connection to this host, through a wire that can be cut.
    fn connect(self: &Arc<Self>) -> DuplexStream {
        let (near, mut outside) = duplex(64 * 1024);
        let (mut inside, far) = duplex(64 * 1024);
        let mut wire = self.wire.subscribe();
        tokio::spawn(async move {
            tokio::select! {
                _ = copy_bidirectional(&mut outside, &mut inside) => return,
                _ = wire.wait_for(|wire| *wire != Wire::Whole) => {}
            }
            let _ = wire.wait_for(|wire| *wire == Wire::Cut).await;
        });
        tokio::spawn(Arc::clone(self).serve(far));
        near
    }
}

/// Somebody's connection to a host.
struct Visitor {
    host: Arc<FakeHost>,
    channels: HashMap<ChannelId, Channel<Msg>>,
}

impl server::Handler for Visitor {
    type Error = russh::Error;

    async fn auth_publickey(&mut self, user: &str, key: VerifiedPublicKey<'_>) -> Result<Auth, russh::Error> {
        self.host.attempts.fetch_add(1, SeqCst);
        let known = user == self.host.user && key.public_key.key_data() == self.host.authorized.key_data();
        Ok(match known {
            true if self.host.second_factor => Auth::Reject {
                proceed_with_methods: Some(MethodSet::from(&[MethodKind::Password][..])),
                partial_success: true,
            },
            true => Auth::Accept,
            false => Auth::reject(),
        })
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), russh::Error> {
        self.channels.insert(channel.id(), channel);
        reply.accept().await;
        Ok(())
    }

    async fn exec_request(
        &mut self,
        id: ChannelId,
        line: &[u8],
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        let line = String::from_utf8(line.to_vec()).unwrap();
        self.host.commands.lock().unwrap().push(line.clone());
        let channel = self.channels.remove(&id).unwrap();
        if matches!(self.host.shell, Shell::None) {
            return session.channel_failure(id);
        }
        session.channel_success(id)?;
        let (host, handle) = (Arc::clone(&self.host), session.handle());
        tokio::spawn(async move { host.shell.run(&line, channel, handle, &host).await });
        Ok(())
    }
}

/// Some hosts by address. Whoever dials an address without a host waits for ever.
#[derive(Clone, Default)]
pub(crate) struct Net(Arc<NetState>);

#[derive(Default)]
struct NetState {
    hosts: Mutex<HashMap<SocketAddr, Arc<FakeHost>>>,
    dialed: AtomicUsize,
}

impl Net {
    /// Puts a host at `address`.
    pub(crate) fn put(&self, address: &str, host: FakeHost) -> Arc<FakeHost> {
        let host = Arc::new(host);
        self.0.hosts.lock().unwrap().insert(address.parse().unwrap(), Arc::clone(&host));
        host
    }

    /// Takes the host at `address` away from whoever dials it. What is connected stays so.
    pub(crate) fn take(&self, address: &str) {
        self.0.hosts.lock().unwrap().remove(&address.parse().unwrap());
    }

    /// How often anybody has dialed.
    pub(crate) fn dialed(&self) -> usize {
        self.0.dialed.load(SeqCst)
    }
}

impl Dial for Net {
    type Stream = DuplexStream;

    async fn dial(&self, address: SocketAddr) -> io::Result<DuplexStream> {
        self.0.dialed.fetch_add(1, SeqCst);
        let host = self.0.hosts.lock().unwrap().get(&address).cloned();
        match host {
            Some(host) => Ok(host.connect()),
            None => std::future::pending().await,
        }
    }
}
