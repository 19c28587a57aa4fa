//! A byte stream that can be cut from outside, and where such streams come from.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Where byte streams to hosts come from: TCP, a tunnel, or a test.
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
/// The SSH library runs each session as a task of its own. In a handshake, or while a host does not read, that
/// task notices nobody who has lost interest in it; without its stream it ends at once.
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
