//! The methods of a store that create a limiter by its numbers, and `MadeLimiters`: those that were made last.
//!
//! They are native because a method in Python takes longer to call than a decision in memory.

use paddlegate::Kind;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};

use crate::argument::OptionalArg;

/// The most limiters that are kept; a store with more begins anew.
const MAX: usize = 1_000;

/// The options of a limiter; `lock_timeout` is that of one kind.
const OPTIONS: [&str; 12] = [
    "lock_timeout",
    "wait_timeout",
    "on_limit",
    "ttl",
    "group",
    "keyed",
    "statistics",
    "on_unavailable",
    "local_share_percent",
    "mode",
    "block_after",
    "aging",
];

/// The numbers and words of a limit behind its kind.
type Parts<T> = [Option<T>; 4];

type Options<T> = [Option<T>; OPTIONS.len()];

type Argument<'a, 'py> = &'a Bound<'py, PyAny>;

/// The limiters of a store that were made last, by name.
///
/// To make one takes as long as fifteen decisions in memory, and programs whose names come with the
/// call, such as those of shops, ask for one at each.
#[pyclass(frozen, subclass, module = "paddlegate._native")]
pub(crate) struct MadeLimiters(
    /// A `Made` for each name.
    Py<PyDict>,
);

/// A limiter and what it was made of.
#[pyclass(frozen, module = "paddlegate._native")]
struct Made {
    kind: Kind,
    parts: Parts<Py<PyAny>>,
    /// `None` without any.
    options: Option<Options<Py<PyAny>>>,
    limiter: Py<PyAny>,
}

/// An argument that may be omitted. A None that is given is passed on, since for some it is an error.
#[derive(Clone, Copy, Default)]
struct Given<'a, 'py>(Option<Borrowed<'a, 'py, PyAny>>);

impl<'a, 'py> FromPyObject<'a, 'py> for Given<'a, 'py> {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(Some(value)))
    }
}

impl<'py> Given<'_, 'py> {
    fn part(&self) -> OptionalArg<'_, 'py> {
        self.0.as_deref()
    }
}

/// Defines a method for each kind. All name the options, since Python makes a tuple and a mapping of the arguments of a method
/// that takes any; what they show of themselves is written out.
macro_rules! factories {
    ($(
        $(#[$($doc:tt)*])*
        fn $method:ident $shown:tt
            ([$($needed:ident),*] [$($positional:ident),*] [$($keyword:ident),*])
            => ($name:expr, $kind:ident, $parts:expr, $lock_timeout:expr);
    )*) => {
        #[pymethods]
        impl MadeLimiters {
            $(
                $(#[$($doc)*])*
                #[pyo3(
                    signature = (
                        $($needed,)* $($positional=Given::default(),)* *, $($keyword=Given::default(),)*
                        wait_timeout=None, on_limit=None, ttl=None, group=None, keyed=None, statistics=None,
                        on_unavailable=None, local_share_percent=None, mode=None, block_after=None, aging=None,
                    ),
                    text_signature = $shown
                )]
                #[allow(clippy::too_many_arguments)]
                fn $method<'py>(
                    slf: &Bound<'py, Self>,
                    $($needed: &Bound<'py, PyAny>,)*
                    $($positional: Given<'_, 'py>,)*
                    $($keyword: Given<'_, 'py>,)*
                    wait_timeout: OptionalArg<'_, 'py>,
                    on_limit: OptionalArg<'_, 'py>,
                    ttl: OptionalArg<'_, 'py>,
                    group: OptionalArg<'_, 'py>,
                    keyed: OptionalArg<'_, 'py>,
                    statistics: OptionalArg<'_, 'py>,
                    on_unavailable: OptionalArg<'_, 'py>,
                    local_share_percent: OptionalArg<'_, 'py>,
                    mode: OptionalArg<'_, 'py>,
                    block_after: OptionalArg<'_, 'py>,
                    aging: OptionalArg<'_, 'py>,
                ) -> PyResult<Bound<'py, PyAny>> {
                    let options = [
                        $lock_timeout, wait_timeout, on_limit, ttl, group, keyed, statistics, on_unavailable,
                        local_share_percent, mode, block_after, aging,
                    ];
                    limiter(slf, $name, Kind::$kind, &$parts, &options)
                }
            )*

            /// A program may have given a limiter an attribute that leads back to the store.
            fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
                visit.call(&self.0)
            }
        }
    };
}

