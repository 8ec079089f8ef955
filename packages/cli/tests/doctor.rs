//! The doctor on servers that are well, wrongly set, restricted, clustered, or not there.

use crate::support::redis_server::Server;
use crate::support::{Said, cluster_url, operate, operate_on, url};
use paddlegate::Paddlegate;
use serde_json::{Value, json};

/// Returns the results of a check.
fn results(found: &Value, check: &str) -> Vec<String> {
    let checks = found["checks"].as_array().expect("a list").iter().filter(|found| found["check"] == check);
    checks.map(|found| found["result"].as_str().expect("a text").to_owned()).collect()
}

/// Returns the findings of a doctor that ended with this code.
fn found(said: &Said, code: i32) -> Value {
    assert_eq!(said.code, Some(code), "{said:?}");
    serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error} {said:?}"))
}

#[test]
fn a_server_that_is_well_has_no_fault_and_keeps_nothing_of_the_doctor() {
    let server = Server::start(&[]);
    let said = operate_on(&server.url(""), &["doctor"]);
    let text = said.text();
    for check in [
        "connection",
        "version",
        "eviction",
        "memory",
        "persistence",
        "clients",
        "clock",
        "events",
        "rights",
        "list",
        "decisions",
        "wake-ups",
    ] {
        let verdict = if check == "rights" && !knows_rights(&server) { "unknown  " } else { "ok       " };
        assert!(text.lines().any(|line| line.starts_with(&format!("{verdict}{check} "))), "{check} {text}");
    }
    assert!(text.ends_with("\nfaults 0, warnings 0\n"), "{text}");
    assert_eq!(server.ask(&["DBSIZE"]), "0");
    let found = found(&operate_on(&server.url(""), &["doctor", "--json"]), 0);
    assert_eq!((&found["ok"], results(&found, "scripts")), (&json!(true), vec!["ok".to_owned()]));
}

