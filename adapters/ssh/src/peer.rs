//! Our side of a session's callbacks, and what it records for us.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use russh::Channel;
use russh::client::{self, ChannelOpenHandle, DisconnectReason};
use russh::keys::{PublicKey, PublicKeyOrCertificate};
use seaworthy_model::cause::Cause;

use crate::classify;
use crate::host_keys::HostKeys;

/// The longest banner that is kept, in bytes.
const BANNER_MAX: usize = 1024;

/// What the session's task has recorded for us. Complete once that task has ended.
#[derive(Clone, Default)]
pub(crate) struct Record(Arc<Mutex<Notes>>);

#[derive(Default)]
pub(crate) struct Notes {
    /// The key that the host has shown.
    pub(crate) host_key: Option<PublicKey>,
    /// Why that key was not accepted.
    pub(crate) refusal: Option<Cause>,
    /// What the host said before login, for people.
    pub(crate) banner: String,
    /// What the host said when it ended the session, or how the session broke.
    pub(crate) farewell: String,
    /// Whether the host ended the session because of failed logins.
    pub(crate) expelled: bool,
}

impl Record {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Our side of the session's callbacks.
pub(crate) struct Peer {
    host_keys: HostKeys,
    record: Record,
}

impl Peer {
    /// Accepts only `host_keys`, and writes to `record`.
    pub(crate) const fn new(host_keys: HostKeys, record: Record) -> Self {
        Self { host_keys, record }
    }
}

impl client::Handler for Peer {
    type Error = russh::Error;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        let mut notes = self.record.lock();
        // Certificates are not negotiated; one would be judged by the key inside it.
        let key = shown.public_key();
        let accepted = shown.certificate().is_none() && self.host_keys.accept(&key);
        if !accepted {
            notes.refusal = Some(self.host_keys.mismatch(&key));
        }
        notes.host_key = Some(key);
        Ok(accepted)
    }

    async fn auth_banner(&mut self, banner: &str, _: &mut client::Session) -> Result<(), russh::Error> {
        let mut notes = self.record.lock();
        let room = BANNER_MAX.saturating_sub(notes.banner.len());
        notes
            .banner
            .extend(banner.char_indices().take_while(|(at, c)| at + c.len_utf8() <= room).map(|(_, c)| c));
        Ok(())
    }

    async fn disconnected(&mut self, reason: DisconnectReason<russh::Error>) -> Result<(), russh::Error> {
        let mut notes = self.record.lock();
        match reason {
            DisconnectReason::ReceivedDisconnect(info) => {
                notes.expelled = matches!(info.reason_code, russh::Disconnect::NoMoreAuthMethodsAvailable)
                    || info.message.contains("Too many authentication failures");
                notes.farewell = classify::quote(&info.message);
                Ok(())
            }
            DisconnectReason::Error(error) => {
                notes.farewell = error.to_string();
                Err(error)
            }
        }
    }

    // A host must not open channels to us, and the library's defaults would accept them. Dropping the reply refuses the
    // channel.

    async fn server_channel_open_session(
        &mut self,
        _: Channel<client::Msg>,
        _: ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), russh::Error> {
        Ok(())
    }

    async fn server_channel_open_direct_tcpip(
        &mut self,
        _: Channel<client::Msg>,
        _: &str,
        _: u32,
        _: &str,
        _: u32,
        _: ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), russh::Error> {
        Ok(())
    }

    async fn server_channel_open_direct_streamlocal(
        &mut self,
        _: Channel<client::Msg>,
        _: &str,
        _: ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), russh::Error> {
        Ok(())
    }

    async fn server_channel_open_x11(
        &mut self,
        _: Channel<client::Msg>,
        _: &str,
        _: u32,
        _: ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), russh::Error> {
        Ok(())
    }

    async fn server_channel_open_forwarded_tcpip(
        &mut self,
        _: Channel<client::Msg>,
        _: &str,
        _: u32,
        _: &str,
        _: u32,
        _: ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), russh::Error> {
        Ok(())
    }

    async fn server_channel_open_forwarded_streamlocal(
        &mut self,
        _: Channel<client::Msg>,
        _: &str,
        _: ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), russh::Error> {
        Ok(())
    }

    async fn server_channel_open_agent_forward(
        &mut self,
        _: Channel<client::Msg>,
        _: ChannelOpenHandle,
        _: &mut client::Session,
    ) -> Result<(), russh::Error> {
        Ok(())
    }
}
