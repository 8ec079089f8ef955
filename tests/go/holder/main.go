// Takes a lease, works and gives it back, again and again. Arguments and lines: see tests/shared/workers/holder.py.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"paddlegate"
)

const (
	wait = 120 * time.Second
	// CLOCK_MONOTONIC, which all processes of the machine share.
	monotonic = 1
)

func main() {
	name, limit := os.Args[1], os.Args[2]
	numbers := make([]int, 4)
	for i, word := range os.Args[3:7] {
		numbers[i] = must(strconv.Atoi(word))
	}
	hold, rounds, loops := time.Duration(numbers[1])*time.Millisecond, numbers[2], numbers[3]
	store := must(paddlegate.Open(os.Getenv("PADDLEGATE_URL"), paddlegate.Timeout(10*time.Second)))
	limiter := limiterOf(store, name, limit, time.Duration(numbers[0])*time.Millisecond)
	var all sync.WaitGroup
	all.Add(loops)
	for range loops {
		go func() {
			defer all.Done()
			for range rounds {
				holdOnce(limiter, hold)
			}
		}()
	}
	all.Wait()
	if err := store.Close(); err != nil {
		panic(err)
	}
}

func limiterOf(store *paddlegate.Store, name, limit string, lock time.Duration) *paddlegate.Limiter {
	parts := strings.Split(limit, "/")
	if len(parts) == 1 {
		leases := must(strconv.ParseInt(limit, 10, 64))
		return must(store.Concurrent(name, leases, paddlegate.WaitTimeout(wait), paddlegate.LockTimeout(lock)))
	}
	seconds := must(strconv.ParseFloat(parts[2], 64))
	amount := must(strconv.ParseInt(parts[1], 10, 64))
	limits := []paddlegate.Limit{{
		Kind: paddlegate.Kind(parts[0]), Amount: amount, Interval: time.Duration(seconds * float64(time.Second)),
	}}
	return must(store.Limiter(name, limits, paddlegate.WaitTimeout(wait)))
}

func holdOnce(limiter *paddlegate.Limiter, hold time.Duration) {
	permit := must(limiter.Acquire(context.Background()))
	token := permit.FencingToken()
	say("enter %d %d %d\n", max(token, 0), max(permit.Decision().Ticket, 0), now())
	time.Sleep(hold)
	if token == paddlegate.Unknown {
		return
	}
	say("leave %d %d\n", token, now())
	say("answer %d %s\n", token, must(permit.Release(context.Background())))
}

// say writes a whole line at once, because several goroutines do.
func say(format string, values ...any) {
	must(os.Stdout.WriteString(fmt.Sprintf(format, values...)))
}

func now() int64 {
	var at syscall.Timespec
	if _, _, number := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&at)), 0); number != 0 {
		panic(number)
	}
	return at.Nano()
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
