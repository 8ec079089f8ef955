//! Damaged states of a name with several policies.

use paddlegate::{
    AdminCommand, Deadline, Error, ErrorKind, Kind, Limit, LimitOverride, Limiter, MAX_SPAN, Paddlegate, Policy,
    Request, Settlement, Status, UpstreamReport, Wait,
};

use super::{HOUR, LONG_TIMEOUT, YEAR, acquire_one, existing_only, failed, longest_wait};
use crate::server::Server;

const NAME: &str = "shared";
/// A number above all that the script writes.
const HUGE: &str = "99999999999999999999999";

fn open(server: &Server) -> Paddlegate {
    Paddlegate::open(&server.url(), Some(LONG_TIMEOUT)).unwrap()
}

fn limiter(pg: &Paddlegate, limits: Vec<Limit>) -> Limiter {
    pg.limiter(NAME, Policy::new(limits).unwrap()).unwrap()
}

fn labelled(limit: Result<Limit, Error>, label: &str) -> Limit {
    limit.unwrap().labelled(label).unwrap()
}

/// Returns limiters of one name, two by two without a common limit but the leases.
fn policies(pg: &Paddlegate) -> Vec<Limiter> {
    vec![
        limiter(pg, vec![Limit::window(5, HOUR).unwrap(), Limit::concurrency(5, HOUR).unwrap()]),
        limiter(pg, vec![labelled(Limit::leaky(5, YEAR), "rpm"), labelled(Limit::bucket(5, YEAR), "rpd")]),
        limiter(pg, vec![labelled(Limit::window(5, YEAR), "per_day-2"), labelled(Limit::points(5, YEAR), "tpm")]),
    ]
}

/// Asserts that every kind of call fails with a data error, or refuses.
fn assert_no_grant(limiter: &Limiter, what: &str) {
    let results = [
        acquire_one(limiter),
        limiter.acquire_with_id(Request::cost(1), "caller", None),
        limiter.acquire_with_id(Request::estimate(1), "caller", Some(longest_wait())),
    ];
    for result in results {
        match result {
            Err(error) => assert_eq!(error.kind(), ErrorKind::Data, "{what:?}: {error}"),
            Ok(decision) => panic!("{what:?}: {decision:?}"),
        }
    }
    for error in [
        limiter.statistics().unwrap_err(),
        limiter.cancel("caller").unwrap_err(),
        limiter.admin(AdminCommand::Get).unwrap_err(),
        limiter.admin(AdminCommand::Resume).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Data, "{what:?}: {error}");
    }
}

/// Returns all keys but the statistics and the list of limiters, with what they hold.
fn contents(server: &Server) -> Vec<(String, String)> {
    let keys = server.execute(&["KEYS", "*"]);
    let is_decisive = |key: &&str| !key.contains(":m:") && !key.contains(":limiters");
    let mut keys: Vec<&str> = keys.lines().filter(is_decisive).collect();
    keys.sort_unstable();
    keys.into_iter().map(|key| (key.to_owned(), server.execute(&["DUMP", key]))).collect()
}

