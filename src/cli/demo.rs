//! `ebbmark demo`: six weeks of memory in a moment, with a clock of its own, in a folder of its own.

use std::path::{Path, PathBuf};

use clap::Args;
use jiff::tz::TimeZone;

use super::{NoJson, out};
use crate::clock::{Clock, Timestamp};
use crate::engine::{
    self, Engine, InspectRequest, NewMemory, RecallRequest, RememberRequest, RestoreRequest, TidyRequest, View, say,
};
use crate::error::{Error, Result};
use crate::files;
use crate::git::Git;
use crate::id::Randomness;

#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Play in this folder, and leave it there
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    pub(super) no_json: NoJson,
}

impl Demo {
    pub(super) fn run(self) -> Result<()> {
        let (folder, is_kept) = match self.keep {
            Some(folder) => (folder, true),
            None => (std::env::temp_dir().join(format!("ebbmark-demo-{}", std::process::id())), false),
        };
        if folder.join("home").exists() {
            return Err(Error::invalid(
                format!("folder {}", folder.display()),
                "holds a demo already",
                "name another one with --keep",
            ));
        }
        let played = Story { folder: folder.clone() }.play();
        if is_kept {
            out(&format!("\nLeft in {}: home and vault.\n", folder.display()))?;
        } else {
            files::remove_folder(&folder)?;
        }
        played
    }
}

struct Story {
    folder: PathBuf,
}

impl Story {
    /// The engine as it is at some time. Every command of a real day is a new process too.
    fn at(&self, time: &str) -> Result<Engine> {
        let now = Timestamp::parse_lenient(time).ok_or_else(|| Error::Internal(format!("the story's time {time}")))?;
        Engine::open(engine::Options {
            home: self.folder.join("home"),
            vault: Some(self.folder.join("vault")),
            default_vault: self.folder.join("vault"),
            user_home: None,
            machine: "demo".into(),
            replica: Some("demo0000".into()),
            clock: Clock::Fixed(now),
            randomness: Randomness::Seeded(7),
            time_zone: TimeZone::UTC,
        })
    }

    fn play(&self) -> Result<()> {
        self.first_day()?;
        self.weeks_of_use()?;
        self.promotion()?;
        self.human_edit()?;
        self.fading()?;
        self.the_end()
    }

    fn first_day(&self) -> Result<()> {
        title("Monday, 2 March. Three things are said.")?;
        let engine = self.at("2026-03-02T13:00:00Z")?;
        let memory = |text: &str, entities: &[&str]| NewMemory {
            text: text.into(),
            entities: entities.iter().map(|entity| (*entity).to_owned()).collect(),
            ..NewMemory::default()
        };
        let request = RememberRequest::of(&[
            memory("Prefers TypeScript over JavaScript for new projects.", &["TypeScript"]),
            memory("Working on the flaky login test of the Falcon project this week.", &["Falcon"]),
            memory("Remember to book the train to Berlin for Friday.", &[]),
        ]);
        out(&say::remember(&engine.remember(&request)?))?;
        out("\nThe journal is a file that you can read:\n")?;
        out(&self.journal_tail(2)?)?;
        Ok(())
    }

    fn weeks_of_use(&self) -> Result<()> {
        title("The same afternoon. The login test is all that anybody asks about.")?;
        for time in ["2026-03-02T14:05:00Z", "2026-03-02T14:40:00Z", "2026-03-02T15:10:00Z", "2026-03-02T16:20:00Z"] {
            self.ask(time, "flaky login test in Falcon")?;
        }
        out("asked four times: three counted uses, as one hour counts once\n")?;
        out(&say::tidy(&self.at("2026-03-04T09:00:00Z")?.tidy(&TidyRequest::default())?))?;
        out("One busy afternoon promotes nothing.\n")?;
        title("Three weeks. The preference helps on three different days.")?;
        for time in ["2026-03-09T10:00:00Z", "2026-03-14T16:30:00Z", "2026-03-20T09:15:00Z"] {
            let engine = self.ask(time, "TypeScript or JavaScript for a new project?")?;
            out(&format!("{} recalled: ", time.get(..10).unwrap_or(time)))?;
            out(&say::recall(&engine.recall(&quiet("TypeScript or JavaScript for a new project?"))?))?;
        }
        Ok(())
    }

