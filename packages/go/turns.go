package paddlegate

import (
	"context"
	"iter"
)

// Turns yields the ids of queued jobs, each when its turn comes: [Limiter.Ready] for a process that
// starts jobs and has nothing else to do. It sleeps until the next turn comes, over the connection of
// the wake-ups, and asks by itself after at most 5 seconds.
//
// count, from 1 to [MaxReady], is how many turns one question returns at most: a loop that runs each
// job itself asks for 1, since the others would wait for it. The last element has an error: that of a
// call, ctx.Err when the context has ended, or [ErrClosed].
func (l *Limiter) Turns(ctx context.Context, count int) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		t := &turns{sleeper: newSleeper(l, newID()), count: count}
		defer t.leave()
		for {
			ids, err := t.next(ctx)
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
	// When the next question is due, if the channel is still the one of the last.
	dueAt        int64
	askedChannel string
}

// next returns the turns that come next.
func (t *turns) next(ctx context.Context) ([]string, error) {
	if !t.limiter.store.begin() {
		return nil, errClosed()
	}
	defer t.limiter.store.end()
	for {
		if err := t.listen(true); err != nil {
			return nil, err
		}
		if err := t.sleep(ctx, t.due); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t.forget()
		t.askedChannel = t.channel()
		ids, after, err := t.limiter.readyFor(t.id, t.askedChannel, t.count)
		if err != nil || len(ids) > 0 {
			t.dueAt = 0
			return ids, err
		}
		t.dueAt = monotonic() + after.Microseconds()
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
