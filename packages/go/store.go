package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
)

// maxCalls is how many calls of a store may wait for a server at once, each on a thread of its own.
// The library keeps as many unused connections; more would be opened for one call.
const maxCalls = 64

// Store is where limiters count: the memory of this process, or a Redis that many processes share.
// All goroutines may use it. [Store.Close] closes it.
type Store struct {
	handle *C.pg_store
	memory bool
	// A place for each call to a server.
	slots chan struct{}
	// How long a call waits for one. It is half of the time-out, so that the call ends within one and a
	// half of it.
	patience time.Duration
	// The calls to a server that acquire at once.
	combiner combiner
	done     chan struct{}
	// How long a listener without waiters stays open.
	idle time.Duration

	lock   sync.Mutex
	closed bool
	hubs   map[string]*hub
	// Goroutines and calls that wait, which Close ends.
	busy sync.WaitGroup
}

// StoreOption is an option of [Open].
type StoreOption func(*storeOptions)

type storeOptions struct {
	timeout *time.Duration
	clock   *TestClock
}

// Timeout is the time within which every call of a store returns or fails. The default is one second. A
// call that finds no place for half of it, because as many calls as are allowed at once are at the
// server, fails as an [UnavailableError].
func Timeout(timeout time.Duration) StoreOption {
	return func(o *storeOptions) { o.timeout = &timeout }
}

// Clock makes a store decide by the clock of a test.
func Clock(clock *TestClock) StoreOption { return func(o *storeOptions) { o.clock = clock } }

// Open opens a store. It makes no connection; the first call of a limiter does.
//
// The url is redis://[user:password@]host[:port][/db], rediss:// for TLS, unix:///path[?db=n] or
// memory://; more nodes of a cluster may follow after commas. Empty stands for the environment
// variable PADDLEGATE_URL, and for memory when it is not set.
func Open(url string, options ...StoreOption) (*Store, error) {
	var o storeOptions
	for _, option := range options {
		option(&o)
	}
	address, err := text("url", url)
	if err != nil {
		return nil, err
	}
	timeout := C.pg_timeout_us()
	if o.timeout != nil {
		if timeout, err = given("Timeout", *o.timeout); err != nil {
			return nil, err
		}
	}
	var clock *C.pg_test_clock
	if o.clock != nil {
		clock = o.clock.handle
	}
	s := &Store{
		slots: make(chan struct{}, maxCalls), patience: durationOf(timeout) / 2, done: make(chan struct{}), idle: time.Minute,
		hubs: map[string]*hub{},
	}
	err = run(func(e *C.pg_error) C.pg_code {
		return C.pg_store_open_with_clock(optional(url, address), timeout, clock, &s.handle, e)
	})
	runtime.KeepAlive(o.clock)
	if err != nil {
		return nil, err
	}
	s.memory = C.pg_store_is_memory(s.handle) == 1
	runtime.AddCleanup(s, func(handle *C.pg_store) { C.pg_store_close(handle, nil) }, s.handle)
	return s, nil
}

// Close closes a store and its connections. Calls that wait give their tickets back and return
// [ErrClosed], as does every later call of its limiters; statistics are sent. No goroutine is left. A
// second call has no effect.
func (s *Store) Close() error {
	s.lock.Lock()
	if s.closed {
		s.lock.Unlock()
		return nil
	}
	s.closed = true
	close(s.done)
	hubs := s.hubs
	s.lock.Unlock()
	for _, hub := range hubs {
		hub.interrupt()
	}
	s.busy.Wait()
	return run(func(e *C.pg_error) C.pg_code { return C.pg_store_close(s.handle, e) })
}

// InMemory tells whether the limiters of the store count in this process alone.
func (s *Store) InMemory() bool { return s.memory }

// begin keeps the store open until end. It returns false when it is closed.
func (s *Store) begin() bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.closed {
		return false
	}
	s.busy.Add(1)
	return true
}

func (s *Store) isClosed() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

func (s *Store) end() { s.busy.Done() }

func errClosed() error { return &InvalidError{Argument: "store", Reason: "is closed"} }

// call makes one call of a limiter on an open store. It waits for a place no longer than the context lasts.
func (s *Store) call(ctx context.Context, call func(*C.pg_error) C.pg_code) error {
	if !s.begin() {
		return errClosed()
	}
	defer s.end()
	return s.callBusy(ctx, s.patience, call)
}

// acquire makes one call that decides at once, on an open store.
func (s *Store) acquire(
	ctx context.Context, patience time.Duration, limiter *C.pg_limiter, request *C.pg_request, decision *C.pg_decision,
) error {
	if !s.begin() {
		return errClosed()
	}
	defer s.end()
	if err := ctx.Err(); err != nil {
		return err
	}
	call := &combinedCall{limiter: limiter, request: request, decision: decision}
	if s.memory {
		return call.alone()
	}
	if s.combiner.acquire(call) {
		return call.err
	}
	return s.callBusy(ctx, patience, func(e *C.pg_error) C.pg_code {
		return C.pg_acquire(limiter, request, decision, e)
	})
}

// callBusy makes one call for a caller that keeps the store open. It waits for a place for so long.
func (s *Store) callBusy(ctx context.Context, patience time.Duration, call func(*C.pg_error) C.pg_code) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.memory {
		return run(call)
	}
	select {
	case s.slots <- struct{}{}:
	default:
		if err := s.waitForPlace(ctx, patience); err != nil {
			return err
		}
	}
	defer func() { <-s.slots }()
	return run(call)
}

func (s *Store) waitForPlace(ctx context.Context, patience time.Duration) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case s.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		message := fmt.Sprintf("no place among the calls to the server in time: at_once=%d", maxCalls)
		return &UnavailableError{message: message, cause: os.ErrDeadlineExceeded}
	}
}

// hubOf returns the hub of a node.
func (s *Store) hubOf(node string) *hub {
	s.lock.Lock()
	defer s.lock.Unlock()
	found := s.hubs[node]
	if found == nil {
		found = &hub{store: s, waiters: map[string][]*sleeper{}}
		s.hubs[node] = found
	}
	return found
}
