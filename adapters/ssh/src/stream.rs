//! A byte stream that can be cut from outside, and where such streams come from.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// A source of byte streams to hosts: TCP, a tunnel, or a test.
pub trait Dial: Send + Sync + 'static {
    /// The stream.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Connects to `address`.
    ///
    /// # Errors
    /// Those of connecting.
    fn dial(&self, address: SocketAddr) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

/// Plain TCP.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tcp;

impl Dial for Tcp {
    type Stream = TcpStream;

    async fn dial(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

/// A stream that fails as soon as its token is cancelled.
///
/// The SSH library runs each session as a task of its own. In a handshake, or while a host does not read, that task does
/// not notice that its session was dropped. Without its stream it ends at once.
pub(crate) struct Severable<S> {
    inner: S,
    token: CancellationToken,
    severed: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl<S> Severable<S> {
    pub(crate) fn new(inner: S, token: CancellationToken) -> Self {
        let severed = Box::pin(token.clone().cancelled_owned());
        Self { inner, token, severed }
    }

    fn check(&self) -> io::Result<()> {
        if self.token.is_cancelled() { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Severable<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // The session always has a read pending, so this is where it is woken.
        if self.severed.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Severable<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A failed shutdown would hide from the session why it ended.
        let _ = ready!(Pin::new(&mut self.inner).poll_shutdown(cx));
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio_test::io::Builder;
    use tokio_test::{assert_pending, assert_ready, task};

    use super::*;

    /// A wire on which nothing happens for an hour.
    fn silent() -> (Severable<tokio_test::io::Mock>, CancellationToken) {
        let token = CancellationToken::new();
        let wire = Builder::new().wait(Duration::from_secs(3600)).build();
        (Severable::new(wire, token.clone()), token)
    }

    #[tokio::test(start_paused = true)]
    async fn a_whole_stream_passes_everything_on_as_it_comes() {
        let wire = Builder::new()
            .read(b"SSH-2.0-")
            .wait(Duration::from_secs(5))
            .read(b"x\r\n")
            .write(b"SSH-2.0-y\r\n")
            .read_error(io::ErrorKind::ConnectionReset.into())
            .build();
        let mut stream = Severable::new(wire, CancellationToken::new());
        let mut buffer = [0; 64];
        for piece in [&b"SSH-2.0-"[..], b"x\r\n"] {
            let length = stream.read(&mut buffer).await.unwrap();
            assert_eq!(&buffer[..length], piece);
        }
        stream.write_all(b"SSH-2.0-y\r\n").await.unwrap();
        let error = stream.read(&mut buffer).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "the wire's own error, not that of a cut");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_for_a_silent_wire_is_woken_by_the_cut() {
        let (mut stream, token) = silent();
        let mut buffer = [0; 64];
        let mut reading = task::spawn(stream.read(&mut buffer));
        assert_pending!(reading.poll());
        assert!(!reading.is_woken());
        token.cancel();
        assert!(reading.is_woken(), "nobody else would ever poll it again");
        let error = assert_ready!(reading.poll()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
    }

    #[tokio::test(start_paused = true)]
    async fn a_cut_stream_takes_nothing_and_can_be_shut_down() {
        let (mut stream, token) = silent();
        token.cancel();
        let aborted = |error: io::Error| error.kind() == io::ErrorKind::ConnectionAborted;
        assert!(stream.write(b"order").await.is_err_and(aborted));
        assert!(stream.flush().await.is_err_and(aborted));
        assert!(stream.read(&mut [0; 8]).await.is_err_and(aborted));
        stream.shutdown().await.unwrap();
    }
}
