//! `Table`: values by keys that users of a service may choose.
//!
//! Hashes have numbers at random, so that nobody can choose keys of equal ones. The caller passes them, since it uses them too.

pub(super) use implementation::{Hasher, Table};

#[cfg(not(target_family = "wasm"))]
mod implementation {
    use std::hash::{BuildHasher, RandomState};

    use hashbrown::HashTable;

    /// Several times faster than the hasher of `std`.
    #[derive(Debug)]
    pub(crate) struct Hasher(ahash::RandomState);

    impl Hasher {
        pub(crate) fn new() -> Self {
            // The seeds of `std` come from the operating system.
            let [a, b, c, d] = std::array::from_fn(|i| RandomState::new().hash_one(i));
            Self(ahash::RandomState::with_seeds(a, b, c, d))
        }

        #[inline]
        pub(crate) fn hash(&self, key: &str) -> u64 {
            self.0.hash_one(key)
        }
    }

    #[derive(Debug)]
    pub(crate) struct Table<V>(HashTable<(Box<str>, V)>);

    impl<V> Table<V> {
        pub(crate) const fn new() -> Self {
            Self(HashTable::new())
        }

        #[inline]
        pub(crate) fn get_mut(&mut self, hash: u64, key: &str) -> Option<&mut V> {
            self.0.find_mut(hash, |(other, _)| **other == *key).map(|(_, value)| value)
        }

        /// Adds a key that is not in the table.
        pub(crate) fn insert(&mut self, hasher: &Hasher, hash: u64, key: &str, value: V) {
            self.0.insert_unique(hash, (key.into(), value), |(key, _)| hasher.hash(key));
        }

        pub(crate) fn retain(&mut self, mut keeps: impl FnMut(&mut V) -> bool) {
            self.0.retain(|(_, value)| keeps(value));
        }

        #[cfg(feature = "redis")]
        pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
            self.0.iter().map(|(key, _)| &**key)
        }

        pub(crate) fn len(&self) -> usize {
            self.0.len()
        }
    }
}

/// The table of `std`, which keeps the module for browsers small. It makes its hashes itself.
#[cfg(target_family = "wasm")]
mod implementation {
    use std::collections::HashMap;

    #[derive(Debug)]
    pub(crate) struct Hasher;

    impl Hasher {
        pub(crate) const fn new() -> Self {
            Self
        }

        #[allow(clippy::unused_self)]
        pub(crate) const fn hash(&self, _key: &str) -> u64 {
            0
        }
    }

    #[derive(Debug)]
    pub(crate) struct Table<V>(HashMap<Box<str>, V>);

    impl<V> Table<V> {
        pub(crate) fn new() -> Self {
            Self(HashMap::new())
        }

        pub(crate) fn get_mut(&mut self, _hash: u64, key: &str) -> Option<&mut V> {
            self.0.get_mut(key)
        }

        pub(crate) fn insert(&mut self, _hasher: &Hasher, _hash: u64, key: &str, value: V) {
            self.0.insert(key.into(), value);
        }

        pub(crate) fn retain(&mut self, mut keeps: impl FnMut(&mut V) -> bool) {
            self.0.retain(|_, value| keeps(value));
        }

        #[cfg(feature = "redis")]
        pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
            self.0.keys().map(|key| &**key)
        }

        pub(crate) fn len(&self) -> usize {
            self.0.len()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(String),
        KeepEven,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![40 => "[a-c]{0,4}".prop_map(Step::Insert), 1 => Just(Step::KeepEven)];
        prop::collection::vec(step, 0..200)
    }

    proptest! {
        #[test]
        fn holds_what_a_map_holds(steps in steps()) {
            let (hasher, mut table, mut map) = (Hasher::new(), Table::new(), HashMap::new());
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Insert(key) => {
                        let found = table.get_mut(hasher.hash(&key), &key);
                        prop_assert_eq!(found.as_deref().copied(), map.get(&key).copied());
                        match found {
                            Some(value) => *value = number,
                            None => table.insert(&hasher, hasher.hash(&key), &key, number),
                        }
                        map.insert(key, number);
                    }
                    Step::KeepEven => {
                        table.retain(|value| *value % 2 == 0);
                        map.retain(|_, value| *value % 2 == 0);
                    }
                }
                prop_assert_eq!(table.len(), map.len());
            }
            for (key, value) in &map {
                prop_assert_eq!(table.get_mut(hasher.hash(key), key).map(|value| *value), Some(*value));
            }
        }
    }
}
