//! `Company`: the waiting calls of this process that rest in a queue. One of them looks for all, see
//! `engine/transaction/companions.rs`.
//!
//! A call rests from the answer that it need not look for [`RECHECK`] until a wake-up, its next look or its end. It is here
//! under the number of its waiter. Times are those of this process; the clock of the waiter is that of its host, so only
//! differences count there.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use once_cell::race::OnceBox;

use crate::base::clock::monotonic;
use crate::base::locked;
use crate::base::micros::Micros;
use crate::base::per_process::PerProcess;
use crate::engine::queue::RECHECK;
use crate::engine::transaction::companions::Companion;
use crate::engine::transaction::{Entry, Waiting};

/// The maximum number of companions of one call: its script takes less than a millisecond for as many, and two calls look for
/// five hundred.
const MAX_COMPANIONS: usize = 256;

/// How much earlier than alone a call looks where others rest too, so that the time of their tickets has not come yet.
const EARLY: Duration = Duration::from_millis(250);

/// How much later than the call that looked for it a companion looks, so that the same call looks for all again.
const BEHIND: Duration = Duration::from_millis(20);

/// How long a companion waits for the answer of the call that looks for it.
const PATIENCE: Duration = Duration::from_millis(250);

/// How long after a sign of life a waiter has died, if its host has not asked since when it must look.
const LIFE: Duration = Duration::from_micros(RECHECK.0 + 1_000_000);

/// The number of resting calls from which on the dead are searched for.
const MIN_SWEEP: usize = 64;

/// The number of a waiter whose companions a test names, see [`with_companions`].
const OF_TEST: u64 = u64::MAX;

/// Returns a number for a waiter that no other of this process has.
pub(crate) fn new_waiter() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// Returns when the waiter must look that by its own answer must at `due`: later when others have looked for it, and a little
/// earlier when it may look for others.
pub(crate) fn due(waiter: u64, due: Micros) -> Micros {
    let company = Company::of_process();
    let Some((own_due, due_together)) = locked(&company).due(waiter, monotonic()) else { return due };
    let micros = |span: Duration| u64::try_from(span.as_micros()).unwrap_or(0);
    let later = micros(due_together.saturating_duration_since(own_due));
    let earlier = micros(own_due.saturating_duration_since(due_together));
    Micros(due.0.saturating_add(later).saturating_sub(earlier))
}

/// Notes that the waiter must look by itself: it has got a wake-up.
pub(crate) fn wake(waiter: u64) {
    locked(&Company::of_process()).wake(waiter);
}

/// Forgets a waiter whose call has ended.
pub(crate) fn leave(waiter: u64) {
    locked(&Company::of_process()).remove(waiter);
}

/// Forgets the waiters with this id at a limiter, which are cancelled.
pub(crate) fn cancel(limiter: impl FnOnce() -> u64, id: &str) {
    let company = Company::of_process();
    let mut company = locked(&company);
    if !company.by_id.is_empty() {
        company.cancel(limiter(), id);
    }
}

/// What calls that look for each other have in common: the limiter, by its keys and its limits, the units and the channel. Others
/// only have the same numbers by chance, and then no record at the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    limiter: u64,
    units_and_channel: u64,
}

/// One look of a waiter, from its call to the answer.
#[derive(Debug)]
pub(crate) struct Look {
    waiter: u64,
    place: Place,
    id: Box<str>,
    companions: Box<[Companion]>,
}

impl Look {
    /// Creates the look of a call with an id. `limiter` is the number of its limiter, see [`hash`]. `None` for a call that
    /// nothing connects with others.
    pub(crate) fn new(entry: &Entry<'_>, limiter: impl FnOnce() -> u64) -> Option<Self> {
        let waiting = entry.queue.as_ref()?;
        if waiting.waiter == 0 || waiting.channel.is_empty() {
            return None;
        }
        // A limit may be lowered below the units of some, which only their own calls notice.
        let units_and_channel = hash(format!("{} {}", entry.charge, waiting.channel).as_bytes());
        let place = Place { limiter: limiter(), units_and_channel };
        Some(Self { waiter: waiting.waiter, place, id: entry.id.into(), companions: waiting.companions.into() })
    }

    pub(crate) fn has_companions(&self) -> bool {
        !self.companions.is_empty()
    }

    /// Evaluates the answer: how long the call need not look if it is queued, and for each companion how long it need not.
    pub(crate) fn end(&self, queued: Option<Micros>, companions: &[u64]) {
        if self.waiter == OF_TEST {
            return test::note(companions);
        }
        locked(&Company::of_process()).end(self, queued, companions, monotonic());
    }
}