    /// Recalls, and lets the uses be written as a serving process would.
    fn ask(&self, time: &str, query: &str) -> Result<Engine> {
        let engine = self.at(time)?;
        engine.recall(&RecallRequest::of(query))?;
        engine.flush_uses()?;
        Ok(engine)
    }

    fn promotion(&self) -> Result<()> {
        title("Saturday, 21 March. Tidy marks down what has proved itself.")?;
        let engine = self.at("2026-03-21T09:00:00Z")?;
        let tidied = engine.tidy(&TidyRequest::default())?;
        out(&say::tidy(&tidied))?;
        for promoted in &tidied.promoted {
            out(&format!("\n{}\n", promoted.note))?;
            out(&indented(&read(&self.vault().join(&promoted.note))?))?;
        }
        out("\nA second tidy has nothing to do:\n")?;
        out(&say::tidy(&engine.tidy(&TidyRequest::default())?))?;
        Ok(())
    }

    fn human_edit(&self) -> Result<()> {
        title("Monday, 23 March. A person corrects the note in Obsidian.")?;
        let note = self.vault().join("Memories/Prefers TypeScript over JavaScript for new projects.md");
        let edited = read(&note)?.replace("for new projects.", "for new projects, except for tiny scripts.");
        files::write_atomic(&note, edited.as_bytes())?;
        let engine = self.at("2026-03-23T18:00:00Z")?;
        out(&say::tidy(&engine.tidy(&TidyRequest::default())?))?;
        out(&say::recall(&engine.recall(&quiet("what about tiny scripts?"))?))?;
        Ok(())
    }

    fn fading(&self) -> Result<()> {
        title("Monday, 13 April. Six weeks on, what nobody needed has ebbed away.")?;
        let engine = self.at("2026-04-13T09:00:00Z")?;
        let faded = engine.inspect(&InspectRequest::of(View::Faded))?;
        out(&say::inspect(&faded))?;
        out("\nFaded is not lost. It comes back:\n")?;
        let ids: Vec<String> =
            faded.faded.iter().flat_map(|faded| &faded.faded).map(|memory| memory.id.clone()).collect();
        if !ids.is_empty() {
            out(&say::restore(&engine.restore(&RestoreRequest { ids })?))?;
        }
        out(&say::recall(&engine.recall(&quiet("train to Berlin"))?))?;
        Ok(())
    }

    fn the_end(&self) -> Result<()> {
        title("The vault's history, newest first.")?;
        let git = Git::open(&self.vault()).map_err(|no_git| Error::Internal(no_git.to_string()))?;
        for entry in git.log(10, None)? {
            out(&format!("{}  {}\n", entry.at.to_string().get(..10).unwrap_or_default(), entry.subject))?;
        }
        title("And the journal's last lines.")?;
        out(&self.journal_tail(3)?)?;
        Ok(())
    }

    fn vault(&self) -> PathBuf {
        self.folder.join("vault")
    }

    fn journal_tail(&self, count: usize) -> Result<String> {
        let text = read(&self.folder.join("home/short-term/demo0000.jsonl"))?;
        let lines: Vec<&str> = text.lines().collect();
        let skipped = lines.len().saturating_sub(count);
        Ok(indented(&lines.iter().skip(skipped).copied().collect::<Vec<_>>().join("\n")))
    }
}

/// A recall that does not count as use.
fn quiet(query: &str) -> RecallRequest {
    RecallRequest { limit: Some(1), reinforce: Some(false), ..RecallRequest::of(query) }
}

fn read(path: &Path) -> Result<String> {
    Ok(String::from_utf8_lossy(&files::read(path)?).into_owned())
}

fn title(text: &str) -> Result<()> {
    out(&format!("\n{text}\n{}\n", "-".repeat(text.chars().count())))
}

fn indented(text: &str) -> String {
    text.lines().flat_map(|line| ["  ", line, "\n"]).collect()
}
