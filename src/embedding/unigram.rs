//! Pieces with scores: of all the ways to cover a text with known pieces, the one with the greatest sum of scores is
//! taken (Viterbi), as `SentencePiece` does. A character that no piece covers has none.

use std::borrow::Cow;

/// What an unknown character costs more than the worst piece.
const UNKNOWN_COST: f64 = 10.0;

/// When the sign for a blank is put before what does not begin with one.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Prepend {
    Always,
    /// Before the beginning of the text only.
    First,
    Never,
}

/// How blanks are written in pieces.
pub(super) struct Metaspace {
    pub(super) sign: char,
    pub(super) prepend: Prepend,
    /// Whether no piece spans two words.
    pub(super) splits: bool,
    /// Whether the text is cut at all blanks first.
    pub(super) cuts_blanks: bool,
}

/// Pieces in the order of their bytes, one behind the other, and the token and score of each.
pub(super) struct Unigram {
    text: String,
    /// Where each begins, and where the last one ends.
    starts: Vec<u32>,
    tokens: Vec<u32>,
    scores: Vec<f64>,
    unknown_score: f64,
    /// Never yielded.
    unknown: Option<u32>,
    metaspace: Metaspace,
}

/// The best way to a place: its score, where its last piece begins, and the token of that.
#[derive(Clone, Copy)]
struct Way {
    score: f64,
    start: usize,
    token: Option<u32>,
}

impl Unigram {
    /// Pieces and their scores in the order of the tokens. Of two equal pieces the later one counts.
    pub(super) fn new(pieces: &[(String, f64)], unknown: Option<u32>, metaspace: Metaspace) -> Self {
        let least = pieces.iter().fold(f64::INFINITY, |least, (_, score)| least.min(*score));
        let mut order: Vec<u32> =
            (0..).take(pieces.len()).filter(|token| !pieces[*token as usize].0.is_empty()).collect();
        order.sort_unstable_by_key(|token| (&*pieces[*token as usize].0, u32::MAX - token));
        order.dedup_by_key(|token| &*pieces[*token as usize].0);
        let mut text = String::new();
        let mut starts = vec![0];
        for token in &order {
            text.push_str(&pieces[*token as usize].0);
            starts.push(text.len() as u32);
        }
        let scores = order.iter().map(|token| pieces[*token as usize].1).collect();
        Unigram { text, starts, tokens: order, scores, unknown_score: least - UNKNOWN_COST, unknown, metaspace }
    }

    /// One more than the greatest token.
    pub(super) fn tokens(&self) -> usize {
        self.tokens.iter().max().map_or(0, |token| *token as usize + 1)
    }

    /// Tokens of a normalised text, in order.
    pub(super) fn cut(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::with_capacity(text.len() / 4);
        if !self.metaspace.cuts_blanks {
            self.cut_part(text, true, &mut tokens);
            return tokens;
        }
        for (number, part) in text.split_whitespace().enumerate() {
            self.cut_part(part, number == 0, &mut tokens);
        }
        tokens
    }

    fn cut_part(&self, part: &str, is_first: bool, tokens: &mut Vec<u32>) {
        let Metaspace { sign, prepend, splits, .. } = self.metaspace;
        let mut part = Cow::Borrowed(part);
        if part.contains(' ') {
            part = part.replace(' ', sign.encode_utf8(&mut [0; 4])).into();
        }
        let wants_sign = prepend == Prepend::Always || prepend == Prepend::First && is_first;
        if wants_sign && !part.is_empty() && !part.starts_with(sign) {
            part.to_mut().insert(0, sign);
        }
        if !splits {
            return self.cover(&part, tokens);
        }
        let mut start = 0;
        for (end, _) in part.match_indices(sign).filter(|(place, _)| *place > 0) {
            self.cover(&part[start..end], tokens);
            start = end;
        }
        self.cover(&part[start..], tokens);
    }

    /// Adds the tokens of the best way over `word`.
    fn cover(&self, word: &str, tokens: &mut Vec<u32>) {
        let mut ways: Vec<Option<Way>> = vec![None; word.len() + 1];
        ways[0] = Some(Way { score: 0.0, start: 0, token: None });
        for (start, c) in word.char_indices() {
            let Some(Way { score: before, .. }) = ways[start] else { continue };
            let mut offer = |end: usize, score: f64, token| {
                let score = before + score;
                if ways[end].is_none_or(|way| score > way.score) {
                    ways[end] = Some(Way { score, start, token });
                }
            };
            let mut is_known = false;
            self.beginnings(&word.as_bytes()[start..], |length, place| {
                is_known |= length == c.len_utf8();
                offer(start + length, self.scores[place], Some(self.tokens[place]));
            });
            if !is_known {
                offer(start + c.len_utf8(), self.unknown_score, None);
            }
        }
        let before = tokens.len();
        let mut end = word.len();
        while let Some(way) = ways[end].filter(|_| end > 0) {
            tokens.extend(way.token.filter(|token| Some(*token) != self.unknown));
            end = way.start;
        }
        tokens[before..].reverse();
    }

    /// Yields the length and place of each piece that `text` begins with, the shortest first. The pieces that agree with
    /// the bytes read so far stand side by side: each byte narrows them down.
    fn beginnings(&self, text: &[u8], mut yields: impl FnMut(usize, usize)) {
        let pieces = self.text.as_bytes();
        let (mut from, mut to) = (0, self.tokens.len());
        for (depth, byte) in text.iter().enumerate() {
            let at = |start: &u32| pieces[*start as usize + depth];
            from += self.starts[from..to].partition_point(|start| at(start) < *byte);
            to = from + self.starts[from..to].partition_point(|start| at(start) == *byte);
            if from == to {
                return;
            }
            if (self.starts[from + 1] - self.starts[from]) as usize == depth + 1 {
                yields(depth + 1, from);
                from += 1;
            }
        }
    }
}
