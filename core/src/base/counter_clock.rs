//! The wall clock by the counter of the processor, which takes half the time to read.
//!
//! The counter's time is its ticks at a rate that is learned once; it is compared with the operating system's clock every
//! millisecond, and the difference is added. No call waits for that: until the rate is known, and whenever the counter has gone
//! astray, calls read the operating system's clock.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Times are in parts of a microsecond: two to this power.
const PARTS: u32 = 10;
/// How long a difference is used.
const RENEWAL: u64 = 1_000 << PARTS;
/// A reading that took longer is none: the thread was interrupted between the two clocks.
const SHORT: u64 = 1 << PARTS;
/// As [`SHORT`], while the rate is not known: about a microsecond of a fast counter.
const SHORT_TICKS: u64 = 4_000;
/// Learning takes so long: then an error of a reading is one of some ten thousandths.
const LESSON: Duration = Duration::from_millis(20);
/// The most ticks in a nanosecond.
const FASTEST: u128 = 16;
/// After so long without a call the lesson begins again.
const PAUSE: Duration = Duration::from_secs(1);
/// So many comparisons in succession that show another rate end the use of the counter. One may be a clock that was set.
const STRIKES: u32 = 3;

static CLOCK: CounterClock<Machine> = CounterClock::new(Machine);

/// Returns the wall-clock time in microseconds since the Unix epoch.
#[inline]
pub(super) fn now() -> u64 {
    CLOCK.now()
}

/// Makes the next call compare the counter with the clock of the operating system.
pub(super) fn expire() {
    CLOCK.expire();
}

/// The clocks that are read.
trait Source {
    fn ticks(&self) -> u64;
    /// Returns the wall-clock time in parts.
    fn wall(&self) -> u64;
    fn monotonic(&self) -> Instant;
    /// Returns whether the counter is one for all processors, at one rate.
    fn is_steady(&self) -> bool;
}

struct Machine;

impl Source for Machine {
    #[allow(unsafe_code, reason = "there is no other way to read the counter")]
    #[inline]
    fn ticks(&self) -> u64 {
        // SAFETY: every processor of this architecture has the instruction, and it takes nothing.
        unsafe { std::arch::x86_64::_rdtsc() }
    }

    #[allow(clippy::disallowed_methods)]
    fn wall(&self) -> u64 {
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        ((elapsed.as_secs() * 1_000_000) << PARTS) + (u64::from(elapsed.subsec_nanos()) << PARTS) / 1_000
    }

    fn monotonic(&self) -> Instant {
        super::clock::monotonic()
    }

    /// The kernel watches it, and uses it itself as long as it is.
    fn is_steady(&self) -> bool {
        std::fs::read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .is_ok_and(|name| name == b"tsc\n")
    }
}

struct CounterClock<S> {
    source: S,
    /// Parts of a microsecond in a tick, times 2^32; zero while not known.
    rate: AtomicU64,
    /// What the counter's time lacks.
    offset: AtomicU64,
    /// The counter's time at which that was found out; at first one that is never near.
    renewed: AtomicU64,
    /// Whether the counter is not to be used. Not in the lesson: all threads would write to its lock for nothing.
    is_over: AtomicBool,
    lesson: Mutex<Lesson>,
}

#[derive(Default)]
struct Lesson {
    begun: Option<(u64, Instant)>,
    strikes: u32,
}

