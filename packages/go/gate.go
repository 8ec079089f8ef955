package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"context"
	"runtime"
	"time"
	"unsafe"
)

// Gate has the limits of an Invantive RateLimitControl in a store. All goroutines may use it.
type Gate struct {
	store  *Store
	handle *C.pg_invantive_gate
}

// RequestAttributes are the attributes of a request, for a [Gate]. One that is empty matches no
// criterion.
type RequestAttributes struct {
	Context, URL, LogOnCode, DataContainerID string
	// IP is the address of the client without a port.
	IP string
}

// GateDecision is the decision of a [Gate].
type GateDecision struct {
	Allowed bool
	// Level is "second", "minute" or "hour": the level that refused, or the one with the longest delay;
	// empty when no level is full.
	Level string
	// Reason is why the request was refused; empty when allowed.
	Reason Reason
	// Delay is the delay of the response, whether it succeeds or fails.
	Delay time.Duration
	// RetryAfter is the time until a refused request may pass; [Unknown] when no time is known.
	RetryAfter time.Duration
	// Slot is the name of the slot that applied; empty when nothing limits the request.
	Slot string
}

// InvantiveGate creates the limits of a RateLimitControl, which is JSON. It contacts no server.
func (s *Store) InvantiveGate(document []byte) (*Gate, error) {
	g := &Gate{store: s}
	err := s.call(context.Background(), func(e *C.pg_error) C.pg_code {
		start := (*C.char)(unsafe.Pointer(unsafe.SliceData(document)))
		return C.pg_invantive_gate_new(s.handle, start, C.size_t(len(document)), &g.handle, e)
	})
	if err != nil {
		return nil, err
	}
	runtime.AddCleanup(g, func(handle *C.pg_invantive_gate) { C.pg_invantive_gate_close(handle, nil) }, g.handle)
	return g, nil
}

// Admit counts a request in the slot of the first element that matches it. It never waits: the caller
// delays the response by the delay. A refused request is not counted.
func (g *Gate) Admit(ctx context.Context, attributes RequestAttributes) (*GateDecision, error) {
	var pinner runtime.Pinner
	defer pinner.Unpin()
	native := new(C.pg_request_attributes)
	for _, it := range []struct {
		argument, value string
		place           **C.char
	}{
		{"Context", attributes.Context, &native.context}, {"URL", attributes.URL, &native.url},
		{"LogOnCode", attributes.LogOnCode, &native.log_on_code},
		{"DataContainerID", attributes.DataContainerID, &native.data_container_id}, {"IP", attributes.IP, &native.ip},
	} {
		if it.value == "" {
			continue
		}
		converted, err := text(it.argument, it.value)
		if err != nil {
			return nil, err
		}
		pinner.Pin(converted)
		*it.place = converted
	}
	decision := new(C.pg_gate_decision)
	err := g.store.call(ctx, func(e *C.pg_error) C.pg_code {
		return C.pg_invantive_gate_admit(g.handle, native, decision, e)
	})
	runtime.KeepAlive(g)
	if err != nil {
		return nil, renamed(err, "ip", "IP")
	}
	level := ""
	if decision.level != C.PG_LEVEL_NONE {
		level = C.GoString(C.pg_level_name(C.int32_t(decision.level)))
	}
	return &GateDecision{
		Allowed: decision.allowed == 1, Level: level, Reason: nameOf(reasons, int32(decision.reason)),
		Delay: durationOf(decision.delay_us), RetryAfter: durationOf(decision.retry_after_us), Slot: C.GoString(&decision.slot[0]),
	}, nil
}

// WithinLimit admits a request, sleeps for its delay, and calls body. Over the limit it returns an
// [OverLimitError], after the delay too, with the slot as its limiter. It returns ctx.Err when the
// context ends during the delay.
func (g *Gate) WithinLimit(ctx context.Context, attributes RequestAttributes, body func(*GateDecision) error) error {
	decision, err := g.Admit(ctx, attributes)
	if err != nil {
		return err
	}
	if decision.Delay > 0 {
		timer := time.NewTimer(decision.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if !decision.Allowed {
		return &OverLimitError{Limiter: decision.Slot, Reason: decision.Reason, RetryAfter: decision.RetryAfter}
	}
	return body(decision)
}
