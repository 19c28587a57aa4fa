//! One command on a session: fed, read to its end, and never trusted to end.

use std::pin::pin;

use russh::client::Msg;
use russh::{ChannelMsg, ChannelReadHalf, ChannelWriteHalf};
use tokio::time::{Instant, timeout_at};

use crate::classify::{quote, with_words};
use crate::limits::Limits;
use crate::session::Session;

/// The most that is kept of what a command writes to its standard error, in bytes.
const STDERR_MAX: usize = 4096;

/// Input is handed over in pieces of this many bytes.
const PIECE: usize = 32 * 1024;

/// A command to run: a line for the account's shell, and its standard input.
pub(crate) struct Command<'a> {
    pub(crate) line: &'a str,
    pub(crate) input: &'a [u8],
}

/// Takes what a command writes to its standard output.
pub(crate) trait Sink {
    /// Takes the next piece.
    fn take(&mut self, piece: &[u8]) -> Flow;

    /// Waits until there is room for what comes next.
    fn room(&mut self) -> impl Future<Output = ()> + Send {
        async {}
    }
}

/// What a [`Sink`] wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// More.
    More,
    /// Nothing: it has all it needs, and the command may end.
    Enough,
    /// Nothing: what came is not acceptable.
    Abandon,
}

/// Output that is kept as text, up to a bound.
pub(crate) struct Text {
    bytes: Vec<u8>,
    max: usize,
}

impl Text {
    pub(crate) const fn new(max: usize) -> Self {
        Self { bytes: Vec::new(), max }
    }

    pub(crate) fn as_str(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }
}

impl Sink for Text {
    fn take(&mut self, piece: &[u8]) -> Flow {
        let room = self.max.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&piece[..piece.len().min(room)]);
        Flow::More
    }
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Its exit.
    pub(crate) exit: Exit,
    /// What it wrote to its standard error.
    pub(crate) stderr: String,
}

impl Ended {
    /// Both in words.
    pub(crate) fn describe(&self) -> String {
        let exit = match &self.exit {
            Exit::Code(code) => format!("exit code {code}"),
            Exit::Signal(signal) => format!("signal {}", quote(signal)),
            Exit::Untold => "no exit code".to_owned(),
        };
        with_words(exit, &self.stderr)
    }
}

/// The exit of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It ended by itself.
    Code(u32),
    /// A signal ended it.
    Signal(String),
    /// The host did not say, or was not waited for.
    Untold,
}

/// A command whose end is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Whether the command may have received input.
    pub(crate) fed: bool,
    /// Why.
    pub(crate) why: Why,
}

/// Why the end of a command is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The host did not open a channel or start the command in time.
    NotStarted,
    /// The host refuses to run commands.
    Refused,
    /// The session was lost.
    Lost,
    /// The deadline passed.
    Deadline,
}

impl Session {
    /// Runs `command`, hands its output to `sink`, and waits for its end or until the sink has enough.
    ///
    /// Afterwards the session is settled only if the command has really ended: one that goes on would occupy one of
    /// the few channels that a host allows, even after we closed it.
    pub(crate) async fn run(
        &mut self,
        command: Command<'_>,
        sink: &mut (impl Sink + Send),
        limits: &Limits,
        deadline: Instant,
    ) -> Result<Ended, Broken> {
        let talk = self.begin(command.line, limits, deadline).await?;
        self.finish(talk, command.input, sink, limits).await
    }

    /// Starts a command and withholds its input.
    pub(crate) async fn begin(
        &mut self,
        line: &str,
        limits: &Limits,
        deadline: Instant,
    ) -> Result<Talk, Broken> {
        self.settled = false;
        let broken = |why| Broken { fed: false, why };
        let start_by = deadline.min(Instant::now() + limits.start);
        let started = timeout_at(start_by, self.start(line)).await;
        let (read, write) = started.map_err(|_| broken(Why::NotStarted))?.map_err(broken)?;
        let said = Said { stderr: Text::new(STDERR_MAX), exit: Exit::Untold };
        Ok(Talk { read, write, said, deadline })
    }

    /// Reads what a command says that has no input yet. Returns whether the sink has enough, and the command goes on.
    pub(crate) async fn hear(
        &mut self,
        talk: &mut Talk,
        sink: &mut (impl Sink + Send),
        deadline: Instant,
    ) -> Result<bool, Broken> {
        let broken = |why| Broken { fed: false, why };
        let heard = timeout_at(deadline, talk.until_enough(None, sink)).await;
        match heard.map_err(|_| broken(Why::Deadline))? {
            End::Enough => return Ok(true),
            End::Closed => self.settled = true,
            End::Abandoned => {}
            End::Lost => return Err(broken(Why::Lost)),
        }
        Ok(false)
    }