#[test]
fn a_damaged_record_of_another_policy_is_an_error_and_never_a_grant() {
    let server = Server::start();
    let pg = open(&server);
    let limiters = policies(&pg);
    // The records of the others stand behind those of the last policy that was used.
    for last in 0..limiters.len() {
        server.execute(&["FLUSHALL"]);
        for (i, limiter) in limiters.iter().enumerate() {
            if i != last {
                acquire_one(limiter).unwrap();
            }
        }
        acquire_one(&limiters[last]).unwrap();
        let key = server.key(":s:");
        let valid = server.execute(&["GET", &key]);
        let words: Vec<&str> = valid.split(' ').collect();
        let with = |i: usize, word: &str| {
            let mut damaged = words.clone();
            damaged[i] = word;
            damaged.join(" ")
        };
        let mut bad_values = Vec::new();
        for (i, word) in words.iter().enumerate() {
            for bad_word in ["nan", "inf", "-1", "1.5", "1e3", "0x1", HUGE, "", "?", "W", "w@", "1@", "@"] {
                bad_values.push(with(i, bad_word));
            }
            let Some((number, times)) = word.split_once('@') else { continue };
            for bad_times in
                ["", "~", "1", "1~", "~1", "-1~1", "1~-1", "1.5~1", "1~1.5", "x~1", "1~x", "1~1~1", "1~1@1~1"]
            {
                bad_values.push(with(i, &format!("{number}@{bad_times}")));
            }
            // A record later than the state.
            let (_, end) = times.split_once('~').unwrap();
            bad_values.push(with(i, &format!("{number}@{HUGE}~{end}")));
            bad_values.push(with(i, &format!("{number}@{}~{end}", "9".repeat(400))));
        }
        // A state that was cut off, and one with a record twice.
        bad_values.extend((2..words.len()).map(|count| words[..count].join(" ")));
        bad_values.push(valid.replace(" .", " c 1 ."));
        for damaged in bad_values {
            server.execute(&["SET", &key, &damaged]);
            let before = contents(&server);
            for limiter in &limiters {
                assert_no_grant(limiter, &damaged);
            }
            assert_eq!(contents(&server), before, "{damaged:?}: nothing is written");
        }
        server.execute(&["SET", &key, &valid]);
        assert!(limiters.iter().all(|limiter| acquire_one(limiter).unwrap().allowed()));
    }
}

#[test]
fn a_record_that_is_to_end_too_late_is_an_error_and_changes_nothing() {
    let server = Server::start();
    let pg = open(&server);
    let limiters = policies(&pg);
    assert!(limiters.iter().all(|limiter| acquire_one(limiter).unwrap().allowed()));
    let key = server.key(":s:");
    let valid = server.execute(&["GET", &key]);
    let (before_end, end) = valid.split_once('~').unwrap();
    let (_, rest) = end.split_once(' ').unwrap();
    for end in [HUGE, "9999999999999999999999999999999999999999", &"9".repeat(400)] {
        let damaged = format!("{before_end}~{end} {rest}");
        server.execute(&["SET", &key, &damaged]);
        let before = contents(&server);
        for limiter in &limiters {
            assert_no_grant(limiter, &damaged);
        }
        assert_eq!(contents(&server), before, "{damaged:?}: nothing is written");
    }
}

#[test]
fn damaged_overrides_are_an_error_and_never_a_grant() {
    let server = Server::start();
    let pg = open(&server);
    let limiters = policies(&pg);
    acquire_one(&limiters[1]).unwrap();
    let changes = [
        LimitOverride::Set(labelled(Limit::leaky(7, YEAR), "rpm")),
        LimitOverride::Set(labelled(Limit::window(7, YEAR), "other")),
    ];
    limiters[1].admin(AdminCommand::Override { changes: &changes, expires: None }).unwrap();
    let key = server.key(":s:");
    let valid = server.execute(&["GET", &key]);
    let (clock, rest) = valid.split_once(';').unwrap();
    let (overrides, records) = rest.split_once(' ').unwrap();
    let fields: Vec<&str> = overrides.split(';').collect();
    assert_eq!(fields.len(), 6, "{valid}");
    let with = |i: usize, field: &str| {
        let mut damaged = fields.clone();
        damaged[i] = field;
        format!("{clock};{} {records}", damaged.join(";"))
    };
    let mut bad_values = Vec::new();
    for i in 0..4 {
        bad_values.extend(["", "x", "nan", "-1", "1.5", "1e3", "0x1", HUGE].map(|word| with(i, word)));
    }
    let own = "l:rpm=7/1/1";
    for i in 4..6 {
        for list in [
            "x",
            "=",
            "l:rpm",
            "l:rpm=",
            "l:rpm=7",
            "l:rpm=7/1",
            "l:rpm=7/1/1/1",
            "l:rpm=-7/1/1",
            "l:rpm=1.5/1/1",
            "=7/1/1",
            "l:rpm=x/1/1",
            "l:rpm=0/1/1",
            "l:rpm=7/0/1",
            "l:rpm=7/1/0",
            "w:other=0/1/0",
            "w:other=100001/1/0",
            "b:rpd=5/1/1",
            "c=100001/1/0",
            "l:rpm=7/1/1=",
            "l:rpm==7/1/1",
            &format!("{own},"),
            &format!(",{own}"),
            &format!("{own},,{own}"),
            &format!("{own};"),
            &format!("l:rpm={HUGE}/1/1"),
            &format!("l:rpm=7/{HUGE}/1"),
            &format!("l:rpm=7/1/{HUGE}"),
            // Damage of the override of a limit that the caller does not have.
            &format!("{own},w:other=nan/1/0"),
            &format!("{own},w:other"),
            &format!("{own},w:other=5/1.5/0"),
        ] {
            bad_values.push(with(i, list));
        }
    }
    bad_values.push(format!("{clock};{} {records}", fields[..5].join(";")));
    bad_values.push(format!("{clock};{};x {records}", fields.join(";")));
    for damaged in bad_values {
        server.execute(&["SET", &key, &damaged]);
        let before = contents(&server);
        for limiter in &limiters {
            assert_no_grant(limiter, &damaged);
        }
        assert_eq!(contents(&server), before, "{damaged:?}: nothing is written");
    }
    server.execute(&["SET", &key, &valid]);
    assert!(limiters.iter().all(|limiter| acquire_one(limiter).unwrap().allowed()));
}

