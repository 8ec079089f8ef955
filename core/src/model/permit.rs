//! `Permit`: the handle of a grant with an estimate or a lease. Any process can settle it once by its id.

use std::fmt;

use once_cell::race::OnceBox;

use crate::base::charge::Charge;
use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::base::process_id::process_id;
use crate::model::policy::MAX_LIMITS;

/// How long after its grant a permit can be settled by default: 5 minutes. After that the estimate remains charged.
pub const PERMIT_TIMEOUT: Micros = Micros(300_000_000);

/// The maximum of [`Request::settle_within`](crate::Request::settle_within): 7 days.
pub const MAX_PERMIT_TIMEOUT: Micros = Micros(7 * 86_400 * 1_000_000);

/// How long a settled permit is remembered, to distinguish a repeated settlement from an unknown one: 60 s.
pub const SETTLED_MEMORY: Micros = Micros(60_000_000);

/// The maximum number of permits that a limiter remembers; beyond it the oldest are forgotten and their estimates
/// remain charged.
pub const MAX_PERMITS: usize = 100_000;

/// The maximum number of limiters that decide together.
pub const MAX_TOGETHER: usize = 4;

/// The maximum length of an id that a caller chooses for a call, in bytes.
pub const MAX_ID: usize = 64;

/// The maximum length of a permit id in bytes: the id of the call and, for each limiter that decided, the time of the grant and
/// the charge of each limit.
pub const MAX_PERMIT_ID: usize = MAX_ID + MAX_TOGETHER * (1 + 16 + MAX_LIMITS * (1 + 13));

/// The prefix of the ids of permits that this process granted alone, while its store could not decide.
pub(crate) const LOCAL: char = '~';

/// The prefix of such ids that do not contain the id of a caller, which cannot begin with `~`.
pub(crate) const OURS: &str = "~~";

/// The permit id for a policy without limits, and for a grant that fails open.
pub(crate) const UNLIMITED: &str = "unlimited";

/// The permit id of a grant that only shadow made. Nothing is charged for it, so its settlement changes nothing.
pub(crate) const SHADOW: &str = "shadow";

/// The result of a correction, a release or a cancellation. The codes and names never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Settlement {
    /// The charge is now the actual cost.
    Settled = 3,
    /// The permit was settled before.
    Already = 4,
    /// The time to settle the permit is over and the estimate remains charged, or the lease had ended before its release.
    Late = 5,
    /// No such permit, lease or ticket exists: never issued, given back, reset since, or forgotten.
    Unknown = 6,
    /// The lease has ended and its slot is free.
    Released = 7,
    /// The ticket has left the queue, or the lease that it became has ended.
    Cancelled = 8,
}

impl Settlement {
    /// Returns the name of the settlement, as the scripting languages show it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Settled => "settled",
            Self::Already => "already",
            Self::Late => "late",
            Self::Unknown => "unknown",
            Self::Released => "released",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The parts of a permit id: `<id of the call>:<time of the grant>:<charge>`. The charge is in the order of the sorted tags
/// of the limits, so that it is the same in every process, whatever the order of its policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Permit<'a> {
    pub(crate) id: &'a str,
    pub(crate) granted_at: u64,
    pub(crate) charged: Charge,
}

impl<'a> Permit<'a> {
    /// Parses a permit id; `None` when this library cannot have issued it.
    pub(crate) fn parse(id: &'a str) -> Option<Self> {
        let mut parts = id.rsplitn(3, ':');
        let (charged, granted_at) = (Charge::parse(parts.next()?)?, number(parts.next()?)?);
        let permit = Self { id: parts.next()?, granted_at, charged };
        let known =
            !permit.id.is_empty() && permit.id.len() <= MAX_ID && permit.granted_at <= crate::base::micros::MAX_TIME.0;
        known.then_some(permit)
    }
}

impl fmt::Display for Permit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.id, self.granted_at, self.charged)
    }
}

/// The parts of the permit id of several limiters: `<id of the call>` and `+<time of the grant>:<charge>` of each limiter,
/// `+` of a limiter without a permit, or `+~` of one that only passed the call because it is in shadow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JointPermit<'a> {
    pub(crate) id: &'a str,
    pub(crate) permits: Vec<Option<Permit<'a>>>,
    /// Whether each limiter only passed the call because it is in shadow.
    pub(crate) in_shadow: Vec<bool>,
}

