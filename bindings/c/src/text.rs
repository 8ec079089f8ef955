//! Texts of the C interface: checks the texts of the caller, and ends the texts for the caller with
//! a zero byte.

use std::ffi::{CStr, c_char};
use std::slice;

use paddlegate_core::{Error, Result};

/// Returns a text of the caller, which must end with a zero byte.
pub(crate) unsafe fn read<'a>(argument: &'static str, text: *const c_char) -> Result<&'a str> {
    if text.is_null() {
        return Err(Error::invalid(argument, "is NULL"));
    }
    // SAFETY: not NULL, so a text of the caller that ends with a zero byte.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| Error::invalid(argument, "is not UTF-8"))
}

/// Returns the part of a text that fits into `N` bytes with its zero byte, cut between two
/// characters.
pub(crate) fn write<const N: usize>(text: &str) -> [c_char; N] {
    let mut length = text.len().min(N - 1);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    let mut buffer = [0; N];
    for (target, byte) in buffer.iter_mut().zip(&text.as_bytes()[..length]) {
        *target = c_char::from_ne_bytes([*byte]);
    }
    buffer
}

/// Returns a text of the caller, or `default` for NULL.
pub(crate) unsafe fn read_or<'a>(argument: &'static str, text: *const c_char, default: &'a str) -> Result<&'a str> {
    // SAFETY: the caller passes NULL or a text that ends with a zero byte.
    Ok(unsafe { read_some(argument, text) }?.unwrap_or(default))
}

pub(crate) unsafe fn read_some<'a>(argument: &'static str, text: *const c_char) -> Result<Option<&'a str>> {
    // SAFETY: the caller passes NULL or a text that ends with a zero byte.
    if text.is_null() { Ok(None) } else { unsafe { read(argument, text) }.map(Some) }
}

/// Returns bytes of the caller; NULL is valid when there are none.
pub(crate) unsafe fn bytes<'a>(argument: &'static str, start: *const c_char, length: usize) -> Result<&'a [u8]> {
    match length {
        0 => Ok(&[]),
        _ if start.is_null() => Err(Error::invalid(argument, "is NULL")),
        _ if isize::try_from(length).is_err() => Err(Error::invalid(argument, format!("is too long: length={length}"))),
        // SAFETY: not NULL, so `length` bytes of the caller, no more than a slice may have.
        _ => Ok(unsafe { slice::from_raw_parts(start.cast(), length) }),
    }
}

/// Writes a whole text into a buffer, which must be large enough.
pub(crate) unsafe fn fill(argument: &'static str, buffer: *mut c_char, room: usize, text: &str) -> Result<()> {
    if buffer.is_null() {
        return Err(Error::invalid(argument, "is NULL"));
    }
    if room <= text.len() {
        return Err(Error::invalid("room", format!("is too small: needed={} room={room}", text.len() + 1)));
    }
    // SAFETY: not NULL, so the caller's buffer with room for the text and its zero byte, as
    // compared above.
    unsafe {
        buffer.copy_from_nonoverlapping(text.as_ptr().cast(), text.len());
        buffer.add(text.len()).write(0);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        // SAFETY: `write` ends every text with a zero byte.
        let cut = |text| unsafe { read("text", write::<4>(text).as_ptr()).unwrap().to_owned() };
        assert_eq!(cut(""), "");
        assert_eq!(cut("abc"), "abc");
        assert_eq!(cut("abcd"), "abc");
        assert_eq!(cut("aéé"), "aé");
        assert_eq!(cut("aaéé"), "aa");
        assert_eq!(cut("😀"), "");
    }
}