#[test]
fn a_ticket_with_damaged_tags_is_never_a_grant_and_blocks_nobody() {
    let server = Server::start();
    let pg = open(&server);
    for limit in [Limit::concurrency(1, HOUR), Limit::window(1, YEAR), Limit::leaky(1, YEAR)] {
        for bad_tags in ["x", ",", "w,,w", "w:", ":", "%", "=", "9999", &"w,".repeat(1_000)] {
            server.execute(&["FLUSHALL"]);
            let limiter = limiter(&pg, vec![limit.clone().unwrap()]);
            let holder = limiter.acquire_with_id(Request::cost(1), "holder", None).unwrap();
            for waiter in ["first", "second"] {
                let decision = limiter.acquire_with_id(Request::cost(1), waiter, Some(longest_wait())).unwrap();
                assert_eq!(decision.status, Status::Queued);
            }
            let tickets = server.key(":t:");
            let valid = server.execute(&["HGET", &tickets, "first"]);
            let mut words: Vec<&str> = valid.split(' ').collect();
            words.resize(9, "");
            words[7] = bad_tags;
            server.execute(&["HSET", &tickets, "first", &words.join(" ")]);
            let decision = limiter.acquire_with_id(Request::cost(1), "first", Some(existing_only())).unwrap();
            assert_eq!(decision.status, Status::Queued, "{bad_tags:?}");
            assert_eq!(acquire_one(&limiter).unwrap().status, Status::Refused, "{bad_tags:?}");
            server.execute(&["HSET", &tickets, "first", &words.join(" ")]);
            if limiter.policy().limits()[0].kind() == Kind::Concurrency {
                assert_eq!(limiter.release(&holder.permit.unwrap()).unwrap(), Settlement::Released, "{bad_tags:?}");
                let decision = limiter.acquire_with_id(Request::cost(1), "second", Some(longest_wait())).unwrap();
                assert!(decision.allowed(), "{bad_tags:?}: {decision:?}");
            }
            assert_eq!(limiter.cancel("first").unwrap(), Settlement::Cancelled, "{bad_tags:?}");
        }
    }
}

#[test]
fn a_damaged_permit_settles_nothing_and_fails_no_call() {
    let server = Server::start();
    let limiter = limiter(&open(&server), vec![labelled(Limit::points(100, YEAR), "tpm")]);
    let permit = limiter.acquire_with_id(Request::estimate(10), "call", None).unwrap().permit.unwrap();
    let permits = server.key(":p:");
    let lines = server.execute(&["ZRANGE", &permits, "0", "-1", "WITHSCORES"]);
    let (member, score) = lines.split_once('\n').unwrap();
    assert_eq!(member, format!("p:tpm|{permit}"));
    // A permit of other limits is none of this report's calls, so that the remaining units may rise.
    let members = [permit.clone(), format!("|{permit}"), "x".to_owned(), "p:tpm|x".to_owned(), format!("p|{permit}")];
    for (damaged, remaining) in members.into_iter().zip([90, 90, 90, 90, 100]) {
        server.execute(&["DEL", &permits]);
        server.execute(&["ZADD", &permits, score, &damaged]);
        assert_eq!(limiter.correct(&permit, 50).unwrap(), Settlement::Unknown, "{damaged:?}");
        let budgets = limiter.budget_updates(None, Some(100), None, None, None).unwrap();
        limiter.apply_report(UpstreamReport { budgets: &budgets, ..UpstreamReport::default() }).unwrap();
        assert_eq!(limiter.peek(Request::cost(1)).unwrap().remaining, Some(remaining), "{damaged:?}");
    }
}

