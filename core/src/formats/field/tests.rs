//! Where errors are, and what numbers and times are.

use serde_json::json;

use super::*;

#[test]
fn an_error_says_where_it_is() {
    let value = json!({"a": {"b c": [1, "x"]}, "n": null});
    let root = Field::root(&value);
    let list = root.need("a").unwrap().need("b c").unwrap().list().unwrap();
    assert_eq!(
        list[1].integer().unwrap_err().message(),
        "at $.a[\"b c\"][1]: must be a whole number from 0: value=\"x\""
    );
    assert_eq!(root.need("n").unwrap_err().message(), "at $.n: must not be null");
    assert_eq!(root.need("m").unwrap_err().message(), "at $.m: is missing");
    assert_eq!(root.object(&["a"]).unwrap_err().message(), "at $.n: is not known here; known are a");
    assert_eq!(list[0].any_object().unwrap_err().message(), "at $.a[\"b c\"][0]: must be an object: value=1");
    assert!(root.any_object().is_ok());
    assert_eq!(list[0].object(&[]).unwrap_err().message(), "at $.a[\"b c\"][0]: must be an object: value=1");
}

#[test]
fn numbers_are_whole_and_seconds_exact() {
    for (value, number) in [(json!(0), 0), (json!(5.0), 5), (json!(1e3), 1_000), (json!(u64::MAX), u64::MAX)] {
        assert_eq!(Field::root(&value).integer().unwrap(), number);
    }
    for value in [json!(-1), json!(1.5), json!(-0.0), json!(1e300), json!("1"), json!(true), json!(null)] {
        assert!(Field::root(&value).integer().is_err(), "{value}");
    }
    for (value, number) in [(json!(-5), 0), (json!(-5.0), 0), (json!(i64::MIN), 0), (json!(7), 7), (json!(7.0), 7)] {
        assert_eq!(Field::root(&value).clamped().unwrap(), number);
    }
    for value in [json!(-1.5), json!(1.5), json!(1e300), json!("-1"), json!(null)] {
        assert!(Field::root(&value).clamped().is_err(), "{value}");
    }
    for (value, micros) in [(json!(0.1), 100_000), (json!(30), 30_000_000), (json!(1e-7), 1), (json!(0), 0)] {
        assert_eq!(Field::root(&value).seconds().unwrap(), Micros(micros));
    }
    for value in [json!(-0.1), json!(1e30), json!(315_360_001), json!("1")] {
        assert!(Field::root(&value).seconds().is_err(), "{value}");
    }
}

#[test]
fn times_are_of_rfc_3339() {
    let time = |text: &str| Field::root(&json!(text)).time();
    assert_eq!(time("1970-01-01T00:00:01Z").unwrap(), Micros(1_000_000));
    assert_eq!(time("1970-01-01T01:00:00.0000001+01:00").unwrap(), Micros(1));
    for text in ["", "2030-01-01", "2030-01-01T00:00:00", "1969-12-31T23:59:59Z", "9999-12-31T00:00:00Z", "soon"] {
        assert!(time(text).is_err(), "{text}");
    }
    assert!(time("2030-01-01T00:00:00+00:00[UTC]").is_err());
}
