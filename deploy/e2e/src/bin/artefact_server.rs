//! Serves a folder over HTTP, at a pace that a file tells: `artefact-server ADDRESS:PORT FOLDER PACE-FILE RECORD`.
//!
//! The pace file holds `full`, `stalled` or a number of bytes per second. It is read before each piece that is sent.
//! Each answered request becomes one line of JSON in the record.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// Bytes that are sent between two looks at the pace file when the pace is full.
const PIECE: usize = 1 << 20;

/// The time between two pieces when the pace is limited, and between two looks at the file when it is stalled.
const TICK: Duration = Duration::from_millis(50);

/// How long a client may take to say what it wants.
const REQUEST_WITHIN: Duration = Duration::from_secs(10);

struct Server {
    folder: PathBuf,
    pace: PathBuf,
    record: File,
}

/// What was sent, for the record.
struct Sent {
    status: u16,
    bytes: u64,
    complete: bool,
}

fn main() -> Result<()> {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    let [address, folder, pace, record] = &arguments[..] else {
        bail!("usage: artefact-server ADDRESS:PORT FOLDER PACE-FILE RECORD");
    };
    let record =
        OpenOptions::new().create(true).append(true).open(record).context("cannot open the record")?;
    let server = Arc::new(Server { folder: folder.into(), pace: pace.into(), record });
    let listener = TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))?;
    for stream in listener.incoming() {
        let (stream, server) = (stream?, Arc::clone(&server));
        thread::spawn(move || {
            if let Err(error) = server.answer(&stream) {
                eprintln!("{error:#}");
            }
        });
    }
    Ok(())
}

impl Server {
    fn answer(&self, stream: &TcpStream) -> Result<()> {
        stream.set_read_timeout(Some(REQUEST_WITHIN))?;
        let client = stream.peer_addr()?.ip().to_string();
        let target = read_request(stream)?;
        let sent = match self.open(&target) {
            Some(file) => self.send(stream, file)?,
            None => {
                let mut stream = stream;
                stream
                    .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")?;
                Sent { status: 404, bytes: 0, complete: true }
            }
        };
        let line = serde_json::json!({
            "path": target, "client": client, "status": sent.status, "bytes": sent.bytes, "complete": sent.complete,
        });
        // One write per line: lines of concurrent downloads do not mix.
        (&self.record).write_all(format!("{line}\n").as_bytes()).context("cannot write the record")
    }

    /// The file that a target names, if it is one inside the folder.
    fn open(&self, target: &str) -> Option<File> {
        let path = target.split('?').next()?.strip_prefix('/')?;
        let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        let path = self.folder.join(path);
        (inside && path.is_file()).then(|| File::open(path).ok()).flatten()
    }

    fn send(&self, mut stream: &TcpStream, mut file: File) -> Result<Sent> {
        let length = file.metadata()?.len();
        let mut bytes = 0;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
        let mut piece = stream.write_all(head.as_bytes()).map(|()| true);
        while let Ok(true) = piece {
            piece = self.send_piece(stream, &mut file, &mut bytes);
        }
        // A client that hangs up is an answer that was not complete, no failure of ours.
        Ok(Sent { status: 200, bytes, complete: bytes == length })
    }

    /// Sends as much as the pace allows now, or waits. False at the end of the file.
    fn send_piece(&self, mut stream: &TcpStream, file: &mut File, sent: &mut u64) -> io::Result<bool> {
        let pace = fs::read_to_string(&self.pace)?;
        let size = match pace.trim() {
            "full" => PIECE,
            "stalled" => {
                thread::sleep(TICK);
                return still_there(stream).map(|()| true);
            }
            number => {
                thread::sleep(TICK);
                let per_second = number.parse::<u64>().map_err(io::Error::other)?;
                let per_tick = per_second * u64::try_from(TICK.as_millis()).unwrap_or(u64::MAX) / 1000;
                usize::try_from(per_tick).unwrap_or(PIECE).clamp(1, PIECE)
            }
        };
        let mut piece = vec![0; size];
        let read = file.read(&mut piece)?;
        stream.write_all(&piece[..read])?;
        *sent += read as u64;
        Ok(read > 0)
    }
}

/// Fails if the client has hung up: a stalled download would not notice otherwise.
fn still_there(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    let peeked = stream.peek(&mut [0]);
    stream.set_nonblocking(false)?;
    match peeked {
        Ok(0) => Err(io::ErrorKind::ConnectionAborted.into()),
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
        _ => Ok(()),
    }
}

/// Reads a request and returns its target.
fn read_request(stream: &TcpStream) -> Result<String> {
    const LONGEST: u64 = 16 * 1024;
    let mut lines = BufReader::new(stream.take(LONGEST)).lines();
    let first = lines.next().context("an empty request")??;
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    match first.split(' ').collect::<Vec<_>>()[..] {
        ["GET", target, _] => Ok(target.to_owned()),
        _ => bail!("not a GET request: {first}"),
    }
}
