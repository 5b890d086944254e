//! The door for agents: a Model Context Protocol server over standard input and output.
//!
//! The only module that is asynchronous. The wire runs on one thread; each call of a tool runs on a thread of its own
//! on the one synchronous [`Engine`]. The home is opened in the background, so that clients get their greeting and the
//! list of tools at once.

mod frame;
mod message;
mod schema;
mod server;
mod stdio;
mod tools;

use std::fmt::Display;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use crate::clock::{Clock, Timestamp};
use crate::engine::{self, Done, Engine};
use crate::error::{Error, Result};
use crate::watch::Keeper;
pub(crate) use message::replace_lone_surrogates;
use server::Server;
pub use tools::call;

/// How long calls in flight may still run once standard input is closed.
const LAST_CALLS: Duration = Duration::from_millis(1200);
/// How long the last uses may take to be written after that.
const LAST_USES: Duration = Duration::from_millis(500);
/// How long they may wait for others who write.
const LAST_USES_WAIT: Duration = Duration::from_millis(400);
/// How long upkeep waits for a home that is not open yet, and after a step that broke off.
const UPKEEP_PAUSE: Duration = Duration::from_secs(2);
/// Calls that run at the same time; further ones wait.
const MAX_CALLS: usize = 64;

/// How to serve.
#[derive(Debug, Clone)]
pub struct Options {
    /// The home to open.
    pub engine: engine::Options,
    /// Only read: nothing is appended, not even that a memory was used.
    pub read_only: bool,
    /// List all tools, not only those that an agent needs every day.
    pub full: bool,
}

/// Serves until standard input is closed or a signal asks for the end; then answers what is in flight, writes the uses that recall noted, and
/// returns within two seconds.
///
/// # Errors
/// [`Error::Io`] when the connection breaks during the handshake; [`Error::Internal`] when the system gives no threads
/// to run on. A home that cannot be opened is no error here: each call says so, and tries again.
pub fn serve(options: Options) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MAX_CALLS)
        .build()
        .map_err(|error| Error::Internal(format!("no runtime: {error}")))?;
    let outcome = runtime.block_on(run(options));
    // A call that hangs, or a read from a terminal, must not keep the process.
    runtime.shutdown_background();
    outcome
}

async fn run(options: Options) -> Result<()> {
    let home = Arc::new(Home::of(options.engine));
    let upkeep = (!options.read_only).then(|| {
        let changed = Arc::new(Notify::new());
        let clock = home.options.clock.clone();
        tokio::spawn(upkeep(clock, Arc::clone(&changed), steps(Arc::clone(&home), changed)))
    });
    let (stdio, mut line) = stdio::open();
    let server = Server { home: Arc::clone(&home), is_read_only: options.read_only, is_full: options.full };

    let mut outcome = Ok(());
    match server.serve(stdio).await {
        Ok(connection) => {
            line.greeted();
            // Not before: the greeting comes first.
            let home = Arc::clone(&home);
            drop(spawn_blocking(move || {
                home.engine().and_then(|engine| engine.refresh()).unwrap_or_else(|error| log(&error));
            }));
            tokio::select! {
                ended = connection.waiting() => drop(ended.map_err(|error| log(&error))),
                () = async { line.ended().await; sleep(LAST_CALLS).await } => {}
            }
        }
        Err(ServerInitializeError::ConnectionClosed(_)) => {}
        Err(error) => {
            outcome = Err(Error::io("greet the client on", Path::new("stdout"))(std::io::Error::other(error)));
        }
    }
    if let Some(upkeep) = upkeep {
        upkeep.abort();
        let flushed =
            spawn_blocking(move || home.opened().map_or(Ok(()), |engine| engine.flush_uses_within(LAST_USES_WAIT)));
        if let Ok(Ok(Err(error))) = timeout(LAST_USES, flushed).await {
            log(&error);
        }
    }
    outcome
}