#[test]
fn wrong_settings_are_told_with_what_to_do() {
    let server = Server::start(&[
        "--maxmemory",
        "100mb",
        "--maxmemory-policy",
        "volatile-lru",
        "--notify-keyspace-events",
        "KEA",
    ]);
    let said = operate_on(&server.url(""), &["doctor"]);
    assert_eq!((said.code, said.err.as_str()), (Some(1), ""));
    assert!(
        said.out.contains("fault    eviction     maxmemory-policy volatile-lru, maxmemory 100 MB\n"),
        "{}",
        said.out
    );
    assert!(said.out.contains(" -> set maxmemory-policy noeviction: "), "{}", said.out);
    assert!(said.out.contains("warning  events       notify-keyspace-events "), "{}", said.out);
    assert!(said.out.ends_with("\nfaults 1, warnings 1\n"), "{}", said.out);
    server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    let told = found(&operate_on(&server.url(""), &["doctor", "--json"]), 0);
    assert_eq!(results(&told, "eviction"), ["warning"]);
    server.ask(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    server.ask(&["CONFIG", "SET", "maxmemory", "1000000"]);
    // There is no room left for a decision.
    let told = found(&operate_on(&server.url(""), &["doctor", "--json"]), 1);
    assert_eq!(
        (results(&told, "eviction"), results(&told, "memory")),
        (vec!["ok".to_owned()], vec!["warning".to_owned()])
    );
    assert_eq!(results(&told, "decisions"), ["fault"]);
}

#[test]
fn rights_that_are_missing_are_told() {
    let server = Server::start(&[]);
    let user = |name: &str, rights: &[&str]| {
        let mut words = vec!["ACL", "SETUSER", name, "on", ">hush", "resetchannels", "+@connection"];
        words.extend(rights);
        server.ask(&words);
        let said = operate_on(&server.url(&format!("{name}:hush@")), &["doctor", "--json"]);
        assert!(!format!("{}{}", said.out, said.err).contains("hush"), "{said:?}");
        said
    };
    let all = ["~pg2:*", "&pg2:hints:*", "+@all", "-@admin", "-@dangerous"];
    let told = found(&user("program", &all), 0);
    assert_eq!(
        (results(&told, "server"), results(&told, "events")),
        (vec!["unknown".to_owned()], vec!["unknown".to_owned()])
    );
    assert_eq!(
        (results(&told, "decisions"), results(&told, "wake-ups")),
        (vec!["ok".to_owned()], vec!["ok".to_owned()])
    );
    let told = found(&user("silent", &["~pg2:*", "+@all"]), 0);
    assert_eq!(
        (results(&told, "decisions"), results(&told, "wake-ups")),
        (vec!["ok".to_owned()], vec!["warning".to_owned()])
    );
    let rights =
        [&told, &found_by(&server, "program"), &found_by(&server, "silent")].map(|told| results(told, "rights"));
    if knows_rights(&server) {
        assert_eq!(rights, [["warning"], ["ok"], ["warning"]]);
    } else {
        assert_eq!(rights, [["unknown"], ["unknown"], ["unknown"]]);
    }
    let told = found(&user("reader", &["~pg2:*", "&*", "+@read", "+info"]), 1);
    assert_eq!(results(&told, "decisions"), ["fault"]);
    assert_eq!(results(&told, "version"), ["ok"]);
}

/// Returns whether a server says what a user may do, as Redis does since 7.
fn knows_rights(server: &Server) -> bool {
    server.ask(&["ACL", "DRYRUN", "default", "PING"]) == "OK"
}

/// Returns what an administrator is told of another user's rights.
fn found_by(server: &Server, user: &str) -> Value {
    let said = operate_on(&server.url(""), &["doctor", "--user", user, "--json"]);
    found(&said, i32::from(said.code == Some(1)))
}

#[test]
fn a_value_of_another_program_in_the_list_of_limiters_is_deleted_when_asked_for() {
    let server = Server::start(&[]);
    let url = server.url("");
    let store = paddlegate::Paddlegate::open(&url, None).unwrap();
    let minute = std::time::Duration::from_secs(60);
    store.bucket("api", 5, minute).unwrap().try_acquire(paddlegate::Request::cost(1)).unwrap();
    server.ask(&["SET", "pg2:{07}:limiters", "theirs"]);
    let error = store.limiters().unwrap_err();
    assert!(error.message().contains("`paddlegate doctor --repair`"), "{error}");
    assert!(error.message().contains("pg2:{07}:limiters"), "{error}");
    let told = operate_on(&url, &["doctor", "--json"]);
    assert_eq!(told.code, Some(1), "{}", told.out);
    assert!(told.out.contains("pg2:{07}:limiters holds a value of another program"), "{}", told.out);
    assert_eq!(server.ask(&["GET", "pg2:{07}:limiters"]), "theirs", "nothing is deleted unasked");
    assert_eq!(operate_on(&url, &["doctor", "--repair"]).code, Some(0));
    assert_eq!(store.limiters().unwrap().len(), 1);
}

#[test]
fn rights_of_another_user_are_told_as_a_command() {
    let server = Server::start(&[]);
    server.ask(&["ACL", "SETUSER", "app", "on", "nopass", "~pg2:*", "resetchannels", "+@all", "-unlink", "-hscan"]);
    let told = found_by(&server, "app");
    if !knows_rights(&server) {
        assert_eq!((results(&told, "rights"), &told["ok"]), (vec!["unknown".to_owned()], &json!(true)));
        return;
    }
    let rights = told["checks"].as_array().unwrap().iter().find(|check| check["check"] == "rights").unwrap();
    let advice = "ACL SETUSER app +hscan &pg2:hints:* +unlink";
    assert_eq!((&rights["result"], &rights["advice"]), (&json!("fault"), &json!(advice)));
    server.ask(&advice.split(' ').collect::<Vec<_>>());
    assert_eq!(found_by(&server, "app")["ok"], json!(true));
    let told = found_by(&server, "nobody");
    let rights = told["checks"].as_array().unwrap().iter().find(|check| check["check"] == "rights").unwrap();
    assert_eq!((&rights["result"], &rights["detail"]), (&json!("fault"), &json!("there is no user nobody")));
    assert_eq!(told["ok"], json!(false));
    // Decisions need no log of changes.
    server.ask(&["ACL", "SETUSER", "app", "-xadd"]);
    let told = found_by(&server, "app");
    let rights = told["checks"].as_array().unwrap().iter().find(|check| check["check"] == "rights").unwrap();
    assert_eq!((&rights["result"], &rights["detail"]), (&json!("warning"), &json!("user app lacks 1 right")));
}

/// The rights that the page on ACL tells to give.
#[test]
fn the_rights_of_the_page_are_enough() {
    let page = include_str!("../../../docs/src/reference/redis-keys-acl.md");
    let rows = page.split("\n| for | commands |\n").nth(1).unwrap().lines().take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.rsplit('|').nth(1)).map(|cell| cell.trim().trim_matches('`'));
    let commands = cells.filter(|cell| !cell.starts_with('-')).flat_map(|cell| cell.split(' '));
    let rights: Vec<String> = commands.map(|command| format!("+{}", command.to_lowercase())).collect();
    assert!(rights.len() > 30, "{rights:?}");
    let server = Server::start(&[]);
    let mut words = vec!["ACL", "SETUSER", "app", "on", ">hush", "-@all", "resetchannels", "~pg2:*", "&pg2:hints:*"];
    words.extend(rights.iter().map(String::as_str));
    assert_eq!(server.ask(&words), "OK");
    let told = found(&operate_on(&server.url("app:hush@"), &["doctor", "--json"]), 0);
    assert_eq!(results(&told, "connection"), ["ok"]);
    if knows_rights(&server) {
        assert_eq!(results(&found_by(&server, "app"), "rights"), ["ok"]);
    }
}

