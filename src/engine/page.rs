//! Pages of an answer: what of it fits into a budget of tokens, and where the next page goes on.
//!
//! A cursor names the hits that were shown, not a place in their order: what is said or used between two pages moves
//! hits, and still none is shown twice or passed over.

use super::recall::{Hit, Ranked, RecallRequest, first_line};
use crate::error::{Error, Result};
use crate::id::MemoryId;

/// Characters that a cursor keeps of the id of each hit.
const SHOWN_CHARS: usize = 6;
/// Hits that all pages of one query show together; the last of them has no cursor.
const MAX_SHOWN: usize = 240;
/// Hits of one page.
pub(super) const MAX_HITS: u32 = 50;
/// Characters of a token, about. Prose has four; ids and dates have fewer.
const TOKEN_CHARS: usize = 3;

/// What one page may hold.
pub(super) struct Page {
    /// Starts of the ids that the pages before showed.
    shown: Vec<String>,
    hits: usize,
    budget_tokens: Option<usize>,
}

/// What a page holds.
pub(super) struct Packed {
    pub(super) hits: Vec<(MemoryId, Hit)>,
    /// What a caller should know who gets less than it asked for.
    pub(super) notice: Option<String>,
    /// Where the next page goes on, if there is one.
    pub(super) cursor: Option<String>,
}

impl Page {
    /// The page that a request asks for; `usual` hits where it names neither a number nor a budget.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a cursor that is none, and for a budget of 0.
    pub(super) fn of(request: &RecallRequest, usual: u32) -> Result<Page> {
        let usual = if request.budget_tokens.is_some() { MAX_HITS } else { usual };
        if request.budget_tokens == Some(0) {
            return Err(Error::invalid("budget_tokens", "is 0", "give what the hits may cost, such as 500"));
        }
        let cursor = request.cursor.as_deref().unwrap_or_default().trim().to_ascii_lowercase();
        let is_cursor = cursor.len().is_multiple_of(SHOWN_CHARS)
            && cursor.len() <= (MAX_SHOWN + MAX_HITS as usize) * SHOWN_CHARS
            && cursor.bytes().all(|c| c.is_ascii_alphanumeric());
        if !is_cursor {
            return Err(Error::invalid("cursor", "is none of recall's", "give the last reply's, with the same query"));
        }
        let shown = cursor.as_bytes().chunks(SHOWN_CHARS);
        Ok(Page {
            shown: shown.map(|id| String::from_utf8_lossy(id).into_owned()).collect(),
            hits: request.limit.unwrap_or(usual).clamp(1, MAX_HITS) as usize,
            budget_tokens: request.budget_tokens.map(|tokens| tokens as usize),
        })
    }

    /// How many have to be ranked, to fill this page and to know whether there is another one.
    pub(super) fn reach(&self) -> usize {
        self.shown.len() + self.hits + 1
    }

    /// Keeps what may stand on this page; whether more is left.
    pub(super) fn choose(&self, ranked: &mut Vec<Ranked>) -> bool {
        ranked.retain(|ranked| !self.shown.contains(&start(ranked.id)));
        let is_more = ranked.len() > self.hits;
        ranked.truncate(self.hits);
        is_more
    }

    /// Keeps what the budget allows, best first: a hit that does not fit in full is shown by its first line, and the
    /// page ends where that does not fit either. No text is cut but by its line.
    pub(super) fn pack(&self, all: Vec<(MemoryId, Hit)>, is_more: bool) -> Packed {
        let count = all.len();
        let mut packed = Packed { hits: Vec::with_capacity(count), notice: None, cursor: None };
        let mut left = self.budget_tokens.unwrap_or(usize::MAX);
        for (id, hit) in all {
            let full = tokens(&hit);
            let (hit, cost) = if full <= left {
                (hit, full)
            } else {
                let line = first_line(hit);
                let cost = tokens(&line);
                (line, cost)
            };
            if cost > left {
                if packed.hits.is_empty() {
                    packed.notice =
                        Some(format!("the best hit alone takes about {cost} tokens: raise `budget_tokens`"));
                }
                break;
            }
            left -= cost;
            packed.hits.push((id, hit));
        }
        let is_more = is_more || packed.hits.len() < count;
        let shown = self.shown.len() + packed.hits.len();
        if is_more && !packed.hits.is_empty() && shown <= MAX_SHOWN {
            let new = packed.hits.iter().map(|(id, _)| start(*id));
            packed.cursor = Some(self.shown.iter().cloned().chain(new).collect());
        }
        packed
    }
}

fn start(id: MemoryId) -> String {
    id.to_string().chars().take(SHOWN_CHARS).collect()
}

/// About how many tokens a hit costs in a reply: too many rather than too few. Outside ASCII a character counts as one.
fn tokens(hit: &Hit) -> usize {
    let text = serde_json::to_string(hit).unwrap_or_default();
    let ascii = text.bytes().filter(u8::is_ascii).count();
    ascii.div_ceil(TOKEN_CHARS) + text.chars().filter(|c| !c.is_ascii()).count()
}
