//! `MadeLimiters`: the limiters of a store that were made last.

use paddlegate::Kind;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};

use crate::argument::OptionalArg;
use crate::paddlegate::Paddlegate;

/// The most limiters that are kept; a store with more begins anew.
const MAX: usize = 1_000;

/// The most numbers and words of a limit behind its kind.
pub(crate) const MAX_PARTS: usize = 4;

type Parts<'a, 'py> = [OptionalArg<'a, 'py>; MAX_PARTS];

/// The limiters of a store that were made last, by name.
///
/// To make one takes as long as fifteen decisions in memory, and programs whose names come with the
/// call, such as those of shops, ask for one at each.
pub(crate) struct MadeLimiters(
    /// A `Made` for each name.
    Py<PyDict>,
);

/// A limiter and what it was made of.
#[pyclass(frozen, module = "paddlegate._native")]
struct Made {
    kind: Kind,
    parts: [Option<Py<PyAny>>; MAX_PARTS],
    options: Option<Py<PyDict>>,
    limiter: Py<PyAny>,
}

#[pymethods]
impl Made {
    /// A program may have given a limiter an attribute that leads back to the store.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        for part in self.parts.iter().flatten() {
            visit.call(part)?;
        }
        visit.call(&self.options)?;
        visit.call(&self.limiter)
    }
}

impl MadeLimiters {
    pub(crate) fn new(py: Python<'_>) -> Self {
        Self(PyDict::new(py).unbind())
    }

    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.0)
    }
}

/// Returns the limiter of the name if it was made of these arguments, and otherwise makes it.
#[inline]
pub(crate) fn limiter<'py>(
    store: &Bound<'py, Paddlegate>,
    name: &Bound<'py, PyAny>,
    kind: Kind,
    parts: Parts<'_, 'py>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = store.py();
    if name.is_exact_instance_of::<PyString>()
        && let Some(made) = store.get().made.0.bind(py).get_item(name)?
        && let made = made.cast::<Made>()?.get()
        && made.kind == kind
        && are_equal(&made.parts, &parts, py)?
        && have_equal(made.options.as_ref(), options, py)?
    {
        return Ok(made.limiter.bind(py).clone());
    }
    make(store, name, kind, parts, options)
}

#[cold]
#[inline(never)]
fn make<'py>(
    store: &Bound<'py, Paddlegate>,
    name: &Bound<'py, PyAny>,
    kind: Kind,
    parts: Parts<'_, 'py>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = store.py();
    let kind_name = PyString::intern(py, kind.name()).into_any();
    let limit: Vec<_> = std::iter::once(&kind_name).chain(parts.into_iter().flatten()).collect();
    let limits = PyList::new(py, [PyTuple::new(py, limit)?])?;
    let limiter = CLASS.import(py, "paddlegate._limiter", "Limiter")?.call((store, name, limits), options)?;
    let is_constant = name.is_exact_instance_of::<PyString>()
        && parts.into_iter().flatten().all(is_constant)
        && options.is_none_or(|options| options.values().iter().all(|value| is_constant(&value)));
    if is_constant {
        let by_name = store.get().made.0.bind(py);
        if by_name.len() >= MAX {
            by_name.clear();
        }
        let parts = parts.map(|part| part.map(|part| part.clone().unbind()));
        let options = options.map(|options| options.clone().unbind());
        by_name.set_item(name, Made { kind, parts, options, limiter: limiter.clone().unbind() })?;
    }
    Ok(limiter)
}

/// Returns whether an argument can neither change between two calls nor run code when it is compared.
fn is_constant(value: &Bound<'_, PyAny>) -> bool {
    value.is_none()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyBool>()
}

fn are_equal(made: &[Option<Py<PyAny>>; MAX_PARTS], given: &Parts<'_, '_>, py: Python<'_>) -> PyResult<bool> {
    for (made, given) in made.iter().zip(given) {
        match (made, given) {
            (None, None) => {}
            (Some(made), Some(given)) if is_same(made.bind(py), given)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

fn have_equal(made: Option<&Py<PyDict>>, given: Option<&Bound<'_, PyDict>>, py: Python<'_>) -> PyResult<bool> {
    let (made, given) = match (made, given) {
        (None, None) => return Ok(true),
        (Some(made), Some(given)) => (made.bind(py), given),
        _ => return Ok(false),
    };
    if made.len() != given.len() {
        return Ok(false);
    }
    for (name, given) in given {
        match made.get_item(name)? {
            Some(made) if is_same(&made, &given)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Returns whether an argument is the same to whoever reads it: `True` equals 1, and is not a number here.
#[inline]
fn is_same(made: &Bound<'_, PyAny>, given: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(made.is(given) || made.get_type().is(given.get_type()) && made.eq(given)?)
}
