//! `Hints`: what this process last saw of states. They decide nothing: a wrong one costs a round trip.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many calls the whole script decides after a call that was not plain: a state is seldom plain again at once, and a plain
/// call in vain costs a round trip.
const WHOLE_CALLS: u64 = 63;

/// For how many keys of a keyed limiter there is a hint at a time, whatever the number of its keys.
const PLACES: usize = 256;

/// The hints of one limiter, or of all keys of a keyed one.
pub(crate) struct Hints {
    /// Each is of the last state that had the place: the number of the state, then [`Hint`].
    places: Box<[AtomicU64]>,
}

/// What is known of a state; nothing in a new one.
#[derive(Clone, Copy, Default)]
struct Hint {
    /// How many calls the whole script decides before a plain one is tried again.
    whole_calls: u64,
    /// Whether the last decision on a lease left no room for another.
    is_full: bool,
}

/// Six bits for the calls and one for a full state.
const HINT_BITS: u32 = 7;

impl Hints {
    pub(super) fn of_one() -> Self {
        Self::of(1)
    }

    pub(crate) fn of_keys() -> Self {
        Self::of(PLACES)
    }

    fn of(places: usize) -> Self {
        Self { places: (0..places).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Notes that the state was not plain.
    pub(super) fn was_not_plain(&self, state: u64) {
        self.change(state, |hint| Some(Hint { whole_calls: WHOLE_CALLS, ..hint }));
    }

    /// Returns whether the whole script should decide this call, and counts it then.
    pub(super) fn takes_whole(&self, state: u64) -> bool {
        self.change(state, |hint| Some(Hint { whole_calls: hint.whole_calls.checked_sub(1)?, ..hint }))
    }

    /// Notes whether a lease has room.
    pub(super) fn note_full(&self, state: u64, is_full: bool) {
        self.change(state, |hint| (hint.is_full != is_full).then_some(Hint { is_full, ..hint }));
    }

    /// Returns whether a lease has to wait, as far as this process knows.
    pub(super) fn is_full(&self, state: u64) -> bool {
        let (place, number) = self.place(state);
        Hint::of(place.load(Ordering::Relaxed), number).is_full
    }

    /// Changes the hint of a state; `false` when there was nothing to change.
    fn change(&self, state: u64, change: impl Fn(Hint) -> Option<Hint>) -> bool {
        let (place, number) = self.place(state);
        let change = |seen| Some(change(Hint::of(seen, number))?.word(number));
        place.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change).is_ok()
    }

    /// Returns the place of a state, and the bits of its number that tell it from others there.
    #[allow(clippy::cast_possible_truncation)] // The low bits choose the place.
    fn place(&self, state: u64) -> (&AtomicU64, u64) {
        (&self.places[state as usize % self.places.len()], state >> HINT_BITS)
    }
}

impl Hint {
    /// Reads what a place says of a state.
    const fn of(word: u64, number: u64) -> Self {
        if word >> HINT_BITS != number {
            return Self { whole_calls: 0, is_full: false };
        }
        Self { whole_calls: word & WHOLE_CALLS, is_full: word >> (HINT_BITS - 1) & 1 == 1 }
    }

    fn word(self, number: u64) -> u64 {
        number << HINT_BITS | u64::from(self.is_full) << (HINT_BITS - 1) | self.whole_calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_of_one_state_each_and_the_last_one_of_a_place_stays() {
        let hints = Hints::of_keys();
        let (state, other) = (0x1234_5678_9abc_def0, 0x1234_5678_9abc_def1);
        let same_place = state + (PLACES as u64) * 4;
        hints.was_not_plain(state);
        hints.note_full(state, true);
        assert!(hints.is_full(state) && !hints.is_full(other) && !hints.is_full(same_place));
        assert!(!hints.takes_whole(other) && !hints.takes_whole(same_place), "nothing is known of them");
        assert!(hints.takes_whole(state));
        hints.note_full(same_place, false);
        assert!(hints.is_full(state), "nothing new was noted there");
        hints.note_full(state, false);
        let left = (0..100).filter(|_| hints.takes_whole(state)).count();
        assert_eq!((left, hints.is_full(state)), (62, false), "one was taken before");
        hints.was_not_plain(state);
        hints.was_not_plain(same_place);
        assert!(!hints.takes_whole(state) && hints.takes_whole(same_place));
    }
}
