//! `Rng`: random numbers that depend only on the seed.

use super::fields::Field;
use crate::base::error::Result;

/// The purpose of a random number. Numbers for one purpose do not affect the others.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stream {
    Arrivals = 1,
    Costs = 2,
    Actuals = 3,
    Work = 4,
    Retries = 5,
}

/// A generator: `SplitMix64` (Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub(super) struct Rng {
    state: u64,
}

impl Rng {
    pub(super) fn new(seed: u64, stream: Stream) -> Self {
        Self { state: mixed(seed ^ mixed(stream as u64)) }
    }

    /// Returns the generator for one attempt of one job, independent of other jobs and attempts.
    pub(super) fn of_try(seed: u64, job: usize, attempt: u32) -> Self {
        let Self { state } = Self::new(seed, Stream::Retries);
        Self { state: mixed(state ^ mixed(job as u64) ^ u64::from(attempt)) }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.state)
    }

    /// Returns a number from 0 to `below` - 1, or 0.
    #[allow(clippy::cast_possible_truncation, reason = "the upper half of a product of two halves")]
    pub(super) fn below(&mut self, below: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(below)) >> 64) as u64
    }

    /// Returns a number above 0 and at most 1.
    #[allow(clippy::cast_precision_loss, reason = "53 bits are exact")]
    pub(super) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / 9_007_199_254_740_992.0
    }
}

fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A range of equally likely numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) least: u64,
    pub(super) most: u64,
}

impl Range {
    pub(super) const fn only(number: u64) -> Self {
        Self { least: number, most: number }
    }

    pub(super) fn draw(self, draw: &mut Rng) -> u64 {
        if self.least == self.most { self.least } else { self.least + draw.below(self.most - self.least + 1) }
    }

    /// Reads a value or a list of two, each read by `value`.
    pub(super) fn read(field: &Field<'_>, value: impl Fn(&Field<'_>) -> Result<Option<u64>>) -> Result<Option<Self>> {
        let items = field.items(2)?;
        match &items[..] {
            [] => Ok(value(field)?.map(Self::only)),
            [least, most] => {
                let (least, most) = (least.required(value(least)?)?, most.required(value(most)?)?);
                if least > most {
                    return Err(field.fault("must have the lower number first"));
                }
                Ok(Some(Self { least, most }))
            }
            _ => Err(field.fault("must be one value or a list of the least and the most")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        // The first numbers of SplitMix64 from the state 1234567, as published with the xoshiro generators.
        let mut draw = Rng { state: 1_234_567 };
        let first: Vec<u64> = (0..3).map(|_| draw.next()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn every_number_of_a_range_comes_about_as_often() {
        let mut draw = Rng::new(1, Stream::Costs);
        let mut counts = [0_u32; 10];
        for _ in 0..10_000 {
            counts[usize::try_from(Range { least: 3, most: 12 }.draw(&mut draw) - 3).unwrap()] += 1;
        }
        assert!(counts.iter().all(|times| (850..1_150).contains(times)), "{counts:?}");
        assert_eq!((0..1_000).filter(|_| draw.unit() > 1.0 || draw.unit() <= 0.0).count(), 0);
    }
}
