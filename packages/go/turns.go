//go:build cgo

package paddlegate

import (
	"context"
	"iter"
	"math"
)

// Turns yields the ids of queued jobs, each when its turn comes: [Limiter.Ready] for a process that
// starts jobs and has nothing else to do. It sleeps until the next turn comes, over the connection of
// the wake-ups, and asks by itself after at most 5 seconds.
//
// The loop ends when no turn has come for a [WaitTimeout]; without it, it does not end. It takes a
// [Key] too.
//
// count, from 1 to [MaxReady], is how many turns one question returns at most: a loop that runs each
// job itself asks for 1, since the others would wait for it. The last element has an error: that of a
// call, ctx.Err when the context has ended, or [ErrClosed].
func (l *Limiter) Turns(ctx context.Context, count int, options ...CallOption) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		t, err := l.newTurns(count, callOptionsOf(options))
		if err != nil {
			yield("", err)
			return
		}
		defer t.leave()
		for {
			ids, err := t.next(ctx)
			if err == nil && len(ids) == 0 {
				return
			}
			for _, id := range ids {
				if !yield(id, nil) {
					return
				}
			}
			if err != nil {
				yield("", err)
				return
			}
		}
	}
}

type turns struct {
	*sleeper
	count int
	// How long to wait for one turn, in microseconds.
	longest int64
	// When the next question is due, if the channel is still the one of the last.
	dueAt        int64
	askedChannel string
}

func (l *Limiter) newTurns(count int, o *callOptions) (*turns, error) {
	if err := o.onlyThese("Turns", "Key", "WaitTimeout"); err != nil {
		return nil, err
	}
	t := &turns{count: count, longest: math.MaxInt64}
	if o.waitTimeout != nil && *o.waitTimeout != Forever {
		longest, err := waitMicros(*o.waitTimeout)
		if err != nil {
			return nil, err
		}
		t.longest = int64(longest)
	}
	one := l
	if o.key != nil {
		var err error
		if one, err = l.WithKey(*o.key); err != nil {
			return nil, err
		}
	}
	t.sleeper = newSleeper(one, newID())
	return t, nil
}

// next returns the turns that come next; none when the time is up.
func (t *turns) next(ctx context.Context) ([]string, error) {
	if !t.limiter.store.begin() {
		return nil, errClosed()
	}
	defer t.limiter.store.end()
	ends := int64(math.MaxInt64)
	if t.longest < math.MaxInt64 {
		ends = monotonic() + t.longest
	}
	for {
		if err := t.listen(true); err != nil {
			return nil, err
		}
		if err := t.sleep(ctx, func() int64 { return min(t.due(), ends) }); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		isLast := monotonic() >= ends
		if isLast && t.due() > monotonic() {
			return nil, nil
		}
		t.forget()
		t.askedChannel = t.channel()
		ids, after, err := t.limiter.readyFor(ctx, t.id, t.askedChannel, t.count)
		if err != nil || len(ids) > 0 {
			t.dueAt = 0
			return ids, err
		}
		t.dueAt = monotonic() + after.Microseconds()
		if isLast {
			return nil, nil
		}
	}
}

func (t *turns) due() int64 {
	if t.channel() != t.askedChannel {
		return 0
	}
	if at := t.wokenAt(); at != 0 {
		return min(at, t.dueAt)
	}
	return t.dueAt
}
