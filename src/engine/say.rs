//! Answers as text, for people and agents: short lines, ids first. Both doors say the same.

use jiff::tz::TimeZone;

use super::remember::Outcome;
use super::{
    Area, Candidate, CompactAnswer, DoctorAnswer, Done, ForgetAnswer, Hit, InitAnswer, InspectAnswer, Level,
    MovedVault, NoteList, OpenAnswer, OverviewKind, PromoteAnswer, Promoted, ReadNote, RecallAnswer, ReinforceAnswer,
    RememberAnswer, RestoreAnswer, ReviseAnswer, Stats, TidyAnswer, Where, Why, WhyAnswer,
};
use crate::clock::Timestamp;
use crate::config::Durability;

/// Longest first line shown in lists, characters.
const SHORT: usize = 80;

/// The first line of a text, cut at 80 characters.
pub fn short(text: &str) -> String {
    cut(text.lines().next().unwrap_or_default().trim(), SHORT)
}

/// As [`short`], marked with `…` also where further lines follow.
pub fn first_line(text: &str) -> String {
    let line = short(text.trim_start());
    let is_more = text.trim().lines().nth(1).is_some() && !line.ends_with('…');
    if is_more { format!("{line} …") } else { line }
}

/// At most `limit` characters, cut between characters and marked with `…`.
pub fn cut(text: &str, limit: usize) -> String {
    if text.char_indices().nth(limit).is_none() {
        return text.to_owned();
    }
    let end = text.char_indices().nth(limit.saturating_sub(1)).map_or(0, |(at, _)| at);
    format!("{}…", text.get(..end).unwrap_or_default().trim_end())
}

/// Further lines of a memory stand away from the margin, where they cannot pass for lines of ours.
fn hanging(text: &str) -> String {
    text.replace('\n', "\n    ")
}

fn day(at: Timestamp) -> String {
    at.date(&TimeZone::UTC)
}

fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Appends one line.
macro_rules! line {
    ($text:expr, $($arguments:tt)*) => {{
        $text.push_str(&format!($($arguments)*));
        $text.push('\n');
    }};
}

mod decisions;
mod dynamics;
mod graph;

pub use decisions::{consolidate, relate, review, undo};
pub use dynamics::tune;

fn not_found(text: &mut String, ids: &[String]) {
    if !ids.is_empty() {
        line!(text, "not found: {}", ids.join(", "));
    }
}

fn notice(text: &mut String, notice: Option<&String>) {
    if let Some(notice) = notice {
        line!(text, "note: {notice}");
    }
}

/// One line a memory: what became of it, its id, why.
pub fn remember(answer: &RememberAnswer) -> String {
    let mut text = String::new();
    for result in &answer.results {
        let is_tried = result.id.is_none() && result.outcome != Outcome::Rejected;
        let what = match result.outcome {
            _ if is_tried => "would be saved",
            Outcome::Saved => "saved",
            Outcome::Reinforced => "known already",
            Outcome::Superseded => "saved in place of an older one",
            Outcome::Conflict => "saved, in conflict",
            Outcome::Rejected => "rejected",
        };
        if let Some(id) = &result.id {
            line!(text, "{what}: {id} ({})", result.why);
        } else {
            let error = result.error.as_deref().map_or(String::new(), |error| format!("; {error}"));
            line!(text, "{what}: {}{error}", result.why);
        }
        if let Some(redacted) = &result.redacted {
            line!(text, "  redacted before saving: {}", redacted.rules.join(", "));
        }
        if !result.superseded.is_empty() {
            line!(text, "  supersedes {}", result.superseded.join(", "));
        }
        if let Some(conflict) = &result.conflict {
            line!(text, "  conflict {conflict}: see `review`");
        }
        for similar in &result.similar {
            line!(text, "  similar: {} {} ({})", similar.id, short(&similar.text), similar.relation);
        }
    }
    text
}

