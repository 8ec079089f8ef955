package paddlegate

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Calls of many goroutines at once are made together, and each is decided by itself.

func TestCallsAtOnceAreDecidedEach(t *testing.T) {
	store := redis(t)
	const callers, calls, limit, limitOfUser = 64, 20, 1_000, 900
	api, err := store.Window(newID(), limit, time.Hour)
	must(t, err)
	users, err := store.Window(newID(), limitOfUser, time.Hour, Keyed())
	must(t, err)
	var granted, ofUsers, invalid atomic.Int64
	var group sync.WaitGroup
	for i := range callers {
		group.Add(1)
		go func() {
			defer group.Done()
			for range calls {
				// Every eighth caller asks for what can never pass.
				if i%8 == 0 {
					_, err := api.TryAcquire(context.Background(), Cost(limit+1))
					if e := (*InvalidError)(nil); errors.As(err, &e) && e.Argument == "Cost" {
						invalid.Add(1)
					}
					continue
				}
				decision, err := api.TryAcquire(context.Background())
				if err != nil {
					t.Error(err)
				} else if decision.Allowed() {
					granted.Add(1)
				}
				allowed, err := users.Allow(context.Background(), Key([]string{"ada", "bob"}[i%2]), Cost(2))
				if err != nil {
					t.Error(err)
				} else if allowed {
					ofUsers.Add(2)
				}
			}
		}()
	}
	group.Wait()
	if granted.Load() != limit || ofUsers.Load() != 2*limitOfUser {
		t.Errorf("granted=%d of users=%d", granted.Load(), ofUsers.Load())
	}
	if invalid.Load() != callers/8*calls {
		t.Errorf("invalid=%d", invalid.Load())
	}
}

func TestCallsAtOnceFailEach(t *testing.T) {
	store := open(t, "redis://127.0.0.1:1")
	closed, err := store.Window("closed", 9, time.Hour)
	must(t, err)
	isOpen, err := store.Window("open", 9, time.Hour, OnUnavailable("fail_open"))
	must(t, err)
	var group sync.WaitGroup
	for i := range 100 {
		group.Add(1)
		go func() {
			defer group.Done()
			if i%2 == 0 {
				_, err := closed.TryAcquire(context.Background())
				if e := (*UnavailableError)(nil); !errors.As(err, &e) || e.MayHaveCounted {
					t.Error(err)
				}
				return
			}
			decision, err := isOpen.TryAcquire(context.Background())
			if err != nil || !decision.Allowed() || !decision.Degraded {
				t.Error(decision, err)
			}
		}()
	}
	group.Wait()
}

func TestACallDoesNotWaitForASlowExchange(t *testing.T) {
	combiner := combiner{running: maxExchanges}
	for range 3 {
		if batch, ok := combiner.begin(new(combinedCall)); ok {
			t.Errorf("calls=%d", len(batch))
		}
	}
	if len(combiner.waiting) > 0 {
		t.Error("it waits still")
	}
}

func TestTheNextExchangeHasTheFirstThatWait(t *testing.T) {
	store := redis(t)
	api, err := store.Window(newID(), 100, time.Hour)
	must(t, err)
	combiner := combiner{running: maxExchanges}
	calls := make([]*combinedCall, maxTogether+5)
	for i := range calls {
		calls[i] = &combinedCall{limiter: api.handle, decision: &new(nativeDecision).decision, turn: make(chan []*combinedCall, 1)}
	}
	combiner.waiting = append(combiner.waiting, calls[1:]...)
	combiner.exchange(calls[:1])
	next := <-calls[1].turn
	if len(next) != maxTogether || next[0] != calls[1] || len(combiner.waiting) != 4 {
		t.Fatalf("next=%d waiting=%d", len(next), len(combiner.waiting))
	}
	combiner.exchange(next)
	if last := <-calls[maxTogether+1].turn; len(last) != 4 || combiner.running != maxExchanges {
		t.Fatalf("last=%d running=%d", len(last), combiner.running)
	}
	for _, call := range next[1:] {
		if <-call.turn != nil || call.err != nil {
			t.Fatal(call.err)
		}
	}
	combiner.exchange(calls[maxTogether+1:])
	if combiner.running != maxExchanges-1 || len(combiner.waiting) != 0 {
		t.Fatalf("running=%d waiting=%d", combiner.running, len(combiner.waiting))
	}
	decision, err := api.TryAcquire(context.Background())
	must(t, err)
	if decision.Remaining != 100-int64(len(calls))-1 {
		t.Errorf("remaining=%d", decision.Remaining)
	}
}
