package paddlegate

// #include "paddlegate.h"
import "C"

import "time"

// Decision is the result of one call, with the numbers of the most restrictive limit: of a grant the
// one with the fewest remaining units, of a refusal the one with the longest wait. [Unknown] stands
// for a number or a time that does not exist.
type Decision struct {
	Status Status
	// Reason is why the call was refused or queued; empty for a grant.
	Reason Reason
	// WouldRefuse is, for a grant that only the [Mode] "shadow" made, why the call would have been
	// refused; otherwise empty.
	WouldRefuse Reason
	// Label is the label of the described limit; empty for a pause at run time, and without limits.
	Label string
	// Limiter is, of limiters that decide together, the name of the one that the numbers are of.
	Limiter string
	// Limit is the size of the described limit, Remaining what is left of it right after.
	Limit, Remaining int64
	// RetryAfter is how long to wait before the next attempt. An earlier one is refused, and one at
	// this time granted, if nothing else changes.
	RetryAfter time.Duration
	// ResetAfter is the time until all units of the limit are available again, without further calls.
	ResetAfter time.Duration
	// At is the time of the store; the zero time when no store decided.
	At time.Time
	// Permit is the id with which any process can correct or release the grant; empty unless the call
	// has an estimate or the limiter has a concurrency limit.
	Permit string
	// Lease is how long the lease lasts, and FencingToken a number that rises with every lease, so that
	// a resource can reject late holders.
	Lease        time.Duration
	FencingToken int64
	// Ticket is the number of the ticket, and Position the number of tickets ahead of it.
	Ticket, Position int64
	// ReadyAfter is the time until a queued call can be granted, if all tickets ahead are.
	ReadyAfter time.Duration
	// Degraded tells that the limiter has decided without its store, see [OnUnavailable].
	Degraded bool
	// IsLowered tells that the estimate was above the capacity of a limit and was lowered to it.
	IsLowered bool
	// Limits has each limit, in the order of the policy, for a call with [EachLimit].
	Limits []DecisionLimit
}

// DecisionLimit is one limit after a [Decision], by itself: a pause, and the calls ahead in the queue,
// do not count.
type DecisionLimit struct {
	// Limiter is, of limiters that decide together, the name of the one that has the limit.
	Limiter          string
	Label            string
	Kind             Kind
	Limit, Remaining int64
	// Interval is the interval, the time to drain or refill fully, how long a lease lasts, or the longest
	// period of a quota.
	Interval time.Duration
	// RetryAfter is how long this limit holds the call up; 0 when it does not.
	RetryAfter time.Duration
	ResetAfter time.Duration
}

// Allowed tells whether the call was granted.
func (d *Decision) Allowed() bool { return d.Status == StatusGranted }

// nativeDecision is where a call writes its decision, and each limit if it is asked for.
type nativeDecision struct {
	decision C.pg_decision
	limits   *C.pg_decision_limits
}

// each returns the place for each limit; NULL when it is not asked for.
func (d *nativeDecision) each(o *callOptions) *C.pg_decision_limits {
	if o.eachLimit {
		d.limits = new(C.pg_decision_limits)
	}
	return d.limits
}

// read converts a decision of this limiter.
func (l *Limiter) read(native *nativeDecision) *Decision {
	d := &native.decision
	decision := &Decision{
		Status: statuses[d.status], Reason: nameOf(reasons, int32(d.reason)), WouldRefuse: nameOf(reasons, int32(d.would_refuse)),
		Label: C.GoString(&d.label[0]), Limiter: l.nameAt(d.limiter), Limit: int64(d.limit), Remaining: int64(d.remaining),
		RetryAfter: durationOf(d.retry_after_us), ResetAfter: durationOf(d.reset_after_us), At: timeOf(d.at_us),
		Permit: C.GoString(&d.permit[0]), Lease: durationOf(d.lease_us), FencingToken: int64(d.fencing_token),
		Ticket: int64(d.ticket), Position: int64(d.position), ReadyAfter: durationOf(d.ready_after_us), Degraded: d.degraded == 1,
		IsLowered: d.is_lowered == 1,
	}
	if native.limits != nil {
		decision.Limits = make([]DecisionLimit, native.limits.count)
		for i := range decision.Limits {
			each := &native.limits.each[i]
			decision.Limits[i] = DecisionLimit{
				Limiter: l.nameAt(each.limiter), Label: C.GoString(&each.label[0]), Kind: nameOf(kinds, int32(each.kind)), Limit: int64(each.limit),
				Interval: durationOf(each.interval_us), Remaining: int64(each.remaining), RetryAfter: durationOf(each.retry_after_us),
				ResetAfter: durationOf(each.reset_after_us),
			}
		}
	}
	return decision
}

func (l *Limiter) nameAt(index C.int32_t) string {
	if index < 0 || int(index) >= len(l.names) {
		return ""
	}
	return l.names[index]
}

// overLimit returns the error of a refusal.
func (l *Limiter) overLimit(decision *Decision) *OverLimitError {
	name := decision.Limiter
	if name == "" {
		name = l.name
	}
	return &OverLimitError{Limiter: name, Reason: decision.Reason, RetryAfter: decision.RetryAfter, Decision: decision}
}
