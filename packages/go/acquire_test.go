package paddlegate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// onBoth runs a test on a store in memory and on one in Redis.
func onBoth(t *testing.T, test func(*testing.T, *Store)) {
	t.Run("memory", func(t *testing.T) { test(t, open(t, "memory://")) })
	t.Run("redis", func(t *testing.T) { test(t, redis(t)) })
}

// onBothAtOneTime does so with a clock that stands still, so that no ticket lapses.
func onBothAtOneTime(t *testing.T, test func(*testing.T, *Store)) {
	for name, url := range map[string]string{"memory": "memory://", "redis": testURL(t)} {
		t.Run(name, func(t *testing.T) { test(t, open(t, url, Clock(standing(t)), Timeout(10*time.Second))) })
	}
}

func standing(t *testing.T) *TestClock {
	t.Helper()
	clock, err := NewTestClock(time.UnixMicro(1_700_000_000_000_000))
	must(t, err)
	return clock
}

func TestACostThatIsChangedWhileTheCallWaitsIsChargedAsItWas(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		api, err := store.Window(unique(), 10, time.Hour)
		must(t, err)
		for _, nested := range []bool{false, true} {
			must(t, api.Reset(context.Background()))
			_, err = api.Pause(context.Background(), time.Minute)
			must(t, err)
			units := ByLabel{"window": 9}
			limiter, cost := api, Charge(units)
			if nested {
				limiter, err = store.Together([]*Limiter{api})
				must(t, err)
				cost = ByLimiter{api.Name(): units}
			}
			granted := make(chan *Permit)
			go func() {
				permit, err := limiter.Acquire(context.Background(), CostBy(cost), WaitTimeout(time.Hour))
				if err != nil {
					t.Error(err)
				}
				granted <- permit
			}()
			eventually(t, "the call waits", func() bool {
				inspection, err := api.Inspect(context.Background(), 0, 1)
				must(t, err)
				return inspection.TicketCount == 1
			})
			units["window"] = 1
			_, err = api.Resume(context.Background())
			must(t, err)
			if permit := <-granted; permit == nil || permit.Decision().Remaining != 1 {
				t.Errorf("permit=%+v", permit)
			}
		}
	})
}

func TestTheWaitersOfAProcessLookTogether(t *testing.T) {
	const waiters = 300
	limiter, err := redis(t).Concurrent(unique(), 1, LockTimeout(10*time.Minute), WaitTimeout(10*time.Minute))
	must(t, err)
	holder, err := limiter.Acquire(context.Background())
	must(t, err)
	var waiting sync.WaitGroup
	for range waiters {
		waiting.Add(1)
		go func() {
			defer waiting.Done()
			if err := limiter.WithinLimit(context.Background(), func(*Permit) error { return nil }); err != nil {
				t.Error(err)
			}
		}()
	}
	tickets(t, limiter, waiters)
	// A process that stalls lets each look once by itself.
	looked := int64(waiters)
	for window := 0; window < 8 && looked > 30; window++ {
		before := scripts(t)
		time.Sleep(5100 * time.Millisecond)
		looked = scripts(t) - before
	}
	if looked > 30 {
		t.Errorf("looked=%d", looked)
	}
	tickets(t, limiter, waiters)
	_, err = holder.Release(context.Background())
	must(t, err)
	waiting.Wait()
}

// scripts returns how many scripts the server of the tests has run.
func scripts(t *testing.T) int64 {
	t.Helper()
	address, err := url.Parse(testURL(t))
	must(t, err)
	connection, err := net.Dial("tcp", address.Host)
	must(t, err)
	defer connection.Close()
	_, err = connection.Write([]byte("INFO commandstats\r\nQUIT\r\n"))
	must(t, err)
	answer, err := io.ReadAll(connection)
	must(t, err)
	_, rest, _ := strings.Cut(string(answer), "cmdstat_evalsha:calls=")
	calls, _, _ := strings.Cut(rest, ",")
	count, err := strconv.ParseInt(calls, 10, 64)
	must(t, err)
	return count
}

