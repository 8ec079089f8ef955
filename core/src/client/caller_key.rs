//! `caller_key` and `plain_key`: the key of a caller, whatever it sends.

use std::net::{IpAddr, Ipv6Addr};

use ipnet::IpNet;
use sha2::{Digest, Sha256};

use crate::base::error::{Error, Result};
use crate::client::limiter::MAX_KEY;

/// The bits of an IPv6 address that tell callers apart, by default: one house has a network of them.
pub const IPV6_PREFIX: u64 = 64;

/// What else a request says of its caller, and what of it is trusted.
#[derive(Clone, Copy, Debug)]
pub struct CallerOptions<'a> {
    /// The value of `X-Forwarded-For`, with a comma between several fields. It counts only behind a trusted proxy.
    pub forwarded_for: Option<&'a [u8]>,
    /// The proxies in front of this process: addresses, networks such as `10.0.0.0/8`, and `unix` for a proxy that connects by a
    /// Unix socket, which has no address.
    pub trusted_proxies: &'a [&'a str],
    /// The bits of an IPv6 address that tell callers apart, from 1 to 128. Default [`IPV6_PREFIX`].
    pub ipv6_prefix: u64,
}

impl Default for CallerOptions<'_> {
    fn default() -> Self {
        Self { forwarded_for: None, trusted_proxies: &[], ipv6_prefix: IPV6_PREFIX }
    }
}

