//! The members of the swarm over the fast scenarios.

use std::path::Path;

use seaworthy_fleet::plan::Document;
use seaworthy_fleet::swarm::{Member, Swarm};
use seaworthy_kernel::Seed;

/// The largest fleet.
const MACHINES_MAX: u32 = 60;

/// The files of a folder, with their texts, in the order of their names.
pub(crate) fn files(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<(String, String)> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

pub(crate) fn swarm() -> Swarm {
    Swarm::new(files("fast").into_iter().map(read).collect(), Some(MACHINES_MAX))
}

/// A scenario file as the swarm reads it.
pub(crate) fn read((file, text): (String, String)) -> (String, Document) {
    let document = Document::read(&file, &text).unwrap_or_else(|error| panic!("{error}"));
    (file, document)
}

pub(crate) fn member(swarm: &Swarm, seed: u64) -> Member {
    swarm.member(Seed(seed)).unwrap_or_else(|error| panic!("seed {seed}: {error}"))
}