/// Uses every key of every policy of the name.
fn use_all(limiters: &[Limiter]) {
    for (i, limiter) in limiters.iter().enumerate() {
        assert!(limiter.acquire_with_id(Request::estimate(5), &format!("holder {i}"), None).unwrap().allowed());
        let waits = Wait::up_to(MAX_SPAN);
        let decision = limiter.acquire_with_id(Request::cost(5), &format!("waiter {i}"), Some(waits)).unwrap();
        assert_eq!(decision.status, Status::Queued);
    }
}

/// Returns the roles of the keys of all limiters.
fn roles(server: &Server) -> Vec<String> {
    let keys = server.execute(&["KEYS", "*"]);
    let role = |key: &str| key.split_once("}:").unwrap().1.split(':').next().unwrap().to_owned();
    let mut roles: Vec<String> = keys.lines().map(role).filter(|role| role != "limiters").collect();
    roles.sort();
    roles
}

#[test]
fn a_reset_of_a_damaged_state_deletes_everything() {
    let server = Server::start();
    let pg = open(&server);
    let limiters = policies(&pg);
    let changes: [fn(&str) -> String; 8] = [
        |valid| valid.to_owned(),
        |valid| format!("{valid} x"),
        |valid| format!("{valid} "),
        |valid| valid.replacen(' ', " x ", 1),
        |valid| format!("nan{valid}"),
        |valid| valid.replace('~', "~x"),
        |valid| valid.replace('@', "@@"),
        |valid| valid.replace(';', ";;"),
    ];
    for change in changes {
        for resetting in &limiters {
            server.execute(&["FLUSHALL"]);
            use_all(&limiters);
            limiters[0].admin(AdminCommand::Pause(Deadline::After(MAX_SPAN))).unwrap();
            let used = ["h", "m", "p", "q", "s", "t", "w", "w.per_day-2"];
            assert_eq!(roles(&server), used);
            let state = server.key(":s:");
            let damaged = change(&server.execute(&["GET", &state]));
            server.execute(&["SET", &state, &damaged]);
            resetting.reset().unwrap();
            assert!(roles(&server).is_empty(), "{damaged:?}: {:?}", roles(&server));
            assert!(limiters.iter().all(|limiter| acquire_one(limiter).unwrap().allowed()), "{damaged:?}");
        }
    }
}

#[test]
fn a_reset_deletes_a_foreign_text_and_only_keys_of_the_name() {
    let server = Server::start();
    let pg = open(&server);
    let other = pg.window("other", 5, HOUR).unwrap();
    acquire_one(&other).unwrap();
    let mut foreign: Vec<String> =
        ["", " ", "hello world", " w", " w%1 w%9", "what? w% w%0 w%s", " w:s:other w:other", " s m limiters"]
            .map(str::to_owned)
            .into();
    foreign.extend([
        " w".repeat(20_000),
        " word".repeat(20_000),
        (0..20_000).fold(String::new(), |text, i| text + " w:a" + &i.to_string()),
    ]);
    for limiter in policies(&pg) {
        for text in &foreign {
            acquire_one(&limiter).unwrap();
            let state = server.key(&format!(":m:{NAME}")).replace(":m:", ":s:");
            server.execute(&["SET", &state, text]);
            if !text.is_empty() {
                assert_eq!(failed(&limiter).kind(), ErrorKind::Data);
            }
            let shown: String = text.chars().take(40).collect();
            limiter.reset().unwrap_or_else(|error| panic!("{shown:?}: {error}"));
            assert_eq!(server.execute(&["KEYS", &format!("*{NAME}")]), "", "{shown:?}");
            assert_eq!(other.peek(Request::cost(1)).unwrap().remaining, Some(4), "{shown:?}");
        }
        acquire_one(&limiter).unwrap();
        for command in [["SADD", "theirs"], ["RPUSH", "theirs"]] {
            let state = server.key(&format!(":s:{NAME}"));
            server.execute(&["DEL", &state]);
            server.execute(&[command[0], &state, command[1]]);
            limiter.reset().unwrap();
            assert_eq!(server.execute(&["KEYS", &format!("*{NAME}")]), "");
            acquire_one(&limiter).unwrap();
        }
        limiter.reset().unwrap();
    }
}

