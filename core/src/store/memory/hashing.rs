//! The hashes of keys, which users of a service may choose: with numbers at random, so that nobody can choose equal hashes.

use std::hash::BuildHasher;

/// Several times faster than the hasher of `std`, which keeps the module for browsers small.
#[cfg(not(target_family = "wasm"))]
pub(super) type Hasher = ahash::RandomState;
#[cfg(target_family = "wasm")]
pub(super) type Hasher = std::hash::RandomState;

#[cfg(not(target_family = "wasm"))]
pub(super) fn new() -> Hasher {
    use std::hash::RandomState;

    // Those of `std` come from the operating system.
    let [a, b, c, d] = std::array::from_fn(|i| RandomState::new().hash_one(i));
    Hasher::with_seeds(a, b, c, d)
}

#[cfg(target_family = "wasm")]
pub(super) fn new() -> Hasher {
    Hasher::new()
}

#[inline]
pub(super) fn hash(hasher: &Hasher, key: &str) -> u64 {
    hasher.hash_one(key)
}
