package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"context"
	"runtime"
)

// ConductorLimiter creates the limiter for a run of a Conductor workflow. definition is the definition
// of the workflow, and run the known attributes of the run, both JSON. Runs with the same key share a
// limiter; a run without a key has an unlimited one. A lease lasts for the LockTimeout of the options
// unless it is renewed, by default for 30 seconds. A Tenant and a Group are for other formats.
func (s *Store) ConductorLimiter(definition, run string, options DocumentOptions) (*Limiter, error) {
	for argument, value := range map[string]string{"Tenant": options.Tenant, "Group": options.Group} {
		if value != "" {
			return nil, &InvalidError{Argument: argument, Reason: "is for another format"}
		}
	}
	texts, err := textsOf("definition", definition, "run", run)
	if err != nil {
		return nil, err
	}
	lock := C.int64_t(C.PG_NOT_GIVEN)
	if options.LockTimeout != 0 {
		if lock, err = microsOf("LockTimeout", options.LockTimeout); err != nil {
			return nil, err
		}
	}
	loaded := new(C.pg_loaded_limiter)
	// It contacts no server, but needs an open store.
	err = s.call(context.Background(), func(e *C.pg_error) C.pg_code {
		return C.pg_conductor_limiter(s.handle, texts[0], texts[1], lock, loaded, e)
	})
	if err != nil {
		return nil, err
	}
	return s.loadedLimiter(loaded, options)
}

// loadedLimiter returns a limiter that the library has made of a document, with the other options.
func (s *Store) loadedLimiter(loaded *C.pg_loaded_limiter, options DocumentOptions) (*Limiter, error) {
	others := options.limiterOptions()
	handle, err := others.applied(loaded.limiter)
	if err != nil {
		return nil, err
	}
	wait := durationOf(loaded.wait_timeout_us)
	if wait == Unknown {
		wait = durationOf(C.pg_wait_timeout_us())
	}
	limiter := newLimiter(s, handle, C.GoString(&loaded.name[0]), wait, others.patience(s))
	limiter.onLimit = C.GoString(&loaded.on_limit[0])
	return limiter, nil
}

// ApplyOJSSignal pauses a limiter in all processes if the failure of an Open Job Spec job is a rate
// limit signal, and tells whether it is. document is the failure as JSON, or an object with the failure
// as its "error".
func (l *Limiter) ApplyOJSSignal(ctx context.Context, document string) (bool, error) {
	place, err := text("document", document)
	if err != nil {
		return false, err
	}
	var paused C.int32_t
	err = l.store.call(ctx, func(e *C.pg_error) C.pg_code { return C.pg_apply_ojs_signal(l.handle, place, &paused, e) })
	runtime.KeepAlive(l)
	return paused == 1, err
}

// ApplyOJSOverride applies an override document of Open Job Spec, in all processes. A member that is
// absent leaves its override unchanged, null removes an override.
func (l *Limiter) ApplyOJSOverride(ctx context.Context, document string) (*RuntimeState, error) {
	place, err := text("document", document)
	if err != nil {
		return nil, err
	}
	return l.command(ctx, func(state *C.pg_runtime_state, e *C.pg_error) C.pg_code {
		return C.pg_apply_ojs_override(l.handle, place, state, e)
	})
}
