//! Published examples first, then what each rule and each error says.

use std::fmt::Write;
use std::time::Duration;

use super::*;
use crate::base::error::ErrorKind;

fn shopify(query: &str) -> u64 {
    graphql_cost(query, "", None, CostRules::Shopify).unwrap()
}

fn github(query: &str) -> u64 {
    graphql_cost(query, "", None, CostRules::GitHub).unwrap()
}

/// The argument and the message of the error, which both rules give.
fn query_error(query: &str, variables: &str, operation: Option<&str>) -> (&'static str, String) {
    let [first, second] =
        CostRules::ALL.map(|rules| graphql_cost(query, variables, operation, rules).expect_err("must be refused"));
    assert_eq!(first, second);
    assert_eq!(first.kind(), ErrorKind::Invalid);
    (first.argument().unwrap(), first.message().to_owned())
}

#[test]
fn github_documented_example_is_51() {
    let query = "query { viewer { login repositories(first: 100) { edges { node { id issues(first: 50) { edges { node {
        id labels(first: 60) { edges { node { id name } } } } } } } } } } }";
    assert_eq!(github(query), 51);
}

#[test]
fn github_documented_node_limit_examples() {
    // 1 + 50 + 50 * 20 + 50 + 50 * 20 + 1 requests.
    let query = "query { viewer { repositories(first: 50) { edges { repository: node { name
        pullRequests(first: 20) { edges { pullRequest: node { title comments(first: 10) { edges { comment: node {
        bodyHTML } } } } } } issues(first: 20) { totalCount edges { issue: node { title bodyHTML comments(first: 10) {
        edges { comment: node { bodyHTML } } } } } } } } } followers(first: 10) { edges { follower: node { login } } }
        } }";
    assert_eq!(github(query), 21);
    assert_eq!(github("query { viewer { login } rateLimit { cost limit remaining resetAt } }"), 1);
}

#[test]
fn github_rounds_to_the_nearest_point() {
    let points =
        |size: u64| github(&format!("{{ a(first: {size}) {{ nodes {{ b(first: 1) {{ nodes {{ id }} }} }} }} }}"));
    assert_eq!([points(0), points(148), points(149), points(248), points(249)], [1, 1, 2, 2, 3]);
}

#[test]
fn github_nodes_by_ids_count_each() {
    let query = "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Repository { issues(first: 9) { nodes {
        labels(first: 5) { nodes { id } } } } } } }";
    let ids = format!("{{\"ids\": [{}]}}", vec!["\"x\""; 100].join(","));
    assert_eq!(graphql_cost(query, &ids, None, CostRules::GitHub).unwrap(), 10);
    assert_eq!(query_error(query, "", None).0, "variables");
}

#[test]
fn shopify_documented_object_is_1() {
    assert_eq!(shopify("query { shop { id name timezoneOffsetMinutes customerAccounts } }"), 1);
}

#[test]
fn shopify_mutation_is_10() {
    let payload = "mutation { productCreate(product: {title: \"a\"}) { product { id } userErrors { field } } }";
    assert_eq!(shopify("mutation { a b }"), 20);
    assert_eq!(shopify(payload), 12);
    assert_eq!(shopify("mutation { ...A } fragment A on Mutation { a { id } }"), 10);
}

#[test]
fn shopify_takes_the_dearest_alternative() {
    let query = "{ node(id: 1) { id ... on Product { a { id } b { id } } ... on Order { a { id } } ... on Product {
        c { id } } ...O } } fragment O on Order { d { id } e { id } f { id } }";
    assert_eq!(shopify(query), 1 + 4);
    // Interfaces that a product also is, the root, and the type that is already met exclude nothing.
    assert_eq!(shopify("{ product { ... on Product { a { id } } ... on HasMetafields { b { id } } } }"), 3);
    assert_eq!(shopify("{ ... on QueryRoot { a { id } } ... on Query { b { id } } }"), 2);
    assert_eq!(shopify("{ p { ...P } } fragment P on P { ... on P { a { id } } ... on Q { b { id } } }"), 3);
}

#[test]
fn shopify_counts_a_sized_list_without_nodes() {
    assert_eq!(shopify("{ fulfillments(first: 5) { id address { city } } }"), 2 + 3 * 2);
    assert_eq!(shopify("{ products(first: 3) { edges { cursor } } }"), 2 + 2);
    assert_eq!(shopify("{ products(last: 0) { nodes { id } } }"), 2);
    assert_eq!(shopify("{ nodes(ids: [1, 2, 3]) { id shop { id } } }"), 6);
}

