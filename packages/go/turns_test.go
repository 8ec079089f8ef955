package paddlegate

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestTurnsComeAsLeasesEnd(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		workers, err := store.Concurrent(unique(), 1, LockTimeout(time.Hour))
		must(t, err)
		running, err := workers.Admit(context.Background(), "a")
		must(t, err)
		for _, job := range []string{"b", "c"} {
			_, err := workers.Admit(context.Background(), job, ClaimTimeout(time.Hour))
			must(t, err)
		}
		released := make(chan error, 1)
		go func() {
			// After the loop has begun to sleep, or before: it comes either way.
			time.Sleep(50 * time.Millisecond)
			_, err := running.Permit.Release(context.Background())
			released <- err
		}()
		var seen []string
		for job, err := range workers.Turns(context.Background(), 1) {
			must(t, err)
			admission, err := workers.Admit(context.Background(), job)
			must(t, err)
			if admission.Action != ActionRun {
				t.Fatalf("admission=%+v", admission)
			}
			_, err = admission.Permit.Release(context.Background())
			must(t, err)
			if seen = append(seen, job); len(seen) == 2 {
				break
			}
		}
		must(t, <-released)
		if !slices.Equal(seen, []string{"b", "c"}) {
			t.Errorf("seen=%v", seen)
		}
	})
}

func TestTurnsEndWhenNoneHasComeInTimeAndTakeAKey(t *testing.T) {
	onBoth(t, func(t *testing.T, store *Store) {
		workers, err := store.Concurrent(unique(), 1, Keyed(), LockTimeout(time.Hour))
		must(t, err)
		running, err := workers.Admit(context.Background(), "a", Key("alice"))
		must(t, err)
		_, err = workers.Admit(context.Background(), "b", Key("alice"), ClaimTimeout(time.Hour))
		must(t, err)
		turns := func(wait time.Duration) (seen []string) {
			for job, err := range workers.Turns(context.Background(), 1, Key("alice"), WaitTimeout(wait)) {
				must(t, err)
				seen = append(seen, job)
			}
			return seen
		}
		if seen := turns(20 * time.Millisecond); seen != nil {
			t.Errorf("seen=%v", seen)
		}
		_, err = running.Permit.Release(context.Background())
		must(t, err)
		if seen := turns(0); !slices.Equal(seen, []string{"b"}) {
			t.Errorf("seen=%v", seen)
		}
		for _, err := range workers.Turns(context.Background(), 1) {
			var invalid *InvalidError
			if !errors.As(err, &invalid) || invalid.Argument != "key" {
				t.Errorf("error=%v", err)
			}
		}
		for _, err := range workers.Turns(context.Background(), 1, Key("alice"), WaitTimeout(-1)) {
			var invalid *InvalidError
			if !errors.As(err, &invalid) || invalid.Argument != "WaitTimeout" {
				t.Errorf("error=%v", err)
			}
		}
	})
}

func TestTurnsEndWithTheContextTheStoreAndAnError(t *testing.T) {
	store, err := Open(testURL(t), Timeout(10*time.Second))
	must(t, err)
	workers, err := store.Concurrent(unique(), 1)
	must(t, err)
	last := func(ctx context.Context, count int) (last error) {
		for id, err := range workers.Turns(ctx, count) {
			if id != "" {
				t.Errorf("id=%s", id)
			}
			last = err
		}
		return last
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := last(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error=%v", err)
	}
	var invalid *InvalidError
	if err := last(context.Background(), 101); !errors.As(err, &invalid) || invalid.Argument != "count" {
		t.Errorf("error=%v", err)
	}
	ended := make(chan error)
	go func() { ended <- last(context.Background(), 1) }()
	time.Sleep(50 * time.Millisecond)
	must(t, store.Close())
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Errorf("error=%v", err)
	}
}
