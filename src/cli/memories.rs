//! Commands on single memories: twins of the MCP tools.
#![allow(clippy::doc_markdown, reason = "what clap shows on the terminal is no Markdown")]

use std::io::Read;
use std::process::{Command as Process, ExitCode};

use clap::Args;
use serde_json::Value;

use super::Door;
use crate::engine::{
    ForgetRequest, NewMemory, OpenRequest, Outcome, PromoteRequest, RecallRequest, ReinforceRequest, RememberRequest,
    RestoreRequest, ReviseRequest, SourceInput, say,
};
use crate::error::{Error, Result};
use crate::files;

/// Exit code of a command that could not do what was asked.
const USER_ERROR: u8 = 2;

pub(super) fn code(is_fine: bool) -> ExitCode {
    if is_fine { ExitCode::SUCCESS } else { ExitCode::from(USER_ERROR) }
}

#[derive(Debug, Args)]
pub(super) struct Remember {
    /// The text; `-` reads it from stdin
    #[arg(required = true)]
    text: Vec<String>,
    /// With `-`: one JSON object or text a line, any number of lines; a line that is wrong costs only itself
    #[arg(long)]
    jsonl: bool,
    /// preference, fact, decision, correction, skill, feedback, context, event, interest, question, one_time, note
    #[arg(long)]
    kind: Option<String>,
    /// A short title
    #[arg(long)]
    title: Option<String>,
    /// A tag
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Who or what it is about
    #[arg(long = "entity", value_name = "NAME")]
    entities: Vec<String>,
    /// Another word someone might ask with
    #[arg(long = "keyword", value_name = "WORD")]
    keywords: Vec<String>,
    /// A project; global if absent
    #[arg(long)]
    scope: Option<String>,
    /// When the event took place
    #[arg(long, value_name = "TIME")]
    happened: Option<String>,
    /// Until when it holds
    #[arg(long, value_name = "TIME")]
    valid_until: Option<String>,
    /// 0 to 2
    #[arg(long)]
    strength: Option<f64>,
    /// 1 to 10
    #[arg(long)]
    importance: Option<f64>,
    /// meta_knowledge, semi_abstract or concrete_trace
    #[arg(long)]
    level: Option<String>,
    /// Never fades
    #[arg(long)]
    pin: bool,
    /// A memory that this one replaces
    #[arg(long = "supersedes", value_name = "ID")]
    supersedes: Vec<String>,
    /// user, agent, tool, web, import or note
    #[arg(long)]
    who: Option<String>,
    /// Who said it
    #[arg(long)]
    speaker: Option<String>,
    /// The conversation it belongs to
    #[arg(long)]
    session: Option<String>,
    /// Repeating a command with the same key saves nothing twice
    #[arg(long, value_name = "KEY")]
    op_key: Option<String>,
    /// Only say what would happen
    #[arg(long)]
    dry_run: bool,
}

impl Remember {
    pub(super) fn run(self, door: &Door<'_>) -> Result<ExitCode> {
        if self.jsonl {
            if self.text != ["-"] {
                return Err(Error::invalid("--jsonl", "reads stdin", "write `ebbmark remember --jsonl -`"));
            }
            return super::lines::remember(door, &read_stdin()?, self.op_key.as_deref(), self.dry_run);
        }
        let memories = self.memories()?;
        let request = RememberRequest { memories, op_key: self.op_key, dry_run: Some(self.dry_run) };
        let answer = door.engine.remember(&request)?;
        let is_fine = answer.results.iter().all(|result| result.outcome != Outcome::Rejected);
        door.say(&answer, say::remember)?;
        Ok(code(is_fine))
    }

    fn memories(&self) -> Result<Vec<Value>> {
        let text = if self.text == ["-"] { read_text()? } else { self.text.join(" ") };
        let source = SourceInput {
            who: Some(self.who.clone().unwrap_or_else(|| "user".into())),
            speaker: self.speaker.clone(),
            client: Some("ebbmark".into()),
            session: self.session.clone(),
            ..SourceInput::default()
        };
        let memory = NewMemory {
            text,
            kind: self.kind.clone(),
            title: self.title.clone(),
            tags: self.tags.clone(),
            entities: self.entities.clone(),
            keywords: self.keywords.clone(),
            scope: self.scope.clone(),
            happened: self.happened.clone(),
            valid_until: self.valid_until.clone(),
            strength: self.strength,
            importance: self.importance,
            level: self.level.clone(),
            pinned: self.pin.then_some(true),
            supersedes: self.supersedes.clone(),
            source: Some(source),
        };
        Ok(RememberRequest::of(&[memory]).memories)
    }
}

