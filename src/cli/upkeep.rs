//! Commands that look at memory as a whole, and that keep it in order.

use std::process::ExitCode;

use clap::Args;

use super::Door;
use crate::engine::{DoctorRequest, InspectRequest, Level, TidyRequest, View, say};
use crate::error::Result;

#[derive(Debug, Args)]
pub(super) struct Inspect {
    /// health, stats, overview, faded, due, entities or graph
    #[arg(default_value = "stats")]
    view: String,
    /// Entries of a list, 1 to 1000; what is less or more is taken as the nearest of these
    #[arg(long, value_parser = super::count, allow_negative_numbers = true)]
    limit: Option<u32>,
}

impl Inspect {
    pub(super) fn run(self, door: &Door<'_>) -> Result<ExitCode> {
        inspect(door, &InspectRequest { limit: self.limit, ..InspectRequest::of(self.view.parse()?) })
    }
}

#[derive(Debug, Args)]
pub(super) struct Faded {
    /// Only what faded in the last days: 7 for a week
    #[arg(long, value_parser = super::count, allow_negative_numbers = true)]
    days: Option<u32>,
    /// Entries of the list, 1 to 1000; what is less or more is taken as the nearest of these
    #[arg(long, value_parser = super::count, allow_negative_numbers = true)]
    limit: Option<u32>,
}

impl Faded {
    pub(super) fn run(self, door: &Door<'_>) -> Result<ExitCode> {
        inspect(door, &InspectRequest { limit: self.limit, days: self.days, ..InspectRequest::of(View::Faded) })
    }
}

pub(super) fn stats(door: &Door<'_>) -> Result<ExitCode> {
    inspect(door, &InspectRequest::default())
}

fn inspect(door: &Door<'_>, request: &InspectRequest) -> Result<ExitCode> {
    let answer = door.engine.inspect(request)?;
    let worst = answer.health.as_ref().and_then(|health| health.findings.iter().map(|found| found.level).max());
    door.say(&answer, say::inspect)?;
    Ok(health_code(worst))
}

pub(super) fn tune(door: &Door<'_>) -> Result<ExitCode> {
    door.say(&door.engine.tune()?, say::tune)
}

#[derive(Debug, Args)]
pub(super) struct DryRun {
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Args)]
pub(super) struct Tidy {
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Notes that are missing from the vault were deleted, however many they are
    #[arg(long, conflicts_with = "dry_run")]
    accept_missing: bool,
}

impl Tidy {
    pub(super) fn run(self, door: &Door<'_>) -> Result<ExitCode> {
        let request = TidyRequest { dry_run: Some(self.dry_run), accept_missing: self.accept_missing };
        door.say(&door.engine.tidy(&request)?, say::tidy)
    }
}

impl DryRun {
    pub(super) fn compact(self, door: &Door<'_>) -> Result<ExitCode> {
        door.say(&door.engine.compact(self.dry_run)?, say::compact)
    }
}

#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// Read everything again and compare: journals, notes, index, the last commit
    #[arg(long)]
    deep: bool,
    /// Mend what can be mended without losing anything
    #[arg(long)]
    fix: bool,
}

impl Doctor {
    pub(super) fn run(self, door: &Door<'_>) -> Result<ExitCode> {
        let request = DoctorRequest { deep: Some(self.deep), fix: Some(self.fix) };
        let answer = door.engine.doctor(&request)?;
        door.say(&answer, say::doctor)?;
        Ok(health_code(answer.worst()))
    }
}

/// The exit code for the worst that was found.
fn health_code(worst: Option<Level>) -> ExitCode {
    ExitCode::from(match worst {
        None | Some(Level::Note) => 0,
        Some(Level::Warning) => 4,
        Some(Level::Error) => 5,
    })
}