/// Returns the key of a caller by the address of its connection. Every address gives a key, and one caller always the same.
///
/// An IPv4 address is itself, and so is one in IPv6 form: `::ffff:192.0.2.1` is `192.0.2.1`. The key of an IPv6 caller is its
/// network, `2001:db8:1:2::/64`. Ports, brackets and zones are cut. Any other text is a [`plain_key`].
///
/// Behind a trusted proxy the caller is the last entry of `forwarded_for` that is no trusted proxy, because a proxy adds the
/// caller that it saw at the end; what stands before it may be the invention of a stranger.
///
/// `Invalid` for a proxy that is neither an address nor a network, argument `trusted_proxies`, and for a prefix that is out of
/// range, argument `ipv6_prefix`. No other value is an error.
///
/// # Examples
///
/// ```
/// # use paddlegate::{CallerOptions, caller_key};
/// let plain = CallerOptions::default();
/// assert_eq!(caller_key(b"192.0.2.1:4711", &plain)?, "192.0.2.1");
/// assert_eq!(caller_key(b"2001:DB8:1:2:0:0:0:9", &plain)?, "2001:db8:1:2::/64");
/// let forwarded_for = Some(&b"1.1.1.1, 192.0.2.7, 10.0.0.2"[..]);
/// assert_eq!(caller_key(b"192.0.2.1", &CallerOptions { forwarded_for, ..plain })?, "192.0.2.1", "no proxy is trusted");
/// let behind = CallerOptions { forwarded_for, trusted_proxies: &["10.0.0.0/8"], ..plain };
/// assert_eq!(caller_key(b"10.0.0.1", &behind)?, "192.0.2.7");
/// # Ok::<(), paddlegate::Error>(())
/// ```
pub fn caller_key(address: &[u8], options: &CallerOptions<'_>) -> Result<String> {
    let CallerOptions { forwarded_for, trusted_proxies, ipv6_prefix } = *options;
    let Some(prefix) = u8::try_from(ipv6_prefix).ok().filter(|prefix| (1..=128).contains(prefix)) else {
        return Err(Error::invalid("ipv6_prefix", format!("must be from 1 to 128: ipv6_prefix={ipv6_prefix}")));
    };
    let proxies = Proxies::new(trusted_proxies)?;
    let address = address.trim_ascii();
    if !proxies.trust_connection(address) {
        return Ok(key_of(address, prefix));
    }
    let entries = forwarded_for.unwrap_or_default().rsplit(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    let mut entries = entries.filter(|entry| !entry.is_empty());
    // Where all are proxies, the first of them is the caller.
    let caller = entries.clone().find(|entry| !proxies.trust(entry)).or_else(|| entries.next_back());
    Ok(key_of(caller.unwrap_or(address), prefix))
}

/// Returns the key for a text of a stranger, such as a header: the text itself if it is a key in every language, which has 1 to
/// 512 bytes of UTF-8 without a zero byte, otherwise `sha256:` and its digest in hexadecimal.
///
/// # Examples
///
/// ```
/// # use paddlegate::plain_key;
/// assert_eq!(plain_key(b"alice"), "alice");
/// assert!(plain_key(b"").starts_with("sha256:e3b0c442"));
/// assert_eq!(plain_key(&[b'x'; 513]).len(), 71);
/// ```
pub fn plain_key(text: &[u8]) -> String {
    match str::from_utf8(text) {
        Ok(key) if (1..=MAX_KEY).contains(&key.len()) && !key.contains('\0') => key.to_owned(),
        _ => {
            let digest: [u8; 32] = Sha256::digest(text).into();
            digest.iter().fold("sha256:".to_owned(), |key, byte| format!("{key}{byte:02x}"))
        }
    }
}

/// The proxies that are trusted.
struct Proxies {
    networks: Vec<IpNet>,
    has_socket: bool,
}

impl Proxies {
    fn new(texts: &[&str]) -> Result<Self> {
        let mut proxies = Self { networks: Vec::new(), has_socket: false };
        for text in texts {
            if *text == "unix" {
                proxies.has_socket = true;
                continue;
            }
            proxies.networks.push(network(text).ok_or_else(|| {
                let shown: String = text.chars().take(40).collect();
                let rule = "must be addresses, networks such as 10.0.0.0/8 or unix";
                Error::invalid("trusted_proxies", format!("{rule}: trusted_proxies={shown:?}"))
            })?);
        }
        Ok(proxies)
    }

    fn trust(&self, entry: &[u8]) -> bool {
        // Most callers have no proxies.
        !self.networks.is_empty()
            && parsed(entry).is_some_and(|address| self.networks.iter().any(|network| network.contains(&address)))
    }

    fn trust_connection(&self, address: &[u8]) -> bool {
        // Go names the peer of a Unix socket so.
        let is_socket = address.is_empty() || address == b"@";
        if is_socket { self.has_socket } else { self.trust(address) }
    }
}

/// Returns the network of an address or of a text such as `10.0.0.0/8`.
fn network(text: &str) -> Option<IpNet> {
    let Ok(network) = text.parse::<IpNet>() else {
        return text.parse::<IpAddr>().ok().map(|address| address.to_canonical().into());
    };
    // Callers are compared in their IPv4 form.
    match (network.addr().to_canonical(), network.prefix_len()) {
        (IpAddr::V4(address), length @ 96..) if network.addr().is_ipv6() => {
            IpNet::new(address.into(), length - 96).ok()
        }
        _ => Some(network),
    }
}

fn key_of(text: &[u8], ipv6_prefix: u8) -> String {
    match parsed(text) {
        Some(IpAddr::V4(address)) => address.to_string(),
        Some(IpAddr::V6(address)) => {
            let network = Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << (128 - ipv6_prefix)));
            format!("{network}/{ipv6_prefix}")
        }
        None => plain_key(text),
    }
}

