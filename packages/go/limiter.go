package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"context"
	"runtime"
	"time"
)

// Limiter is a limiter of a [Store]. All goroutines may use it.
type Limiter struct {
	store  *Store
	handle *C.pg_limiter
	name   string
	key    string
	wait   time.Duration
	// Whether grants are leases.
	leases bool
	// How long a call that decides waits for a place. A limiter that decides itself while the store cannot
	// waits as long as it takes: the library does not ask a server then that has not answered.
	patience time.Duration
	// The action for jobs over the limit; empty for the default.
	onLimit string
	// Those of the limiters that decide together.
	names []string
}

func newLimiter(store *Store, handle *C.pg_limiter, name string, wait, patience time.Duration) *Limiter {
	l := &Limiter{store: store, handle: handle, name: name, wait: wait, patience: patience}
	l.leases = C.pg_check_allow(handle, nil) != C.PG_OK
	runtime.AddCleanup(l, func(handle *C.pg_limiter) { C.pg_limiter_close(handle, nil) }, handle)
	return l
}

// Name returns the name.
func (l *Limiter) Name() string { return l.name }

// Key returns the key of the limiter of one key, otherwise an empty text.
func (l *Limiter) Key() string { return l.key }

// IsKeyed tells whether the limiter has a state for each key.
func (l *Limiter) IsKeyed() bool {
	defer runtime.KeepAlive(l)
	return C.pg_limiter_is_keyed(l.handle) == 1
}

// String returns the name for messages.
func (l *Limiter) String() string {
	if l.key != "" {
		return "limiter=" + l.name + " key=" + l.key
	}
	return "limiter=" + l.name
}

// WithKey returns the limiter of one key of a limiter that is [Keyed].
func (l *Limiter) WithKey(key string) (*Limiter, error) {
	if !l.store.begin() {
		return nil, errClosed()
	}
	defer l.store.end()
	converted, err := text("key", key)
	if err != nil {
		return nil, err
	}
	var handle *C.pg_limiter
	err = run(func(e *C.pg_error) C.pg_code { return C.pg_limiter_with_key(l.handle, converted, &handle, e) })
	runtime.KeepAlive(l)
	if err != nil {
		return nil, err
	}
	one := newLimiter(l.store, handle, l.name, l.wait, l.patience)
	one.key, one.onLimit = key, l.onLimit
	return one, nil
}

// of returns the limiter that a call is of, and a function that ends the use of it.
func (l *Limiter) of(o *callOptions) (*Limiter, func(), error) {
	if o.key == nil {
		return l, func() { runtime.KeepAlive(l) }, nil
	}
	one, err := l.WithKey(*o.key)
	if err != nil {
		return nil, nil, err
	}
	// The collector does not know how many handles there may be. It closes this one once more, which
	// has no effect.
	return one, func() { C.pg_limiter_close(one.handle, nil) }, nil
}

// Allow takes the cost and returns true if every limit allows it, otherwise nothing. It is invalid for
// a limiter with concurrency, whose lease could not be released.
func (l *Limiter) Allow(ctx context.Context, options ...CallOption) (bool, error) {
	if err := callOptionsOf(options).only("Allow", "Key"); err != nil {
		return false, err
	}
	if l.leases {
		err := run(func(e *C.pg_error) C.pg_code { return C.pg_check_allow(l.handle, e) })
		runtime.KeepAlive(l)
		return false, err
	}
	decision, err := l.TryAcquire(ctx, options...)
	return err == nil && decision.Allowed(), err
}

// TryAcquire takes the cost if every limit allows it and no call waits before it, otherwise nothing.
// It never waits for a limit, and a refusal is no error. A decision of a limiter with concurrency is a
// lease: end it with [Limiter.Release].
func (l *Limiter) TryAcquire(ctx context.Context, options ...CallOption) (*Decision, error) {
	o := callOptionsOf(options)
	if err := o.only("TryAcquire", "Key", "ID", "EachLimit"); err != nil {
		return nil, err
	}
	if o.id == nil && !l.leases {
		return l.decide(o, func(of *C.pg_limiter, request *C.pg_request, decision *C.pg_decision) error {
			return l.store.acquire(ctx, l.patience, of, request, decision)
		})
	}
	// A lease without an answer can only be ended by an id.
	id, owned := "", o.id == nil
	if owned {
		id = newID()
	} else {
		id = *o.id
	}
	one, end, err := l.of(o)
	if err != nil {
		return nil, err
	}
	decision, err := one.enter(ctx, id, o, nil)
	if err == nil {
		end()
		return one.read(decision), nil
	}
	err = renamed(err, "id", "ID")
	if unavailable, ok := err.(*UnavailableError); ok && owned && unavailable.MayHaveCounted && l.store.begin() {
		go func() {
			defer l.store.end()
			defer end()
			_, _ = one.cancel(id, false)
		}()
		return nil, err
	}
	end()
	return nil, err
}

