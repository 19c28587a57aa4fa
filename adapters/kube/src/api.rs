//! One request to the API server and its answer, and what a missing answer means.

use std::error::Error as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, TryStreamExt as _};
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE};
use http::{HeaderValue, Method, Request};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::connect::{ConnectError, Connector};
use crate::encoding::{Answer, Encoding, Events, JSON};
use crate::rights::Rights;

/// After this time a read is given up. Writes end with their action's deadline.
pub(crate) const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// So much of a refusal is read.
const REFUSAL_BYTES: u64 = 64 << 10;

/// The API server, and the tally of requests to it. Cheap to clone.
#[derive(Clone)]
pub struct Api {
    client: Client,
    /// Makes clients with connections of their own; `None` when there is only the one client.
    connector: Option<Arc<Connector>>,
    tally: Arc<dyn Tally>,
    pub(crate) rights: Arc<Rights>,
}

/// Counts requests. Both words come from short closed lists.
pub trait Tally: Send + Sync + 'static {
    /// A request with this verb ended like this.
    fn request(&self, verb: &'static str, outcome: &'static str);
}

/// Counts nothing.
impl Tally for () {
    fn request(&self, _verb: &'static str, _outcome: &'static str) {}
}

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
    const fn label(&self) -> &'static str {
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

impl Api {
    /// The API server behind `client`, with `tally` told of every request.
    #[must_use]
    pub fn new(client: Client, tally: Arc<dyn Tally>) -> Self {
        Self { client, connector: None, tally, rights: Arc::default() }
    }

    /// The same, over connections that `connector` makes.
    ///
    /// # Errors
    /// When its settings contradict themselves.
    pub fn connect(connector: Connector, tally: Arc<dyn Tally>) -> Result<Self, ConnectError> {
        Ok(Self {
            client: connector.client()?,
            connector: Some(Arc::new(connector)),
            tally,
            rights: Arc::default(),
        })
    }

    /// The same over a new connection. Behind one address there may be several API servers, and a connection that is kept
    /// always reaches the same one.
    pub(crate) fn over_new_connection(&self) -> Result<Self, Failure> {
        let client = match &self.connector {
            Some(connector) => connector.client().map_err(|error| Failure::NotSent(error.to_string()))?,
            None => self.client.clone(),
        };
        Ok(Self { client, ..self.clone() })
    }

    /// Reads one object. Its text never reaches a log, also when it cannot be read: it may be a Secret.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        verb: &'static str,
        path: &str,
    ) -> Result<T, Failure> {
        let text = self.send(verb, request(Method::GET, path, JSON, Vec::new())?, READ_TIMEOUT).await?;
        serde_json::from_str(&text).map_err(|error| Failure::Unreadable(error.to_string()))
    }

    /// Reads an answer of at most `most` bytes, in a form that `accept` names; of a longer one no more than that is taken in.
    pub(crate) async fn read(
        &self,
        verb: &'static str,
        path: &str,
        accept: &'static str,
        most: u64,
    ) -> Result<Answer, Failure> {
        let answer = async {
            let Events { encoding, reader } = self.open(path, accept).await?;
            let content = read_up_to(reader, most + 1).await?;
            if content.len() as u64 > most {
                return Err(Failure::TooLong(most));
            }
            Ok(Answer { encoding, content: content.into() })
        };
        let result = timeout(READ_TIMEOUT, answer).await.unwrap_or_else(|_| Err(silent(READ_TIMEOUT)));
        self.count(verb, &result);
        result
    }

    /// Asks for what is at `path`, and returns the answer as it comes.
    async fn open(
        &self,
        path: &str,
        accept: &'static str,
    ) -> Result<Events<impl AsyncBufRead + Unpin + use<>>, Failure> {
        let mut request = request(Method::GET, path, JSON, Vec::new())?.map(Body::from);
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        // Newer API servers compress watches event by event, which decoders stop reading after the first.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let answer = self.client.send(request).await?;
        let (code, encoding) = (answer.status(), Encoding::of_answer(answer.headers()));
        let content = answer.into_body().into_data_stream().map_err(io::Error::other);
        let reader = Box::pin(content).into_async_read();
        if code.is_success() {
            return Ok(Events { encoding, reader });
        }
        let content = read_up_to(reader, REFUSAL_BYTES).await?;
        Err(Failure::Answered { code: code.as_u16(), message: encoding.refusal(content.into()) })
    }

    /// Sends one request and returns the body of a 2xx answer, within `limit`.
    pub(crate) async fn send(
        &self,
        verb: &'static str,
        request: Request<Vec<u8>>,
        limit: Duration,
    ) -> Result<String, Failure> {
        let result = match timeout(limit, self.client.request_text(request)).await {
            Ok(answer) => answer.map_err(Failure::from),
            Err(_) => Err(silent(limit)),
        };
        self.count(verb, &result);
        result
    }

    /// Begins a watch, for as long as the API server likes.
    pub(crate) async fn watch(
        &self,
        path: &str,
        accept: &'static str,
    ) -> Result<Events<impl AsyncBufRead + Unpin + use<>>, Failure> {
        let answer = timeout(READ_TIMEOUT, self.open(path, accept)).await;
        let result = answer.unwrap_or_else(|_| Err(silent(READ_TIMEOUT)));
        self.count("watch", &result);
        result
    }

    fn count<T>(&self, verb: &'static str, result: &Result<T, Failure>) {
        self.tally.request(verb, result.as_ref().map_or_else(Failure::label, |_| "ok"));
    }
}