/// The hits, best first, each with id, kind, date and text.
pub fn recall(answer: &RecallAnswer) -> String {
    let mut text = String::new();
    if !answer.found {
        text.push_str(if answer.hits.is_empty() { "Nothing found.\n" } else { "Nothing fits well; the nearest:\n" });
    }
    for hit in &answer.hits {
        hit_lines(&mut text, hit);
    }
    if let Some(cursor) = &answer.cursor {
        line!(text, "more: cursor {cursor}");
    }
    notice(&mut text, answer.notice.as_ref());
    text
}

fn hit_lines(text: &mut String, hit: &Hit) {
    let mut about = vec![hit.kind.clone(), day(hit.happened.unwrap_or(hit.created))];
    if hit.status != "active" {
        about.push(hit.status.clone());
    }
    if hit.trusted == Some(false) {
        about.push("untrusted".into());
    }
    about.extend(hit.scope.iter().map(|scope| format!("in {scope}")));
    about.extend(hit.note.iter().map(|note| format!("note {note}")));
    line!(text, "{} [{}] {}", hit.id, about.join(", "), hanging(&hit.text));
    for previous in &hit.previously {
        line!(text, "  until {}: {} ({})", day(previous.until), hanging(&previous.text), previous.id);
    }
    if let Some(newer) = &hit.superseded_by {
        line!(text, "  no longer true: {newer} took its place");
    }
    if !hit.conflicts.is_empty() {
        line!(text, "  in conflict: {}; `review` shows with what", hit.conflicts.join(", "));
    }
    if let Some(why) = &hit.why {
        why_line(text, why);
    }
}

/// Every part of a fit, in one line.
fn why_line(text: &mut String, why: &Why) {
    let words: Vec<String> = why.words.iter().map(|(word, share)| format!("{word} {share}")).collect();
    let mut parts = Vec::new();
    if !words.is_empty() {
        parts.push(format!("words {}: {}", why.lexical, words.join(" ")));
    }
    let named = [
        ("meaning", why.meaning),
        ("speaker", why.speaker),
        ("phrase", why.phrase),
        ("graph", why.graph),
        ("date", why.date),
        ("form", why.form),
    ];
    parts.extend(named.iter().filter(|(_, part)| *part != 0.0).map(|(name, part)| format!("{name} {part}")));
    line!(
        text,
        "  why: fit {} ({}) × standing {} (strength {}, idle {} days)",
        why.fit,
        parts.join(", "),
        why.standing,
        why.strength,
        why.idle_days
    );
}

/// Why a memory is where it is among the hits, or is none.
pub fn why(answer: &WhyAnswer) -> String {
    let mut text = format!("{} {}\n", answer.id, hanging(&answer.text));
    for reason in &answer.reasons {
        line!(text, "  {reason}");
    }
    why_line(&mut text, &answer.why);
    if let Some(last) = answer.last_score.filter(|_| !answer.is_returned) {
        line!(text, "  the last hit that is returned has {last}");
    }
    text
}

/// Everything about the opened memories.
pub fn open(answer: &OpenAnswer) -> String {
    let mut text = String::new();
    for opened in &answer.memories {
        hit_lines(&mut text, &opened.memory);
        let fades = match opened.fades_at {
            Some(at) => format!("fades {}", day(at)),
            None => "does not fade".into(),
        };
        line!(
            text,
            "  strength {}, used {} on {}, score {}, half-life {} days, {fades}{}{}",
            opened.strength,
            plural(opened.uses as usize, "time", "times"),
            plural(opened.days_used as usize, "day", "days"),
            opened.memory.score,
            opened.half_life_days,
            if opened.pinned { ", pinned" } else { "" },
            opened.told_as.as_ref().map_or(String::new(), |kind| format!(", told as a {kind}"))
        );
        if let Some(address) = &opened.obsidian {
            line!(text, "  {address}");
        }
        if let Some(promotion) = &opened.promotion {
            let may = if promotion.eligible { "may be promoted" } else { "not yet promoted" };
            line!(text, "  {may}: {}", promotion.why);
        }
        for (what, words) in
            [("tags", &opened.memory.tags), ("entities", &opened.memory.entities), ("keywords", &opened.keywords)]
        {
            if !words.is_empty() {
                line!(text, "  {what}: {}", words.join(", "));
            }
        }
        for relation in &opened.relations {
            let arrow = if relation.direction == "out" { "→" } else { "←" };
            line!(
                text,
                "  {arrow} {} {} {}",
                relation.relation,
                relation.id,
                relation.text.as_deref().unwrap_or_default()
            );
        }
        for entry in &opened.history {
            let said = entry.text.as_deref().map_or(String::new(), |text| format!(": {}", short(text)));
            line!(text, "  {} {}{said}", entry.at, entry.what);
        }
    }
    if !answer.forgotten.is_empty() {
        line!(text, "forgotten: {}", answer.forgotten.join(", "));
    }
    if !answer.purged.is_empty() {
        line!(text, "purged, gone for good: {}", answer.purged.join(", "));
    }
    let is_unknown = |id: &&String| !answer.forgotten.contains(id) && !answer.purged.contains(id);
    let unknown: Vec<String> = answer.not_found.iter().filter(is_unknown).cloned().collect();
    not_found(&mut text, &unknown);
    text
}

