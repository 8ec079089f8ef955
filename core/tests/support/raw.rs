//! A minimal Redis connection with which tests read and change keys without the library.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use paddlegate::store::redis::{Address, RedisConfig};

pub struct Raw {
    stream: BufReader<TcpStream>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Nil,
    Integer(i64),
    Text(Vec<u8>),
    Error(String),
    Array(Vec<Reply>),
}

impl Raw {
    /// Connects to the first node of a URL.
    pub fn open(url: &str) -> Self {
        match &RedisConfig::parse(url).expect("a url").nodes[0] {
            Address::Tcp(host, port) => Self::connect(host, *port),
            Address::Unix(path) => panic!("not over tcp: {path}"),
        }
    }

    pub fn connect(host: &str, port: u16) -> Self {
        let stream = TcpStream::connect((host, port)).expect("a redis server");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        stream.set_nodelay(true).expect("no delay");
        Self { stream: BufReader::new(stream) }
    }

    /// Sends a command and returns the reply, which may be an error.
    pub fn execute<W: AsRef<[u8]>>(&mut self, words: &[W]) -> Reply {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            let word = word.as_ref();
            bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            bytes.extend_from_slice(word);
            bytes.extend_from_slice(b"\r\n");
        }
        self.send(&bytes)
    }

    /// Splits a line at its spaces, sends the words and returns the reply. Panics on an error reply.
    pub fn command(&mut self, line: &str) -> Reply {
        match self.execute(&line.split(' ').collect::<Vec<_>>()) {
            Reply::Error(error) => panic!("{line}: {error}"),
            reply => reply,
        }
    }

    /// Sends an encoded command and returns the reply.
    pub fn send(&mut self, bytes: &[u8]) -> Reply {
        self.stream.get_mut().write_all(bytes).expect("to write");
        self.reply().expect("a reply")
    }

    /// Returns the next reply or message without sending a command.
    pub fn next_reply(&mut self) -> Reply {
        self.reply().expect("a reply")
    }

    /// Returns the keys that contain `text`.
    pub fn keys(&mut self, text: &str) -> Vec<Vec<u8>> {
        let Reply::Array(keys) = self.command("KEYS *") else { panic!("no keys") };
        let keys = keys.into_iter().map(|key| match key {
            Reply::Text(key) => key,
            other => panic!("not a key: {other:?}"),
        });
        keys.filter(|key| String::from_utf8_lossy(key).contains(text)).collect()
    }

    /// Returns the serialized value of a key.
    pub fn dump(&mut self, key: &[u8]) -> Reply {
        self.execute(&[b"DUMP", key])
    }

    /// Returns the milliseconds until a key expires.
    pub fn ttl(&mut self, key: &[u8]) -> i64 {
        match self.execute(&[&b"PTTL"[..], key]) {
            Reply::Integer(ttl) => ttl,
            other => panic!("not a ttl: {other:?}"),
        }
    }

    fn reply(&mut self) -> std::io::Result<Reply> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let (kind, rest) = line.trim_end().split_at_checked(1).ok_or(std::io::ErrorKind::UnexpectedEof)?;
        let number = || rest.parse::<i64>().expect("a number");
        Ok(match kind {
            ":" => Reply::Integer(number()),
            "+" => Reply::Text(rest.into()),
            "-" => Reply::Error(rest.into()),
            "$" | "*" if number() < 0 => Reply::Nil,
            "$" => {
                let mut text = vec![0; usize::try_from(number()).expect("a length") + 2];
                self.stream.read_exact(&mut text)?;
                text.truncate(text.len() - 2);
                Reply::Text(text)
            }
            "*" => Reply::Array((0..number()).map(|_| self.reply()).collect::<std::io::Result<_>>()?),
            _ => panic!("not a reply: {line:?}"),
        })
    }
}

/// Returns the words of an encoded command.
pub fn words(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut rest = BufReader::new(bytes);
    let mut line = String::new();
    rest.read_line(&mut line).expect("a header");
    for _ in 0..line[1..].trim_end().parse::<usize>().expect("a number of words") {
        line.clear();
        rest.read_line(&mut line).expect("a length");
        let mut word = vec![0; line[1..].trim_end().parse::<usize>().expect("a length") + 2];
        rest.read_exact(&mut word).expect("a word");
        word.truncate(word.len() - 2);
        words.push(word);
    }
    words
}
