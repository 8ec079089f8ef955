package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"context"
	"runtime"
	"time"
)

// Statistics are the counters of a limiter over all processes, and its current leases and tickets.
type Statistics struct {
	// Granted counts granted calls, Refused refused calls and waits that timed out.
	Granted, Refused int64
	// Waited counts the grants that waited in the queue, WaitTime for how long.
	Waited   int64
	WaitTime time.Duration
	// Units counts charged units, after corrections; Corrections settled permits.
	Units, Corrections int64
	// HeldTime is for how long released leases were held.
	HeldTime time.Duration
	// Overages counts leases that their holder released after their end; Reclaimed those that had
	// ended without a release.
	Overages, Reclaimed int64
	// Lapsed counts tickets that were not claimed in time.
	Lapsed int64
	// Leases and Tickets are the current ones.
	Leases, Tickets int64
	// ShadowRefused counts calls that only the [Mode] "shadow" let pass.
	ShadowRefused int64
	// RefusedBy has the refused calls of each limit by its label.
	RefusedBy map[string]int64
	// Waits has the grants that waited by how long, in powers of two of a millisecond: below 1 ms, from
	// 1 ms to below 2 ms, and so on; the last from 2^20 ms on.
	Waits [22]int64
	// Degraded counts calls that processes decided without the store, by [OnUnavailable]; they count neither
	// as granted nor as refused. Errors counts calls that failed because the store was unavailable.
	Degraded, Errors int64
	// NearLimit counts granted calls after which at most a fifth of a limit was left.
	NearLimit int64
	// EstimatedUnits are the units that grants and extensions charged: Units before corrections.
	EstimatedUnits int64
	// Holds has the released leases by how long they were held, in counts as those of Waits.
	Holds [22]int64
}

// Immediate returns the grants that did not wait.
func (s *Statistics) Immediate() int64 { return s.Granted - s.Waited }

// Stats returns the statistics of all processes; of a keyed limiter those of all keys.
func (l *Limiter) Stats(ctx context.Context) (*Statistics, error) {
	native := new(C.pg_statistics)
	err := l.store.call(ctx, func(e *C.pg_error) C.pg_code { return C.pg_stats(l.handle, native, e) })
	runtime.KeepAlive(l)
	if err != nil {
		return nil, err
	}
	statistics := &Statistics{
		Granted: int64(native.granted), Refused: int64(native.refused), Waited: int64(native.waited),
		WaitTime: durationOf(native.wait_time_us), Units: int64(native.units), Corrections: int64(native.corrections),
		HeldTime: durationOf(native.held_time_us), Overages: int64(native.overages), Reclaimed: int64(native.reclaimed),
		Lapsed: int64(native.lapsed), Leases: int64(native.leases), Tickets: int64(native.tickets),
		ShadowRefused: int64(native.shadow_refused), RefusedBy: map[string]int64{},
		Degraded: int64(native.degraded), Errors: int64(native.errors),
		NearLimit: int64(native.near_limit), EstimatedUnits: int64(native.estimated_units),
	}
	for i := range statistics.Waits {
		statistics.Waits[i], statistics.Holds[i] = int64(native.waits[i]), int64(native.holds[i])
	}
	for i := range native.refused_by[:native.refused_by_count] {
		by := &native.refused_by[i]
		statistics.RefusedBy[C.GoString(&by.label[0])] = int64(by.refused)
	}
	return statistics, nil
}

// History is what a limiter has counted in each of the last 60 minutes and 48 hours of UTC, the oldest
// first; the last one is not over.
type History struct{ Minutes, Hours []HistoryEntry }

// HistoryEntry has the counts of one minute or hour.
type HistoryEntry struct {
	Start                           time.Time
	Granted, Refused, Waited, Units int64
}

// History returns what all processes have counted, for charts; of a keyed limiter for all keys.
func (l *Limiter) History(ctx context.Context) (*History, error) {
	native := new(C.pg_history)
	err := l.store.call(ctx, func(e *C.pg_error) C.pg_code { return C.pg_history_get(l.handle, native, e) })
	runtime.KeepAlive(l)
	if err != nil {
		return nil, err
	}
	return &History{Minutes: entriesOf(native.minutes[:]), Hours: entriesOf(native.hours[:])}, nil
}

func entriesOf(native []C.pg_history_entry) []HistoryEntry {
	entries := make([]HistoryEntry, len(native))
	for i, entry := range native {
		entries[i] = HistoryEntry{
			Start: time.UnixMicro(int64(entry.start_us)), Granted: int64(entry.granted), Refused: int64(entry.refused),
			Waited: int64(entry.waited), Units: int64(entry.units),
		}
	}
	return entries
}
