package paddlegate

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestCloseLeavesNoGoroutine counts those that exist before and after a store with waits and wake-ups.
func TestCloseLeavesNoGoroutine(t *testing.T) {
	for name, url := range map[string]string{"memory": "memory://", "redis": testURL(t)} {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			// No ticket lapses.
			clock := standing(t)
			store, err := Open(url, Timeout(10*time.Second), Clock(clock))
			must(t, err)
			slots, err := store.Concurrent(unique(), 1, WaitTimeout(Forever), LockTimeout(time.Hour))
			must(t, err)
			_, err = slots.Acquire(context.Background())
			must(t, err)
			failed := make(chan error)
			for range 20 {
				go func() {
					_, err := slots.Acquire(context.Background())
					failed <- err
				}()
			}
			tickets(t, slots, 20)
			must(t, store.Close())
			for range 20 {
				if err := <-failed; !errors.Is(err, ErrClosed) {
					t.Errorf("error=%v", err)
				}
			}
			eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
			// The tickets were given back, not left to lapse.
			other := open(t, url, Timeout(10*time.Second), Clock(clock))
			if !other.InMemory() {
				again, err := other.Concurrent(slots.Name(), 1, LockTimeout(time.Hour))
				must(t, err)
				if inspection, err := again.Inspect(context.Background(), 0, 0); err != nil || inspection.TicketCount != 0 {
					t.Errorf("inspection=%+v error=%v", inspection, err)
				}
			}
		})
	}
}

func TestAClosedStoreRefusesEveryCall(t *testing.T) {
	for _, url := range []string{"memory://", testURL(t)} {
		store, err := Open(url, Timeout(10*time.Second))
		must(t, err)
		window, err := store.Window(unique(), 1, time.Minute)
		must(t, err)
		must(t, store.Close())
		must(t, store.Close())
		_, tried := window.TryAcquire(context.Background())
		_, waited := window.Acquire(context.Background())
		_, keyed := window.WithKey("a")
		_, made := store.Window(unique(), 1, time.Minute)
		_, listed := store.Limiters(context.Background(), "")
		_, cancelled := window.Cancel(context.Background(), "a")
		for i, err := range []error{tried, waited, keyed, made, listed, cancelled} {
			var invalid *InvalidError
			if !errors.Is(err, ErrClosed) || !errors.As(err, &invalid) || invalid.Argument != "store" {
				t.Errorf("call %d: error=%v", i, err)
			}
		}
	}
}

// silent returns the address of a server that takes calls and never answers.
func silent(t *testing.T) string {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = server.Close() })
	return "redis://" + server.Addr().String()
}

func TestAnUnavailableStore(t *testing.T) {
	window, err := open(t, silent(t), Timeout(50*time.Millisecond)).Window("erp", 1, time.Minute)
	must(t, err)
	var unavailable *UnavailableError
	if _, err = window.TryAcquire(context.Background()); !errors.As(err, &unavailable) || !unavailable.MayHaveCounted {
		t.Errorf("error=%v", err)
	}
	// The address says at which of several servers.
	if !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), "node=127.0.0.1:") {
		t.Errorf("error=%v", err)
	}
	away, err := open(t, "redis://127.0.0.1:1").Window("erp", 1, time.Minute)
	must(t, err)
	if _, err = away.TryAcquire(context.Background()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("error=%v", err)
	}
	if _, err = window.Acquire(context.Background()); !errors.As(err, &unavailable) {
		t.Errorf("error=%v", err)
	}
	slots, err := open(t, silent(t), Timeout(50*time.Millisecond)).Concurrent("erp", 1, OnUnavailable("fail_open"))
	must(t, err)
	permit, err := slots.Acquire(context.Background())
	must(t, err)
	if !permit.Degraded() {
		t.Error("the permit is not degraded")
	}
}

// Most of the calls find no place, and fail while the first are at the server. By the clock in a soak.
func TestAThousandCallsAtASilentServer(t *testing.T) {
	const timeout = time.Second
	window, err := open(t, silent(t), Timeout(timeout)).Window("silent", 1, time.Minute)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	failed := make(chan error)
	began := time.Now()
	for i := range 1000 {
		go func() {
			var err error
			switch i % 3 {
			case 0:
				_, err = window.TryAcquire(context.Background())
			case 1:
				_, err = window.Acquire(context.Background())
			default:
				_, err = window.Acquire(ctx)
			}
			failed <- err
		}()
	}
	atServer := 0
	for range 1000 {
		var unavailable *UnavailableError
		if err := <-failed; !errors.As(err, &unavailable) {
			t.Errorf("error=%v", err)
		} else if unavailable.MayHaveCounted {
			atServer++
		}
	}
	if atServer < maxCalls || atServer == 1000 {
		t.Errorf("at the server=%d", atServer)
	}
	if took := time.Since(began); os.Getenv("PADDLEGATE_SOAK") != "" && took > timeout*8/5 {
		t.Errorf("took=%s", took)
	}
}

// The limiter decides itself as soon as the first calls have failed.
func TestAThousandCallsOfALimiterThatIsOpen(t *testing.T) {
	window, err := open(t, silent(t), Timeout(200*time.Millisecond)).Window("silent", 1, time.Minute, OnUnavailable("fail_open"))
	must(t, err)
	failed := make(chan error)
	for range 1000 {
		go func() {
			permit, err := window.Acquire(context.Background())
			if err == nil && !permit.Degraded() {
				err = errors.New("the permit is not degraded")
			}
			failed <- err
		}()
	}
	for range 1000 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

// At most maxCalls calls are at a server, and one without a place ends with its context.
func TestACallWithoutAPlaceEndsWithItsContext(t *testing.T) {
	store := redis(t)
	window, err := store.Window(unique(), 1, time.Minute)
	must(t, err)
	for range maxCalls {
		store.slots <- struct{}{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := window.Acquire(ctx, WaitTimeout(Forever)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error=%v", err)
	}
	tried := make(chan error)
	go func() {
		_, err := window.TryAcquire(context.Background())
		tried <- err
	}()
	for range maxCalls {
		<-store.slots
	}
	must(t, <-tried)
}

// TestAnEndedContext refuses every call but those that give something back.
func TestAnEndedContext(t *testing.T) {
	for _, url := range []string{"memory://", testURL(t)} {
		store := open(t, url)
		slots, err := store.Concurrent(unique(), 2)
		must(t, err)
		permit, err := slots.Acquire(context.Background())
		must(t, err)
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		of := func(_ any, err error) error { return err }
		for i, err := range []error{
			of(slots.TryAcquire(ended)), of(slots.Acquire(ended)), of(slots.Peek(ended)), of(slots.Stats(ended)), of(slots.Inspect(ended, 0, 1)),
			of(slots.Pause(ended, time.Minute)), of(slots.Enqueue(ended, "a")), of(slots.Admit(ended, "a")), of(store.Limiters(ended, "")), slots.Reset(ended),
		} {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("call=%d error=%v", i, err)
			}
		}
		if settlement, err := permit.Release(ended); settlement != Released || err != nil {
			t.Errorf("settlement=%s error=%v", settlement, err)
		}
	}
}
