package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	// maxTogether is the most calls in one exchange with a server, which decides on some while
	// goroutines make others.
	maxTogether = 32
	// maxExchanges is how many exchanges go on at once before calls wait for the next one.
	maxExchanges = 2
	// patience is how long a call waits for the next exchange before it makes one alone, as when a
	// server is far away or does not answer.
	patience = 5 * time.Millisecond
)

// combiner makes the calls of goroutines that come at the same time in one exchange with the server:
// each call from C occupies a thread, and to change threads takes longer than a decision.
//
// A goroutine that finds few exchanges going on makes its own, with the calls of those that can run
// now. Those that come meanwhile wait, and the first of them makes the next exchange for all.
type combiner struct {
	lock    sync.Mutex
	running int
	waiting []*combinedCall
}

type combinedCall struct {
	limiter  *C.pg_limiter
	request  *C.pg_request
	decision *C.pg_decision
	err      error
	// Receives the calls to make, of which this is the first; nil when another has made it.
	turn chan []*combinedCall
}

// acquire makes a call with that of others, or returns false for one that must be made alone. The
// caller keeps what the call points to in its place.
func (c *combiner) acquire(call *combinedCall) bool {
	batch, ok := c.begin(call)
	if batch != nil {
		c.exchange(batch)
	}
	return ok
}

// begin returns the calls that the caller is to make, its own first; none when another has made it,
// and false when it waited in vain.
func (c *combiner) begin(call *combinedCall) ([]*combinedCall, bool) {
	c.lock.Lock()
	if c.running < maxExchanges {
		c.running++
		c.lock.Unlock()
		// A call from C may keep the only processor, so others take their places first.
		runtime.Gosched()
		c.lock.Lock()
		defer c.lock.Unlock()
		return append([]*combinedCall{call}, c.take(maxTogether-1)...), true
	}
	call.turn = make(chan []*combinedCall, 1)
	c.waiting = append(c.waiting, call)
	c.lock.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case batch := <-call.turn:
		return batch, true
	case <-timer.C:
		if c.leave(call) {
			return nil, false
		}
		return <-call.turn, true
	}
}

// leave takes a call back; false when it is being made.
func (c *combiner) leave(call *combinedCall) bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	at := slices.Index(c.waiting, call)
	if at < 0 {
		return false
	}
	c.waiting = slices.Delete(c.waiting, at, at+1)
	return true
}

// exchange makes the calls, and lets the first of those that came meanwhile make the next ones.
func (c *combiner) exchange(batch []*combinedCall) {
	makeEach(batch)
	for _, call := range batch[1:] {
		call.turn <- nil
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if next := c.take(maxTogether); len(next) > 0 {
		next[0].turn <- next
	} else {
		c.running--
	}
}

// take takes so many of the calls that wait, with the lock.
func (c *combiner) take(most int) []*combinedCall {
	count := min(len(c.waiting), most)
	taken := slices.Clone(c.waiting[:count])
	c.waiting = slices.Delete(c.waiting, 0, count)
	return taken
}

func makeEach(batch []*combinedCall) {
	if first := batch[0]; len(batch) == 1 {
		first.err = first.alone()
		return
	}
	calls := make([]C.pg_acquire_call, len(batch))
	for i, call := range batch {
		calls[i].limiter, calls[i].request = call.limiter, call.request
	}
	err := run(func(e *C.pg_error) C.pg_code { return C.pg_acquire_each(&calls[0], C.size_t(len(calls)), e) })
	for i, call := range batch {
		*call.decision = calls[i].decision
		if call.err = err; err == nil {
			call.err = errorOf(calls[i].error.code, &calls[i].error)
		}
	}
}

func (call *combinedCall) alone() error {
	return run(func(e *C.pg_error) C.pg_code { return C.pg_acquire(call.limiter, call.request, call.decision, e) })
}
