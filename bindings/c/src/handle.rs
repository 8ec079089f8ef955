//! Handles that survive misuse: numbers that are looked up, never pointers that are dereferenced.

use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use arc_swap::ArcSwapOption;
use once_cell::race::OnceBox;
use paddlegate_core::{Error, Result};

/// The maximum number of open objects of one kind.
pub(crate) const MAX_OPEN: usize = 1 << INDEX_BITS;

const INDEX_BITS: u32 = 20;
const KIND_BITS: u32 = 4;
const GENERATION_BITS: u32 = usize::BITS - INDEX_BITS - KIND_BITS;
const BLOCK: usize = 1024;
/// The bits for the first slot in the list of unused slots: zero for none, otherwise the index of
/// the slot plus one.
const FIRST: u64 = (1 << (INDEX_BITS + 1)) - 1;

/// The open objects by handle. No handle is issued twice, so a handle that was closed never refers
/// to another object: a slot without unused generations, of which there are 256 where pointers have
/// 32 bits, is not used again.
///
/// No method takes a lock: a lock that another thread holds at a fork stays held in the child.
pub(crate) struct Table<T: 'static, H, const GENERATIONS: u32 = GENERATION_BITS> {
    /// The name of the argument that carries the handle.
    argument: &'static str,
    kind: usize,
    blocks: [OnceBox<Vec<Slot<T>>>; MAX_OPEN / BLOCK],
    used: AtomicUsize,
    /// The first unused slot and, above it, a count of changes, so that no compare-and-swap takes
    /// an old list for the current one.
    unused: AtomicU64,
    handle: PhantomData<fn(H)>,
}

struct Slot<T> {
    open: ArcSwapOption<Open<T>>,
    generation: AtomicUsize,
    /// The next unused slot, in the encoding of [`FIRST`].
    next: AtomicUsize,
}

struct Open<T> {
    handle: usize,
    value: T,
}

impl<T, H, const GENERATIONS: u32> Table<T, H, GENERATIONS> {
    pub(crate) const fn new(argument: &'static str, kind: usize) -> Self {
        Self {
            argument,
            kind,
            blocks: [const { OnceBox::new() }; MAX_OPEN / BLOCK],
            used: AtomicUsize::new(0),
            unused: AtomicU64::new(0),
            handle: PhantomData,
        }
    }

    /// Stores a value until its handle is closed.
    pub(crate) fn open(&self, value: T) -> Result<*mut H> {
        let index = self.take_unused().or_else(|| self.take_new()).ok_or_else(|| {
            Error::invalid(self.argument, format!("too many are open, close those that are not used: most={MAX_OPEN}"))
        })?;
        let slot = self.slot(index);
        let generation = slot.generation.load(SeqCst);
        let handle = (self.kind << (usize::BITS - KIND_BITS)) | (generation << INDEX_BITS) | index;
        slot.open.store(Some(Arc::new(Open { handle, value })));
        Ok(ptr::without_provenance_mut(handle))
    }

    /// Calls `body` with an open value.
    pub(crate) fn with<R>(&self, handle: *const H, body: impl FnOnce(&T) -> Result<R>) -> Result<R> {
        let slot = self.slot_of(handle)?;
        match slot.open.load().as_deref() {
            Some(open) if open.handle == handle.addr() => body(&open.value),
            _ => Err(self.closed()),
        }
    }

    /// Closes a handle. The value is dropped when the last call that uses it has ended.
    pub(crate) fn close(&self, handle: *const H) -> Result<()> {
        let slot = self.slot_of(handle)?;
        let open = slot.open.load();
        if open.as_deref().is_none_or(|open| open.handle != handle.addr()) {
            return Err(self.closed());
        }
        let before = slot.open.compare_and_swap(&open, None);
        if before.as_ref().map(Arc::as_ptr) != open.as_ref().map(Arc::as_ptr) {
            return Err(self.closed());
        }
        self.give_back(handle.addr() & (MAX_OPEN - 1));
        Ok(())
    }

