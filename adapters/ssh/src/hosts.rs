//! All hosts, and the one entry point for orders to them.

use seaworthy_api::host::frame::{self, HEADER};
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::host::Connection;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};
use tracing::{Instrument as _, debug, info_span};

use crate::classify::Failure;
use crate::delivery;
use crate::exec::{Broken, Ended, Exit, Flow, Sink, Talk, Why};
use crate::host_keys::HostKeys;
use crate::keys::{Keys, usable_key};
use crate::limits::Limits;
use crate::opening::{self, Greeting};
use crate::pool::{Endpoint, Pool};
use crate::program::{Place, Programs};
use crate::session::{Session, dial_within};
use crate::stream::{Dial, Tcp};

/// What a shell answers for a program that it cannot execute, and for one that it cannot find.
const NOT_EXECUTED: [u32; 2] = [126, 127];

/// Signals that end a program because the host goes down or is short of memory, and not because it is broken.
const ENDED_FROM_OUTSIDE: [&str; 4] = ["TERM", "KILL", "HUP", "PIPE"];

/// All hosts, through SSH.
///
/// One order at a time goes to each host; others wait for their turn, up to their deadline. Sessions are kept for
/// a while after use; a replaced Secret counts from the next login. Dropping the future of an order cuts its
/// connection.
pub struct Hosts<K, D = Tcp> {
    keys: K,
    dial: D,
    programs: Programs,
    limits: Limits,
    pool: Pool<Session>,
    handshakes: Semaphore,
    /// Bytes of replies that may be kept while they arrive.
    replies: Semaphore,
}

/// How a request may get to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// Over a session that is open already, if there is one.
    Any,
    /// Over a connection that is opened for it.
    New,
}

/// A reply, and the host key of the host that gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The body of the reply's frame.
    pub body: Vec<u8>,
    /// The key that the host has shown, as it would be pinned: `ssh-ed25519 AAAA...`.
    pub host_key: String,
}

impl<K: Keys> Hosts<K> {
    /// Hosts that are reached through TCP.
    pub fn new(keys: K, programs: Programs, limits: Limits) -> Self {
        Self::through(Tcp, keys, programs, limits)
    }
}

impl<K: Keys, D: Dial> Hosts<K, D> {
    /// Hosts that are reached through `dial`.
    pub fn through(dial: D, keys: K, programs: Programs, limits: Limits) -> Self {
        let pool = Pool::new(limits.idle, limits.idle_time);
        let handshakes = Semaphore::new(limits.handshakes.clamp(1, Semaphore::MAX_PERMITS));
        let replies = Semaphore::new(limits.replies.clamp(frame::REPLY_MAX, Semaphore::MAX_PERMITS));
        Self { keys, dial, programs, limits, pool, handshakes, replies }
    }

    /// The number of idle connections that are kept open.
    pub fn idle(&self) -> usize {
        self.pool.idle()
    }

    /// Hands the frame `request` to the program on the host, and returns the body of its reply.
    ///
    /// # Errors
    /// [`Failure::Before`] when nothing can have happened, [`Failure::After`] when the host may have received the
    /// request.
    pub async fn exchange(
        &self,
        connection: &Connection,
        request: &[u8],
        deadline: Instant,
    ) -> Result<Exchange, Failure> {
        self.exchange_by(Route::Any, connection, request, deadline).await
    }

    /// The same over a connection that is opened for this request, even when there is a session already: its reply proves
    /// that the host can be reached now.
    ///
    /// # Errors
    /// As [`Self::exchange`].
    pub async fn exchange_over_new_connection(
        &self,
        connection: &Connection,
        request: &[u8],
        deadline: Instant,
    ) -> Result<Exchange, Failure> {
        self.exchange_by(Route::New, connection, request, deadline).await
    }

    async fn exchange_by(
        &self,
        route: Route,
        connection: &Connection,
        request: &[u8],
        deadline: Instant,
    ) -> Result<Exchange, Failure> {
        let span = info_span!("ssh", host = &*connection.address.ip, port = connection.port);
        self.exchange_in_turn(route, connection, request, deadline).instrument(span).await
    }

    async fn exchange_in_turn(
        &self,
        route: Route,
        connection: &Connection,
        request: &[u8],
        deadline: Instant,
    ) -> Result<Exchange, Failure> {
        let host_keys = HostKeys::of(connection).map_err(Failure::Before)?;
        let endpoint: Endpoint = (connection.address.ip.clone(), connection.port);
        let lane = self.pool.enter(endpoint, deadline).await.ok_or_else(|| {
            let detail = "another order to the same host did not end in time";
            Failure::Before(Cause::new(CauseKind::HostBusy, detail))
        })?;
        // A kept session that is not used is closed: one session for each host is enough.
        let kept = lane.take().filter(|session| session.serves(connection, &host_keys));
        let kept = kept.filter(|_| route == Route::Any);
        if let Some(mut session) = kept {
            match Box::pin(self.call(&mut session, request, deadline)).await {
                // A kept session fails when the host was restarted in the meantime. That says nothing about the order, so a new
                // connection is tried.
                Err(Failure::Before(cause)) => debug!(?cause, "kept session is of no use, connecting anew"),
                end => return end.inspect(|_| keep_settled(&lane, session)),
            }
        }
        let mut session = self.connect(connection, host_keys, deadline).await.map_err(Failure::Before)?;
        let end = Box::pin(self.call(&mut session, request, deadline)).await;
        end.inspect(|_| keep_settled(&lane, session))
    }

