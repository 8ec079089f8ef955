//! `Loads`: units for each tag. Twin of the lists in `queue.lua`.

use crate::base::micros::MAX_TIME;

/// The units of tickets for each tag; a limit that counts calls has one for each ticket. A list, because a name has few
/// tags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Loads(Vec<(Box<str>, u64)>);

impl Loads {
    pub(crate) fn get(&self, tag: &str) -> u64 {
        self.find(tag).map_or(0, |at| self.0[at].1)
    }

    pub(crate) fn add<'a>(&mut self, loads: impl Iterator<Item = (&'a str, u64)>) {
        for (tag, units) in loads.filter(|(_, units)| *units > 0) {
            match self.find(tag) {
                Some(at) => self.0[at].1 = (self.0[at].1 + units).min(MAX_TIME.0),
                None => self.0.push((tag.into(), units.min(MAX_TIME.0))),
            }
        }
    }

    pub(crate) fn remove<'a>(&mut self, loads: impl Iterator<Item = (&'a str, u64)>) {
        for (tag, units) in loads {
            let Some(at) = self.find(tag) else { continue };
            self.0[at].1 = self.0[at].1.saturating_sub(units);
            if self.0[at].1 == 0 {
                self.0.swap_remove(at);
            }
        }
    }

    fn find(&self, tag: &str) -> Option<usize> {
        self.0.iter().position(|(other, _)| **other == *tag)
    }
}
