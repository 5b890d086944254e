//! What a text means, as a vector: the sum of a table's rows for its word pieces, and one small layer above it.
//!
//! Texts of one meaning point in one direction even where they share no word: "spouse" and "Married to Tomás". The
//! table that is built in knows English; docs/model.md tells how it was made. A person may name another one, of our own
//! format or a model2vec folder. Vectors of different tables are not comparable, so each table has an id.

mod normaliser;
mod pieces;
mod product;
mod tensors;
mod tokenizer;
mod unigram;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use self::pieces::WordPiece;
pub use self::product::products;
use self::tensors::Tensors;
use self::tokenizer::Tokenizer;
use crate::error::{Error, Result};

/// The rows of the built-in table.
const BUILT_IN_ROWS: &[u8] = include_bytes!("../assets/model/minilm-static2-256-q4.tab");
/// Its word pieces.
const BUILT_IN_PIECES: &str = include_str!("../assets/model/minilm-static2-256-q4.vocab");
/// The layer above it.
const BUILT_IN_LAYER: &[u8] = include_bytes!("../assets/model/minilm-static2-256-q4.mlp");

/// The words that mean nearly the same.
const BUILT_IN_NEAR: &[u8] = include_bytes!("../assets/model/minilm-static2-256-q4.near");

/// Most components of a vector.
const MAX_DIMENSIONS: usize = 4096;
/// Below this length a vector has no direction.
const TINY: f32 = 1e-9;

/// A table of word pieces and what makes a vector of them.
pub struct Model {
    id: String,
    dimensions: usize,
    bits: u8,
    rows: Cow<'static, [u8]>,
    scales: Vec<f32>,
    /// The row of each token, where tokens share rows; otherwise empty.
    shared_rows: Vec<u32>,
    /// How much each token counts, where they differ; otherwise empty.
    weights: Vec<f32>,
    tokenizer: Tokenizer,
    layer: Option<Layer>,
    near: Option<Near>,
}

/// Words that mean nearly the same, by row: how many there are, where they begin, and (row, likeness in 255ths).
struct Near {
    words: Vec<Box<str>>,
    starts: Vec<u32>,
    pairs: Vec<(u16, u8)>,
}

/// One hidden layer: v = u + tanh(u·W1 + b1)·W2.
struct Layer {
    hidden: usize,
    into: Vec<f32>,
    bias: Vec<f32>,
    out: Vec<f32>,
}

/// A direction in eight bits a component; all zero where a text has no known piece.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    /// What one unit of `values` is worth.
    pub scale: f32,
    /// The components.
    pub values: Box<[i8]>,
}

impl Vector {
    /// Rounds components to eight bits.
    pub fn of(components: &[f32]) -> Vector {
        let greatest = components.iter().fold(0.0f32, |greatest, component| greatest.max(component.abs()));
        if greatest < TINY {
            return Vector { scale: 0.0, values: vec![0; components.len()].into() };
        }
        let scale = greatest / 127.0;
        Vector { scale, values: components.iter().map(|component| (component / scale).round() as i8).collect() }
    }
}

impl Model {
    /// The English table in this binary, read once.
    ///
    /// # Errors
    /// None: a test reads it.
    pub fn built_in() -> Result<Arc<Model>> {
        static BUILT_IN: OnceLock<Arc<Model>> = OnceLock::new();
        if let Some(model) = BUILT_IN.get() {
            return Ok(model.clone());
        }
        let rows = Cow::Borrowed(BUILT_IN_ROWS);
        let model = Self::read(rows, BUILT_IN_PIECES, Some(BUILT_IN_LAYER), Some(BUILT_IN_NEAR))?;
        Ok(BUILT_IN.get_or_init(|| Arc::new(model)).clone())
    }

