//! The command line: each MCP tool is a command, and beside them what only a person needs.

mod decisions;
mod demo;
mod graph;
mod lines;
mod memories;
mod notes;
mod upkeep;
mod watch;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::clock::{Clock, Timestamp};
use crate::engine::{self, Engine, say};
use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::id::{Randomness, content_hash};
use crate::mcp;
use crate::words;

/// What the process was given besides its arguments.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// The user's home folder.
    pub user_home: Option<PathBuf>,
    /// `EBBMARK_HOME`.
    pub home: Option<PathBuf>,
    /// `EBBMARK_VAULT`.
    pub vault: Option<PathBuf>,
    /// `EBBMARK_NOW`: a fixed instant.
    pub now: Option<String>,
    /// `EBBMARK_SEED`: a number.
    pub seed: Option<String>,
    /// `EBBMARK_REPLICA`.
    pub replica: Option<String>,
    /// The person's editor.
    pub editor: Option<String>,
    /// What tells this machine from others.
    pub machine: String,
    /// Variables of ours that are set to nothing.
    pub empty: Vec<String>,
    /// Variables that begin like ours and are not known.
    pub unknown: Vec<String>,
}

/// The variables that are read.
pub const VARIABLES: [&str; 5] = ["EBBMARK_HOME", "EBBMARK_VAULT", "EBBMARK_NOW", "EBBMARK_SEED", "EBBMARK_REPLICA"];

/// Local-first memory for AI agents: memories ebb unless used; what lasts is marked down in an Obsidian vault.
#[derive(Debug, Parser)]
#[command(name = "ebbmark", version, propagate_version = true, max_term_width = 100)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// Options that every command has, or almost; help shows them apart from a command's own.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every command")]
struct Common {
    /// Folder of journal, configuration and cache [default: ~/.ebbmark]
    #[arg(long, global = true, value_name = "FOLDER")]
    home: Option<PathBuf>,
    /// Folder of the notes [default: ~/Ebbmark]
    #[arg(long, global = true, value_name = "FOLDER")]
    vault: Option<PathBuf>,
    /// Print the answer as JSON, as the MCP tool gives it
    #[arg(long, global = true)]
    json: bool,
}

/// Takes the place of `--json` in a command whose output is no answer: help does not offer it.
#[derive(Debug, Clone, Args)]
struct NoJson {
    #[arg(long = "json", id = "json", hide = true)]
    json: bool,
}

/// The exit codes of the doctor.
const DOCTOR_CODES: &str = "\
Exit codes:
  0  nothing is wrong; there may be notes, and what --fix mended
  4  warnings
  5  errors
  1  a defect of Ebbmark, 2 a wrong command, 3 disk, permissions or locks: the doctor could not look";
/// The exit codes of `inspect`.
const HEALTH_CODES: &str = "\
Exit codes of the view health:
  0  nothing is wrong; there may be notes
  4  warnings
  5  errors";

