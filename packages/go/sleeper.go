//go:build cgo

package paddlegate

import (
	"context"
	"sync"
	"time"
)

// sleeper is what sleeps until a time, a wake-up, the end of its context or of its store.
type sleeper struct {
	limiter *Limiter
	// The id that the wake-ups name.
	id    string
	hub   *hub
	woken chan struct{}

	lock sync.Mutex
	// When the earliest wake-up since the last attempt is due; 0 for none.
	wakeAt int64
}

func newSleeper(limiter *Limiter, id string) *sleeper {
	return &sleeper{limiter: limiter, id: id, woken: make(chan struct{}, 1)}
}

// wake ends the sleep after a delay.
func (s *sleeper) wake(delay time.Duration) {
	at := monotonic() + delay.Microseconds()
	s.lock.Lock()
	if s.wakeAt == 0 || at < s.wakeAt {
		s.wakeAt = at
	}
	s.lock.Unlock()
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// forget forgets the wake-ups so far: the next attempt answers them.
func (s *sleeper) forget() {
	s.lock.Lock()
	s.wakeAt = 0
	s.lock.Unlock()
}

func (s *sleeper) wokenAt() int64 {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.wakeAt
}

// listen registers at the hub of the limiter if that is open, or with open in any case. The node of a
// limiter changes when a slot of a cluster moves.
func (s *sleeper) listen(open bool) error {
	node, err := s.limiter.notificationNode()
	if err != nil {
		return err
	}
	if node == "" {
		// A limiter without a state has no queue.
		s.leave()
		return nil
	}
	hub := s.limiter.store.hubOf(node)
	if !open && hub.openChannel() == "" {
		return nil
	}
	if s.hub != hub {
		s.leave()
		s.hub = hub
	}
	hub.add(s, open)
	return nil
}

func (s *sleeper) leave() {
	if s.hub != nil {
		s.hub.remove(s)
		s.hub = nil
	}
}

// channel returns the channel that tickets name now; empty without one.
func (s *sleeper) channel() string {
	if s.hub == nil {
		return ""
	}
	return s.hub.openChannel()
}

// sleep sleeps until due returns a time that has come.
func (s *sleeper) sleep(ctx context.Context, due func() int64) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		left := due() - monotonic()
		if left <= 0 {
			return nil
		}
		timer.Reset(time.Duration(min(left, maxMicros)) * time.Microsecond)
		select {
		case <-timer.C:
		case <-s.woken:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.limiter.store.done:
			return errClosed()
		}
	}
}
