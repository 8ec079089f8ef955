//! `RateLimitControl`: assigns requests to slots.

use std::collections::HashMap;
use std::net::IpAddr;

use serde_json::Value;

use super::element::{Element, RequestAttributes, client};
use super::slot::Slot;
use crate::base::error::{Error, Result};
use crate::base::json;
use crate::base::micros::Micros;
use crate::formats::Definition;
use crate::formats::field::Field;

/// Ordered elements and the slots that they name.
///
/// # Examples
///
/// ```
/// # use paddlegate::Micros;
/// # use paddlegate::formats::invantive::{Choice, RequestAttributes, RateLimitControl};
/// let control = RateLimitControl::parse(r#"{
///     "RateLimitControlList": [{ "Url": "https://example.com/*", "SlotName": "web" }],
///     "RateLimitControlSlotList": [{ "Name": "web", "ActionsPerSecond": 2 }]
/// }"#)?;
/// let request = RequestAttributes { url: Some("https://example.com/a"), ..RequestAttributes::default() };
/// assert!(matches!(control.choose(&request, Micros(0))?, Choice::Slot(slot) if slot.name() == Some("web")));
/// assert_eq!(control.choose(&RequestAttributes::default(), Micros(0))?, Choice::Unmatched);
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimitControl {
    elements: Vec<Element>,
    slots: Vec<Slot>,
}

/// The slot that a control assigns to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice<'a> {
    /// No element matches: no limit.
    Unmatched,
    /// The first matching element names no slot: no limit, even if later elements match.
    Exempt,
    /// The slot of the first matching element.
    Slot(&'a Slot),
}

/// A [`Choice`] with the slot's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    Unmatched,
    Exempt,
    Slot(usize),
    /// The result depends on the time, which the caller did not give.
    Unknown,
}

impl RateLimitControl {
    /// Parses a control; errors start with the JSON path of the fault.
    pub fn parse(text: &str) -> Result<Self> {
        Self::read(&json::parse(text)?)
    }

    pub(crate) fn read(value: &Value) -> Result<Self> {
        let field = Field::root(value);
        field.object(&["RateLimitControlList", "RateLimitControlSlotList"])?;
        let mut slots: Vec<Slot> = Vec::new();
        let mut names = HashMap::new();
        if let Some(list) = field.get("RateLimitControlSlotList") {
            for item in list.list()? {
                let slot = Slot::read(&item)?;
                if let Some(name) = slot.name() {
                    if names.contains_key(name) {
                        return Err(item
                            .fault(format!("has the Name of an earlier slot; give it another: Name={}", shown(name))));
                    }
                    names.insert(name.to_owned(), slots.len());
                }
                slots.push(slot);
            }
        }
        let mut elements = Vec::new();
        if let Some(list) = field.get("RateLimitControlList") {
            for item in list.list()? {
                elements.push(Element::read(&item, &names)?);
            }
        }
        Ok(Self { elements, slots })
    }

    /// Returns the slots, in the order of the document.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Returns the slot of the first element that matches a request at time `at`; only that slot limits the request.
    ///
    /// `at` decides which elements are valid. `Invalid` when the request's IP address is malformed.
    pub fn choose(&self, request: &RequestAttributes<'_>, at: Micros) -> Result<Choice<'_>> {
        Ok(match self.pick(request, Some(at))? {
            Pick::Unmatched | Pick::Unknown => Choice::Unmatched,
            Pick::Exempt => Choice::Exempt,
            Pick::Slot(index) => self.slots.get(index).map_or(Choice::Unmatched, Choice::Slot),
        })
    }

    /// Returns the limiters of all named slots.
    ///
    /// A slot `web` has `invantive/fail/web` for the levels that fail, which raise when refused, and
    /// `invantive/second/web`, `invantive/minute/web` and `invantive/hour/web` for the levels that only delay, which
    /// wait when refused.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::formats::invantive::RateLimitControl;
    /// let control = r#"{ "RateLimitControlSlotList": [{ "Name": "web", "ActionsPerSecond": 2 }] }"#;
    /// assert_eq!(RateLimitControl::parse(control)?.definitions()?[0].name, "invantive/fail/web");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn definitions(&self) -> Result<Vec<Definition>> {
        Ok(self.slots.iter().flat_map(Slot::definitions).collect())
    }

    /// [`choose`](Self::choose) with an optional time.
    pub(super) fn pick(&self, request: &RequestAttributes<'_>, at: Option<Micros>) -> Result<Pick> {
        let ip: Option<IpAddr> = request.ip.map(client).transpose()?;
        for element in self.elements.iter().filter(|element| element.matches(request, ip)) {
            if element.has_validity() {
                let Some(at) = at else { return Ok(Pick::Unknown) };
                if !element.is_valid(at) {
                    continue;
                }
            }
            return Ok(element.slot().map_or(Pick::Exempt, Pick::Slot));
        }
        Ok(Pick::Unmatched)
    }
}

/// Formats a name for a message.
pub(super) fn shown(name: &str) -> String {
    format!("{:?}", name.chars().take(40).collect::<String>())
}

/// The fault is in the request, not in the document.
pub(super) fn not_an_address(text: &str) -> Error {
    Error::invalid("ip", format!("must be an IPv4 or IPv6 address without a port: ip={}", shown(text)))
}
