//! `RecordedDecision`: one decision of a limiter that was recorded.

use std::str::FromStr;

use crate::base::micros::{MAX_TIME, Micros};
use crate::model::permit::Settlement;
use crate::model::policy::parse_tag;

/// One decision of a limiter while it was [recorded](crate::Limiter::record).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedDecision {
    /// The time, by the limiter's clock.
    pub at: Micros,
    /// What was asked for.
    pub verb: RecordedVerb,
    /// What became of it.
    pub outcome: RecordedOutcome,
    /// The units of each limit of the call, by label, in the order of its policy; of a correction the actual cost. Empty for a release,
    /// a cancellation and a change.
    pub units: Vec<(Box<str>, u64)>,
    /// The label of the limit that refused the call or let it wait, `paused` or `blocked`.
    pub held_up_by: Option<Box<str>>,
    /// When a refused call can come again, if it is known.
    pub retry_after: Option<Micros>,
    /// How long the call had waited in the queue.
    pub waited: Micros,
    /// How long the call may wait in the queue; `None` for one that does not.
    pub max_wait: Option<Micros>,
    /// The id of the permit, lease or ticket; empty for a call without one.
    pub id: Box<str>,
    /// Of a correction, an extension and a release when the permit was granted.
    pub granted_at: Option<Micros>,
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordedVerb {
    /// A call for units.
    Acquire,
    /// A charge in any case.
    Debit,
    /// Units that were given back without a permit.
    Refund,
    /// The actual cost of a permit, also as part of a report of the upstream.
    Correct,
    /// More units for a permit.
    Extend,
    /// The end of a lease.
    Release,
    /// The end of a ticket, and of the lease that it may have become.
    Cancel,
    /// A pause, an override, or a report of the upstream that settles no permit: other numbers may rule from now on.
    Change,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordedOutcome {
    /// The units were taken.
    Granted,
    /// Nothing was taken.
    Refused,
    /// Nothing was taken, and the limiter in shadow let the call pass.
    ShadowRefused,
    /// The call has a ticket; a later decision on its id says how its wait ends.
    Queued,
    /// A waiting call gave up.
    GaveUp,
    /// The limiter was changed.
    Changed,
    /// A permit was settled, or why it was not.
    Closed(Settlement),
}

impl RecordedVerb {
    /// All verbs, by the letter that the script writes.
    const LETTERS: [(&'static str, Self); 10] = [
        ("a", Self::Acquire),
        ("d", Self::Debit),
        ("f", Self::Refund),
        ("c", Self::Correct),
        ("l", Self::Correct),
        ("x", Self::Extend),
        ("r", Self::Release),
        ("n", Self::Cancel),
        ("g", Self::Cancel),
        ("o", Self::Change),
    ];

    /// Returns the name: `acquire`, `debit`, `refund`, `correct`, `extend`, `release`, `cancel` or `change`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Acquire => "acquire",
            Self::Debit => "debit",
            Self::Refund => "refund",
            Self::Correct => "correct",
            Self::Extend => "extend",
            Self::Release => "release",
            Self::Cancel => "cancel",
            Self::Change => "change",
        }
    }
}

impl RecordedOutcome {
    /// Returns the name: `granted`, `refused`, `shadow_refused`, `queued`, `gave_up`, `changed`, or the name of a [`Settlement`].
    pub const fn name(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Refused => "refused",
            Self::ShadowRefused => "shadow_refused",
            Self::Queued => "queued",
            Self::GaveUp => "gave_up",
            Self::Changed => "changed",
            Self::Closed(settlement) => settlement.name(),
        }
    }

    fn of(letter: &str, verb: RecordedVerb, status: u64) -> Option<Self> {
        Some(match (letter, status) {
            ("o", _) => Self::Changed,
            ("g", _) => Self::GaveUp,
            ("a" | "d" | "x", 0) => Self::Refused,
            ("a" | "d" | "f" | "x", 1) => Self::Granted,
            ("a", 2) => Self::Queued,
            ("a", 6) => Self::ShadowRefused,
            (_, 3) if verb == RecordedVerb::Correct => Self::Closed(Settlement::Settled),
            (_, 4) => Self::Closed(Settlement::Already),
            (_, 5) => Self::Closed(Settlement::Late),
            (_, 6) => Self::Closed(Settlement::Unknown),
            (_, 7) => Self::Closed(Settlement::Released),
            (_, 8) => Self::Closed(Settlement::Cancelled),
            _ => return None,
        })
    }
}

