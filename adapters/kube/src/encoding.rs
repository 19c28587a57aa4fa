//! The two forms in which an API server sends objects: JSON, and protobuf for Nodes.
//!
//! Nodes are many, large, and change all the time: their JSON is three times as long and has to be read from end to end. The
//! kinds of Seaworthy are only to be had as JSON. The API server chooses, so one that does not know protobuf works as well.

use std::borrow::Cow;
use std::io;

use futures::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use prost::Message as _;
use prost::bytes::Bytes;
use seaworthy_model::id::Kind;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::failure::Failure;
use crate::protobuf::{self, Bare, WatchEvent};

/// The media type of JSON.
pub(crate) const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const PROTOBUF_OR_JSON: &str = "application/vnd.kubernetes.protobuf, application/json;q=0.9";
/// The words by which a watch asks for protobuf.
const PROTOBUF_WATCH: &str = "application/vnd.kubernetes.protobuf;stream=watch, application/json;q=0.9";

/// The most bytes of one object in protobuf, or of an event with it. Objects have at most a few megabytes, whatever a garbled
/// length says.
pub(crate) const OBJECT_BYTES: u64 = 16 << 20;

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    Protobuf,
}

impl Encoding {
    /// What a list of objects of this kind is asked for in.
    pub(crate) const fn of_lists(kind: Kind) -> &'static str {
        if is_wanted_as_protobuf(kind) { PROTOBUF_OR_JSON } else { JSON }
    }

    /// What a watch of objects of this kind is asked for in.
    pub(crate) const fn of_watches(kind: Kind) -> &'static str {
        if is_wanted_as_protobuf(kind) { PROTOBUF_WATCH } else { JSON }
    }

    /// What the answer with these headers is in.
    pub(crate) fn of_answer(headers: &HeaderMap) -> Self {
        let name = headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
        if name.starts_with(PROTOBUF.as_bytes()) { Self::Protobuf } else { Self::Json }
    }

    /// The message of a refusal. A proxy that refuses with a text of its own is quoted.
    pub(crate) fn refusal(self, content: Bytes) -> String {
        let message = match self {
            Self::Json => serde_json::from_slice::<Status>(&content).ok().map(|status| status.message),
            Self::Protobuf => protobuf::content(content.clone())
                .ok()
                .and_then(|content| protobuf::Status::decode(content).ok())
                .map(|status| status.message),
        };
        message.unwrap_or_else(|| String::from_utf8_lossy(&content).trim().to_owned())
    }
}

const fn is_wanted_as_protobuf(kind: Kind) -> bool {
    matches!(kind, Kind::Node)
}

/// What came for one event of a watch.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) encoding: Encoding,
    pub(crate) content: Bytes,
}

/// One object, as it came.
#[derive(Clone, Debug)]
pub(crate) enum Sent<'a> {
    Json(&'a str),
    /// Without its envelope.
    Protobuf(Bytes),
}

/// The name and version of an object. A bookmark has no name.
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) version: String,
}

impl Sent<'_> {
    /// Its name and version, also when the rest of it makes no sense.
    ///
    /// # Errors
    /// It has none.
    pub(crate) fn identity(&self) -> Result<Identity, Failure> {
        match self {
            Self::Json(text) => {
                let JsonBare { metadata } = serde_json::from_str(text).map_err(unreadable)?;
                Ok(Identity { name: metadata.name, version: metadata.resource_version })
            }
            Self::Protobuf(content) => {
                let Bare { metadata } = Bare::decode(content.clone()).map_err(unreadable)?;
                Ok(Identity { name: metadata.name, version: metadata.resource_version })
            }
        }
    }

    /// The failure that it tells, if it is a `Status`.
    ///
    /// # Errors
    /// It is none.
    fn failure(&self) -> Result<Failure, Failure> {
        match self {
            Self::Json(text) => {
                let Status { code, message } = serde_json::from_str(text).map_err(unreadable)?;
                Ok(Failure::Answered { code, message })
            }
            Self::Protobuf(content) => {
                let status = protobuf::Status::decode(content.clone()).map_err(unreadable)?;
                let code = u16::try_from(status.code).unwrap_or_default();
                Ok(Failure::Answered { code, message: status.message })
            }
        }
    }
}

/// One event of a watch.
#[derive(Debug)]
pub(crate) struct Event<'a> {
    pub(crate) r#type: Type,
    pub(crate) object: Sent<'a>,
}

/// What an event tells of its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// It is new, or has changed.
    Present,
    /// It is gone.
    Deleted,
    /// Nothing: it only has the version up to which everything was told.
    Bookmark,
}

