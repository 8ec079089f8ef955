//! `MadeLimiters`: the limiters of a store that were made last.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString, PyTuple};

/// The most limiters that are kept; a store with more begins anew.
const MAX: usize = 1_000;

/// The limiters of a store that were made last, by name.
///
/// To make one takes as long as fifteen decisions in memory, and programs whose names come with the
/// call, such as those of shops, ask for one at each.
#[pyclass(frozen, module = "paddlegate._native")]
pub(crate) struct MadeLimiters {
    /// Makes a limiter of a store, a name, a limit and options.
    make: Py<PyAny>,
    /// A `Made` for each name.
    by_name: Py<PyDict>,
}

/// A limiter and what it was made of.
#[pyclass(frozen, module = "paddlegate._native")]
struct Made {
    limit: Py<PyTuple>,
    options: Py<PyDict>,
    limiter: Py<PyAny>,
}

#[pymethods]
impl MadeLimiters {
    #[new]
    fn new(py: Python<'_>, make: Py<PyAny>) -> Self {
        Self { make, by_name: PyDict::new(py).unbind() }
    }

    // Returns the limiter of the name if it was made of these arguments, and otherwise makes it. Python passes a fixed number
    // of arguments without a tuple and a mapping of them.
    fn get<'py>(
        &self,
        store: &Bound<'py, PyAny>,
        name: &Bound<'py, PyAny>,
        limit: &Bound<'py, PyTuple>,
        options: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = store.py();
        let (make, by_name) = (self.make.bind(py), self.by_name.bind(py));
        let is_text = name.is_exact_instance_of::<PyString>();
        if is_text
            && let Some(made) = by_name.get_item(name)?
            && let made = made.cast::<Made>()?.get()
            && are_equal(made.limit.bind(py), limit)?
            && have_equal(made.options.bind(py), options)?
        {
            return Ok(made.limiter.bind(py).clone());
        }
        let limiter = make.call1((store, name, limit, options))?;
        let is_constant = is_text
            && limit.iter_borrowed().all(|part| is_constant(&part))
            && options.values().iter().all(|value| is_constant(&value));
        if is_constant {
            if by_name.len() >= MAX {
                by_name.clear();
            }
            let (limit, options) = (limit.clone().unbind(), options.copy()?.unbind());
            by_name.set_item(name, Made { limit, options, limiter: limiter.clone().unbind() })?;
        }
        Ok(limiter)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.make)?;
        visit.call(&self.by_name)
    }
}

#[pymethods]
impl Made {
    /// A program may have given a limiter an attribute that leads back to the store.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.limit)?;
        visit.call(&self.options)?;
        visit.call(&self.limiter)
    }
}

/// Returns whether an argument can neither change between two calls nor run code when it is compared.
fn is_constant(value: &Bound<'_, PyAny>) -> bool {
    value.is_none()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyBool>()
}

fn are_equal(made: &Bound<'_, PyTuple>, given: &Bound<'_, PyTuple>) -> PyResult<bool> {
    if made.len() != given.len() {
        return Ok(false);
    }
    for (made, given) in made.iter_borrowed().zip(given.iter_borrowed()) {
        if !is_same(&made, &given)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn have_equal(made: &Bound<'_, PyDict>, given: &Bound<'_, PyDict>) -> PyResult<bool> {
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
fn is_same(made: &Bound<'_, PyAny>, given: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(made.is(given) || made.get_type().is(given.get_type()) && made.eq(given)?)
}