#[test]
fn a_wrong_login_and_a_server_that_is_not_there_end_with_three() {
    let server = Server::start(&["--requirepass", "hush"]);
    assert!(operate_on(&server.url(":hush@"), &["doctor"]).text().contains("faults 0"));
    for (url, why) in [
        (server.url(":hushed@"), "redis refused the login"),
        (server.url(""), "NOAUTH"),
        ("redis://u:hush@127.0.0.1:1".to_owned(), "127.0.0.1:1 cannot be reached"),
    ] {
        let said = operate_on(&url, &["doctor"]);
        assert!(said.out.starts_with("fault    connection ") && said.out.contains(why), "{said:?}");
        assert_eq!((said.code, said.err.as_str()), (Some(3), "error: no server of the URL can be used\n"));
        assert!(!said.out.contains("hush"), "{}", said.out);
        assert_eq!(found(&operate_on(&url, &["doctor", "--json"]), 3)["ok"], json!(false));
    }
    for url in ["http://h", "memory://", "redis://h/x"] {
        assert!(operate_on(url, &["doctor"]).error(2).starts_with("--redis: "));
    }
}

#[test]
fn a_replica_is_told_and_another_node_of_the_url_is_taken() {
    let (server, replica) = (Server::start(&[]), Server::start(&[]));
    replica.ask(&["REPLICAOF", "127.0.0.1", &server.port().to_string()]);
    let said = operate_on(&replica.url(""), &["doctor"]);
    assert!(said.code == Some(3) && said.out.contains("is a replica, which cannot decide"), "{said:?}");
    let both = format!("{},127.0.0.1:{}", replica.url(""), server.port());
    let told = found(&operate_on(&both, &["doctor", "--json"]), 0);
    assert_eq!(results(&told, "connection"), ["warning", "ok"]);
}

#[test]
fn every_master_of_a_cluster_is_checked() {
    let told = found(&operate_on(&cluster_url(), &["doctor", "--json"]), 0);
    assert_eq!(results(&told, "cluster"), ["ok"]);
    assert_eq!((results(&told, "version").len(), results(&told, "clock").len()), (3, 3));
    let single = found(&operate(&["doctor", "--json"]), 0);
    assert_eq!((results(&single, "cluster").len(), results(&single, "version").len()), (0, 1));
    assert!(Paddlegate::open(&url(), None).is_ok());
}
