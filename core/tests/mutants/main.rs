//! Mutation test of the script: each mutant has one small mistake, and the checks must detect every mutant.
//!
//! A run tries all mutants. `PADDLEGATE_MUTANTS=4` tries a fourth of them, which `PADDLEGATE_SEED` picks;
//! `PADDLEGATE_MUTANT=queue:|enter:` tries those whose description contains one of the texts.
#![allow(unreachable_pub)]

mod admin;
mod check;
mod history;
mod hosts;
mod list;
mod orders;
mod plain;
mod plain_leases;
mod policies;
mod scenario;
mod script;
mod sequences;
#[path = "../faults/server.rs"]
#[allow(dead_code)]
mod server;
#[path = "../support/mod.rs"]
mod support;
mod together;
mod workloads;

use std::env;

use check::Checks;
use list::{FILES, Mutant};
use paddlegate::store::redis::SCRIPT;
use server::Server;

#[test]
fn the_checks_detect_every_mutant_of_the_script() {
    let server = Server::start();
    let mut checks = Checks::new();
    assert!(files_match_the_library(), "the library was compiled from other files");
    checks.assert_pass(&server);
    let mutants: Vec<_> = share(all().filter(|(_, (what, ..))| is_chosen(what))).collect();
    println!("{} of {} mutants", mutants.len(), all().count());
    let mut survivors = Vec::new();
    for (file, mutant) in mutants {
        if !checks.detect(&server, &mutated_script(file, mutant)) {
            let (what, from, to) = mutant;
            survivors.push(format!("{}: {what}: {from:?} -> {to:?}", FILES[file].file));
        }
    }
    // The original script must still pass, or a broken server may have made the checks fail.
    checks.assert_pass(&server);
    assert!(survivors.is_empty(), "the checks did not detect {} mutants:\n{}", survivors.len(), survivors.join("\n"));
}

#[test]
fn every_mutant_fits_the_script() {
    assert!(files_match_the_library(), "the library was compiled from other files");
    let misfits = all().filter_map(|(file, (what, from, to))| {
        let times = FILES[file].text.matches(from).count();
        (times != 1 || from == to).then(|| format!("{}: {what}: {from:?} occurs {times} times", FILES[file].file))
    });
    let misfits: Vec<String> = misfits.collect();
    assert!(misfits.is_empty(), "{}", misfits.join("\n"));
    assert!(all().count() >= 400);
}

fn files_match_the_library() -> bool {
    FILES.map(|lua| lua.text).concat() == SCRIPT
}

/// Returns all mutants, each with the index of its file.
fn all() -> impl Iterator<Item = (usize, &'static Mutant)> {
    FILES.iter().enumerate().flat_map(|(file, lua)| lua.mutants.iter().map(move |mutant| (file, mutant)))
}

/// Returns whether this run tries the mutants of this description.
fn is_chosen(what: &str) -> bool {
    env::var("PADDLEGATE_MUTANT").map_or(true, |text| text.split('|').any(|text| what.contains(text)))
}

/// Returns the mutants that this run tries, of all.
fn share<M>(mutants: impl Iterator<Item = M>) -> impl Iterator<Item = M> {
    let number = |name| match env::var(name) {
        Ok(text) if text != "all" => Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number"))),
        _ => None,
    };
    let shares = number("PADDLEGATE_MUTANTS").unwrap_or(1).max(1);
    let picked = number("PADDLEGATE_SEED").unwrap_or(0) % shares;
    println!("mutants: share {picked} of {shares}");
    mutants.skip(picked).step_by(shares)
}

/// Returns the script with the replacement of one mutant.
fn mutated_script(file: usize, (_, from, to): &Mutant) -> String {
    let texts = FILES.iter().enumerate();
    texts.map(|(i, lua)| if i == file { lua.text.replacen(from, to, 1) } else { lua.text.to_owned() }).collect()
}