/// Begins the look of a call that has a ticket, and returns its companions.
///
/// A call that looks because its time has come takes along those that would look soon; one that was woken is about to be
/// granted, and takes none.
pub(crate) fn begin(entry: &Entry<'_>, limiter: impl FnOnce() -> u64) -> Vec<Companion> {
    let waiter = entry.queue.map_or(0, |waiting| waiting.waiter);
    match Look::new(entry, limiter) {
        Some(_) if waiter == OF_TEST => test::companions(),
        Some(look) => locked(&Company::of_process()).begin(&look, monotonic()),
        None => {
            if waiter != 0 {
                leave(waiter);
            }
            Vec::new()
        }
    }
}

/// Returns the number of a limiter, from the encoded names of its keys and its limits.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(bytes)
}

/// A waiting call of this process.
#[derive(Debug)]
struct Member {
    place: Place,
    id: Box<str>,
    /// The number of its last answer.
    round: u64,
    /// When it must look by its own answer, and when because others have looked for it.
    own_due: Instant,
    due: Instant,
    /// Until when another looks for it.
    carried_until: Option<Instant>,
    /// Whether others may look for it.
    rests: bool,
    /// When its host last asked when it must look.
    seen: Instant,
}

/// The waiting calls of a process.
#[derive(Debug, Default)]
struct Company {
    members: HashMap<u64, Member>,
    /// Those that rest, by the time of their look.
    places: HashMap<Place, BTreeSet<(Instant, u64)>>,
    by_id: HashMap<(u64, Box<str>), u64>,
    rounds: u64,
    /// The number of members from which on the dead are searched for.
    sweep_at: usize,
}

impl Company {
    fn of_process() -> Arc<Mutex<Self>> {
        static COMPANY: OnceBox<PerProcess<Mutex<Company>>> = OnceBox::new();
        COMPANY.get_or_init(Box::default).get()
    }

    /// Returns when a waiter must look by its own answer, and when because of others.
    fn due(&mut self, waiter: u64, now: Instant) -> Option<(Instant, Instant)> {
        let member = self.members.get_mut(&waiter)?;
        member.seen = now;
        // An answer that is on its way may postpone the look.
        Some((member.own_due, member.carried_until.map_or(member.due, |until| member.due.max(until))))
    }

    fn wake(&mut self, waiter: u64) {
        self.unrest(waiter);
        if let Some(member) = self.members.get_mut(&waiter) {
            (member.due, member.carried_until) = (member.own_due, None);
        }
    }

    /// Lets a waiter look by itself.
    fn unrest(&mut self, waiter: u64) {
        let Some(member) = self.members.get_mut(&waiter) else { return };
        if std::mem::take(&mut member.rests)
            && let Some(order) = self.places.get_mut(&member.place)
        {
            order.remove(&(member.due, waiter));
            if order.is_empty() {
                self.places.remove(&member.place);
            }
        }
    }

    fn remove(&mut self, waiter: u64) {
        self.unrest(waiter);
        let Some(member) = self.members.remove(&waiter) else { return };
        let by_id = (member.place.limiter, member.id);
        if self.by_id.get(&by_id) == Some(&waiter) {
            self.by_id.remove(&by_id);
        }
    }

    fn cancel(&mut self, limiter: u64, id: &str) {
        if let Some(waiter) = self.by_id.get(&(limiter, Box::from(id))).copied() {
            self.remove(waiter);
        }
    }

    /// Begins a look and returns the companions: of those at the same place the first to look, if the look is not due to a
    /// wake-up.
    fn begin(&mut self, look: &Look, now: Instant) -> Vec<Companion> {
        let rested = self.members.get(&look.waiter).is_some_and(|member| member.rests && member.place == look.place);
        self.wake(look.waiter);
        if rested { self.take_along(look, now) } else { Vec::new() }
    }

    fn take_along(&mut self, look: &Look, now: Instant) -> Vec<Companion> {
        let Some(order) = self.places.get(&look.place) else { return Vec::new() };
        // Those that have just been taken along would gain nothing.
        let soon = now + RECHECK.duration() / 2;
        let (mut companions, mut dead) = (Vec::new(), Vec::new());
        for (_, waiter) in order.iter().take_while(|(due, _)| *due <= soon) {
            let Some(member) = self.members.get_mut(waiter) else { continue };
            if now.saturating_duration_since(member.seen) > LIFE {
                dead.push(*waiter);
            } else if member.id != look.id && member.carried_until.is_none_or(|until| until <= now) {
                member.carried_until = Some(now + PATIENCE);
                companions.push(Companion { id: member.id.clone(), waiter: *waiter, round: member.round });
                if companions.len() == MAX_COMPANIONS {
                    break;
                }
            }
        }
        for waiter in dead {
            self.remove(waiter);
        }
        companions
    }

