//! The tensors of a model2vec folder, a file in the format of safetensors: the length of a header, the header in JSON
//! with the kind, shape and place of each tensor, and the numbers, little endian.

use serde::Deserialize;

use super::{MAX_DIMENSIONS, Vector, half};
use crate::error::{Error, Result};

/// More rows than any table has.
const MAX_ROWS: usize = 1 << 24;

/// Rows in eight bits, with a scale each, and what tokens make of them.
pub(super) struct Tensors {
    pub(super) dimensions: usize,
    pub(super) rows: Vec<u8>,
    pub(super) scales: Vec<f32>,
    /// The row of each token, where tokens share rows.
    pub(super) shared_rows: Vec<u32>,
    /// How much each token counts, where they differ.
    pub(super) weights: Vec<f32>,
}

/// What is of use here; other tensors are passed over.
#[derive(Deserialize)]
struct Header {
    /// So named by model2vec, or by sentence-transformers.
    #[serde(alias = "embedding.weight")]
    embeddings: Option<Tensor>,
    weights: Option<Tensor>,
    mapping: Option<Tensor>,
}

#[derive(Deserialize)]
struct Tensor {
    #[serde(rename = "dtype")]
    kind: Kind,
    shape: Vec<usize>,
    /// Counted from the end of the header.
    data_offsets: (usize, usize),
}

#[derive(Clone, Copy, Deserialize)]
enum Kind {
    F64,
    F32,
    F16,
    #[serde(rename = "BF16")]
    Brain16,
    I64,
    I32,
    I8,
}

impl Kind {
    /// Bytes of a number.
    fn size(self) -> usize {
        match self {
            Kind::F64 | Kind::I64 => 8,
            Kind::F32 | Kind::I32 => 4,
            Kind::F16 | Kind::Brain16 => 2,
            Kind::I8 => 1,
        }
    }

    /// The numbers that `bytes` are. Whole ones are exact up to [`MAX_ROWS`].
    fn numbers(self, bytes: &[u8]) -> Vec<f32> {
        match self {
            Kind::F64 => of_each(bytes, |bytes| f64::from_le_bytes(bytes) as f32),
            Kind::F32 => of_each(bytes, f32::from_le_bytes),
            Kind::F16 => of_each(bytes, |bytes| half(u16::from_le_bytes(bytes))),
            Kind::Brain16 => of_each(bytes, |[low, high]| f32::from_le_bytes([0, 0, low, high])),
            Kind::I64 => of_each(bytes, |bytes| i64::from_le_bytes(bytes) as f32),
            Kind::I32 => of_each(bytes, |bytes| i32::from_le_bytes(bytes) as f32),
            Kind::I8 => of_each(bytes, |bytes| i8::from_le_bytes(bytes).into()),
        }
    }
}

fn of_each<const SIZE: usize>(bytes: &[u8], number: impl Fn([u8; SIZE]) -> f32) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|bytes| number(*bytes)).collect()
}

impl Tensors {
    /// Reads the file. The rows are rounded where they lie, so that a large one is never held twice.
    pub(super) fn read(mut file: Vec<u8>) -> Result<Tensors> {
        let (length, rest) = file.split_first_chunk::<8>().ok_or_else(|| wrong("it is too short"))?;
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let (header, data) = rest.split_at_checked(length).ok_or_else(|| wrong("it ends within its header"))?;
        let header: Header =
            serde_json::from_slice(header).map_err(|error| wrong(&format!("its header is not readable: {error}")))?;
        let rows = header.embeddings.ok_or_else(|| wrong("it has no tensor `embeddings`"))?;
        let [count, dimensions] = rows.shape[..] else { return Err(wrong("`embeddings` has not two dimensions")) };
        if !(1..=MAX_ROWS).contains(&count) || !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            return Err(wrong(&format!(
                "{count} rows of {dimensions} dimensions are none, or more than {MAX_ROWS} of {MAX_DIMENSIONS}"
            )));
        }
        rows.bytes(data, "embeddings")?;
        let weights = header.weights.map_or(Ok(Vec::new()), |tensor| tensor.numbers(data, "weights"))?;
        let mapping = header.mapping.map_or(Ok(Vec::new()), |tensor| tensor.numbers(data, "mapping"))?;
        if let Some(weight) = weights.iter().find(|weight| !weight.is_finite()) {
            return Err(wrong(&format!("a weight is {weight}")));
        }
        if let Some(row) = mapping.iter().find(|row| !(0.0..count as f32).contains(*row)) {
            return Err(wrong(&format!("a token has row {row}, but there are {count}")));
        }
        let start = 8 + length + rows.data_offsets.0;
        let scales = round_rows(&mut file, start, rows.kind, dimensions, count)?;
        Ok(Tensors {
            dimensions,
            rows: file,
            scales,
            shared_rows: mapping.into_iter().map(|row| row as u32).collect(),
            weights,
        })
    }
}

impl Tensor {
    /// The bytes of a tensor, where it lies within the file and has as many as its shape.
    fn bytes<'a>(&self, data: &'a [u8], name: &str) -> Result<&'a [u8]> {
        let (start, end) = self.data_offsets;
        let size = self.shape.iter().try_fold(self.kind.size(), |size, dimension| size.checked_mul(*dimension));
        let bytes = data.get(start..end).filter(|bytes| Some(bytes.len()) == size);
        bytes.ok_or_else(|| wrong(&format!("`{name}` lies outside of the file or has not the length of its shape")))
    }

    fn numbers(&self, data: &[u8], name: &str) -> Result<Vec<f32>> {
        Ok(self.kind.numbers(self.bytes(data, name)?))
    }
}

/// Leaves nothing in `file` but the rows that begin at `start`, in eight bits a value, and returns their scales. Rounded
/// rows are never longer, so that they never reach what is still to be read.
fn round_rows(file: &mut Vec<u8>, start: usize, kind: Kind, dimensions: usize, count: usize) -> Result<Vec<f32>> {
    let row_bytes = dimensions * kind.size();
    let mut scales = Vec::with_capacity(count);
    for number in 0..count {
        let from = start + number * row_bytes;
        let row = kind.numbers(&file[from..from + row_bytes]);
        if row.iter().any(|value| !value.is_finite()) {
            return Err(wrong(&format!("row {number} of `embeddings` holds what is no number")));
        }
        let rounded = Vector::of(&row);
        scales.push(rounded.scale);
        for (byte, value) in file[number * dimensions..].iter_mut().zip(&rounded.values) {
            *byte = value.cast_unsigned();
        }
    }
    file.truncate(count * dimensions);
    file.shrink_to_fit();
    Ok(scales)
}

pub(super) fn wrong(why: &str) -> Error {
    Error::invalid("model.safetensors", why, "take the folder of a model2vec model as it was published")
}
