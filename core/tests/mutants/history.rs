//! Cases of the history: random workloads do not last for hours.

use paddlegate::Kind;

use crate::support::workload::{Asked, Step, Workload};
use crate::workloads::limit;

const MINUTE: u64 = 60_000_000;

/// Returns cases with calls in many minutes and in many hours.
pub fn cases() -> Vec<Workload> {
    let calls = |spans: &[u64]| {
        let call = |by: &u64| {
            [Step::Advance(*by), Step::Acquire { units: Asked::All(2) }, Step::Acquire { units: Asked::All(3) }]
        };
        spans.iter().flat_map(call).collect::<Vec<_>>()
    };
    let on = |kind, spans: &[u64]| Workload { limits: vec![limit(kind, 4, 30)], steps: calls(spans) };
    vec![
        on(Kind::Leaky, &[MINUTE; 64]),
        on(Kind::Window, &[7 * MINUTE; 24]),
        on(Kind::Bucket, &[65 * MINUTE; 52]),
        on(Kind::Points, &[MINUTE, 59 * MINUTE, MINUTE, 48 * 60 * MINUTE, 20 * MINUTE, 47 * 60 * MINUTE]),
    ]
}
