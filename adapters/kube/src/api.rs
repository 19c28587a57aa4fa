//! One request to the API server and its answer.

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
use crate::encoding::{Encoding, Events, JSON};
use crate::failure::Failure;
use crate::page::Page;
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

    /// Begins to read a page of a list, in a form that `accept` names. Of a page in JSON that is too long no more than the limit
    /// is taken in.
    pub(crate) async fn list(
        &self,
        path: &str,
        accept: &'static str,
        length: Length,
    ) -> Result<Page<impl AsyncBufRead + Unpin + use<>>, Failure> {
        let page = async {
            let Events { encoding, reader } = self.open(path, accept).await?;
            match encoding {
                Encoding::Json => {
                    let content = read_up_to(reader, Length { most: length.most + 1, ..length }).await?;
                    if content.len() as u64 > length.most {
                        return Err(Failure::TooLong(length.most));
                    }
                    Page::of_json(content)
                }
                Encoding::Protobuf => Page::of_protobuf(reader).await,
            }
        };
        let result = timeout(READ_TIMEOUT, page).await.unwrap_or_else(|_| Err(silent(READ_TIMEOUT)));
        self.count("list", &result);
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
        let content = read_up_to(reader, Length { expected: 0, most: REFUSAL_BYTES }).await?;
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

/// How long an answer is, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {
    /// About how long it will be. There is room for that at once: a buffer that has to grow is copied each time.
    pub(crate) expected: usize,
    /// How long it may be.
    pub(crate) most: u64,
}

/// Reads an answer to its end, or as much of it as is allowed.
///
/// `read_to_end` would fill the free part of its buffer with zeros before each piece that arrives: work that grows with the
/// square of a page's size.
async fn read_up_to(
    reader: impl AsyncBufRead + Unpin,
    Length { expected, most }: Length,
) -> Result<Vec<u8>, Failure> {
    let mut reader = reader.take(most);
    let mut content = Vec::with_capacity(expected);
    loop {
        let piece = reader.fill_buf().await?;
        if piece.is_empty() {
            return Ok(content);
        }
        content.extend_from_slice(piece);
        let length = piece.len();
        reader.consume_unpin(length);
    }
}

/// The failure of a request to which nothing came for so long.
pub(crate) fn silent(limit: Duration) -> Failure {
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
            for length in [0, 4, 100].map(|expected| Length { expected, most }) {
                let read = read_up_to(answer(vec![b"abc", b"d", b"ef"]), length).await.unwrap();
                assert_eq!(read, expected, "{length:?}");
            }
        }
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_is_lost() {
        let pieces = stream::iter([Ok(&b"abc"[..]), Err(io::Error::from(io::ErrorKind::ConnectionReset))]);
        let read = read_up_to(pieces.into_async_read(), Length { expected: 3, most: 9 }).await;
        assert!(matches!(read, Err(Failure::Lost(_))), "{read:?}");
    }
}
