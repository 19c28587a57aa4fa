//! Unpacking of a gzipped tar into a [`Tree`]. Only plain files, directories and links that stay inside are taken;
//! everything else is refused, not skipped, since a release that lacks a part of its archive is none.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use seaworthy_model::cause::{Cause, CauseKind};
use tar::{Archive, EntryType, PaxExtensions};

use crate::failure::{self, Result};
use crate::tree::Tree;

/// The most bytes that an archive may unpack to, headers included.
const STREAM_MAX: u64 = 9 << 30;
/// The longest name, or set of extensions, of one entry in bytes.
const EXTENSION_MAX: u64 = 64 << 10;

/// Unpacks the archive at `path`.
pub(crate) fn unpack(path: &Path, tree: &mut Tree<'_>) -> Result<()> {
    let file = File::open(path).map_err(|error| failure::on("open", path, &error))?;
    let stream = Bounded { stream: MultiGzDecoder::new(BufReader::new(file)), left: STREAM_MAX };
    let mut archive = Archive::new(stream);
    let mut extension = Extension::default();
    // Raw: otherwise names of any length would be read into memory.
    for entry in archive.entries().map_err(malformed)?.raw(true) {
        let mut entry = entry.map_err(malformed)?;
        let kind = entry.header().entry_type();
        if kind == EntryType::GNULongName {
            extension.path = Some(text(trim(small(&mut entry)?))?);
        } else if kind == EntryType::GNULongLink {
            extension.link = Some(text(trim(small(&mut entry)?))?);
        } else if kind == EntryType::XHeader {
            extension.read(&small(&mut entry)?)?;
        } else if kind != EntryType::XGlobalHeader {
            place(kind, &mut entry, std::mem::take(&mut extension), tree)?;
        }
    }
    Ok(())
}

/// What the entries before an entry said about it.
#[derive(Default)]
struct Extension {
    path: Option<String>,
    link: Option<String>,
}

impl Extension {
    fn read(&mut self, bytes: &[u8]) -> Result<()> {
        for extension in PaxExtensions::new(bytes) {
            let extension = extension.map_err(malformed)?;
            let value = || text(extension.value_bytes().to_vec());
            match extension.key_bytes() {
                b"path" => self.path = Some(value()?),
                b"linkpath" => self.link = Some(value()?),
                // The size in the header would be wrong then.
                b"size" => return Err(refuse("an entry of 8 GiB or more")),
                key if key.starts_with(b"GNU.sparse") => return Err(refuse("a sparse file")),
                _ => {}
            }
        }
        Ok(())
    }
}

fn place<R: Read>(
    kind: EntryType,
    entry: &mut tar::Entry<'_, R>,
    extension: Extension,
    tree: &mut Tree<'_>,
) -> Result<()> {
    let header = entry.header();
    let path = match extension.path {
        Some(path) => path,
        None => text(header.path_bytes().into_owned())?,
    };
    let name = plain(&path);
    let mode = header.mode().map_err(malformed)?;
    if mode & 0o7000 != 0 {
        return Err(refuse(format!("{path:?} is set-uid, set-gid or sticky")));
    }
    if kind == EntryType::Directory || (kind == EntryType::Regular && path.ends_with('/')) {
        return if name.is_empty() { Ok(()) } else { tree.directory(name) };
    }
    if kind == EntryType::Symlink {
        let target = match extension.link {
            Some(target) => target,
            None => text(header.link_name_bytes().unwrap_or_default().into_owned())?,
        };
        return tree.link(name, &target);
    }
    if !matches!(kind, EntryType::Regular | EntryType::Continuous) {
        return Err(refuse(format!("{path:?} is not a file, directory or symbolic link")));
    }
    let size = header.entry_size().map_err(malformed)?;
    let mut counted = Counted { stream: entry, bytes: 0 };
    // Nobody but root changes a release.
    let mode = if mode & 0o111 == 0 { mode & 0o644 } else { mode & 0o755 };
    tree.file(name, mode, &mut counted)?;
    if counted.bytes != size {
        return Err(refuse(format!("{path:?} ends after {} of {size} bytes", counted.bytes)));
    }
    Ok(())
}

/// The path without the decoration that is common in archives: `./` in front, `/` at the end.
fn plain(path: &str) -> &str {
    let mut name = path;
    while let Some(rest) = name.strip_prefix("./") {
        name = rest;
    }
    let name = name.strip_suffix('/').unwrap_or(name);
    if name == "." { "" } else { name }
}

fn small(entry: &mut impl Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    entry.take(EXTENSION_MAX + 1).read_to_end(&mut bytes).map_err(malformed)?;
    if bytes.len() as u64 > EXTENSION_MAX {
        return Err(refuse("a name or extension header of more than 64 KiB"));
    }
    Ok(bytes)
}

fn trim(mut bytes: Vec<u8>) -> Vec<u8> {
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    bytes
}

fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| refuse("a name that is not UTF-8"))
}

fn malformed(error: io::Error) -> Cause {
    refuse(format!("not a readable gzipped tar: {error}"))
}

fn refuse(detail: impl Into<String>) -> Cause {
    Cause::new(CauseKind::ArchiveRefused, format!("the archive is refused: {}", detail.into()))
}

/// A stream that fails instead of going on for ever.
struct Bounded<R> {
    stream: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.stream.read(buffer)?;
        self.left = self
            .left
            .checked_sub(length as u64)
            .ok_or_else(|| io::Error::other(format!("more than {STREAM_MAX} bytes")))?;
        Ok(length)
    }
}

struct Counted<R> {
    stream: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.stream.read(buffer)?;
        self.bytes += length as u64;
        Ok(length)
    }
}
