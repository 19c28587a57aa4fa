//! A page of a list, object by object.
//!
//! In protobuf objects are read one at a time, as they arrive: a Node has 10 KB, most of it the images that its kubelet lists, and
//! ten thousand of them are most of what a start receives. JSON is read as a whole: an API server tells the version of a list of
//! custom objects after the objects.

use std::io;
use std::ops::Range;
use std::vec;

use futures::{AsyncBufRead, AsyncBufReadExt as _};
use prost::Message as _;
use prost::bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::timeout;

use crate::api::{READ_TIMEOUT, silent};
use crate::encoding::{OBJECT_BYTES, Sent, unreadable};
use crate::failure::Failure;
use crate::protobuf::{ListMetadata, MAGIC};

/// A page that is being read.
pub(crate) struct Page<R> {
    objects: Objects<R>,
    metadata: Option<Metadata>,
}

/// What a page tells of its list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Metadata {
    /// The version of the list.
    pub(crate) version: String,
    /// What to ask for next; empty after the last page.
    pub(crate) token: String,
}

enum Objects<R> {
    /// The places of those that were not given away yet.
    Json(String, vec::IntoIter<Range<usize>>),
    Protobuf(Fields<R>),
}

impl<R> Page<R> {
    /// A page in JSON.
    ///
    /// # Errors
    /// It is no list.
    pub(crate) fn of_json(content: Vec<u8>) -> Result<Self, Failure> {
        let text = String::from_utf8(content).map_err(unreadable)?;
        let JsonPage { metadata, items } = serde_json::from_str(&text).map_err(unreadable)?;
        let items = items.unwrap_or_default().into_iter();
        let places: Vec<_> = items.map(|item| place(&text, item.get())).collect();
        let metadata = Metadata { version: metadata.resource_version, token: metadata.r#continue };
        Ok(Self { objects: Objects::Json(text, places.into_iter()), metadata: Some(metadata) })
    }

    /// How many bytes of it are kept until it is dropped.
    pub(crate) const fn bytes(&self) -> usize {
        match &self.objects {
            Objects::Json(text, _) => text.len(),
            Objects::Protobuf(_) => 0,
        }
    }

    /// What it tells of its list. All its objects were read.
    ///
    /// # Errors
    /// It tells nothing.
    pub(crate) fn end(self) -> Result<Metadata, Failure> {
        self.metadata.ok_or_else(|| unreadable("a list without metadata"))
    }
}

impl<R: AsyncBufRead + Unpin> Page<R> {
    /// A page in protobuf, whose objects are still to come.
    ///
    /// # Errors
    /// The connection breaks, or it is not in the envelope in which Kubernetes sends protobuf.
    pub(crate) async fn of_protobuf(reader: R) -> Result<Self, Failure> {
        let mut fields = Fields { reader, left: u64::MAX };
        if fields.take(MAGIC.len() as u64).await? != MAGIC {
            return Err(unreadable("it does not begin as protobuf of Kubernetes does"));
        }
        // The object stands after its kind. What follows it is empty in answers of an API server.
        loop {
            match fields.next().await? {
                Some((2, length)) => {
                    fields.left = length;
                    return Ok(Self { objects: Objects::Protobuf(fields), metadata: None });
                }
                Some((_, length)) => fields.pass(length).await?,
                None => return Err(unreadable("an envelope without an object")),
            }
        }
    }

    /// The next object; none after the last one.
    ///
    /// # Errors
    /// The connection breaks or falls silent, or what comes is no list.
    pub(crate) async fn next(&mut self) -> Result<Option<Sent<'_>>, Failure> {
        let fields = match &mut self.objects {
            Objects::Json(text, places) => return Ok(places.next().map(|place| Sent::Json(&text[place]))),
            Objects::Protobuf(fields) => fields,
        };
        let object = timeout(READ_TIMEOUT, fields.object(&mut self.metadata)).await;
        let object = object.map_err(|_| silent(READ_TIMEOUT))??;
        Ok(object.map(Sent::Protobuf))
    }
}

