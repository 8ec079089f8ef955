//go:build cgo

package paddlegate

import (
	"slices"
	"sync"
	"time"
)

// hub has the waiters of this process at one node. One goroutine receives the wake-ups for all of them;
// it ends when there are none.
type hub struct {
	store *Store

	lock sync.Mutex
	// By id, which several calls may have.
	waiters  map[string][]*sleeper
	running  bool
	listener *listener
}

// add registers a waiter. With open it starts the goroutine, which wakes all waiters when the channel
// is open, so that their tickets can name it.
func (h *hub) add(waiter *sleeper, open bool) {
	h.lock.Lock()
	defer h.lock.Unlock()
	if !slices.Contains(h.waiters[waiter.id], waiter) {
		h.waiters[waiter.id] = append(h.waiters[waiter.id], waiter)
	}
	if open && !h.running && h.store.begin() {
		h.running = true
		go h.run()
	}
}

func (h *hub) remove(waiter *sleeper) {
	h.lock.Lock()
	defer h.lock.Unlock()
	others := slices.DeleteFunc(h.waiters[waiter.id], func(it *sleeper) bool { return it == waiter })
	if len(others) == 0 {
		delete(h.waiters, waiter.id)
	} else {
		h.waiters[waiter.id] = others
	}
}

// openChannel returns the channel that tickets name; empty without a connection.
func (h *hub) openChannel() string {
	h.lock.Lock()
	defer h.lock.Unlock()
	if h.listener == nil {
		return ""
	}
	return h.listener.channel
}

// interrupt ends the goroutine of a store that is closed.
func (h *hub) interrupt() {
	h.lock.Lock()
	defer h.lock.Unlock()
	if h.listener != nil {
		h.listener.interrupt()
	}
}

func (h *hub) run() {
	defer h.store.end()
	failures := 0
	for {
		limiter := h.limiterWithWaiters()
		if limiter == nil {
			return
		}
		if h.receiveFor(limiter) {
			failures = 0
		}
		select {
		case <-h.store.done:
		case <-time.After(reconnectPause(failures)):
		}
		failures++
	}
}

// limiterWithWaiters returns a limiter that has waiters. Without any the goroutine ends, and the next
// waiter starts another one.
func (h *hub) limiterWithWaiters() *Limiter {
	h.lock.Lock()
	defer h.lock.Unlock()
	if !h.store.isClosed() {
		for _, waiters := range h.waiters {
			return waiters[0].limiter
		}
	}
	h.running = false
	return nil
}

// receiveFor receives wake-ups until there are no waiters, or an error ends the connection. It returns
// whether there was one.
func (h *hub) receiveFor(limiter *Limiter) bool {
	listener, err := limiter.openListener()
	if err != nil {
		return false
	}
	defer h.close(listener)
	// The existing tickets do not name the channel, and wake-ups may have been lost.
	for _, waiter := range h.open(listener) {
		waiter.wake(0)
	}
	for {
		wakeups, err := listener.receive(h.store.idle)
		for _, wakeup := range wakeups {
			for _, waiter := range h.waitersOf(wakeup.id) {
				waiter.wake(wakeup.delay)
			}
		}
		if err != nil || h.store.isClosed() || len(wakeups) == 0 && h.isIdle() {
			return true
		}
	}
}

func (h *hub) open(listener *listener) []*sleeper {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.listener = listener
	if h.store.isClosed() {
		listener.interrupt()
	}
	var all []*sleeper
	for _, waiters := range h.waiters {
		all = append(all, waiters...)
	}
	return all
}

func (h *hub) close(listener *listener) {
	h.lock.Lock()
	h.listener = nil
	h.lock.Unlock()
	listener.close()
}

func (h *hub) isIdle() bool {
	h.lock.Lock()
	defer h.lock.Unlock()
	return len(h.waiters) == 0
}

func (h *hub) waitersOf(id string) []*sleeper {
	h.lock.Lock()
	defer h.lock.Unlock()
	return slices.Clone(h.waiters[id])
}
