package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"context"
	"runtime"
	"time"
	"unsafe"
)

// MaxReady is the maximum number of ids that [Limiter.Ready] returns.
const MaxReady = 100

// Admission is what to do with a job.
type Admission struct {
	Action Action
	// After is the time until the job may run or the call should be repeated; [Unknown] when no time is
	// known, and for a job that runs or is dropped.
	After time.Duration
	// Decision has the queue position of a job that waits.
	Decision *Decision
	// Permit is that of a job that runs, otherwise nil.
	Permit *Permit
}

// Admit decides on a job under its id, which has 1 to 64 bytes. It never waits.
//
// With a concurrency limit a repeated call for a running job takes nothing; a job that waits keeps its
// queue position, until others pass it by that has not called for [ClaimTimeout] after its turn. A job
// that runs again after a failure must use another id. [OnLimit] is the action for a job over the
// limit.
func (l *Limiter) Admit(ctx context.Context, id string, options ...CallOption) (*Admission, error) {
	o := callOptionsOf(options)
	if err := o.only("Admit", "Key", "EachLimit", "Priority", "Share", "OnLimit", "ClaimTimeout"); err != nil {
		return nil, err
	}
	one := l
	if o.key != nil {
		var err error
		if one, err = l.WithKey(*o.key); err != nil {
			return nil, err
		}
	}
	texts, err := textsOf("id", id, "OnLimit", one.actionOf(o))
	if err != nil {
		return nil, err
	}
	claim := C.int64_t(C.PG_NOT_GIVEN)
	if o.claimTimeout != nil {
		if claim, err = microsOf("ClaimTimeout", *o.claimTimeout); err != nil {
			return nil, err
		}
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	native := new(nativeDecision)
	request, err := o.request(native.each(o), &pinner)
	if err != nil {
		return nil, err
	}
	admission := new(C.pg_admission)
	sentAt := time.Now()
	err = one.store.call(ctx, func(e *C.pg_error) C.pg_code {
		return C.pg_admit_within(one.handle, texts[0], texts[1], claim, request, admission, e)
	})
	runtime.KeepAlive(one)
	if err != nil {
		return nil, err
	}
	return one.admissionOf(admission, native, sentAt, o.estimate != nil), nil
}

// AdmitAll decides on several jobs of one unit each, all or none: when one cannot run, none does, no
// job takes a ticket, and every admission has the decision that refused. With [Partial] each job is
// decided by itself, as by [Limiter.Admit].
func (l *Limiter) AdmitAll(ctx context.Context, ids []string, options ...CallOption) ([]*Admission, error) {
	o := callOptionsOf(options)
	if err := o.onlyThese("AdmitAll", "Key", "OnLimit", "Partial"); err != nil {
		return nil, err
	}
	one := l
	if o.key != nil {
		var err error
		// The permits have the limiter of their key.
		if one, err = l.WithKey(*o.key); err != nil {
			return nil, err
		}
	}
	onLimit, err := text("OnLimit", one.actionOf(o))
	if err != nil {
		return nil, err
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	words := make([]*C.char, max(len(ids), 1))
	for i, id := range ids {
		if words[i], err = text("ids", id); err != nil {
			return nil, err
		}
		pinner.Pin(words[i])
	}
	native := make([]C.pg_admission, max(len(ids), 1))
	var partial C.int32_t
	if o.partial {
		partial = 1
	}
	sentAt := time.Now()
	err = one.store.call(ctx, func(e *C.pg_error) C.pg_code {
		first, into := (**C.char)(unsafe.Pointer(&words[0])), (*C.pg_admission)(unsafe.Pointer(&native[0]))
		return C.pg_admit_all(one.handle, first, C.size_t(len(ids)), onLimit, partial, into, e)
	})
	runtime.KeepAlive(one)
	if err != nil {
		return nil, err
	}
	admissions := make([]*Admission, len(ids))
	for i := range admissions {
		// A job that is decided by itself has a cost, as in Admit.
		admissions[i] = one.admissionOf(&native[i], new(nativeDecision), sentAt, !o.partial)
	}
	return admissions, nil
}

func (l *Limiter) actionOf(o *callOptions) string {
	switch {
	case o.onLimit != nil:
		return *o.onLimit
	case l.onLimit != "":
		return l.onLimit
	default:
		return "wait"
	}
}

func (l *Limiter) admissionOf(
	admission *C.pg_admission, native *nativeDecision, sentAt time.Time, estimated bool,
) *Admission {
	native.decision = admission.decision
	decision := l.read(native)
	result := &Admission{Action: actions[admission.action], After: durationOf(admission.after_us), Decision: decision}
	if decision.Allowed() {
		result.Permit = newPermit(l, decision, sentAt, estimated)
	}
	return result
}

// Enqueue takes the cost, or otherwise a ticket in the queue under the id. The status is
// [StatusGranted] or [StatusQueued]; a queued decision has [Decision.RetryAfter], the time until
// [Limiter.Claim]. A ticket that is not claimed within [ClaimTimeout] after that time loses its
// position. With a [WaitTimeout] a wait that is known to be longer is refused.
func (l *Limiter) Enqueue(ctx context.Context, id string, options ...CallOption) (*Decision, error) {
	return l.ticket(ctx, "Enqueue", id, C.PG_POSITION_END, options)
}

// Claim repeats the call of a ticket, ahead of new calls. The status is [StatusGranted] or
// [StatusQueued], or [StatusNoTicket]: cancelled, lapsed or claimed before.
func (l *Limiter) Claim(ctx context.Context, id string, options ...CallOption) (*Decision, error) {
	return l.ticket(ctx, "Claim", id, C.PG_POSITION_EXISTING, options)
}

func (l *Limiter) ticket(ctx context.Context, verb, id string, position int64, options []CallOption) (*Decision, error) {
	o := callOptionsOf(options)
	if err := o.only(verb, "Key", "EachLimit", "Priority", "Share", "ClaimTimeout", "WaitTimeout"); err != nil {
		return nil, err
	}
	place := &wait{maxWaitUs: C.PG_FOREVER, claimTimeoutUs: int64(C.pg_job_claim_timeout_us()), position: position}
	if o.claimTimeout != nil {
		claim, err := microsOf("ClaimTimeout", *o.claimTimeout)
		if err != nil {
			return nil, err
		}
		if claim == 0 {
			// In C, 0 stands for the default of calls that wait.
			return nil, &InvalidError{Argument: "ClaimTimeout", Reason: "must be more than 0"}
		}
		place.claimTimeoutUs = int64(claim)
	}
	if o.waitTimeout != nil {
		longest, err := waitMicros(*o.waitTimeout)
		if err != nil {
			return nil, err
		}
		place.maxWaitUs = int64(longest)
	}
	one, end, err := l.of(o)
	if err != nil {
		return nil, err
	}
	defer end()
	native, err := one.enter(ctx, id, o, place)
	if err != nil {
		return nil, err
	}
	return one.read(native), nil
}

// Cancel removes the ticket from the queue, and ends the lease that it may have become: [Cancelled], or
// [SettledUnknown] when there was neither.
func (l *Limiter) Cancel(ctx context.Context, id string) (Settlement, error) {
	if !l.store.begin() {
		return "", errClosed()
	}
	defer l.store.end()
	return l.cancel(id, false)
}

// Ready returns the ids of up to count queued jobs whose turn has come, in the order of the queue. It
// takes nothing. Each id is returned once, to one process, and the job then calls [Limiter.Admit] or
// [Limiter.Claim] within its claim time-out. count is from 1 to [MaxReady].
func (l *Limiter) Ready(ctx context.Context, count int) ([]string, error) {
	ids, _, err := l.readyFor(ctx, "", "", count)
	return ids, err
}

// readyFor returns the ids, and for how long a host with an id and a channel may sleep.
func (l *Limiter) readyFor(ctx context.Context, host, channel string, count int) ([]string, time.Duration, error) {
	texts, err := textsOf("id", host, "channel", channel)
	if err != nil {
		return nil, 0, err
	}
	// The library refuses another count before it writes.
	ids := make([]C.pg_queued_id, MaxReady)
	var found C.size_t
	var after C.int64_t
	err = l.store.call(ctx, func(e *C.pg_error) C.pg_code {
		return C.pg_ready_for(l.handle, optional(channel, texts[0]), optional(channel, texts[1]), C.size_t(max(count, 0)),
			&ids[0], &found, &after, e)
	})
	runtime.KeepAlive(l)
	if err != nil {
		return nil, 0, err
	}
	ready := make([]string, found)
	for i := range ready {
		ready[i] = string(C.GoBytes(unsafe.Pointer(&ids[i].id[0]), C.int(ids[i].length)))
	}
	return ready, durationOf(after), nil
}
