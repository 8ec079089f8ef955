//! The share of Rust in `make bench`: `paddlegate-bench redis`, `memory`, `http CORE`, and `handoff` as in handoff.rs.
mod bare;
mod handoff;
mod http;
mod measure;
mod memory;
mod server;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let url = || std::env::var("PADDLEGATE_URL").expect("PADDLEGATE_URL names the server");
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["memory"] => memory::run(),
        ["bare"] => bare::run(),
        ["http", core] => http::run(core),
        ["redis"] => server::run(&url()),
        ["handoff", name, limit, lock_ms, hold_ms, rounds, "1"] => {
            let numbers = [limit, lock_ms, hold_ms, rounds].map(|text| text.parse().expect("a number"));
            handoff::run(&url(), name, numbers);
        }
        _ => panic!("usage: paddlegate-bench redis|memory|http|handoff ..."),
    }
}