// Peek returns the decision that [Limiter.TryAcquire] would make, and changes nothing.
func (l *Limiter) Peek(ctx context.Context, options ...CallOption) (*Decision, error) {
	o := callOptionsOf(options)
	if err := o.only("Peek", "Key", "EachLimit"); err != nil {
		return nil, err
	}
	return l.decide(o, func(of *C.pg_limiter, request *C.pg_request, decision *C.pg_decision) error {
		return l.store.call(ctx, func(e *C.pg_error) C.pg_code { return C.pg_peek(of, request, decision, e) })
	})
}

// Debit charges a cost in any case, up to one whole limit of debt, and returns what is left. It is for
// costs that are known only afterwards. A repeated call charges again.
func (l *Limiter) Debit(ctx context.Context, charge Charge) (*Decision, error) {
	var pinner runtime.Pinner
	defer pinner.Unpin()
	number, units, count, err := nativeUnits("charge", charge, &pinner)
	if err != nil {
		return nil, err
	}
	decision := new(nativeDecision)
	err = l.store.call(ctx, func(e *C.pg_error) C.pg_code {
		return C.pg_debit(l.handle, number, units, count, &decision.decision, e)
	})
	runtime.KeepAlive(l)
	if err != nil {
		return nil, renamed(err, "Cost", "charge")
	}
	return l.read(decision), nil
}

// Refund gives units back without a permit, for those who count first and give back later: the
// opposite of [Limiter.Debit]. It gives back at most what is taken of each limit now, of a window the
// newest units, and returns what is left. A repeated call gives back again.
func (l *Limiter) Refund(ctx context.Context, units Charge) (*Decision, error) {
	var pinner runtime.Pinner
	defer pinner.Unpin()
	number, rows, count, err := nativeUnits("units", units, &pinner)
	if err != nil {
		return nil, err
	}
	decision := new(nativeDecision)
	err = l.store.call(ctx, func(e *C.pg_error) C.pg_code {
		return C.pg_refund(l.handle, number, rows, count, &decision.decision, e)
	})
	runtime.KeepAlive(l)
	if err != nil {
		return nil, err
	}
	return l.read(decision), nil
}

// Reset deletes the state: charged units, permits, leases, tickets, statistics, overrides, learned
// limits and a pause; of a key only its own.
func (l *Limiter) Reset(ctx context.Context) error {
	defer runtime.KeepAlive(l)
	return l.store.call(ctx, func(e *C.pg_error) C.pg_code { return C.pg_reset(l.handle, e) })
}

type deciding func(*C.pg_limiter, *C.pg_request, *C.pg_decision) error

// decide makes a call whose answer is a decision.
func (l *Limiter) decide(o *callOptions, call deciding) (*Decision, error) {
	one, end, err := l.of(o)
	if err != nil {
		return nil, err
	}
	defer end()
	var pinner runtime.Pinner
	defer pinner.Unpin()
	decision := new(nativeDecision)
	request, err := o.request(decision.each(o), &pinner)
	if err != nil {
		return nil, err
	}
	if err := call(one.handle, request, &decision.decision); err != nil {
		return nil, err
	}
	return one.read(decision), nil
}

// enter makes a call with an id. Without a wait it does not queue.
func (l *Limiter) enter(ctx context.Context, id string, o *callOptions, wait *wait) (*nativeDecision, error) {
	if !l.store.begin() {
		return nil, errClosed()
	}
	defer l.store.end()
	return l.enterBusy(ctx, id, o, wait)
}

// enterBusy does so for a caller that keeps the store open.
func (l *Limiter) enterBusy(ctx context.Context, id string, o *callOptions, wait *wait) (*nativeDecision, error) {
	idText, err := text("id", id)
	if err != nil {
		return nil, err
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	decision := new(nativeDecision)
	request, err := o.request(decision.each(o), &pinner)
	if err != nil {
		return nil, err
	}
	place, err := wait.native(&pinner)
	if err != nil {
		return nil, err
	}
	err = l.store.callBusy(ctx, l.patience, func(e *C.pg_error) C.pg_code {
		return C.pg_acquire_with_id(l.handle, request, idText, place, &decision.decision, e)
	})
	runtime.KeepAlive(l)
	if err != nil {
		return nil, err
	}
	return decision, nil
}

// cancel removes a ticket, for a caller that keeps the store open.
func (l *Limiter) cancel(id string, gaveUp bool) (Settlement, error) {
	idText, err := text("id", id)
	if err != nil {
		return "", err
	}
	var settlement C.pg_settlement
	var flag C.int32_t
	if gaveUp {
		flag = 1
	}
	err = l.store.callBusy(context.Background(), l.store.patience, func(e *C.pg_error) C.pg_code {
		return C.pg_cancel(l.handle, idText, flag, &settlement, e)
	})
	runtime.KeepAlive(l)
	return nameOf(settlements, int32(settlement)), err
}
