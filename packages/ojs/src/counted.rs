//! What the store counts of a limiter, each under a field that ends with its name.

use std::collections::HashMap;

use paddlegate::Durations;

/// What was counted of one limiter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// How often it began to be exceeded, by strategy.
    pub(crate) exceeded: Vec<(String, u64)>,
    /// The jobs that waited, by how long, as [`Durations`] counts them.
    pub(crate) waits: [u64; Durations::BUCKETS],
    /// The sum of their waits, in microseconds.
    pub(crate) waited: u64,
}

/// Returns the field of a limiter that began to be exceeded.
pub(crate) fn exceeded(limiter: &str, strategy: &str) -> [(String, u64); 1] {
    [(format!("exceeded {strategy} {limiter}"), 1)]
}

/// Returns the fields of a job that waited for so many microseconds.
pub(crate) fn wait(limiter: &str, waited: u64) -> [(String, u64); 2] {
    let bucket = Durations::bucket(waited);
    [(format!("waits {bucket} {limiter}"), 1), (format!("waited us {limiter}"), waited)]
}

/// Sorts fields by their limiters.
pub(crate) fn by_limiter(fields: Vec<(String, u64)>) -> HashMap<String, Counted> {
    let mut all = HashMap::<String, Counted>::new();
    for (field, count) in fields {
        let mut parts = field.splitn(3, ' ');
        let (Some(what), Some(which), Some(limiter)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let counted = all.entry(limiter.to_owned()).or_default();
        match what {
            "exceeded" => counted.exceeded.push((which.to_owned(), count)),
            "waited" => counted.waited = count,
            _ => {
                if let Some(waits) = which.parse().ok().and_then(|bucket: usize| counted.waits.get_mut(bucket)) {
                    *waits = count;
                }
            }
        }
    }
    for counted in all.values_mut() {
        counted.exceeded.sort();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_they_were_written() {
        let fields =
            [&exceeded("ojs/key/a b", "window")[..], &exceeded("ojs/a", "rate")[..], &wait("ojs/a", 1_999)[..]];
        let mut all = by_limiter(fields.concat());
        assert_eq!(all.remove("ojs/key/a b").unwrap().exceeded, [("window".to_owned(), 1)]);
        let counted = all.remove("ojs/a").unwrap();
        assert_eq!((counted.exceeded, counted.waited, counted.waits[1]), (vec![("rate".to_owned(), 1)], 1_999, 1));
        assert_eq!((counted.waits.iter().sum::<u64>(), all.len()), (1, 0));
    }

    #[test]
    fn a_wait_is_below_its_bound() {
        let field = |waited| wait("x", waited)[0].0.clone();
        assert_eq!(
            [0, 999, 1_000, 1_048_575_999, 1_048_576_000].map(field),
            ["waits 0 x", "waits 0 x", "waits 1 x", "waits 20 x", "waits 21 x"]
        );
    }
}
