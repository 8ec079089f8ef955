//! Any answer of an upstream pauses for at most as long as allowed, and teaches what a limiter takes.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use paddlegate::upstream::{Feedback, MAX_PAUSE, Provider, Response};
use paddlegate::{AdminCommand, LEARNED_FACTOR, Limit, Paddlegate, Policy};

fuzz_target!(|answer: (u8, Option<u16>, Vec<(&str, &str)>, &str)| {
    let (provider, status, headers, body) = answer;
    let provider = Provider::ALL[usize::from(provider) % Provider::ALL.len()];
    let feedback = Feedback::read(provider, &Response { status, headers: &headers, body }, MAX_PAUSE);
    assert!(feedback.pause.is_none_or(|pause| pause <= MAX_PAUSE));
    let limits = [Limit::points(1_000, Duration::from_secs(20)), Limit::bucket(5_000, Duration::from_secs(3_600))];
    let policy = Policy::new(limits.map(|limit| limit.expect("a limit"))).expect("a policy");
    let limiter = Paddlegate::memory().limiter("fuzz", policy).expect("a limiter");
    let update = feedback.update_for(limiter.policy(), MAX_PAUSE, None);
    limiter.apply_report(update.report(None)).expect("what a limiter takes");
    let runtime_state = limiter.admin(AdminCommand::Get).expect("what is in force");
    for learned in runtime_state.learned {
        let limits = limiter.policy().limits();
        let limit = limits.iter().find(|limit| limit.label() == learned.label()).expect("a limit of the policy");
        assert!(learned.amount() <= LEARNED_FACTOR * limit.amount());
    }
});