#[derive(Debug, Subcommand)]
enum Command {
    /// Remember something
    Remember(memories::Remember),
    /// Find memories
    Recall(memories::Recall),
    /// Say why a query returns a memory, or does not
    Why(memories::Why),
    /// Show memories whole
    Open(memories::Open),
    /// Change fields of a memory
    Revise(memories::Revise),
    /// Change the text of a memory in your editor
    Edit(memories::Edit),
    /// Count a use of memories
    Reinforce(memories::Reinforce),
    /// Forget memories; `restore` undoes it
    Forget(memories::Forget),
    /// Bring forgotten, faded or superseded memories back
    Restore(memories::Ids),
    /// Take back the last operation of this machine
    Undo,
    /// Say how two memories or entities hang together
    Relate(decisions::Relate),
    /// Show what there is to decide, and decide it
    Review(decisions::Review),
    /// Find memories that say much the same; make them one, link them, or keep them apart
    Consolidate(decisions::Consolidate),
    /// Write what has proved itself into the vault
    Promote(memories::Promote),
    /// List, print or write notes of the vault
    Note(notes::Note),
    /// Move the vault
    Vault(notes::Vault),
    /// Say what is known of a person, project or thing; without a name, which there are
    Entity(graph::Entity),
    /// Show or draw what hangs on something
    Graph(graph::Graph),
    /// Say how two things hang together
    Path(graph::PathBetween),
    /// Look at health, counts, what is known, what has faded, what is due for review
    #[command(after_help = HEALTH_CODES)]
    Inspect(upkeep::Inspect),
    /// Look for everything that is not as it should be, and say what to do
    #[command(after_help = DOCTOR_CODES)]
    Doctor(upkeep::Doctor),
    /// Show counts
    Stats,
    /// List what has faded, and why
    Faded(upkeep::Faded),
    /// Propose half-lives from how memories were used; changes nothing
    Tune,
    /// Do what is due: read the vault back, promote, refresh notes, commit
    Tidy(upkeep::Tidy),
    /// Drop from the journal what no longer says anything
    Compact(upkeep::DryRun),
    /// Make home and vault (everything works without it)
    Init,
    /// Show where everything is
    Where,
    /// Serve MCP over stdin and stdout
    Serve(Serve),
    /// Follow edits in the vault and keep home and vault in order, until it is stopped
    Watch,
    /// Play a story over six simulated weeks
    Demo(demo::Demo),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
        #[command(flatten)]
        no_json: NoJson,
    },
}

impl Command {
    /// The name of a command that has no JSON to print, and whether it was asked for some all the same.
    fn without_json(&self) -> Option<(&'static str, bool)> {
        match self {
            Command::Serve(serve) => Some(("serve", serve.no_json.json)),
            Command::Demo(demo) => Some(("demo", demo.no_json.json)),
            Command::Completions { no_json, .. } => Some(("completions", no_json.json)),
            _ => None,
        }
    }
}

#[derive(Debug, Args)]
struct Serve {
    /// Answer questions only: nothing is written
    #[arg(long)]
    read_only: bool,
    /// List all tools: `consolidate`, too
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    no_json: NoJson,
}

/// Runs one command and says how it went: 0 ok, 1 internal, 2 user error, 3 environment.
pub fn run(arguments: impl IntoIterator<Item = OsString>, environment: &Environment) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            let is_printed = error.print().is_ok_and(|()| !is_lost(std::io::stdout().flush()));
            return match (error.use_stderr(), is_printed) {
                (true, _) => exit_code(ErrorKind::User),
                (false, true) => ExitCode::SUCCESS,
                (false, false) => exit_code(ErrorKind::Environment),
            };
        }
    };
    let json = arguments.common.json;
    match dispatch(arguments, environment) {
        Ok(code) => code,
        Err(error) => {
            complain(&error, json);
            exit_code(error.kind())
        }
    }
}

fn exit_code(kind: ErrorKind) -> ExitCode {
    ExitCode::from(match kind {
        ErrorKind::Internal => 1,
        ErrorKind::User => 2,
        ErrorKind::Environment => 3,
    })
}