/// What changed.
pub fn revise(answer: &ReviseAnswer) -> String {
    let mut text = String::new();
    if answer.changed.is_empty() {
        line!(text, "{}: nothing changed", answer.id);
    } else {
        line!(text, "{}: changed {}", answer.id, answer.changed.join(", "));
    }
    if let Some(path) = &answer.note {
        line!(text, "  note {path}");
    }
    notice(&mut text, answer.why.as_ref());
    text
}

/// Scores before and after.
pub fn reinforce(answer: &ReinforceAnswer) -> String {
    let mut text = String::new();
    for result in &answer.results {
        let counted = if result.counted { "" } else { " (this hour was counted already)" };
        line!(
            text,
            "{}: score {} → {}, {}, strength {}{counted}",
            result.id,
            result.old_score,
            result.new_score,
            plural(result.uses as usize, "use", "uses"),
            result.strength
        );
        if let Some(kind) = &result.became {
            line!(text, "  used so often, it is now: {kind}");
        }
    }
    not_found(&mut text, &answer.not_found);
    text
}

/// What was forgotten, and how to undo it. What a purge would erase; how a client goes on.
pub fn forget(answer: &ForgetAnswer) -> String {
    let how = answer.preview_token.as_ref().map(|token| format!("ask again with preview_token {token}"));
    forget_or(answer, how.as_deref(), "forgotten or purged")
}

/// As [`forget`]; how to go on on a command line.
pub fn forget_by_command(answer: &ForgetAnswer, is_purge: bool) -> String {
    let how = answer.preview_token.as_ref().map(|token| {
        format!(
            "give the same command with --yes, or with --token {token} within ten minutes, which holds for just this"
        )
    });
    forget_or(answer, how.as_deref(), if is_purge { "purged" } else { "forgotten" })
}

fn forget_or(answer: &ForgetAnswer, how_to_go_on: Option<&str>, what: &str) -> String {
    let mut text = String::new();
    for preview in &answer.preview {
        line!(text, "would be {what}: {} {}", preview.id, hanging(&preview.text));
        for earlier in &preview.earlier {
            line!(text, "  and what it said before: {}", hanging(earlier));
        }
        for note in &preview.notes {
            line!(text, "  and its note {note}");
        }
    }
    if let Some(how) = how_to_go_on {
        line!(text, "nothing was done; to do it, {how}");
    }
    let is_purge = !answer.remains.is_empty();
    if !answer.forgotten.is_empty() {
        line!(text, "{}: {}", if is_purge { "purged" } else { "forgotten" }, answer.forgotten.join(", "));
    }
    for left in &answer.remains {
        line!(text, "not reached: {left}");
    }
    if let Some(undo) = &answer.undo {
        line!(text, "undo: {undo}");
    }
    not_found(&mut text, &answer.not_found);
    notice(&mut text, answer.notice.as_ref());
    text
}

