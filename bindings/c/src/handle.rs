//! Handles that survive misuse: numbers that are looked up, never addresses that are followed.

use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use arc_swap::ArcSwapOption;
use once_cell::race::OnceBox;
use paddlegate_core::{Error, Result};

/// The most things of one kind that are open at once.
pub(crate) const MAX_OPEN: usize = 1 << INDEX_BITS;

const INDEX_BITS: u32 = 20;
const KIND_BITS: u32 = 4;
const GENERATION_BITS: u32 = usize::BITS - INDEX_BITS - KIND_BITS;
const BLOCK: usize = 1024;
/// Where the list of unused slots has its first one; none or the number of the slot plus one.
const FIRST: usize = (1 << (INDEX_BITS + 1)) - 1;

/// What is open, by handle.
///
/// No function takes a lock: one that another thread holds at a fork stays held in the child.
pub(crate) struct Table<T: 'static, H> {
    /// The name of the argument that carries the handle.
    argument: &'static str,
    kind: usize,
    blocks: [OnceBox<Vec<Slot<T>>>; MAX_OPEN / BLOCK],
    used: AtomicUsize,
    /// The first unused slot and, above it, a count of changes, so that no swap can mistake an old
    /// list for the present one.
    unused: AtomicUsize,
    handle: PhantomData<fn(H)>,
}

struct Slot<T> {
    open: ArcSwapOption<Open<T>>,
    generation: AtomicUsize,
    /// The next unused slot.
    next: AtomicUsize,
}

struct Open<T> {
    handle: usize,
    value: T,
}

impl<T, H> Table<T, H> {
    pub(crate) const fn new(argument: &'static str, kind: usize) -> Self {
        Self {
            argument,
            kind,
            blocks: [const { OnceBox::new() }; MAX_OPEN / BLOCK],
            used: AtomicUsize::new(0),
            unused: AtomicUsize::new(0),
            handle: PhantomData,
        }
    }

    /// Keeps a value until its handle is closed.
    pub(crate) fn open(&self, value: T) -> Result<*mut H> {
        let index = self.take_unused().or_else(|| self.take_new()).ok_or_else(|| {
            Error::invalid(self.argument, format!("too many are open, close those that are not used: open={MAX_OPEN}"))
        })?;
        let slot = self.slot(index);
        let generation = slot.generation.fetch_add(1, Relaxed) & ((1 << GENERATION_BITS) - 1);
        let handle = (self.kind << (usize::BITS - KIND_BITS)) | (generation << INDEX_BITS) | index;
        slot.open.store(Some(Arc::new(Open { handle, value })));
        Ok(ptr::without_provenance_mut(handle))
    }

    /// Looks at an open value.
    pub(crate) fn with<R>(&self, handle: *const H, look: impl FnOnce(&T) -> Result<R>) -> Result<R> {
        let slot = self.slot_of(handle)?;
        match slot.open.load().as_deref() {
            Some(open) if open.handle == handle.addr() => look(&open.value),
            _ => Err(self.closed()),
        }
    }

    /// The value is dropped when the last call that looks at it has ended.
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
            let index = (list & FIRST).checked_sub(1)?;
            let rest = changed(list, self.slot(index).next.load(SeqCst));
            match self.unused.compare_exchange_weak(list, rest, SeqCst, SeqCst) {
                Ok(_) => return Some(index),
                Err(now) => list = now,
            }
        }
    }

    fn give_back(&self, index: usize) {
        let mut list = self.unused.load(SeqCst);
        loop {
            self.slot(index).next.store(list & FIRST, SeqCst);
            let longer = changed(list, index + 1);
            match self.unused.compare_exchange_weak(list, longer, SeqCst, SeqCst) {
                Ok(_) => return,
                Err(now) => list = now,
            }
        }
    }
}

/// The list of unused slots with another first one.
fn changed(list: usize, first: usize) -> usize {
    (list & !FIRST).wrapping_add(FIRST + 1) | first
}
