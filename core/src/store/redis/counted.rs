//! Reads statistics as they are stored: a hash of fields and counts, see `add_statistic` in `engine/state.lua`.

use super::wire::Value;
use crate::base::micros::Micros;
use crate::model::kind::Kind;
use crate::model::label::Label;
use crate::model::statistics::Statistics;
use crate::model::waits::Waits;

/// Returns the statistics in a list of each field and its count. Damaged counts are none.
pub(super) fn statistics(fields: &[Value]) -> Statistics {
    let (mut sums, mut excess) = (Statistics::default(), 0);
    for pair in fields.chunks_exact(2) {
        let [Value::Text(field), Value::Text(count)] = pair else { continue };
        let [Ok(field), Ok(count)] = [field, count].map(|text| std::str::from_utf8(text)) else { continue };
        let Ok(signed) = count.parse::<i64>() else { continue };
        let count = u64::try_from(signed).unwrap_or(0);
        match field {
            "granted" => sums.granted = count,
            "refused" => sums.refused += count,
            "wait" => sums.wait_time = Micros(count),
            // Stored as what exceeds one for each grant.
            "units" => excess = signed,
            "corrections" => sums.corrections = count,
            "held" => sums.held_time = Micros(count),
            "overages" => sums.overages = count,
            "reclaimed" => sums.reclaimed = count,
            "lapsed" => sums.lapsed = count,
            "shadow_refused" => sums.shadow_refused = count,
            _ => add(&mut sums, field, count),
        }
    }
    sums.units = sums.granted.saturating_add_signed(excess);
    sums
}

/// Adds what is counted by a limit or by a wait.
fn add(sums: &mut Statistics, field: &str, count: u64) {
    if let Some(label) = field.strip_prefix("r:").and_then(label_of_tag) {
        sums.refused += count;
        sums.refuse_by(&label, count);
    } else if let Some(bucket) = field.strip_prefix('h').and_then(|number| number.parse().ok())
        && bucket < Waits::BUCKETS
    {
        sums.waited += count;
        sums.waits.add(bucket, count);
    }
}

/// Returns the label of a limit, whose tag is the letter of its kind and with a label of its own that behind a colon.
fn label_of_tag(tag: &str) -> Option<Label> {
    if let Some((_, label)) = tag.split_once(':') {
        return Label::new(label).ok();
    }
    let is_letter = |kind: &Kind| tag.strip_prefix(kind.letter()).is_some_and(str::is_empty);
    Kind::ALL.into_iter().find(is_letter).map(Label::of)
}
