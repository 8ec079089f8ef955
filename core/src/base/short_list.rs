//! `ShortList`: a list whose first entry is stored in place.

/// A list that usually has one entry, which needs no allocation and no pointer to follow.
#[derive(Clone, Debug)]
pub(crate) struct ShortList<T> {
    first: Option<T>,
    /// Empty without a first entry.
    others: Vec<T>,
}

impl<T> Default for ShortList<T> {
    fn default() -> Self {
        Self { first: None, others: Vec::new() }
    }
}

impl<T> ShortList<T> {
    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&T> {
        if at == 0 { self.first.as_ref() } else { self.others.get(at - 1) }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        if at == 0 { self.first.as_mut() } else { self.others.get_mut(at - 1) }
    }

    pub(crate) fn push(&mut self, entry: T) {
        if self.first.is_none() {
            self.first = Some(entry);
        } else {
            self.others.push(entry);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.others)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.first.iter_mut().chain(&mut self.others)
    }

    /// Keeps only the entries for which `is_kept` holds, in their order.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&T) -> bool) {
        let kept = self.first.take().into_iter().chain(std::mem::take(&mut self.others)).filter(is_kept);
        let mut list = Self::default();
        kept.for_each(|entry| list.push(entry));
        *self = list;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entries_keep_their_order() {
        let mut list = ShortList::default();
        assert_eq!((list.len(), list.get(0)), (0, None));
        (0..5).for_each(|entry| list.push(entry));
        assert_eq!((list.len(), list.get(0), list.get(4), list.get(5)), (5, Some(&0), Some(&4), None));
        *list.get_mut(0).unwrap() += 10;
        list.iter_mut().for_each(|entry| *entry += 1);
        assert_eq!(list.iter().copied().collect::<Vec<_>>(), [11, 2, 3, 4, 5]);
        list.retain(|entry| entry % 2 == 0);
        assert_eq!((list.len(), list.get(0), list.get(1)), (2, Some(&2), Some(&4)));
        assert_eq!(list.get_mut(2), None);
    }
}
