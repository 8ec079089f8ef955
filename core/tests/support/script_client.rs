//! Sends the library's calls to a server with another script text in place of the library's script.

use paddlegate::store::redis::{Address, CallOutcome, ConnectionState, RedisConfig};
use paddlegate::{Answer, ErrorKind, Limiter, Operation, Prepared};

use super::raw::{Raw, Reply, words};

pub struct ScriptClient {
    pub raw: Raw,
    digest: Vec<u8>,
    /// The digest of the library's script that the text replaces; of all when there is none.
    replaces: Option<Vec<u8>>,
    location: RedisConfig,
}

impl ScriptClient {
    /// Loads the script; panics if the server does not accept the text.
    pub fn new(port: u16, text: &str) -> Self {
        let location = RedisConfig::parse(&format!("redis://127.0.0.1:{port}")).expect("a url");
        let mut raw = Raw::connect("127.0.0.1", port);
        let digest = load(&mut raw, text);
        Self { raw, digest, replaces: None, location }
    }

    /// Puts the text in the place of this one of the library's scripts alone.
    pub fn in_place_of(port: u16, original: &str, text: &str) -> Self {
        let mut client = Self::new(port, text);
        client.replaces = Some(load(&mut client.raw, original));
        client
    }

    /// Returns the words of the command for an operation.
    pub fn words(&self, limiter: &Limiter, operation: Operation<'_>) -> Vec<Vec<u8>> {
        let Ok(Prepared::Call(call)) = limiter.prepare(operation) else { panic!("not on redis: {operation:?}") };
        self.with_digest(call.bytes())
    }

    /// Runs an operation and returns the answer that the library decodes from the reply.
    pub fn run(&mut self, limiter: &Limiter, operation: Operation<'_>) -> Result<Answer, String> {
        let call = match limiter.prepare(operation) {
            Ok(Prepared::Call(call)) => call,
            Ok(Prepared::Answered(answer)) => return Ok(answer),
            Err(error) => return Err(error.to_string()),
        };
        let mut session = ConnectionState::new(&self.location, Address::Tcp(String::new(), 0));
        session.submit(0, call);
        let mut finished = Vec::new();
        // The library may need more than one command for a call.
        loop {
            let words = self.with_digest(&session.output());
            let reply = self.raw.execute(&words);
            session.receive(&encode(&reply), &mut finished).map_err(|error| error.to_string())?;
            match finished.pop().map(|finished| finished.outcome) {
                None => {}
                // The memory store returns the same error for a cost that can never fit.
                Some(CallOutcome::Answered(Err(error))) if error.kind() == ErrorKind::Invalid => {
                    return Err(error.to_string());
                }
                Some(CallOutcome::Answered(answer)) => return answer.map_err(|error| format!("{error}: {reply:?}")),
                Some(other) => return Err(format!("{reply:?} is no answer: {other:?}")),
            }
        }
    }

    fn with_digest(&self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut words = words(bytes);
        if words[0] == b"EVALSHA" && self.replaces.as_ref().is_none_or(|digest| *digest == words[1]) {
            words[1].clone_from(&self.digest);
        }
        words
    }
}

fn load(raw: &mut Raw, text: &str) -> Vec<u8> {
    let Reply::Text(digest) = raw.execute(&["SCRIPT", "LOAD", text]) else { panic!("not a script: {text}") };
    digest
}

/// Returns the RESP encoding of a reply.
fn encode(reply: &Reply) -> Vec<u8> {
    match reply {
        Reply::Nil => b"$-1\r\n".to_vec(),
        Reply::Integer(number) => format!(":{number}\r\n").into_bytes(),
        Reply::Error(error) => format!("-{error}\r\n").into_bytes(),
        Reply::Text(text) => [format!("${}\r\n", text.len()).as_bytes(), text, b"\r\n"].concat(),
        Reply::Array(items) => {
            let mut bytes = format!("*{}\r\n", items.len()).into_bytes();
            for item in items {
                bytes.extend(encode(item));
            }
            bytes
        }
    }
}
