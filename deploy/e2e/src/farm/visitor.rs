//! One connection to a host of the farm: the login, and the commands of the operator.

use std::collections::HashMap;
use std::env::consts::ARCH;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use russh::server::{Auth, ChannelOpenHandle, Handle, Handler, Msg, Session, VerifiedPublicKey};
use russh::{Channel, ChannelId, ChannelMsg};
use seaworthy_api::host::frame;
use seaworthy_api::host::wire::Request;

use super::Running;

/// The bytes before a frame that tell its length.
const LENGTH: usize = 4;

/// The client of one connection. Every key may log in.
pub(super) struct Visitor {
    address: IpAddr,
    running: Arc<Running>,
    channels: HashMap<ChannelId, Channel<Msg>>,
}

impl Visitor {
    pub(super) fn new(address: IpAddr, running: Arc<Running>) -> Self {
        Self { address, running, channels: HashMap::new() }
    }
}

impl Handler for Visitor {
    type Error = russh::Error;

    async fn auth_publickey(&mut self, _: &str, _: VerifiedPublicKey<'_>) -> Result<Auth, russh::Error> {
        Ok(Auth::Accept)
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
        let line = String::from_utf8_lossy(line).into_owned();
        let Some(channel) = self.channels.remove(&id) else { return Ok(()) };
        session.channel_success(id)?;
        self.running.counts.commands.fetch_add(1, Relaxed);
        let (address, running, handle) = (self.address, Arc::clone(&self.running), session.handle());
        tokio::spawn(async move { running.command(address, &line, channel, handle).await });
        Ok(())
    }
}

impl Running {
    /// Runs a command of the operator: an order, on a new connection after a look at the host program.
    async fn command(&self, address: IpAddr, line: &str, mut channel: Channel<Msg>, handle: Handle) {
        if line.contains("exec $p serve") {
            if !line.contains(&self.sort.program.to_string()) {
                return end(&channel, &handle, b"", 3).await;
            }
            let ready = format!("\nseaworthy: ready 0 {ARCH}\n");
            let _ = channel.data(ready.as_bytes()).await;
        }
        let Some(received) = receive(&mut channel).await else { return };
        let body = received.get(LENGTH..).unwrap_or_default();
        let reply = match frame::decode::<Request>(body) {
            Ok(request) => frame::encode(&self.order(address, request).await).ok(),
            Err(error) => {
                eprintln!("{address}: `{line}`: {error}");
                None
            }
        };
        match reply {
            Some(reply) => end(&channel, &handle, &reply, 0).await,
            None => end(&channel, &handle, b"", 3).await,
        }
    }
}

/// Everything up to the end of one frame. `None` if the client has gone.
async fn receive(channel: &mut Channel<Msg>) -> Option<Vec<u8>> {
    let mut received = Vec::new();
    loop {
        let message = channel.wait().await?;
        if let ChannelMsg::Data { data } = message {
            received.extend_from_slice(&data);
        } else if matches!(message, ChannelMsg::Eof) {
            return Some(received);
        }
        if let Some(length) = received.first_chunk::<LENGTH>() {
            let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
            if received.len() >= length.saturating_add(LENGTH) {
                return Some(received);
            }
        }
    }
}

/// Ends a command. The client may have gone, which is its affair.
async fn end(channel: &Channel<Msg>, handle: &Handle, output: &[u8], code: u32) {
    let _ = channel.data(output).await;
    let _ = handle.exit_status_request(channel.id(), code).await;
    let _ = channel.eof().await;
    let _ = channel.close().await;
}