factories! {
    /// Create a limiter of at most `limit` leases at once; 0 is a pause.
    ///
    /// A lease that is not released ends after `lock_timeout`, by default 30 seconds. `limit` is at
    /// most 100,000.
    fn concurrent "($self, name, limit, *, lock_timeout=None, **options)"
        ([name, limit] [] [lock_timeout])
        => (Some(name), Concurrency, [Some(limit), None, None, None], lock_timeout.part());

    /// Create a limiter of at most `limit` units in each interval since 1970 (UTC).
    ///
    /// For days of another time zone, the intervals start `offset` earlier.
    fn bucket "($self, name, limit, interval, offset=0, **options)"
        ([name, limit, interval] [offset] [])
        => (Some(name), Bucket, [Some(limit), Some(interval), offset.part(), None], None);

    /// Create a limiter of at most `limit` units in any interval; `limit` is at most 100,000.
    fn window "($self, name, limit, interval, **options)"
        ([name, limit, interval] [] [])
        => (Some(name), Window, [Some(limit), Some(interval), None, None], None);

    /// Create a limiter with a burst of `capacity` units, which drains fully in `drain`.
    ///
    /// `refund` is what a correction to a lower cost gives back: "full", the default, the whole
    /// difference, also units that have drained meanwhile; "undrained", at most what cannot have
    /// drained since the grant. Another one raises `InvalidError`, argument `refund`.
    fn leaky "($self, name, capacity, drain, *, refund='full', **options)"
        ([name, capacity, drain] [] [refund])
        => (Some(name), Leaky, [Some(capacity), Some(drain), refund.part(), None], None);

    /// Create a limiter with a budget of `capacity` points, full again after `refill`.
    ///
    /// `refund` is as for `leaky`.
    fn points "($self, name, capacity, refill, *, refund='full', **options)"
        ([name, capacity, refill] [] [refund])
        => (Some(name), Points, [Some(capacity), Some(refill), refund.part(), None], None);

    /// Create a limiter of at most `limit` units in each period of the calendar.
    ///
    /// `per` is "day", "week", "month", "quarter" or "year". `limit` is from 1 to 10^12, in any
    /// unit: money is whole micro-units. All units return when a period ends, by the clock of the
    /// store, and a debt ends too. `timezone` is "UTC", the default, an offset such as "+05:30", or
    /// a name such as "Europe/Berlin". `starts` is when the periods start in local time: for days
    /// the time, "06:00"; for weeks the day, "sunday"; for months the day, "15", in a shorter month
    /// its last one; for quarters and years month and day, "04-06"; or for all of them a date,
    /// "2025-01-31", or a date with a time, at which one starts. By default midnight, Monday and
    /// the first day. Raises `InvalidError`, argument `limit`, `per`, `timezone` or `starts`.
    ///
    ///     spending = pg.quota("tenant-7", 50_000_000, "month", timezone="Europe/Berlin")
    fn quota "($self, name, limit, per, *, timezone=None, starts=None, **options)"
        ([name, limit, per] [] [timezone, starts])
        => (Some(name), Quota, [Some(limit), Some(per), timezone.part(), starts.part()], None);

    /// Create a limiter of `limit` starts per `interval`, evenly spaced, whatever their cost.
    ///
    /// By default starts are at least `interval` apart. Three per second are at 0, 0.333334,
    /// 0.666667 and 1 seconds, and so on. `limit` is from 1 to one start per microsecond, at most
    /// 10^12; otherwise this raises `InvalidError`.
    fn throttle "($self, name, interval, *, limit=1, **options)"
        ([name, interval] [] [limit])
        => (Some(name), Throttle, [limit.part(), Some(interval), None, None], None);

    /// Create a limiter that grants every call.
    fn unlimited "($self, name='unlimited', **options)"
        ([] [name] [])
        => (name.part(), Unlimited, [None; 4], None);

    /// Create a limiter that refuses every call.
    fn paused "($self, name, **options)"
        ([name] [] [])
        => (Some(name), Paused, [None; 4], None);
}

#[pymethods]
impl Made {
    /// See that of the store.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let options = self.options.iter().flatten().flatten();
        self.parts.iter().flatten().chain(options).try_for_each(|part| visit.call(part))?;
        visit.call(&self.limiter)
    }
}

impl MadeLimiters {
    pub(crate) fn new(py: Python<'_>) -> Self {
        Self(PyDict::new(py).unbind())
    }
}

