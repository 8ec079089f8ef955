//! `Ranked`: a sorted set that finds the rank of a member and the member at a rank without a full scan. In Redis a
//! sorted set.

/// The maximum number of members in a piece; a larger piece is split in two.
const PIECE: usize = 512;

/// The members in short sorted pieces, which are in order and never empty.
#[derive(Clone, Debug)]
pub(crate) struct Ranked<T> {
    pieces: Vec<Vec<T>>,
    len: usize,
}

impl<T> Default for Ranked<T> {
    fn default() -> Self {
        Self { pieces: Vec::new(), len: 0 }
    }
}

impl<T> Ranked<T> {
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Returns the member with `rank` members before it.
    pub(crate) fn get(&self, rank: usize) -> Option<&T> {
        self.from(rank).next()
    }

    /// Returns the members from a rank on.
    pub(crate) fn from(&self, mut rank: usize) -> impl Iterator<Item = &T> {
        let mut first = 0;
        while first < self.pieces.len() && rank >= self.pieces[first].len() {
            rank -= self.pieces[first].len();
            first += 1;
        }
        self.pieces[first..].iter().flatten().skip(rank)
    }

    /// Returns the number of members for which `is_before` holds; these must be the first ones.
    pub(crate) fn rank(&self, is_before: impl Fn(&T) -> bool) -> usize {
        let (piece, place) = self.place(is_before);
        self.pieces[..piece].iter().map(Vec::len).sum::<usize>() + place
    }

    fn place(&self, is_before: impl Fn(&T) -> bool) -> (usize, usize) {
        let piece = self.pieces.partition_point(|piece| piece.last().is_some_and(&is_before));
        (piece, self.pieces.get(piece).map_or(0, |piece| piece.partition_point(&is_before)))
    }
}

impl<T: Ord> Ranked<T> {
    /// Adds a member, unless the set contains it.
    pub(crate) fn insert(&mut self, member: T) {
        let (mut piece, mut place) = self.place(|other| *other < member);
        if piece == self.pieces.len() {
            // The member belongs after all others.
            if piece == 0 {
                self.pieces.push(Vec::new());
            }
            piece = self.pieces.len() - 1;
            place = self.pieces[piece].len();
        }
        let members = &mut self.pieces[piece];
        if members.get(place) == Some(&member) {
            return;
        }
        members.insert(place, member);
        self.len += 1;
        if members.len() > PIECE {
            let half = members.split_off(PIECE / 2);
            self.pieces.insert(piece + 1, half);
        }
    }

    pub(crate) fn remove(&mut self, member: &T) {
        let (piece, place) = self.place(|other| other < member);
        if self.pieces.get(piece).and_then(|members| members.get(place)) != Some(member) {
            return;
        }
        self.pieces[piece].remove(place);
        self.len -= 1;
        if self.pieces[piece].is_empty() {
            self.pieces.remove(piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn it_is_a_sorted_set_with_ranks() {
        let (mut ranked, mut set, mut number) = (Ranked::default(), BTreeSet::new(), 1_u64);
        for step in 0..40_000 {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let member = (number >> 33) % 5_000;
            // The set grows first and shrinks later.
            if (number >> 20) % 8 < if step < 20_000 { 6 } else { 2 } {
                ranked.insert(member);
                set.insert(member);
            } else {
                ranked.remove(&member);
                set.remove(&member);
            }
            if step % 97 == 0 {
                assert_eq!(ranked.len(), set.len());
                assert_eq!(ranked.rank(|other| *other < member), set.range(..member).count());
                let rank = usize::try_from(member).unwrap() % (set.len() + 1);
                assert_eq!(ranked.get(rank), set.iter().nth(rank));
            }
        }
        assert!(ranked.from(0).eq(set.iter()));
    }
}