/// What is back.
pub fn restore(answer: &RestoreAnswer) -> String {
    let mut text = String::new();
    for restored in &answer.restored {
        line!(text, "restored: {} {} (was {})", restored.id, short(&restored.text), restored.was);
        if let Some(path) = &restored.note {
            line!(text, "  note {path}");
        }
    }
    if !answer.purged.is_empty() {
        line!(text, "purged, gone for good: {}", answer.purged.join(", "));
    }
    if !answer.not_found.is_empty() {
        line!(text, "neither forgotten, faded nor vanished: {}", answer.not_found.join(", "));
    }
    notice(&mut text, answer.notice.as_ref());
    text
}

fn promoted_lines(text: &mut String, promoted: &[Promoted], candidates: &[Candidate]) {
    for promoted in promoted {
        line!(text, "promoted: {} → {} ({})", promoted.id, promoted.note, promoted.why);
    }
    for candidate in candidates {
        line!(text, "would be promoted: {} {} ({})", candidate.id, candidate.text, candidate.why);
    }
}

/// Where the vault went.
pub fn moved_vault(moved: &MovedVault) -> String {
    let mut text = String::new();
    line!(text, "moved: {} → {}", moved.from.display(), moved.to.display());
    line!(
        text,
        "  {} names it; where EBBMARK_VAULT or --vault names the old place, change it there",
        moved.config.display()
    );
    text.push_str("  restart programs that serve this memory, and open the folder in Obsidian anew\n");
    text
}

/// The notes of memories, one a line.
pub fn notes(list: &NoteList) -> String {
    let mut text = String::new();
    for note in &list.notes {
        let id = note.id.as_deref().unwrap_or("no memory   ");
        let kind = note.kind.as_deref().unwrap_or("-");
        line!(text, "{id} {kind:<10} {}", note.path);
        for problem in &note.problems {
            line!(text, "  {problem}");
        }
    }
    if text.is_empty() {
        text.push_str("No notes yet: `ebbmark promote ID` writes one.\n");
    }
    text
}

/// A note as it stands.
pub fn note(note: &ReadNote) -> String {
    note.text.clone()
}

/// What was promoted, and why.
pub fn promote(answer: &PromoteAnswer) -> String {
    let mut text = String::new();
    promoted_lines(&mut text, &answer.promoted, &answer.candidates);
    for skipped in &answer.skipped {
        line!(text, "not promoted: {} ({})", skipped.id, skipped.why);
    }
    if text.is_empty() {
        text.push_str("Nothing has proved itself yet.\n");
    }
    notice(&mut text, answer.notice.as_ref());
    text
}

/// What tidy did.
pub fn tidy(answer: &TidyAnswer) -> String {
    let mut text = String::new();
    for path in &answer.edited {
        line!(text, "read back: {path}");
    }
    for path in &answer.adopted {
        line!(text, "adopted: {path}");
    }
    for path in &answer.vanished {
        line!(text, "deleted in the vault, hidden: {path}");
    }
    for path in &answer.put_away {
        line!(text, "moved out of Memories, hidden: {path}");
    }
    for done in &answer.reviewed {
        line!(text, "review: {done}");
    }
    for id in &answer.forgotten {
        line!(text, "forgotten, its note was deleted long ago: {id} (`ebbmark restore {id}` brings it back)");
    }
    if answer.purged > 0 {
        line!(
            text,
            "purge finished: the text of {} left the journal",
            plural(answer.purged as usize, "memory", "memories")
        );
    }
    promoted_lines(&mut text, &answer.promoted, &answer.candidates);
    for path in &answer.refreshed {
        line!(text, "refreshed: {path}");
    }
    if let Some(compacted) = &answer.compacted {
        text.push_str(&compact(compacted));
    }
    for problem in &answer.problems {
        line!(text, "note: {problem}");
    }
    if text.is_empty() && answer.commit.is_some() {
        text.push_str("committed what was left from before\n");
    }
    if text.is_empty() {
        text.push_str("Nothing was due.\n");
    }
    if answer.faded > 0 {
        line!(text, "faded: {} (`ebbmark faded` lists them)", answer.faded);
    }
    text
}

