//! `NativeClock`: the clock of a store in tests.

use std::sync::Arc;

use paddlegate_core::TestClock;

use crate::error::Result;
use crate::number::{micros, us};

/// A clock that moves only when a test moves it.
#[derive(uniffi::Object)]
pub struct NativeClock(pub(crate) TestClock);

#[uniffi::export]
impl NativeClock {
    #[uniffi::constructor]
    pub fn new(now_us: i64) -> Result<Arc<Self>> {
        Ok(Arc::new(Self(TestClock::new(micros("now", now_us)?)?)))
    }

    pub fn now_us(&self) -> i64 {
        us(self.0.now())
    }

    pub fn set(&self, now_us: i64) -> Result<()> {
        Ok(self.0.set(micros("now", now_us)?)?)
    }

    pub fn advance(&self, by_us: i64) -> Result<()> {
        Ok(self.0.advance(micros("by", by_us)?.duration())?)
    }
}
