//! What cuts a text into tokens, and the `tokenizer.json` of Hugging Face's tokenizers that describes it. Two kinds are
//! known: [`WordPiece`], as of BERT, and [`Unigram`], as of `SentencePiece`.

use std::collections::HashMap;

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::normaliser::{Step, normalise};
use super::pieces::WordPiece;
use super::unigram::{Metaspace, Prepend, Unigram};
use crate::error::{Error, Result};

/// Tokens of a text that count, as in model2vec.
const MOST_TOKENS: usize = 512;
/// Of control characters `SentencePiece` drops these.
const DROPPED: &str = r"[\x01-\x08\x0B\x0E-\x1F\x7F\u{8F}\u{9F}]";
/// And makes blanks of these.
const BLANKS: &str =
    r"[\t\n\f\r\u{61C}\u{1680}\u{200B}\u{200C}\u{200E}\u{200F}\u{2028}\u{2029}\u{2581}\u{FEFF}\u{FFFD}]";
/// Words of their own.
const IDEOGRAPH: &str = r"[\u{3400}-\u{4DBF}\u{4E00}-\u{9FFF}\u{F900}-\u{FAFF}\u{20000}-\u{2FA1F}]";

/// Makes tokens of texts: numbers of pieces that are known.
pub(super) struct Tokenizer {
    steps: Vec<Step>,
    /// Characters of a text that are looked at, where only [`MOST_TOKENS`] count.
    most_characters: Option<usize>,
    kind: Kind,
}

enum Kind {
    WordPiece(WordPiece),
    Unigram(Unigram),
}

/// A `tokenizer.json`, or as much of it as is asked for.
#[derive(Deserialize)]
struct File<Model> {
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    pre_tokenizer: Value,
    model: Model,
}

#[derive(Deserialize)]
struct KindOnly {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct WordPieceModel {
    vocab: HashMap<Box<str>, u32>,
    continuing_subword_prefix: String,
    max_input_chars_per_word: usize,
}

#[derive(Deserialize)]
struct UnigramModel {
    vocab: Vec<(String, f64)>,
    unk_id: Option<u32>,
}

impl Tokenizer {
    /// Of a table of ours: in lower case and without accents.
    pub(super) fn own(pieces: WordPiece) -> Self {
        let steps = vec![Step::Lowercase, Step::Nfd, Step::DropMarks];
        Tokenizer { steps, most_characters: None, kind: Kind::WordPiece(pieces) }
    }

    /// Reads a `tokenizer.json`.
    pub(super) fn read(json: &[u8]) -> Result<Self> {
        let File { normalizer, pre_tokenizer, model } = parsed::<KindOnly>(json)?;
        let mut steps = Vec::new();
        add_steps(&normalizer, &mut steps)?;
        let (kind, lengths) = match model.kind.as_str() {
            "WordPiece" => {
                let model = parsed::<WordPieceModel>(json)?.model;
                if name(&pre_tokenizer) != "BertPreTokenizer" {
                    return Err(unknown(&format!("pre-tokenizer {}", name(&pre_tokenizer))));
                }
                if model.continuing_subword_prefix != "##" {
                    return Err(unknown(&format!("prefix {}", model.continuing_subword_prefix)));
                }
                let lengths = model.vocab.keys().map(|piece| piece.chars().count()).collect();
                (Kind::WordPiece(WordPiece::new(model.vocab, model.max_input_chars_per_word)), lengths)
            }
            "Unigram" => {
                let metaspace = metaspace(&pre_tokenizer)?;
                let model = parsed::<UnigramModel>(json)?.model;
                let lengths = model.vocab.iter().map(|(piece, _)| piece.chars().count()).collect();
                (Kind::Unigram(Unigram::new(&model.vocab, model.unk_id, metaspace)), lengths)
            }
            other => return Err(unknown(&format!("model {other}"))),
        };
        Ok(Tokenizer { steps, most_characters: Some(MOST_TOKENS * median(lengths)), kind })
    }

    /// One more than the greatest token.
    pub(super) fn tokens(&self) -> usize {
        match &self.kind {
            Kind::WordPiece(pieces) => pieces.tokens(),
            Kind::Unigram(pieces) => pieces.tokens(),
        }
    }

    /// The token of a word that is one piece.
    pub(super) fn token(&self, word: &str) -> Option<u32> {
        match &self.kind {
            Kind::WordPiece(pieces) => pieces.token(word),
            Kind::Unigram(_) => None,
        }
    }