    /// Reads a table: rows (`.tab`), word pieces, one a line in the order of the rows (`.vocab`), and the layer above
    /// them (`.mlp`) and the words that mean nearly the same (`.near`), where there are such. docs/model.md describes the
    /// format.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the files are not of that format or do not fit together.
    pub fn read(table: Cow<'static, [u8]>, pieces: &str, layer: Option<&[u8]>, near: Option<&[u8]>) -> Result<Model> {
        let id = identity(&table, pieces.as_bytes(), layer);
        let (header, _) = table.split_at_checked(12).ok_or_else(|| wrong("the table is too short"))?;
        let dimensions = usize::from(u16::from_le_bytes([header[6], header[7]]));
        let count = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
        let bits = header[4];
        if !header.starts_with(b"RQT1") || !matches!(bits, 4 | 8) {
            return Err(wrong("the table does not begin with RQT1 and 4 or 8 bits"));
        }
        if dimensions == 0 || dimensions > MAX_DIMENSIONS || dimensions % 2 == 1 {
            return Err(wrong(&format!("{dimensions} dimensions are not an even number up to {MAX_DIMENSIONS}")));
        }
        let row_bytes = dimensions * usize::from(bits) / 8;
        if table.len() != 12 + count * (2 + row_bytes) {
            return Err(wrong(&format!("the table has not the length of {count} rows of {dimensions} dimensions")));
        }
        let scales = halves(&table[12..12 + 2 * count]);
        let rows = match table {
            Cow::Borrowed(table) => Cow::Borrowed(&table[12 + 2 * count..]),
            Cow::Owned(mut table) => Cow::Owned(table.split_off(12 + 2 * count)),
        };
        let near = near.map(|near| Near::read(near, pieces, count)).transpose()?;
        let pieces: HashMap<Box<str>, u32> = pieces.lines().map(Into::into).zip(0..).collect();
        if pieces.len() != count {
            return Err(wrong(&format!("{count} rows, but {} different word pieces", pieces.len())));
        }
        let layer = layer.map(|layer| Layer::read(layer, dimensions)).transpose()?;
        let tokenizer = Tokenizer::own(WordPiece::new(pieces, usize::MAX));
        let (shared_rows, weights) = (Vec::new(), Vec::new());
        Ok(Model { id, dimensions, bits, rows, scales, shared_rows, weights, tokenizer, layer, near })
    }

    /// Reads a model2vec folder: its `model.safetensors` and its `tokenizer.json`. The rows become eight bits a value, in
    /// place. What else such a folder holds changes no direction.
    ///
    /// # Errors
    /// [`Error::Invalid`], with the name of the file, where one is not of that format, they do not fit together, or the
    /// tokenizer is of a kind that is not known.
    pub fn of_model2vec(tensors: Vec<u8>, tokenizer: &[u8]) -> Result<Model> {
        let id = identity(&tensors, tokenizer, None);
        let tokenizer = Tokenizer::read(tokenizer)?;
        let Tensors { dimensions, rows, scales, shared_rows, weights } = Tensors::read(tensors)?;
        let known = if shared_rows.is_empty() { scales.len() } else { shared_rows.len() };
        let known = if weights.is_empty() { known } else { known.min(weights.len()) };
        if tokenizer.tokens() > known {
            let why = format!("it has {known} tokens, but tokenizer.json has {}", tokenizer.tokens());
            return Err(tensors::wrong(&why));
        }
        let rows = Cow::Owned(rows);
        Ok(Model { id, dimensions, bits: 8, rows, scales, shared_rows, weights, tokenizer, layer: None, near: None })
    }

    /// What tells this table from others: a checksum of its files.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Components of a vector.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The vector of a text: length 1, or all zero where none of its pieces is known.
    pub fn embed(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0.0; self.dimensions];
        for token in self.tokenizer.cut(text) {
            let token = token as usize;
            let row = self.shared_rows.get(token).map_or(token, |row| *row as usize);
            self.add_row(row, self.weights.get(token).copied().unwrap_or(1.0), &mut vector);
        }
        if normalise(&mut vector)
            && let Some(layer) = &self.layer
        {
            layer.apply(&mut vector);
            normalise(&mut vector);
        }
        vector
    }

    /// As [`Model::embed`], in eight bits.
    pub fn vector(&self, text: &str) -> Vector {
        Vector::of(&self.embed(text))
    }

    /// Words that mean nearly the same as one in lower case, with their likeness (up to 1), the nearest first. None where
    /// the table says nothing of it.
    pub fn near(&self, word: &str) -> impl Iterator<Item = (&str, f32)> {
        let known = self.near.as_ref().zip(self.tokenizer.token(word));
        known.into_iter().flat_map(|(near, row)| near.of(row as usize))
    }

    fn add_row(&self, row: usize, weight: f32, sum: &mut [f32]) {
        let scale = self.scales[row] * weight;
        let bytes = self.dimensions * usize::from(self.bits) / 8;
        let row = &self.rows[row * bytes..(row + 1) * bytes];
        if self.bits == 8 {
            for (sum, value) in sum.iter_mut().zip(row) {
                *sum += f32::from(value.cast_signed()) * scale;
            }
            return;
        }
        let (pairs, _) = sum.as_chunks_mut::<2>();
        for (pair, byte) in pairs.iter_mut().zip(row) {
            // Two's complement in four bits, the low ones first.
            pair[0] += f32::from((byte << 4).cast_signed() >> 4) * scale;
            pair[1] += f32::from(byte.cast_signed() >> 4) * scale;
        }
    }
}

