//! `Review.md` in the vault lists what a person should decide. Checking a box and saving does it.
//!
//! The list stands between markers and is written anew when it changes. What a person writes around it, or between
//! its lines, stays; a line that cannot be read costs only itself.

use std::sync::LazyLock;

use regex::Regex;

use super::conflict::Ending;
use super::promote::PromoteRequest;
use super::reinforce::ReinforceRequest;
use super::review::Listed;
use super::{Engine, ForgetRequest, RestoreRequest};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::id::{MemoryId, content_hash};
use crate::note::frontmatter::is_day;
use crate::vault::REVIEW;

/// Marks where our list begins and ends.
const BEGIN: &str = "%% ebbmark:review %%";
const END: &str = "%% /ebbmark:review %%";
/// What stands above the list in a new note.
const HEAD: &str =
    "Check a box and save: it is done, and the list is written anew. Write what you like outside the list.\n";
/// Entries of one kind that are listed.
const MOST_LISTED: usize = 20;
/// What was done lately stays listed so many lines long.
const MOST_DONE: usize = 20;
const DONE: &str = "## Done";
const NOTHING: &str = "Nothing to decide.";

/// A task of ours, as we write it and as an editor may leave it.
static TASK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*[-*+] \[(.)\] \*{0,2}(keep|touch|restore|forget|holds|both)\*{0,2} `([0-9a-zA-Z]{12})`")
        .expect("a valid pattern")
});

/// What checking a box asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    /// Promote it.
    Keep,
    /// Count it as used, so that it stays.
    Touch,
    /// Bring it back.
    Restore,
    /// Forget it.
    Forget,
    /// Of two in conflict, it is the one that holds.
    Holds,
    /// Both sides of the conflict hold.
    Both,
}

impl Verb {
    fn of(word: &str) -> Option<Verb> {
        let all = [Verb::Keep, Verb::Touch, Verb::Restore, Verb::Forget, Verb::Holds, Verb::Both];
        all.into_iter().find(|verb| verb.as_str() == word)
    }

    fn as_str(self) -> &'static str {
        match self {
            Verb::Keep => "keep",
            Verb::Touch => "touch",
            Verb::Restore => "restore",
            Verb::Forget => "forget",
            Verb::Holds => "holds",
            Verb::Both => "both",
        }
    }
}

/// One line of a note, as far as it concerns the list.
enum ReviewLine<'a> {
    Marker,
    Heading,
    Task { is_checked: bool, verb: Verb, id: MemoryId },
    Done(&'a str),
    Own,
}

/// A section of the list: what is asked for, and what checking a box does.
struct Section {
    heading: &'static str,
    why: &'static str,
    entries: Vec<Entry>,
}

/// An entry of a section.
struct Entry {
    verb: Verb,
    id: MemoryId,
    text: String,
}

/// Headings of the list, and what checking a box does.
const SECTIONS: [(&str, &str); 6] = [
    ("## Conflicts", "Check what holds, the other becomes history; or check that both hold."),
    ("## Worth keeping", "Checked, they become notes."),
    ("## Fading", "Checked, they count as used; left alone, they fade."),
    ("## Said twice", "Another memory says the same. Checked, they are forgotten."),
    ("## Deleted notes", "Checked, they come back with their notes."),
    ("## Put away", "Outside Memories they are hidden, and not forgotten. Checked, they get a note there."),
];

impl Engine {
    /// Does what is checked in `Review.md`, and then, or with `renew` in any case, brings its list up to date. Returns
    /// what was done. What could not be done is written into the list; a note that cannot be read or written is told
    /// in `problems` and stands in the way of nothing else.
    pub(super) fn review_note(&self, renew: bool, now: Timestamp, problems: &mut Vec<String>) -> Vec<String> {
        self.try_review(renew, now).unwrap_or_else(|error| {
            problems.push(format!("{REVIEW}: {error}; {}", error.hint()));
            Vec::new()
        })
    }

