//! `SentinelQuery`: asks a Redis Sentinel which server is the master. No I/O.

use super::config::{Address, RedisConfig};
use super::wire::{Decoder, Value, command};
use crate::base::error::{Error, Result};

/// The question for the address of the master, without its socket.
///
/// Each connection asks anew, so that it finds the new master after a failover.
///
/// # Examples
///
/// ```
/// # use paddlegate::store::redis::{RedisConfig, SentinelQuery};
/// let config = RedisConfig::parse("redis+sentinel://a,b:26380/main/2")?;
/// let mut query = SentinelQuery::new(&config).expect("sentinels");
/// assert_eq!(query.output(), b"*3\r\n$8\r\nSENTINEL\r\n$23\r\nget-master-addr-by-name\r\n$4\r\nmain\r\n");
/// assert_eq!(query.receive(b"*2\r\n$8\r\n10.0.0.7\r\n")?, None);
/// assert_eq!(query.receive(b"$4\r\n6379\r\n")?.expect("an address").to_string(), "10.0.0.7:6379");
/// # Ok::<(), paddlegate::Error>(())
/// ```
pub struct SentinelQuery {
    decoder: Decoder,
    output: Vec<u8>,
    master: String,
}

impl SentinelQuery {
    /// Creates the query; `None` for a URL without sentinels. The host sends its first [`output`](Self::output).
    pub fn new(config: &RedisConfig) -> Option<Self> {
        let sentinel = config.sentinel.as_ref()?;
        let mut output = Vec::new();
        if let Some(password) = &sentinel.password {
            let mut words: Vec<&[u8]> = vec![b"AUTH"];
            words.extend(sentinel.user.as_ref().map(String::as_bytes));
            words.push(password.as_bytes());
            command(&mut output, &words);
        }
        command(&mut output, &[b"SENTINEL", b"get-master-addr-by-name", sentinel.master.as_bytes()]);
        Some(Self { decoder: Decoder::default(), output, master: sentinel.master.clone() })
    }

    /// Takes the bytes to write to the socket.
    pub fn output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// Returns the address of the master once it has arrived. `Unavailable` if the sentinel does not know it.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<Option<Address>> {
        self.decoder.feed(bytes);
        while let Some(reply) = self.decoder.next()? {
            match reply {
                // The login.
                Value::Text(_) => {}
                Value::Array(items) => return Ok(Some(address(&items).ok_or_else(|| self.unknown("a bad address"))?)),
                Value::Error(error) => {
                    let code = error.split(' ').next().unwrap_or_default();
                    return Err(self.unknown(code));
                }
                _ => return Err(self.unknown("an unknown name")),
            }
        }
        Ok(None)
    }

    fn unknown(&self, why: &str) -> Error {
        Error::unavailable(format!("the sentinel gave no master: master={} answer={why}", self.master))
    }
}

fn address(items: &[Value]) -> Option<Address> {
    let [Value::Text(host), Value::Text(port)] = items else { return None };
    let [host, port] = [host, port].map(|text| std::str::from_utf8(text).ok());
    Some(Address::Tcp(host?.to_owned(), port?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(url: &str) -> SentinelQuery {
        SentinelQuery::new(&RedisConfig::parse(url).unwrap()).unwrap()
    }

    #[test]
    fn the_login_is_that_of_the_sentinels() {
        let mut query = query("redis+sentinel://u:of-master@a/main?sentinel_username=s&sentinel_password=p%40");
        assert!(query.output().starts_with(b"*3\r\n$4\r\nAUTH\r\n$1\r\ns\r\n$2\r\np@\r\n"));
        let reply = b"+OK\r\n*2\r\n$3\r\n::1\r\n$4\r\n6380\r\n";
        let address = reply.chunks(1).find_map(|byte| query.receive(byte).unwrap());
        assert_eq!(address, Some(Address::Tcp("::1".to_owned(), 6380)));
    }

    #[test]
    fn a_sentinel_without_an_answer_is_unavailable() {
        let replies = ["*-1\r\n", "-WRONGPASS hush\r\n", "*1\r\n$1\r\na\r\n", "*2\r\n$1\r\na\r\n$1\r\nb\r\n"];
        for reply in replies {
            let error = query("redis+sentinel://a/main?sentinel_password=hush").receive(reply.as_bytes()).unwrap_err();
            assert!(error.message().contains("master=main") && !error.message().contains("hush"), "{error}");
        }
    }
}
