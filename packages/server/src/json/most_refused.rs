//! `MostRefusedBody`: the most refused keys of a keyed limiter.

use paddlegate::RefusedKey;
use serde::Serialize;
use utoipa::ToSchema;

/// The keys of a keyed limiter whose calls were refused most often in this hour and the last, the most refused first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MostRefusedBody {
    /// The keys.
    keys: Vec<RefusedKeyBody>,
}

/// A key, and how often it was refused.
#[derive(Debug, Serialize, ToSchema)]
struct RefusedKeyBody {
    /// The key.
    key: String,
    /// How many of its calls were refused, and how many of its waits timed out. Never too high.
    refused: u64,
}

impl From<Vec<RefusedKey>> for MostRefusedBody {
    fn from(keys: Vec<RefusedKey>) -> Self {
        Self { keys: keys.into_iter().map(|RefusedKey { key, refused }| RefusedKeyBody { key, refused }).collect() }
    }
}
