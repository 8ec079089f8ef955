//! The native part of the Python package: converts arguments, calls core, maps errors. Python idioms and waiting are in
//! `packages/python`.

mod answer;
mod argument;
mod call;
mod caller_key;
mod cost;
mod decision;
mod decision_limit;
mod discord;
mod error;
mod gate;
mod inspection;
mod limiter;
mod limits;
mod line;
mod link;
mod live;
mod multi_step;
mod operation;
mod paddlegate;
mod signals;
mod stream_usage;
mod test_clock;
mod waiter;
mod wakeup_listener;
mod within;

/// `paddlegate._native`.
#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::call::{Call, Unfinished};
    #[pymodule_export]
    use crate::caller_key::{caller_key, plain_key};
    #[pymodule_export]
    use crate::decision::{Decision, restore};
    #[pymodule_export]
    use crate::decision_limit::{DecisionLimit, restore_limit};
    #[pymodule_export]
    use crate::discord::{DiscordRoute, discord_window};
    #[pymodule_export]
    use crate::gate::Gate;
    #[pymodule_export]
    use crate::limiter::{Limiter, LimiterOfKey, new_id, send_counts};
    #[pymodule_export]
    use crate::link::Link;
    #[pymodule_export]
    use crate::live::AdminRequest;
    #[pymodule_export]
    use crate::multi_step::MultiStepCall;
    #[pymodule_export]
    use crate::paddlegate::{ListedLimiter, LoadedLimiter, Paddlegate, Together, graphql_cost, sort_listed};
    #[pymodule_export]
    use crate::stream_usage::StreamUsage;
    #[pymodule_export]
    use crate::test_clock::TestClock;
    #[pymodule_export]
    use crate::waiter::{Waiter, reconnect_pause};
    #[pymodule_export]
    use crate::wakeup_listener::WakeupListener;
    #[pymodule_export]
    use crate::within::{WithinLimit, call_with_fallback};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        ::paddlegate::store::redis::around_send(crate::limiter::without_gil);
        ::paddlegate::store::redis::warn_by(crate::limiter::warn);
        module.add("CANCEL_TIMEOUT", crate::decision::seconds(::paddlegate::CANCEL_TIMEOUT))?;
        module.add("LIMITERS_PER_PAGE", ::paddlegate::LIMITERS_PER_PAGE)?;
        module.add("__version__", ::paddlegate::VERSION)
    }
}