impl Near {
    fn read(bytes: &[u8], pieces: &str, count: usize) -> Result<Near> {
        let not_fitting = || wrong("the words that mean nearly the same are not those of this table");
        let rest = bytes.strip_prefix(b"RQN1").ok_or_else(not_fitting)?;
        let (own, rest) = rest.split_first_chunk::<4>().ok_or_else(not_fitting)?;
        let (counts, rest) = rest.split_at_checked(count).ok_or_else(not_fitting)?;
        let mut starts = vec![0];
        starts.extend(counts.iter().scan(0, |end, count| {
            *end += u32::from(*count);
            Some(*end)
        }));
        let pairs: Vec<(u16, u8)> = rest
            .as_chunks::<3>()
            .0
            .iter()
            .map(|[low, high, like]| (u16::from_le_bytes([*low, *high]), *like))
            .collect();
        let is_whole = u32::from_le_bytes(*own) as usize == count
            && rest.len() == 3 * pairs.len()
            && starts.last() == Some(&(pairs.len() as u32))
            && pairs.iter().all(|(row, _)| usize::from(*row) < count);
        if !is_whole {
            return Err(not_fitting());
        }
        Ok(Near { words: pieces.lines().map(Into::into).collect(), starts, pairs })
    }

    fn of(&self, row: usize) -> impl Iterator<Item = (&str, f32)> {
        let pairs = &self.pairs[self.starts[row] as usize..self.starts[row + 1] as usize];
        pairs.iter().map(|(row, like)| (&*self.words[usize::from(*row)], f32::from(*like) / 255.0))
    }
}

impl Layer {
    fn read(bytes: &[u8], dimensions: usize) -> Result<Layer> {
        let (header, values) = bytes.split_at_checked(8).ok_or_else(|| wrong("the layer is too short"))?;
        let own = usize::from(u16::from_le_bytes([header[4], header[5]]));
        let hidden = usize::from(u16::from_le_bytes([header[6], header[7]]));
        if !header.starts_with(b"RQM1") {
            return Err(wrong("the layer does not begin with RQM1"));
        }
        if own != dimensions || hidden == 0 || values.len() != 2 * (2 * own * hidden + hidden) {
            return Err(wrong(&format!(
                "the layer has {own} dimensions or another length than the table's {dimensions}"
            )));
        }
        let mut into = halves(values);
        let mut bias = into.split_off(own * hidden);
        let out = bias.split_off(hidden);
        Ok(Layer { hidden, into, bias, out })
    }

    fn apply(&self, vector: &mut [f32]) {
        let mut hidden = self.bias.clone();
        for (component, weights) in vector.iter().zip(self.into.chunks_exact(self.hidden)) {
            add_scaled(&mut hidden, weights, *component);
        }
        let dimensions = vector.len();
        for (value, weights) in hidden.iter().zip(self.out.chunks_exact(dimensions)) {
            add_scaled(vector, weights, value.tanh());
        }
    }
}

fn add_scaled(sum: &mut [f32], weights: &[f32], factor: f32) {
    for (sum, weight) in sum.iter_mut().zip(weights) {
        *sum += factor * weight;
    }
}

/// Makes the length 1; `false` where there is none.
fn normalise(vector: &mut [f32]) -> bool {
    let length = vector.iter().map(|component| component * component).sum::<f32>().sqrt();
    if length < TINY {
        vector.fill(0.0);
        return false;
    }
    for component in vector {
        *component /= length;
    }
    true
}

/// Floating point numbers of 16 bits, little endian.
fn halves(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<2>().0.iter().map(|pair| half(u16::from_le_bytes(*pair))).collect()
}

fn half(bits: u16) -> f32 {
    let (exponent, mantissa) = (u32::from(bits >> 10 & 31), u32::from(bits & 1023));
    let magnitude = match exponent {
        0 => mantissa as f32 * 2f32.powi(-24),
        31 => f32::from_bits(0x7f80_0000 | mantissa << 13),
        _ => f32::from_bits((exponent + 112) << 23 | mantissa << 13),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

/// What vectors depend on; the words that mean nearly the same change none.
fn identity(table: &[u8], pieces: &[u8], layer: Option<&[u8]>) -> String {
    let sum = crc32c::crc32c(table);
    let sum = crc32c::crc32c_append(sum, pieces);
    let sum = crc32c::crc32c_append(sum, layer.unwrap_or_default());
    format!("{:x}-{sum:08x}", table.len() + pieces.len() + layer.map_or(0, <[u8]>::len))
}

fn wrong(why: &str) -> Error {
    Error::invalid("embedding table", why, "take a table in the format of docs/model.md")
}

#[cfg(test)]
mod tests;
