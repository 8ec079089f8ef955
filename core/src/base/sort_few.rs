//! `sort_few`: the order of a few items, such as the limits of a policy.

/// Sorts items; equal ones keep their order. Use it for at most [`MAX_LABELS`](crate::model::label::MAX_LABELS) items: its
/// time grows with their square.
///
/// The sorts of the standard library are made for many items, and large in the browser's module.
pub(crate) fn sort_few<T>(items: &mut [T], is_before: impl Fn(&T, &T) -> bool) {
    for end in 1..items.len() {
        let mut at = end;
        while at > 0 && is_before(&items[at], &items[at - 1]) {
            items.swap(at, at - 1);
            at -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_sorted_and_equal_ones_keep_their_order() {
        for mut items in [vec![], vec![(1, 'a')], vec![(3, 'a'), (1, 'b'), (2, 'c'), (1, 'd'), (3, 'e'), (0, 'f')]] {
            let mut sorted = items.clone();
            sorted.sort_by_key(|(key, _)| *key);
            sort_few(&mut items, |(a, _), (b, _)| a < b);
            assert_eq!(items, sorted);
        }
    }
}
