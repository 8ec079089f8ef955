//! What time does to jobs: those that are due become available, and those whose worker is silent are taken from it.

use super::Ojs;
use crate::fault::Fault;
use crate::job::Job;
use crate::lifecycle::Transition;
use crate::store::Place;

/// How long a job that has ended is kept: a day.
const KEPT: u64 = 86_400_000_000;

impl Ojs {
    /// Does what is due by now, a bounded part of it. Each request does this first, so that no process needs a timer.
    pub(super) async fn sweep(&self) -> Result<u64, Fault> {
        let now = self.store.now().await?;
        self.pass(&Place::Due, now, |job| job.due()).await?;
        for lost in self.pass(&Place::Active, now, |job| job.lapsed(now)).await? {
            self.free(&lost).await?;
        }
        for record in self.store.over(&Place::Ended, now.saturating_sub(KEPT)).await? {
            self.store.forget(&record).await?;
        }
        Ok(now)
    }

    /// Changes the jobs of a place whose time has come; returns them as they were.
    async fn pass(&self, place: &Place, now: u64, how: impl Fn(&Job) -> Transition) -> Result<Vec<Job>, Fault> {
        let mut passed = Vec::new();
        for record in self.store.over(place, now).await? {
            let (before, transition) = (record.job.clone(), how(&record.job));
            // Another server may have done it.
            if self.store.apply(&record.becomes(transition)).await? {
                passed.push(before);
            }
        }
        Ok(passed)
    }
}
