//! Requests `http://ADDRESS:PORT/PATH` all the time, each time over a new connection, and records the results:
//! `steady-client ADDRESS:PORT PATH RECORD`.
//!
//! Each request becomes one line of the record: milliseconds since the Unix epoch, and `ok` or what went wrong.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

/// From the start of one request to the start of the next: twenty a second.
const PERIOD: Duration = Duration::from_millis(50);

/// What a person in front of a browser would call broken.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

fn main() -> Result<()> {
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    let [address, path, record] = &arguments[..] else {
        bail!("usage: steady-client ADDRESS:PORT PATH RECORD");
    };
    let address = address.parse().with_context(|| format!("no address: {address}"))?;
    let mut record =
        OpenOptions::new().create(true).append(true).open(record).context("cannot open the record")?;
    loop {
        let start = Instant::now();
        let at = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
        let end = ask(address, path).map_or_else(|error| format!("{error:#}"), |()| "ok".to_owned());
        // One write per line, so that a reader never finds the parts of two.
        record.write_all(format!("{at} {}\n", end.replace('\n', " ")).as_bytes())?;
        thread::sleep(PERIOD.saturating_sub(start.elapsed()));
    }
}

fn ask(address: SocketAddr, path: &str) -> Result<()> {
    let mut stream = TcpStream::connect_timeout(&address, ANSWER_WITHIN).context("connect")?;
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).context("write")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).context("read")?;
    if !answer.starts_with("HTTP/1.0 200 ") && !answer.starts_with("HTTP/1.1 200 ") {
        bail!("{answer:?}");
    }
    Ok(())
}