/// Remembers something and promotes it at once.
pub(super) fn new_note(title: &str, text: &[String], door: &Door<'_>) -> Result<ExitCode> {
    let source = SourceInput { who: Some("user".into()), client: Some("ebbmark".into()), ..SourceInput::default() };
    let memory = NewMemory {
        text: if text == ["-"] { read_text()? } else { text.join(" ") },
        title: Some(title.to_owned()),
        source: Some(source),
        ..NewMemory::default()
    };
    let answer = door.engine.remember(&RememberRequest::of(&[memory]))?;
    let ids: Vec<String> = answer.results.iter().filter_map(|result| result.id.clone()).collect();
    if ids.is_empty() {
        door.say(&answer, say::remember)?;
        return Ok(code(false));
    }
    let answer = door.engine.promote(&PromoteRequest { ids, ..PromoteRequest::default() })?;
    door.say(&answer, say::promote)?;
    Ok(code(answer.skipped.is_empty()))
}

fn read_stdin() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).map_err(Error::io("read", std::path::Path::new("stdin")))?;
    Ok(bytes)
}

fn read_text() -> Result<String> {
    String::from_utf8(read_stdin()?).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        Error::invalid("stdin", format!("is not UTF-8 from byte {place} on"), "convert it to UTF-8; nothing was saved")
    })
}

#[derive(Debug, Args)]
pub(super) struct Recall {
    /// What to look for, in plain words; without it: everything that passes the filters, strongest first
    query: Vec<String>,
    /// Hits, 1 to 50; what is less or more is taken as the nearest of these
    #[arg(long, value_parser = super::count, allow_negative_numbers = true)]
    limit: Option<u32>,
    /// A project to search besides global
    #[arg(long = "scope", value_name = "PROJECT")]
    scope: Vec<String>,
    /// Only this kind
    #[arg(long = "kind", value_name = "KIND")]
    kinds: Vec<String>,
    /// A tag
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only about this
    #[arg(long = "entity", value_name = "NAME")]
    entities: Vec<String>,
    /// any, short_term or long_term
    #[arg(long)]
    tier: Option<String>,
    /// Not dated before this
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Not dated after this
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// What was believed at that time
    #[arg(long, value_name = "TIME")]
    as_of: Option<String>,
    /// faded, superseded or all_scopes
    #[arg(long = "include", value_name = "WHAT")]
    include: Vec<String>,
    /// What the hits may cost, about: further ones are given by their first line, then left out
    #[arg(long, value_name = "TOKENS")]
    budget_tokens: Option<u32>,
    /// Go on after the last reply, with its cursor
    #[arg(long)]
    cursor: Option<String>,
    /// full or line
    #[arg(long)]
    detail: Option<String>,
    /// Say why each hit ranks where it does
    #[arg(long)]
    explain: bool,
    /// Do not count the hits as used
    #[arg(long)]
    no_reinforce: bool,
}

#[derive(Debug, Args)]
pub(super) struct Why {
    /// What was looked for, in plain words
    query: String,
    /// The memory: its id, or a unique start of it
    id: String,
    /// Hits, 1 to 50
    #[arg(long, value_parser = super::count, allow_negative_numbers = true)]
    limit: Option<u32>,
    /// A project to search besides global
    #[arg(long = "scope", value_name = "PROJECT")]
    scope: Vec<String>,
    /// faded, superseded or all_scopes
    #[arg(long = "include", value_name = "WHAT")]
    include: Vec<String>,
}

impl Why {
    pub(super) fn run(self, door: &Door<'_>) -> Result<ExitCode> {
        door.read_back();
        let Why { query, id, limit, scope, include } = self;
        let request = RecallRequest { limit, scope, include, ..RecallRequest::of(&query) };
        door.say(&door.engine.why_hit(&request, &id)?, say::why)
    }
}

impl Recall {
    pub(super) fn run(self, door: &Door<'_>) -> Result<ExitCode> {
        door.read_back();
        let request = RecallRequest {
            query: vec![self.query.join(" ")],
            limit: self.limit,
            scope: self.scope,
            kinds: self.kinds,
            tags: self.tags,
            entities: self.entities,
            tier: self.tier,
            since: self.since,
            until: self.until,
            as_of: self.as_of,
            include: self.include,
            budget_tokens: self.budget_tokens,
            cursor: self.cursor,
            detail: self.detail,
            explain: Some(self.explain),
            reinforce: Some(!self.no_reinforce),
        };
        door.say(&door.engine.recall(&request)?, say::recall)
    }
}

