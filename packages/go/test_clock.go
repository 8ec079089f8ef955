package paddlegate

// #include "paddlegate.h"
import "C"

import (
	"runtime"
	"time"
)

// TestClock is a clock for tests, which moves only when the test moves it; see [Clock].
type TestClock struct{ handle *C.pg_test_clock }

// NewTestClock creates a clock at a time. A store in Redis refuses it unless the environment has
// PADDLEGATE_TEST_CLOCK=1.
func NewTestClock(now time.Time) (*TestClock, error) {
	micros, err := momentOf("now", now)
	if err != nil {
		return nil, err
	}
	clock := new(TestClock)
	err = run(func(e *C.pg_error) C.pg_code { return C.pg_test_clock_new(micros, &clock.handle, e) })
	if err != nil {
		return nil, err
	}
	runtime.AddCleanup(clock, func(handle *C.pg_test_clock) { C.pg_test_clock_close(handle, nil) }, clock.handle)
	return clock, nil
}

// Now returns the time.
func (c *TestClock) Now() time.Time {
	defer runtime.KeepAlive(c)
	return time.UnixMicro(int64(C.pg_test_clock_now(c.handle)))
}

// Set sets the time. An earlier one is that of a server whose clock ran backwards.
func (c *TestClock) Set(now time.Time) error {
	micros, err := momentOf("now", now)
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(c)
	return run(func(e *C.pg_error) C.pg_code { return C.pg_test_clock_set(c.handle, micros, e) })
}

// Advance moves the clock forward.
func (c *TestClock) Advance(by time.Duration) error {
	micros, err := microsOf("by", by)
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(c)
	return run(func(e *C.pg_error) C.pg_code { return C.pg_test_clock_advance(c.handle, micros, e) })
}
