package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"context"
	"runtime"
	"time"
)

// MaxPage is the maximum number of leases and tickets of an [Inspection].
const MaxPage = 250

// Inspection is what a limiter contains.
type Inspection struct {
	// At is the time of the store.
	At time.Time
	// Limits has the limits of the policy, in its order.
	Limits []InspectedLimit
	// PausedFor is how long the pause lasts from now, BlockedFor the block; [Unknown] without one.
	PausedFor, BlockedFor time.Duration
	// Mode is the one that rules.
	Mode string
	// Leases has a page of the leases, the first to end first; LeaseCount is the number of all.
	Leases     []LeaseInfo
	LeaseCount int64
	// Tickets has a page of the tickets, in the order of the queue; TicketCount is the number of all.
	Tickets     []TicketInfo
	TicketCount int64
}

// InspectedLimit is one limit of an [Inspection], by itself.
type InspectedLimit struct {
	Label string
	Kind  Kind
	// Limit and Interval are the numbers that rule, and Source is whose they are: "policy", "override"
	// or "learned".
	Limit    int64
	Interval time.Duration
	Source   string
	// Taken are the units, starts or leases that count now, Remaining those that are left.
	Taken, Remaining int64
	// NextAfter is how long until this limit passes one more unit; [Unknown] when it is unknown.
	NextAfter  time.Duration
	ResetAfter time.Duration
}

// LeaseInfo is one lease of an [Inspection].
type LeaseInfo struct {
	ID string
	// HeldFor is how long it has been held; [Unknown] when the store no longer knows it.
	HeldFor, EndsIn time.Duration
	FencingToken    int64
}

// TicketInfo is one ticket of an [Inspection].
type TicketInfo struct {
	ID       string
	Priority int
	Share    string
	// Waited is how long ago it joined the queue.
	Waited time.Duration
	// Ready tells whether its call may retry now.
	Ready bool
}

// Inspect returns the limits with the numbers that rule, and a page of count leases and tickets from
// offset on. It takes nothing. count is from 0 to [MaxPage].
func (l *Limiter) Inspect(ctx context.Context, offset, count int) (*Inspection, error) {
	if offset < 0 {
		return nil, &InvalidError{Argument: "offset", Reason: "must not be negative"}
	}
	if count < 0 {
		return nil, &InvalidError{Argument: "count", Reason: "must not be negative"}
	}
	// The library refuses a higher count before it writes.
	room := min(max(count, 1), MaxPage)
	leases, tickets := make([]C.pg_lease_info, room), make([]C.pg_ticket_info, room)
	native := new(C.pg_inspection)
	err := l.store.call(ctx, func(e *C.pg_error) C.pg_code {
		return C.pg_inspect(l.handle, C.size_t(offset), C.size_t(count), native, &leases[0], &tickets[0], e)
	})
	runtime.KeepAlive(l)
	if err != nil {
		return nil, err
	}
	inspection := &Inspection{
		At: timeOf(native.at_us), PausedFor: durationOf(native.paused_for_us), BlockedFor: durationOf(native.blocked_for_us),
		Mode: C.GoString(&native.mode[0]), LeaseCount: int64(native.lease_count), TicketCount: int64(native.ticket_count),
		Limits: make([]InspectedLimit, native.limit_count), Leases: make([]LeaseInfo, native.leases_found),
		Tickets: make([]TicketInfo, native.tickets_found),
	}
	for i := range inspection.Limits {
		it := &native.limits[i]
		inspection.Limits[i] = InspectedLimit{
			Label: C.GoString(&it.label[0]), Kind: nameOf(kinds, int32(it.kind)), Limit: int64(it.limit),
			Interval: durationOf(it.interval_us), Source: C.GoString(&it.source[0]), Taken: int64(it.taken),
			Remaining: int64(it.remaining), NextAfter: durationOf(it.next_after_us), ResetAfter: durationOf(it.reset_after_us),
		}
	}
	for i := range inspection.Leases {
		it := &leases[i]
		inspection.Leases[i] = LeaseInfo{
			ID: C.GoString(&it.id[0]), HeldFor: durationOf(it.held_for_us), EndsIn: durationOf(it.ends_in_us),
			FencingToken: int64(it.fencing_token),
		}
	}
	for i := range inspection.Tickets {
		it := &tickets[i]
		inspection.Tickets[i] = TicketInfo{
			ID: C.GoString(&it.id[0]), Priority: int(it.priority), Share: C.GoString(&it.share[0]),
			Waited: durationOf(it.waited_us), Ready: it.ready == 1,
		}
	}
	return inspection, nil
}

// Queue returns a page of the tickets alone; see [Limiter.Inspect].
func (l *Limiter) Queue(ctx context.Context, offset, count int) ([]TicketInfo, error) {
	inspection, err := l.Inspect(ctx, offset, count)
	if err != nil {
		return nil, err
	}
	return inspection.Tickets, nil
}
