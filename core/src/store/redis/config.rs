//! The Redis URL.

use std::fmt;

use crate::base::error::{Error, Result};

const DEFAULT_PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26_379;

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
    /// The nodes that the URL names, or its sentinels; at least one.
    pub nodes: Vec<Address>,
    /// Whether connections use TLS.
    pub tls: bool,
    /// The certificates of TLS connections.
    pub certificates: Certificates,
    pub(crate) sentinel: Option<Sentinel>,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    /// The number of the database.
    pub db: u32,
}

/// Which certificates TLS connections trust and show; options of the URL that have the names of redis-py.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificates {
    /// `ssl_cert_reqs=none`: any certificate is accepted, so that the server may be another one.
    pub accepts_any: bool,
    /// `ssl_ca_certs`: a PEM file with the trusted certificates, in the place of the system's.
    pub trusted_file: Option<String>,
    /// `ssl_certfile`: a PEM file with the certificate that connections show.
    pub own_file: Option<String>,
    /// `ssl_keyfile`: a PEM file with the private key of that certificate.
    pub key_file: Option<String>,
}

/// The master that the sentinels know, and the login of the sentinels.
#[derive(Clone)]
pub(crate) struct Sentinel {
    pub(crate) master: String,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
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
        let (scheme, is_of_sentinels) =
            url.scheme().strip_suffix("+sentinel").map_or((url.scheme(), false), |scheme| (scheme, true));
        let tls = matches!(scheme, "rediss" | "valkeys");
        let text_of = |part: &str| percent_decoded(part).ok_or_else(|| invalid_url("is not utf-8"));
        let user = Some(url.username()).filter(|user| !user.is_empty()).map(text_of).transpose()?;
        let password = url.password().map(text_of).transpose()?;
        let option = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        let mut sentinel = None;
        let (nodes, db) = match scheme {
            "redis" | "rediss" | "valkey" | "valkeys" => {
                let host = url.host_str().unwrap_or("127.0.0.1").trim_matches(['[', ']']);
                let port = if is_of_sentinels { SENTINEL_PORT } else { DEFAULT_PORT };
                let mut nodes = vec![Address::Tcp(host.to_owned(), url.port().unwrap_or(port))];
                for other in others {
                    nodes.push(tcp(&other, port).ok_or_else(|| invalid_url("has a bad host after a comma"))?);
                }
                let path = url.path().strip_prefix('/').unwrap_or_default();
                let (master, db) =
                    if is_of_sentinels { path.split_once('/').unwrap_or((path, "")) } else { ("", path) };
                if is_of_sentinels {
                    let why = "names no master; write redis+sentinel://host:port,host:port/master/db";
                    let master = Some(text_of(master)?).filter(|it| !it.is_empty());
                    let master = master.ok_or_else(|| Error::invalid("url", why))?;
                    let (user, password) = (option("sentinel_username"), option("sentinel_password"));
                    sentinel = Some(Sentinel { master, user, password });
                }
                (nodes, db.trim_matches('/').to_owned())
            }
            "unix" | "redis+unix" if !is_of_sentinels => {
                (vec![Address::Unix(text_of(url.path())?)], option("db").unwrap_or_default())
            }
            _ => return Err(invalid_url("has a scheme that is not known")),
        };
        let db = if db.is_empty() {
            0
        } else {
            db.parse().map_err(|_| invalid_url("has a database that is not a number"))?
        };
        let certificates = certificates(option).map_err(invalid_url)?;
        if !tls && certificates != Certificates::default() {
            return Err(invalid_url("has options of tls, and another scheme than rediss"));
        }
        Ok(Self { nodes, tls, certificates, sentinel, user, password, db })
    }
}

fn certificates(option: impl Fn(&str) -> Option<String>) -> std::result::Result<Certificates, &'static str> {
    let accepts_any = match option("ssl_cert_reqs").as_deref() {
        None | Some("required" | "CERT_REQUIRED") => false,
        Some("none" | "CERT_NONE") => true,
        Some(_) => return Err("has an ssl_cert_reqs that is neither none nor required"),
    };
    let [trusted_file, own_file, key_file] = ["ssl_ca_certs", "ssl_certfile", "ssl_keyfile"].map(option);
    if own_file.is_some() != key_file.is_some() {
        return Err("has one of ssl_certfile and ssl_keyfile, and not the other");
    }
    Ok(Certificates { accepts_any, trusted_file, own_file, key_file })
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

fn tcp(text: &str, default_port: u16) -> Option<Address> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.starts_with('[') => (host, port.parse().ok()?),
        _ => (text, default_port),
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
    fn urls_of_sentinels_name_a_master() {
        let config = RedisConfig::parse("rediss+sentinel://u:p@a,b:1/my%20master/3?sentinel_password=q").unwrap();
        assert_eq!(config.nodes.iter().map(Address::to_string).collect::<Vec<_>>(), ["a:26379", "b:1"]);
        let sentinel = config.sentinel.unwrap();
        assert_eq!((sentinel.master.as_str(), sentinel.password.as_deref()), ("my master", Some("q")));
        assert_eq!((config.db, config.tls, config.password.as_deref()), (3, true, Some("p")));
        assert_eq!(RedisConfig::parse("redis+sentinel://a/main").unwrap().db, 0);
        for url in ["redis+sentinel://a", "redis+sentinel://a/", "redis+sentinel://a//1", "unix+sentinel:///s"] {
            assert_eq!(RedisConfig::parse(url).unwrap_err().argument(), Some("url"), "{url}");
        }
    }

    #[test]
    fn options_of_tls_are_read() {
        let of =
            |options: &str| RedisConfig::parse(&format!("rediss://a/1?{options}")).map(|config| config.certificates);
        assert_eq!(of("").unwrap(), Certificates::default());
        for (value, accepts_any) in [("none", true), ("CERT_NONE", true), ("required", false), ("CERT_REQUIRED", false)]
        {
            assert_eq!(of(&format!("ssl_cert_reqs={value}")).unwrap().accepts_any, accepts_any);
        }
        let read = of("ssl_ca_certs=/a%20b.pem&ssl_certfile=/c&ssl_keyfile=/k").unwrap();
        let files = [&read.trusted_file, &read.own_file, &read.key_file].map(Option::as_deref);
        assert_eq!(files, [Some("/a b.pem"), Some("/c"), Some("/k")]);
        for bad in ["ssl_cert_reqs=optional", "ssl_cert_reqs=", "ssl_certfile=/c", "ssl_keyfile=/k"] {
            assert_eq!(of(bad).unwrap_err().argument(), Some("url"), "{bad}");
        }
        assert!(RedisConfig::parse("redis://a?ssl_cert_reqs=none").is_err(), "no tls");
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