/// The word of a limiter in shadow.
const IN_SHADOW: &str = "~";

impl<'a> JointPermit<'a> {
    /// Parses the permit id of a number of limiters; `None` when this library cannot have issued it.
    pub(crate) fn parse(text: &'a str, limiters: usize) -> Option<Self> {
        let mut words: Vec<&str> = text.rsplitn(limiters + 1, '+').collect();
        let id = words.pop().filter(|id| !id.is_empty() && id.len() <= MAX_ID && words.len() == limiters)?;
        let permit = |word: &&'a str| {
            if word.is_empty() || *word == IN_SHADOW {
                return Some(None);
            }
            let (granted_at, charged) = word.split_once(':')?;
            let granted_at = number(granted_at).filter(|at| *at <= crate::base::micros::MAX_TIME.0)?;
            Some(Some(Permit { id, granted_at, charged: Charge::parse(charged)? }))
        };
        let permits = words.iter().rev().map(permit).collect::<Option<Vec<_>>>()?;
        let in_shadow = words.iter().rev().map(|word| *word == IN_SHADOW).collect();
        Some(Self { id, permits, in_shadow })
    }
}

impl fmt::Display for JointPermit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)?;
        self.permits.iter().zip(&self.in_shadow).try_for_each(|(permit, in_shadow)| match permit {
            Some(permit) => write!(f, "+{}:{}", permit.granted_at, permit.charged),
            None if *in_shadow => write!(f, "+{IN_SHADOW}"),
            None => f.write_str("+"),
        })
    }
}

/// Returns a new id for a call: 32 bytes, of which the first say who calls.
///
/// They are the last 12 bytes of the name of the host, where it is known, and the number of the process, as in
/// `web-7f9c.4211.0bQ8...`: so a queue shows who waits, and a lease who holds it. The others are at least 60 random bits from the
/// operating system. In a browser all are random.
///
/// # Examples
///
/// ```
/// # use paddlegate::new_id;
/// let id = new_id()?;
/// assert_eq!(id.len(), 32);
/// assert_ne!(id, new_id()?);
/// assert!(id.contains(&format!("{}.", std::process::id())));
/// # Ok::<(), paddlegate::Error>(())
/// ```
pub fn new_id() -> Result<String> {
    let mut id = String::with_capacity(ID);
    if !cfg!(target_family = "wasm") {
        if let Some(host) = host() {
            id.push_str(host);
            id.push('.');
        }
        let _ = fmt::Write::write_fmt(&mut id, format_args!("{}.", process_id()));
    }
    let mut random = random()?;
    while id.len() < ID {
        id.push(char::from(DIGITS[(random % DIGITS.len() as u128) as usize]));
        random /= DIGITS.len() as u128;
    }
    Ok(id)
}

/// The length of a new id.
const ID: usize = 32;

/// Of 62 digits each has almost 6 bits.
const DIGITS: &[u8; 62] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Returns a word that nobody guesses: 16 random bytes from the operating system, in hexadecimal.
pub fn random_word() -> Result<String> {
    Ok(format!("{:032x}", random()?))
}

fn random() -> Result<u128> {
    // A generator in the process would repeat itself after a fork.
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::internal(format!("no random bytes for a permit id: {error}")))?;
    Ok(u128::from_be_bytes(bytes))
}

/// Returns the end of the name of the host, which tells the copies of a service apart; `None` where the system does not say it.
fn host() -> Option<&'static str> {
    static HOST: OnceBox<Option<String>> = OnceBox::new();
    let read = || {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
        let plain = |byte: u8| if byte.is_ascii_alphanumeric() { char::from(byte) } else { '-' };
        let name: String = name.trim().bytes().map(plain).collect();
        let end = name.get(name.len().saturating_sub(MAX_HOST)..)?.trim_start_matches('-');
        (!end.is_empty()).then(|| end.to_owned())
    };
    HOST.get_or_init(|| Box::new(read())).as_deref()
}

/// How much of the name of the host is in an id, in bytes.
const MAX_HOST: usize = 12;

fn number(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.len() <= 16 && text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}
