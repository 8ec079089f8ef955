package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"runtime"
	"strings"
	"time"
	"unsafe"
)

// Limiter creates a limiter of one to eight limits, which are decided together: all are charged or
// none. Limiters with the same name share their state, in all processes and languages. Create one
// once and keep it; it contacts no server.
func (s *Store) Limiter(name string, limits []Limit, options ...LimiterOption) (*Limiter, error) {
	var o limiterOptions
	for _, option := range options {
		option.applyLimiter(&o)
	}
	if !s.begin() {
		return nil, errClosed()
	}
	defer s.end()
	wait, err := o.wait()
	if err != nil {
		return nil, err
	}
	handle, err := o.newHandle(s, name, limits)
	if err != nil {
		return nil, err
	}
	return newLimiter(s, handle, name, wait, o.patience(s)), nil
}

// wait returns the maximum wait of a limiter.
func (o *limiterOptions) wait() (time.Duration, error) {
	if o.waitTimeout == nil {
		return durationOf(C.pg_wait_timeout_us()), nil
	}
	_, err := waitMicros(*o.waitTimeout)
	return *o.waitTimeout, err
}

// Window creates a limiter of at most limit units in any interval, exactly.
func (s *Store) Window(name string, limit int64, interval time.Duration, options ...LimiterOption) (*Limiter, error) {
	return s.Limiter(name, []Limit{Window(limit, interval)}, options...)
}

// Bucket creates a limiter of at most limit units in each interval, aligned to UTC.
func (s *Store) Bucket(name string, limit int64, interval time.Duration, options ...LimiterOption) (*Limiter, error) {
	return s.Limiter(name, []Limit{Bucket(limit, interval)}, options...)
}

// Leaky creates a limiter with a burst of capacity units, which drains fully in drain.
func (s *Store) Leaky(name string, capacity int64, drain time.Duration, options ...LimiterOption) (*Limiter, error) {
	return s.Limiter(name, []Limit{Leaky(capacity, drain)}, options...)
}

// Points creates a limiter with a budget of capacity points, full again after refill. Calls give an
// [Estimate] and correct it.
func (s *Store) Points(name string, capacity int64, refill time.Duration, options ...LimiterOption) (*Limiter, error) {
	return s.Limiter(name, []Limit{Points(capacity, refill)}, options...)
}

// Throttle creates a limiter that keeps starts at least the interval apart.
func (s *Store) Throttle(name string, interval time.Duration, options ...LimiterOption) (*Limiter, error) {
	return s.Limiter(name, []Limit{Throttle(interval)}, options...)
}

// Concurrent creates a limiter of at most limit leases at once, each at most [LockTimeout] long.
func (s *Store) Concurrent(name string, limit int64, options ...LimiterOption) (*Limiter, error) {
	return s.Limiter(name, []Limit{Concurrency(limit)}, options...)
}

// Quota creates a limiter of at most limit units in each period of the calendar in UTC: "day",
// "week", "month", "quarter" or "year". For other time zones see [Limit].
func (s *Store) Quota(name string, limit int64, per string, options ...LimiterOption) (*Limiter, error) {
	return s.Limiter(name, []Limit{Quota(limit, per)}, options...)
}

// Unlimited creates a limiter that grants every call.
func (s *Store) Unlimited(name string, options ...LimiterOption) (*Limiter, error) {
	return s.Limiter(name, []Limit{{Kind: KindUnlimited}}, options...)
}

// Paused creates a limiter that refuses every call.
func (s *Store) Paused(name string, options ...LimiterOption) (*Limiter, error) {
	return s.Limiter(name, []Limit{{Kind: KindPaused}}, options...)
}

// Together creates a limiter of one to four limiters of this store that decide together: all are
// charged or none, in one call. [Decision.Limiter] names the one that the numbers are of.
//
// Each keeps its own name, state, statistics and overrides, so the methods of one name are invalid
// here: statistics, reports, overrides, pauses and resets.
func (s *Store) Together(limiters []*Limiter, options ...WaitOption) (*Limiter, error) {
	var o limiterOptions
	for _, option := range options {
		option.applyLimiter(&o)
	}
	wait, err := o.wait()
	if err != nil {
		return nil, err
	}
	if !s.begin() {
		return nil, errClosed()
	}
	defer s.end()
	var pinner runtime.Pinner
	defer pinner.Unpin()
	handles := make([]*C.pg_limiter, max(len(limiters), 1))
	names := make([]string, len(limiters))
	patience := s.patience
	for i, limiter := range limiters {
		if limiter == nil {
			return nil, &InvalidError{Argument: "limiters", Reason: "must not be nil"}
		}
		handles[i], names[i] = limiter.handle, limiter.name
		patience = max(patience, limiter.patience)
	}
	var handle *C.pg_limiter
	err = run(func(e *C.pg_error) C.pg_code {
		array := (**C.pg_limiter)(unsafe.Pointer(&handles[0]))
		return C.pg_together(s.handle, array, C.size_t(len(limiters)), &handle, e)
	})
	runtime.KeepAlive(limiters)
	if err != nil {
		return nil, err
	}
	limiter := newLimiter(s, handle, strings.Join(names, " + "), wait, patience)
	limiter.names = names
	return limiter, nil
}