/// What compaction did.
pub fn compact(answer: &CompactAnswer) -> String {
    let mut text = String::new();
    line!(
        text,
        "journal: {} → {} lines, {} → {} bytes",
        answer.lines_before,
        answer.lines_after,
        answer.bytes_before,
        answer.bytes_after
    );
    let would = |done: &'static str, planned: &'static str| if answer.dry_run { planned } else { done };
    if answer.forgotten > 0 {
        let memories = plural(answer.forgotten, "forgotten memory", "forgotten memories");
        line!(text, "  {memories} {} the file", would("left", "would leave"));
    }
    if answer.quarantined > 0 {
        let lines = plural(answer.quarantined, "unreadable line", "unreadable lines");
        line!(text, "  {lines} {} quarantine", would("moved to", "would move to"));
    }
    text
}

/// What an inspection shows.
pub fn inspect(answer: &InspectAnswer) -> String {
    let mut text = String::new();
    if let Some(health) = &answer.health {
        if health.ok {
            text.push_str("Everything is well.\n");
        }
        for finding in &health.findings {
            let place = finding.place().map_or(String::new(), |place| format!(" ({place})"));
            line!(text, "{}: {}{place}; {}", finding.level.as_str(), finding.what, finding.next);
        }
        for task in &health.upkeep {
            let last = task.last.map_or(String::new(), |at| format!(" (last {at})"));
            let next = task.next.map_or(String::new(), |at| format!(", next {at}"));
            let also = task.also.as_ref().map_or(String::new(), |also| format!(", and {also}"));
            line!(text, "upkeep {}: {}{last}{next}{also}", task.task, task.outcome);
        }
    }
    if let Some(stats) = &answer.stats {
        stats_lines(&mut text, stats);
    }
    if let Some(due) = &answer.due {
        dynamics::due_lines(&mut text, due);
    }
    if let Some(entities) = &answer.entities {
        graph::entities_lines(&mut text, entities);
    }
    if let Some(entity) = &answer.entity {
        graph::entity_lines(&mut text, entity);
    }
    if let Some(graph) = &answer.graph {
        graph::graph_lines(&mut text, graph);
    }
    if let Some(path) = &answer.path {
        graph::path_lines(&mut text, path);
    }
    for kind in answer.overview.iter().flatten() {
        overview_lines(&mut text, kind);
    }
    if let Some(faded) = &answer.faded {
        if faded.faded.is_empty() {
            text.push_str("Nothing has faded.\n");
        }
        for memory in &faded.faded {
            let since = memory.since.map_or(String::new(), |at| format!("since {}, ", day(at)));
            line!(text, "{} {} ({since}{})", memory.id, memory.text, memory.why);
        }
        let shown = faded.faded.len() as u64;
        if faded.total > shown {
            line!(text, "and {} more", faded.total - shown);
        }
    }
    notice(&mut text, answer.notice.as_ref());
    text
}

fn stats_lines(text: &mut String, stats: &Stats) {
    line!(
        text,
        "{} active ({} fading), {} faded, {} superseded, {} forgotten, {} promoted",
        stats.active,
        stats.fading,
        stats.faded,
        stats.superseded,
        stats.forgotten,
        stats.promoted
    );
    let kinds: Vec<String> = stats.kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    if !kinds.is_empty() {
        line!(text, "kinds: {}", kinds.join(", "));
    }
    line!(text, "journal: {} lines, {} bytes", stats.journal_lines, stats.journal_bytes);
    if stats.own_notes > 0 {
        line!(text, "the person's own notes: {} are recalled too", stats.own_notes);
    }
    if let Some(coverage) = stats.vector_coverage.filter(|coverage| *coverage < 1.0) {
        line!(text, "meaning known of {:.0} % so far", coverage * 100.0);
    }
    for miss in &stats.recent_misses {
        line!(text, "nothing found on {}: {}", day(miss.at), miss.query);
    }
    for dead in &stats.dead_knowledge {
        line!(text, "promoted and unused for 30 days: {dead}");
    }
}

