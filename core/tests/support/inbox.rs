//! Receives the wake-ups of a limiter on either store, without blocking.

use paddlegate::{Limiter, Micros, Wakeup, WakeupListener};

use super::raw::{Raw, Reply};

pub enum Inbox {
    Memory(WakeupListener),
    Redis(Box<Raw>, String),
}

impl Inbox {
    pub fn in_memory(limiter: &Limiter) -> Self {
        Self::Memory(limiter.listen().expect("to listen"))
    }

    pub fn on_redis(mut raw: Raw, name: &str) -> Self {
        let channel = format!("wake-ups:{}", name.replace(' ', "-"));
        raw.execute(&["SUBSCRIBE", &channel]);
        Self::Redis(Box::new(raw), channel)
    }

    pub fn channel(&self) -> String {
        match self {
            Self::Memory(wakeups) => wakeups.channel().to_owned(),
            Self::Redis(_, channel) => channel.clone(),
        }
    }

    /// Returns every wake-up that was published by calls that have been answered.
    pub fn take(&mut self) -> Vec<Wakeup> {
        let raw = match self {
            Self::Memory(wakeups) => return wakeups.receive().expect("wake-ups"),
            Self::Redis(raw, _) => raw,
        };
        let mut wakeups = Vec::new();
        let mut reply = raw.execute(&["PING"]);
        loop {
            let Reply::Array(items) = &reply else { panic!("not a message: {reply:?}") };
            match &items[..] {
                [Reply::Text(kind), _, Reply::Text(text)] if kind == b"message" => {
                    let text = String::from_utf8_lossy(text);
                    let (delay, id) = text.split_once(' ').unwrap_or_else(|| panic!("not two words: {text}"));
                    // A broken script may send no number; u64::MAX differs from every valid delay.
                    wakeups.push(Wakeup { id: id.to_owned(), delay: Micros(delay.parse().unwrap_or(u64::MAX)) });
                }
                _ => return wakeups,
            }
            reply = raw.next_reply();
        }
    }
}
