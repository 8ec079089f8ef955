package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"runtime"
	"time"
)

// LimiterOption is an option of a limiter, which holds for all its calls.
type LimiterOption interface{ applyLimiter(*limiterOptions) }

type limiterOptions struct {
	waitTimeout, ttl, aging, lockTimeout *time.Duration
	group, mode, onUnavailable           *string
	localShare                           *int64
	blockAfter                           *blockAfter
	keyed, withoutStatistics             bool
}

type blockAfter struct {
	refusals         int64
	within, duration time.Duration
}

type limiterOption func(*limiterOptions)

func (o limiterOption) applyLimiter(to *limiterOptions) { o(to) }

// LockTimeout is how long a lease of a concurrency limit lasts unless it is renewed. The default is 30
// seconds.
func LockTimeout(duration time.Duration) LimiterOption {
	return limiterOption(func(o *limiterOptions) { o.lockTimeout = &duration })
}

// TTL is how long after its last use a limiter is listed and its statistics are kept.
func TTL(duration time.Duration) LimiterOption {
	return limiterOption(func(o *limiterOptions) { o.ttl = &duration })
}

// Group puts a limiter beside others in a cluster, so that [Store.Together] can join them. All
// processes give a name the same group.
func Group(name string) LimiterOption {
	return limiterOption(func(o *limiterOptions) { o.group = &name })
}

// Keyed gives a limiter a state for each [Key].
func Keyed() LimiterOption {
	return limiterOption(func(o *limiterOptions) { o.keyed = true })
}

// WithoutStatistics makes a limiter keep no statistics and have no entry in the list of limiters.
func WithoutStatistics() LimiterOption {
	return limiterOption(func(o *limiterOptions) { o.withoutStatistics = true })
}

// Mode is "enforce", the default, or "shadow", which decides and counts but refuses nobody.
func Mode(mode string) LimiterOption {
	return limiterOption(func(o *limiterOptions) { o.mode = &mode })
}

// BlockAfter makes a limiter block by itself: after so many refusals within a time, for a duration.
func BlockAfter(refusals int64, within, duration time.Duration) LimiterOption {
	return limiterOption(func(o *limiterOptions) { o.blockAfter = &blockAfter{refusals, within, duration} })
}

// Aging gives a call that waits the next higher priority after each such time.
func Aging(duration time.Duration) LimiterOption {
	return limiterOption(func(o *limiterOptions) { o.aging = &duration })
}

// OnUnavailable is what a limiter does while its store cannot decide: "raise", the default, which
// returns an [UnavailableError]; "fail_closed"; "fail_open"; or "local".
func OnUnavailable(mode string) LimiterOption {
	return limiterOption(func(o *limiterOptions) { o.onUnavailable = &mode })
}

// LocalSharePercent is the share of every limit that this process has with [OnUnavailable] "local".
func LocalSharePercent(percent int64) LimiterOption {
	return limiterOption(func(o *limiterOptions) { o.localShare = &percent })
}

// patience returns how long a call that decides waits for a place.
func (o *limiterOptions) patience(store *Store) time.Duration {
	if o.onUnavailable == nil || *o.onUnavailable == "raise" {
		return store.patience
	}
	return Forever
}

// withLockTimeout sets how long the leases of a limit of concurrency last.
func (o *limiterOptions) withLockTimeout(limits []Limit) ([]Limit, error) {
	if o.lockTimeout == nil {
		return limits, nil
	}
	changed := make([]Limit, len(limits))
	found := false
	for i, limit := range limits {
		if limit.Kind == KindConcurrency {
			limit.Interval, found = *o.lockTimeout, true
		}
		changed[i] = limit
	}
	if !found {
		return nil, &InvalidError{Argument: "LockTimeout", Reason: "is for a limit of concurrency"}
	}
	return changed, nil
}

// newHandle creates a limiter.
func (o *limiterOptions) newHandle(store *Store, name string, limits []Limit) (*C.pg_limiter, error) {
	limits, err := o.withLockTimeout(limits)
	if err != nil {
		return nil, err
	}
	nameText, err := text("name", name)
	if err != nil {
		return nil, err
	}
	ttl := C.pg_ttl_us()
	if o.ttl != nil {
		if ttl, err = microsOf("TTL", *o.ttl); err != nil {
			return nil, err
		}
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	array, count, err := nativeLimits(limits, &pinner)
	if err != nil {
		return nil, err
	}
	var handle *C.pg_limiter
	err = run(func(e *C.pg_error) C.pg_code {
		return C.pg_limiter_new_with_ttl(store.handle, nameText, array, count, ttl, &handle, e)
	})
	if err != nil {
		return nil, err
	}
	return o.applied(handle)
}

// applied returns the limiter with the options, and closes the one before each.
func (o *limiterOptions) applied(handle *C.pg_limiter) (*C.pg_limiter, error) {
	var err error
	change := func(call func(**C.pg_limiter, *C.pg_error) C.pg_code) {
		if err != nil {
			return
		}
		var changed *C.pg_limiter
		err = run(func(e *C.pg_error) C.pg_code { return call(&changed, e) })
		C.pg_limiter_close(handle, nil)
		handle = changed
	}
	named := func(argument string, value *string, call func(*C.char, **C.pg_limiter, *C.pg_error) C.pg_code) {
		if value == nil || err != nil {
			return
		}
		converted, wrong := text(argument, *value)
		if wrong != nil {
			C.pg_limiter_close(handle, nil)
			err = wrong
			return
		}
		change(func(to **C.pg_limiter, e *C.pg_error) C.pg_code { return call(converted, to, e) })
	}
	named("Group", o.group, func(group *C.char, to **C.pg_limiter, e *C.pg_error) C.pg_code {
		return C.pg_limiter_with_group(handle, group, to, e)
	})
	if o.keyed {
		change(func(to **C.pg_limiter, e *C.pg_error) C.pg_code { return C.pg_limiter_keyed(handle, to, e) })
	}
	if o.withoutStatistics {
		change(func(to **C.pg_limiter, e *C.pg_error) C.pg_code {
			return C.pg_limiter_without_statistics(handle, to, e)
		})
	}
	named("Mode", o.mode, func(mode *C.char, to **C.pg_limiter, e *C.pg_error) C.pg_code {
		return C.pg_limiter_with_mode(handle, mode, to, e)
	})
	if rule := o.blockAfter; rule != nil {
		change(func(to **C.pg_limiter, e *C.pg_error) C.pg_code {
			return C.pg_limiter_with_block_after(handle, C.int64_t(rule.refusals), C.int64_t(rule.within/time.Microsecond),
				C.int64_t(rule.duration/time.Microsecond), to, e)
		})
	}
	if o.aging != nil {
		change(func(to **C.pg_limiter, e *C.pg_error) C.pg_code {
			return C.pg_limiter_with_aging(handle, C.int64_t(*o.aging/time.Microsecond), to, e)
		})
	}
	if o.localShare != nil && o.onUnavailable == nil {
		raise := "raise"
		o.onUnavailable = &raise
	}
	named("OnUnavailable", o.onUnavailable, func(mode *C.char, to **C.pg_limiter, e *C.pg_error) C.pg_code {
		share := C.int64_t(C.PG_NOT_GIVEN)
		if o.localShare != nil {
			// Below 0 would be the default.
			share = C.int64_t(max(*o.localShare, 0))
		}
		return C.pg_limiter_with_on_unavailable(handle, mode, share, to, e)
	})
	return handle, err
}
