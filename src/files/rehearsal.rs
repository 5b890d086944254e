//! Rehearsals of what seldom happens: every system call of [`files`](super) on one thread is counted, noted down, and
//! made to fail where the test wants it.
//!
//! Nothing is rehearsed unless a test asks for it; a call then costs one look at a thread-local cell. Calls of tantivy
//! and libgit2 are not seen.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};

/// What a call did to the disk, in the order of the calls: enough to say what a power cut leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// Made a folder.
    MakeFolder(PathBuf),
    /// Made an empty file.
    Create(PathBuf),
    /// Wrote bytes into a file from an offset on.
    Write {
        /// The file.
        path: PathBuf,
        /// Where the bytes begin.
        at: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Cut a file to a length, bytes.
    Cut(PathBuf, u64),
    /// Made the content of a file durable.
    Sync(PathBuf),
    /// Made the entries of a folder durable.
    SyncFolder(PathBuf),
    /// Gave a file a new name, over whatever had it.
    Rename(PathBuf, PathBuf),
    /// Exchanged two names.
    Exchange(PathBuf, PathBuf),
    /// Gave a file a second name.
    Link(PathBuf, PathBuf),
    /// Took a name from a file.
    Remove(PathBuf),
    /// Opened or listed something, took a lock, set a mode: nothing that a power cut could undo.
    Look(PathBuf),
}

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// `ENOSPC`: the disk is full.
    Full,
    /// `EIO`: the device fails.
    Device,
    /// `EACCES`: not permitted.
    Access,
    /// `EROFS`: the file system is read-only.
    ReadOnly,
    /// `EMFILE`: this process has too many files open.
    TooManyFiles,
    /// Half of the bytes are written, then the disk is full. Of calls that write.
    Short,
    /// The bytes are written and syncing them fails. Of calls that sync a file.
    Sync,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 7] =
        [Fault::Full, Fault::Device, Fault::Access, Fault::ReadOnly, Fault::TooManyFiles, Fault::Short, Fault::Sync];

    /// The error that the system would give.
    fn error(self) -> io::Error {
        io::Error::from_raw_os_error(match self {
            Fault::Full | Fault::Short => 28,
            Fault::Device | Fault::Sync => 5,
            Fault::Access => 13,
            Fault::ReadOnly => 30,
            Fault::TooManyFiles => 24,
        })
    }

    fn befalls(self, call: &Call) -> bool {
        match self {
            Fault::Short => matches!(call, Call::Write { .. }),
            Fault::Sync => matches!(call, Call::Sync(_)),
            // Only what needs room can be refused for want of it.
            Fault::Full => matches!(
                call,
                Call::MakeFolder(_)
                    | Call::Create(_)
                    | Call::Write { .. }
                    | Call::Sync(_)
                    | Call::Rename(..)
                    | Call::Link(..)
            ),
            Fault::ReadOnly => !matches!(call, Call::Look(_) | Call::Sync(_) | Call::SyncFolder(_)),
            Fault::TooManyFiles => matches!(call, Call::Look(_) | Call::Create(_) | Call::SyncFolder(_)),
            Fault::Device | Fault::Access => true,
        }
    }
}

/// Which call fails, and how.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// How.
    pub fault: Fault,
    /// The first call that fails, counted from 0 among the calls that this fault can befall.
    pub nth: usize,
    /// Whether every later one fails too.
    pub stays: bool,
}

/// What somebody else does in between.
type Deed = Box<dyn FnOnce()>;

#[derive(Default)]
struct Rehearsal {
    plan: Option<Plan>,
    counted: usize,
    /// A deed, and how many calls come before it.
    meanwhile: Option<(usize, Deed)>,
    is_noting: bool,
    calls: Vec<Call>,
}

thread_local! {
    static REHEARSAL: RefCell<Option<Rehearsal>> = const { RefCell::new(None) };
}

/// Ends the rehearsal also where the work panics.
struct Curtain;