// tickets waits until so many calls are in the queue.
func tickets(t *testing.T, limiter *Limiter, count int64) {
	t.Helper()
	eventually(t, fmt.Sprintf("tickets=%d", count), func() bool {
		inspection, err := limiter.Inspect(context.Background(), 0, 0)
		must(t, err)
		return inspection.TicketCount == count
	})
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestAcquireWaitsForARelease(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		slots, err := store.Concurrent(unique(), 1, WaitTimeout(time.Minute))
		must(t, err)
		first, err := slots.Acquire(context.Background())
		must(t, err)
		granted := make(chan *Permit)
		go func() {
			second, err := slots.Acquire(context.Background())
			if err != nil {
				t.Error(err)
			}
			granted <- second
		}()
		tickets(t, slots, 1)
		settlement, err := first.Release(context.Background())
		must(t, err)
		if settlement != Released {
			t.Errorf("settlement=%s", settlement)
		}
		second := <-granted
		if second.FencingToken() <= first.FencingToken() {
			t.Errorf("fencing_token=%d after %d", second.FencingToken(), first.FencingToken())
		}
		if settlement, err := first.Release(context.Background()); err != nil || settlement != Released {
			t.Errorf("a second release: settlement=%s error=%v", settlement, err)
		}
	})
}

// Without wake-ups each would look again after up to 5 seconds, and 200 would take too long.
func TestManyGoroutinesShareOneSlot(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		slots, err := store.Concurrent(unique(), 1, WaitTimeout(5*time.Minute), LockTimeout(5*time.Minute))
		must(t, err)
		var inside, done atomic.Int64
		var all sync.WaitGroup
		all.Add(200)
		for range 200 {
			go func() {
				defer all.Done()
				err := slots.WithinLimit(context.Background(), func(*Permit) error {
					if others := inside.Add(1) - 1; others > 0 {
						t.Errorf("others=%d", others)
					}
					defer inside.Add(-1)
					done.Add(1)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}()
		}
		all.Wait()
		if done.Load() != 200 {
			t.Errorf("done=%d", done.Load())
		}
	})
}

// The goroutine for wake-ups ends when nobody waits, and the next wait starts another one.
func TestAListenerIsClosedAndOpenedAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		store.idle = time.Millisecond
		slots, err := store.Concurrent(unique(), 1, WaitTimeout(Forever), LockTimeout(time.Hour))
		must(t, err)
		node, err := slots.notificationNode()
		must(t, err)
		for range 2 {
			held, err := slots.Acquire(context.Background())
			must(t, err)
			granted := make(chan *Permit)
			go func() {
				permit, err := slots.Acquire(context.Background())
				if err != nil {
					t.Error(err)
				}
				granted <- permit
			}()
			eventually(t, "it listens", func() bool { return store.hubOf(node).openChannel() != "" })
			_, err = held.Release(context.Background())
			must(t, err)
			_, err = (<-granted).Release(context.Background())
			must(t, err)
			eventually(t, "its goroutine has ended", func() bool {
				hub := store.hubOf(node)
				hub.lock.Lock()
				defer hub.lock.Unlock()
				return !hub.running
			})
		}
	})
}

func TestACancelledContextGivesTheTicketBack(t *testing.T) {
	onBothAtOneTime(t, func(t *testing.T, store *Store) {
		slots, err := store.Concurrent(unique(), 1, WaitTimeout(Forever), LockTimeout(time.Hour))
		must(t, err)
		_, err = slots.Acquire(context.Background())
		must(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		failed := make(chan error)
		go func() {
			_, err := slots.Acquire(ctx)
			failed <- err
		}()
		tickets(t, slots, 1)
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("error=%v", err)
		}
		tickets(t, slots, 0)
		if _, err := slots.Acquire(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a context that has ended: error=%v", err)
		}
		if statistics, err := slots.Stats(context.Background()); err != nil || statistics.Granted != 1 {
			t.Errorf("statistics=%+v error=%v", statistics, err)
		}
	})
}

// The library may wait for a server that does not reply; Acquire does not.
func TestAContextThatEndsDuringACallIsNotWaitedFor(t *testing.T) {
	direct, name := redis(t), unique()
	url, replies := held(t)
	store := open(t, url, Timeout(30*time.Second))
	slots, err := store.Concurrent(name, 1, LockTimeout(time.Hour))
	must(t, err)
	seen, err := direct.Concurrent(name, 1, LockTimeout(time.Hour))
	must(t, err)
	leases := func(count int64) func() bool {
		return func() bool {
			inspection, err := seen.Inspect(context.Background(), 0, 1)
			must(t, err)
			return inspection.LeaseCount == count
		}
	}
	// The server knows the scripts then; otherwise it would reply that it does not.
	for range 3 {
		warm, err := slots.Acquire(context.Background())
		must(t, err)
		_, err = warm.Release(context.Background())
		must(t, err)
	}
	replies.Lock()
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error)
	go func() {
		_, err := slots.Acquire(ctx)
		failed <- err
	}()
	eventually(t, "the server has granted", leases(1))
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("error=%v", err)
	}
	if !leases(1)() {
		t.Error("the call has ended before its reply")
	}
	replies.Unlock()
	eventually(t, "the lease is given back", leases(0))
}

