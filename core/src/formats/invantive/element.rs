//! `Element`: the requests to which a slot applies.

use std::collections::HashMap;
use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::control::{not_an_address, shown};
use crate::base::error::Result;
use crate::base::micros::Micros;
use crate::formats::field::Field;

/// What is known of a request. A criterion for which the request has no value does not match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestAttributes<'a> {
    /// Compared with `Context`.
    pub context: Option<&'a str>,
    /// Compared with `Url`.
    pub url: Option<&'a str>,
    /// Compared with `LogOnCode`.
    pub log_on_code: Option<&'a str>,
    /// Compared with `DataContainerId`.
    pub data_container_id: Option<&'a str>,
    /// The address of the client, compared with `IpAddressClientCidr`; an IPv4-mapped IPv6 address is an IPv4 address.
    pub ip: Option<&'a str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Element {
    context: Option<Pattern>,
    url: Option<Pattern>,
    log_on_code: Option<String>,
    data_container_id: Option<String>,
    clients: Option<IpNet>,
    valid_from: Option<Micros>,
    valid_to: Option<Micros>,
    slot: Option<usize>,
}

/// A text, or the beginning of one.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    Whole(String),
    Prefix(String),
}

impl Element {
    pub(super) fn read(field: &Field<'_>, slots: &HashMap<String, usize>) -> Result<Self> {
        field.object(&[
            "Description",
            "Context",
            "Url",
            "SlotName",
            "ValidFromUtc",
            "ValidToUtc",
            "LogOnCode",
            "DataContainerId",
            "IpAddressClientCidr",
        ])?;
        text(field, "Description")?;
        let (valid_from, valid_to) = (time(field, "ValidFromUtc")?, time(field, "ValidToUtc")?);
        if valid_from.zip(valid_to).is_some_and(|(from, to)| from > to) {
            return Err(field.fault("ValidFromUtc is later than ValidToUtc; exchange them"));
        }
        Ok(Self {
            context: text(field, "Context")?.map(Pattern::new),
            url: text(field, "Url")?.map(Pattern::new),
            log_on_code: text(field, "LogOnCode")?.map(str::to_owned),
            data_container_id: text(field, "DataContainerId")?.map(str::to_owned),
            clients: clients(field)?,
            valid_from,
            valid_to,
            slot: slot(field, slots)?,
        })
    }

    /// Whether all criteria match, whatever the time.
    pub(super) fn matches(&self, request: &RequestAttributes<'_>, ip: Option<IpAddr>) -> bool {
        let pattern = |pattern: &Option<Pattern>, value: Option<&str>| {
            pattern.as_ref().is_none_or(|pattern| value.is_some_and(|value| pattern.matches(value)))
        };
        let exact = |wanted: &Option<String>, value: Option<&str>| {
            wanted.as_ref().is_none_or(|wanted| value == Some(wanted.as_str()))
        };
        pattern(&self.context, request.context)
            && pattern(&self.url, request.url)
            && exact(&self.log_on_code, request.log_on_code)
            && exact(&self.data_container_id, request.data_container_id)
            && self.clients.is_none_or(|clients| ip.is_some_and(|ip| clients.contains(&ip)))
    }

    pub(super) fn has_validity(&self) -> bool {
        self.valid_from.is_some() || self.valid_to.is_some()
    }

    /// From the first time on, until just before the second.
    pub(super) fn is_valid(&self, at: Micros) -> bool {
        self.valid_from.is_none_or(|from| from <= at) && self.valid_to.is_none_or(|to| at < to)
    }

    /// The index of its slot; none exempts.
    pub(super) fn slot(&self) -> Option<usize> {
        self.slot
    }
}

impl Pattern {
    /// A star at the end stands for anything, also for nothing; elsewhere it is a star.
    fn new(text: &str) -> Self {
        match text.strip_suffix('*') {
            Some(prefix) => Self::Prefix(prefix.to_owned()),
            None => Self::Whole(text.to_owned()),
        }
    }

    fn matches(&self, value: &str) -> bool {
        match self {
            Self::Whole(text) => value == text,
            Self::Prefix(prefix) => value.starts_with(prefix),
        }
    }
}

/// The address of a client, as servers give it: IPv6 may have a zone.
pub(super) fn client(text: &str) -> Result<IpAddr> {
    let plain = text.split_once('%').map_or(text, |(address, _)| address);
    plain.parse::<IpAddr>().map(|ip| ip.to_canonical()).map_err(|_| not_an_address(text))
}

fn clients(field: &Field<'_>) -> Result<Option<IpNet>> {
    let Some(field) = field.get("IpAddressClientCidr") else { return Ok(None) };
    let text = field.text()?;
    let clients = text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    match clients {
        Some(clients) => Ok(Some(canonical(clients).trunc())),
        None => Err(field.fault(format!("must be a network such as 10.0.0.0/8 or an address: value={}", shown(text)))),
    }
}

/// A network of IPv4-mapped addresses as one of IPv4 addresses.
fn canonical(net: IpNet) -> IpNet {
    let IpNet::V6(v6) = net else { return net };
    let mapped = v6.prefix_len().checked_sub(96).zip(v6.addr().to_ipv4_mapped());
    mapped.and_then(|(prefix, v4)| Ipv4Net::new(v4, prefix).ok()).map_or(net, IpNet::V4)
}

fn slot(field: &Field<'_>, slots: &HashMap<String, usize>) -> Result<Option<usize>> {
    let Some(field) = field.get("SlotName") else { return Ok(None) };
    let name = field.text()?;
    match slots.get(name) {
        Some(index) => Ok(Some(*index)),
        None => {
            Err(field.fault(format!("names no slot of RateLimitControlSlotList; add it: SlotName={}", shown(name))))
        }
    }
}

fn time(field: &Field<'_>, name: &str) -> Result<Option<Micros>> {
    let Some(field) = field.get(name) else { return Ok(None) };
    let text = field.text()?;
    match instant(text) {
        Some(instant) => Ok(Some(instant)),
        None => {
            Err(field.fault(format!("must be a date and time such as 2026-01-31T12:00:00Z: value={}", shown(text))))
        }
    }
}

/// A date and time; without a zone it is UTC.
fn instant(text: &str) -> Option<Micros> {
    // A civil time would overlook the name of a zone.
    if text.contains('[') || !text.contains(['T', 't', ' ']) {
        return None;
    }
    if let Ok(timestamp) = text.parse().or_else(|_| format!("{text}Z").parse()) {
        return Some(micros(timestamp));
    }
    // The last hours of 9999, by which people mean for ever, are no time stamps; nor are the first of -9999.
    let civil: DateTime = text.strip_suffix(['Z', 'z']).unwrap_or(text).parse().ok()?;
    let outside = civil.to_zoned(TimeZone::UTC).is_err();
    outside.then_some(if civil.year() > 0 { Micros(u64::MAX) } else { Micros(0) })
}

/// The first microsecond that is not before it; before 1970 is the same as 1970, since no request is earlier.
fn micros(timestamp: Timestamp) -> Micros {
    let nanos = u128::try_from(timestamp.as_nanosecond()).unwrap_or(0);
    Micros(u64::try_from(nanos.div_ceil(1_000)).unwrap_or(u64::MAX))
}

fn text<'a>(field: &Field<'a>, name: &str) -> Result<Option<&'a str>> {
    field.get(name).map(|field| field.text()).transpose()
}