fn dispatch(arguments: Arguments, environment: &Environment) -> Result<ExitCode> {
    let Arguments { common, command } = arguments;
    if let Some((name, is_asked)) = command.without_json()
        && (is_asked || common.json)
    {
        return Err(Error::invalid("--json", format!("`{name}` has no answer as JSON"), "leave it out"));
    }
    match command {
        Command::Completions { shell, .. } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "ebbmark", &mut script);
            return out(&String::from_utf8_lossy(&script)).map(|()| ExitCode::SUCCESS);
        }
        Command::Demo(demo) => return demo.run().map(|()| ExitCode::SUCCESS),
        Command::Serve(serve) => {
            let options =
                mcp::Options { engine: options(&common, environment)?, read_only: serve.read_only, full: serve.full };
            return mcp::serve(options).map(|()| ExitCode::SUCCESS);
        }
        Command::Watch => {
            return watch::run(options(&common, environment)?, common.json).map(|()| ExitCode::SUCCESS);
        }
        _ => {}
    }
    let options = options(&common, environment)?;
    let engine = match command {
        Command::Doctor(_) => Engine::open_for_doctor(options)?,
        _ => Engine::open(options)?,
    };
    for warning in engine.warnings() {
        note(warning);
    }
    let door = Door { engine: &engine, json: common.json };
    let done = match command {
        Command::Remember(command) => command.run(&door),
        Command::Recall(command) => command.run(&door),
        Command::Why(command) => command.run(&door),
        Command::Open(command) => command.run(&door),
        Command::Revise(command) => command.run(&door),
        Command::Edit(command) => command.run(&door, environment.editor.as_deref()),
        Command::Reinforce(command) => command.run(&door),
        Command::Forget(command) => command.run(&door),
        Command::Restore(ids) => ids.restore(&door),
        Command::Undo => door.say(&engine.undo()?, say::undo),
        Command::Relate(command) => command.run(&door),
        Command::Review(command) => command.run(&door),
        Command::Consolidate(command) => command.run(&door),
        Command::Promote(command) => command.run(&door),
        Command::Note(command) => command.run(&door),
        Command::Vault(command) => command.run(&door),
        Command::Entity(command) => command.run(&door),
        Command::Graph(command) => command.run(&door),
        Command::Path(command) => command.run(&door),
        Command::Inspect(command) => command.run(&door),
        Command::Doctor(command) => command.run(&door),
        Command::Stats => upkeep::stats(&door),
        Command::Faded(command) => command.run(&door),
        Command::Tune => upkeep::tune(&door),
        Command::Tidy(command) => command.run(&door),
        Command::Compact(command) => command.compact(&door),
        Command::Init => door.say(&engine.init(&engine::InitRequest::default())?, say::init),
        Command::Where => door.say(&engine.whereabouts()?, say::whereabouts),
        Command::Serve(_) | Command::Watch | Command::Demo(_) | Command::Completions { .. } => Ok(ExitCode::SUCCESS),
    };
    if let Err(error) = engine.flush_uses()
        && !engine.is_told(&error)
    {
        note(&error.to_string());
    }
    engine.fold_if_worth_it();
    done
}

/// The engine, and how its answers are printed.
struct Door<'a> {
    engine: &'a Engine,
    json: bool,
}

impl Door<'_> {
    /// Prints an answer: its JSON, or its text.
    fn say<T: Serialize>(&self, answer: &T, text: impl FnOnce(&T) -> String) -> Result<ExitCode> {
        if self.json {
            let json = serde_json::to_string_pretty(answer).map_err(|error| Error::Internal(error.to_string()))?;
            out(&format!("{json}\n"))
        } else {
            out(&text(answer).chars().filter(|c| is_harmless(*c)).collect::<String>())
        }
        .inspect_err(|_| note("the answer could not be printed; what the command did is done and stays done"))
        .map(|()| ExitCode::SUCCESS)
    }

    /// Reads back what a person changed in the vault; a failure does not stop the command.
    fn read_back(&self) {
        match self.engine.read_back() {
            Ok(problems) => problems.iter().for_each(|problem| note(problem)),
            // The notice of the answer says so already.
            Err(error) if self.engine.is_told(&error) => {}
            Err(error) => note(&format!("the vault was not read: {error}")),
        }
    }
}

/// Whether a character of a memory may reach the terminal: no escapes, no turning of the text's direction, nothing
/// hidden but the joiners that scripts and emoji need.
fn is_harmless(c: char) -> bool {
    let is_joiner = matches!(c, '\u{200C}' | '\u{200D}' | '\u{FE0F}');
    let turns = matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{E0000}'..='\u{E007F}');
    let is_control = c.is_control() && !matches!(c, '\n' | '\t');
    is_joiner || !(is_control || turns || words::is_invisible(c))
}