impl Drop for Curtain {
    fn drop(&mut self) {
        REHEARSAL.with_borrow_mut(|rehearsal| *rehearsal = None);
    }
}

fn rehearse<T>(rehearsal: Rehearsal, work: impl FnOnce() -> T) -> (T, Rehearsal) {
    REHEARSAL.with_borrow_mut(|now| *now = Some(rehearsal));
    let curtain = Curtain;
    let done = work();
    let rehearsal = REHEARSAL.with_borrow_mut(Option::take).unwrap_or_default();
    drop(curtain);
    (done, rehearsal)
}

/// Does the work and answers with every call that it made on this thread, in order.
pub fn noted<T>(work: impl FnOnce() -> T) -> (T, Vec<Call>) {
    let (done, rehearsal) = rehearse(Rehearsal { is_noting: true, ..Rehearsal::default() }, work);
    (done, rehearsal.calls)
}

/// How many calls were noted so far: within [`noted`].
pub fn noted_so_far() -> usize {
    REHEARSAL.with_borrow(|rehearsal| rehearsal.as_ref().map_or(0, |rehearsal| rehearsal.calls.len()))
}

/// Does the work with a call that fails, and answers whether it was reached.
pub fn failing<T>(plan: Plan, work: impl FnOnce() -> T) -> (T, bool) {
    let (done, rehearsal) = rehearse(Rehearsal { plan: Some(plan), ..Rehearsal::default() }, work);
    (done, rehearsal.counted > plan.nth)
}

/// Does the work, and right before its call `nth`, counted from 0, what somebody else might do meanwhile. Answers whether
/// that was reached.
pub fn interrupted<T>(nth: usize, meanwhile: impl FnOnce() + 'static, work: impl FnOnce() -> T) -> (T, bool) {
    let meanwhile = Some((nth, Box::new(meanwhile) as Deed));
    let (done, rehearsal) = rehearse(Rehearsal { meanwhile, ..Rehearsal::default() }, work);
    (done, rehearsal.meanwhile.is_none())
}

/// The deed whose turn it is.
fn deed_that_is_due() -> Option<Deed> {
    REHEARSAL.with_borrow_mut(|rehearsal| {
        let meanwhile = &mut rehearsal.as_mut()?.meanwhile;
        if let Some((left @ 1.., _)) = meanwhile {
            *left -= 1;
            return None;
        }
        meanwhile.take().map(|(_, deed)| deed)
    })
}

/// Carries out a call, unless it is to fail. `partly` does what is done of it before it fails.
pub(super) fn call<T>(
    describe: impl Fn() -> Call,
    partly: impl FnOnce(Fault),
    carry_out: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    let is_rehearsed = REHEARSAL.with_borrow(Option::is_some);
    if !is_rehearsed {
        return carry_out();
    }
    if let Some(deed) = deed_that_is_due() {
        deed();
    }
    // What is noted describes the disk before the call.
    let described = describe();
    let fault = REHEARSAL.with_borrow_mut(|rehearsal| {
        let rehearsal = rehearsal.as_mut()?;
        let plan = rehearsal.plan.filter(|plan| plan.fault.befalls(&described))?;
        rehearsal.counted += 1;
        let reached = rehearsal.counted - 1;
        (reached == plan.nth || plan.stays && reached > plan.nth).then_some(plan.fault)
    });
    if let Some(fault) = fault {
        partly(fault);
        return Err(fault.error());
    }
    let done = carry_out()?;
    REHEARSAL.with_borrow_mut(|rehearsal| {
        if let Some(rehearsal) = rehearsal.as_mut().filter(|rehearsal| rehearsal.is_noting) {
            rehearsal.calls.push(described);
        }
    });
    Ok(done)
}

/// Something that a power cut could not undo.
pub(super) fn look<T>(path: &Path, carry_out: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    call(|| Call::Look(path.to_owned()), |_| {}, carry_out)
}
