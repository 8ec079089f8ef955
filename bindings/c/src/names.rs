//! The names of the core's numbers, as constant C texts.

use std::ffi::{CStr, c_char};

use paddlegate_core::formats::invantive::Level;
use paddlegate_core::{Action, ErrorKind, Kind, Reason, Settlement};

pub(crate) type Name = [u8; 16];

/// The names of a [`Code`](crate::error::Code), by its number.
pub(crate) static CODES: [Name; ErrorKind::ALL.len() + 1] = {
    let mut names = [terminated("ok"); ErrorKind::ALL.len() + 1];
    let mut i = 0;
    while i < ErrorKind::ALL.len() {
        names[ErrorKind::ALL[i] as usize] = terminated(ErrorKind::ALL[i].name());
        i += 1;
    }
    names
};

/// The names of a [`Kind`](crate::limit::Kind), by its number.
pub(crate) static KINDS: [Name; Kind::Quota as usize + 1] = {
    // No kind has the numbers that only reasons have.
    let mut names = [terminated("?"); Kind::Quota as usize + 1];
    names[0] = terminated("none");
    let mut i = 0;
    while i < Kind::ALL.len() {
        names[Kind::ALL[i] as usize] = terminated(Kind::ALL[i].name());
        i += 1;
    }
    names
};

/// The names of a [`Reason`](crate::reason::Reason), by its number.
pub(crate) static REASONS: [Name; crate::reason::Reason::Running as usize + 1] = {
    let mut names = [terminated("?"); crate::reason::Reason::Running as usize + 1];
    names[0] = terminated("none");
    names[crate::reason::Reason::Unavailable as usize] = terminated(ErrorKind::Unavailable.name());
    let all = [
        Reason::Limit(Kind::Bucket),
        Reason::Limit(Kind::Window),
        Reason::Limit(Kind::Leaky),
        Reason::Limit(Kind::Points),
        Reason::Limit(Kind::Throttle),
        Reason::Limit(Kind::Concurrency),
        Reason::Limit(Kind::Quota),
        Reason::Paused,
        Reason::TooLarge,
        Reason::Blocked,
        Reason::Running,
    ];
    let mut i = 0;
    while i < all.len() {
        names[all[i].code() as usize] = terminated(all[i].name());
        i += 1;
    }
    names
};

/// The names of a [`Settlement`], by its number.
pub(crate) static SETTLEMENTS: [Name; Settlement::Cancelled as usize + 1] = {
    let mut names = [terminated("?"); Settlement::Cancelled as usize + 1];
    names[0] = terminated("none");
    let all = [
        Settlement::Settled,
        Settlement::Already,
        Settlement::Late,
        Settlement::Unknown,
        Settlement::Released,
        Settlement::Cancelled,
    ];
    let mut i = 0;
    while i < all.len() {
        names[all[i] as usize] = terminated(all[i].name());
        i += 1;
    }
    names
};

/// The names of an [`Action`](crate::admission::Action), by its number.
pub(crate) static ACTIONS: [Name; 5] = [
    terminated(Action::Refuse.name()),
    terminated(Action::Run.name()),
    terminated(Action::Wait.name()),
    terminated(Action::Reschedule.name()),
    terminated(Action::Drop.name()),
];

/// The names of a [`Level`](crate::gate::Level), by its number.
pub(crate) static LEVELS: [Name; Level::ALL.len() + 1] = {
    let mut names = [terminated("none"); Level::ALL.len() + 1];
    let mut i = 0;
    while i < Level::ALL.len() {
        names[i + 1] = terminated(Level::ALL[i].name());
        i += 1;
    }
    names
};

/// Returns the name of a number, `"?"` for an unknown one.
pub(crate) fn of(number: i32, names: &'static [Name]) -> *const c_char {
    let name = usize::try_from(number).ok().and_then(|number| names.get(number));
    name.and_then(|name| CStr::from_bytes_until_nul(name).ok()).unwrap_or(c"?").as_ptr()
}

const fn terminated(name: &str) -> Name {
    let mut bytes = [0; 16];
    let (name, rest) = (name.as_bytes(), bytes.len() - 1);
    assert!(name.len() <= rest);
    let mut i = 0;
    while i < name.len() {
        bytes[i] = name[i];
        i += 1;
    }
    bytes
}
