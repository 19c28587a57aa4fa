//! What a fake host does with a command: a real shell, or a script for what no real shell does on demand.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;

use russh::server::{Handle, Msg};
use russh::{Channel, ChannelMsg, Disconnect};
use seaworthy_model::digest::Digest;
use tokio::io::{AsyncWriteExt, copy};
use tokio::process::Command;

use crate::fake_host::{FakeHost, Wire};

/// What a host does with commands.
pub(crate) enum Shell {
    /// It refuses to run any.
    None,
    /// It starts them, and nothing comes of it.
    Silent,
    /// A real `sh`, with the executables of this folder before all others.
    Real(PathBuf),
    /// The account's shell says so and ends, whatever the command.
    NoLogin(&'static str),
    /// As if a root account and the host program were there; the program behaves like this.
    Scripted(Script),
}

/// How a scripted host program behaves.
pub(crate) struct Script {
    pub(crate) program: Digest,
    pub(crate) behaviour: Mutex<Behaviour>,
}

/// How a scripted host program behaves.
#[derive(Clone, Debug)]
pub(crate) enum Behaviour {
    /// Replies with these bytes, framed.
    Reply(Vec<u8>),
    /// Writes these bytes and ends.
    Write(Vec<u8>),
    /// Reads the request, writes half a reply, and the wire breaks.
    BreakWire(Wire),
    /// Reads the request and says nothing.
    Hang,
    /// Replies with these bytes, framed, and does not end.
    ReplyAndHang(Vec<u8>),
    /// Complains without end, then replies with nothing.
    Complain(usize),
    /// The host says goodbye in the middle.
    Disconnect,
    /// The host tries to open channels to us, and replies with how many it was granted.
    Intrude,
}

/// `body` as a frame.
pub(crate) fn framed(body: &[u8]) -> Vec<u8> {
    [&u32::try_from(body.len()).unwrap().to_be_bytes(), body].concat()
}

impl Shell {
    /// A host program that replies with `body`.
    pub(crate) fn replying(program: &[u8], body: &[u8]) -> Self {
        Self::behaving(program, Behaviour::Reply(body.to_vec()))
    }

    /// A host program that behaves in this way.
    pub(crate) fn behaving(program: &[u8], behaviour: Behaviour) -> Self {
        Self::Scripted(Script { program: Digest::of(program), behaviour: Mutex::new(behaviour) })
    }

    /// Runs a command.
    pub(crate) async fn run(&self, line: &str, channel: Channel<Msg>, handle: Handle, host: &FakeHost) {
        match self {
            Self::None => {}
            Self::Silent => std::future::pending().await,
            Self::Real(before) => run_real(before, line, channel, handle).await,
            Self::NoLogin(words) => end(&channel, &handle, words.as_bytes(), 1).await,
            Self::Scripted(script) => script.run(line, channel, handle, host).await,
        }
    }
}

/// Writes `output` and ends the command.
async fn end(channel: &Channel<Msg>, handle: &Handle, output: &[u8], code: u32) {
    let _ = channel.data(output).await;
    let _ = handle.exit_status_request(channel.id(), code).await;
    let _ = channel.eof().await;
    let _ = channel.close().await;
}

impl Script {
    async fn run(&self, line: &str, mut channel: Channel<Msg>, handle: Handle, host: &FakeHost) {
        if line.contains("exec $p serve") {
            let _ = channel.data(&b"\nseaworthy: ready 0 x86_64\n"[..]).await;
        } else if line.contains("uname -m") {
            return end(&channel, &handle, b"seaworthy: 0 0 x86_64\n", 0).await;
        } else if line.contains("sha256sum") {
            let found = format!("seaworthy: 0:755 /opt\nseaworthy: sha256 {}  -\n", self.program);
            return end(&channel, &handle, found.as_bytes(), 0).await;
        } else {
            assert!(line.ends_with(" serve"), "{line}");
        }
        let mut received = Vec::new();
        loop {
            match channel.wait().await {
                Some(ChannelMsg::Data { data }) => received.extend_from_slice(&data),
                Some(ChannelMsg::Eof) => break,
                Some(_) => {}
                None => return,
            }
        }
        *host.received.lock().unwrap() = received;
        let behaviour = self.behaviour.lock().unwrap().clone();
        match behaviour {
            Behaviour::Reply(body) => end(&channel, &handle, &framed(&body), 0).await,
            Behaviour::Write(bytes) => end(&channel, &handle, &bytes, 3).await,
            Behaviour::BreakWire(wire) => {
                let _ = channel.data(&framed(b"half a reply")[..9]).await;
                // Time is paused: it goes on once everything that was written has arrived.
                tokio::time::sleep(Duration::from_millis(1)).await;
                host.set_wire(wire);
            }
            Behaviour::Hang => std::future::pending().await,
            Behaviour::ReplyAndHang(body) => {
                let _ = channel.data(&framed(&body)[..]).await;
                std::future::pending().await
            }
            Behaviour::Complain(bytes) => {
                let _ = channel.extended_data(1, vec![b'x'; bytes].as_slice()).await;
                end(&channel, &handle, b"", 3).await;
            }
            Behaviour::Intrude => {
                let granted = [
                    handle.channel_open_agent().await.is_ok(),
                    handle.channel_open_session().await.is_ok(),
                    handle.channel_open_forwarded_tcpip("a", 1, "b", 2).await.is_ok(),
                    handle.channel_open_forwarded_streamlocal("/run/s").await.is_ok(),
                    handle.channel_open_direct_tcpip("a", 1, "b", 2).await.is_ok(),
                    handle.channel_open_direct_streamlocal("/run/s").await.is_ok(),
                    handle.channel_open_x11("a", 1).await.is_ok(),
                ];
                let granted = granted.iter().filter(|granted| **granted).count();
                end(&channel, &handle, &framed(granted.to_string().as_bytes()), 0).await;
            }
            Behaviour::Disconnect => {
                let _ = handle.disconnect(Disconnect::ByApplication, "going down".into(), "en".into()).await;
            }
        }
    }
}

async fn run_real(before: &Path, line: &str, channel: Channel<Msg>, handle: Handle) {
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", before.display());
    let mut child = Command::new("/bin/sh")
        .args(["-c", line])
        .env_clear()
        .env("PATH", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let (mut input, mut output, mut errors) =
        (child.stdin.take().unwrap(), child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (mut read, write) = channel.split();
    let feed = tokio::spawn(async move {
        while let Some(message) = read.wait().await {
            if let ChannelMsg::Data { data } = message {
                let _ = input.write_all(&data).await;
            } else if matches!(message, ChannelMsg::Eof) {
                break;
            }
        }
        drop(input);
        // The rest is read, or the session would wait for it.
        while read.wait().await.is_some() {}
    });
    let (mut said, mut complained) = (write.make_writer(), write.make_writer_ext(Some(1)));
    // A client that has gone takes no more, which is its affair.
    let _ = tokio::join!(copy(&mut output, &mut said), copy(&mut errors, &mut complained));
    let status = child.wait().await.unwrap();
    if let Some(code) = status.code() {
        let _ = handle.exit_status_request(write.id(), u32::try_from(code).unwrap()).await;
    }
    let _ = write.eof().await;
    let _ = write.close().await;
    let _ = feed.await;
}