/// Prints to stdout.
///
/// # Errors
/// [`Error::Io`] where it cannot be written. A reader that went away is no error of ours.
fn out(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout();
    let printed = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    match printed {
        Err(error) if is_lost(Err(error.kind().into())) => Err(Error::io("write to", Path::new("stdout"))(error)),
        _ => Ok(()),
    }
}

/// Whether somebody who still reads did not get what was printed.
fn is_lost(printed: std::io::Result<()>) -> bool {
    printed.is_err_and(|error| error.kind() != std::io::ErrorKind::BrokenPipe)
}

/// A number of entries; one that is too small or too large is brought into range by the command.
fn count(text: &str) -> Result<u32, String> {
    let count: i64 = text.trim().parse().map_err(|_| "it is no whole number".to_owned())?;
    Ok(u32::try_from(count.max(0)).unwrap_or(u32::MAX))
}

/// Says something beside the answer.
#[expect(clippy::print_stderr, reason = "the command line's own voice")]
fn note(text: &str) {
    eprintln!("ebbmark: {text}");
}

fn complain(error: &Error, json: bool) {
    if json {
        let body =
            serde_json::json!({ "error": error.to_string(), "kind": error.kind().as_str(), "hint": error.hint() });
        // Standard error says it as well.
        drop(out(&format!("{body}\n")));
    }
    note(&format!("{error}\n  {}", error.hint()));
}

/// Turns flags and environment into what the engine is told: flags win.
fn options(common: &Common, environment: &Environment) -> Result<engine::Options> {
    if let Some(name) = environment.empty.first() {
        return Err(Error::invalid(name, "is set to nothing", "give it a value, or unset it"));
    }
    for name in &environment.unknown {
        let nearest = VARIABLES
            .iter()
            .max_by(|a, b| strsim::jaro_winkler(a, name).total_cmp(&strsim::jaro_winkler(b, name)))
            .map_or("", |known| known);
        note(&format!("the variable {name} is not known; did you mean {nearest}?"));
    }
    let user_home = || {
        environment.user_home.clone().ok_or_else(|| {
            Error::invalid("home", "there is no HOME to put it in", "name the folders with --home and --vault")
        })
    };
    // `~` comes unexpanded from the settings of MCP clients.
    let expanded = |path: PathBuf| files::with_home(&path, environment.user_home.as_deref());
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    let named = common.home.clone().or_else(|| environment.home.clone()).map(expanded).map(absolute);
    let (home, default_vault) = match named {
        Some(home) => {
            let mut vault = home.clone().into_os_string();
            vault.push("-vault");
            (home, PathBuf::from(vault))
        }
        None => (user_home()?.join(".ebbmark"), user_home()?.join("Ebbmark")),
    };
    let clock = match environment.now.as_deref() {
        None => Clock::System,
        Some(text) => Clock::Fixed(text.parse::<Timestamp>().map_err(|_| {
            Error::invalid("EBBMARK_NOW", format!("`{text}` is not an instant"), "write one like 2026-11-29T23:35:00Z")
        })?),
    };
    let randomness = match environment.seed.as_deref() {
        None => Randomness::Os,
        Some(text) => Randomness::Seeded(text.trim().parse().map_err(|_| {
            Error::invalid("EBBMARK_SEED", format!("`{text}` is not a whole number"), "write one like 42")
        })?),
    };
    Ok(engine::Options {
        home,
        vault: common.vault.clone().or_else(|| environment.vault.clone()).map(expanded).map(absolute),
        default_vault,
        user_home: environment.user_home.clone(),
        machine: content_hash(environment.machine.trim().as_bytes()),
        replica: environment.replica.clone(),
        clock,
        randomness,
        time_zone: if environment.now.is_some() { TimeZone::UTC } else { TimeZone::system() },
    })
}