func TestADeadlineEndsTheWait(t *testing.T) {
	onBothAtOneTime(t, func(t *testing.T, store *Store) {
		slots, err := store.Concurrent(unique(), 1, WaitTimeout(time.Hour), LockTimeout(24*time.Hour))
		must(t, err)
		_, err = slots.Acquire(context.Background())
		must(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		_, err = slots.Acquire(ctx)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error=%v", err)
		}
		tickets(t, slots, 0)
	})
}

// A wait that is known to be longer than the deadline takes no ticket and does not last.
func TestADeadlineThatIsTooNearRefusesAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		hourly, err := store.Window(unique(), 1, time.Hour, WaitTimeout(Forever))
		must(t, err)
		_, err = hourly.Acquire(context.Background())
		must(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
		defer cancel()
		_, err = hourly.Acquire(ctx)
		var over *OverLimitError
		if !errors.As(err, &over) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("error=%v", err)
		}
		if over.Reason != "window" || over.Limiter != hourly.Name() || over.RetryAfter < 30*time.Minute || over.Decision.Remaining != 0 {
			t.Errorf("over=%+v", over)
		}
		_, err = hourly.Acquire(context.Background(), WaitTimeout(0))
		if !errors.As(err, &over) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without a deadline: error=%v", err)
		}
	})
}

func TestWithinLimitReleasesWhateverTheBodyDoes(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		slots, err := store.Concurrent(unique(), 1, WaitTimeout(0))
		must(t, err)
		broken := errors.New("broken")
		if err := slots.WithinLimit(context.Background(), func(*Permit) error { return broken }); err != broken {
			t.Errorf("error=%v", err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was lost")
				}
			}()
			_ = slots.WithinLimit(context.Background(), func(*Permit) error { panic(broken) })
		}()
		called := false
		must(t, slots.WithinLimit(context.Background(), func(*Permit) error { called = true; return nil }))
		if !called {
			t.Error("the body was not called")
		}
	})
}

func TestAnIDTakesNothingTwice(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		slots, err := store.Concurrent(unique(), 1, WaitTimeout(0))
		must(t, err)
		first, err := slots.Acquire(context.Background(), ID("order-7"))
		must(t, err)
		second, err := slots.Acquire(context.Background(), ID("order-7"))
		must(t, err)
		if first.FencingToken() != second.FencingToken() {
			t.Errorf("fencing_tokens=%d,%d", first.FencingToken(), second.FencingToken())
		}
		var invalid *InvalidError
		if _, err := slots.Acquire(context.Background(), ID("")); !errors.As(err, &invalid) || invalid.Argument != "ID" {
			t.Errorf("an empty id: error=%v", err)
		}
	})
}

func TestAKeyedLimiterWaitsForEachKey(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		perUser, err := store.Concurrent(unique(), 1, Keyed(), WaitTimeout(time.Minute))
		must(t, err)
		ann, err := perUser.Acquire(context.Background(), Key("ann"))
		must(t, err)
		_, err = perUser.Acquire(context.Background(), Key("bob"), WaitTimeout(0))
		must(t, err)
		granted := make(chan error)
		go func() {
			_, err := perUser.Acquire(context.Background(), Key("ann"))
			granted <- err
		}()
		one, err := perUser.WithKey("ann")
		must(t, err)
		tickets(t, one, 1)
		_, err = ann.Release(context.Background())
		must(t, err)
		must(t, <-granted)
	})
}

// TestAWaitInMemoryEndsWhenTheClockIsMoved waits for an hour by real time.
func TestAWaitInMemoryEndsWhenTheClockIsMoved(t *testing.T) {
	clock := standing(t)
	limiter, err := open(t, "memory://", Clock(clock)).Throttle(unique(), time.Hour, WaitTimeout(2*time.Hour))
	must(t, err)
	_, err = limiter.Acquire(context.Background())
	must(t, err)
	waited := make(chan *Permit, 1)
	go func() {
		permit, err := limiter.Acquire(context.Background())
		if err != nil {
			t.Error(err)
		}
		waited <- permit
	}()
	for stats := new(Statistics); stats.Tickets == 0; time.Sleep(time.Millisecond) {
		stats, err = limiter.Stats(context.Background())
		must(t, err)
	}
	must(t, clock.Advance(time.Hour))
	if permit := <-waited; permit == nil || !permit.Decision().At.Equal(clock.Now()) {
		t.Errorf("permit=%v", permit)
	}
}
