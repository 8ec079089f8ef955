package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"context"
	"time"
)

// LimiterInfo is one limiter that some process used lately, in any language.
type LimiterInfo struct {
	Name string
	// Group is empty without one.
	Group string
	// Keyed tells whether it has a state for each key; all keys are one entry.
	Keyed bool
	// Limits has those of all policies of the name, as they were last used.
	Limits []Limit
	// LastUsed is the time of the last use, to the minute; the zero time in memory.
	LastUsed time.Time
	// TTL is how long after its last use the limiter is listed.
	TTL time.Duration
	// Mode is "enforce" or "shadow", as it was last used.
	Mode string
}

// Limiters returns the limiters whose names begin with the prefix, sorted by name.
func (s *Store) Limiters(ctx context.Context, prefix string) ([]LimiterInfo, error) {
	found, _, err := s.list(ctx, prefix, func(prefix *C.char, list **C.pg_list, e *C.pg_error) C.pg_code {
		return C.pg_list_open_prefix(s.handle, prefix, list, e)
	})
	return found, err
}

// LimiterPage returns about 100 to 300 of these limiters, or the rest, and the cursor of the next page,
// which is empty after the last one. The cursor of the first page is empty. Only the names of one page
// are sorted, and a name may be on two pages.
func (s *Store) LimiterPage(ctx context.Context, prefix, cursor string) ([]LimiterInfo, string, error) {
	place, err := text("cursor", cursor)
	if err != nil {
		return nil, "", err
	}
	return s.list(ctx, prefix, func(prefix *C.char, list **C.pg_list, e *C.pg_error) C.pg_code {
		return C.pg_list_open_page(s.handle, prefix, optional(cursor, place), list, e)
	})
}

func (s *Store) list(ctx context.Context, prefix string, open func(*C.char, **C.pg_list, *C.pg_error) C.pg_code) ([]LimiterInfo, string, error) {
	prefixText, err := text("prefix", prefix)
	if err != nil {
		return nil, "", err
	}
	var list *C.pg_list
	if err := s.call(ctx, func(e *C.pg_error) C.pg_code { return open(prefixText, &list, e) }); err != nil {
		return nil, "", err
	}
	defer C.pg_list_close(list, nil)
	var cursor [64]C.char
	err = run(func(e *C.pg_error) C.pg_code { return C.pg_list_cursor(list, &cursor[0], C.size_t(len(cursor)), e) })
	if err != nil {
		return nil, "", err
	}
	found := []LimiterInfo{}
	info := new(C.pg_limiter_info)
	for {
		err := run(func(e *C.pg_error) C.pg_code { return C.pg_list_next(list, info, e) })
		if err != nil || info.name[0] == 0 {
			return found, C.GoString(&cursor[0]), err
		}
		found = append(found, LimiterInfo{
			Name: C.GoString(&info.name[0]), Group: C.GoString(&info.group[0]), Keyed: info.keyed == 1,
			Limits: readLimits(info.limits[:], info.count), LastUsed: timeOf(info.last_used_us),
			TTL: durationOf(info.ttl_us), Mode: C.GoString(&info.mode[0]),
		})
	}
}
