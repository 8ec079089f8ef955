//! `Event`: a scheduled event for the limiter or for a client.

use super::clients::MAX_CLIENTS;
use super::fields::{Field, Fields};
use crate::base::error::Result;
use crate::base::micros::Micros;
use crate::model::label::Label;
use crate::model::limit::MAX_UNITS;

/// The maximum number of events in a scenario.
const MAX_EVENTS: usize = 1_000;

/// An event and its time, measured from the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) at: Micros,
    pub(super) what: EventKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EventKind {
    /// Nothing is granted for this time.
    Pause(Micros),
    Resume,
    /// New values for one limit, temporarily or permanently.
    Override {
        /// `None` for the only limit of the policy.
        label: Option<Label>,
        amount: Option<u64>,
        interval: Option<Micros>,
        lasts: Option<Micros>,
    },
    /// A client crashes, temporarily or permanently.
    Crash {
        client: usize,
        lasts: Option<Micros>,
    },
}

#[derive(Clone, Copy)]
enum Word {
    Pause,
    Resume,
    Override,
    Crash,
}

const WORDS: [(&str, Word); 4] =
    [("pause", Word::Pause), ("resume", Word::Resume), ("override", Word::Override), ("crash", Word::Crash)];

impl Event {
    /// Reads the events of a scenario with this number of clients.
    pub(super) fn read_all(fields: &Fields, clients: usize) -> Result<Vec<Self>> {
        fields.get("events").items(MAX_EVENTS)?.iter().map(|field| Self::read(field, clients)).collect()
    }

    fn read(field: &Field<'_>, clients: usize) -> Result<Self> {
        let at = field.get("at");
        let at = at.required(at.span()?)?;
        let lasts = field.get("for");
        let what = match field.get("do").word(&WORDS, None)? {
            Word::Pause => EventKind::Pause(lasts.required(lasts.length()?)?),
            Word::Resume => EventKind::Resume,
            Word::Override => EventKind::Override {
                label: field.get("label").label()?,
                amount: field.get("limit").whole(0, MAX_UNITS)?,
                interval: field.get("interval").length()?,
                lasts: lasts.length()?,
            },
            Word::Crash => {
                let client = field.get("client");
                let index = size(client.required(client.whole(0, MAX_CLIENTS)?)?);
                if index >= clients {
                    return Err(client
                        .fault(&format!("must be below the number of clients, counted from 0: clients={clients}")));
                }
                EventKind::Crash { client: index, lasts: lasts.length()? }
            }
        };
        Ok(Self { at, what })
    }
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
