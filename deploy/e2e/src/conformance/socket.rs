//! HTTP/1.1 over a Unix socket: one request per connection.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

/// The longest that any answer may take, a watch of some seconds included.
const LIMIT: Duration = Duration::from_secs(60);

/// Sends a request and reads the answer to its end: status code and body.
pub(super) fn exchange(
    socket: &Path,
    method: &str,
    path: &str,
    content_type: &str,
    body: &str,
) -> Result<(u16, String)> {
    let mut stream =
        UnixStream::connect(socket).with_context(|| format!("cannot connect to {}", socket.display()))?;
    stream.set_read_timeout(Some(LIMIT))?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept: application/json\r\n\
         Content-Type: {content_type}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        // A server that answers without having read the body cuts the connection; the answer came before.
        Err(error) if error.kind() == ErrorKind::ConnectionReset && !answer.is_empty() => {}
        Err(error) => return Err(error).with_context(|| format!("{method} {path}")),
    }
    parse(&String::from_utf8(answer)?).with_context(|| format!("{method} {path}: no HTTP answer"))
}

fn parse(answer: &str) -> Option<(u16, String)> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let code = head.split(' ').nth(1)?.parse().ok()?;
    let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    Some((code, if is_chunked { joined(body)? } else { body.to_owned() }))
}

fn joined(mut chunks: &str) -> Option<String> {
    let mut body = String::new();
    loop {
        let (length, rest) = chunks.split_once("\r\n")?;
        let length = usize::from_str_radix(length.trim(), 16).ok()?;
        if length == 0 {
            return Some(body);
        }
        body.push_str(rest.get(..length)?);
        chunks = rest.get(length..)?.strip_prefix("\r\n")?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_whole_and_in_chunks() {
        let whole = "HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(parse(whole), Some((409, "{}".into())));
        let chunked =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n3\r\n\n{}\r\n0\r\n\r\n";
        assert_eq!(parse(chunked), Some((200, "{}\n{}".into())));
        assert_eq!(parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}"), None);
    }
}
