//! Pages of an answer: what of it fits into a budget of tokens, and where the next page goes on.
//!
//! A cursor names the hits that were shown, not a place in their order: what is said or used between two pages moves
//! hits, and still none is shown twice or passed over.

use serde::Serialize;

use super::recall::{Hit, Ranked, RecallRequest, first_line};
use crate::error::{Error, Result};
use crate::id::MemoryId;

/// Characters that a cursor keeps of the id of each hit.
const SHOWN_CHARS: usize = 6;
/// Hits that all pages of one query show together; the last of them has no cursor.
const MAX_SHOWN: usize = 240;
/// Hits of one page.
pub(super) const MAX_HITS: u32 = 50;
/// What the frame of an answer costs: names of its fields, counts, a notice of the usual length.
const FRAME_TOKENS: usize = 60;
/// What the cursor costs for each of them.
const SHOWN_TOKENS: usize = 3;

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
    /// page ends where that does not fit either. No text is cut but by its line. What has gone in the meantime, `None`,
    /// counts as shown.
    pub(super) fn pack(&self, all: impl Iterator<Item = (MemoryId, Option<Hit>)>, is_more: bool) -> Packed {
        let mut packed = Packed { hits: Vec::new(), notice: None, cursor: None };
        let mut left = self.budget_tokens.map(|tokens| tokens.saturating_sub(self.shown.len() * SHOWN_TOKENS));
        let (mut shown, mut lines, mut is_more) = (self.shown.clone(), 0, is_more);
        for (id, hit) in all {
            let Some(mut hit) = hit else {
                shown.push(start(id));
                continue;
            };
            if let Some(left) = &mut left {
                let mut cost = tokens(&hit) + SHOWN_TOKENS;
                if cost > *left {
                    hit = first_line(hit);
                    cost = tokens(&hit) + SHOWN_TOKENS;
                    lines += 1;
                }
                if cost > *left {
                    lines -= 1;
                    is_more = true;
                    if packed.hits.is_empty() {
                        packed.notice = Some(format!("the best hit takes about {cost} tokens: raise `budget_tokens`"));
                    }
                    break;
                }
                *left -= cost;
            }
            shown.push(start(id));
            packed.hits.push((id, hit));
        }
        if lines > 0 {
            packed.notice =
                Some(format!("for `budget_tokens` {lines} of the hits are first lines: `open` gives the rest"));
        }
        if is_more && shown.len() > MAX_SHOWN {
            packed.notice = Some("more fit, but pages end here: narrow the query".into());
        } else if is_more && shown.len() > self.shown.len() {
            packed.cursor = Some(shown.concat());
        }
        packed
    }
}

fn start(id: MemoryId) -> String {
    id.to_string().chars().take(SHOWN_CHARS).collect()
}

/// What is left of what an answer may cost.
pub(super) struct Budget {
    left: usize,
}

impl Budget {
    /// Of so many tokens, less what the frame of an answer takes.
    pub(super) fn of(tokens: u32) -> Budget {
        Budget { left: (tokens as usize).saturating_sub(FRAME_TOKENS) }
    }

    /// Spends `cost` where so much is left; whether it was.
    pub(super) fn take(&mut self, cost: usize) -> bool {
        let is_enough = cost <= self.left;
        self.left -= if is_enough { cost } else { 0 };
        is_enough
    }
}

/// What an item of a list costs, with what stands between it and the next.
pub(super) fn cost<T: Serialize>(item: &T) -> usize {
    tokens(item) + 1
}

/// About how many tokens something costs in a reply: a quarter of one for each ASCII letter and blank, a half for other ASCII
/// (digits, dates and signs have few characters a token), one for letters of other scripts, two for the rest.
fn tokens<T: Serialize>(item: &T) -> usize {
    let text = serde_json::to_string(item).unwrap_or_default();
    let quarters = text.chars().map(|c| match c {
        'a'..='z' | 'A'..='Z' | ' ' => 1,
        _ if c.is_ascii() => 2,
        _ if c.is_alphanumeric() => 4,
        _ => 8,
    });
    quarters.sum::<usize>().div_ceil(4)
}
