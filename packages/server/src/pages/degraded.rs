//! Whether programs decided without the store lately.

use paddlegate::{History, Micros};

use crate::wall_clock::since_1970;

/// How long a limiter counts as degraded after a decision without the store.
const LATELY: Micros = Micros(300_000_000);

/// Returns how long ago a program decided a call of the limiter without the store, if that was lately. A program whose clock is ahead
/// did it just now.
pub(super) fn since(history: &History) -> Option<Micros> {
    let now = u64::try_from(since_1970().as_micros()).unwrap_or(u64::MAX);
    let ago = Micros(now.saturating_sub(history.last_degraded?.0));
    (ago <= LATELY).then_some(ago)
}