    /// Feeds a command that was begun, and hands its output to `sink`, as [`Self::run`] does.
    pub(crate) async fn finish(
        &mut self,
        mut talk: Talk,
        input: &[u8],
        sink: &mut (impl Sink + Send),
        limits: &Limits,
    ) -> Result<Ended, Broken> {
        let deadline = talk.deadline;
        let fed = !input.is_empty();
        let spoken = timeout_at(deadline, talk.until_enough(Some(input), sink)).await;
        let end = spoken.map_err(|_| Broken { fed, why: Why::Deadline })?;
        self.settled = match end {
            End::Closed => true,
            End::Enough => {
                let end_by = deadline.min(Instant::now() + limits.drain);
                timeout_at(end_by, talk.until_closed()).await == Ok(true)
            }
            End::Abandoned => false,
            End::Lost => return Err(Broken { fed, why: Why::Lost }),
        };
        Ok(Ended { exit: talk.said.exit, stderr: talk.said.stderr.as_str().into_owned() })
    }

    /// Opens a channel and starts the command on it.
    async fn start(&self, line: &str) -> Result<(ChannelReadHalf, ChannelWriteHalf<Msg>), Why> {
        let opened = self.handle.channel_open_session().await;
        let (mut read, write) = match opened {
            Ok(channel) => channel.split(),
            Err(russh::Error::ChannelOpenFailure(_)) => return Err(Why::Refused),
            Err(_) => return Err(Why::Lost),
        };
        write.exec(true, line).await.map_err(|_| Why::Lost)?;
        loop {
            match read.wait().await {
                Some(ChannelMsg::Success) => return Ok((read, write)),
                Some(ChannelMsg::Failure | ChannelMsg::Close) => return Err(Why::Refused),
                Some(_) => {}
                None => return Err(Why::Lost),
            }
        }
    }
}

/// A started command.
pub(crate) struct Talk {
    read: ChannelReadHalf,
    write: ChannelWriteHalf<Msg>,
    said: Said,
    /// When it has to have ended.
    deadline: Instant,
}

/// What tells how a command ended.
struct Said {
    stderr: Text,
    exit: Exit,
}

/// Where reading ended.
enum End {
    /// The host closed the channel: the command has ended.
    Closed,
    /// The sink has enough.
    Enough,
    /// The sink will have no more.
    Abandoned,
    /// The session is gone.
    Lost,
}

impl Talk {
    /// Feeds and reads at the same time: a command may end, or wait for its output to be read, before it has read
    /// its input. Without input its input stays open.
    async fn until_enough(&mut self, input: Option<&[u8]>, sink: &mut impl Sink) -> End {
        let Self { read, write, said, .. } = self;
        let mut feeding = pin!(feed(write, input.unwrap_or_default()));
        let mut fed = input.is_none();
        loop {
            let message = tokio::select! {
                () = &mut feeding, if !fed => {
                    fed = true;
                    continue;
                }
                message = read.wait() => message,
            };
            match message {
                Some(ChannelMsg::Data { data }) => match sink.take(&data) {
                    // Without a reader the window of the channel fills up, and the host waits.
                    Flow::More => sink.room().await,
                    Flow::Enough => return End::Enough,
                    Flow::Abandon => return End::Abandoned,
                },
                Some(ChannelMsg::Close) => return End::Closed,
                Some(message) => said.note(message),
                None => return End::Lost,
            }
        }
    }

    /// Reads the rest. Whether the command has ended.
    async fn until_closed(&mut self) -> bool {
        loop {
            match self.read.wait().await {
                Some(ChannelMsg::Close) => return true,
                Some(message) => self.said.note(message),
                None => return false,
            }
        }
    }
}

impl Said {
    /// Keeps what tells how the command ended.
    fn note(&mut self, message: ChannelMsg) {
        if let ChannelMsg::ExtendedData { data, ext: 1 } = message {
            self.stderr.take(&data);
        } else if let ChannelMsg::ExitStatus { exit_status } = message {
            self.exit = Exit::Code(exit_status);
        } else if let ChannelMsg::ExitSignal { signal_name, .. } = message {
            self.exit = Exit::Signal(format!("{signal_name:?}"));
        }
    }
}

/// Hands over the input and closes it. A session that fails meanwhile is noticed by reading.
async fn feed(write: &ChannelWriteHalf<Msg>, input: &[u8]) {
    for piece in input.chunks(PIECE) {
        if write.data_bytes(piece.to_vec()).await.is_err() {
            return;
        }
    }
    let _ = write.eof().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_output_is_kept_than_allowed() {
        let mut text = Text::new(5);
        for piece in ["abc", "def", "ghi"] {
            assert_eq!(text.take(piece.as_bytes()), Flow::More);
        }
        assert_eq!(text.as_str(), "abcde");
    }
}