/// Where in `text` its `part` is.
fn place(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr() - text.as_ptr().addr();
    start..start + part.len()
}

/// A message of protobuf that is read field by field.
struct Fields<R> {
    reader: R,
    /// The bytes of the message that were not read yet.
    left: u64,
}

impl<R: AsyncBufRead + Unpin> Fields<R> {
    /// The next object of a list. On the way, and after the last one, the metadata of the list are found.
    async fn object(&mut self, metadata: &mut Option<Metadata>) -> Result<Option<Bytes>, Failure> {
        while let Some((number, length)) = self.next().await? {
            match number {
                1 => {
                    let list = ListMetadata::decode(&*self.take(length).await?).map_err(unreadable)?;
                    *metadata = Some(Metadata { version: list.resource_version, token: list.r#continue });
                }
                2 => return Ok(Some(self.take(length).await?.into())),
                _ => self.pass(length).await?,
            }
        }
        self.finish().await?;
        Ok(None)
    }

    /// The number and length of the next field that has a length. Others are passed over.
    async fn next(&mut self) -> Result<Option<(u64, u64)>, Failure> {
        while self.left > 0 {
            let key = self.varint().await?;
            match key & 7 {
                0 => drop(self.varint().await?),
                1 => self.pass(8).await?,
                2 => return Ok(Some((key >> 3, self.varint().await?))),
                5 => self.pass(4).await?,
                _ => return Err(unreadable("it is no protobuf")),
            }
        }
        Ok(None)
    }

    async fn varint(&mut self) -> Result<u64, Failure> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.piece(1).await?.first().unwrap_or(&0);
            self.consume(1);
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(unreadable("a number of protobuf has no end"))
    }

    /// Reads so many bytes.
    async fn take(&mut self, length: u64) -> Result<Vec<u8>, Failure> {
        if length > OBJECT_BYTES {
            return Err(unreadable(format!("an object of {length} bytes")));
        }
        let mut content = Vec::with_capacity(length as usize);
        while (content.len() as u64) < length {
            let piece = self.piece(length - content.len() as u64).await?;
            content.extend_from_slice(piece);
            let read = piece.len();
            self.consume(read);
        }
        Ok(content)
    }

    /// Reads so many bytes, which nobody wants.
    async fn pass(&mut self, mut length: u64) -> Result<(), Failure> {
        while length > 0 {
            let read = self.piece(length).await?.len();
            self.consume(read);
            length -= read as u64;
        }
        Ok(())
    }

    /// What has arrived, at least one byte and at most so many.
    async fn piece(&mut self, most: u64) -> Result<&[u8], Failure> {
        if most > self.left {
            return Err(unreadable("a field is longer than its message"));
        }
        let piece = self.reader.fill_buf().await?;
        if piece.is_empty() {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        Ok(&piece[..piece.len().min(usize::try_from(most).unwrap_or(usize::MAX))])
    }

    fn consume(&mut self, length: usize) {
        self.reader.consume_unpin(length);
        self.left -= length as u64;
    }

    /// Reads what comes after the message: only then the connection can be used again.
    async fn finish(&mut self) -> Result<(), Failure> {
        loop {
            let length = self.reader.fill_buf().await?.len();
            if length == 0 {
                return Ok(());
            }
            self.reader.consume_unpin(length);
        }
    }
}

#[derive(Deserialize)]
struct JsonPage<'a> {
    metadata: JsonMetadata,
    // `null` stands for an empty list in what Go programs write.
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonMetadata {
    resource_version: String,
    #[serde(default)]
    r#continue: String,
}

#[cfg(test)]
mod tests {
    use futures::io::Cursor;
    use futures::{AsyncReadExt as _, TryStreamExt as _, stream};
    use seaworthy_api::object::Resource;
    use seaworthy_model::id::Kind;

    use super::*;
    use crate::update::Change;

    /// What kube-apiserver 1.36.3 sent for the same Nodes in both forms: with and without labels, annotations, taints,
    /// conditions, finalizers, on their way out.
    const JSON: &[u8] = include_bytes!("../tests/recorded/page.json");
    const PROTOBUF: &[u8] = include_bytes!("../tests/recorded/page.pb");

    /// All that a page tells: its Nodes, without the kind, which only single objects in JSON have.
    async fn read<R: AsyncBufRead + Unpin>(
        page: Result<Page<R>, Failure>,
    ) -> Result<(Metadata, Vec<Change>), Failure> {
        let (mut page, mut changes) = (page?, Vec::new());
        while let Some(sent) = page.next().await? {
            let mut change = Change::of(Kind::Node, &sent);
            if let Change::Present(Resource::Node(node)) = &mut change {
                (node.api_version, node.kind) = Default::default();
            }
            changes.push(change);
        }
        Ok((page.end()?, changes))
    }

    async fn read_protobuf(content: &[u8]) -> Result<(Metadata, Vec<Change>), Failure> {
        read(Page::of_protobuf(Cursor::new(content)).await).await
    }

    #[tokio::test]
    async fn both_forms_say_the_same() {
        let json = read(Page::<Cursor<Vec<u8>>>::of_json(JSON.to_vec())).await.unwrap();
        let (metadata, changes) = read_protobuf(PROTOBUF).await.unwrap();
        assert_eq!((&metadata, &changes), (&json.0, &json.1));
        assert_eq!((&*metadata.version, metadata.token.is_empty(), changes.len()), ("214", false, 2));
        let Change::Present(Resource::Node(node)) = &changes[0] else { panic!("{changes:?}") };
        assert!(node.spec.unschedulable && node.spec.taints[1].time_added.is_some(), "{node:?}");
        assert_eq!(node.metadata.annotations["a"], "b");
        let status = node.status.as_ref().unwrap();
        assert_eq!((status.conditions.len(), &*status.conditions[1].status), (2, "True"));
        assert_eq!(
            status.node_info.as_ref().unwrap().machine_id.to_string(),
            "0123456789abcdef0123456789abcdef"
        );
    }

    #[tokio::test]
    async fn it_does_not_matter_in_which_pieces_a_page_arrives() {
        let whole = read_protobuf(PROTOBUF).await.unwrap();
        for length in [1, 2, 7, 100, PROTOBUF.len()] {
            let pieces = stream::iter(PROTOBUF.chunks(length).map(Ok::<_, io::Error>));
            let page = Page::of_protobuf(pieces.into_async_read()).await;
            assert_eq!(read(page).await.unwrap(), whole, "{length}");
        }
    }

    /// What follows the object in its envelope, and the object in its list, belongs to neither.
    #[tokio::test]
    async fn a_page_is_read_to_its_end() {
        let mut reader = Cursor::new([PROTOBUF, &[0x1a, 0, 0x22, 0]].concat());
        let mut page = Page::of_protobuf(&mut reader).await.unwrap();
        while page.next().await.unwrap().is_some() {}
        page.end().unwrap();
        assert_eq!(reader.read(&mut [0; 1]).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn a_page_that_breaks_off_is_an_error() {
        // The envelope ends with two empty fields, which tell nothing.
        for end in 0..PROTOBUF.len() - 4 {
            read_protobuf(&PROTOBUF[..end]).await.unwrap_err();
        }
    }

    #[tokio::test]
    async fn no_page_that_is_garbled_panics() {
        for place in 0..PROTOBUF.len() {
            for bit in [0x01, 0x40, 0x80] {
                let mut changed = PROTOBUF.to_vec();
                changed[place] ^= bit;
                let _ = read_protobuf(&changed).await;
            }
        }
        for content in
            [b"k8s\0".as_slice(), b"k8s\0\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\xff\xff\xff\x7f"]
        {
            assert!(read_protobuf(content).await.is_err());
        }
    }
}
