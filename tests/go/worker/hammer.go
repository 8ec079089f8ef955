package main

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"paddlegate"
)

// entry is what a hammering loop may ask for.
type entry struct {
	On, Verb string
	Most     int64
}

// records has the lines that a hammering worker writes at its end. See tests/shared/hammer.py.
type records struct {
	lock           sync.Mutex
	lines          []object
	errors         map[string]int
	mayHaveCounted int
}

func (w *worker) hammer(it *line) (any, error) {
	kept := &records{errors: map[string]int{}}
	ends := time.UnixMicro(int64(it.Until * 1e6))
	var all sync.WaitGroup
	all.Add(it.Loops)
	for number := range it.Loops {
		go func() {
			defer all.Done()
			dice := rand.New(rand.NewPCG(it.Seed, uint64(number)))
			for time.Now().Before(ends) {
				if err := w.ask(dice, it.Plan[dice.IntN(len(it.Plan))], kept); err != nil {
					kept.fail(err)
				}
			}
		}()
	}
	all.Wait()
	return object{"errors": kept.errors, "may_have_counted": kept.mayHaveCounted}, kept.write(it.Path)
}

func (w *worker) ask(dice *rand.Rand, asked entry, kept *records) error {
	limiter, units := w.limiters[asked.On], 1+dice.Int64N(asked.Most)
	option := paddlegate.Cost(units)
	if asked.Verb == "estimate" {
		option = paddlegate.Estimate(units)
	}
	decision, err := limiter.TryAcquire(context.Background(), option)
	if err != nil {
		return err
	}
	at := decision.At.UnixMicro()
	if !decision.Allowed() {
		retry, reason := micros(decision.RetryAfter), some(string(decision.Reason))
		kept.add(object{"limiter": asked.On, "is": "refusal", "at": at, "units": units, "retry": retry, "reason": reason})
		return nil
	}
	kept.add(object{"limiter": asked.On, "is": "grant", "at": at, "units": units, "permit": some(decision.Permit)})
	if decision.Permit == "" || dice.IntN(10) == 0 {
		return nil
	}
	times := 1
	if dice.IntN(10) == 0 {
		times = 2
	}
	for range times {
		if err := settle(limiter, asked.On, decision.Permit, dice.Int64N(units*3/2+1), kept); err != nil {
			return err
		}
	}
	return nil
}

func settle(limiter *paddlegate.Limiter, key, permit string, actual int64, kept *records) error {
	after, err := limiter.Peek(context.Background(), paddlegate.Cost(0))
	if err != nil {
		return err
	}
	answer, err := limiter.Correct(context.Background(), permit, paddlegate.Units(actual))
	if err != nil {
		return err
	}
	before, err := limiter.Peek(context.Background(), paddlegate.Cost(0))
	if err != nil {
		return err
	}
	kept.add(object{
		"limiter": key, "is": "settlement", "permit": permit, "actual": actual, "answer": answer,
		"after": after.At.UnixMicro(), "before": before.At.UnixMicro(),
	})
	return nil
}

func (r *records) add(line object) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.lines = append(r.lines, line)
}

func (r *records) fail(err error) {
	shown := errorOf(err)
	r.lock.Lock()
	defer r.lock.Unlock()
	r.errors[shown["class"].(string)]++
	if shown["may_have_counted"] == true {
		r.mayHaveCounted++
	}
}

func (r *records) write(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	out := json.NewEncoder(file)
	for _, line := range r.lines {
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	return file.Close()
}