    fn slot_of(&self, handle: *const H) -> Result<&Slot<T>> {
        let handle = handle.addr();
        if handle == 0 {
            return Err(Error::invalid(self.argument, "is NULL"));
        }
        let index = handle & (MAX_OPEN - 1);
        if handle >> (usize::BITS - KIND_BITS) != self.kind || index >= self.used.load(SeqCst) {
            return Err(Error::invalid(self.argument, format!("is not a {}", self.argument)));
        }
        Ok(self.slot(index))
    }

    fn closed(&self) -> Error {
        Error::invalid(self.argument, "is closed")
    }

    fn slot(&self, index: usize) -> &Slot<T> {
        let block = self.blocks[index / BLOCK].get_or_init(|| {
            let slot =
                || Slot { open: ArcSwapOption::empty(), generation: AtomicUsize::new(0), next: AtomicUsize::new(0) };
            Box::new((0..BLOCK).map(|_| slot()).collect())
        });
        &block[index % BLOCK]
    }

    fn take_new(&self) -> Option<usize> {
        let more = |used| (used < MAX_OPEN).then_some(used + 1);
        self.used.fetch_update(SeqCst, SeqCst, more).ok()
    }

    fn take_unused(&self) -> Option<usize> {
        let mut list = self.unused.load(SeqCst);
        loop {
            let index = first(list).checked_sub(1)?;
            let rest = changed(list, self.slot(index).next.load(SeqCst));
            match self.unused.compare_exchange_weak(list, rest, SeqCst, SeqCst) {
                Ok(_) => return Some(index),
                Err(now) => list = now,
            }
        }
    }

    fn give_back(&self, index: usize) {
        if self.slot(index).generation.fetch_add(1, SeqCst) == (1 << GENERATIONS) - 1 {
            return;
        }
        let mut list = self.unused.load(SeqCst);
        loop {
            self.slot(index).next.store(first(list), SeqCst);
            let longer = changed(list, index + 1);
            match self.unused.compare_exchange_weak(list, longer, SeqCst, SeqCst) {
                Ok(_) => return,
                Err(now) => list = now,
            }
        }
    }
}

/// Returns the first slot in the list of unused slots, plus one.
#[allow(clippy::cast_possible_truncation)] // The value has 21 bits.
fn first(list: u64) -> usize {
    (list & FIRST) as usize
}

/// Returns the list of unused slots with another first slot.
fn changed(list: u64, first: usize) -> u64 {
    (list & !FIRST).wrapping_add(FIRST + 1) | first as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    struct Handle;

    /// Has as few generations as a table where pointers have 32 bits.
    static NARROW: Table<u32, Handle, 8> = Table::new("narrow", 0b1001);

    #[test]
    fn no_handle_is_given_twice() {
        let mut given = HashSet::new();
        let mut closed = Vec::new();
        for value in 0..2_000 {
            let handle = NARROW.open(value).unwrap();
            assert!(given.insert(handle.addr()), "given twice: opened={value}");
            assert_eq!(NARROW.with(handle, |open| Ok(*open)).unwrap(), value);
            NARROW.close(handle).unwrap();
            closed.push(handle);
        }
        let open = NARROW.open(0).unwrap();
        for handle in closed {
            assert_eq!(NARROW.with(handle, |_| Ok(())).unwrap_err().argument(), Some("narrow"));
            assert!(NARROW.close(handle).is_err());
        }
        NARROW.close(open).unwrap();
    }

    #[test]
    fn a_slot_serves_again_as_long_as_it_has_generations() {
        static WIDE: Table<u32, Handle> = Table::new("wide", 0b0110);
        for value in 0..2_000 {
            WIDE.close(WIDE.open(value).unwrap()).unwrap();
        }
        assert_eq!(WIDE.used.load(SeqCst), 1);
    }
}
