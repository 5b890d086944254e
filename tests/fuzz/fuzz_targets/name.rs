#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ebbmark_fuzz::name::check(bytes));
