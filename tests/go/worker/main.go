// The Go worker, with goroutines. Verbs and lines: see tests/shared/fleet.py.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"paddlegate"
)

type object = map[string]any

// line is what a worker is asked.
type line struct {
	Do, URL, As, Name, On, Permit, Path string
	Timeout                             float64
	NowUs                               *int64 `json:"now_us"`
	Limits                              [][]any
	Cost, Estimate, Actual              any
	WaitTimeout                         *float64 `json:"wait_timeout"`
	Until                               float64
	Seed                                uint64
	Loops                               int
	Plan                                []entry
}

type worker struct {
	store    *paddlegate.Store
	clock    *paddlegate.TestClock
	limiters map[string]*paddlegate.Limiter
}

func main() {
	w := &worker{limiters: map[string]*paddlegate.Limiter{}}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked line
		value, err := any(nil), json.Unmarshal(lines.Bytes(), &asked)
		if err == nil {
			value, err = w.do(&asked)
		}
		answer := object{"value": value}
		if err != nil {
			answer = object{"error": errorOf(err)}
		}
		if err := out.Encode(answer); err != nil {
			panic(err)
		}
	}
	if w.store != nil {
		_ = w.store.Close()
	}
}

func (w *worker) do(it *line) (any, error) {
	limiter := w.limiters[it.On]
	switch it.Do {
	case "open":
		return nil, w.open(it)
	case "set_clock":
		return nil, w.clock.Set(time.UnixMicro(*it.NowUs))
	case "limiter":
		limits := make([]paddlegate.Limit, len(it.Limits))
		for i, limit := range it.Limits {
			limits[i] = limitOf(limit)
		}
		var err error
		w.limiters[it.As], err = w.store.Limiter(it.Name, limits)
		return nil, err
	case "try_acquire":
		return decisionOf(limiter.TryAcquire(context.Background(), it.options()...))
	case "peek":
		return decisionOf(limiter.Peek(context.Background(), it.options()...))
	case "allow":
		return limiter.Allow(context.Background(), it.options()...)
	case "acquire":
		permit, err := limiter.Acquire(context.Background(), it.options()...)
		if err != nil {
			return nil, err
		}
		return decisionOf(permit.Decision(), nil)
	case "correct":
		return limiter.Correct(context.Background(), it.Permit, chargeOf(it.Actual))
	case "reset":
		return nil, limiter.Reset(context.Background())
	case "hammer":
		return w.hammer(it)
	}
	return nil, fmt.Errorf("there is no verb %s", it.Do)
}

func (w *worker) open(it *line) error {
	options := []paddlegate.StoreOption{paddlegate.Timeout(duration(it.Timeout))}
	if it.NowUs != nil {
		var err error
		if w.clock, err = paddlegate.NewTestClock(time.UnixMicro(*it.NowUs)); err != nil {
			return err
		}
		options = append(options, paddlegate.Clock(w.clock))
	}
	var err error
	w.store, err = paddlegate.Open(it.URL, options...)
	return err
}

func (l *line) options() []paddlegate.CallOption {
	var options []paddlegate.CallOption
	if l.Cost != nil {
		options = append(options, paddlegate.CostBy(chargeOf(l.Cost)))
	}
	if l.Estimate != nil {
		options = append(options, paddlegate.EstimateBy(chargeOf(l.Estimate)))
	}
	if l.WaitTimeout != nil {
		options = append(options, paddlegate.WaitTimeout(duration(*l.WaitTimeout)))
	}
	return options
}

// limitOf converts a kind and its numbers. A throttle has its interval alone, or behind a number.
func limitOf(numbers []any) paddlegate.Limit {
	limit := paddlegate.Limit{Kind: paddlegate.Kind(numbers[0].(string)), Amount: 1}
	if len(numbers) > 2 {
		limit.Amount = int64(numbers[1].(float64))
	}
	limit.Interval = duration(numbers[len(numbers)-1].(float64))
	return limit
}

func chargeOf(value any) paddlegate.Charge {
	if labels, ok := value.(map[string]any); ok {
		by := paddlegate.ByLabel{}
		for label, units := range labels {
			by[label] = int64(units.(float64))
		}
		return by
	}
	return paddlegate.Units(value.(float64))
}

func decisionOf(d *paddlegate.Decision, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return object{
		"allowed": d.Allowed(), "limit": known(d.Limit), "remaining": known(d.Remaining),
		"retry_us": micros(d.RetryAfter), "reset_us": micros(d.ResetAfter), "reason": some(string(d.Reason)),
		"at_us": d.At.UnixMicro(), "permit": some(d.Permit),
	}, nil
}

func errorOf(err error) object {
	var invalid *paddlegate.InvalidError
	var unavailable *paddlegate.UnavailableError
	var over *paddlegate.OverLimitError
	switch {
	case errors.As(err, &invalid):
		return object{"class": "InvalidError", "argument": invalid.Argument, "may_have_counted": nil}
	case errors.As(err, &unavailable):
		return object{"class": "UnavailableError", "argument": nil, "may_have_counted": unavailable.MayHaveCounted}
	case errors.As(err, &over):
		return object{"class": "OverLimitError", "argument": nil, "may_have_counted": nil}
	}
	return object{"class": fmt.Sprintf("%T: %s", err, err), "argument": nil, "may_have_counted": nil}
}

func duration(seconds float64) time.Duration {
	return (time.Duration(seconds*1e9) + 500).Truncate(time.Microsecond)
}

func micros(duration time.Duration) any {
	if duration == paddlegate.Unknown {
		return nil
	}
	return duration.Microseconds()
}

func known(number int64) any {
	if number == paddlegate.Unknown {
		return nil
	}
	return number
}

func some(text string) any {
	if text == "" {
		return nil
	}
	return text
}