#[test]
fn a_reset_succeeds_on_a_full_server_and_after_the_script_was_flushed() {
    let server = Server::start();
    let limiters = policies(&open(&server));
    for limiter in &limiters {
        use_all(&limiters);
        server.execute(&["SCRIPT", "FLUSH"]);
        server.execute(&["CONFIG", "SET", "maxmemory", "1"]);
        limiter.reset().unwrap();
        server.execute(&["CONFIG", "SET", "maxmemory", "0"]);
        assert!(roles(&server).is_empty(), "{:?}", roles(&server));
    }
}

#[test]
fn a_lost_state_of_several_policies_starts_empty_and_keeps_logs_and_leases() {
    let server = Server::start();
    let limiters = policies(&open(&server));
    for limiter in &limiters {
        while acquire_one(limiter).unwrap().allowed() {}
    }
    server.execute(&["DEL", &server.key(":s:")]);
    let granted = limiters.iter().map(|limiter| (0..6).filter(|_| acquire_one(limiter).unwrap().allowed()).count());
    assert_eq!(granted.collect::<Vec<_>>(), [0, 5, 0], "windows are kept, meters are not");
}

#[test]
fn a_foreign_type_in_place_of_a_window_fails_only_the_policies_that_have_it() {
    let server = Server::start();
    let limiters = policies(&open(&server));
    assert!(limiters.iter().all(|limiter| acquire_one(limiter).unwrap().allowed()));
    let window = server.key(":w.per_day-2:");
    server.execute(&["DEL", &window]);
    server.execute(&["SADD", &window, "theirs"]);
    assert_eq!(failed(&limiters[2]).kind(), ErrorKind::Data);
    assert!(limiters[..2].iter().all(|limiter| acquire_one(limiter).unwrap().allowed()));
    assert_eq!(server.execute(&["SMEMBERS", &window]), "theirs");
    limiters[0].reset().unwrap();
    assert!(roles(&server).is_empty(), "{:?}", roles(&server));
}

#[test]
fn a_name_with_too_many_limits_refuses_another_and_keeps_those_in_use() {
    let server = Server::start();
    let pg = open(&server);
    let numbered = |number: usize| labelled(Limit::window(5, YEAR), &format!("limit-{number}"));
    let limiters: Vec<Limiter> =
        (0..4).map(|first| limiter(&pg, (8 * first..8 * first + 8).map(numbered).collect())).collect();
    let remaining = || limiters.iter().map(|limiter| acquire_one(limiter).unwrap().remaining).collect::<Vec<_>>();
    assert_eq!(remaining(), [Some(4); 4]);
    let before = contents(&server);
    for number in [31, 32] {
        let limiter = limiter(&pg, vec![numbered(number), numbered(33)]);
        for error in [
            failed(&limiter),
            limiter.peek(Request::cost(1)).unwrap_err(),
            limiter.acquire_with_id(Request::estimate(1), "caller", Some(longest_wait())).unwrap_err(),
        ] {
            assert_eq!((error.kind(), error.argument()), (ErrorKind::Invalid, Some("limits")), "{error}");
        }
        assert_eq!(contents(&server), before, "nothing is written");
    }
    assert_eq!(remaining(), [Some(3); 4]);
    let another = limiter(&pg, vec![numbered(33)]);
    another.reset().unwrap();
    assert!(roles(&server).is_empty(), "{:?}", roles(&server));
    assert!(acquire_one(&another).unwrap().allowed());
}
