//! Standard input and output as the wire: one JSON message a line.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::io::{StdioReader, StdioWriter, stdio_pipes};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, oneshot};

use super::message::{self, Heard, MAX_BYTES, Salvage};

/// Room for messages that is kept between them, bytes.
const KEPT_BYTES: usize = 1 << 16;

/// The wire. What is no message is answered here: the server never hears of it.
pub(super) struct Stdio {
    input: Input,
    output: Arc<Mutex<Output>>,
    is_greeted: Arc<AtomicBool>,
    /// The system's wish that the process ends. It closes the wire as the client would.
    asked_to_end: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// Until the wire is closed.
    ended: Option<oneshot::Sender<()>>,
}

/// Standard input, line by line. A read that is broken off goes on where it was.
struct Input {
    reader: BufReader<StdioReader>,
    line: Vec<u8>,
    /// Of a line that is too long: its bytes so far, of which none is kept.
    too_long: Option<(Salvage, usize)>,
    /// What is to be said to the line before.
    reply: Option<Vec<u8>>,
    is_at_end: bool,
}

/// Standard output, and what is still to be written to it: a write that is broken off is finished by the next.
struct Output {
    writer: Option<StdioWriter>,
    waiting: Vec<u8>,
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
    let input =
        Input { reader: BufReader::new(reader), line: Vec::new(), too_long: None, reply: None, is_at_end: false };
    let stdio = Stdio {
        input,
        output: Arc::new(Mutex::new(Output { writer: Some(writer), waiting: Vec::new() })),
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

impl Input {
    /// The next line, read as a message; `None` where there is no more.
    async fn hear(&mut self) -> Option<Heard> {
        while !self.is_at_end {
            // A wire that breaks ends as one that is closed.
            let available = self.reader.fill_buf().await.unwrap_or_default();
            let end = memchr::memchr(b'\n', available);
            let taken = end.map_or(available.len(), |end| end + 1);
            self.is_at_end = available.is_empty();
            let part = available.get(..taken).unwrap_or_default();
            if let Some((salvage, bytes)) = &mut self.too_long {
                salvage.feed(part);
                *bytes += part.len();
            } else {
                self.line.extend_from_slice(part);
                if self.line.len() > MAX_BYTES {
                    let mut salvage = Salvage::default();
                    salvage.feed(&self.line);
                    self.too_long = Some((salvage, self.line.len()));
                    self.line = Vec::new();
                }
            }
            self.reader.consume(taken);
            if end.is_none() && !self.is_at_end {
                continue;
            }
            if let Some((salvage, bytes)) = self.too_long.take() {
                return Some(message::too_long(salvage, bytes));
            }
            let heard = message::hear(&mut self.line);
            self.line.clear();
            self.line.shrink_to(KEPT_BYTES);
            return Some(heard);
        }
        None
    }

    /// The next message. What is none is answered.
    async fn next(&mut self, output: &Mutex<Output>) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(reply) = &mut self.reply {
                let mut output = output.lock().await;
                output.waiting.append(reply);
                output.write().await.ok()?;
                self.reply = None;
            }
            match self.hear().await? {
                Heard::Message(message) => return Some(*message),
                Heard::Nothing => {}
                Heard::Wrong(reply) => self.reply = Some(format!("{reply}\n").into_bytes()),
            }
        }
    }
}

impl Output {
    /// Writes what is waiting.
    async fn write(&mut self) -> io::Result<()> {
        let writer = self.writer.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        while !self.waiting.is_empty() {
            match writer.write(&self.waiting).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => drop(self.waiting.drain(..written)),
            }
        }
        writer.flush().await
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let output = Arc::clone(&self.output);
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut output = output.lock().await;
            output.waiting.append(&mut line);
            output.write().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // A closed wire stays closed.
            self.ended.as_ref()?;
            let message = tokio::select! {
                () = &mut self.asked_to_end => None,
                message = self.input.next(&self.output) => message,
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
        self.output.lock().await.writer = None;
        Ok(())
    }
}
