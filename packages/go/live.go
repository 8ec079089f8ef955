package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"context"
	"runtime"
	"time"
)

// Pause refuses every call for a time, in all processes. Calls that wait continue to wait. A pause
// that ends later stays in force.
func (l *Limiter) Pause(ctx context.Context, duration time.Duration) (*RuntimeState, error) {
	return l.until(ctx, "duration", duration, func(micros C.int64_t, state *C.pg_runtime_state, e *C.pg_error) C.pg_code {
		return C.pg_pause(l.handle, micros, C.PG_NOT_GIVEN, state, e)
	})
}

// PauseUntil pauses until a time; see [Limiter.Pause].
func (l *Limiter) PauseUntil(ctx context.Context, until time.Time) (*RuntimeState, error) {
	return l.untilMoment(ctx, until, func(micros C.int64_t, state *C.pg_runtime_state, e *C.pg_error) C.pg_code {
		return C.pg_pause(l.handle, C.PG_NOT_GIVEN, micros, state, e)
	})
}

// Block refuses every call for a time, in all processes, with [ReasonBlocked]: a pause of a key that
// was abused.
func (l *Limiter) Block(ctx context.Context, duration time.Duration) (*RuntimeState, error) {
	return l.until(ctx, "duration", duration, func(micros C.int64_t, state *C.pg_runtime_state, e *C.pg_error) C.pg_code {
		return C.pg_block(l.handle, micros, C.PG_NOT_GIVEN, state, e)
	})
}

// BlockUntil blocks until a time; see [Limiter.Block].
func (l *Limiter) BlockUntil(ctx context.Context, until time.Time) (*RuntimeState, error) {
	return l.untilMoment(ctx, until, func(micros C.int64_t, state *C.pg_runtime_state, e *C.pg_error) C.pg_code {
		return C.pg_block(l.handle, C.PG_NOT_GIVEN, micros, state, e)
	})
}

// Resume ends the pause and the block in all processes, and wakes the calls that wait.
func (l *Limiter) Resume(ctx context.Context) (*RuntimeState, error) {
	return l.command(ctx, func(state *C.pg_runtime_state, e *C.pg_error) C.pg_code { return C.pg_resume(l.handle, state, e) })
}

// RuntimeState returns the pause, the block, the overrides and the learned limits in force.
func (l *Limiter) RuntimeState(ctx context.Context) (*RuntimeState, error) {
	return l.command(ctx, func(state *C.pg_runtime_state, e *C.pg_error) C.pg_code {
		return C.pg_runtime_state_get(l.handle, state, e)
	})
}

// Restore removes the overrides of a label; without a label all overrides, also that of the mode.
func (l *Limiter) Restore(ctx context.Context, label string) (*RuntimeState, error) {
	converted, err := text("label", label)
	if err != nil {
		return nil, err
	}
	return l.command(ctx, func(state *C.pg_runtime_state, e *C.pg_error) C.pg_code {
		return C.pg_restore(l.handle, optional(label, converted), state, e)
	})
}

// RestoreMode removes the override of the mode.
func (l *Limiter) RestoreMode(ctx context.Context) (*RuntimeState, error) {
	return l.command(ctx, func(state *C.pg_runtime_state, e *C.pg_error) C.pg_code {
		return C.pg_override_mode(l.handle, nil, C.PG_NOT_GIVEN, C.PG_NOT_GIVEN, state, e)
	})
}

// OverrideOption is what [Limiter.Override] changes, and for how long.
type OverrideOption func(*overrideOptions)

type overrideOptions struct {
	amount    *int64
	interval  *time.Duration
	label     string
	limits    []Limit
	mode      *string
	expiresIn *time.Duration
	expiresAt *time.Time
}

// SetLimit gives a limit another number.
func SetLimit(limit int64) OverrideOption { return func(o *overrideOptions) { o.amount = &limit } }

// SetInterval gives a limit another interval.
func SetInterval(interval time.Duration) OverrideOption {
	return func(o *overrideOptions) { o.interval = &interval }
}

// OfLabel says which limit to change, for a limiter with several.
func OfLabel(label string) OverrideOption { return func(o *overrideOptions) { o.label = label } }

// SetLimits overrides whole limits by their labels, also those that this limiter does not have.
func SetLimits(limits ...Limit) OverrideOption {
	return func(o *overrideOptions) { o.limits = append([]Limit{}, limits...) }
}

// SetMode overrides the [Mode] of every limiter of the name.
func SetMode(mode string) OverrideOption { return func(o *overrideOptions) { o.mode = &mode } }

// ExpiresIn is how long the overrides of the limiter last. Without it they last until they are removed.
func ExpiresIn(duration time.Duration) OverrideOption {
	return func(o *overrideOptions) { o.expiresIn = &duration }
}

