package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"context"
	"runtime"
	"time"
)

// Correct replaces the estimate of a permit by the actual cost, once, from any process; see
// [Permit.Correct].
func (l *Limiter) Correct(ctx context.Context, permit string, actual Charge) (Settlement, error) {
	id, err := text("permit", permit)
	if err != nil {
		return "", err
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	number, units, count, err := nativeUnits("actual", actual, &pinner)
	if err != nil {
		return "", err
	}
	return l.settle(ctx, func(settlement *C.pg_settlement, e *C.pg_error) C.pg_code {
		return C.pg_correct(l.handle, id, number, units, count, settlement, e)
	})
}

// Extend reserves more units for the call of an open permit; see [Permit.Extend]. The permit of the
// decision has the sum; the older id stays valid.
func (l *Limiter) Extend(ctx context.Context, permit string, units Charge) (*Decision, Settlement, error) {
	id, err := text("permit", permit)
	if err != nil {
		return nil, "", err
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	number, rows, count, err := nativeUnits("units", units, &pinner)
	if err != nil {
		return nil, "", err
	}
	decision := new(nativeDecision)
	settlement, err := l.settle(ctx, func(settlement *C.pg_settlement, e *C.pg_error) C.pg_code {
		return C.pg_extend(l.handle, id, number, rows, count, settlement, &decision.decision, e)
	})
	if err != nil || settlement != "" {
		return nil, settlement, err
	}
	return l.read(decision), "", nil
}

// Release ends the lease of a permit, once, from any process; see [Permit.Release].
func (l *Limiter) Release(ctx context.Context, permit string) (Settlement, error) {
	id, err := text("permit", permit)
	if err != nil {
		return "", err
	}
	return l.settle(ctx, func(settlement *C.pg_settlement, e *C.pg_error) C.pg_code {
		return C.pg_release(l.handle, id, settlement, e)
	})
}

// Renew restarts the duration of the lease of a permit. It returns how long the lease lasts, or
// [Unknown] when it has ended.
func (l *Limiter) Renew(ctx context.Context, permit string) (time.Duration, error) {
	id, err := text("permit", permit)
	if err != nil {
		return 0, err
	}
	var lease C.int64_t
	err = l.store.call(ctx, func(e *C.pg_error) C.pg_code { return C.pg_renew(l.handle, id, &lease, e) })
	runtime.KeepAlive(l)
	return durationOf(lease), err
}

// settle gives something back, also when the context has ended.
func (l *Limiter) settle(ctx context.Context, call func(*C.pg_settlement, *C.pg_error) C.pg_code) (Settlement, error) {
	var settlement C.pg_settlement
	err := l.store.call(context.WithoutCancel(ctx), func(e *C.pg_error) C.pg_code { return call(&settlement, e) })
	runtime.KeepAlive(l)
	return nameOf(settlements, int32(settlement)), err
}
