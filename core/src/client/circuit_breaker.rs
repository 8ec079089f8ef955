//! `CircuitBreaker`: after several consecutive failures most calls skip the server.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The number of consecutive failures that opens the circuit.
const FAILURES: u32 = 5;

/// The time between two attempts to reach the store while the circuit is open, in microseconds.
pub(crate) const PROBE: u64 = 1_000_000;

/// Whether a node of the store replies, as observed by this process.
#[derive(Debug, Default)]
pub(crate) struct CircuitBreaker {
    failures: AtomicU32,
    /// The time of the next attempt, by the clock of the machine; zero while the circuit is closed.
    probe_at: AtomicU64,
}

impl CircuitBreaker {
    /// Returns the time until the next attempt; `None` when this call may go to the store.
    ///
    /// When the time has come, one of the concurrent calls makes the attempt.
    pub(crate) fn wait(&self, now: u64) -> Option<u64> {
        let probe_at = self.probe_at.load(Ordering::Relaxed);
        if probe_at == 0 {
            return None;
        }
        if now < probe_at && probe_at - now <= PROBE {
            return Some(probe_at - now);
        }
        let next = self.probe_at.compare_exchange(probe_at, now + PROBE, Ordering::Relaxed, Ordering::Relaxed);
        next.is_err().then_some(PROBE)
    }

    pub(crate) fn record(&self, answers: bool, now: u64) {
        if answers {
            self.failures.store(0, Ordering::Relaxed);
            self.probe_at.store(0, Ordering::Relaxed);
        } else if self.failures.fetch_add(1, Ordering::Relaxed) + 1 >= FAILURES {
            self.probe_at.store(now + PROBE, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_failures_in_a_row_open_the_circuit_and_one_call_a_second_asks() {
        let circuit = CircuitBreaker::default();
        for _ in 0..4 {
            circuit.record(false, 10);
        }
        circuit.record(true, 10);
        for _ in 0..4 {
            circuit.record(false, 10);
        }
        assert_eq!(circuit.wait(11), None);
        circuit.record(false, 100);
        assert_eq!(circuit.wait(100), Some(PROBE));
        assert_eq!(circuit.wait(100 + PROBE - 1), Some(1));
        assert_eq!(circuit.wait(100 + PROBE), None, "this one asks");
        assert_eq!(circuit.wait(100 + PROBE), Some(PROBE), "and the others do not");
        circuit.record(false, 200 + PROBE);
        assert_eq!(circuit.wait(300 + PROBE), Some(PROBE - 100));
        circuit.record(true, 400 + PROBE);
        assert_eq!(circuit.wait(400 + PROBE), None);
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_keep_the_circuit_open() {
        let circuit = CircuitBreaker::default();
        (0..FAILURES).for_each(|_| circuit.record(false, 1_000 * PROBE));
        assert_eq!(circuit.wait(PROBE), None);
    }
}