// ExpiresAt is until when the overrides of the limiter last.
func ExpiresAt(moment time.Time) OverrideOption {
	return func(o *overrideOptions) { o.expiresAt = &moment }
}

// Override changes a limit, several limits, or the mode, in all processes and languages. No older
// policy undoes it; [Limiter.Restore] does.
func (l *Limiter) Override(ctx context.Context, changes ...OverrideOption) (*RuntimeState, error) {
	var o overrideOptions
	for _, change := range changes {
		change(&o)
	}
	expiresIn, expiresAt := C.int64_t(C.PG_NOT_GIVEN), C.int64_t(C.PG_NOT_GIVEN)
	var err error
	if o.expiresIn != nil {
		if expiresIn, err = microsOf("ExpiresIn", *o.expiresIn); err != nil {
			return nil, err
		}
	}
	if o.expiresAt != nil {
		if expiresAt, err = momentOf("ExpiresAt", *o.expiresAt); err != nil {
			return nil, err
		}
	}
	state, err := l.override(ctx, &o, expiresIn, expiresAt)
	return state, renamed(err, "limit", "SetLimit", "interval", "SetInterval", "label", "OfLabel", "limits", "SetLimits",
		"Mode", "SetMode")
}

func (l *Limiter) override(ctx context.Context, o *overrideOptions, expiresIn, expiresAt C.int64_t) (*RuntimeState, error) {
	ofOne := o.amount != nil || o.interval != nil || o.label != ""
	switch {
	case o.mode != nil && (ofOne || o.limits != nil):
		return nil, &InvalidError{Argument: "SetMode", Reason: "give the mode or limits, not both"}
	case o.limits != nil && ofOne:
		return nil, &InvalidError{Argument: "SetLimits", Reason: "give the numbers of one limit or limits, not both"}
	case o.mode != nil:
		mode, err := text("SetMode", *o.mode)
		if err != nil {
			return nil, err
		}
		return l.command(ctx, func(state *C.pg_runtime_state, e *C.pg_error) C.pg_code {
			return C.pg_override_mode(l.handle, mode, expiresIn, expiresAt, state, e)
		})
	case o.limits != nil:
		var pinner runtime.Pinner
		defer pinner.Unpin()
		array, count, err := nativeLimits(o.limits, &pinner)
		if err != nil {
			return nil, err
		}
		return l.command(ctx, func(state *C.pg_runtime_state, e *C.pg_error) C.pg_code {
			return C.pg_override_limits(l.handle, array, count, expiresIn, expiresAt, state, e)
		})
	}
	return l.overrideOne(ctx, o, expiresIn, expiresAt)
}

func (l *Limiter) overrideOne(ctx context.Context, o *overrideOptions, expiresIn, expiresAt C.int64_t) (*RuntimeState, error) {
	amount, interval := C.int64_t(C.PG_NOT_GIVEN), C.int64_t(C.PG_NOT_GIVEN)
	label, err := text("OfLabel", o.label)
	if err != nil {
		return nil, err
	}
	if o.amount != nil {
		if *o.amount < 0 {
			return nil, &InvalidError{Argument: "SetLimit", Reason: "must not be negative"}
		}
		amount = C.int64_t(*o.amount)
	}
	if o.interval != nil {
		if interval, err = microsOf("SetInterval", *o.interval); err != nil {
			return nil, err
		}
	}
	return l.command(ctx, func(state *C.pg_runtime_state, e *C.pg_error) C.pg_code {
		return C.pg_override(l.handle, optional(o.label, label), amount, interval, expiresIn, expiresAt, state, e)
	})
}

// timed is a call with a time.
type timed func(C.int64_t, *C.pg_runtime_state, *C.pg_error) C.pg_code

func (l *Limiter) until(ctx context.Context, argument string, duration time.Duration, call timed) (*RuntimeState, error) {
	micros, err := microsOf(argument, duration)
	if err != nil {
		return nil, err
	}
	return l.command(ctx, func(state *C.pg_runtime_state, e *C.pg_error) C.pg_code { return call(micros, state, e) })
}

func (l *Limiter) untilMoment(ctx context.Context, moment time.Time, call timed) (*RuntimeState, error) {
	micros, err := momentOf("until", moment)
	if err != nil {
		return nil, err
	}
	return l.command(ctx, func(state *C.pg_runtime_state, e *C.pg_error) C.pg_code { return call(micros, state, e) })
}

func (l *Limiter) command(ctx context.Context, call func(*C.pg_runtime_state, *C.pg_error) C.pg_code) (*RuntimeState, error) {
	state := new(C.pg_runtime_state)
	err := l.store.call(ctx, func(e *C.pg_error) C.pg_code { return call(state, e) })
	runtime.KeepAlive(l)
	if err != nil {
		return nil, err
	}
	return readRuntimeState(state), nil
}
