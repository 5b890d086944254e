//! Standard input and output as the wire: one JSON message a line.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::{StdioReader, StdioWriter, stdio_pipes};
use tokio::sync::oneshot;

/// The wire. Lines that are not JSON are skipped, by rmcp.
pub(super) struct Stdio {
    pipes: AsyncRwTransport<RoleServer, StdioReader, StdioWriter>,
    is_greeted: Arc<AtomicBool>,
    /// The system's wish that the process ends. It closes the wire as the client would.
    asked_to_end: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// Until the wire is closed.
    ended: Option<oneshot::Sender<()>>,
}

/// What the server tells and hears about its wire.
pub(super) struct Line {
    is_greeted: Arc<AtomicBool>,
    ended: oneshot::Receiver<()>,
}

/// Takes standard input and output. To be called within the runtime.
pub(super) fn open() -> (Stdio, Line) {
    let (reader, writer) = stdio_pipes();
    let (sender, ended) = oneshot::channel();
    let is_greeted = Arc::new(AtomicBool::new(false));
    let stdio = Stdio {
        pipes: AsyncRwTransport::new(reader, writer),
        is_greeted: Arc::clone(&is_greeted),
        asked_to_end: Box::pin(asked_to_end()),
        ended: Some(sender),
    };
    (stdio, Line { is_greeted, ended })
}

/// Waits until the system asks the process to end: SIGTERM or SIGINT, on Windows Ctrl-C.
pub(super) async fn asked_to_end() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
        if let (Ok(mut terminate), Ok(mut interrupt)) = signals {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            return;
        }
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_ok() {
        return;
    }
    // Signals cannot be listened to: they end the process at once, as ever.
    std::future::pending::<()>().await;
}

impl Line {
    /// Says that the handshake is over.
    pub(super) fn greeted(&self) {
        self.is_greeted.store(true, Ordering::Relaxed);
    }

    /// Waits until standard input is closed, or the process is asked to end.
    pub(super) async fn ended(&mut self) {
        // An error says that the wire itself is gone, which is the same.
        (&mut self.ended).await.unwrap_or_default();
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        self.pipes.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // A closed wire stays closed.
            self.ended.as_ref()?;
            let message = tokio::select! {
                () = &mut self.asked_to_end => None,
                message = self.pipes.receive() => message,
            };
            match &message {
                None => drop(self.ended.take().map(|ended| ended.send(()))),
                // Before the handshake rmcp ends the connection at anything that asks for nothing.
                Some(message) if !self.is_greeted.load(Ordering::Relaxed) => {
                    if !matches!(message, RxJsonRpcMessage::<RoleServer>::Request(_)) {
                        continue;
                    }
                }
                Some(_) => {}
            }
            return message;
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.pipes.close().await
    }
}
