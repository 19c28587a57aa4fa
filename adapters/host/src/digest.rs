//! The digests of files on this host.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use ring::digest::{Context, SHA256};
use seaworthy_model::digest::Digest;

use crate::failure::{self, Result};

/// Computes the SHA-256 of what comes in pieces. An audit reads every installed file, so its speed is what audits cost a host:
/// without SHA instructions `ring` needs half the time of `sha2`, which the model uses because it has no assembly.
pub(crate) struct Hasher(Context);

impl Hasher {
    pub(crate) fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    pub(crate) fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    pub(crate) fn finish(self) -> Digest {
        let mut digest = Digest([0; 32]);
        digest.0.copy_from_slice(self.0.finish().as_ref());
        digest
    }
}

/// The SHA-256 of a file, read piece by piece.
pub(crate) fn digest_of_file(path: &Path) -> Result<Digest> {
    let mut file = File::open(path).map_err(|error| failure::on("open", path, &error))?;
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer).map_err(|error| failure::on("read", path, &error))? {
            0 => return Ok(hasher.finish()),
            length => hasher.update(&buffer[..length]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_the_digest_of_the_whole() {
        let text = [b'a'; 300];
        let mut hasher = Hasher::new();
        text.chunks(7).for_each(|piece| hasher.update(piece));
        assert_eq!(hasher.finish(), Digest::of(&text));
    }
}