    async fn connect(
        &self,
        connection: &Connection,
        host_keys: HostKeys,
        deadline: Instant,
    ) -> Result<Session, Cause> {
        let unread = |_| Cause::new(CauseKind::ApiUnavailable, "the Secret was not read in time");
        let key = timeout_at(deadline, usable_key(&self.keys, &connection.login.secret_name))
            .await
            .map_err(unread)??;
        let dialed_by = deadline.min(Instant::now() + self.limits.connect);
        let stream = dial_within(&self.dial, connection, dialed_by).await?;
        let crowded = |_| {
            let detail = "too many other hosts were being logged in to";
            Cause::new(CauseKind::ConnectionFailed, detail)
        };
        let _permit = timeout_at(deadline, self.handshakes.acquire()).await.map_err(crowded)?;
        // Boxed: an order that waits for its turn does not hold the room that a handshake needs.
        Box::pin(Session::open(stream, connection, host_keys, key, (&self.limits, deadline))).await
    }

    /// Calls the program on the host, after making sure that it is there.
    async fn call(
        &self,
        session: &mut Session,
        request: &[u8],
        deadline: Instant,
    ) -> Result<Exchange, Failure> {
        let mut reply = Reply::new(&self.replies);
        let (place, talk) =
            self.call_program(session, &mut reply, deadline).await.map_err(Failure::Before)?;
        let ended = session.finish(talk, request, &mut reply, &self.limits).await;
        let ended = ended.map_err(|broken| unanswered(session, &broken))?;
        let body = reply.read(&ended)?;
        session.place = Some(place);
        Ok(Exchange { body, host_key: session.host_key() })
    }

    /// The program on the host, called and without its request. It is delivered if it is not there.
    async fn call_program(
        &self,
        session: &mut Session,
        reply: &mut Reply<'_>,
        deadline: Instant,
    ) -> Result<(Place, Talk), Cause> {
        let limits = &self.limits;
        let place = match session.place.take() {
            Some(place) => place,
            None => match self.open(session, reply, deadline).await? {
                Some(called) => return Ok(called),
                None => delivery::place(session, &self.programs, limits, deadline).await?,
            },
        };
        let talk = session.begin(&place.line, limits, deadline).await;
        talk.map(|talk| (place, talk)).map_err(|broken| delivery::not_run(session, &broken))
    }

    /// Calls the program with one command, if the host finds it as it should be.
    async fn open(
        &self,
        session: &mut Session,
        reply: &mut Reply<'_>,
        deadline: Instant,
    ) -> Result<Option<(Place, Talk)>, Cause> {
        let mut greeting = Greeting::new();
        let begun = session.begin(&opening::line(&self.programs), &self.limits, deadline).await;
        let mut talk = begun.map_err(|broken| delivery::not_run(session, &broken))?;
        let ready_by = deadline.min(Instant::now() + self.limits.survey);
        let ready = session.hear(&mut talk, &mut greeting, ready_by).await;
        if !ready.map_err(|broken| delivery::not_run(session, &broken))? {
            return Ok(None);
        }
        Ok(greeting.read(&self.programs).map(|(place, rest)| {
            reply.take(rest);
            (place, talk)
        }))
    }
}

fn keep_settled(lane: &crate::pool::Lane<'_, Session>, session: Session) {
    if session.settled {
        lane.keep(session);
    }
}

/// A call whose end is not known.
fn unanswered(session: &Session, broken: &Broken) -> Failure {
    if !broken.fed {
        return Failure::Before(delivery::not_run(session, broken));
    }
    let detail = match broken.why {
        Why::Deadline => "no reply before the deadline".to_owned(),
        Why::NotStarted | Why::Refused | Why::Lost => session.loss(),
    };
    Failure::After(Cause::new(CauseKind::ConnectionFailed, detail))
}

/// A reply of up to so many bytes needs no permit. Nearly all are shorter, so hosts that hold long ones back keep only such
/// others waiting as are long as well.
const SHORT: usize = 16 << 10;

