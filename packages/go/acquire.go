package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"context"
	"log/slog"
	"time"
)

// Acquire takes the cost as soon as every limit allows it and no call waits before it, and returns the
// permit. It waits for up to [WaitTimeout], in a queue that all processes share, and sleeps in Go.
//
// The error is an [OverLimitError] when the time is up, or at once when the wait is known to be longer;
// ctx.Err when the context ends, whose ticket is then given back. A context with a deadline that is
// nearer than the [WaitTimeout] is both: an OverLimitError at once, which is
// [context.DeadlineExceeded]. A call to the store that is under way when the context ends is not waited
// for: what it takes is given back when it has ended.
func (l *Limiter) Acquire(ctx context.Context, options ...CallOption) (*Permit, error) {
	o := callOptionsOf(options)
	if err := o.only("Acquire", "Key", "ID", "EachLimit", "Priority", "Share", "WaitTimeout"); err != nil {
		return nil, err
	}
	one := l
	if o.key != nil {
		var err error
		// The permit has the limiter of its key.
		if one, err = l.WithKey(*o.key); err != nil {
			return nil, err
		}
	}
	if !one.store.begin() {
		return nil, errClosed()
	}
	defer one.store.end()
	call, err := newWaitingCall(ctx, one, o)
	if err != nil {
		return nil, err
	}
	return call.acquire()
}

// WithinLimit acquires as [Limiter.Acquire] does, calls body, and releases the permit, whatever body
// does. It returns the error of the wait, or that of body.
//
// A body that fails leaves its estimate charged. When a lease has ended before its body, so that
// another call may have had its slot, a warning is logged.
func (l *Limiter) WithinLimit(ctx context.Context, body func(*Permit) error, options ...CallOption) error {
	permit, err := l.Acquire(ctx, options...)
	if err != nil {
		return err
	}
	defer func() {
		// A lease that cannot be released ends after its LockTimeout.
		_, _ = permit.Release(ctx)
		if permit.Lost() {
			slog.Warn("paddlegate: a lease ended before its body", "limiter", l.name, "id", permit.ID())
		}
	}()
	return body(permit)
}

// waitingCall is one call that waits in the queue of a limiter, by the rules of [waiter].
type waitingCall struct {
	*sleeper
	ctx     context.Context
	options *callOptions
	rules   *waiter
	// Whether the deadline of the context is nearer than the maximum wait.
	byDeadline bool
	sentAt     time.Time
	// The answer of the call that was under way when the context ended; nil when there was none.
	unawaited chan attempt
}

// attempt is the answer of one call.
type attempt struct {
	decision *nativeDecision
	err      error
}

func newWaitingCall(ctx context.Context, l *Limiter, o *callOptions) (*waitingCall, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	longest := l.wait
	if o.waitTimeout != nil {
		longest = *o.waitTimeout
	}
	o.cost, o.estimate = fixed(o.cost), fixed(o.estimate)
	call := &waitingCall{ctx: ctx, options: o}
	if deadline, ok := ctx.Deadline(); ok {
		if left := max(time.Until(deadline), 0); left < longest {
			longest, call.byDeadline = left, true
		}
	}
	maxWait, err := waitMicros(longest)
	if err != nil {
		return nil, err
	}
	id := ""
	if o.id != nil {
		id = *o.id
	} else {
		id = newID()
	}
	call.sleeper = newSleeper(l, id)
	call.rules, err = newWaiter(o.id == nil, int64(maxWait), monotonic())
	return call, err
}

func (c *waitingCall) acquire() (*Permit, error) {
	decision, err := c.decide()
	c.leave()
	if c.unawaited != nil {
		c.giveBackLater()
		return nil, err
	}
	if err != nil {
		// A call without an answer has used up its time, so it does not wait for this.
		_, unanswered := err.(*UnavailableError)
		c.cancel(false, !unanswered)
		return nil, renamed(err, "id", "ID")
	}
	if !decision.Allowed() {
		// The store has nothing of a call that it has refused.
		if decision.Degraded {
			c.cancel(false, true)
		}
		over := c.limiter.overLimit(decision)
		if c.byDeadline {
			over.cause = context.DeadlineExceeded
		}
		return nil, over
	}
	if decision.Degraded {
		// A grant that the store did not make leaves a ticket in its queue.
		c.cancel(true, true)
	}
	return newPermit(c.limiter, decision, c.sentAt, c.options.estimate != nil), nil
}

// decide repeats the call until its decision is final.
func (c *waitingCall) decide() (*Decision, error) {
	if err := c.listen(false); err != nil {
		return nil, err
	}
	for {
		c.forget()
		c.sentAt = time.Now()
		wait, err := c.rules.next(monotonic(), c.channel())
		if err != nil {
			return nil, err
		}
		native, err := c.attempt(wait)
		if c.unawaited != nil {
			return nil, err
		}
		if err != nil {
			c.rules.onError(err)
			return nil, err
		}
		if c.rules.onDecision(monotonic(), native) {
			return c.limiter.read(native), nil
		}
		if err := c.listen(true); err != nil {
			return nil, err
		}
		if err := c.sleep(c.ctx, c.due); err != nil {
			return nil, err
		}
	}
}

// attempt makes one call, and waits for it no longer than the context lasts.
func (c *waitingCall) attempt(wait *wait) (*nativeDecision, error) {
	if c.limiter.store.memory || c.ctx.Done() == nil {
		return c.limiter.enterBusy(c.ctx, c.id, c.options, wait)
	}
	answers := make(chan attempt, 1)
	// The caller keeps the store open until the goroutine does.
	c.limiter.store.busy.Add(1)
	go func() {
		defer c.limiter.store.end()
		decision, err := c.limiter.enterBusy(c.ctx, c.id, c.options, wait)
		answers <- attempt{decision, err}
	}()
	select {
	case answer := <-answers:
		return answer.decision, answer.err
	case <-c.ctx.Done():
		c.unawaited = answers
		return nil, c.ctx.Err()
	}
}

// giveBackLater gives back what the call takes that nobody waits for, when it has ended.
func (c *waitingCall) giveBackLater() {
	c.limiter.store.busy.Add(1)
	go func() {
		defer c.limiter.store.end()
		answer := <-c.unawaited
		if answer.err != nil {
			c.rules.onError(answer.err)
		} else {
			c.rules.onDecision(monotonic(), answer.decision)
		}
		c.cancel(false, false)
	}()
}

func (c *waitingCall) due() int64 {
	if at := c.wokenAt(); at != 0 {
		c.rules.onWakeup(at)
	}
	return c.rules.retryAt(c.channel())
}

// cancel gives back a ticket or a lease, for a call that has ended. With wait it waits until a server
// that answers has done so.
func (c *waitingCall) cancel(delivered, wait bool) {
	if c.sentAt.IsZero() || !c.rules.mustCancel(delivered) {
		return
	}
	limiter, id := c.limiter, c.id
	cancelled := make(chan struct{})
	// The caller keeps the store open until the goroutine does.
	limiter.store.busy.Add(1)
	go func() {
		defer limiter.store.end()
		defer close(cancelled)
		// What cannot be cancelled ends by itself.
		_, _ = limiter.cancel(id, false)
	}()
	if !wait {
		return
	}
	timer := time.NewTimer(durationOf(C.pg_cancel_timeout_us()))
	defer timer.Stop()
	select {
	case <-cancelled:
	case <-timer.C:
	}
}
