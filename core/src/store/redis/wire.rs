//! The Redis protocol, version 2: encodes commands and decodes replies. No I/O.

use crate::base::error::{Error, Result};
pub(crate) use crate::verbs::value::Value;

/// The maximum length of an incomplete reply; the script's replies have about 100 bytes.
const MAX_REPLY: usize = 1 << 20;

/// The maximum nesting depth of arrays.
const MAX_DEPTH: usize = 4;

/// Appends a command to `out`.
pub(crate) fn command(out: &mut Vec<u8>, words: &[&[u8]]) {
    header(out, words.len());
    for text in words {
        word(out, text);
    }
}

/// Appends the start of a command of `words` words.
pub(crate) fn header(out: &mut Vec<u8>, words: usize) {
    line(out, b'*', words);
}

/// Appends one word of a command.
pub(crate) fn word(out: &mut Vec<u8>, text: &[u8]) {
    line(out, b'$', text.len());
    out.extend_from_slice(text);
    out.extend_from_slice(b"\r\n");
}

/// Appends a number as one word of a command.
pub(crate) fn word_of_number(out: &mut Vec<u8>, number: u64) {
    word(out, itoa::Buffer::new().format(number).as_bytes());
}

fn line(out: &mut Vec<u8>, kind: u8, count: usize) {
    out.push(kind);
    out.extend_from_slice(itoa::Buffer::new().format(count).as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Appends one word of a command, given in pieces.
pub(crate) fn word_of(out: &mut Vec<u8>, pieces: &[&[u8]]) {
    line(out, b'$', pieces.iter().map(|piece| piece.len()).sum());
    for piece in pieces {
        out.extend_from_slice(piece);
    }
    out.extend_from_slice(b"\r\n");
}

/// Splits a byte stream into replies.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    buffer: Vec<u8>,
    taken: usize,
}

impl Decoder {
    /// Appends received bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        // Moves only the incomplete rest, at most once per reply.
        self.buffer.drain(..self.taken);
        self.taken = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns whether all received bytes are consumed.
    pub(crate) fn is_empty(&self) -> bool {
        self.taken == self.buffer.len()
    }

    /// Returns the next complete reply, or `None` until more bytes arrive. An error means that the peer is not Redis.
    pub(crate) fn next(&mut self) -> Result<Option<Value>> {
        let mut cursor = Cursor { bytes: &self.buffer[self.taken..], at: 0 };
        match cursor.value(0) {
            Ok(value) => {
                self.taken += cursor.at;
                Ok(Some(value))
            }
            Err(Stop::Short) if self.buffer.len() - self.taken > MAX_REPLY => Err(garbled()),
            Err(Stop::Short) => Ok(None),
            Err(Stop::Garbled) => Err(garbled()),
        }
    }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

enum Stop {
    /// More bytes are needed.
    Short,
    Garbled,
}

impl Cursor<'_> {
    fn value(&mut self, depth: usize) -> std::result::Result<Value, Stop> {
        let line = self.line()?;
        let (kind, rest) = line.split_first().ok_or(Stop::Garbled)?;
        match kind {
            b':' => Ok(Value::Integer(integer(rest)?)),
            b'+' => Ok(Value::Text(rest.to_vec())),
            b'-' => Ok(Value::Error(String::from_utf8_lossy(rest).into_owned())),
            b'$' => match integer(rest)? {
                -1 => Ok(Value::Nil),
                size => self.bulk(usize::try_from(size).map_err(|_| Stop::Garbled)?),
            },
            b'*' => match integer(rest)? {
                -1 => Ok(Value::Nil),
                _ if depth == MAX_DEPTH => Err(Stop::Garbled),
                size => {
                    (0..size).map(|_| self.value(depth + 1)).collect::<std::result::Result<_, _>>().map(Value::Array)
                }
            },
            _ => Err(Stop::Garbled),
        }
    }

    fn line(&mut self) -> std::result::Result<&[u8], Stop> {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|byte| *byte == b'\r').ok_or(Stop::Short)?;
        match rest.get(end + 1) {
            None => Err(Stop::Short),
            Some(b'\n') => {
                let start = self.at;
                self.at += end + 2;
                Ok(&self.bytes[start..start + end])
            }
            Some(_) => Err(Stop::Garbled),
        }
    }

    fn bulk(&mut self, size: usize) -> std::result::Result<Value, Stop> {
        if size > MAX_REPLY {
            return Err(Stop::Garbled);
        }
        let rest = &self.bytes[self.at..];
        if rest.len() < size + 2 {
            return Err(Stop::Short);
        }
        if &rest[size..size + 2] != b"\r\n" {
            return Err(Stop::Garbled);
        }
        self.at += size + 2;
        Ok(Value::Text(rest[..size].to_vec()))
    }
}