/// Reads an answer to its end, or its first `most` bytes.
///
/// `read_to_end` would fill the free part of its buffer with zeros before each piece that arrives: work that grows with the
/// square of a page's size.
async fn read_up_to(reader: impl AsyncBufRead + Unpin, most: u64) -> Result<Vec<u8>, Failure> {
    let lost = |error: io::Error| Failure::Lost(error.to_string());
    let mut reader = reader.take(most);
    let mut content = Vec::new();
    loop {
        let piece = reader.fill_buf().await.map_err(lost)?;
        if piece.is_empty() {
            return Ok(content);
        }
        content.extend_from_slice(piece);
        let length = piece.len();
        reader.consume_unpin(length);
    }
}

fn silent(limit: Duration) -> Failure {
    Failure::Lost(format!("nothing came within {} ms", limit.as_millis()))
}

/// A request with a body of the media type `content`, or with none.
pub(crate) fn request(
    method: Method,
    path: &str,
    content: &'static str,
    body: Vec<u8>,
) -> Result<Request<Vec<u8>>, Failure> {
    Request::builder()
        .method(method)
        .uri(path)
        .header(ACCEPT, JSON)
        .header(CONTENT_TYPE, content)
        .body(body)
        .map_err(|error| Failure::NotSent(error.to_string()))
}

#[cfg(test)]
mod tests {
    use futures::{StreamExt as _, stream};

    use super::*;

    fn failed(kind: io::ErrorKind) -> Failure {
        Failure::from(kube::Error::Service(Box::new(io::Error::from(kind))))
    }

    /// An answer that arrives in these pieces, with a pause before each.
    fn answer(pieces: Vec<&'static [u8]>) -> impl AsyncBufRead + Unpin {
        let pieces = stream::iter(pieces).then(|piece| async move {
            tokio::task::yield_now().await;
            Ok::<_, io::Error>(piece)
        });
        Box::pin(pieces).into_async_read()
    }

    #[tokio::test]
    async fn an_answer_is_read_to_its_end_or_to_a_limit() {
        for (most, expected) in [(0, &b""[..]), (3, b"abc"), (4, b"abcd"), (6, b"abcdef"), (9, b"abcdef")] {
            let read = read_up_to(answer(vec![b"abc", b"d", b"ef"]), most).await.unwrap();
            assert_eq!(read, expected, "{most}");
        }
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_is_lost() {
        let pieces = stream::iter([Ok(&b"abc"[..]), Err(io::Error::from(io::ErrorKind::ConnectionReset))]);
        let read = read_up_to(pieces.into_async_read(), 9).await;
        assert!(matches!(read, Err(Failure::Lost(_))), "{read:?}");
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
