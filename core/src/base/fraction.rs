//! Fractions of whole numbers: reduced, or the best lower one with a small denominator.

/// Returns the greatest fraction of at most `numerator / denominator` whose denominator is at most `most`, reduced.
///
/// This is the lower end of the path to the fraction in the Stern-Brocot tree (Graham, Knuth, Patashnik, Concrete
/// Mathematics, 4.5), with the steps of each run taken at once, as in a continued fraction. All arguments are above
/// zero.
pub(crate) fn best_lower(numerator: u64, denominator: u64, most: u64) -> (u64, u64) {
    let (mut low, mut high) = ((0, 1), (1, 0));
    // `numerator / denominator` is now (a * high + b * low), a and b being the rest of Euclid's algorithm.
    let (mut a, mut b) = (numerator, denominator);
    loop {
        let (steps, fits) = run(a / b, low.1, high.1, most);
        low = (low.0 + steps * high.0, low.1 + steps * high.1);
        a %= b;
        if a == 0 || !fits {
            return low;
        }
        let (steps, fits) = run(b / a, high.1, low.1, most);
        high = (high.0 + steps * low.0, high.1 + steps * low.1);
        b %= a;
        if !fits {
            return low;
        }
        if b == 0 {
            return high;
        }
    }
}

/// Returns how many of `steps` keep the denominator `from + steps * by` at most `most`, and whether all do.
fn run(steps: u64, from: u64, by: u64, most: u64) -> (u64, bool) {
    let most = (most - from).checked_div(by).unwrap_or(u64::MAX);
    (steps.min(most), steps <= most)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn product(a: u64, b: u64) -> u128 {
        u128::from(a) * u128::from(b)
    }

    proptest! {
        #[test]
        fn no_fraction_with_such_a_denominator_is_between(n in 1..400_u64, d in 1..400_u64, most in 1..60_u64) {
            let (p, q) = best_lower(n, d, most);
            prop_assert!(q <= most && p * d <= n * q, "{p}/{q}");
            for other in 1..=most {
                let below = n * other / d;
                prop_assert!(below * q <= p * other, "{below}/{other} is nearer than {p}/{q}");
            }
        }

        #[test]
        fn a_fraction_that_fits_is_only_reduced(n in 1..1_u64 << 40, d in 1..1_u64 << 48) {
            let (p, q) = best_lower(n, d, d);
            prop_assert_eq!(product(p, d), product(n, q));
            prop_assert_eq!(best_lower(p, q, q), (p, q));
        }
    }
}