/// Waits until the system asks the process to end: SIGTERM or SIGINT, on Windows Ctrl-C.
///
/// # Errors
/// [`Error::Internal`] when the system gives nothing to wait with.
pub fn wait_for_the_end() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Internal(format!("no runtime: {error}")))?;
    runtime.block_on(stdio::asked_to_end());
    Ok(())
}

/// One step of upkeep: when the next is due, and what this one did.
type Step = Box<dyn FnOnce() -> (Timestamp, Result<Option<Done>>) + Send>;

/// Steps of upkeep with the vault watched, which tells `changed`; once the home is open.
fn steps(home: Arc<Home>, changed: Arc<Notify>) -> impl Fn() -> Option<Step> {
    let keeper: Arc<Mutex<Option<Keeper>>> = Arc::default();
    move || {
        let engine = home.opened()?;
        let (keeper, changed) = (Arc::clone(&keeper), Arc::clone(&changed));
        Some(Box::new(move || {
            // A step that panicked left it as it was.
            let mut keeper = keeper.lock().unwrap_or_else(PoisonError::into_inner);
            keeper.get_or_insert_with(|| Keeper::new(engine, move || changed.notify_one())).step()
        }))
    }
}

/// Calls the engine's upkeep whenever it wants to be called, and when the vault changed. `step` gives the next one,
/// once the home is open.
async fn upkeep<S, T>(clock: Clock, changed: Arc<Notify>, step: impl Fn() -> Option<S>)
where
    S: FnOnce() -> (Timestamp, Result<T>) + Send + 'static,
    T: Send + 'static,
{
    let mut last_trouble = String::new();
    loop {
        let mut pause = UPKEEP_PAUSE;
        // A step that panicked has said so on standard error; what it was about is due again in its time.
        if let Some(step) = step()
            && let Ok((next, outcome)) = spawn_blocking(step).await
        {
            let millis = next.millis().saturating_sub(clock.now().millis());
            pause = Duration::from_millis(u64::try_from(millis).unwrap_or_default().max(10));
            let trouble = outcome.err().map(|error| error.to_string()).unwrap_or_default();
            if !trouble.is_empty() && trouble != last_trouble {
                log(&trouble);
            }
            last_trouble = trouble;
        }
        // Time is up, or the vault changed.
        timeout(pause, changed.notified()).await.unwrap_or_default();
    }
}

/// The home, opened when it is first needed.
struct Home {
    options: engine::Options,
    opening: Mutex<()>,
    engine: OnceLock<Arc<Engine>>,
}

impl Home {
    fn of(options: engine::Options) -> Home {
        Home { options, opening: Mutex::default(), engine: OnceLock::new() }
    }

    /// The engine. Whoever comes while it is being opened waits; where it could not be opened, the next one tries
    /// again.
    fn engine(&self) -> Result<Arc<Engine>> {
        let _alone = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = self.opened() {
            return Ok(engine);
        }
        let engine = Arc::new(Engine::open(self.options.clone())?);
        Ok(Arc::clone(self.engine.get_or_init(|| engine)))
    }

    /// The engine, if it is open already.
    fn opened(&self) -> Option<Arc<Engine>> {
        self.engine.get().cloned()
    }
}

/// Says on standard error what no reply can say. Standard output belongs to the protocol.
#[expect(clippy::print_stderr, reason = "the only log there is")]
fn log(trouble: &impl Display) {
    eprintln!("ebbmark serve: {trouble}");
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn upkeep_goes_on_after_a_step_that_panicked() {
        let steps = Arc::new(AtomicU32::new(0));
        let step = || {
            let steps = Arc::clone(&steps);
            Some(move || {
                assert_ne!(steps.fetch_add(1, Ordering::Relaxed), 0, "on purpose");
                (Clock::System.now(), Ok(()))
            })
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let wait = UPKEEP_PAUSE + Duration::from_secs(3);
        assert!(
            runtime.block_on(async { timeout(wait, upkeep(Clock::System, Arc::default(), step)).await }).is_err(),
            "it ended"
        );
        assert!(steps.load(Ordering::Relaxed) > 1);
    }
}