/// Collects one frame.
struct Reply<'a> {
    header: Vec<u8>,
    body: Vec<u8>,
    length: Option<usize>,
    refused: Option<String>,
    permits: &'a Semaphore,
    permit: Option<SemaphorePermit<'a>>,
}

impl<'a> Reply<'a> {
    const fn new(permits: &'a Semaphore) -> Self {
        Self { header: Vec::new(), body: Vec::new(), length: None, refused: None, permits, permit: None }
    }
}

impl Sink for Reply<'_> {
    fn take(&mut self, piece: &[u8]) -> Flow {
        let split = piece.len().min(HEADER - self.header.len());
        let (header, rest) = piece.split_at(split);
        self.header.extend_from_slice(header);
        let Ok(header) = <[u8; HEADER]>::try_from(self.header.as_slice()) else { return Flow::More };
        match frame::body_length(header, frame::REPLY_MAX) {
            Ok(length) => {
                self.length = Some(length);
                self.body.extend_from_slice(&rest[..rest.len().min(length - self.body.len())]);
                if self.body.len() == length { Flow::Enough } else { Flow::More }
            }
            Err(error) => {
                let start = [&self.header, &rest[..rest.len().min(64)]].concat();
                self.refused = Some(format!("{error}; it begins `{}`", start.escape_ascii()));
                Flow::Abandon
            }
        }
    }

    async fn room(&mut self) {
        let Some(length) = self.length.filter(|length| *length > SHORT && self.permit.is_none()) else {
            return;
        };
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        // Never closed. Whoever waits is ended by the deadline of its order.
        self.permit = self.permits.acquire_many(length).await.ok();
    }
}

