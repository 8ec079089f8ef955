//! Decodes the errors that a script or the server replies.

use crate::base::error::{Cause, Error};
use crate::model::label::too_many_labels;
use crate::model::overrides::has_passed;
pub(super) use crate::verbs::decision::reply as decision;
pub(super) use crate::verbs::value::garbled;

/// Converts an error reply by what the caller can do. The call was not executed, except that a script which was stopped may have written.
pub(super) fn reply_error(error: &str) -> Error {
    let shown: String = error.chars().take(200).collect();
    // Redis 6.2 wraps the error in a script error.
    if error.contains("WRONGTYPE ") && !error.starts_with("PGAFTER ") {
        return Error::data("a key of this limiter holds a value of another program; use another database or name");
    }
    if is_without_login(error) {
        return Error::unavailable(
            "redis needs a password (NOAUTH); put it into the url: redis://:password@host or redis://user:password@host",
        )
        .because(Cause::Rights);
    }
    if is_of_replica(error) {
        return Error::unavailable("the server is a replica, try again: error=READONLY").because(Cause::Demoted);
    }
    match error.split(' ').next().unwrap_or_default() {
        "CROSSSLOT" => {
            Error::invalid("group", "limiters that decide together in a cluster need the same group; give one to each")
        }
        "MOVED" | "ASK" | "TRYAGAIN" | "CLUSTERDOWN" => {
            Error::unavailable(format!("the cluster does not serve the slot now, try again: error={shown:?}"))
                .because(Cause::Slot)
        }
        "WRONGTYPE" => {
            Error::data("a key of this limiter holds a value of another program; use another database or name")
        }
        "PGDATA" => Error::data(shown.strip_prefix("PGDATA ").unwrap_or("the stored value is damaged").to_owned()),
        "PGLABELS" => too_many_labels(),
        "PGPAST" => {
            let mut words = error.split(' ').skip(1);
            let argument = if words.next() == Some("until") { "until" } else { "expires_at" };
            let mut time = || words.next().and_then(|word| word.parse().ok()).unwrap_or_default();
            has_passed(argument, time(), time())
        }
        "PGINVALID" => Error::internal(format!("the script refused an argument: error={shown:?}")),
        // The script was stopped while running and may have written. A function behind a decision comes after the writes of that.
        "ERR" if error.contains("user_script") => script_failed(&shown),
        "PGAFTER" => script_failed(shown.strip_prefix("PGAFTER ").unwrap_or(&shown)),
        _ => {
            let refused = Error::unavailable(format!("redis refused the call: error={shown:?}"));
            if is_of_rights(error) { refused.because(Cause::Rights) } else { refused }
        }
    }
}

/// Returns whether the login or the rights of the user are wrong.
pub(super) fn is_of_rights(error: &str) -> bool {
    ["NOPERM", "WRONGPASS", "NOAUTH"].iter().any(|code| error.starts_with(code))
}

fn script_failed(error: &str) -> Error {
    Error::unknown_outcome(format!("the script failed: error={error:?}"))
}

/// Returns whether the server requires a login. It refuses long commands with a protocol error before it parses them.
pub(super) fn is_without_login(error: &str) -> bool {
    error.starts_with("NOAUTH") || error.contains("Protocol error: unauthenticated ")
}

/// Returns whether the server is a replica, which refuses writes: the script ended at its first write.
pub(super) fn is_of_replica(error: &str) -> bool {
    // Redis 6.2 wraps the error in a script error.
    error.starts_with("READONLY") || error.starts_with("ERR ") && error.contains("READONLY You can't write against")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::ErrorKind;

    #[test]
    fn damaged_state_is_an_error_also_without_a_text() {
        for (error, message) in
            [("PGDATA", "the stored value is damaged"), ("PGDATA ", ""), ("PGDATA a log", "a log"), ("PGDATA é", "é")]
        {
            let converted = reply_error(error);
            assert_eq!((converted.kind(), converted.message()), (ErrorKind::Data, message), "{error:?}");
        }
    }

    #[test]
    fn errors_say_whose_they_are() {
        for (error, cause) in [
            ("READONLY You can't write against a read only replica.", Cause::Demoted),
            ("ERR Error running script: @user_script:1: -READONLY You can't write against a read", Cause::Demoted),
            ("MOVED 1 a:1", Cause::Slot),
            ("ASK 1 a:1", Cause::Slot),
            ("TRYAGAIN Multiple keys request during rehashing of slot", Cause::Slot),
            ("CLUSTERDOWN Hash slot not served", Cause::Slot),
            ("LOADING Redis is loading the dataset in memory", Cause::Store),
            ("NOAUTH Authentication required.", Cause::Rights),
            ("NOPERM User app has no permissions to run the 'evalsha' command", Cause::Rights),
        ] {
            let converted = reply_error(error);
            assert_eq!((converted.kind(), converted.cause()), (ErrorKind::Unavailable, cause), "{error}");
            assert!(!converted.may_have_counted(), "{error}");
        }
    }
}