impl<S: Source> CounterClock<S> {
    const fn new(source: S) -> Self {
        let (rate, offset, renewed) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(1 << 63));
        let lesson = Mutex::new(Lesson { begun: None, strikes: 0 });
        Self { source, rate, offset, renewed, is_over: AtomicBool::new(false), lesson }
    }

    #[inline]
    fn now(&self) -> u64 {
        let rate = self.rate.load(Ordering::Relaxed);
        let time = scaled(self.source.ticks(), rate);
        // Not when the counter jumped, in either direction.
        if time.wrapping_sub(self.renewed.load(Ordering::Acquire)) < RENEWAL {
            return time.wrapping_add(self.offset.load(Ordering::Relaxed)) >> PARTS;
        }
        self.renew(rate) >> PARTS
    }

    /// Makes the next call read the clock of the operating system. What is never near is far from the present time of the counter,
    /// which is zero while the rate is not known; so a second call changes nothing.
    fn expire(&self) {
        let time = scaled(self.source.ticks(), self.rate.load(Ordering::Relaxed));
        self.renewed.store(time ^ (1 << 63), Ordering::Release);
    }

    /// Reads the clock of the operating system and compares the counter with it. A thread that does so now is not waited for.
    #[cold]
    fn renew(&self, rate: u64) -> u64 {
        if rate == 0 && self.is_over.load(Ordering::Relaxed) {
            return self.source.wall();
        }
        let Ok(mut lesson) = self.lesson.try_lock() else { return self.source.wall() };
        if rate == 0 {
            self.learn(&mut lesson);
            return self.source.wall();
        }
        let before = scaled(self.source.ticks(), rate);
        let wall = self.source.wall();
        let took = scaled(self.source.ticks(), rate).wrapping_sub(before);
        if took > SHORT {
            return wall;
        }
        let offset = wall.wrapping_sub(before.wrapping_add(took / 2));
        let passed = before.wrapping_sub(self.renewed.load(Ordering::Relaxed));
        let change = offset.wrapping_sub(self.offset.load(Ordering::Relaxed)).cast_signed().unsigned_abs();
        let is_astray = passed < 1_000 * RENEWAL && change > 2 * SHORT + passed / 256;
        lesson.strikes = if is_astray { lesson.strikes + 1 } else { 0 };
        if lesson.strikes == STRIKES {
            self.is_over.store(true, Ordering::Relaxed);
            self.rate.store(0, Ordering::Relaxed);
        }
        self.offset.store(offset, Ordering::Relaxed);
        self.renewed.store(before, Ordering::Release);
        wall
    }

    fn learn(&self, lesson: &mut Lesson) {
        let ticks = self.source.ticks();
        let at = self.source.monotonic();
        if self.source.ticks().wrapping_sub(ticks) > SHORT_TICKS {
            return;
        }
        let Some((first, begun)) = lesson.begun else {
            self.is_over.store(!self.source.is_steady(), Ordering::Relaxed);
            lesson.begun = Some((ticks, at));
            return;
        };
        let passed = at.saturating_duration_since(begun);
        // A computer that slept meanwhile may have counted on, and its monotonic clock has not: no counter is so fast.
        let is_likely = |ticks: &u64| *ticks > 0 && u128::from(*ticks) < FASTEST * passed.as_nanos();
        match ticks.checked_sub(first).filter(|ticks| is_likely(ticks) && passed <= PAUSE) {
            Some(ticks) if passed >= LESSON => {
                let rate = (passed.as_nanos() << (PARTS + 32)) / 1_000 / u128::from(ticks);
                self.rate.store(u64::try_from(rate).unwrap_or(0), Ordering::Relaxed);
            }
            Some(_) => {}
            None => lesson.begun = Some((ticks, at)),
        }
    }
}

