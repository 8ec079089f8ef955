//! `Rows`: the rows that were read a moment ago, which all open pages share: many people look at once when something is wrong.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use paddlegate::{LimiterInfo, Result};
use tokio::time::Instant;

use super::row::Row;
use crate::app::App;

/// For how long a row is shown to others.
const FRESH: Duration = Duration::from_millis(250);

/// From how many rows on the old ones are dropped.
const MANY: usize = 1_000;

#[derive(Default)]
pub(crate) struct Rows(Mutex<Known>);

#[derive(Default)]
struct Known {
    rows: HashMap<String, (Instant, Arc<Row>)>,
    /// The number of rows at which the old ones are dropped.
    swept_at: usize,
}

impl Rows {
    /// Returns the row of a limiter, which was read a moment ago or is read now.
    pub(super) async fn get(&self, app: &App, info: LimiterInfo) -> Result<Arc<Row>> {
        let id = Row::id(&info);
        if let Some((at, row)) = self.known().rows.get(&id)
            && at.elapsed() < FRESH
        {
            return Ok(row.clone());
        }
        let at = Instant::now();
        let row = Arc::new(Row::read(app, info).await?);
        let mut known = self.known();
        if known.rows.len() >= known.swept_at.max(MANY) {
            known.rows.retain(|_, (at, _)| at.elapsed() < FRESH);
            known.swept_at = 2 * known.rows.len();
        }
        known.rows.insert(id, (at, row.clone()));
        Ok(row)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use paddlegate::Request;

    use super::*;
    use crate::options::Options;

    #[tokio::test(start_paused = true)]
    async fn pages_share_a_row_for_a_moment_and_old_ones_are_dropped() {
        let app = App::open(Options::default()).expect("a store in memory");
        let make = |name: &str| app.paddlegate().bucket(name, 100, Duration::from_secs(86_400)).expect("a limiter");
        let take = |name: &str| assert!(make(name).try_acquire(Request::cost(1)).expect("a decision").allowed());
        for i in 0..MANY {
            take(&format!("n{i}"));
        }
        let rows = Rows::default();
        let all = app.paddlegate().limiters().expect("the list");
        assert_eq!(all.len(), MANY);
        let first = rows.get(&app, all[0].clone()).await.expect("a row");
        assert_eq!(first.used, "1 of 100");
        take(&all[0].name);
        let again = rows.get(&app, all[0].clone()).await.expect("a row");
        assert!(Arc::ptr_eq(&first, &again), "it was read a moment ago");
        tokio::time::advance(FRESH).await;
        assert_eq!(rows.get(&app, all[0].clone()).await.expect("a row").used, "2 of 100");
        for info in all {
            rows.get(&app, info).await.expect("a row");
        }
        tokio::time::advance(FRESH).await;
        take("one more");
        let more = app.paddlegate().limiters().expect("the list");
        let more = more.into_iter().find(|info| info.name == "one more").expect("the limiter");
        rows.get(&app, more).await.expect("a row");
        assert_eq!(rows.known().rows.len(), 1, "the others are old");
    }
}
