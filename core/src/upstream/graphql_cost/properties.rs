//! What holds of every query.

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::*;

/// A selection, as the tests write it.
#[derive(Clone, Debug)]
enum Node {
    Scalar,
    Object(&'static str, Vec<Node>),
    Page(&'static str, u32, Vec<Node>),
    Inline(&'static str, Vec<Node>),
    Spread,
}

impl Node {
    fn write(&self, text: &mut String) {
        match self {
            Self::Scalar => text.push_str("id "),
            Self::Spread => text.push_str("...F "),
            Self::Object(name, nodes) => write_set(&format!("{name} "), nodes, text),
            Self::Page(argument, size, nodes) => write_set(&format!("c({argument}: {size}) "), nodes, text),
            Self::Inline(on, nodes) => write_set(&format!("... {on} "), nodes, text),
        }
    }

    fn nodes(&mut self) -> Option<&mut Vec<Self>> {
        match self {
            Self::Scalar | Self::Spread => None,
            Self::Object(_, nodes) | Self::Page(_, _, nodes) | Self::Inline(_, nodes) => Some(nodes),
        }
    }
}

fn write_set(head: &str, nodes: &[Node], text: &mut String) {
    text.push_str(head);
    text.push_str("{ ");
    for node in nodes {
        node.write(text);
    }
    text.push_str("} ");
}

fn nodes() -> impl Strategy<Value = Vec<Node>> {
    let leaf = prop_oneof![3 => Just(Node::Scalar), 1 => Just(Node::Spread)];
    let node = leaf.prop_recursive(5, 40, 4, |inner| {
        let set = prop::collection::vec(inner, 1..4);
        let name = select(vec!["a", "edges", "nodes", "node", "pageInfo", "x: edges"]);
        prop_oneof![
            (name, set.clone()).prop_map(|(name, set)| Node::Object(name, set)),
            (select(vec!["first", "last"]), 0_u32..300, set.clone())
                .prop_map(|(by, size, set)| Node::Page(by, size, set)),
            (select(vec!["", "on A", "on B", "on Node"]), set).prop_map(|(on, set)| Node::Inline(on, set)),
        ]
    });
    prop::collection::vec(node, 1..5)
}

fn cost(kind: &str, query: &[Node], fragment: &[Node], rules: CostRules) -> u64 {
    let mut text = String::new();
    write_set(kind, query, &mut text);
    // The fragment cannot spread itself.
    let mut inside = fragment.to_vec();
    each_set(&mut inside, &mut |set| {
        set.iter_mut().filter(|node| matches!(node, Node::Spread)).for_each(|node| *node = Node::Scalar);
    });
    write_set("fragment F on A ", &inside, &mut text);
    graphql_cost(&text, "", None, rules).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn each_set(nodes: &mut Vec<Node>, change: &mut impl FnMut(&mut Vec<Node>)) {
    change(nodes);
    nodes.iter_mut().filter_map(Node::nodes).for_each(|set| each_set(set, change));
}

/// Changes the set that `index` chooses of all of them.
fn change_one(nodes: &mut Vec<Node>, index: Index, mut change: impl FnMut(&mut Vec<Node>)) {
    let mut sets = 0;
    each_set(nodes, &mut |_| sets += 1);
    let (chosen, mut at) = (index.index(sets), 0);
    each_set(nodes, &mut |set| {
        if at == chosen {
            change(set);
        }
        at += 1;
    });
}

proptest! {
    #[test]
    fn adding_a_field_never_lowers_the_cost(
        kind in select(vec!["query", "mutation"]), query in nodes(), fragment in nodes(), more in nodes(), place: Index,
        inside: bool,
    ) {
        let (mut larger, mut larger_fragment) = (query.clone(), fragment.clone());
        let changed = if inside { &mut larger_fragment } else { &mut larger };
        change_one(changed, place, |set| set.extend(more.iter().take(1).cloned()));
        for rules in CostRules::ALL {
            prop_assert!(cost(kind, &query, &fragment, rules) <= cost(kind, &larger, &larger_fragment, rules));
        }
    }

    #[test]
    fn raising_a_size_never_lowers_the_cost(query in nodes(), fragment in nodes(), place: Index, by in 1_u32..1_000) {
        let mut larger = query.clone();
        change_one(&mut larger, place, |set| {
            for node in set {
                if let Node::Page(_, size, _) = node {
                    *size += by;
                }
            }
        });
        for rules in CostRules::ALL {
            prop_assert!(cost("query", &query, &fragment, rules) <= cost("query", &larger, &fragment, rules));
        }
    }

    #[test]
    fn a_fragment_costs_what_it_costs_inline(query in nodes(), fragment in nodes()) {
        let mut inside = fragment.clone();
        each_set(&mut inside, &mut |set| set.retain(|node| !matches!(node, Node::Spread)));
        each_set(&mut inside, &mut |set| set.push(Node::Scalar));
        let mut inline = query.clone();
        each_set(&mut inline, &mut |set| {
            let spreads = set.iter_mut().filter(|node| matches!(node, Node::Spread));
            spreads.for_each(|node| *node = Node::Inline("on A", inside.clone()));
        });
        for rules in CostRules::ALL {
            prop_assert_eq!(cost("query", &query, &inside, rules), cost("query", &inline, &inside, rules));
        }
    }

    #[test]
    fn a_soup_of_tokens_never_panics(
        tokens in prop::collection::vec(select(vec![
            "{", "}", "(", ")", "[", "]", "...", "on", "a", "first", ":", "1", "-1", "1.5", "$", "n", "=", "!", "@",
            "skip", "if", "true", "null", "\"s\"", "\"\"\"b\"\"\"", "\"", "#", "\n", ",", "query", "mutation",
            "fragment", "F", "type", "extend", "schema", "directive", "enum", "input", "|", "&", "\\u", "é", "\u{feff}",
        ]), 0..60),
        glued: bool, variables in select(vec!["", "{\"n\": 3}", "{\"n\": null}"]),
    ) {
        let text = tokens.join(if glued { "" } else { " " });
        for rules in CostRules::ALL {
            let _ = graphql_cost(&text, variables, None, rules);
        }
    }

    #[test]
    fn a_damaged_query_never_panics(query in nodes(), cut: Index, length in 0_usize..4, put in ".{0,3}") {
        let mut text = "query Q($n: [Int!]! = [1], $b: Boolean) @d(a: {b: [$n, E, \"\\u00e9\"]}) ".to_owned();
        write_set("", &query, &mut text);
        text.push_str("fragment F on A @e { id @skip(if: $b) x: y(first: $n) { z } }");
        let start = cut.index(text.len());
        let end = text.len().min(start + length);
        text.replace_range(start..end, &put);
        for rules in CostRules::ALL {
            let _ = graphql_cost(&text, "{\"n\": 2}", Some("Q"), rules);
        }
    }

    #[test]
    fn any_text_never_panics(query in ".{0,80}", variables in ".{0,20}", operation in ".{0,4}", name in ".{0,8}") {
        for rules in CostRules::ALL {
            let _ = graphql_cost(&query, &variables, Some(&operation), rules);
        }
        let _ = CostRules::from_name(&name);
    }
}