/// Returns the address in a text such as `192.0.2.1:80`, `[2001:db8::1]:80` or `fe80::1%eth0`.
fn parsed(text: &[u8]) -> Option<IpAddr> {
    let text = str::from_utf8(text).ok()?;
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        // A second colon belongs to an IPv6 address.
        None => match text.find(':').filter(|colon| text.rfind(':') == Some(*colon)) {
            Some(colon) => text.split_at(colon),
            None => (text, ""),
        },
    };
    let is_port = |port: &str| !port.is_empty() && port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
    if !port.is_empty() && !port.strip_prefix(':').is_some_and(is_port) {
        return None;
    }
    // A zone names an interface of this host, not the caller.
    let host = host.split('%').next().unwrap_or(host);
    host.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_caller_has_one_key() {
        for (value, key) in [
            ("192.0.2.1", "192.0.2.1"),
            ("192.0.2.1:80", "192.0.2.1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("::FFFF:c000:201", "192.0.2.1"),
            ("[::ffff:192.0.2.1]:65535", "192.0.2.1"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            ("[2001:0DB8:0001:0002::]", "2001:db8:1:2::/64"),
            ("fe80::1%eth0", "fe80::/64"),
            ("[fe80::1%eth0]:80", "fe80::/64"),
            ("::1", "::/64"),
            (" ada ", "ada"),
            ("1.2.3", "1.2.3"),
            ("1.2.3.4:x", "1.2.3.4:x"),
            ("[::1", "[::1"),
        ] {
            assert_eq!(caller_key(value.as_bytes(), &CallerOptions::default()).unwrap(), key, "{value}");
        }
    }

    #[test]
    fn wrong_options_are_refused_by_name() {
        for proxy in ["", "localhost", "10.0.0.0/33", "::/129", "10.0.0.0/", "*"] {
            let options = CallerOptions { trusted_proxies: &["10.0.0.1", proxy], ..CallerOptions::default() };
            assert_eq!(caller_key(b"", &options).unwrap_err().argument(), Some("trusted_proxies"), "{proxy}");
        }
        for ipv6_prefix in [0, 129, 256 + 64] {
            let options = CallerOptions { ipv6_prefix, ..CallerOptions::default() };
            assert_eq!(caller_key(b"", &options).unwrap_err().argument(), Some("ipv6_prefix"));
        }
    }

    /// Returns texts that are often nearly addresses.
    fn texts() -> impl Strategy<Value = Vec<u8>> {
        let near = proptest::string::string_regex("[0-9a-f:.,\\[\\]%/ ]{0,60}").unwrap().prop_map(String::into_bytes);
        let addresses = any::<IpAddr>().prop_map(|address| address.to_string().into_bytes());
        prop_oneof![near, addresses, prop::collection::vec(any::<u8>(), 0..600)]
    }

    proptest! {
        #[test]
        fn every_text_gives_a_key(address in texts(), forwarded in texts(), ipv6_prefix in 1..=128_u64) {
            let proxies = ["10.0.0.0/8", "::/1", "unix"];
            let options = CallerOptions { forwarded_for: Some(&forwarded), trusted_proxies: &proxies, ipv6_prefix };
            for key in [caller_key(&address, &options).unwrap(), plain_key(&address)] {
                prop_assert!((1..=MAX_KEY).contains(&key.len()) && !key.contains('\0'));
            }
        }

        #[test]
        fn callers_of_one_network_have_one_key(bits in any::<u128>(), other in any::<u128>(), ipv6_prefix in 1..=128_u8) {
            let mask = u128::MAX << (128 - ipv6_prefix);
            let neighbour = (bits & mask) | (other & !mask);
            let key = |bits| key_of(Ipv6Addr::from_bits(bits).to_string().as_bytes(), ipv6_prefix);
            prop_assume!([bits, neighbour].iter().all(|bits| bits >> 32 != 0xffff));
            prop_assert_eq!(key(bits), key(neighbour));
            prop_assert_eq!(key(bits) == key(other), bits & mask == other & mask);
        }

        #[test]
        fn what_stands_before_the_caller_does_not_matter(caller in any::<IpAddr>(), invented in texts()) {
            let caller = caller.to_string();
            let key = key_of(caller.as_bytes(), 64);
            prop_assume!(!caller.starts_with("10."));
            let forwarded = [&invented[..], b",", caller.as_bytes(), b", 10.0.0.2"].concat();
            let options = CallerOptions {
                forwarded_for: Some(&forwarded),
                trusted_proxies: &["10.0.0.0/8"],
                ..CallerOptions::default()
            };
            prop_assert_eq!(caller_key(b"10.0.0.1", &options).unwrap(), key);
        }
    }
}
