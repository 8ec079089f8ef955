//! `Element`: the criteria that assign requests to a slot.

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

/// The attributes of a request. A criterion does not match a request without its attribute.
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
    /// The client's IP address, compared with `IpAddressClientCidr`. An IPv4-mapped IPv6 address counts as IPv4.
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

/// A text or a prefix.
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

    /// Returns whether all criteria match, regardless of validity.
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

    /// Validity includes the start and excludes the end.
    pub(super) fn is_valid(&self, at: Micros) -> bool {
        self.valid_from.is_none_or(|from| from <= at) && self.valid_to.is_none_or(|to| at < to)
    }

    /// Returns the index of the slot; `None` exempts the request.
    pub(super) fn slot(&self) -> Option<usize> {
        self.slot
    }
}

impl Pattern {
    /// A trailing star matches any text, also an empty one; elsewhere a star is literal.
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

/// Parses a client's IP address as servers report it: IPv6 may have a zone.
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

/// Converts a network of IPv4-mapped addresses to an IPv4 network.
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

/// Parses a date and time; UTC without a zone.
fn instant(text: &str) -> Option<Micros> {
    // Parsing as civil time would ignore a zone name.
    if text.contains('[') || !text.contains(['T', 't', ' ']) {
        return None;
    }
    if let Ok(timestamp) = text.parse().or_else(|_| format!("{text}Z").parse()) {
        return Some(micros(timestamp));
    }
    // The last hours of 9999, a common notation for "forever", are outside the range of timestamps, as are the first
    // hours of -9999.
    let civil: DateTime = text.strip_suffix(['Z', 'z']).unwrap_or(text).parse().ok()?;
    let outside = civil.to_zoned(TimeZone::UTC).is_err();
    outside.then_some(if civil.year() > 0 { Micros(u64::MAX) } else { Micros(0) })
}

/// Rounds up to the microsecond; times before 1970 become 1970, since no request is earlier.
fn micros(timestamp: Timestamp) -> Micros {
    let nanos = u128::try_from(timestamp.as_nanosecond()).unwrap_or(0);
    Micros(u64::try_from(nanos.div_ceil(1_000)).unwrap_or(u64::MAX))
}

fn text<'a>(field: &Field<'a>, name: &str) -> Result<Option<&'a str>> {
    field.get(name).map(|field| field.text()).transpose()
}
