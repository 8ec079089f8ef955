//! `ready`: the queued calls whose turn has come, for a host that calls their jobs. The script's part is in
//! `engine/transaction/ready.lua`.

use super::prelude::*;
use crate::base::bounds::MAX_READY;
use crate::engine::queue::MAX_POLL;
use crate::model::turns::{ReadyCalls, TurnsHost};

pub(crate) struct Ready<'a> {
    count: u64,
    host: Option<TurnsHost<'a>>,
}

impl<'a> Ready<'a> {
    pub(crate) fn new(count: u64, host: Option<TurnsHost<'a>>) -> Result<Self> {
        if !(1..=MAX_READY).contains(&count) {
            return Err(Error::invalid("count", format!("must be from 1 to {MAX_READY}: count={count}")));
        }
        host.map_or(Ok(()), |host| host.check())?;
        Ok(Self { count, host })
    }
}

impl Verb for Ready<'_> {
    fn without_state(&self, _: &Policy) -> Result<Answer> {
        Ok(Answer::Ready(ReadyCalls { ids: Vec::new(), after: MAX_POLL }))
    }

    fn in_memory(&self, held: &mut Held<'_>) -> Result<Answer> {
        Ok(Answer::Ready(held.transaction("")?.ready(self.count, self.host)))
    }

    fn encode(&self, _: &Policy, _: Listed) -> Words {
        let (channel, id) = self.host.map_or(("", ""), |host| (host.channel, host.id));
        let more = ["", &self.count.to_string(), channel, id].map(str::to_owned);
        Words::new("ready", KeySet::WithId, more)
    }

    fn decoder(&self, _: &Arc<Policy>) -> Decoder {
        Decoder::of(|items| {
            let [Value::Integer(after), items @ ..] = items else { return Err(garbled()) };
            let id = |item: &Value| match item {
                Value::Text(id) => String::from_utf8(id.clone()).map_err(|_| garbled()),
                _ => Err(garbled()),
            };
            let after = Micros(u64::try_from(*after).map_err(|_| garbled())?);
            Ok(Answer::Ready(ReadyCalls { ids: items.iter().map(id).collect::<Result<_>>()?, after }))
        })
    }
}
