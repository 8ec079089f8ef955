//! The wrapper of every function: no panic leaves the library, and every error and result is
//! written to the caller.

use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

use paddlegate_core::{Error as CoreError, Result};

use crate::error::{Code, Error};

/// Runs the body of a function, writes its error and returns its code.
pub(crate) fn guard(error: Option<&mut MaybeUninit<Error>>, body: impl FnOnce() -> Result<()>) -> Code {
    let result = catch_unwind(AssertUnwindSafe(body))
        .unwrap_or_else(|_| Err(CoreError::internal("the library panicked, please report it")));
    let code = result.as_ref().map_or_else(|error| Code::from(error.kind()), |()| Code::PgOk);
    if let Some(output) = error {
        match &result {
            Ok(()) => *output = MaybeUninit::zeroed(),
            Err(error) => {
                output.write(error.into());
            }
        }
    }
    code
}

/// As [`guard`], for a function with a result. After an error `output` holds `empty`.
pub(crate) fn guard_into<T>(
    argument: &'static str,
    mut output: Option<&mut MaybeUninit<T>>,
    empty: impl FnOnce() -> T,
    error: Option<&mut MaybeUninit<Error>>,
    body: impl FnOnce() -> Result<T>,
) -> Code {
    let code = guard(error, || {
        let output = output.as_mut().ok_or_else(|| CoreError::invalid(argument, "is NULL"))?;
        output.write(body()?);
        Ok(())
    });
    if let Some(output) = output.filter(|_| code != Code::PgOk) {
        output.write(empty());
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let mut error = MaybeUninit::uninit();
        let mut output = MaybeUninit::new(7);
        let code = guard_into("place", Some(&mut output), || 0, Some(&mut error), || panic!("inside"));
        assert_eq!(code, Code::PgInternal);
        // SAFETY: `guard_into` has written both, as it does after every error.
        let (error, output) = unsafe { (error.assume_init(), output.assume_init()) };
        assert_eq!((error.code, error.may_have_counted, output), (Code::PgInternal, 0, 0));
        assert_ne!(error.message[0], 0);
    }
}
