//! The folder for what is slow to make: built once per key, shared by concurrent runs.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::mounts;

/// The cache folder: `SEAWORTHY_CACHE`, else `seaworthy` in `XDG_CACHE_HOME`, else in `~/.cache`.
///
/// # Errors
/// None of the three variables (the last is `HOME`) is set.
pub fn folder() -> Result<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("SEAWORTHY_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|base| base.join("seaworthy")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/seaworthy")))
        .context("set SEAWORTHY_CACHE: neither it nor XDG_CACHE_HOME nor HOME says where the cache is")
}

/// Returns `KIND/KEY` in the cache. If it is not there, `build` makes it in a temporary folder, which is then renamed:
/// what is in the cache is complete. A lock makes a second run wait for the first.
pub(crate) fn ensure(kind: &str, key: &str, build: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let shelf = folder()?.join(kind);
    let finished = shelf.join(key);
    if finished.is_dir() {
        return Ok(finished);
    }
    let _lock = lock(&shelf, key)?;
    if finished.is_dir() {
        return Ok(finished);
    }
    let partial = shelf.join(format!(".{key}.partial"));
    remove_tree(&partial)?;
    fs::create_dir(&partial)?;
    build(&partial)?;
    fs::rename(&partial, &finished)
        .with_context(|| format!("cannot rename {} to {}", partial.display(), finished.display()))?;
    Ok(finished)
}

/// Takes the lock `name` in `folder`; it is held until the returned file is dropped, also by a crash.
pub(crate) fn lock(folder: &Path, name: &str) -> Result<File> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let path = folder.join(format!(".{name}.lock"));
    let file = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            eprintln!("another run holds {}; waiting", path.display());
            file.lock()?;
        }
        Err(TryLockError::Error(error)) => {
            return Err(error).with_context(|| format!("cannot lock {}", path.display()));
        }
    }
    Ok(file)
}

/// The first 12 hex digits of the SHA-256 of `parts`, each preceded by its length.
pub(crate) fn key<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hex(&hash.finalize()[..6])
}

/// Lower-case hexadecimal digits of `bytes`.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Removes a folder and everything in it, after unmounting what an interrupted run left mounted there.
pub(crate) fn remove_tree(folder: &Path) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    mounts::unmount_below(folder)?;
    fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_depends_on_where_one_part_ends() {
        assert_ne!(key([&b"ab"[..], b"c"]), key([&b"a"[..], b"bc"]));
        assert_eq!(key([&b"ab"[..]]).len(), 12);
    }
}
