//! A tenant spends fifty dollars a month, from the 15th on in Berlin, on streams of unknown length.
//!
//! Guide: docs/src/guides/monthly-quota.md

use std::time::Duration;

use paddlegate::{Calendar, Extension, Limit, Limiter, Micros, Paddlegate, Policy, Request, TestClock};

const USD: u64 = 1_000_000;

/// Streams until it has cost so much or the budget is empty, and returns what it has cost.
fn stream(budget: &Limiter, wanted: u64) -> paddlegate::Result<u64> {
    let decision = budget.acquire(Request::estimate(USD))?;
    let Some(mut permit) = decision.permit else {
        println!("refused, again in {:?} s", decision.retry_after.map(|wait| wait.0 / 1_000_000));
        return Ok(0);
    };
    let mut reserved = USD;
    while reserved < wanted {
        match budget.extend(&permit, USD)? {
            Extension::Decided(decision) if decision.allowed() => {
                permit = decision.permit.unwrap_or(permit);
                reserved += USD;
            }
            _ => break,
        }
    }
    let cost = wanted.min(reserved);
    budget.correct(&permit, cost)?;
    Ok(cost)
}

fn main() -> paddlegate::Result<()> {
    // 2025-04-14T21:59:00Z: a minute before the 15th in Berlin.
    let clock = TestClock::new(Micros(1_744_667_940_000_000))?;
    let pg = Paddlegate::memory_with_clock(&clock);
    let calendar = Calendar::month().in_timezone("Europe/Berlin")?.starting("15")?;
    let budget = pg.limiter("tenant-7", Policy::new([Limit::quota(50 * USD, calendar)?.labelled("usd")?])?)?;

    let mut spent = 0;
    for wanted in [12_345_678, 30 * USD, 30 * USD] {
        spent += stream(&budget, wanted)?;
        println!("{spent}"); // -> 12345678, 42345678, 49345678
    }
    println!("{}", stream(&budget, USD)?); // -> 0
    clock.advance(Duration::from_secs(60))?;
    println!("{}", stream(&budget, USD)?); // -> 1000000
    Ok(())
}