    fn end(&mut self, look: &Look, queued: Option<Micros>, companions: &[u64], now: Instant) {
        match queued {
            Some(retry_after) if retry_after >= RECHECK => self.rest(look, now, retry_after.duration()),
            _ => self.remove(look.waiter),
        }
        for (place, companion) in look.companions.iter().enumerate() {
            self.kept(companion, companions.get(place).map(|time| Micros(*time)), now);
        }
    }

    /// Notes a call that need not look for a while.
    fn rest(&mut self, look: &Look, now: Instant, after: Duration) {
        self.remove(look.waiter);
        let early = if self.places.contains_key(&look.place) { EARLY } else { Duration::ZERO };
        let (own_due, due) = (now + after, now + after.saturating_sub(early));
        if self.members.len() >= self.sweep_at.max(MIN_SWEEP) {
            let dead = self.members.iter().filter(|(_, member)| now.saturating_duration_since(member.seen) > LIFE);
            for waiter in dead.map(|(waiter, _)| *waiter).collect::<Vec<_>>() {
                self.remove(waiter);
            }
            self.sweep_at = 2 * self.members.len();
        }
        self.rounds += 1;
        self.by_id.insert((look.place.limiter, look.id.clone()), look.waiter);
        self.places.entry(look.place).or_default().insert((due, look.waiter));
        let member = Member {
            place: look.place,
            id: look.id.clone(),
            round: self.rounds,
            own_due,
            due,
            carried_until: None,
            rests: true,
            seen: now,
        };
        self.members.insert(look.waiter, member);
    }

    /// Notes for how long a companion need not look: zero if it must by itself, `None` when the answer does not say it.
    fn kept(&mut self, companion: &Companion, time: Option<Micros>, now: Instant) {
        let waiter = companion.waiter;
        let Some(member) = self.members.get_mut(&waiter).filter(|member| member.round == companion.round) else {
            return;
        };
        member.carried_until = None;
        let Some(time) = time.filter(|_| member.rests) else { return };
        let due = match time {
            Micros(0) => member.own_due,
            time if time < RECHECK => now + time.duration(),
            _ => now + RECHECK.duration().saturating_sub(EARLY) + BEHIND,
        };
        self.unrest(waiter);
        let Some(member) = self.members.get_mut(&waiter) else { return };
        (member.due, member.rests) = (due, time >= RECHECK);
        if member.rests {
            self.places.entry(member.place).or_default().insert((due, waiter));
        }
    }
}

/// Runs `run` with the number of a waiter whose call has the companions with these ids, and returns its result and the times for
/// which the companions need not call; for tests.
#[doc(hidden)]
pub fn with_companions<T>(ids: &[&str], run: impl FnOnce(u64) -> T) -> (T, Vec<u64>) {
    test::set(ids);
    let result = run(OF_TEST);
    (result, test::take())
}

/// Returns the companions that a test names, for a call of it.
pub(crate) fn of_test(waiting: &Waiting<'_>) -> Vec<Companion> {
    if waiting.waiter == OF_TEST { test::companions() } else { Vec::new() }
}

/// Notes the times of the companions that a test names, for a call of it.
pub(crate) fn note_for_test(waiting: &Waiting<'_>, companions: &[u64]) {
    if waiting.waiter == OF_TEST {
        test::note(companions);
    }
}

/// The companions that a test names, and their times.
mod test {
    use std::cell::RefCell;

    use super::Companion;

    thread_local! {
        static GIVEN: RefCell<(Vec<Companion>, Vec<u64>)> = const { RefCell::new((Vec::new(), Vec::new())) };
    }

    pub(super) fn set(ids: &[&str]) {
        let companion = |id: &&str| Companion { id: Box::from(*id), waiter: 0, round: 0 };
        GIVEN.set((ids.iter().map(companion).collect(), Vec::new()));
    }

    pub(super) fn companions() -> Vec<Companion> {
        GIVEN.with_borrow(|(companions, _)| companions.clone())
    }

    pub(super) fn note(times: &[u64]) {
        GIVEN.with_borrow_mut(|(_, noted)| *noted = times.to_vec());
    }

    pub(super) fn take() -> Vec<u64> {
        GIVEN.take().1
    }
}

#[cfg(test)]
mod tests;
