//! `Mapping`: which limiter decides on a descriptor of Envoy, by the member `server.envoy` of the limits file.

use std::collections::HashMap;

use paddlegate::{Kind, Limiter, LoadedLimiter, MAX_KEY};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::messages::Entry;

/// The maximum number of entries of a rule.
const MAX_ENTRIES: usize = 32;

/// What the key begins with of values that cannot be one.
const HASHED: &str = "sha256:";

/// The rules of all domains.
#[derive(Debug, Default)]
pub(crate) struct Mapping {
    domains: HashMap<String, Node>,
}

/// What is done with the descriptors that match.
#[derive(Debug)]
pub(super) struct Rule {
    /// `None` lets everything pass.
    pub(super) limiter: Option<Limiter>,
    /// Whether hits are charged in any case, because they are known only after the response.
    pub(super) debit: bool,
    /// Whether responses have the fields `RateLimit`.
    pub(super) headers: bool,
}

/// The rules whose first entries are alike.
#[derive(Debug, Default)]
struct Node {
    rule: Option<Rule>,
    /// By the key of the next entry.
    next: HashMap<String, Branch>,
}

#[derive(Debug, Default)]
struct Branch {
    values: HashMap<Vec<u8>, Node>,
    /// Of any other value.
    any: Option<Box<Node>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Member {
    #[serde(default)]
    envoy: Vec<RuleBody>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleBody {
    domain: String,
    entries: Vec<EntryBody>,
    limiter: Option<String>,
    #[serde(default)]
    unlimited: bool,
    #[serde(default)]
    debit: bool,
    #[serde(default)]
    headers: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryBody {
    key: String,
    value: Option<String>,
}

impl Mapping {
    /// Reads the rules of a limits file that the core has read; a fault names the place.
    pub(crate) fn read(text: &str, limiters: &HashMap<String, LoadedLimiter>) -> Result<Self, String> {
        let document: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let Some(server) = document.get("server") else { return Ok(Self::default()) };
        let member: Member = serde_path_to_error::deserialize(server).map_err(|error| {
            let path = error.path().to_string();
            let path = if path == "." { String::new() } else { format!(".{path}") };
            format!("at $.server{path}: {}", error.into_inner())
        })?;
        let mut mapping = Self::default();
        for (i, body) in member.envoy.into_iter().enumerate() {
            mapping
                .add(body, limiters)
                .map_err(|(place, message)| format!("at $.server.envoy[{i}]{place}: {message}"))?;
        }
        Ok(mapping)
    }

    /// Adds a rule; a fault has its place within it.
    fn add(&mut self, body: RuleBody, limiters: &HashMap<String, LoadedLimiter>) -> Result<(), (String, String)> {
        let fault = |place: &str, message: &str| Err((place.to_owned(), message.to_owned()));
        if body.domain.is_empty() {
            return fault(".domain", "must not be empty");
        }
        if body.entries.is_empty() || body.entries.len() > MAX_ENTRIES {
            return fault(".entries", "must be 1 to 32 entries");
        }
        if let Some(i) = body.entries.iter().position(|entry| entry.key.is_empty()) {
            return Err((format!(".entries[{i}].key"), "must not be empty".to_owned()));
        }
        let rule = Rule { limiter: limiter(&body, limiters)?, debit: body.debit, headers: body.headers };
        let mut node = self.domains.entry(body.domain).or_default();
        for entry in body.entries {
            let branch = node.next.entry(entry.key).or_default();
            node = match entry.value {
                Some(value) => branch.values.entry(value.into_bytes()).or_default(),
                None => branch.any.get_or_insert_default(),
            };
        }
        if node.rule.is_some() {
            return fault(".entries", "are those of an earlier rule of the domain");
        }
        node.rule = Some(rule);
        Ok(())
    }

    /// Returns the rule of a descriptor, and the values of its entries that may have any. An entry with the value of the
    /// descriptor goes before one without, from the first entry on.
    pub(super) fn find<'a>(&self, domain: &str, entries: &'a [Entry]) -> Option<(&Rule, Vec<&'a [u8]>)> {
        let mut values = Vec::new();
        let rule = self.domains.get(domain)?.find(entries, &mut values)?;
        Some((rule, values))
    }
}

impl Node {
    fn find<'a>(&self, entries: &'a [Entry], values: &mut Vec<&'a [u8]>) -> Option<&Rule> {
        let Some((entry, rest)) = entries.split_first() else { return self.rule.as_ref() };
        let branch = self.next.get(&entry.key)?;
        if let Some(rule) = branch.values.get(&entry.value).and_then(|node| node.find(rest, values)) {
            return Some(rule);
        }
        let any = branch.any.as_ref()?;
        values.push(&entry.value);
        let rule = any.find(rest, values);
        if rule.is_none() {
            values.pop();
        }
        rule
    }
}

fn limiter(body: &RuleBody, limiters: &HashMap<String, LoadedLimiter>) -> Result<Option<Limiter>, (String, String)> {
    let fault = |message: String| Err((".limiter".to_owned(), message));
    let name = match (&body.limiter, body.unlimited) {
        (Some(name), false) => name,
        (None, true) => return Ok(None),
        (Some(_), true) => return fault("must be absent where `unlimited` is true".to_owned()),
        (None, false) => {
            return fault("must be the name of a limiter; or let all pass by \"unlimited\": true".to_owned());
        }
    };
    let Some(loaded) = limiters.get(name) else {
        return fault(format!("the file has no such limiter: name={name:?}"));
    };
    let limiter = &loaded.limiter;
    if limiter.grants_leases() {
        return fault(format!("has a concurrency limit, and Envoy releases nothing: name={name:?}"));
    }
    if limiter.is_keyed() && body.entries.iter().all(|entry| entry.value.is_some()) {
        return fault(format!(
            "is keyed, but every entry has a value; the values of those without are the key: name={name:?}"
        ));
    }
    if body.debit && limiter.policy().limits().iter().all(|limit| limit.kind() == Kind::Throttle) {
        return Err((
            ".debit".to_owned(),
            format!("must be absent, as no limit of the limiter counts units: name={name:?}"),
        ));
    }
    Ok(Some(limiter.clone()))
}

/// Returns the key of the values. A client may send any bytes, and what has no key would have no limit.
pub(super) fn key_of(values: &[&[u8]]) -> String {
    let escaped = |value: &&[u8]| {
        let parts = value.iter().map(|byte| match byte {
            b'%' => b"%25".to_vec(),
            b'|' => b"%7C".to_vec(),
            byte => vec![*byte],
        });
        parts.collect::<Vec<_>>().concat()
    };
    let key = values.iter().map(escaped).collect::<Vec<_>>().join(&b'|');
    match String::from_utf8(key) {
        // Whoever sends what looks like a hash would otherwise share the state of what has that hash.
        Ok(key) if (1..=MAX_KEY).contains(&key.len()) && !key.starts_with(HASHED) => key,
        Ok(key) => hashed(key.as_bytes()),
        Err(error) => hashed(error.as_bytes()),
    }
}

fn hashed(key: &[u8]) -> String {
    let digits: Vec<String> = Sha256::digest(key).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{HASHED}{}", digits.concat())
}

#[cfg(test)]
mod tests {
    use paddlegate::Paddlegate;
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn mapping(rules: &str) -> Result<Mapping, String> {
        let text = format!(
            r#"{{"limiters": {{"all": {{"bucket": {{"limit": 5, "per": "day"}}}}, "each": {{"bucket": {{"limit": 5, "per": "day"}}, "keyed": true}},
                "slots": {{"concurrency": {{"limit": 1}}}}, "mail": {{"throttle": {{"every": "1s"}}}}}}, "server": {{"envoy": {rules}}}}}"#
        );
        let loaded = Paddlegate::memory().load(&text).expect("limiters");
        let limiters = loaded.into_iter().map(|loaded| (loaded.limiter.name().to_owned(), loaded)).collect();
        Mapping::read(&text, &limiters)
    }

    fn entries(of: &[(&str, &str)]) -> Vec<Entry> {
        of.iter().map(|(key, value)| Entry { key: (*key).to_owned(), value: value.as_bytes().to_vec() }).collect()
    }

    #[test]
    fn the_rule_with_the_value_goes_first() {
        let mapping = mapping(
            r#"[{"domain": "d", "entries": [{"key": "a"}, {"key": "b"}], "limiter": "each"},
                {"domain": "d", "entries": [{"key": "a", "value": "1"}], "limiter": "all"},
                {"domain": "d", "entries": [{"key": "a", "value": "1"}, {"key": "b", "value": "2"}], "unlimited": true}]"#,
        )
        .expect("rules");
        let found = |domain: &str, of: &[(&str, &str)]| {
            let entries = entries(of);
            let (rule, values) = mapping.find(domain, &entries)?;
            Some((rule.limiter.as_ref().map(|limiter| limiter.name().to_owned()), key_of(&values)))
        };
        let name = |name: &str| Some(name.to_owned());
        assert_eq!(found("d", &[("a", "1")]).expect("a rule").0, name("all"));
        assert_eq!(found("d", &[("a", "1"), ("b", "2")]).expect("a rule").0, None);
        assert_eq!(found("d", &[("a", "1"), ("b", "3")]), Some((name("each"), "1|3".to_owned())));
        assert_eq!(found("d", &[("a", "x|%"), ("b", "3")]), Some((name("each"), "x%7C%25|3".to_owned())));
        for other in [&[("a", "2")][..], &[("b", "2"), ("a", "1")], &[("a", "1"), ("b", "2"), ("c", "3")], &[]] {
            assert_eq!(found("d", other), None, "{other:?}");
        }
        assert_eq!(found("e", &[("a", "1")]), None);
    }

    #[test]
    fn a_fault_names_its_place() {
        for (rules, fault) in [
            (
                r#"[{"domain": "", "entries": [{"key": "a"}], "limiter": "all"}]"#,
                "at $.server.envoy[0].domain: must not",
            ),
            (r#"[{"domain": "d", "entries": [], "limiter": "all"}]"#, "at $.server.envoy[0].entries: must be 1 to 32"),
            (
                r#"[{"domain": "d", "entries": [{"key": ""}], "limiter": "all"}]"#,
                "at $.server.envoy[0].entries[0].key: ",
            ),
            (
                r#"[{"domain": "d", "entries": [{"key": 1}], "limiter": "all"}]"#,
                "at $.server.envoy[0].entries[0].key: invalid type",
            ),
            (
                r#"[{"domain": "d", "entries": [{"key": "a"}], "limit": "all"}]"#,
                "at $.server.envoy[0].limit: unknown field",
            ),
            (r#"[{"domain": "d", "entries": [{"key": "a"}]}]"#, "at $.server.envoy[0].limiter: must be the name"),
            (
                r#"[{"domain": "d", "entries": [{"key": "a"}], "limiter": "none"}]"#,
                "at $.server.envoy[0].limiter: the file has no",
            ),
            (
                r#"[{"domain": "d", "entries": [{"key": "a"}], "limiter": "slots"}]"#,
                "at $.server.envoy[0].limiter: has a concurrency",
            ),
            (
                r#"[{"domain": "d", "entries": [{"key": "a", "value": "b"}], "limiter": "each"}]"#,
                "at $.server.envoy[0].limiter: is keyed",
            ),
            (
                r#"[{"domain": "d", "entries": [{"key": "a"}], "limiter": "all", "unlimited": true}]"#,
                "at $.server.envoy[0].limiter: must be absent",
            ),
            (
                r#"[{"domain": "d", "entries": [{"key": "a"}], "limiter": "all"}, {"domain": "d", "entries": [{"key": "a"}], "limiter": "each"}]"#,
                "at $.server.envoy[1].entries: are those of an earlier",
            ),
            (
                r#"[{"domain": "d", "entries": [{"key": "a"}], "limiter": "mail", "debit": true}]"#,
                "at $.server.envoy[0].debit: must be absent",
            ),
            ("{}", "at $.server.envoy: invalid type"),
        ] {
            let said = mapping(rules).expect_err(rules);
            assert!(said.starts_with(fault), "{rules}: {said}");
        }
    }

    #[test]
    fn one_value_is_never_the_key_of_others() {
        assert_eq!(key_of(&[b"alice"]), "alice");
        assert_eq!(key_of(&[b"2001:db8::1"]), "2001:db8::1");
        assert_eq!(key_of(&[b"alice|x"]), "alice%7Cx");
        assert_ne!(key_of(&[b"alice|x"]), key_of(&[b"alice", b"x"]));
        let long = key_of(&[&[b'x'; MAX_KEY + 1]]);
        assert!(long.starts_with(HASHED));
        assert_ne!(key_of(&[long.as_bytes()]), long);
    }

    /// Bytes of which those that are escaped are many.
    fn values() -> impl Strategy<Value = Vec<Vec<u8>>> {
        vec(vec(prop_oneof![Just(b'|'), Just(b'%'), any::<u8>()], 0..4), 1..4)
    }

    proptest! {
        #[test]
        fn other_values_have_other_keys(a in values(), b in values()) {
            let key = |values: &[Vec<u8>]| key_of(&values.iter().map(Vec::as_slice).collect::<Vec<_>>());
            prop_assert_eq!(a == b, key(&a) == key(&b));
            let joined = vec![a.join(&b'|')];
            prop_assert_eq!(a == joined, key(&a) == key(&joined));
            let long = vec![b'x'; MAX_KEY + a.len()];
            for key in [key(&a), key_of(&[&a[0]]), key_of(&[&long]), key_of(&[b""])] {
                prop_assert!((1..=MAX_KEY).contains(&key.len()), "{}", key);
            }
        }
    }
}