#[derive(Debug, Args)]
pub(super) struct Open {
    /// Ids, or unique prefixes of 4 characters or more
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Also what happened to it
    #[arg(long)]
    history: bool,
}

impl Open {
    pub(super) fn run(self, door: &Door<'_>) -> Result<ExitCode> {
        door.read_back();
        let request = OpenRequest { ids: self.ids, history: Some(self.history), relations: None };
        let answer = door.engine.open_memories(&request)?;
        door.say(&answer, say::open)?;
        Ok(code(answer.not_found.is_empty()))
    }
}

#[derive(Debug, Args)]
pub(super) struct Revise {
    /// Id, or a unique prefix of 4 characters or more
    id: String,
    /// The new text
    #[arg(long)]
    text: Option<String>,
    /// A short title
    #[arg(long)]
    title: Option<String>,
    /// The new kind
    #[arg(long)]
    kind: Option<String>,
    /// All tags from now on; an empty one removes them
    #[arg(long = "tag", value_name = "TAG")]
    tags: Option<Vec<String>>,
    /// All it is about from now on; an empty one removes them
    #[arg(long = "entity", value_name = "NAME")]
    entities: Option<Vec<String>>,
    /// All keywords from now on; an empty one removes them
    #[arg(long = "keyword", value_name = "WORD")]
    keywords: Option<Vec<String>>,
    /// A project, or global
    #[arg(long)]
    scope: Option<String>,
    /// When the event took place
    #[arg(long, value_name = "TIME")]
    happened: Option<String>,
    /// Until when it holds
    #[arg(long, value_name = "TIME")]
    valid_until: Option<String>,
    /// 0 to 2
    #[arg(long)]
    strength: Option<f64>,
    /// meta_knowledge, semi_abstract or concrete_trace
    #[arg(long)]
    level: Option<String>,
    /// true: never fades
    #[arg(long)]
    pinned: Option<bool>,
    /// true: a person vouches for it
    #[arg(long)]
    trusted: Option<bool>,
}

impl Revise {
    pub(super) fn run(self, door: &Door<'_>) -> Result<ExitCode> {
        let request = ReviseRequest {
            id: self.id,
            text: self.text,
            title: self.title,
            kind: self.kind,
            tags: self.tags,
            entities: self.entities,
            keywords: self.keywords,
            scope: self.scope,
            happened: self.happened,
            valid_until: self.valid_until,
            strength: self.strength,
            level: self.level,
            pinned: self.pinned,
            trusted: self.trusted,
        };
        door.say(&door.engine.revise(&request)?, say::revise)
    }
}

#[derive(Debug, Args)]
pub(super) struct Edit {
    /// Id, or a unique prefix of 4 characters or more
    id: String,
}

impl Edit {
    /// A note is edited where it lies; a short-term memory in a private file that is removed again.
    pub(super) fn run(self, door: &Door<'_>, editor: Option<&str>) -> Result<ExitCode> {
        door.read_back();
        let editor = editor
            .ok_or_else(|| Error::invalid("EDITOR", "is not set", "set EDITOR, or use `ebbmark revise ID --text …`"))?;
        let request = OpenRequest { ids: vec![self.id.clone()], ..OpenRequest::default() };
        let opened = door.engine.open_memories(&request)?.memories;
        let Some(opened) = opened.into_iter().next() else { return Err(Error::no_memory(&self.id)) };
        if let Some(note) = &opened.memory.note {
            run_editor(editor, &door.engine.vault_root().join(note))?;
            door.read_back();
            return door.say(&door.engine.open_memories(&request)?, say::open);
        }
        let folder = door.engine.cache();
        files::create_folder(&folder)?;
        let path = folder.join(format!("edit-{}.md", opened.memory.id));
        files::write_atomic(&path, opened.memory.text.as_bytes())?;
        run_editor(editor, &path)?;
        let text = String::from_utf8(files::read(&path)?)
            .map_err(|_| Error::invalid("text", "is not UTF-8", format!("your text is kept in {}", path.display())))?;
        let request = ReviseRequest { id: opened.memory.id, text: Some(text), ..ReviseRequest::default() };
        let answer = door
            .engine
            .revise(&request)
            .inspect_err(|_| super::note(&format!("your text is kept in {}", path.display())))?;
        files::remove(&path)?;
        door.say(&answer, say::revise)
    }
}