fn overview_lines(text: &mut String, kind: &OverviewKind) {
    line!(text, "{} ({})", kind.kind, kind.count);
    for memory in &kind.strongest {
        line!(text, "  {memory}");
    }
}

/// What a step of upkeep did, in one line.
pub fn done(done: &Done) -> String {
    let names: Vec<&str> = done.notes.iter().take(5).map(String::as_str).collect();
    let more = done.notes.len() - names.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let notes = if names.is_empty() { String::new() } else { format!(" ({}{more})", names.join(", ")) };
    format!("{} {}: {}{notes}\n", done.at, done.task, done.outcome)
}

/// What the doctor found, by what it is about, and how it adds up.
pub fn doctor(answer: &DoctorAnswer) -> String {
    let mut text = String::new();
    let mut areas: Vec<Area> = Vec::new();
    for finding in &answer.findings {
        if !areas.contains(&finding.area) {
            areas.push(finding.area);
        }
    }
    for area in areas {
        line!(text, "{}", area.as_str());
        for finding in answer.findings.iter().filter(|finding| finding.area == area) {
            let level = if finding.fixed { "fixed" } else { finding.level.as_str() };
            line!(text, "  {level}: {}", finding.what);
            if let Some(place) = finding.place() {
                line!(text, "    {place}");
            }
            line!(text, "    {}", finding.next);
        }
    }
    let count = |level: Level| answer.findings.iter().filter(|found| found.level == level && !found.fixed).count();
    let told = [
        (count(Level::Error), "error", "errors"),
        (count(Level::Warning), "warning", "warnings"),
        (count(Level::Note), "note", "notes"),
        (answer.findings.iter().filter(|found| found.fixed).map(|found| found.count as usize).sum(), "fixed", "fixed"),
    ];
    let told: Vec<String> =
        told.into_iter().filter(|(count, ..)| *count > 0).map(|(count, one, many)| plural(count, one, many)).collect();
    let verdict = if answer.ok { "Nothing is wrong." } else { "Something is wrong." };
    let told = if told.is_empty() { String::new() } else { format!(" {}.", told.join(", ")) };
    line!(
        text,
        "{verdict}{told} {}, {} of them in the vault, {}{}.",
        plural(answer.memories as usize, "memory", "memories"),
        answer.promoted,
        plural(answer.journal_lines as usize, "journal line", "journal lines"),
        if answer.deep { ", everything read again" } else { "" }
    );
    text
}

/// Where everything is.
pub fn whereabouts(answer: &Where) -> String {
    let mut text = String::new();
    line!(text, "home     {}", answer.home.display());
    for journal in &answer.journals {
        line!(text, "journal  {}", journal.display());
    }
    line!(text, "replica  {}", answer.replica.as_deref().unwrap_or("comes with the first memory"));
    let exists = if answer.vault_exists { "" } else { " (made at the first promotion)" };
    line!(text, "vault    {}{exists}", answer.vault.display());
    line!(text, "git      {}", answer.git);
    line!(text, "config   {}", answer.config.display());
    line!(text, "cache    {}", answer.cache.display());
    if answer.durability == Durability::Interval {
        line!(text, "note: durability = \"interval\": a power cut may take what was saved in the last two seconds");
    }
    for warning in &answer.warnings {
        line!(text, "note: {warning}");
    }
    text
}

/// What was set up.
pub fn init(answer: &InitAnswer) -> String {
    let mut text = String::new();
    line!(text, "home     {}", answer.home.display());
    line!(text, "vault    {}", answer.vault.display());
    if answer.written.is_empty() {
        line!(text, "everything was there already");
    } else {
        line!(text, "written  {}", answer.written.join(", "));
    }
    notice(&mut text, answer.notice.as_ref());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("日本語のメモです", 4), "日本語…");
        assert_eq!(cut("short", 80), "short");
        assert_eq!(short("first line\nsecond"), "first line");
        assert_eq!(cut("", 3), "");
    }
}
