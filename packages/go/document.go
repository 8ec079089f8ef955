package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"runtime"
	"time"
	"unsafe"
)

// DocumentOptions are options of the caller beside a document. A format refuses those that it does not
// have.
type DocumentOptions struct {
	// LockTimeout is how long a lease lasts (Open Job Spec and Conductor); 0 for that of the document.
	LockTimeout time.Duration
	// Tenant is the tenant of the job (Open Job Spec).
	Tenant string
	// Group is the entity with its own limit (guild-queues).
	Group string
	// OnUnavailable is what the limiters do while their store cannot decide, as the option of that name;
	// empty for "raise".
	OnUnavailable string
	// LocalSharePercent is the share of this process with "local"; 0 for the default, 100.
	LocalSharePercent int64
}

// limiterOptions returns the options that are none of the document.
func (o DocumentOptions) limiterOptions() *limiterOptions {
	options := new(limiterOptions)
	if o.OnUnavailable != "" {
		options.onUnavailable = &o.OnUnavailable
	}
	if o.LocalSharePercent != 0 {
		options.localShare = &o.LocalSharePercent
	}
	return options
}

// Load creates the limiters that a document defines, by name. The document is JSON, in the native
// format or that of another system. An [InvalidError] has the JSON path of the fault.
func (s *Store) Load(document []byte, options DocumentOptions) (map[string]*Limiter, error) {
	texts, err := textsOf("Tenant", options.Tenant, "Group", options.Group)
	if err != nil {
		return nil, err
	}
	lock := C.int64_t(C.PG_NOT_GIVEN)
	if options.LockTimeout != 0 {
		if lock, err = microsOf("LockTimeout", options.LockTimeout); err != nil {
			return nil, err
		}
	}
	if !s.begin() {
		return nil, errClosed()
	}
	defer s.end()
	var handle *C.pg_document
	err = run(func(e *C.pg_error) C.pg_code {
		start := (*C.char)(unsafe.Pointer(unsafe.SliceData(document)))
		return C.pg_load_with(s.handle, start, C.size_t(len(document)), lock, optional(options.Tenant, texts[0]),
			optional(options.Group, texts[1]), &handle, e)
	})
	runtime.KeepAlive(document)
	if err != nil {
		return nil, err
	}
	defer C.pg_document_close(handle, nil)
	limiters := map[string]*Limiter{}
	loaded := new(C.pg_loaded_limiter)
	for {
		err := run(func(e *C.pg_error) C.pg_code { return C.pg_document_next(handle, loaded, e) })
		if err != nil || loaded.limiter == nil {
			return limiters, err
		}
		limiter, err := s.loadedLimiter(loaded, options)
		if err != nil {
			return nil, err
		}
		limiters[limiter.name] = limiter
	}
}
