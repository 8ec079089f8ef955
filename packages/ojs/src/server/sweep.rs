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
        self.pass(&Place::Due, now, Job::due).await?;
        self.pass(&Place::Active, now, |job| job.lapsed(now)).await?;
        for record in self.store.over(&Place::Ended, now.saturating_sub(KEPT)).await? {
            self.store.forget(&record).await?;
        }
        Ok(now)
    }

    /// Changes the jobs of a place whose time has come.
    async fn pass(&self, place: &Place, now: u64, how: impl Fn(&Job) -> Transition) -> Result<(), Fault> {
        for record in self.store.over(place, now).await? {
            let transition = how(&record.job);
            // Another server may have done it.
            self.make(record.becomes(transition)).await?;
        }
        Ok(())
    }
}
