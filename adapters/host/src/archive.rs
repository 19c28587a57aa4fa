//! Unpacking of a gzipped tar into a [`Tree`]. Only plain files, directories and links that stay inside are taken;
//! everything else is refused, not skipped, since a release that lacks a part of its archive is none.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
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
    unpack_at_most(STREAM_MAX, BufReader::new(file), tree)
}

/// Unpacks what is to become at most `max` bytes.
fn unpack_at_most(max: u64, packed: impl BufRead, tree: &mut Tree<'_>) -> Result<()> {
    let mut archive = Archive::new(Bounded { stream: MultiGzDecoder::new(packed), max, left: max });
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
    max: u64,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.stream.read(buffer)?;
        self.left = self
            .left
            .checked_sub(length as u64)
            .ok_or_else(|| io::Error::other(format!("more than {} bytes", self.max)))?;
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

#[cfg(test)]
mod tests {
    use std::fs;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tar::{Builder, Header};

    use super::*;
    use crate::disk::Disk;
    use crate::steps::Unobserved;

    const MEBIBYTE: usize = 1 << 20;

    /// A small file that is packed into next to nothing, behind an entry that nobody wants of `kind`.
    fn bomb(kind: EntryType) -> Vec<u8> {
        let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (kind, name, bytes) in [(kind, "bomb", MEBIBYTE), (EntryType::Regular, "file", 1)] {
            let mut header = Header::new_gnu();
            header.set_entry_type(kind);
            header.set_path(name).unwrap();
            header.set_mode(0o644);
            header.set_size(bytes as u64);
            header.set_cksum();
            builder.append(&header, vec![0; bytes].as_slice()).unwrap();
        }
        builder.into_inner().unwrap().finish().unwrap()
    }

    /// Unpacks at most `max` bytes of `packed`; gives how many things that made.
    fn unpacked(max: usize, packed: &[u8]) -> Result<usize> {
        let name = format!("seaworthy-archive-{}-{max}-{}", std::process::id(), packed.len());
        let root = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&root);
        let mut tree = Tree::make(Disk::new(&Unobserved), root.clone(), u64::MAX).unwrap();
        let done = unpack_at_most(max as u64, packed, &mut tree);
        fs::remove_dir_all(&root).unwrap();
        done.map(|()| tree.len())
    }

    #[test]
    fn what_is_not_written_counts_as_well() {
        // Two headers, two contents in blocks of 512 bytes, and the first of the empty blocks that are the end.
        let whole = MEBIBYTE + 4 * 512;
        // The tree never sees the contents of a global header.
        let packed = bomb(EntryType::XGlobalHeader);
        assert!(packed.len() < MEBIBYTE / 50, "it is no bomb: {} bytes", packed.len());
        assert_eq!(unpacked(whole, &packed), Ok(1));
        for max in [whole - 1, MEBIBYTE, 1000] {
            let cause = unpacked(max, &packed).unwrap_err();
            assert_eq!(cause.kind, CauseKind::ArchiveRefused);
            assert!(cause.detail.contains(&format!("more than {max} bytes")), "{}", cause.detail);
        }
    }

    #[test]
    fn an_archive_without_an_end_is_refused() {
        // Each of its members is sound, and there is always another one.
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::XGlobalHeader);
        header.set_path("again").unwrap();
        header.set_size(0);
        header.set_cksum();
        io::Write::write_all(&mut encoder, header.as_bytes()).unwrap();
        let packed = encoder.finish().unwrap().repeat(100);
        let cause = unpacked(99 * 512, &packed).unwrap_err();
        assert_eq!(cause.kind, CauseKind::ArchiveRefused);
        assert!(cause.detail.contains("more than 50688 bytes"), "{}", cause.detail);
    }
}
