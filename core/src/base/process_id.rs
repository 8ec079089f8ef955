//! The id of this process, which a fork changes.

#[cfg(unix)]
use forkguard::atfork::Guard;

/// Returns the process id; 0 in the browser, which has one process and one thread.
///
/// It reads memory, where the system call takes a tenth of a microsecond. A child that the bare system call `clone` made,
/// without the handlers of `fork`, gets the id of its parent.
///
/// # Examples
///
/// ```
/// assert_eq!(paddlegate::process_id(), std::process::id());
/// ```
#[inline]
pub fn process_id() -> u32 {
    #[cfg(unix)]
    return KNOWN.try_with(Known::current).unwrap_or_else(|_| std::process::id());
    #[cfg(not(unix))]
    return if cfg!(target_family = "wasm") { 0 } else { std::process::id() };
}

#[cfg(unix)]
thread_local! {
    static KNOWN: Known = Known::new();
}

/// The id as one thread knows it.
#[cfg(unix)]
struct Known {
    pid: std::cell::Cell<u32>,
    /// `None` where the system has no room for a handler of forks.
    guard: std::cell::RefCell<Option<Guard>>,
}

#[cfg(unix)]
impl Known {
    fn new() -> Self {
        // The guard first, so that it finds a fork between the two.
        let guard = Guard::try_new().ok();
        Self { pid: std::process::id().into(), guard: guard.into() }
    }

    fn current(&self) -> u32 {
        let mut guard = self.guard.borrow_mut();
        if guard.as_mut().is_none_or(Guard::detected_fork) {
            self.pid.set(std::process::id());
        }
        self.pid.get()
    }
}
