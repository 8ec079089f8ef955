//! The Redis URL.

use std::fmt;

use crate::base::error::{Error, Result};

const DEFAULT_PORT: u16 = 6379;

/// The address of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// A host name or IP address, and a port.
    Tcp(String, u16),
    /// The path of a Unix domain socket.
    Unix(String),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{path}"),
        }
    }
}

/// A parsed URL. `Debug` omits the credentials.
///
/// # Examples
///
/// ```
/// # use paddlegate::store::redis::RedisConfig;
/// let config = RedisConfig::parse("rediss://user:hush@a:7000,b:7001/2")?;
/// assert_eq!((config.tls, config.nodes[1].to_string()), (true, "b:7001".to_owned()));
/// assert!(!format!("{config:?}").contains("hush"));
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone)]
pub struct RedisConfig {
    /// The nodes that the URL names; at least one.
    pub nodes: Vec<Address>,
    /// Whether connections use TLS.
    pub tls: bool,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) db: u32,
}

impl fmt::Debug for RedisConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisConfig").field("nodes", &self.nodes).field("tls", &self.tls).finish_non_exhaustive()
    }
}

impl RedisConfig {
    /// Parses a URL. Errors never contain the URL, since it may contain a password.
    pub fn parse(text: &str) -> Result<Self> {
        let invalid_url =
            |why: &str| Error::invalid("url", format!("{why}; write redis://host:port/db, rediss:// or unix:///path"));
        let (first, others) = split_nodes(text).ok_or_else(|| invalid_url("is not a url"))?;
        let url = url::Url::parse(&first).map_err(|_| invalid_url("is not a url"))?;
        let tls = matches!(url.scheme(), "rediss" | "valkeys");
        let text_of = |part: &str| percent_decoded(part).ok_or_else(|| invalid_url("is not utf-8"));
        let user = Some(url.username()).filter(|user| !user.is_empty()).map(text_of).transpose()?;
        let password = url.password().map(text_of).transpose()?;
        let (nodes, db) = match url.scheme() {
            "redis" | "rediss" | "valkey" | "valkeys" => {
                let host = url.host_str().unwrap_or("127.0.0.1").trim_matches(['[', ']']);
                let mut nodes = vec![Address::Tcp(host.to_owned(), url.port().unwrap_or(DEFAULT_PORT))];
                for other in others {
                    nodes.push(tcp(&other).ok_or_else(|| invalid_url("has a bad host after a comma"))?);
                }
                (nodes, url.path().trim_matches('/').to_owned())
            }
            "unix" | "redis+unix" => {
                let db = url.query_pairs().find(|(key, _)| key == "db").map(|(_, db)| db.into_owned());
                (vec![Address::Unix(text_of(url.path())?)], db.unwrap_or_default())
            }
            _ => return Err(invalid_url("has a scheme that is not known")),
        };
        let db = if db.is_empty() {
            0
        } else {
            db.parse().map_err(|_| invalid_url("has a database that is not a number"))?
        };
        Ok(Self { nodes, tls, user, password, db })
    }
}

/// Splits `redis://user:pw@a:1,b:2/0` into `redis://user:pw@a:1/0` and `b:2`.
fn split_nodes(text: &str) -> Option<(String, Vec<String>)> {
    let (scheme, rest) = text.split_once("://")?;
    let (authority, path) = rest.find(['/', '?']).map_or((rest, ""), |at| rest.split_at(at));
    let (login, hosts) = authority.rfind('@').map_or(("", authority), |at| authority.split_at(at + 1));
    let mut hosts = hosts.split(',').map(str::to_owned);
    let first = hosts.next()?;
    Some((format!("{scheme}://{login}{first}{path}"), hosts.collect()))
}

fn tcp(text: &str) -> Option<Address> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.starts_with('[') => (host, port.parse().ok()?),
        _ => (text, DEFAULT_PORT),
    };
    let host = host.trim_matches(['[', ']']);
    (!host.is_empty()).then(|| Address::Tcp(host.to_owned(), port))
}

fn percent_decoded(text: &str) -> Option<String> {
    percent_encoding::percent_decode_str(text).decode_utf8().ok().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(url: &str) -> Vec<String> {
        RedisConfig::parse(url).unwrap().nodes.iter().map(Address::to_string).collect()
    }

    #[test]
    fn urls_are_read() {
        assert_eq!(nodes("redis://localhost"), ["localhost:6379"]);
        assert_eq!(nodes("rediss://u:p@h:1/3"), ["h:1"]);
        assert_eq!(nodes("redis://[::1]:7"), ["[::1]:7"]);
        for (scheme, tls) in [("redis", false), ("rediss", true), ("valkey", false), ("valkeys", true)] {
            let location = RedisConfig::parse(&format!("{scheme}://u:p@a:1,b:2/3")).unwrap();
            assert_eq!((location.nodes.len(), location.tls, location.db), (2, tls, 3), "{scheme}");
        }
        assert_eq!(nodes("unix:///run/redis.sock?db=2"), ["unix:/run/redis.sock"]);
        assert_eq!(nodes("redis://:pw@a:7000,b:7001,c"), ["a:7000", "b:7001", "c:6379"]);
        let location = RedisConfig::parse("redis://us%65r:p%40ss@h/5").unwrap();
        assert_eq!(location.user.as_deref(), Some("user"));
        assert_eq!(location.password.as_deref(), Some("p@ss"));
        assert_eq!(location.db, 5);
        assert_eq!(RedisConfig::parse("unix:///s?db=2").unwrap().db, 2);
    }

    #[test]
    fn no_error_and_no_debug_shows_the_password() {
        for url in ["redis://u:secret@h/x", "http://u:secret@h", "secret", "redis://u:secret@h:99999"] {
            let error = RedisConfig::parse(url).unwrap_err();
            assert_eq!(error.argument(), Some("url"));
            assert!(!format!("{error:?}").contains("secret"), "{url}");
        }
        let location = RedisConfig::parse("redis://u:secret@h").unwrap();
        assert!(!format!("{location:?}").contains("secret"));
    }
}
