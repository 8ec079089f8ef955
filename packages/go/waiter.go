package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"errors"
	"runtime"
	"time"
)

var epoch = time.Now()

// monotonic returns microseconds of a clock that no one sets. 0 means "at once" to a waiter, so it
// begins later.
func monotonic() int64 { return 1 + time.Since(epoch).Microseconds() }

// waiter has the rules of one call that waits, which are those of the library: when it is due, with
// which ticket, and whether it must be cancelled. Times are microseconds of [monotonic].
type waiter struct{ native C.pg_waiter }

// wait is how one attempt waits; nil does not queue.
type wait struct {
	maxWaitUs, claimTimeoutUs int64
	channel                   string
	// The number of a ticket, or PG_POSITION_END or PG_POSITION_EXISTING.
	position int64
	keepUs   int64
	// 1 for a run of a job.
	isRun int64
}

// newWaiter begins a wait. ownsID: only this call has its id, so that every ticket and lease of it
// belongs to this call.
func newWaiter(ownsID bool, maxWaitUs, now int64) (*waiter, error) {
	w := new(waiter)
	// Only whether there is an id matters here.
	id, err := text("id", "given")
	if ownsID {
		id = nil
	}
	if err != nil {
		return nil, err
	}
	return w, run(func(e *C.pg_error) C.pg_code {
		return C.pg_waiter_init(&w.native, id, C.int64_t(maxWaitUs), C.int64_t(now), e)
	})
}

// newJobWaiter begins the wait of a job in its worker.
func newJobWaiter(claimTimeoutUs, patienceUs, now int64) (*waiter, error) {
	w := new(waiter)
	id, err := text("id", "given")
	if err != nil {
		return nil, err
	}
	return w, run(func(e *C.pg_error) C.pg_code {
		return C.pg_waiter_init_job(&w.native, id, C.int64_t(claimTimeoutUs), C.int64_t(patienceUs), C.int64_t(now), e)
	})
}

// next returns how the next attempt waits.
func (w *waiter) next(now int64, channel string) (*wait, error) {
	var native C.pg_wait
	// The library writes where the text is into the wait, which the collector does not expect.
	place := C.CString(channel)
	defer freeText(place)
	err := run(func(e *C.pg_error) C.pg_code {
		return C.pg_waiter_next(&w.native, C.int64_t(now), place, &native, e)
	})
	if native.channel == nil {
		channel = ""
	}
	next := &wait{
		maxWaitUs: int64(native.max_wait_us), claimTimeoutUs: int64(native.claim_timeout_us), channel: channel,
		position: int64(native.position), keepUs: int64(native.keep_us), isRun: int64(native.is_run),
	}
	return next, err
}

// onDecision tells whether the decision is final; otherwise the call waits.
func (w *waiter) onDecision(now int64, decision *nativeDecision) bool {
	return C.pg_waiter_on_decision(&w.native, C.int64_t(now), &decision.decision) == 1
}

func (w *waiter) onError(err error) {
	var e C.pg_error
	var unavailable *UnavailableError
	if errors.As(err, &unavailable) && unavailable.MayHaveCounted {
		e.may_have_counted = 1
	}
	C.pg_waiter_on_error(&w.native, &e)
}

func (w *waiter) onWakeup(at int64) { C.pg_waiter_on_wakeup(&w.native, C.int64_t(at)) }

// retryAt returns when the next attempt is due; 0 when the ticket does not name this channel.
func (w *waiter) retryAt(channel string) int64 {
	place, err := text("channel", channel)
	if err != nil {
		return 0
	}
	return int64(C.pg_waiter_retry_at(&w.native, place))
}

// mustCancel tells whether a call that ends now must be cancelled. delivered: the permit has reached
// its user.
func (w *waiter) mustCancel(delivered bool) bool {
	var flag C.int32_t
	if delivered {
		flag = 1
	}
	return C.pg_waiter_must_cancel(&w.native, flag) == 1
}

// native converts a wait; nil is NULL.
func (w *wait) native(pinner *runtime.Pinner) (*C.pg_wait, error) {
	if w == nil {
		return nil, nil
	}
	native := &C.pg_wait{
		max_wait_us: C.int64_t(w.maxWaitUs), claim_timeout_us: C.int64_t(w.claimTimeoutUs),
		position: C.int64_t(w.position), keep_us: C.int64_t(w.keepUs), is_run: C.int64_t(w.isRun),
	}
	if w.channel != "" {
		channel, err := text("channel", w.channel)
		if err != nil {
			return nil, err
		}
		pinner.Pin(channel)
		native.channel = channel
	}
	return native, nil
}

// reconnectPause returns the pause before a lost listener is opened again.
func reconnectPause(failures int) time.Duration {
	return durationOf(C.pg_reconnect_pause_us(C.int64_t(failures)))
}