    fn try_review(&self, renew: bool, now: Timestamp) -> Result<Vec<String>> {
        // In a person's own vault only the folder of memories is ours.
        if self.vault.vault_id()?.is_none() {
            return Ok(Vec::new());
        }
        let old = match self.vault.read(REVIEW) {
            Ok(text) => Some(text),
            Err(Error::NotFound { .. }) => None,
            Err(error) => return Err(error),
        };
        let checked = old.as_deref().map(checked).unwrap_or_default();
        if checked.is_empty() && !renew {
            return Ok(Vec::new());
        }
        let today = self.date(now);
        let mut done = if checked.is_empty() { Vec::new() } else { self.end_checked(&checked, now)? };
        done.extend(checked.into_iter().filter_map(|(verb, id)| self.do_checked(verb, id)));
        let done: Vec<String> = done.into_iter().map(|done| format!("{today} {done}")).collect();
        self.refresh_at(now)?;
        let sections = self.sections(now)?;
        let has_entries = sections.iter().any(|section| !section.entries.is_empty());
        let Some(old) = old else {
            if has_entries {
                self.vault.write_review(&rewritten(&format!("{HEAD}\n"), &sections, &done))?;
            }
            return Ok(done);
        };
        let new = rewritten(&old, &sections, &done);
        if new != old {
            match self.vault.edit(REVIEW, &content_hash(old.as_bytes()), &new) {
                // A person is writing in it: what was done is listed the next time by what is not listed any more.
                Ok(()) | Err(Error::Changed { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    /// Does one thing, and says so in the words of the list. Conflicts were ended before.
    fn do_checked(&self, verb: Verb, id: MemoryId) -> Option<String> {
        let ids = vec![id.to_string()];
        let said = self.store().state.get(id).map(|memory| plain(&memory.text)).unwrap_or_default();
        let failed = |error: &Error| format!("not done: {} `{id}`: {error}", verb.as_str());
        Some(match verb {
            Verb::Holds | Verb::Both => return None,
            Verb::Keep => {
                // The check is a person's word, which also an untrusted memory needs.
                let request = PromoteRequest { ids, force: Some(true), ..PromoteRequest::default() };
                match self.promote(&request) {
                    Ok(answer) => match (answer.promoted.first(), answer.skipped.first()) {
                        (Some(promoted), _) => format!("kept {}", link_to(&promoted.note)),
                        (None, Some(skipped)) => format!("not kept `{id}`: {}", skipped.why),
                        (None, None) => format!("not kept `{id}`"),
                    },
                    Err(error) => failed(&error),
                }
            }
            Verb::Touch => {
                let request = ReinforceRequest { ids, kind: Some("reviewed".into()), ..ReinforceRequest::default() };
                self.reinforce(&request).map_or_else(|error| failed(&error), |_| format!("touched `{id}` {said}"))
            }
            Verb::Restore => match self.restore(&RestoreRequest { ids }) {
                Ok(answer) if answer.restored.is_empty() => format!("not restored `{id}`: there is nothing to restore"),
                Ok(_) => format!("restored `{id}` {said}"),
                Err(error) => failed(&error),
            },
            Verb::Forget => match self.forget(&ForgetRequest { ids, ..ForgetRequest::default() }) {
                Ok(answer) if answer.forgotten.is_empty() => format!("not forgotten `{id}`: it is not remembered"),
                Ok(_) => format!("forgotten `{id}` {said}; `ebbmark restore {id}` brings it back"),
                Err(error) => failed(&error),
            },
        })
    }

    /// What a person should decide at `now`.
    fn sections(&self, now: Timestamp) -> Result<Vec<Section>> {
        let elsewhere = self.put_away_places(now)?;
        let store = self.store();
        let lists = self.lists(store.state.memories(), &elsewhere, now);
        let entries = |verb, listed: Vec<Listed<'_>>| -> Vec<Entry> {
            let listed = listed.into_iter().take(MOST_LISTED);
            listed
                .map(|Listed { memory, why }| Entry {
                    verb,
                    id: memory.id,
                    text: format!("{} ({})", plain(&memory.text), plain(&why)),
                })
                .collect()
        };
        let conflicts = store.conflicts(now).into_iter().take(MOST_LISTED).flat_map(|conflict| {
            let ids = conflict.sides.iter().filter_map(|side| side.id.parse().ok()).zip(&conflict.sides);
            let mut entries: Vec<Entry> = ids
                .map(|(id, side)| {
                    let text = format!("{} ({})", plain(&side.text), self.date(side.dated));
                    Entry { verb: Verb::Holds, id, text }
                })
                .collect();
            let both = conflict.id.parse().ok();
            entries.extend(both.map(|id| Entry { verb: Verb::Both, id, text: plain(&conflict.why) }));
            entries
        });
        let lists = [
            conflicts.collect(),
            entries(Verb::Keep, lists.proposals),
            entries(Verb::Touch, lists.fading),
            entries(Verb::Forget, lists.duplicates),
            entries(Verb::Restore, lists.deleted),
            entries(Verb::Restore, lists.put_away),
        ];
        let sections = SECTIONS.into_iter().zip(lists);
        Ok(sections.map(|((heading, why), entries)| Section { heading, why, entries }).collect())
    }

    /// Ends the conflicts of which a box was checked, and says so in the words of the list.
    fn end_checked(&self, checked: &[(Verb, MemoryId)], now: Timestamp) -> Result<Vec<String>> {
        self.refresh_at(now)?;
        let conflicts = self.store().conflicts(now);
        let is_checked =
            |verb: Verb, id: &str| checked.iter().any(|(known, of)| *known == verb && of.to_string() == id);
        let mut done = Vec::new();
        for conflict in conflicts {
            let held: Vec<MemoryId> = conflict
                .sides
                .iter()
                .filter(|side| is_checked(Verb::Holds, &side.id))
                .filter_map(|side| side.id.parse().ok())
                .collect();
            let ending = match held[..] {
                _ if is_checked(Verb::Both, &conflict.id) => Ending::Both,
                [] => continue,
                [id] => Ending::Keep(id),
                _ => Ending::Both,
            };
            done.push(
                self.end_conflict_at_once(&conflict.id, &ending)
                    .map_or_else(|error| format!("not done: conflict `{}`: {error}", conflict.id), |said| plain(&said)),
            );
        }
        Ok(done)
    }
}

/// Text that cannot be taken for a link, a comment or code in the list.
fn plain(text: &str) -> String {
    let text = super::say::short(text);
    text.replace("[[", "[").replace("]]", "]").replace("%%", "%").replace('`', "'")
}

fn link_to(path: &str) -> String {
    format!("[[{}]]", super::commit::stem(path))
}

fn read(line: &str, in_done: bool) -> ReviewLine<'_> {
    let text = line.trim();
    if text == BEGIN || text == END {
        return ReviewLine::Marker;
    }
    if let Some(task) = TASK.captures(line)
        && let (Some(verb), Ok(id)) = (Verb::of(&task[2]), task[3].parse())
    {
        return ReviewLine::Task { is_checked: &task[1] != " ", verb, id };
    }
    let is_ours = |(heading, why): &(&str, &str)| text == *heading || text == *why;
    if SECTIONS.iter().any(is_ours) || text == DONE || text == NOTHING {
        return ReviewLine::Heading;
    }
    match text.strip_prefix("- ") {
        Some(done) if in_done && done.get(..10).is_some_and(is_day) => ReviewLine::Done(done),
        _ => ReviewLine::Own,
    }
}

/// The boxes that are checked, each once.
fn checked(text: &str) -> Vec<(Verb, MemoryId)> {
    let mut checked = Vec::new();
    for line in text.lines() {
        if let ReviewLine::Task { is_checked: true, verb, id } = read(line, false)
            && !checked.contains(&(verb, id))
        {
            checked.push((verb, id));
        }
    }
    checked
}

/// The note with a fresh list in the place of the old one, or at its end. A person's lines keep their bytes.
fn rewritten(old: &str, sections: &[Section], done: &[String]) -> String {
    let line_end = if old.contains("\r\n") { "\r\n" } else { "\n" };
    let place = |marker: &str| old.lines().position(|line| line.trim() == marker);
    let is_whole = place(BEGIN).is_some_and(|begin| place(END).is_some_and(|end| begin < end));
    let (mut before, mut after, mut earlier): (Vec<&str>, Vec<&str>, Vec<String>) = (vec![], vec![], vec![]);
    let (mut has_list, mut is_inside, mut in_done) = (false, false, false);
    for line in old.split_inclusive('\n') {
        let read = match read(line, in_done) {
            // Outside of a list with both its markers, headings like ours are the person's.
            ReviewLine::Heading if is_whole && !is_inside => ReviewLine::Own,
            read => read,
        };
        match read {
            ReviewLine::Marker => {
                has_list = true;
                is_inside = line.trim() == BEGIN;
                in_done = false;
            }
            ReviewLine::Heading => {
                has_list = true;
                in_done = line.trim() == DONE;
            }
            ReviewLine::Task { .. } => has_list = true,
            ReviewLine::Done(done) => earlier.push(done.to_owned()),
            // Blank lines between ours are ours.
            ReviewLine::Own if line.trim().is_empty() && (is_inside || in_done) => {}
            ReviewLine::Own if has_list => after.push(line),
            ReviewLine::Own => before.push(line),
        }
    }
    while before.last().is_some_and(|line| line.trim().is_empty()) {
        before.pop();
    }
    let blank = after.iter().take_while(|line| line.trim().is_empty()).count();
    let own = |lines: &[&str]| {
        let mut text = lines.concat();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push_str(line_end);
        }
        text
    };
    let mut lines: Vec<String> = vec![BEGIN.to_owned()];
    if sections.iter().all(|section| section.entries.is_empty()) {
        lines.push(NOTHING.to_owned());
    }
    for section in sections.iter().filter(|section| !section.entries.is_empty()) {
        lines.extend([section.heading.to_owned(), section.why.to_owned(), String::new()]);
        for Entry { verb, id, text } in &section.entries {
            lines.push(format!("- [ ] {} `{id}` {text}", verb.as_str()));
            if matches!(verb, Verb::Touch | Verb::Restore) {
                lines.push(format!("- [ ] forget `{id}`"));
            }
        }
        lines.push(String::new());
    }
    let all: Vec<&String> = done.iter().rev().chain(&earlier).take(MOST_DONE).collect();
    if !all.is_empty() {
        lines.extend([DONE.to_owned(), String::new()]);
        lines.extend(all.into_iter().map(|done| format!("- {done}")));
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.push(END.to_owned());
    let (before, after) = (own(&before), own(after.get(blank..).unwrap_or_default()));
    let between = |text: &str| if text.is_empty() { "" } else { line_end };
    format!("{before}{}{}{line_end}{}{after}", between(&before), lines.join(line_end), between(&after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[(Verb, &str, &str)]) -> Vec<Section> {
        let entry = |(verb, id, text): &(Verb, &str, &str)| Entry {
            verb: *verb,
            id: id.parse().unwrap(),
            text: (*text).to_owned(),
        };
        let (heading, why) = SECTIONS[2];
        vec![Section { heading, why, entries: entries.iter().map(entry).collect() }]
    }

    const ID: &str = "7k2m9x4qwc3r";

    #[test]
    fn a_rewritten_list_is_not_rewritten_again() {
        let sections = list(&[(Verb::Touch, ID, "Owns a bicycle")]);
        for old in ["", "mine\n", "mine\n\n- [x] buy milk\n", "---\ntags: [x]\n---\nmine\r\n"] {
            let once = rewritten(old, &sections, &["2026-11-29 touched".into()]);
            assert_eq!(rewritten(&once, &sections, &[]), once, "{old:?}");
        }
    }

    #[test]
    fn what_a_person_wrote_stays_wherever_it_stands() {
        let sections = list(&[(Verb::Touch, ID, "Owns a bicycle")]);
        let once = rewritten("above\n", &sections, &[]);
        let edited = once.replace("## Fading\n", "## Fading\nmy thought\n- [x] buy milk\n") + "\nbelow\n";
        let twice = rewritten(&edited, &list(&[]), &["2026-11-29 touched".into()]);
        for own in ["above\n", "my thought\n", "- [x] buy milk\n", "below\n"] {
            assert_eq!(twice.matches(own).count(), 1, "{own:?} in {twice}");
        }
        assert!(!twice.contains(ID) && twice.contains("- 2026-11-29 touched\n"), "{twice}");
    }

    #[test]
    fn what_a_person_wrote_around_the_list_keeps_its_bytes() {
        let sections = list(&[(Verb::Touch, ID, "Owns a bicycle")]);
        let mine = "\n## Done\r\n\n- my own task\n- 2026-11-28 another\n## Fading\nNothing to decide. Or is there?";
        let once = rewritten("above\r\nis mixed\n", &sections, &["2026-11-29 touched".into()]);
        let twice = rewritten(&format!("{once}{mine}"), &list(&[]), &["2026-11-30 forgotten".into()]);
        assert!(twice.starts_with("above\r\nis mixed\n") && twice.contains(mine), "{twice:?}");
        assert_eq!(rewritten(&twice, &list(&[]), &[]), twice);
    }

    #[test]
    fn a_broken_list_costs_only_what_cannot_be_read() {
        let broken = format!(
            "%% ebbmark:review %%\n- [x] touch `{ID}` Owns\n- [x] touch `nonsense` x\n-[x] forget `{ID}`\n* [X] forget `{ID}`\n- [x] explode `{ID}`\n"
        );
        let id: MemoryId = ID.parse().unwrap();
        assert_eq!(checked(&broken), [(Verb::Touch, id), (Verb::Forget, id)]);
        let text = rewritten(&broken, &list(&[]), &[]);
        for kept in ["- [x] touch `nonsense` x\n", &format!("-[x] forget `{ID}`\n"), &format!("- [x] explode `{ID}`\n")]
        {
            assert!(text.contains(kept), "{kept:?} in {text}");
        }
    }
}
