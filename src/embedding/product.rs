//! Products of one vector with many: what a recall by meaning spends most of its time on.

/// Sum of the products of two vectors' components. Whole numbers: exact in any order.
#[inline(always)]
#[expect(clippy::inline_always, reason = "made anew for each set of instructions")]
fn product(row: &[i8], vector: &[i16]) -> i32 {
    row.iter().zip(vector).map(|(left, right)| i32::from(*left) * i32::from(*right)).sum()
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "made anew for each set of instructions")]
fn fill(rows: &[i8], vector: &[i16], products: &mut [i32]) {
    for (result, row) in products.iter_mut().zip(rows.chunks_exact(vector.len())) {
        *result = product(row, vector);
    }
}

/// As [`fill`], with 256-bit instructions: half the time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn fill_avx2(rows: &[i8], vector: &[i16], products: &mut [i32]) {
    fill(rows, vector, products);
}

/// As [`fill`], with 512-bit instructions: a quarter of the time, which is that of reading the rows.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw,avx512vl")]
fn fill_avx512(rows: &[i8], vector: &[i16], products: &mut [i32]) {
    fill(rows, vector, products);
}

/// Fills with the widest instructions that the processor has.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the processor is asked whether it has these instructions")]
fn fill_widely(rows: &[i8], vector: &[i16], products: &mut [i32]) {
    if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl") {
        // SAFETY: both are there; the function is safe but for that.
        unsafe { fill_avx512(rows, vector, products) }
    } else if is_x86_feature_detected!("avx2") {
        // SAFETY: AVX2 is there; the function is safe but for that.
        unsafe { fill_avx2(rows, vector, products) }
    } else {
        fill(rows, vector, products);
    }
}

#[cfg(not(target_arch = "x86_64"))]
use fill as fill_widely;

/// The product of each row with `vector`, a row being as long as it; nothing for an empty one.
pub fn products(rows: &[i8], vector: &[i8]) -> Vec<i32> {
    if vector.is_empty() {
        return Vec::new();
    }
    let wide: Vec<i16> = vector.iter().map(|component| i16::from(*component)).collect();
    let mut products = vec![0; rows.len() / wide.len()];
    fill_widely(rows, &wide, &mut products);
    products
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn products_are_those_of_plain_sums(rows in prop::collection::vec(any::<i8>(), 0..700), length in 1usize..70) {
            let vector: Vec<i8> = rows.iter().rev().copied().chain([-128, 127, 3]).cycle().take(length).collect();
            let plain: Vec<i32> = rows
                .chunks_exact(length)
                .map(|row| row.iter().zip(&vector).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum())
                .collect();
            let wide: Vec<i16> = vector.iter().map(|component| i16::from(*component)).collect();
            let mut without = vec![0; plain.len()];
            fill(&rows, &wide, &mut without);
            prop_assert_eq!(&without, &plain);
            prop_assert_eq!(products(&rows, &vector), plain);
        }
    }

    #[test]
    fn an_empty_vector_has_no_products() {
        assert_eq!(products(&[1, 2, 3], &[]), Vec::<i32>::new());
        assert_eq!(products(&[], &[1, 2]), Vec::<i32>::new());
    }
}