/// Runs the person's editor, with its own arguments, on a file.
fn run_editor(editor: &str, path: &std::path::Path) -> Result<()> {
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or_default();
    let status = Process::new(program).args(words).arg(path).status().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::invalid(
            "editor",
            format!("there is no program `{program}`"),
            "set VISUAL or EDITOR to one that is there, or use `ebbmark revise ID --text …`",
        ),
        _ => Error::io("run", std::path::Path::new(program))(error),
    })?;
    if status.success() {
        return Ok(());
    }
    Err(Error::invalid("editor", format!("ended with {status}"), "the memory is unchanged"))
}

#[derive(Debug, Args)]
pub(super) struct Reinforce {
    /// Ids, or unique prefixes of 4 characters or more
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Project or tag of the work it helped with
    #[arg(long = "context", value_name = "WORD")]
    context: Vec<String>,
    /// Also raise its strength by 0.1
    #[arg(long)]
    boost: bool,
    /// touched, mentioned or reviewed
    #[arg(long)]
    kind: Option<String>,
}

impl Reinforce {
    pub(super) fn run(self, door: &Door<'_>) -> Result<ExitCode> {
        let request =
            ReinforceRequest { ids: self.ids, context: self.context, boost: Some(self.boost), kind: self.kind };
        let answer = door.engine.reinforce(&request)?;
        door.say(&answer, say::reinforce)?;
        Ok(code(answer.not_found.is_empty()))
    }
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("shown_first").multiple(true)))]
pub(super) struct Forget {
    /// Ids, or unique prefixes of 4 characters or more
    #[arg(required_unless_present = "matching", value_name = "ID")]
    ids: Vec<String>,
    /// Instead of ids: what it is about; without --yes only shows what would go
    #[arg(long, value_name = "TEXT", conflicts_with = "ids", group = "shown_first")]
    matching: Option<String>,
    /// Erase the text for good, from everything that Ebbmark made; without --yes only shows what would go
    #[arg(long, group = "shown_first")]
    purge: bool,
    /// With --purge or --matching: do it
    #[arg(long, requires = "shown_first")]
    yes: bool,
    /// With --purge or --matching: do it, if all is as it was when this token was shown
    #[arg(long, value_name = "TOKEN", requires = "shown_first")]
    token: Option<String>,
}

impl Forget {
    pub(super) fn run(self, door: &Door<'_>) -> Result<ExitCode> {
        let Forget { ids, matching, purge, yes, token } = self;
        let mut request = ForgetRequest { ids, matching, purge: purge.then_some(true), preview_token: token };
        let mut answer = door.engine.forget(&request)?;
        if yes && answer.preview_token.is_some() {
            request.preview_token = answer.preview_token;
            answer = door.engine.forget(&request)?;
        }
        let is_fine = answer.not_found.is_empty();
        door.say(&answer, |answer| say::forget_by_command(answer, purge))?;
        Ok(code(is_fine))
    }
}

#[derive(Debug, Args)]
pub(super) struct Ids {
    /// Ids, or unique prefixes of 4 characters or more
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

impl Ids {
    pub(super) fn restore(self, door: &Door<'_>) -> Result<ExitCode> {
        let answer = door.engine.restore(&RestoreRequest { ids: self.ids })?;
        door.say(&answer, say::restore)?;
        Ok(code(answer.not_found.is_empty() && answer.purged.is_empty()))
    }
}

#[derive(Debug, Args)]
pub(super) struct Promote {
    /// Promote these, whatever their age; without ids: everything that has proved itself
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Only say what would be promoted
    #[arg(long)]
    dry_run: bool,
    /// Also untrusted ones
    #[arg(long)]
    force: bool,
    /// Also pin them
    #[arg(long)]
    pin: bool,
}

impl Promote {
    pub(super) fn run(self, door: &Door<'_>) -> Result<ExitCode> {
        let is_asked = !self.ids.is_empty();
        let request =
            PromoteRequest { ids: self.ids, dry_run: Some(self.dry_run), force: Some(self.force), pin: Some(self.pin) };
        let answer = door.engine.promote(&request)?;
        door.say(&answer, say::promote)?;
        Ok(code(!is_asked || answer.skipped.is_empty()))
    }
}