impl Reply<'_> {
    /// The body, or why there is none.
    fn read(self, ended: &Ended) -> Result<Vec<u8>, Failure> {
        if let Some(why) = self.refused {
            let detail = format!("the reply is not a frame: {why}");
            return Err(Failure::After(Cause::new(CauseKind::ProtocolError, detail)));
        }
        if self.length == Some(self.body.len()) {
            return Ok(self.body);
        }
        let why = ended.describe();
        let failed = |kind, what| Cause::new(kind, format!("the host program {what} ({why})"));
        Err(match &ended.exit {
            Exit::Code(code) if NOT_EXECUTED.contains(code) && self.header.is_empty() => {
                Failure::Before(failed(CauseKind::DeliveryFailed, "does not run there"))
            }
            Exit::Code(_) => Failure::After(failed(CauseKind::DeliveryFailed, "ended without a reply")),
            Exit::Signal(signal) if !ENDED_FROM_OUTSIDE.contains(&signal.as_str()) => {
                Failure::After(failed(CauseKind::DeliveryFailed, "broke down without a reply"))
            }
            Exit::Signal(_) | Exit::Untold => {
                Failure::After(failed(CauseKind::ConnectionFailed, "was ended before it could reply"))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::time::Duration;

    use tokio::io::AsyncReadExt;
    use tokio_test::io::{Builder, Mock};

    use super::*;

    fn ended(exit: Exit) -> Ended {
        Ended { exit, stderr: String::new() }
    }

    /// A reply for which there is room.
    fn reply() -> Reply<'static> {
        static ROOM: Semaphore = Semaphore::const_new(frame::REPLY_MAX);
        Reply::new(&ROOM)
    }

    /// Feeds `wire` to a reply for as long as it wants more.
    async fn heard(mut wire: Mock) -> (Reply<'static>, Flow) {
        let (mut reply, mut buffer) = (reply(), [0; 1024]);
        loop {
            let length = match wire.read(&mut buffer).await {
                Ok(0) | Err(_) => return (reply, Flow::More),
                Ok(length) => length,
            };
            let flow = reply.take(&buffer[..length]);
            if flow != Flow::More {
                return (reply, flow);
            }
            reply.room().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_reply_that_comes_in_fits_and_starts_is_whole() {
        let pause = Duration::from_secs(7);
        let wire = Builder::new()
            .read(b"\0")
            .wait(pause)
            .read(b"\0\0")
            .wait(pause)
            .read(b"\x05h")
            .wait(pause)
            .read(b"ello")
            .build();
        let (reply, flow) = heard(wire).await;
        assert_eq!(flow, Flow::Enough);
        assert_eq!(reply.read(&ended(Exit::Untold)).unwrap(), b"hello");
    }

    #[tokio::test(start_paused = true)]
    async fn a_reply_that_is_cut_off_is_none_wherever_the_cut_is() {
        let frame = b"\0\0\0\x05hello";
        for length in 1..frame.len() {
            for reset in [false, true] {
                let wire = if reset {
                    let reset = io::ErrorKind::ConnectionReset.into();
                    Builder::new().read(&frame[..length]).read_error(reset).build()
                } else {
                    Builder::new().read(&frame[..length]).build()
                };
                let (reply, flow) = heard(wire).await;
                assert_eq!(flow, Flow::More, "{length} bytes");
                let Err(Failure::After(cause)) = reply.read(&ended(Exit::Untold)) else {
                    panic!("{length} bytes were taken for a reply, or for none at all")
                };
                assert_eq!(cause.kind, CauseKind::ConnectionFailed, "{length} bytes: {}", cause.detail);
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_hostile_length_costs_no_memory() {
        let longest = u32::try_from(frame::REPLY_MAX).unwrap();
        for length in [longest + 1, u32::MAX] {
            // The length itself comes in two pieces.
            let [first, rest @ ..] = length.to_be_bytes();
            let (reply, flow) = heard(Builder::new().read(&[first]).read(&rest).build()).await;
            assert_eq!((flow, reply.body.capacity()), (Flow::Abandon, 0), "{length}");
            let Err(Failure::After(cause)) = reply.read(&ended(Exit::Code(0))) else { panic!("accepted") };
            assert_eq!(cause.kind, CauseKind::ProtocolError);
            assert!(cause.detail.contains(&length.to_string()), "{}", cause.detail);
        }
        // The longest length that is allowed does not make us allocate that much before the bytes arrive.
        let (reply, flow) = heard(Builder::new().read(&longest.to_be_bytes()).read(b"little").build()).await;
        assert_eq!(flow, Flow::More);
        assert!(reply.body.capacity() < 1024, "{} bytes for 6", reply.body.capacity());
    }

    /// Replies that have begun, of this length, as far as there is room for them.
    async fn begun(room: &Semaphore, length: usize, count: usize) -> Vec<Reply<'_>> {
        let mut all = Vec::new();
        for _ in 0..count {
            let mut reply = Reply::new(room);
            assert_eq!(reply.take(&u32::try_from(length).unwrap().to_be_bytes()), Flow::More);
            if timeout_at(Instant::now() + Duration::from_secs(60), reply.room()).await.is_err() {
                break;
            }
            all.push(reply);
        }
        all
    }

    #[tokio::test(start_paused = true)]
    async fn long_replies_wait_for_room_and_short_ones_do_not() {
        let room = Semaphore::new(4 * frame::REPLY_MAX);
        let held_back = begun(&room, frame::REPLY_MAX, 9).await;
        assert_eq!(held_back.len(), 4, "as many as there is room for");
        assert_eq!(begun(&room, SHORT, 9).await.len(), 9);
        assert_eq!(begun(&room, SHORT + 1, 1).await.len(), 0);
        drop(held_back);
        assert_eq!(begun(&room, SHORT + 1, 1).await.len(), 1, "whoever is given up makes room");
        assert_eq!(room.available_permits(), 4 * frame::REPLY_MAX);
    }

    #[test]
    fn a_reply_is_read_in_pieces_of_any_size_and_no_further() {
        let frame = b"\0\0\0\x05helloworld";
        for size in 1..frame.len() {
            let mut reply = reply();
            let last = frame.chunks(size).map(|piece| reply.take(piece)).find(|flow| *flow != Flow::More);
            assert_eq!(last, Some(Flow::Enough), "pieces of {size}");
            assert_eq!(reply.read(&ended(Exit::Untold)).unwrap(), b"hello");
        }
        let mut empty = reply();
        assert_eq!(empty.take(&[0; 4]), Flow::Enough);
    }

    #[test]
    fn what_is_no_frame_is_refused_and_quoted() {
        let mut reply = reply();
        assert_eq!(reply.take(b"Last login: \x1b[0m"), Flow::Abandon);
        let Err(Failure::After(cause)) = reply.read(&ended(Exit::Code(0))) else { panic!("accepted") };
        assert_eq!(cause.kind, CauseKind::ProtocolError);
        assert!(cause.detail.contains("Last login: \\x1b[0m"), "{}", cause.detail);
    }

    #[test]
    fn an_end_without_a_reply_is_told_apart_by_its_exit() {
        let failure = |bytes: &[u8], exit| {
            let mut reply = reply();
            reply.take(bytes);
            reply.read(&ended(exit)).unwrap_err()
        };
        let after = |failure: Failure| matches!(failure, Failure::After(_));
        assert!(matches!(failure(b"", Exit::Code(127)), Failure::Before(_)));
        assert!(after(failure(b"\0", Exit::Code(127))), "it has run: it has said something");
        assert_eq!(failure(b"", Exit::Code(1)).cause().kind, CauseKind::DeliveryFailed);
        assert_eq!(failure(b"", Exit::Signal("SEGV".into())).cause().kind, CauseKind::DeliveryFailed);
        assert_eq!(failure(b"", Exit::Signal("TERM".into())).cause().kind, CauseKind::ConnectionFailed);
        assert_eq!(failure(b"\0\0\0\x09half", Exit::Untold).cause().kind, CauseKind::ConnectionFailed);
    }
}
