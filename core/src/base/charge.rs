//! `Charge`: the checked units of a call for each limit of its policy.

use std::fmt;

/// The maximum limit, capacity, cost and actual cost, in units.
pub const MAX_UNITS: u64 = 1_000_000_000_000;

/// The maximum number of limits in a policy.
pub const MAX_LIMITS: usize = 8;

/// The units of a call for each limit, in the order of the policy or, in permits and tickets, of the sorted tags.
///
/// As text "5", or "1,2000" where they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Charge {
    All(u64),
    Each { units: [u64; MAX_LIMITS], len: usize },
}

impl Charge {
    pub(crate) fn each(each: impl IntoIterator<Item = u64>) -> Self {
        let (mut units, mut len) = ([0; MAX_LIMITS], 0);
        for (at, of_limit) in units.iter_mut().zip(each) {
            *at = of_limit;
            len += 1;
        }
        Self::Each { units, len }
    }

    /// Returns the units of one limit; of a limit that counts calls, any number above zero is one call.
    #[inline]
    pub(crate) fn of(&self, i: usize) -> u64 {
        match self {
            Self::All(units) => *units,
            Self::Each { units, .. } => units[i],
        }
    }

    /// Returns the most units of a limit. The statistics count these; zero takes nothing.
    #[inline]
    pub(crate) fn most(&self) -> u64 {
        match self {
            Self::All(units) => *units,
            Self::Each { units, .. } => units.iter().copied().max().unwrap_or(0),
        }
    }

    /// Returns whether this is the charge of a call, which may take nothing; the number zero only looks.
    #[inline]
    pub(crate) fn is_call(&self) -> bool {
        !matches!(self, Self::All(0))
    }

    /// Returns one number for all where the units of each are equal, as the text of a charge has it.
    pub(crate) fn simplest(&self) -> Self {
        match self {
            Self::Each { units, len } if units[..*len].windows(2).all(|pair| pair[0] == pair[1]) => Self::All(units[0]),
            other => *other,
        }
    }

    /// Returns the units in another order: the first are those that are now at `order[0]`.
    pub(crate) fn ordered(&self, order: impl IntoIterator<Item = usize>) -> Self {
        match self {
            Self::All(_) => *self,
            Self::Each { units, .. } => Self::each(order.into_iter().map(|i| units[i])),
        }
    }

    /// Returns whether there are units for a policy with this number of limits.
    pub(crate) fn is_for(&self, limits: usize) -> bool {
        match self {
            Self::All(_) => true,
            Self::Each { len, .. } => *len == limits,
        }
    }

    /// Parses the text of a charge; `None` when this library cannot have written it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| {
            let plain = !text.is_empty() && text.len() <= 13 && text.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| text.parse().ok()).flatten().filter(|units| *units <= MAX_UNITS)
        };
        if !text.contains(',') {
            return number(text).map(Self::All);
        }
        let units: Vec<u64> = text.split(',').map(number).collect::<Option<_>>()?;
        (units.len() <= MAX_LIMITS).then(|| Self::each(units))
    }
}

impl Default for Charge {
    fn default() -> Self {
        Self::All(0)
    }
}

impl fmt::Display for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(units) => units.fmt(f),
            Self::Each { units, len } => {
                let texts: Vec<String> = units[..*len].iter().map(u64::to_string).collect();
                f.write_str(&texts.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_charge_is_read_again() {
        for charge in [Charge::All(0), Charge::All(MAX_UNITS), Charge::each([1, 2_000]), Charge::each([0; MAX_LIMITS])]
        {
            assert_eq!(Charge::parse(&charge.to_string()), Some(charge));
        }
        for text in ["", ",", "1,", "-1", "1,x", "1000000000001", "00000000000001", "1,1,1,1,1,1,1,1,1"] {
            assert_eq!(Charge::parse(text), None, "{text:?}");
        }
    }
}