impl<'a> Event<'a> {
    /// # Errors
    /// It is no event, or one that tells why the watch ends.
    pub(crate) fn read(answer: &'a Answer) -> Result<Self, Failure> {
        let (r#type, object) = match answer.encoding {
            Encoding::Json => {
                let event: JsonEvent<'_> = serde_json::from_slice(&answer.content).map_err(unreadable)?;
                (Cow::Borrowed(event.r#type), Sent::Json(event.object.get()))
            }
            Encoding::Protobuf => {
                let event = WatchEvent::decode(answer.content.clone()).map_err(unreadable)?;
                let content = protobuf::content(event.object.raw).map_err(Failure::Unreadable)?;
                (Cow::Owned(event.r#type), Sent::Protobuf(content))
            }
        };
        let r#type = match &*r#type {
            "ADDED" | "MODIFIED" => Type::Present,
            "DELETED" => Type::Deleted,
            "BOOKMARK" => Type::Bookmark,
            "ERROR" => return Err(object.failure()?),
            other => return Err(Failure::Unreadable(format!("a watch event of type {other}"))),
        };
        Ok(Self { r#type, object })
    }
}

/// The events of a watch, as they come.
pub(crate) struct Events<R> {
    pub(crate) encoding: Encoding,
    pub(crate) reader: R,
}

impl<R: AsyncBufRead + Unpin> Events<R> {
    /// The next one; `None` at the end. What it has read of one is lost if it is not waited for.
    ///
    /// # Errors
    /// The connection broke, or the length of an event makes no sense.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Answer>> {
        let content = match self.encoding {
            Encoding::Json => self.line().await?,
            Encoding::Protobuf => self.frame().await?,
        };
        Ok(content.map(|content| Answer { encoding: self.encoding, content: content.into() }))
    }

    /// The next line that is not empty.
    async fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        while self.reader.read_until(b'\n', &mut line).await? > 0 {
            if !line.trim_ascii().is_empty() {
                return Ok(Some(line));
            }
            line.clear();
        }
        Ok(None)
    }

    /// What follows its own length in four bytes.
    async fn frame(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.reader.fill_buf().await?.is_empty() {
            return Ok(None);
        }
        let mut length = [0; 4];
        self.reader.read_exact(&mut length).await?;
        let length = u32::from_be_bytes(length);
        if u64::from(length) > OBJECT_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("an event of {length} bytes")));
        }
        let mut frame = vec![0; length as usize];
        self.reader.read_exact(&mut frame).await?;
        Ok(Some(frame))
    }
}

pub(crate) fn unreadable(error: impl ToString) -> Failure {
    Failure::Unreadable(error.to_string())
}

#[derive(Deserialize)]
struct JsonEvent<'a> {
    r#type: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    code: u16,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
struct JsonBare {
    metadata: JsonBareMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonBareMetadata {
    #[serde(default)]
    name: String,
    resource_version: String,
}

#[cfg(test)]
mod tests {
    use futures::io::Cursor;
    use seaworthy_api::object::Resource;

    use super::*;
    use crate::update::Change;

    /// What kube-apiserver 1.36.3 sent in both forms: one event of each type.
    const WATCHES: [(Encoding, &[u8]); 2] = [
        (Encoding::Json, include_bytes!("../tests/recorded/watch.json")),
        (Encoding::Protobuf, include_bytes!("../tests/recorded/watch.pb")),
    ];
    const REFUSAL: &[u8] = include_bytes!("../tests/recorded/refusal.pb");

    /// The Node, without the kind, which only single objects in JSON have.
    fn change(sent: &Sent<'_>) -> Change {
        let mut change = Change::of(Kind::Node, sent);
        if let Change::Present(Resource::Node(node)) = &mut change {
            (node.api_version, node.kind) = Default::default();
        }
        change
    }

    #[tokio::test]
    async fn both_forms_of_a_watch_say_the_same() {
        let mut heard = Vec::new();
        for (encoding, content) in WATCHES {
            let mut events = Events { encoding, reader: Cursor::new(content.to_vec()) };
            let mut told = Vec::new();
            while let Some(answer) = events.next().await.unwrap() {
                told.push(Event::read(&answer).map(|event| {
                    let Identity { name, version } = event.object.identity().unwrap();
                    (event.r#type, name, version, change(&event.object))
                }));
            }
            heard.push(told);
        }
        assert_eq!(heard[0], heard[1]);
        let told: Vec<_> = heard[1]
            .iter()
            .map(|event| event.as_ref().map(|(r#type, name, ..)| (*r#type, &**name)))
            .collect();
        let expired =
            Failure::Answered { code: 410, message: "too old resource version: 200 (254)".to_owned() };
        assert_eq!(
            told,
            [
                Ok((Type::Present, "m4")),
                Ok((Type::Present, "m4")),
                Ok((Type::Deleted, "m2")),
                Ok((Type::Bookmark, "")),
                Err(&expired),
            ]
        );
    }

    #[tokio::test]
    async fn a_watch_that_breaks_within_an_event_is_an_error() {
        let (encoding, content) = WATCHES[1];
        for end in 1..content.len() {
            let mut events = Events { encoding, reader: Cursor::new(content[..end].to_vec()) };
            let mut whole = 0;
            let broke = loop {
                match events.next().await {
                    Ok(Some(answer)) => whole += 4 + answer.content.len(),
                    Ok(None) => break false,
                    Err(_) => break true,
                }
            };
            assert_eq!(broke, whole < end, "{end}");
        }
        let mut garbled = Events { encoding, reader: Cursor::new(b"HTTP/1.1".to_vec()) };
        assert_eq!(garbled.next().await.unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_refusal_is_told_in_its_own_words() {
        let refusal = |encoding: Encoding, text: &'static [u8]| encoding.refusal(Bytes::from_static(text));
        assert!(refusal(Encoding::Protobuf, REFUSAL).starts_with("invalid continue token: "));
        assert_eq!(refusal(Encoding::Json, br#"{"kind":"Status","message":"no","code":403}"#), "no");
        for encoding in [Encoding::Json, Encoding::Protobuf] {
            assert_eq!(refusal(encoding, b"<b>Bad gateway</b>\n"), "<b>Bad gateway</b>");
        }
    }
}