    /// The known tokens of a text, in order.
    pub(super) fn cut(&self, text: &str) -> Vec<u32> {
        let end = self.most_characters.and_then(|most| text.char_indices().nth(most));
        let text = normalise(&self.steps, &text[..end.map_or(text.len(), |(end, _)| end)]);
        let mut tokens = match &self.kind {
            Kind::WordPiece(pieces) => pieces.cut(&text),
            Kind::Unigram(pieces) => pieces.cut(&text),
        };
        if self.most_characters.is_some() {
            tokens.truncate(MOST_TOKENS);
        }
        tokens
    }
}

fn parsed<'a, Model: Deserialize<'a>>(json: &'a [u8]) -> Result<File<Model>> {
    serde_json::from_slice(json).map_err(|error| wrong(&format!("it is not readable: {error}")))
}

/// The type of a part of the file.
fn name(part: &Value) -> &str {
    part["type"].as_str().unwrap_or("none")
}

/// Adds what a normalizer does.
pub(super) fn add_steps(normalizer: &Value, steps: &mut Vec<Step>) -> Result<()> {
    let is = |flag: &str| normalizer[flag].as_bool();
    match name(normalizer) {
        "none" if normalizer.is_null() => {}
        "Sequence" => {
            for part in normalizer["normalizers"].as_array().into_iter().flatten() {
                add_steps(part, steps)?;
            }
        }
        "BertNormalizer" => {
            let is_lower = is("lowercase").unwrap_or(true);
            if is("clean_text").unwrap_or(true) {
                steps.push(replace(r"[\u{FFFD}\p{Cf}\p{Co}[\p{Cc}--[\t\n\r]]]", "")?);
            }
            if is("handle_chinese_chars") == Some(false) {
                return Err(unknown("normalizer BertNormalizer without handle_chinese_chars"));
            }
            steps.push(replace(IDEOGRAPH, " $0 ")?);
            if is("strip_accents").unwrap_or(is_lower) {
                steps.extend([Step::Nfd, Step::DropMarks]);
            }
            steps.extend(is_lower.then_some(Step::Lowercase));
        }
        // A table of what becomes of each character. Those in use are SentencePiece's own one, which is NFKC but for this.
        "Precompiled" => steps.extend([replace(DROPPED, "")?, replace(BLANKS, " ")?, Step::Nfkc]),
        "Replace" => {
            let pattern = &normalizer["pattern"];
            let literal = pattern["String"].as_str().map(regex::escape);
            let pattern = literal.as_deref().or(pattern["Regex"].as_str());
            let pattern = pattern.ok_or_else(|| unknown("normalizer Replace without a pattern"))?;
            let with = normalizer["content"].as_str().unwrap_or_default();
            steps.push(replace(pattern, &with.replace('$', "$$"))?);
        }
        "Strip" => {
            steps.push(Step::Trim { start: is("strip_left").unwrap_or(true), end: is("strip_right").unwrap_or(true) });
        }
        "Lowercase" => steps.push(Step::Lowercase),
        "StripAccents" => steps.push(Step::DropMarks),
        "NFC" => steps.push(Step::Nfc),
        "NFD" => steps.push(Step::Nfd),
        "NFKC" => steps.push(Step::Nfkc),
        "NFKD" => steps.push(Step::Nfkd),
        other => return Err(unknown(&format!("normalizer {other}"))),
    }
    Ok(())
}

fn replace(pattern: &str, with: &str) -> Result<Step> {
    let pattern = Regex::new(pattern).map_err(|error| unknown(&format!("normalizer Replace: {error}")))?;
    Ok(Step::Replace(pattern, with.to_owned()))
}

/// What a pre-tokenizer of a [`Unigram`] does: `Metaspace`, alone or behind `WhitespaceSplit`.
fn metaspace(pre_tokenizer: &Value) -> Result<Metaspace> {
    let (parts, alone) = (pre_tokenizer["pretokenizers"].as_array(), [pre_tokenizer.clone()]);
    let parts = parts.map_or(&alone[..], Vec::as_slice);
    let (cuts_blanks, part) = match parts {
        [first, part] if name(first) == "WhitespaceSplit" => (true, part),
        [part] => (false, part),
        _ => return Err(unknown("pre-tokenizer Sequence of others than WhitespaceSplit and Metaspace")),
    };
    if name(part) != "Metaspace" {
        return Err(unknown(&format!("pre-tokenizer {}", name(part))));
    }
    let prepend = match (part["prepend_scheme"].as_str(), part["add_prefix_space"].as_bool()) {
        (Some("never"), _) | (None, Some(false)) => Prepend::Never,
        (Some("first"), _) => Prepend::First,
        _ => Prepend::Always,
    };
    let sign = part["replacement"].as_str().and_then(|sign| sign.chars().next()).unwrap_or('▁');
    Ok(Metaspace { sign, prepend, splits: part["split"].as_bool().unwrap_or(true), cuts_blanks })
}

/// The middle one, or what is between the two middle ones, rounded down.
fn median(mut lengths: Vec<usize>) -> usize {
    lengths.sort_unstable();
    let at = |place: usize| lengths.get(place).copied().unwrap_or_default();
    usize::midpoint(at(lengths.len().saturating_sub(1) / 2), at(lengths.len() / 2))
}

fn unknown(what: &str) -> Error {
    let why = format!(
        "its {what} is not known; known are WordPiece with BertNormalizer and BertPreTokenizer, and Unigram with Metaspace"
    );
    Error::invalid("tokenizer.json", why, "take a model with one of these, such as the potion models of model2vec")
}

fn wrong(why: &str) -> Error {
    Error::invalid("tokenizer.json", why, "take the folder of a model2vec model as it was published")
}