#[test]
fn an_estimate_is_never_zero() {
    assert_eq!(shopify("{ __typename }"), 1);
    assert_eq!(github("{ __typename }"), 1);
    assert_eq!(shopify("{ a @skip(if: true) { b { c } } }"), 1);
}

#[test]
fn nested_connections_multiply_and_aliases_count() {
    let query = "{ products(first: 10) { edges { node { title variants(first: 5) { edges { node { price } } } } } } }";
    assert_eq!(shopify(query), 2 + 4 * (1 + 2 + 3));
    assert_eq!(shopify("{ a: shop { id } b: shop { id } }"), 2);
    assert_eq!(shopify("{ edges: a { id } b: products(first: 4) { more: nodes { id } } }"), 1 + 2 + 2);
}

#[test]
fn sizes_come_from_variables_and_defaults() {
    let query = "query ($first: Int = 7, $last: Int) { a(first: $first, last: $last) { nodes { id } } }";
    let cost = |variables: &str| graphql_cost(query, variables, None, CostRules::Shopify).unwrap();
    assert_eq!(cost(""), 5);
    assert_eq!(cost("null"), 5);
    assert_eq!(cost(r#"{"first": 20}"#), 7);
    assert_eq!(cost(r#"{"first": null, "last": 30, "other": {"a": []}}"#), 8);
    assert_eq!(cost(r#"{"last": 30}"#), 8);
    let (argument, message) = query_error(query, r#"{"first": null}"#, None);
    assert_eq!(argument, "variables");
    assert!(message.ends_with("argument=first line=1 column=39"), "{message}");
    let (argument, message) = query_error("query ($n: Int!) { a(first: $n) { nodes { id } } }", "{}", None);
    assert_eq!(argument, "variables");
    assert!(message.contains("argument=first"), "{message}");
}

#[test]
fn sizes_must_be_whole() {
    for wrong in ["-1", "1.5", "\"9\"", "[1]", "{a: 1}", "true", "MANY"] {
        let (argument, message) = query_error(&format!("{{ a(first: {wrong}) {{ id }} }}"), "", None);
        assert_eq!(argument, "query", "{wrong}");
        assert!(message.ends_with("line=1 column=5"), "{message}");
    }
    for wrong in ["-1", "1.5", "\"9\"", "[1]", "{}", "true", "1e400"] {
        let variables = format!("{{\"n\": {wrong}}}");
        assert_eq!(query_error("query ($n: Int) { a(first: $n) { id } }", &variables, None).0, "variables", "{wrong}");
    }
    assert_eq!(shopify("{ a(first: 99999999999999999999999) { nodes { id } } }"), 2 + 55);
    let deep = format!("{}id{}", "{ a(first: 2147483647) ".repeat(60) + "{", "}".repeat(61));
    assert_eq!((shopify(&deep), github(&deep)), (MAX_UNITS, MAX_UNITS));
}

#[test]
fn directives_leave_out_only_what_is_certain() {
    let query = "query ($yes: Boolean = true, $no: Boolean, $open: Boolean) {
        a @skip(if: $yes) { id } b @include(if: $no) { id } c @include(if: $open) { id } d @skip(if: $open) { id }
        ... @include(if: false) { e { id } } ...F @skip(if: true) g @other(if: true) { id } }
        fragment F on Q { f(first: $unknown) { id } }";
    let cost = |variables: &str| graphql_cost(query, variables, None, CostRules::Shopify).unwrap();
    assert_eq!(cost(r#"{"no": false}"#), 3);
    assert_eq!(cost(r#"{"no": false, "open": true}"#), 2);
    assert_eq!(cost(r#"{"no": true, "yes": false}"#), 5);
}

#[test]
fn fragments_count_where_they_are_spread() {
    let query = "{ a { ...F } b(first: 3) { nodes { ...F } ...P } }
        fragment F on T { x(first: 2) { ...N } } fragment N on C { edges { node { id } } }
        fragment P on BConnection { pageInfo { hasNextPage } } fragment Unused on T { y(first: $none) { ...None } }";
    assert_eq!(shopify(query), (1 + 3) + (2 + 2 * (1 + 3)));
    assert_eq!(github(query), 1);
}

#[test]
fn cycles_and_unknown_fragments_are_refused() {
    let (argument, message) =
        query_error("{ ...A }\nfragment A on T { b { ...B } }\nfragment B on T { ...B }", "", None);
    assert_eq!(argument, "query");
    assert!(message.ends_with("line=3 column=1"), "{message}");
    query_error("{ ...A } fragment A on T { ...B } fragment B on T { a { ... { ...A } } }", "", None);
    let (argument, message) = query_error("{ a }\n{ ...Ä }", "", None);
    assert_eq!((argument, message.contains("does not parse")), ("query", true), "{message}");
    let (argument, message) = query_error("{ a {\n  ...A } }", "", None);
    assert_eq!(argument, "query");
    assert!(message.contains("line=2 column=3"), "{message}");
}

#[test]
fn an_operation_is_chosen_by_name() {
    let query = "query One { a { id } } mutation Two { a { id } } query Same { a } query Same { b }";
    let cost = |name| graphql_cost(query, "", Some(name), CostRules::Shopify).unwrap();
    assert_eq!((cost("One"), cost("Two")), (1, 10));
    assert_eq!(query_error(query, "", None).0, "query");
    assert_eq!(query_error(query, "", Some("")).0, "query");
    assert_eq!(query_error(query, "", Some("Same")).0, "query");
    assert_eq!(query_error(query, "", Some("Three")).0, "operation");
    assert_eq!(query_error("fragment F on T { a }", "", None).0, "query");
}

#[test]
fn what_does_not_parse_is_refused_with_its_place() {
    for (query, place) in [
        ("", "line=1 column=1"),
        ("{ a", "line=1 column=4"),
        ("{ a }\n}", "line=2 column=1"),
        ("{ a(first: ) { id } }", "line=1 column=12"),
        ("{\n  ä }", "line=2 column=3"),
        ("{ a(b: \"secret) }", "line=1 column="),
        ("type T { a: Int }", "line=1 column=1"),
        ("{ a } fragment F on T { a } fragment F on T { b }", "line=1 column=29"),
        ("{ a } fragment on on T { a }", "line=1 column=16"),
        ("{ }", "line=1 column=3"),
    ] {
        let (argument, message) = query_error(query, "", None);
        assert_eq!(argument, "query");
        assert!(message.contains(place), "{query:?}: {message}");
        assert!(!message.contains("secret"), "{message}");
    }
}

#[test]
fn variables_must_be_an_object() {
    for wrong in ["[]", "1", "{", "{\"a\": secret}", "\u{0}", &"[".repeat(100_000)] {
        let (argument, message) = query_error("{ a }", wrong, None);
        assert_eq!((argument, message.contains("secret")), ("variables", false), "{message}");
    }
}

#[test]
fn absurd_sizes_are_refused() {
    assert_eq!(query_error(&format!("{{ a }}{}", " ".repeat(MAX_QUERY)), "", None).0, "query");
    for deep in ["{a", "{a(b:", "{a(b:[", "{a(b:{c:", "query($a:[", "...{", "("] {
        query_error(&deep.repeat(MAX_QUERY / deep.len()), "", None);
        query_error(&format!("{{a(b:{}", "[".repeat(MAX_QUERY / 2)), "", None);
    }
    let deepest = format!("{}{}", "{a".repeat(MAX_QUERY_DEPTH), "}".repeat(MAX_QUERY_DEPTH));
    assert_eq!(shopify(&deepest), MAX_QUERY_DEPTH as u64 - 1);
    query_error(&format!("{{a{deepest}}}"), "", None);
}

/// Two to the power of the length, were every spread followed.
fn bomb(length: usize) -> String {
    let mut query = "{ ...F0 }".to_owned();
    for number in 0..length {
        let next = number + 1;
        write!(query, "fragment F{number} on T {{ a {{ ...F{next} }} b {{ ...F{next} }} }}").unwrap();
    }
    write!(query, "fragment F{length} on T {{ a {{ id }} }}").unwrap();
    query
}

#[test]
#[allow(clippy::disallowed_methods)] // A bound in real time: it says that the work is bounded.
fn bombs_and_long_chains_finish_quickly() {
    let started = std::time::Instant::now();
    assert_eq!(shopify(&bomb(20)), (1 << 20) + (1 << 21) - 2);
    assert_eq!(shopify(&bomb(4_000)), MAX_UNITS);
    assert_eq!(github(&bomb(4_000)), 1);
    let wide = |part: &str| format!("{{ {} }} fragment F on T {{ a }}", part.repeat((MAX_QUERY - 40) / part.len()));
    for part in
        ["...F ", "a ", "a{b}", "a(first:1){b}", "a#\n", "... on T{a}", "a(b:[1,2,3])", "a@skip(if:false)", "a,"]
    {
        shopify(&wide(part));
        github(&wide(part));
    }
    assert_eq!(shopify(&format!("{{ a({}) {{ id }} }}", "first: 9 ".repeat(20_000))), 6);
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

#[test]
fn names_of_rules() {
    for rules in CostRules::ALL {
        assert_eq!(CostRules::from_name(rules.name()), Ok(rules));
    }
    assert_eq!(CostRules::from_name("GitHub").unwrap_err().argument(), Some("rules"));
}