/// Returns the limiter of the name if it was made of these arguments, and otherwise makes it.
fn limiter<'py>(
    store: &Bound<'py, MadeLimiters>,
    name: OptionalArg<'_, 'py>,
    kind: Kind,
    parts: &Parts<&Bound<'py, PyAny>>,
    options: &Options<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = store.py();
    let Some(name) = name else {
        return limiter(store, Some(PyString::intern(py, kind.name()).as_any()), kind, parts, options);
    };
    if name.is_exact_instance_of::<PyString>()
        && let Some(made) = store.get().0.bind(py).get_item(name)?
        && let made = made.cast::<Made>()?.get()
        && made.kind == kind
        && are_equal(&made.parts, parts, py)?
        && match &made.options {
            None => options.iter().all(Option::is_none),
            Some(made) => are_equal(made, options, py)?,
        }
    {
        return Ok(made.limiter.bind(py).clone());
    }
    make(store, name, kind, parts, options)
}

#[cold]
#[inline(never)]
fn make<'py>(
    store: &Bound<'py, MadeLimiters>,
    name: &Bound<'py, PyAny>,
    kind: Kind,
    parts: &Parts<&Bound<'py, PyAny>>,
    options: &Options<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if let Some((parts, options)) = without_defaults(kind, parts, options) {
        return limiter(store, Some(name), kind, &parts, &options);
    }
    let py = store.py();
    let mut limit = vec![PyString::intern(py, kind.name()).into_any()];
    for part in parts {
        match part {
            Some(part) => limit.push((*part).clone()),
            // The start of its periods comes behind a time zone.
            None if kind == Kind::Quota => limit.push(py.None().into_bound(py)),
            None => {}
        }
    }
    let limits = PyList::new(py, [PyTuple::new(py, limit)?])?;
    let keywords = PyDict::new(py);
    for (option, value) in OPTIONS.iter().zip(options) {
        if let Some(value) = value {
            keywords.set_item(option, value)?;
        }
    }
    let limiter = CLASS.import(py, "paddlegate._limiter", "Limiter")?.call((store, name, limits), Some(&keywords))?;
    if name.is_exact_instance_of::<PyString>() && parts.iter().chain(options).flatten().all(|it| is_constant(it)) {
        let by_name = store.get().0.bind(py);
        if by_name.len() >= MAX {
            by_name.clear();
        }
        let kept = |value: Option<&Bound<'py, PyAny>>| value.map(|value| value.clone().unbind());
        let options = (!keywords.is_empty()).then(|| options.map(kept));
        by_name.set_item(name, Made { kind, parts: parts.map(kept), options, limiter: limiter.clone().unbind() })?;
    }
    Ok(limiter)
}

/// Returns the arguments without defaults, if any are given: one place of a program may name them, and another may not.
fn without_defaults<'a, 'py>(
    kind: Kind,
    parts: &Parts<Argument<'a, 'py>>,
    options: &Options<Argument<'a, 'py>>,
) -> Option<(Parts<Argument<'a, 'py>>, Options<Argument<'a, 'py>>)> {
    let is_number = |part: &Bound<'_, PyAny>, number: i64| {
        part.is_exact_instance_of::<PyInt>() && part.extract::<i64>().is_ok_and(|part| part == number)
    };
    let is_default = |at: usize, part: &Bound<'_, PyAny>| match (kind, at) {
        (Kind::Bucket, 2) => is_number(part, 0),
        (Kind::Throttle, 0) => is_number(part, 1),
        (Kind::Leaky | Kind::Points, 2) => part.cast_exact::<PyString>().is_ok_and(|refund| refund == "full"),
        (Kind::Quota, 2 | 3) => part.is_none(),
        _ => false,
    };
    let (mut plain_parts, mut plain_options) = (*parts, *options);
    for (at, part) in plain_parts.iter_mut().enumerate() {
        *part = part.filter(|part| !is_default(at, part));
    }
    for option in &mut plain_options {
        *option = option.filter(|option| !option.is_none());
    }
    let count = |parts: &Parts<_>, options: &Options<_>| parts.iter().chain(options).flatten().count();
    let has_defaults = count(&plain_parts, &plain_options) < count(parts, options);
    has_defaults.then_some((plain_parts, plain_options))
}

/// Returns whether an argument can neither change between two calls nor run code when it is compared.
fn is_constant(value: &Bound<'_, PyAny>) -> bool {
    value.is_none()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyBool>()
}

fn are_equal(made: &[Option<Py<PyAny>>], given: &[OptionalArg<'_, '_>], py: Python<'_>) -> PyResult<bool> {
    for (made, given) in made.iter().zip(given) {
        match (made, given) {
            (None, None) => {}
            (Some(made), Some(given)) if is_same(made.bind(py), given)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Returns whether an argument is the same to whoever reads it: `True` equals 1, and is not a number here.
fn is_same(made: &Bound<'_, PyAny>, given: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(made.is(given) || made.get_type().is(given.get_type()) && made.eq(given)?)
}
