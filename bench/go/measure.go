package main

import (
	"encoding/json"
	"os"
	"strconv"
	"sync"
	"time"
)

// contestant makes so many calls.
type contestant func(calls int)

func repeated(call func()) contestant {
	return func(calls int) {
		for range calls {
			call()
		}
	}
}

// atOnce shares the calls among goroutines.
func atOnce(call func()) contestant {
	return func(calls int) {
		var all sync.WaitGroup
		for range many {
			all.Add(1)
			go func() {
				defer all.Done()
				for range calls / many {
					call()
				}
			}()
		}
		all.Wait()
	}
}

// compare lets a reference and ours take turns, as measure.py does, and prints what each round
// measured.
func compare(name, variant, unit string, reference, ours contestant) {
	rounds, err := strconv.Atoi(os.Getenv("BENCH_ROUNDS"))
	must(err)
	seconds, err := strconv.ParseFloat(os.Getenv("BENCH_SECONDS"), 64)
	must(err)
	calls := [2]int{callsPerRound(reference, seconds), callsPerRound(ours, seconds)}
	for range rounds {
		must(json.NewEncoder(os.Stdout).Encode(map[string]any{
			"case": name, "variant": variant, "placement": os.Getenv("BENCH_PLACEMENT"), "unit": unit,
			"reference": inUnit(unit, turn(reference, calls[0])), "ours": inUnit(unit, turn(ours, calls[1])),
		}))
	}
}

func inUnit(unit string, seconds float64) float64 {
	switch unit {
	case "ns":
		return seconds * 1e9
	case "us":
		return seconds * 1e6
	default:
		return 1e-3 / seconds
	}
}

// turn returns the seconds of one call.
func turn(side contestant, calls int) float64 {
	began := time.Now()
	side(calls)
	return time.Since(began).Seconds() / float64(calls)
}

func callsPerRound(side contestant, seconds float64) int {
	side(many) // Connects and loads the script.
	calls := many
	for turn(side, calls)*float64(calls) < seconds*0.7 {
		calls *= 2
	}
	return calls
}
