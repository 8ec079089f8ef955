//! The bounds of a run, made small.

use super::Simulation;
use crate::simulate::fields::Scalar;
use crate::simulate::scenario::Scenario;

/// Two in each second of the first ten.
fn simulation() -> Simulation {
    let fields = [
        ("policies[0].limits[0].kind", Scalar::from("window")),
        ("policies[0].limits[0].limit", Scalar::Whole(2)),
        ("policies[0].limits[0].interval", Scalar::from("1s")),
        ("arrivals.kind", Scalar::from("steady")),
        ("arrivals.count", Scalar::Whole(2)),
        ("arrivals.per", Scalar::from("1s")),
        ("arrivals.for", Scalar::from("10s")),
        ("until", Scalar::from("1h")),
    ];
    Simulation::new(&Scenario::read(fields).unwrap(), 0).unwrap()
}

#[test]
fn totals_say_when_it_was_cut_off() {
    for (most, is_cut_off, ended_at, utilisation) in [(7, true, 3_000_000, 875), (21, false, 3_600_000_000, 2)] {
        let mut simulation = Simulation { most_decisions: most, ..simulation() };
        while simulation.run(3).unwrap() {}
        assert!(!simulation.run(3).unwrap());
        let totals = simulation.totals();
        assert_eq!((totals.decisions, totals.cut_off), (most.min(20), is_cut_off));
        assert_eq!((totals.ended_at, totals.utilisation_permille), (ended_at, utilisation));
        assert!(totals.to_string().contains(&format!("\"cut_off\":{is_cut_off}")));
    }
}

#[test]
fn totals_say_how_much_was_not_recorded() {
    let mut all = simulation();
    while all.run(3).unwrap() {}
    assert_eq!((all.timeline().len(), all.totals().unrecorded), (20, 0));
    let mut kept = Simulation { most_rows: 12, ..simulation() };
    let mut bare = Simulation { most_rows: 12, ..simulation() }.without_timeline();
    while kept.run(3).unwrap() {}
    while bare.run(3).unwrap() {}
    assert_eq!(kept.timeline().at, all.timeline().at[..12]);
    assert_eq!((kept.timeline().levels[0].len(), kept.totals().unrecorded), (12, 8));
    assert!(kept.totals().to_string().ends_with("\"unrecorded\":8}"));
    assert_eq!(bare.totals(), kept.totals(), "whether it is recorded or not");
}