/// Returns the time of so many ticks; it wraps around.
#[allow(clippy::cast_possible_truncation)]
#[inline]
fn scaled(ticks: u64, rate: u64) -> u64 {
    ((u128::from(ticks) * u128::from(rate)) >> 32) as u64
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::thread;

    use super::*;

    const HOUR: u64 = 3_600_000_000;

    /// A machine whose time passes only when a test says so.
    struct Virtual {
        begun: Instant,
        nanoseconds: Cell<u64>,
        ticks: Cell<u64>,
        /// In microseconds.
        wall: Cell<u64>,
        /// How long the next reading of the wall clock is interrupted, in microseconds.
        interruption: Cell<u64>,
        /// How often the wall clock was read.
        reads: Cell<u64>,
        is_steady: bool,
    }

    /// Ticks in a microsecond.
    const RATE: u64 = 3_000;

    impl Virtual {
        fn pass(&self, microseconds: u64, rate: u64) {
            self.nanoseconds.set(self.nanoseconds.get() + 1_000 * microseconds);
            self.ticks.set(self.ticks.get() + rate * microseconds);
            self.wall.set(self.wall.get() + microseconds);
        }
    }

    impl Source for Virtual {
        fn ticks(&self) -> u64 {
            self.ticks.get()
        }

        fn wall(&self) -> u64 {
            let wall = self.wall.get();
            self.pass(self.interruption.take(), RATE);
            self.reads.set(self.reads.get() + 1);
            wall << PARTS
        }

        fn monotonic(&self) -> Instant {
            self.begun + Duration::from_nanos(self.nanoseconds.get())
        }

        fn is_steady(&self) -> bool {
            self.is_steady
        }
    }

    fn new(is_steady: bool) -> CounterClock<Virtual> {
        CounterClock::new(Virtual {
            begun: super::super::clock::monotonic(),
            nanoseconds: Cell::default(),
            ticks: (RATE * HOUR).into(),
            wall: 1_700_000_000_000_000.into(),
            interruption: Cell::default(),
            reads: Cell::default(),
            is_steady,
        })
    }

    /// Calls for a while, each microsecond, and returns the largest difference from the wall clock and how often that was read.
    fn call(clock: &CounterClock<Virtual>, microseconds: u64, rate: u64) -> (u64, u64) {
        let (source, mut most) = (&clock.source, 0);
        let before = source.reads.get();
        for _ in 0..microseconds {
            source.pass(1, rate);
            most = most.max(clock.now().abs_diff(source.wall.get()));
        }
        (most, source.reads.get() - before)
    }

    fn learned() -> CounterClock<Virtual> {
        let clock = new(true);
        assert_eq!(call(&clock, 20_000, RATE), (0, 20_000));
        call(&clock, 10, RATE);
        clock
    }

    #[test]
    fn the_operating_system_is_asked_until_the_rate_is_known_and_then_once_in_a_millisecond() {
        let (difference, reads) = call(&learned(), 1_000_000, RATE);
        assert!(difference <= 1 && reads.abs_diff(1_000) < 5, "{difference} us, {reads} times");
        assert_eq!(call(&new(false), 100_000, RATE), (0, 100_000), "not a steady counter");
    }

    #[test]
    fn a_counter_that_jumps_and_a_clock_that_is_set_are_found_at_once_or_in_a_millisecond() {
        let clock = learned();
        let jump = |ticks: i64| clock.source.ticks.set(clock.source.ticks.get().saturating_add_signed(ticks));
        for ticks in [-3_000_000_000, 4_000_000, 3_000_000_000_000, i64::MIN] {
            jump(ticks);
            let (difference, reads) = call(&clock, 10_000, RATE);
            assert!(difference <= 1 && reads.abs_diff(10) < 3, "{ticks}: {difference} us, {reads} times");
        }
        for ticks in [-10_000, 1_000_000] {
            jump(ticks);
            assert!(call(&clock, 1_001, RATE).0 <= 334, "no more than it jumped");
            let (difference, _) = call(&clock, 10_000, RATE);
            assert!(difference <= 1, "{ticks}: {difference} us");
        }
        for wall in [HOUR, 1_700_000_000_000_000, 1_800_000_000_000_000] {
            clock.source.wall.set(wall);
            call(&clock, 1_001, RATE);
            let (difference, reads) = call(&clock, 10_000, RATE);
            assert!(difference <= 1 && reads.abs_diff(10) < 3, "{wall}: {difference} us, {reads} times");
        }
    }

    #[test]
    fn a_clock_that_a_call_finds_set_back_is_known_to_the_next_one() {
        let clock = learned();
        clock.source.pass(2_000, RATE);
        clock.now();
        clock.source.wall.set(clock.source.wall.get() - HOUR);
        clock.source.pass(1, RATE);
        assert!(clock.now() > clock.source.wall.get() + HOUR / 2, "not before a millisecond");
        clock.expire();
        assert_eq!(clock.now(), clock.source.wall.get());
        let (difference, reads) = call(&clock, 10_000, RATE);
        assert!(difference <= 1 && reads.abs_diff(10) < 3, "{difference} us, {reads} times");
    }

    #[test]
    fn it_does_not_matter_how_many_calls_find_the_clock_set_back_nor_whether_the_rate_is_known() {
        for clock in [new(true), new(false), learned()] {
            for found in 1..=3 {
                clock.source.pass(2_000, RATE);
                clock.now();
                clock.source.wall.set(clock.source.wall.get() - HOUR);
                (0..found).for_each(|_| clock.expire());
                let (difference, _) = call(&clock, 2_000, RATE);
                assert!(difference <= 1, "found by {found} calls: {difference} us");
            }
        }
    }

    #[test]
    fn a_computer_that_slept_during_the_lesson_learns_anew() {
        let clock = new(true);
        call(&clock, 10_000, RATE);
        clock.source.ticks.set(clock.source.ticks.get() + RATE * HOUR);
        let (difference, reads) = call(&clock, 100_000, RATE);
        assert!(difference <= 1 && reads < 21_000, "{difference} us, {reads} times");
    }

    #[test]
    fn an_interruption_between_the_two_clocks_does_not_move_the_time() {
        let clock = learned();
        clock.source.pass(2_000, RATE);
        clock.source.interruption.set(500);
        clock.now();
        let (difference, _) = call(&clock, 1_000, RATE);
        assert!(difference <= 1, "{difference} us");
    }

    #[test]
    fn a_counter_at_another_rate_is_used_no_more() {
        let clock = learned();
        call(&clock, 10_000, RATE * 11 / 10);
        assert_eq!(call(&clock, 10_000, RATE * 11 / 10), (0, 10_000));
        let slow = learned();
        let (difference, reads) = call(&slow, 100_000, RATE * 1_001 / 1_000);
        assert!(difference <= 2 && reads < 200, "a clock that is being adjusted: {difference} us, {reads} times");
    }

    #[test]
    fn threads_on_few_cores_see_the_time_of_the_operating_system() {
        let (wall, monotonic) = (super::super::clock::now, super::super::clock::monotonic);
        let far_from_it = || {
            let begun = monotonic();
            let run = || {
                let mut far = None;
                while begun.elapsed() < Duration::from_secs(2) {
                    let (before, time, after) = (wall(), now(), wall());
                    if before > time + 20 || time > after + 20 {
                        far = Some((before, time, after));
                    }
                }
                far
            };
            thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
                threads.into_iter().find_map(|thread| thread.join().unwrap())
            })
        };
        loop {
            let (begun, wall_begun) = (monotonic(), wall());
            let far = far_from_it();
            let passed = u64::try_from(begun.elapsed().as_micros()).unwrap();
            if far.is_none() {
                return;
            }
            // Unless somebody has set the clock meanwhile.
            assert!((wall().saturating_sub(wall_begun)).abs_diff(passed) > 20, "{far:?}");
        }
    }
}