impl RecordedDecision {
    /// Reads what `engine/recording.lua` writes; `None` for another text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.splitn(11, ' ');
        let at = number(words.next()?)?;
        let letter = words.next()?;
        let (_, mut verb) = *RecordedVerb::LETTERS.iter().find(|(known, _)| *known == letter)?;
        let status = number(words.next()?)?;
        let index = usize::try_from(number::<u64>(words.next()?)?).ok()?;
        let (wait, waited) = (number(words.next()?)?, number(words.next()?)?);
        let (granted_at, max_wait) = (optional(words.next()?)?, optional(words.next()?)?);
        let (units, tags, id) = (words.next()?, words.next()?, words.next()?);
        let label = |tag: &str| parse_tag(tag).map(|(_, label)| Box::<str>::from(&*label));
        let labels: Vec<_> = list(tags).map(label).collect::<Option<_>>()?;
        let numbers: Vec<u64> = list(units).map(number).collect::<Option<_>>()?;
        if !numbers.is_empty() && numbers.len() != labels.len() {
            return None;
        }
        let outcome = if letter == "l" && numbers.is_empty() {
            verb = RecordedVerb::Change;
            RecordedOutcome::Changed
        } else {
            RecordedOutcome::of(letter, verb, status)?
        };
        let is_held_up =
            matches!(outcome, RecordedOutcome::Refused | RecordedOutcome::ShadowRefused | RecordedOutcome::Queued);
        let held_up_by = match index.checked_sub(labels.len()) {
            Some(0) => "paused".into(),
            Some(_) => "blocked".into(),
            None => labels[index].clone(),
        };
        Some(Self {
            at: Micros(at),
            verb,
            outcome,
            units: labels.into_iter().zip(numbers).collect(),
            held_up_by: is_held_up.then_some(held_up_by),
            retry_after: (is_held_up && wait < MAX_TIME.0).then_some(Micros(wait)),
            waited: Micros(waited),
            max_wait,
            id: id.into(),
            granted_at,
        })
    }
}

fn number<N: FromStr>(text: &str) -> Option<N> {
    text.parse().ok()
}

#[allow(clippy::option_option, reason = "the outer one says that the text is no number")]
fn optional(text: &str) -> Option<Option<Micros>> {
    if text == "-" { Some(None) } else { number(text).map(|micros| Some(Micros(micros))) }
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|word| *word != "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_script_writes_is_read() {
        let units =
            |units: &[(&str, u64)]| units.iter().map(|(label, units)| (Box::from(*label), *units)).collect::<Vec<_>>();
        let read = |text: &str| RecordedDecision::parse(text).unwrap_or_else(|| panic!("{text}"));
        let granted = read("5000000 a 1 0 0 20 - 3000000 1,900 w:rpm,p a b c");
        let expected = RecordedDecision {
            at: Micros(5_000_000),
            verb: RecordedVerb::Acquire,
            outcome: RecordedOutcome::Granted,
            units: units(&[("rpm", 1), ("points", 900)]),
            held_up_by: None,
            retry_after: None,
            waited: Micros(20),
            max_wait: Some(Micros(3_000_000)),
            id: "a b c".into(),
            granted_at: None,
        };
        assert_eq!(granted, expected);
        let refused = read("5 a 0 1 7 0 - - 1,900 w:rpm,p ");
        assert_eq!(
            (refused.held_up_by.as_deref(), refused.retry_after, &*refused.id),
            (Some("points"), Some(Micros(7)), "")
        );
        assert_eq!(read("5 a 0 2 7 0 - - 1,900 w:rpm,p ").held_up_by.as_deref(), Some("paused"));
        assert_eq!(read("5 a 6 3 4503599627370496 0 - - 1,900 w:rpm,p ").held_up_by.as_deref(), Some("blocked"));
        assert_eq!(read("5 a 0 0 4503599627370496 0 - - 1 c ").retry_after, None);
        let settled = read("9 c 3 0 0 0 4 - 5 p id:4:9");
        assert_eq!(
            (settled.outcome.name(), settled.granted_at, settled.verb.name()),
            ("settled", Some(Micros(4)), "correct")
        );
        for (text, verb, outcome) in [
            ("9 l 3 0 0 0 4 - 5 p id:4:9", "correct", "settled"),
            ("9 l 3 0 0 0 0 - - p ", "change", "changed"),
            ("9 o 0 0 0 0 - - - p ", "change", "changed"),
            ("9 o 0 0 0 0 - - - - ", "change", "changed"),
            ("9 d 1 0 0 0 - - 5 p ", "debit", "granted"),
            ("9 f 1 0 0 0 - - 5 p ", "refund", "granted"),
            ("9 x 0 0 5 0 4 - 5 p id:4:9", "extend", "refused"),
            ("9 x 4 0 0 0 4 - 5 p id:4:9", "extend", "already"),
            ("9 r 7 0 0 0 4 - - c id", "release", "released"),
            ("9 r 5 0 0 0 4 - - c id", "release", "late"),
            ("9 n 8 0 0 5 - - - c id", "cancel", "cancelled"),
            ("9 g 8 0 0 5 - - - c id", "cancel", "gave_up"),
            ("9 a 2 0 5 0 - 7 1 c id", "acquire", "queued"),
        ] {
            let read = read(text);
            assert_eq!((read.verb.name(), read.outcome.name()), (verb, outcome), "{text}");
        }
    }

    #[test]
    fn another_text_is_not_read() {
        for text in [
            "",
            "5000000",
            "x a 1 0 0 0 - - 1 w id",
            "5 z 1 0 0 0 - - 1 w id",
            "5 a 9 0 0 0 - - 1 w id",
            "5 a 1 0 0 0 - - 1,2 w id",
            "5 a 1 0 0 0 - - 1 y id",
            "5 a 1 0 0 0 - - 1 w",
            "5 a 1 0 0 0 - x 1 w id",
        ] {
            assert_eq!(RecordedDecision::parse(text), None, "{text}");
        }
    }
}
