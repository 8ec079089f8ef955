//! Any query has a cost under both rules, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paddlegate::{CostRules, MAX_UNITS, graphql_cost};

fuzz_target!(|asked: (&str, &str)| {
    for rules in CostRules::ALL {
        if let Ok(cost) = graphql_cost(asked.0, asked.1, None, rules) {
            assert!((1..=MAX_UNITS).contains(&cost));
        }
    }
});
