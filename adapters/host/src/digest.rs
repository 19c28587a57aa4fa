//! The digest of a file on this host.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use seaworthy_model::digest::Digest;
use sha2::{Digest as _, Sha256};

use crate::failure::{self, Result};

/// The SHA-256 of a file, read piece by piece.
pub(crate) fn digest_of_file(path: &Path) -> Result<Digest> {
    let mut file = File::open(path).map_err(|error| failure::on("open", path, &error))?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer).map_err(|error| failure::on("read", path, &error))? {
            0 => return Ok(Digest(hasher.finalize().into())),
            length => hasher.update(&buffer[..length]),
        }
    }
}
