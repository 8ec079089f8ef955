// Calls a limiter. What it reads and says is in tests/timeouts/timeouts_test.py.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"paddlegate"
)

func main() {
	// A signal that is ignored would reach no thread.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR2)
	var limiter *paddlegate.Limiter
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if words[0] == "open" {
			limiter = open(words[1], words[2])
			fmt.Println("opened")
			continue
		}
		answers := make([]string, must(strconv.Atoi(words[1])))
		var all sync.WaitGroup
		all.Add(len(answers))
		for i := range answers {
			go func() {
				defer all.Done()
				answers[i] = call(limiter)
			}()
		}
		all.Wait()
		fmt.Println(strings.Join(answers, " "))
	}
}

func open(url, milliseconds string) *paddlegate.Limiter {
	timeout := time.Duration(must(strconv.Atoi(milliseconds))) * time.Millisecond
	store := must(paddlegate.Open(url, paddlegate.Timeout(timeout)))
	return must(store.Bucket("timeouts", 1_000_000, 24*time.Hour))
}

func call(limiter *paddlegate.Limiter) string {
	began := time.Now()
	_, err := limiter.TryAcquire(context.Background())
	what := "answered"
	var unavailable *paddlegate.UnavailableError
	if errors.As(err, &unavailable) {
		what = "unavailable"
	} else if err != nil {
		what = fmt.Sprintf("%T", err)
	}
	return fmt.Sprintf("%.1f %s", float64(time.Since(began).Microseconds())/1000, what)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
