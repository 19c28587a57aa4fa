//! The end of a log, for messages that point to a failure.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// How much of the end of a file is looked at, in bytes: enough for every tail that is printed here.
const WINDOW: u64 = 64 * 1024;

/// The last `lines` lines of a file, or why it cannot be read.
pub(crate) fn tail(log: &Path, lines: usize) -> String {
    match read_end(log) {
        Ok(text) => {
            let all = text.lines().collect::<Vec<_>>();
            let end = &all[all.len().saturating_sub(lines)..];
            format!("--- end of {} ---\n{}\n", log.display(), end.join("\n"))
        }
        Err(error) => format!("--- {}: {error} ---\n", log.display()),
    }
}

/// Prints the end of every log in a folder to the standard error.
pub(crate) fn print_tails(folder: &Path, lines: usize) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut logs = entries.filter_map(|entry| Some(entry.ok()?.path())).collect::<Vec<_>>();
    logs.sort();
    for log in logs.iter().filter(|log| log.is_file()) {
        eprintln!("{}", tail(log, lines));
    }
}

fn read_end(log: &Path) -> std::io::Result<String> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(WINDOW)))?;
    let mut bytes = Vec::new();
    file.take(WINDOW).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