fn integer(text: &[u8]) -> std::result::Result<i64, Stop> {
    let append = |sum: i64, byte: &u8| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0'));
    // As nearly all are; this number of digits does not overflow.
    if matches!(text.len(), 1..=18)
        && let Some(number) = text.iter().try_fold(0, append)
    {
        return Ok(number);
    }
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(Stop::Garbled)
}

fn garbled() -> Error {
    Error::unknown_outcome("the server does not speak the redis protocol; check the address")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_in_any_pieces() {
        let stream = b":12\r\n+OK\r\n-ERR no\r\n$-1\r\n$3\r\na\rb\r\n*2\r\n:1\r\n*1\r\n:-2\r\n*-1\r\n";
        let whole = vec![
            Value::Integer(12),
            Value::Text(b"OK".to_vec()),
            Value::Error("ERR no".into()),
            Value::Nil,
            Value::Text(b"a\rb".to_vec()),
            Value::Array(vec![Value::Integer(1), Value::Array(vec![Value::Integer(-2)])]),
            Value::Nil,
        ];
        for size in 1..=stream.len() {
            let mut decoder = Decoder::default();
            let mut read = Vec::new();
            for piece in stream.chunks(size) {
                decoder.feed(piece);
                while let Some(value) = decoder.next().unwrap() {
                    read.push(value);
                }
            }
            assert_eq!(read, whole, "pieces of {size}");
        }
    }

    #[test]
    fn numbers_are_written_and_read_as_text_is() {
        let numbers = (0..64).flat_map(|bits| [(1_u64 << bits) - 1, 1 << bits]);
        let powers = (0..20).flat_map(|power| [10_u64.pow(power) - 1, 10_u64.pow(power)]);
        for number in numbers.chain(powers).chain([u64::MAX]) {
            let (mut as_number, mut as_text) = (Vec::new(), Vec::new());
            word_of_number(&mut as_number, number);
            word(&mut as_text, number.to_string().as_bytes());
            assert_eq!(as_number, as_text);
            for text in [number.to_string(), format!("-{number}"), format!("+{number}"), format!("0{number}")] {
                assert_eq!(integer(text.as_bytes()).ok(), text.parse().ok(), "{text}");
            }
        }
        for text in ["", "-", "+", "1 ", " 1", "1a", "/", ":", "99999999999999999999999", "1\u{0661}"] {
            assert_eq!(integer(text.as_bytes()).ok(), text.parse().ok(), "{text:?}");
        }
    }

    #[test]
    fn decoded_replies_are_dropped_while_the_next_is_incomplete() {
        let mut decoder = Decoder::default();
        let reply = [b"$1000\r\n".as_slice(), &[b'x'; 1_000], b"\r\n"].concat();
        // Pieces that never end where a reply does.
        let (mut stream, mut read) = (reply.iter().copied().cycle(), 0);
        for _ in 0..1_000 {
            decoder.feed(&stream.by_ref().take(700).collect::<Vec<_>>());
            read += std::iter::from_fn(|| decoder.next().unwrap()).count();
            assert!(decoder.buffer.len() <= 2 * reply.len(), "{} bytes are kept", decoder.buffer.len());
        }
        assert_eq!(read, 1_000 * 700 / reply.len());
        assert!(!decoder.is_empty());
    }

    #[test]
    fn other_protocols_are_refused() {
        for text in [
            "HTTP/1.1 400 Bad Request\r\n",
            ":x\r\n",
            "$5\r\nabcdefgh",
            "$99999999999\r\n",
            "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
            ":1\rx",
        ] {
            let mut decoder = Decoder::default();
            decoder.feed(text.as_bytes());
            assert!(decoder.next().is_err(), "{text:?}");
        }
    }
}
