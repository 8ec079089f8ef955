//! Tests changes of all keys of a keyed limiter on all stores. See `store/redis/key_list.rs`.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::{on_own_database, open, test_url, unique};
use paddlegate::{
    AdminRequest, Deadline, ErrorKind, KeyChange, LimitNumbers, Limiter, MAX_KEY, Micros, Paddlegate, Reason, Request,
    Result,
};

const DAY: Duration = Duration::from_secs(86_400);

fn keys(limiter: &Limiter) -> Result<BTreeSet<String>> {
    let (mut keys, mut cursor) = (BTreeSet::new(), None);
    loop {
        let page = limiter.key_page(cursor.as_deref())?;
        keys.extend(page.keys);
        cursor = page.cursor;
        if cursor.is_none() {
            return Ok(keys);
        }
    }
}

/// Makes a change in all keys, page by page, and returns those that were changed.
fn change(limiter: &Limiter, change: KeyChange<'_>) -> Result<BTreeSet<String>> {
    let (mut changed, mut cursor) = (BTreeSet::new(), None);
    loop {
        let page = limiter.change_keys(change, cursor.as_deref())?;
        assert!(page.unchanged.is_empty(), "{:?}", page.unchanged);
        changed.extend(page.changed);
        cursor = page.cursor;
        if cursor.is_none() {
            return Ok(changed);
        }
    }
}

#[test]
fn all_keys_are_paused_overridden_and_forgotten_and_new_ones_are_not() {
    each_store(|store, name| {
        let users = store.window(name, 2, DAY)?.keyed()?;
        let of = |key: &str| users.with_key(key);
        let longest = "x".repeat(MAX_KEY);
        let expected: BTreeSet<String> = ["ada", "b:o*b", "ä", &longest]
            .into_iter()
            .map(str::to_owned)
            .chain((0..250).map(|i| i.to_string()))
            .collect();
        for key in &expected {
            of(key)?.try_acquire(Request::cost(2))?;
        }
        assert_eq!(keys(&users)?, expected);
        // Longer than any unit is taken, so that the pause is the reason.
        let pause = AdminRequest::Pause(Deadline::After(Micros(2 * 86_400_000_000)));
        assert_eq!(change(&users, KeyChange::Admin(&pause))?, expected);
        for key in ["ada", "b:o*b", "249"] {
            assert_eq!(of(key)?.try_acquire(Request::cost(1))?.reason, Some(Reason::Paused), "{key}");
        }
        assert!(of("new")?.try_acquire(Request::cost(1))?.allowed(), "it did not exist");
        change(&users, KeyChange::Admin(&AdminRequest::Resume))?;
        assert_ne!(of("ada")?.try_acquire(Request::cost(1))?.reason, Some(Reason::Paused));
        let numbers = LimitNumbers { amount: Some(5), ..LimitNumbers::default() };
        let raise = AdminRequest::Override { label: None, numbers, expires: None };
        change(&users, KeyChange::Admin(&raise))?;
        assert_eq!(of("ada")?.peek(Request::cost(1))?.remaining, Some(3));
        change(&users, KeyChange::Admin(&AdminRequest::Restore(None)))?;
        assert_eq!(of("ada")?.peek(Request::cost(1))?.remaining, Some(0));
        assert_eq!(change(&users, KeyChange::Reset)?.len(), expected.len() + 1);
        assert_eq!(of("ada")?.peek(Request::cost(1))?.remaining, Some(2));
        assert!(users.statistics()?.granted > 250, "what was counted stays");
        assert!(users.most_refused(100)?.is_empty());
        Ok(())
    });
}

#[test]
fn keys_of_other_limiters_are_left_as_they_are() {
    each_store(|store, name| {
        let users = store.bucket(name, 2, DAY)?.keyed()?;
        users.with_key("own")?.try_acquire(Request::cost(1))?;
        let others = [
            store.bucket(name, 2, DAY)?,
            store.bucket(&format!("{name}x"), 2, DAY)?.keyed()?.with_key("k")?,
            store.bucket(&format!("{name}:x"), 2, DAY)?.keyed()?.with_key("k")?,
            store.bucket(name, 2, DAY)?.keyed()?.with_group("acme")?.with_key("k")?,
        ];
        for other in &others {
            other.try_acquire(Request::cost(1))?;
        }
        assert_eq!(change(&users, KeyChange::Reset)?, BTreeSet::from(["own".to_owned()]));
        for other in &others {
            assert_eq!(other.peek(Request::cost(1))?.remaining, Some(1), "{other:?}");
        }
        let grouped = users.with_group("acme")?;
        assert_eq!(change(&grouped, KeyChange::Reset)?, BTreeSet::from(["k".to_owned()]));
        assert_eq!(others[3].peek(Request::cost(1))?.remaining, Some(2));
        Ok(())
    });
}

#[test]
fn a_limiter_without_keys_a_key_and_a_wrong_change_are_refused() {
    each_store(|store, name| {
        let plain = store.bucket(name, 2, DAY)?;
        let users = plain.keyed()?;
        users.with_key("ada")?.try_acquire(Request::cost(1))?;
        assert_eq!(plain.key_page(None).unwrap_err().argument(), Some("all_keys"));
        assert_eq!(users.with_key("ada")?.key_page(None).unwrap_err().argument(), Some("key"));
        assert_eq!(users.key_page(Some("x")).unwrap_err().argument(), Some("cursor"));
        let of_label = |label: &str| AdminRequest::Override {
            label: Some(label.to_owned()),
            numbers: LimitNumbers { amount: Some(5), ..LimitNumbers::default() },
            expires: None,
        };
        let error = users.change_keys(KeyChange::Admin(&of_label("rpm")), None).unwrap_err();
        assert_eq!(error.argument(), Some("label"));
        let over = AdminRequest::Pause(Deadline::At(Micros(1)));
        assert_eq!(users.change_keys(KeyChange::Admin(&over), None).unwrap_err().kind(), ErrorKind::Invalid);
        Ok(())
    });
}

#[test]
fn a_damaged_key_keeps_no_other_from_a_change() {
    let (store, mut raw) = on_own_database();
    let users = store.bucket("api", 2, DAY).and_then(|limiter| limiter.keyed()).expect("a limiter");
    for key in ["ada", "bob"] {
        users.with_key(key).unwrap().try_acquire(Request::cost(1)).expect("a decision");
    }
    let state = raw.keys("").into_iter().find(|key| key.ends_with(b":s:api:ada")).expect("a state");
    raw.command(&format!("SET {} damaged", String::from_utf8(state).expect("text")));
    let pause = AdminRequest::Pause(Deadline::After(Micros(60_000_000)));
    let page = users.change_keys(KeyChange::Admin(&pause), None).expect("a page");
    assert_eq!(page.changed, ["bob"]);
    assert_eq!((page.unchanged[0].0.as_str(), page.unchanged[0].1.kind()), ("ada", ErrorKind::Data));
    assert_eq!(users.change_keys(KeyChange::Reset, None).expect("a page").changed, ["ada", "bob"]);
}

fn each_store(test: impl Fn(&Paddlegate, &str) -> Result<()>) {
    for (place, store) in [("in memory", Paddlegate::memory()), ("in redis", open(&test_url(), None))] {
        test(&store, &unique("all-keys")).unwrap_or_else(|error| panic!("{place}: {error}"));
    }
}
